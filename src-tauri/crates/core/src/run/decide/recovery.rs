//! Recovery of interrupted runs after the end of the process.
//!
//! Owns the choice: an agent run resumes from the journal, as does a run of a single call (a tool call, or the task of a
//! coding agent) whose approved call has not begun (the approval is bound to this run). Any other run is repeated by a new run, unless a call may have had an
//! unrepeatable effect or the run was a rerun already. Everything is bounded: a job that crashes the process must not
//! do so in a loop.

use super::claim::too_late;
use crate::UnixMs;
use crate::job::{Job, MisfireMode, Payload};
use crate::run::{Run, RunTrigger};

/// The recovery of an interrupted run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The run stays interrupted, and the person is notified.
    KeepInterrupted,
    /// The run returns to its lane and resumes from the journal.
    Resume,
    /// A new run repeats the run.
    Rerun,
}

/// The calls of an interrupted run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptedCalls {
    /// All calls are repeatable, or there were none.
    Repeatable,
    /// A call may have had an unrepeatable effect.
    Unrepeatable,
    /// The next call was decided by a person and has not begun.
    Decided,
}

/// The maximum attempts of a run that is interrupted each time, unless the job allows more.
const MOST_ATTEMPTS: u32 = 3;

/// Whether the journal holds every step, or the run has done nothing since the decision.
fn can_resume(job: &Job, run: &Run, calls: InterruptedCalls) -> bool {
    let has_journal = match &job.payload {
        Payload::AgentTurn(turn) => turn.agent.is_none() || calls == InterruptedCalls::Decided,
        Payload::ToolCall(_) => calls == InterruptedCalls::Decided,
        Payload::SystemEvent { .. } => false,
    };
    has_journal && run.payload["kind"] == job.payload.kind()
}

/// Decides the recovery of an interrupted run by the job's misfire policy.
#[must_use]
pub fn recover(job: Option<&Job>, run: &Run, calls: InterruptedCalls, now: UnixMs) -> Recovery {
    if matches!(run.trigger, RunTrigger::Chat | RunTrigger::Heartbeat) {
        return resume_within(run, MOST_ATTEMPTS);
    }
    let Some(job) = job.filter(|job| job.enabled) else { return Recovery::KeepInterrupted };
    let is_late = run.slot().is_some_and(|slot| too_late(job, slot, "", now).is_some());
    if job.policies.misfire.mode == MisfireMode::Skip || is_late {
        return Recovery::KeepInterrupted;
    }
    if can_resume(job, run, calls) {
        let allowed = job.runtime.as_ref().and_then(|runtime| runtime.max_attempts);
        return resume_within(run, allowed.unwrap_or(1).max(MOST_ATTEMPTS));
    }
    let again = run.retry_of.is_none() && calls != InterruptedCalls::Unrepeatable;
    if again { Recovery::Rerun } else { Recovery::KeepInterrupted }
}

const fn resume_within(run: &Run, most: u32) -> Recovery {
    if run.attempt < most { Recovery::Resume } else { Recovery::KeepInterrupted }
}

/// Why a queued run must not start any more; none when startable. Only an unstarted run of a slot, or a rerun for a
/// slot, can be too late.
#[must_use]
pub fn too_late_to_start(job: &Job, run: &Run, now: UnixMs) -> Option<String> {
    let slot = run.slot().filter(|_| run.started_at.is_none())?;
    too_late(job, slot, "Queued until too late", now)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{job, job_with, run};
    use super::*;
    use crate::RunId;

    const NOW: UnixMs = UnixMs(100_000);

    #[test]
    fn interrupted_run_is_rerun() {
        assert_eq!(
            recover(Some(&job()), &run(), InterruptedCalls::Repeatable, NOW),
            Recovery::Rerun
        );
    }

    #[test]
    fn agent_run_resumes_a_bounded_number_of_times() {
        use super::super::fixtures::job_doing;
        let turn = serde_json::json!({ "kind": "agentTurn", "message": "Look." });
        let job = job_doing(turn.clone());
        let run = Run { payload: turn, ..run() };
        assert_eq!(
            recover(Some(&job), &run, InterruptedCalls::Unrepeatable, NOW),
            Recovery::Resume,
            "with any calls"
        );
        let again = Run { attempt: 3, ..run.clone() };
        assert_eq!(
            recover(Some(&job), &again, InterruptedCalls::Repeatable, NOW),
            Recovery::KeepInterrupted
        );
        let off = Job { enabled: false, ..job.clone() };
        assert_eq!(
            recover(Some(&off), &run, InterruptedCalls::Repeatable, NOW),
            Recovery::KeepInterrupted
        );
        let mut skips = job.clone();
        skips.policies.misfire.mode = MisfireMode::Skip;
        assert_eq!(
            recover(Some(&skips), &run, InterruptedCalls::Repeatable, NOW),
            Recovery::KeepInterrupted,
            "the misfire policy"
        );
        let mut hasty = job.clone();
        hasty.policies.misfire.max_lateness_seconds = Some(30);
        assert_eq!(
            recover(Some(&hasty), &run, InterruptedCalls::Repeatable, NOW),
            Recovery::KeepInterrupted,
            "too late by now"
        );
        let other = super::super::fixtures::job();
        assert_ne!(
            recover(Some(&other), &run, InterruptedCalls::Repeatable, NOW),
            Recovery::Resume,
            "changed since"
        );
    }

    #[test]
    fn task_of_a_coding_agent_is_never_started_again() {
        use super::super::fixtures::job_doing;
        let turn = serde_json::json!({ "kind": "agentTurn", "message": "Fix.", "agent": "coder" });
        let job = job_doing(turn.clone());
        let run = Run { payload: turn, ..run() };
        for (calls, expected) in [
            (InterruptedCalls::Unrepeatable, Recovery::KeepInterrupted),
            (InterruptedCalls::Decided, Recovery::Resume),
            (InterruptedCalls::Repeatable, Recovery::Rerun),
        ] {
            assert_eq!(recover(Some(&job), &run, calls, NOW), expected, "{calls:?}");
        }
    }

    #[test]
    fn tool_call_run_resumes_with_its_decision() {
        use super::super::fixtures::job_doing;
        let call = serde_json::json!({ "kind": "toolCall", "tool": "echo" });
        let job = job_doing(call.clone());
        let run = Run { payload: call, ..run() };
        assert_eq!(recover(Some(&job), &run, InterruptedCalls::Decided, NOW), Recovery::Resume);
        let again = Run { attempt: 3, ..run.clone() };
        assert_eq!(
            recover(Some(&job), &again, InterruptedCalls::Decided, NOW),
            Recovery::KeepInterrupted
        );
        assert_eq!(recover(Some(&job), &run, InterruptedCalls::Repeatable, NOW), Recovery::Rerun);
        let turn = job_doing(serde_json::json!({ "kind": "agentTurn", "message": "Look." }));
        let other = recover(Some(&turn), &run, InterruptedCalls::Decided, NOW);
        assert_eq!(other, Recovery::Rerun, "changed since");
    }

    #[test]
    fn main_session_turn_resumes() {
        for trigger in [RunTrigger::Chat, RunTrigger::Heartbeat] {
            let turn = Run { job_id: None, trigger, ..run() };
            assert_eq!(
                recover(None, &turn, InterruptedCalls::Unrepeatable, NOW),
                Recovery::Resume,
                "{trigger:?}"
            );
            assert_eq!(
                recover(None, &Run { attempt: 3, ..turn }, InterruptedCalls::Unrepeatable, NOW),
                Recovery::KeepInterrupted
            );
        }
    }

    #[test]
    fn unrepeatable_run_is_not_rerun() {
        assert_eq!(
            recover(None, &run(), InterruptedCalls::Repeatable, NOW),
            Recovery::KeepInterrupted,
            "the job is gone"
        );
        assert_eq!(
            recover(Some(&job()), &run(), InterruptedCalls::Unrepeatable, NOW),
            Recovery::KeepInterrupted,
            "an effect"
        );
        let again = Run { retry_of: Some(RunId::new("run-0")), ..run() };
        assert_eq!(
            recover(Some(&job()), &again, InterruptedCalls::Repeatable, NOW),
            Recovery::KeepInterrupted,
            "a loop"
        );
        let off = Job { enabled: false, ..job() };
        assert_eq!(
            recover(Some(&off), &run(), InterruptedCalls::Repeatable, NOW),
            Recovery::KeepInterrupted,
            "switched off"
        );
    }

    #[test]
    fn skip_policy_keeps_the_run_interrupted() {
        let skips = job_with(|policies| policies.misfire.mode = MisfireMode::Skip);
        assert_eq!(
            recover(Some(&skips), &run(), InterruptedCalls::Repeatable, NOW),
            Recovery::KeepInterrupted
        );
        let hasty = job_with(|policies| policies.misfire.max_lateness_seconds = Some(30));
        assert_eq!(
            recover(Some(&hasty), &run(), InterruptedCalls::Repeatable, NOW),
            Recovery::KeepInterrupted
        );
        assert_eq!(
            recover(Some(&hasty), &run(), InterruptedCalls::Repeatable, UnixMs(80_000)),
            Recovery::Rerun
        );
    }

    #[test]
    fn late_queued_run_does_not_start() {
        let waits = Run { started_at: None, ..run() };
        let hasty = job_with(|policies| policies.misfire.max_lateness_seconds = Some(30));
        let reason = too_late_to_start(&hasty, &waits, NOW);
        assert_eq!(reason.as_deref(), Some("Later than the 30 s allowed"));
        assert_eq!(too_late_to_start(&job(), &waits, NOW), None);
        let makes_up = Run { slot_at: None, catch_up_slot_at: waits.slot_at, ..waits.clone() };
        assert!(too_late_to_start(&hasty, &makes_up, NOW).is_some(), "for a slot that is over");
        let by_hand = Run { slot_at: None, ..waits.clone() };
        assert_eq!(too_late_to_start(&hasty, &by_hand, NOW), None);
        let begun = Run { started_at: Some(UnixMs(70_000)), ..waits.clone() };
        assert_eq!(too_late_to_start(&hasty, &begun, NOW), None);
        let skips = job_with(|policies| policies.misfire.mode = MisfireMode::Skip);
        assert_eq!(
            too_late_to_start(&skips, &waits, UnixMs(600_000)).as_deref(),
            Some("Queued until too late")
        );
    }
}
