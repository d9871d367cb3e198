//! States and triggers of runs.

use rouse_gateway::wire::{RunState, RunTrigger, RunView, WaitsFor};

pub(crate) const fn state_name(state: RunState) -> &'static str {
    match state {
        RunState::Queued => "queued",
        RunState::Running => "running",
        RunState::AwaitingApproval => "needs you",
        RunState::Succeeded => "succeeded",
        RunState::NothingToReport => "nothing to report",
        RunState::Failed => "failed",
        RunState::TimedOut => "timed out",
        RunState::Cancelled => "cancelled",
        RunState::Skipped => "skipped",
        RunState::Missed => "missed",
        RunState::Interrupted => "interrupted",
    }
}

/// The state of a run. Between two attempts the engine reports `running`, although no work is done.
pub(crate) const fn run_state(run: &RunView) -> &'static str {
    match (run.state, run.next_attempt_at_ms, run.waits_for) {
        (RunState::Running, Some(_), Some(WaitsFor::Model)) => "waiting for the model",
        (RunState::Running, Some(_), Some(WaitsFor::RateLimit)) => "waiting for a rate limit",
        (RunState::Running, Some(_), None) => "waits for its next attempt",
        (state, ..) => state_name(state),
    }
}

pub(crate) const fn trigger_name(trigger: RunTrigger) -> &'static str {
    match trigger {
        RunTrigger::Schedule => "schedule",
        RunTrigger::CatchUp => "catch-up",
        RunTrigger::Event => "event",
        RunTrigger::Webhook => "webhook",
        RunTrigger::Manual => "by hand",
        RunTrigger::Heartbeat => "heartbeat",
        RunTrigger::Chat => "chat",
    }
}
