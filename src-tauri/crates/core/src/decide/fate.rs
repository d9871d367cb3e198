//! What the end of a run does to its job.
//!
//! Owns `deleteAfterRun` and `pauseAfterFailures`. It refuses to delete on account of a run that did no work or was given up
//! with attempts left, and to pause on account of one that was kept from them: who switches a job off keeps it, and a pause
//! of everything switches nothing off for good. And a run that is for no slot
//! (by hand, or to make up for one by hand), or for an earlier one, never uses up the slot that a one-shot still waits for,
//! nor one whose run is not over yet.

use crate::job::{Job, ScheduleSpec};
use crate::run::GivenUp;
use crate::{Outcome, Run, RunState, UnixMs};

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobFate {
    /// It stays as it is.
    Stays,
    /// It has done its only run.
    IsDeleted,
    /// It is switched off, for this reason.
    IsPaused(String),
}

impl JobFate {
    /// Why the job is switched off, if it is.
    #[must_use]
    pub fn pause_reason(&self) -> Option<&str> {
        match self {
            Self::IsPaused(reason) => Some(reason),
            Self::Stays | Self::IsDeleted => None,
        }
    }
}

/// Decides from the job as it stood before this run of it ended in this way; `slot_is_open` says whether another run of it,
/// which is for a slot, is not over yet.
#[must_use]
pub fn fate_of_job(job: &Job, run: &Run, outcome: &Outcome, slot_is_open: bool) -> JobFate {
    let state = outcome.state;
    let has_worked =
        state.is_failure() || matches!(state, RunState::Succeeded | RunState::NothingToReport);
    let has_done_its_run = has_worked && outcome.given_up.is_none();
    let is_kept = waits_for_a_slot(job, run) || run.slot().is_none() && slot_is_open;
    if job.delete_after_run && has_done_its_run && !is_kept {
        return JobFate::IsDeleted;
    }
    if let Some(reason) = outcome.pauses.as_ref().filter(|_| job.enabled) {
        return JobFate::IsPaused(reason.clone());
    }
    let failures = job.state.consecutive_failures.saturating_add(1);
    let passes = outcome.budget.as_ref().is_some_and(|stop| stop.passes_with_the_day);
    let counts = !passes && outcome.given_up != Some(GivenUp::KeptBack);
    match job.policies.pause_after_failures.filter(|_| counts) {
        Some(most) if job.enabled && state.is_failure() && failures >= most => {
            JobFate::IsPaused(paused_because(failures))
        }
        _ => JobFate::Stays,
    }
}

/// Whether a slot is still to come that the job is kept for: any, when the run is for none, and of a one-shot the one that
/// it was moved to while the run was going.
fn waits_for_a_slot(job: &Job, run: &Run) -> bool {
    let is_once = matches!(job.schedule.spec, ScheduleSpec::At { .. });
    let is_before = |next: UnixMs| run.slot().is_none_or(|slot| is_once && slot < next);
    job.state.next_run_at.is_some_and(is_before)
}

fn paused_because(failures: u32) -> String {
    match failures {
        1 => "Paused after a failure".to_owned(),
        failures => format!("Paused after {failures} failures in a row"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{job, job_with, run};
    use super::*;
    use crate::money::BudgetStop;
    use RunState::{Cancelled, Failed, Interrupted, NothingToReport, Skipped, Succeeded, TimedOut};

    #[test]
    fn a_job_for_one_run_stays_when_its_attempts_were_not_made() {
        let job = Job { delete_after_run: true, ..job() };
        let strict = job_with(|policies| policies.pause_after_failures = Some(1));
        let paused = JobFate::IsPaused("Paused after a failure".to_owned());
        for (why, of_strict) in [(GivenUp::KeptBack, JobFate::Stays), (GivenUp::Replaced, paused)] {
            let given_up = Outcome { given_up: Some(why), ..Outcome::of(Failed) };
            assert_eq!(fate_of_job(&job, &run(), &given_up, false), JobFate::Stays, "{why:?}");
            assert_eq!(fate_of_job(&strict, &run(), &given_up, false), of_strict, "{why:?}");
        }
        let failed = Outcome::of(Failed);
        assert_eq!(fate_of_job(&job, &run(), &failed, false), JobFate::IsDeleted);
    }

    #[test]
    fn a_job_for_one_run_goes_when_it_has_worked() {
        let mut job = job();
        assert_eq!(fate_of_job(&job, &run(), &Outcome::of(Succeeded), false), JobFate::Stays);
        job.delete_after_run = true;
        for state in [Succeeded, NothingToReport, Failed, TimedOut] {
            assert_eq!(
                fate_of_job(&job, &run(), &Outcome::of(state), false),
                JobFate::IsDeleted,
                "{state:?}"
            );
        }
        for state in [Cancelled, Skipped, Interrupted] {
            assert_eq!(
                fate_of_job(&job, &run(), &Outcome::of(state), false),
                JobFate::Stays,
                "{state:?}"
            );
        }
    }

    #[test]
    fn a_run_for_no_slot_leaves_the_one_that_is_to_come() {
        let mut job = job();
        job.delete_after_run = true;
        let succeeded = Outcome::of(Succeeded);
        let by_hand = Run { slot_at: None, ..run() };
        let for_a_slot = Run { makes_up_for: Some(UnixMs(1)), ..by_hand.clone() };
        for (next_run_at, slot_is_open, run, fate) in [
            (Some(UnixMs(1)), false, &by_hand, JobFate::Stays),
            (None, true, &by_hand, JobFate::Stays),
            (None, false, &by_hand, JobFate::IsDeleted),
            (Some(UnixMs(1)), false, &for_a_slot, JobFate::IsDeleted),
        ] {
            job.state.next_run_at = next_run_at;
            let found = fate_of_job(&job, run, &succeeded, slot_is_open);
            assert_eq!(found, fate, "{next_run_at:?} {slot_is_open}");
        }
    }

    #[test]
    fn a_one_shot_that_is_moved_while_its_run_is_going_stays() {
        let spec = ScheduleSpec::At { at: UnixMs(9), tz: None };
        let mut job = Job { delete_after_run: true, ..job() };
        job.schedule.spec = spec;
        let run = Run { slot_at: Some(UnixMs(5)), ..run() };
        for (next, fate) in [(Some(9), JobFate::Stays), (None, JobFate::IsDeleted)] {
            job.state.next_run_at = next.map(UnixMs);
            assert_eq!(fate_of_job(&job, &run, &Outcome::of(Succeeded), false), fate, "{next:?}");
        }
    }

    #[test]
    fn failures_in_a_row_pause() {
        let mut job = job_with(|policies| policies.pause_after_failures = Some(3));
        let reason = "Paused after 3 failures in a row".to_owned();
        for (before, state, fate) in [
            (1, Failed, JobFate::Stays),
            (2, Failed, JobFate::IsPaused(reason.clone())),
            (2, TimedOut, JobFate::IsPaused(reason)),
            (2, Succeeded, JobFate::Stays),
            (2, Interrupted, JobFate::Stays),
            (2, Cancelled, JobFate::Stays),
        ] {
            job.state.consecutive_failures = before;
            assert_eq!(
                fate_of_job(&job, &run(), &Outcome::of(state), false),
                fate,
                "{before} {state:?}"
            );
        }
        job.state.consecutive_failures = 2;
        let stop = BudgetStop {
            key: "k".to_owned(),
            is_of_everything: false,
            passes_with_the_day: true,
            words: String::new(),
        };
        for (passes_with_the_day, fate) in [
            (true, JobFate::Stays),
            (false, JobFate::IsPaused("Paused after 3 failures in a row".to_owned())),
        ] {
            let budget = Some(BudgetStop { passes_with_the_day, ..stop.clone() });
            let outcome = Outcome { budget, ..Outcome::of(Failed) };
            assert_eq!(fate_of_job(&job, &run(), &outcome, false), fate);
        }
        let asked = Outcome { pauses: Some("Asked".to_owned()), ..Outcome::of(Failed) };
        job.state.consecutive_failures = 0;
        let fate = fate_of_job(&job, &run(), &asked, false);
        assert_eq!(fate, JobFate::IsPaused("Asked".to_owned()), "its outcome says so");
        job.state.consecutive_failures = 2;
        job.enabled = false;
        assert_eq!(fate_of_job(&job, &run(), &Outcome::of(Failed), false), JobFate::Stays);
    }
}
