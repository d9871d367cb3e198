//! What becomes of the runs that the end of the process left behind: those it cut off and those that still waited.
//!
//! A run whose calls may have had an effect that cannot be repeated is never started over, and neither is one that
//! already made up for an interrupted run: a job that brings the process down must not do so in a loop.

use super::claim::too_late;
use crate::UnixMs;
use crate::job::{Job, MisfireMode};
use crate::run::Run;

/// The answer for one interrupted run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// It stays interrupted; the person is told.
    Leave,
    /// A new run makes up for it.
    RunAgain,
}

/// Decides by the job's misfire policy what becomes of a run that was cut off.
#[must_use]
pub fn recover(job: Option<&Job>, run: &Run, had_unrepeatable_call: bool, now: UnixMs) -> Recovery {
    let Some(job) = job.filter(|job| job.enabled) else { return Recovery::Leave };
    let again = job.policies.misfire.mode != MisfireMode::Skip
        && run.retry_of.is_none()
        && !had_unrepeatable_call
        && too_late_to_start(job, run, now).is_none();
    if again { Recovery::RunAgain } else { Recovery::Leave }
}

/// Why a run that has waited since an earlier life must not start any more; none when it may.
#[must_use]
pub fn too_late_to_start(job: &Job, run: &Run, now: UnixMs) -> Option<String> {
    too_late(job, run.slot_at?, now)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{job, job_with, run};
    use super::*;
    use crate::RunId;

    const NOW: UnixMs = UnixMs(100_000);

    #[test]
    fn a_cut_off_run_is_made_up_for() {
        assert_eq!(recover(Some(&job()), &run(), false, NOW), Recovery::RunAgain);
    }

    #[test]
    fn but_not_when_that_could_do_harm() {
        assert_eq!(recover(None, &run(), false, NOW), Recovery::Leave, "the job is gone");
        assert_eq!(recover(Some(&job()), &run(), true, NOW), Recovery::Leave, "an effect");
        let again = Run { retry_of: Some(RunId::new("run-0")), ..run() };
        assert_eq!(recover(Some(&job()), &again, false, NOW), Recovery::Leave, "a loop");
        let off = Job { enabled: false, ..job() };
        assert_eq!(recover(Some(&off), &run(), false, NOW), Recovery::Leave, "switched off");
    }

    #[test]
    fn nor_against_the_policy() {
        let skips = job_with(|policies| policies.misfire.mode = MisfireMode::Skip);
        assert_eq!(recover(Some(&skips), &run(), false, NOW), Recovery::Leave);
        let hasty = job_with(|policies| policies.misfire.max_lateness_seconds = Some(30));
        assert_eq!(recover(Some(&hasty), &run(), false, NOW), Recovery::Leave);
        assert_eq!(recover(Some(&hasty), &run(), false, UnixMs(80_000)), Recovery::RunAgain);
    }

    #[test]
    fn a_run_that_waited_too_long_does_not_start() {
        let hasty = job_with(|policies| policies.misfire.max_lateness_seconds = Some(30));
        let reason = too_late_to_start(&hasty, &run(), NOW);
        assert_eq!(reason.as_deref(), Some("Later than the 30 s allowed"));
        assert_eq!(too_late_to_start(&job(), &run(), NOW), None);
        let by_hand = Run { slot_at: None, ..run() };
        assert_eq!(too_late_to_start(&hasty, &by_hand, NOW), None);
    }
}
