//! What becomes of the runs that the end of the process left behind: those it cut off and those that still waited.
//!
//! A run with a model goes on where it was: its journal says what was done. So does a run of one call that a person has
//! answered and that has not begun: the answer is to this run's call and to no other's. Any other is started over by
//! another one, but never when its calls may have had an effect that cannot be repeated, and not when it already made up for
//! an interrupted run. All have a bound: a job that brings the process down must not do so in a loop.

use super::claim::too_late;
use crate::UnixMs;
use crate::job::{Job, MisfireMode, Payload};
use crate::run::{Run, RunTrigger};

/// The answer for one interrupted run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// It stays interrupted; the person is told.
    Leave,
    /// It waits for its lane again and goes on from its journal.
    GoOn,
    /// A new run makes up for it.
    RunAgain,
}

/// What is known of the calls of a run that was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// Making them again is harmless, or there were none.
    Repeatable,
    /// One may have had an effect that cannot be repeated.
    Unrepeatable,
    /// A person has answered what was asked about the next one, which has not begun.
    Answered,
}

/// The most attempts of a run that is cut off each time, unless its job allows more.
const MOST_ATTEMPTS: u32 = 3;

/// Whether what the run said and did is written down step by step, or it has done nothing since a person's answer.
fn can_go_on(job: &Job, run: &Run, calls: Calls) -> bool {
    match &job.payload {
        Payload::AgentTurn(_) => run.payload["kind"] == "agentTurn",
        Payload::ToolCall(_) => run.payload["kind"] == "toolCall" && calls == Calls::Answered,
        Payload::SystemEvent { .. } => false,
    }
}

/// Decides what becomes of a run that was cut off: by the job's misfire policy, where it has a job.
#[must_use]
pub fn recover(job: Option<&Job>, run: &Run, calls: Calls, now: UnixMs) -> Recovery {
    if matches!(run.trigger, RunTrigger::Chat | RunTrigger::Heartbeat) {
        return goes_on(run, MOST_ATTEMPTS);
    }
    let Some(job) = job.filter(|job| job.enabled) else { return Recovery::Leave };
    let is_late = run.slot().is_some_and(|slot| too_late(job, slot, "", now).is_some());
    if job.policies.misfire.mode == MisfireMode::Skip || is_late {
        return Recovery::Leave;
    }
    if can_go_on(job, run, calls) {
        let allowed = job.runtime.as_ref().and_then(|runtime| runtime.max_attempts);
        return goes_on(run, allowed.unwrap_or(1).max(MOST_ATTEMPTS));
    }
    let again = run.retry_of.is_none() && calls != Calls::Unrepeatable;
    if again { Recovery::RunAgain } else { Recovery::Leave }
}

const fn goes_on(run: &Run, most: u32) -> Recovery {
    if run.attempt < most { Recovery::GoOn } else { Recovery::Leave }
}

/// Why a run that has waited for its place must not start any more; none when it may. Only a slot can be too late, its
/// own or the one that it makes up for: a run by hand, one that an event or a call fired, and one that has begun and goes on are wanted whenever they start.
#[must_use]
pub fn too_late_to_start(job: &Job, run: &Run, now: UnixMs) -> Option<String> {
    let slot = run.slot().filter(|_| run.started_at.is_none())?;
    too_late(job, slot, "Waited for a place until it was too late", now)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{job, job_with, run};
    use super::*;
    use crate::RunId;

    const NOW: UnixMs = UnixMs(100_000);

    #[test]
    fn a_cut_off_run_is_made_up_for() {
        assert_eq!(recover(Some(&job()), &run(), Calls::Repeatable, NOW), Recovery::RunAgain);
    }

    #[test]
    fn a_run_with_a_model_goes_on_but_not_for_ever() {
        use super::super::sample::job_doing;
        let turn = serde_json::json!({ "kind": "agentTurn", "message": "Look." });
        let job = job_doing(turn.clone());
        let run = Run { payload: turn, ..run() };
        assert_eq!(
            recover(Some(&job), &run, Calls::Unrepeatable, NOW),
            Recovery::GoOn,
            "whatever it has called"
        );
        let again = Run { attempt: 3, ..run.clone() };
        assert_eq!(recover(Some(&job), &again, Calls::Repeatable, NOW), Recovery::Leave);
        let off = Job { enabled: false, ..job.clone() };
        assert_eq!(recover(Some(&off), &run, Calls::Repeatable, NOW), Recovery::Leave);
        let mut skips = job.clone();
        skips.policies.misfire.mode = MisfireMode::Skip;
        assert_eq!(
            recover(Some(&skips), &run, Calls::Repeatable, NOW),
            Recovery::Leave,
            "its policy"
        );
        let mut hasty = job.clone();
        hasty.policies.misfire.max_lateness_seconds = Some(30);
        assert_eq!(
            recover(Some(&hasty), &run, Calls::Repeatable, NOW),
            Recovery::Leave,
            "too late by now"
        );
        let other = super::super::sample::job();
        assert_ne!(
            recover(Some(&other), &run, Calls::Repeatable, NOW),
            Recovery::GoOn,
            "it was changed since"
        );
    }

    #[test]
    fn a_run_of_one_call_goes_on_with_the_answer_to_it() {
        use super::super::sample::job_doing;
        let call = serde_json::json!({ "kind": "toolCall", "tool": "echo" });
        let job = job_doing(call.clone());
        let run = Run { payload: call, ..run() };
        assert_eq!(recover(Some(&job), &run, Calls::Answered, NOW), Recovery::GoOn);
        let again = Run { attempt: 3, ..run.clone() };
        assert_eq!(recover(Some(&job), &again, Calls::Answered, NOW), Recovery::Leave);
        assert_eq!(recover(Some(&job), &run, Calls::Repeatable, NOW), Recovery::RunAgain);
        let turn = job_doing(serde_json::json!({ "kind": "agentTurn", "message": "Look." }));
        let other = recover(Some(&turn), &run, Calls::Answered, NOW);
        assert_eq!(other, Recovery::RunAgain, "it was changed since");
    }

    #[test]
    fn a_turn_of_the_main_session_goes_on_as_well() {
        for trigger in [RunTrigger::Chat, RunTrigger::Heartbeat] {
            let turn = Run { job_id: None, trigger, ..run() };
            assert_eq!(
                recover(None, &turn, Calls::Unrepeatable, NOW),
                Recovery::GoOn,
                "{trigger:?}"
            );
            assert_eq!(
                recover(None, &Run { attempt: 3, ..turn }, Calls::Unrepeatable, NOW),
                Recovery::Leave
            );
        }
    }

    #[test]
    fn but_not_when_that_could_do_harm() {
        assert_eq!(
            recover(None, &run(), Calls::Repeatable, NOW),
            Recovery::Leave,
            "the job is gone"
        );
        assert_eq!(
            recover(Some(&job()), &run(), Calls::Unrepeatable, NOW),
            Recovery::Leave,
            "an effect"
        );
        let again = Run { retry_of: Some(RunId::new("run-0")), ..run() };
        assert_eq!(
            recover(Some(&job()), &again, Calls::Repeatable, NOW),
            Recovery::Leave,
            "a loop"
        );
        let off = Job { enabled: false, ..job() };
        assert_eq!(
            recover(Some(&off), &run(), Calls::Repeatable, NOW),
            Recovery::Leave,
            "switched off"
        );
    }

    #[test]
    fn nor_against_the_policy() {
        let skips = job_with(|policies| policies.misfire.mode = MisfireMode::Skip);
        assert_eq!(recover(Some(&skips), &run(), Calls::Repeatable, NOW), Recovery::Leave);
        let hasty = job_with(|policies| policies.misfire.max_lateness_seconds = Some(30));
        assert_eq!(recover(Some(&hasty), &run(), Calls::Repeatable, NOW), Recovery::Leave);
        assert_eq!(
            recover(Some(&hasty), &run(), Calls::Repeatable, UnixMs(80_000)),
            Recovery::RunAgain
        );
    }

    #[test]
    fn a_run_that_waited_too_long_does_not_start() {
        let waits = Run { started_at: None, ..run() };
        let hasty = job_with(|policies| policies.misfire.max_lateness_seconds = Some(30));
        let reason = too_late_to_start(&hasty, &waits, NOW);
        assert_eq!(reason.as_deref(), Some("Later than the 30 s allowed"));
        assert_eq!(too_late_to_start(&job(), &waits, NOW), None);
        let makes_up = Run { slot_at: None, makes_up_for: waits.slot_at, ..waits.clone() };
        assert!(too_late_to_start(&hasty, &makes_up, NOW).is_some(), "for a slot that is over");
        let by_hand = Run { slot_at: None, ..waits.clone() };
        assert_eq!(too_late_to_start(&hasty, &by_hand, NOW), None);
        let begun = Run { started_at: Some(UnixMs(70_000)), ..waits.clone() };
        assert_eq!(too_late_to_start(&hasty, &begun, NOW), None);
        let skips = job_with(|policies| policies.misfire.mode = MisfireMode::Skip);
        assert_eq!(
            too_late_to_start(&skips, &waits, UnixMs(600_000)).as_deref(),
            Some("Waited for a place until it was too late")
        );
    }
}
