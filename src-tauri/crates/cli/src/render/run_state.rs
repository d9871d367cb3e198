//! States and triggers of runs: the labels of `rouse_core::run` in lower case.

use rouse_gateway::wire::{RunState, RunTrigger, RunView};

pub(crate) fn state_name(state: RunState) -> String {
    state.label().to_lowercase()
}

/// The state of a run. Between two attempts the engine reports `running`, although no work is done.
pub(crate) fn run_state(run: &RunView) -> String {
    match (run.state, run.next_attempt_at_ms, run.waits_for) {
        (RunState::Running, Some(_), Some(wait)) => wait.label().to_lowercase(),
        (RunState::Running, Some(_), None) => "waits for its next attempt".to_owned(),
        (state, ..) => state_name(state),
    }
}

pub(crate) fn trigger_name(trigger: RunTrigger) -> String {
    match trigger {
        RunTrigger::Manual => "by hand".to_owned(),
        _ => trigger.label().to_lowercase(),
    }
}
