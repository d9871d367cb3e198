//! The run fired by an event, or the reason of a skip.
//!
//! Owns the same checks as for a due slot, but lateness: global pause, overlap, cooldown. An event is never caught up.
//! Pitfall: counting the job's runs before the other events of the same transaction have theirs.

use super::claim::{Firing, JobLoad, PlannedRun, apply_overlap};
use crate::cause::{Cause, MAX_CHAIN};
use crate::job::Job;
use crate::{RunState, RunTrigger, UnixMs};

/// The plan for an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPlan {
    /// `Queued` or `Skipped`.
    pub state: RunState,
    /// Why the run is skipped.
    pub reason: Option<String>,
    /// Whether the job's other runs must be cancelled first.
    pub cancel_others: bool,
}

impl EventPlan {
    fn skipped(reason: &str) -> Self {
        let reason = Some(reason.to_owned());
        Self { state: RunState::Skipped, reason, cancel_others: false }
    }
}

/// Plans the run of `job` for `cause`, with this many runs `queued` and `active`.
#[must_use]
pub fn plan_event(
    job: &Job,
    (queued, active): (u32, u32),
    cause: &Cause,
    now: UnixMs,
    firing: &Firing,
) -> EventPlan {
    if cause.chain.len() > MAX_CHAIN {
        return EventPlan::skipped(&format!(
            "Skipped at the end of a chain of {} jobs that fired each other",
            cause.chain.len()
        ));
    }
    if let Firing::Off(reason) | Firing::Restored(reason) = firing {
        return EventPlan::skipped(reason);
    }
    let mut run = [PlannedRun {
        slot_at: now,
        first_slot_at: None,
        trigger: RunTrigger::Event,
        state: RunState::Queued,
        reason: None,
        slot_count: 1,
    }];
    let last_run_at = job.state.last_run_at;
    let load = JobLoad { job, queued, active, last_run_at, has_slots: false };
    let cancel_others = apply_overlap(load, now, &mut run);
    let [PlannedRun { state, reason, .. }] = run;
    EventPlan { state, reason, cancel_others }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{job, job_with};
    use super::*;
    use crate::JobId;
    use crate::job::Overlap;

    const NOW: UnixMs = UnixMs(1_000_000);

    fn plan(job: &Job, load: (u32, u32)) -> EventPlan {
        plan_event(job, load, &Cause::wake("tea", NOW), NOW, &Firing::On)
    }

    fn reason(plan: &EventPlan) -> &str {
        plan.reason.as_deref().unwrap_or_default()
    }

    #[test]
    fn event_fires_an_idle_job() {
        let fires = EventPlan { state: RunState::Queued, reason: None, cancel_others: false };
        assert_eq!(plan(&job(), (0, 0)), fires);
    }

    #[test]
    fn overlap_policies_apply_to_events() {
        let with = |overlap| job_with(|policies| policies.overlap = overlap);
        for (overlap, load, state, cancels) in [
            (Overlap::Skip, (0, 1), RunState::Skipped, false),
            (Overlap::Skip, (1, 0), RunState::Skipped, false),
            (Overlap::Queue, (9, 1), RunState::Queued, false),
            (Overlap::Queue, (10, 1), RunState::Skipped, false),
            (Overlap::Parallel, (0, 1), RunState::Queued, false),
            (Overlap::Parallel, (1, 1), RunState::Skipped, false),
            (Overlap::CancelOther, (0, 1), RunState::Queued, true),
            (Overlap::CancelOther, (0, 0), RunState::Queued, false),
        ] {
            let plan = plan(&with(overlap), load);
            assert_eq!((plan.state, plan.cancel_others), (state, cancels), "{overlap:?} {load:?}");
            assert_eq!(plan.reason.is_some(), state == RunState::Skipped);
        }
    }

    #[test]
    fn cooldown_applies_to_events() {
        let mut job = job_with(|policies| policies.cooldown_seconds = Some(60));
        job.state.last_run_at = Some(NOW.plus_ms(-30_000));
        assert_eq!(reason(&plan(&job, (0, 0))), "Less than 1 min after the run before");
        job.state.last_run_at = Some(NOW.plus_ms(-61_000));
        assert_eq!(plan(&job, (0, 0)).state, RunState::Queued);
    }

    #[test]
    fn cooldown_has_no_slack_for_events() {
        for seconds in [1_u32, 2, 5, 60] {
            let mut job = job_with(|policies| policies.cooldown_seconds = Some(seconds));
            let state = |job: &Job| plan(job, (0, 0)).state;
            job.state.last_run_at = Some(NOW.plus_ms(1 - i64::from(seconds) * 1_000));
            assert_eq!(state(&job), RunState::Skipped, "{seconds} s");
            job.state.last_run_at = Some(NOW.plus_ms(-i64::from(seconds) * 1_000));
            assert_eq!(state(&job), RunState::Queued, "{seconds} s");
        }
    }

    #[test]
    fn event_is_skipped_while_firing_is_off() {
        let off = Firing::Off("Everything was paused".to_owned());
        let plan = plan_event(&job(), (0, 0), &Cause::wake("tea", NOW), NOW, &off);
        assert_eq!((plan.state, reason(&plan)), (RunState::Skipped, "Everything was paused"));
    }

    #[test]
    fn event_chain_ends_after_eight_jobs() {
        let mut cause = Cause::wake("tea", NOW);
        cause.chain = (0..8).map(|n| JobId::new(n.to_string())).collect();
        assert_eq!(plan_event(&job(), (0, 0), &cause, NOW, &Firing::On).state, RunState::Queued);
        cause.chain.push(JobId::new("8"));
        let plan = plan_event(&job(), (0, 0), &cause, NOW, &Firing::On);
        assert_eq!(
            (plan.state, reason(&plan)),
            (RunState::Skipped, "Skipped at the end of a chain of 9 jobs that fired each other")
        );
    }
}
