//! The effect of a finished run on the job.
//!
//! Owns `deleteAfterRun` and `pauseAfterFailures`. A run that did no work or abandoned retries deletes nothing, and a
//! suspended run pauses nothing. A run without a slot (manual, or a rerun of a manual run), or for an earlier slot,
//! never uses up the slot of a one-shot, nor a slot with an unfinished run.

use crate::job::{Job, ScheduleSpec};
use crate::run::AbandonedRetries;
use crate::{Outcome, Run, RunState, UnixMs};

/// The effect on the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEffect {
    /// None.
    Keep,
    /// Delete the job: the one-shot has run.
    Delete,
    /// Disable the job, for this reason.
    Pause(String),
}

impl JobEffect {
    /// Why the job is disabled; none when enabled.
    #[must_use]
    pub fn pause_reason(&self) -> Option<&str> {
        match self {
            Self::Pause(reason) => Some(reason),
            Self::Keep | Self::Delete => None,
        }
    }
}

/// Decides the effect of `run` on `job` before the end. `slot_is_open`: another run, for a slot, is not over.
#[must_use]
pub fn decide_job_effect(job: &Job, run: &Run, outcome: &Outcome, slot_is_open: bool) -> JobEffect {
    let state = outcome.state;
    let has_worked =
        state.is_failure() || matches!(state, RunState::Succeeded | RunState::NothingToReport);
    let is_done = has_worked && outcome.abandoned_retries.is_none();
    let is_kept = has_pending_slot(job, run) || run.slot().is_none() && slot_is_open;
    if job.delete_after_run && is_done && !is_kept {
        return JobEffect::Delete;
    }
    if let Some(reason) = outcome.pauses.as_ref().filter(|_| job.enabled) {
        return JobEffect::Pause(reason.clone());
    }
    let failures = job.state.consecutive_failures.saturating_add(1);
    let passes = outcome.budget.as_ref().is_some_and(|stop| stop.resets_daily);
    let counts = !passes && outcome.abandoned_retries != Some(AbandonedRetries::Suspended);
    match job.policies.pause_after_failures.filter(|_| counts) {
        Some(most) if job.enabled && state.is_failure() && failures >= most => {
            JobEffect::Pause(failure_pause_reason(failures))
        }
        _ => JobEffect::Keep,
    }
}

/// Whether the job has a slot after this run: for a one-shot, the slot of a later edit; for a run without a slot, any.
fn has_pending_slot(job: &Job, run: &Run) -> bool {
    let is_once = matches!(job.schedule.spec, ScheduleSpec::At { .. });
    let is_before = |next: UnixMs| run.slot().is_none_or(|slot| is_once && slot < next);
    job.state.next_run_at.is_some_and(is_before)
}

fn failure_pause_reason(failures: u32) -> String {
    match failures {
        1 => "Paused after a failure".to_owned(),
        failures => format!("Paused after {failures} failures in a row"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{job, job_with, run};
    use super::*;
    use crate::budget::BudgetStop;
    use RunState::{Cancelled, Failed, Interrupted, NothingToReport, Skipped, Succeeded, TimedOut};

    #[test]
    fn one_shot_stays_when_its_retries_were_abandoned() {
        let job = Job { delete_after_run: true, ..job() };
        let strict = job_with(|policies| policies.pause_after_failures = Some(1));
        let paused = JobEffect::Pause("Paused after a failure".to_owned());
        for (why, of_strict) in
            [(AbandonedRetries::Suspended, JobEffect::Keep), (AbandonedRetries::Superseded, paused)]
        {
            let abandoned_retries = Outcome { abandoned_retries: Some(why), ..Outcome::of(Failed) };
            assert_eq!(
                decide_job_effect(&job, &run(), &abandoned_retries, false),
                JobEffect::Keep,
                "{why:?}"
            );
            assert_eq!(
                decide_job_effect(&strict, &run(), &abandoned_retries, false),
                of_strict,
                "{why:?}"
            );
        }
        let failed = Outcome::of(Failed);
        assert_eq!(decide_job_effect(&job, &run(), &failed, false), JobEffect::Delete);
    }

    #[test]
    fn one_shot_is_deleted_after_its_work() {
        let mut job = job();
        assert_eq!(
            decide_job_effect(&job, &run(), &Outcome::of(Succeeded), false),
            JobEffect::Keep
        );
        job.delete_after_run = true;
        for state in [Succeeded, NothingToReport, Failed, TimedOut] {
            assert_eq!(
                decide_job_effect(&job, &run(), &Outcome::of(state), false),
                JobEffect::Delete,
                "{state:?}"
            );
        }
        for state in [Cancelled, Skipped, Interrupted] {
            assert_eq!(
                decide_job_effect(&job, &run(), &Outcome::of(state), false),
                JobEffect::Keep,
                "{state:?}"
            );
        }
    }

    #[test]
    fn run_without_a_slot_leaves_the_next_slot() {
        let mut job = job();
        job.delete_after_run = true;
        let succeeded = Outcome::of(Succeeded);
        let by_hand = Run { slot_at: None, ..run() };
        let for_a_slot = Run { catch_up_slot_at: Some(UnixMs(1)), ..by_hand.clone() };
        for (next_run_at, slot_is_open, run, job_effect) in [
            (Some(UnixMs(1)), false, &by_hand, JobEffect::Keep),
            (None, true, &by_hand, JobEffect::Keep),
            (None, false, &by_hand, JobEffect::Delete),
            (Some(UnixMs(1)), false, &for_a_slot, JobEffect::Delete),
        ] {
            job.state.next_run_at = next_run_at;
            let found = decide_job_effect(&job, run, &succeeded, slot_is_open);
            assert_eq!(found, job_effect, "{next_run_at:?} {slot_is_open}");
        }
    }

    #[test]
    fn one_shot_moved_during_its_run_stays() {
        let spec = ScheduleSpec::At { at: UnixMs(9), tz: None };
        let mut job = Job { delete_after_run: true, ..job() };
        job.schedule.spec = spec;
        let run = Run { slot_at: Some(UnixMs(5)), ..run() };
        for (next, job_effect) in [(Some(9), JobEffect::Keep), (None, JobEffect::Delete)] {
            job.state.next_run_at = next.map(UnixMs);
            assert_eq!(
                decide_job_effect(&job, &run, &Outcome::of(Succeeded), false),
                job_effect,
                "{next:?}"
            );
        }
    }

    #[test]
    fn consecutive_failures_pause_the_job() {
        let mut job = job_with(|policies| policies.pause_after_failures = Some(3));
        let reason = "Paused after 3 failures in a row".to_owned();
        for (before, state, job_effect) in [
            (1, Failed, JobEffect::Keep),
            (2, Failed, JobEffect::Pause(reason.clone())),
            (2, TimedOut, JobEffect::Pause(reason)),
            (2, Succeeded, JobEffect::Keep),
            (2, Interrupted, JobEffect::Keep),
            (2, Cancelled, JobEffect::Keep),
        ] {
            job.state.consecutive_failures = before;
            assert_eq!(
                decide_job_effect(&job, &run(), &Outcome::of(state), false),
                job_effect,
                "{before} {state:?}"
            );
        }
        job.state.consecutive_failures = 2;
        let stop = BudgetStop {
            key: "k".to_owned(),
            is_global: false,
            resets_daily: true,
            words: String::new(),
        };
        for (resets_daily, job_effect) in [
            (true, JobEffect::Keep),
            (false, JobEffect::Pause("Paused after 3 failures in a row".to_owned())),
        ] {
            let budget = Some(BudgetStop { resets_daily, ..stop.clone() });
            let outcome = Outcome { budget, ..Outcome::of(Failed) };
            assert_eq!(decide_job_effect(&job, &run(), &outcome, false), job_effect);
        }
        let asked = Outcome { pauses: Some("Asked".to_owned()), ..Outcome::of(Failed) };
        job.state.consecutive_failures = 0;
        let job_effect = decide_job_effect(&job, &run(), &asked, false);
        assert_eq!(job_effect, JobEffect::Pause("Asked".to_owned()), "required by the outcome");
        job.state.consecutive_failures = 2;
        job.enabled = false;
        assert_eq!(decide_job_effect(&job, &run(), &Outcome::of(Failed), false), JobEffect::Keep);
    }
}
