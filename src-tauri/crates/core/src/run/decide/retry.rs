//! Retries of a failed run: the decision on another attempt, and the backoff.
//!
//! Owns the rule that a scheduled retry is abandoned during a pause of the job or of all jobs or while firing is off; a
//! manual run is exempt. The current maximum attempts of the job count: after a failure, after an edit, and after a
//! restart.
//!
//! The backoff doubles, with jitter from the run's id, so that jobs that failed together (a lost network) do not retry in
//! the same millisecond, the same run always waits the same, and no pause is shorter than the job's `retryBackoffMs`.

use super::claim::{Firing, too_late};
use crate::job::{Job, Runtime};
use crate::run::{Run, RunTrigger};
use crate::text::stable_hash;
use crate::{RunId, UnixMs};

/// Doubling stops here; a longer first pause stays.
const LONGEST_MS: u64 = 3_600_000;
/// The maximum first pause: a day.
const LONGEST_FIRST_MS: u64 = 86_400_000;
/// Jitter adds less than one `JITTER_PART`th.
const JITTER_PART: u64 = 4;

/// Milliseconds until the next attempt of `run` after `attempt` failed attempts; none when no attempt is left. For
/// transient errors only.
#[must_use]
pub fn retry_after_ms(runtime: Option<&Runtime>, attempt: u32, run: &RunId) -> Option<u64> {
    let runtime = runtime?;
    if attempt >= runtime.max_attempts.unwrap_or(1) {
        return None;
    }
    let first = runtime.retry_backoff_ms.unwrap_or(1_000);
    let doublings = attempt.saturating_sub(1).min(32);
    let pause =
        first.saturating_mul(1 << doublings).min(LONGEST_MS.max(first.min(LONGEST_FIRST_MS)));
    Some(pause + jitter(pause / JITTER_PART, attempt, run))
}

/// Why the next attempt of a failed run must not start; none when allowed. A turn of the main session has no job and no
/// retries.
#[must_use]
pub fn refuse_attempt(job: Option<&Job>, run: &Run, firing: &Firing) -> Option<String> {
    let Some(job) = job else {
        return run.job_id.is_some().then(|| "The job was removed".to_owned());
    };
    let is_off = match firing {
        _ if run.trigger == RunTrigger::Manual => None,
        Firing::Off(reason) | Firing::Restored(reason) => Some(reason.clone()),
        Firing::On => (!job.enabled).then(|| "The job was switched off".to_owned()),
    };
    let is_last = run.waits_for.is_none()
        && retry_after_ms(job.runtime.as_ref(), run.attempt, &run.id).is_none();
    is_off.or_else(|| is_last.then(|| "The job allows no more attempts".to_owned()))
}

/// The same for a retry that was scheduled at `due` when the process ended: a retry for a slot may be too late.
#[must_use]
pub fn refuse_attempt_after_stop(
    job: Option<&Job>,
    run: &Run,
    firing: &Firing,
    due: UnixMs,
    now: UnixMs,
) -> Option<String> {
    let refused = refuse_attempt(job, run, firing);
    let Some(job) = job.filter(|_| refused.is_none()) else { return refused };
    run.slot_at?;
    too_late(job, due, "Rouse was not running when the next attempt was due", now)
}

/// The reason of a run that ended with the last failure although attempts were left.
#[must_use]
pub fn abandoned_retries_reason(why: &str) -> String {
    format!("{}, so it was not retried", why.trim_end_matches('.'))
}

/// From zero to just under `most`.
fn jitter(most: u64, attempt: u32, run: &RunId) -> u64 {
    match most {
        0 => 0,
        most => stable_hash(format!("{run}/{attempt}").as_bytes()) % most,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::fixtures::{job, run};
    use super::*;
    use crate::job::MisfireMode;
    use crate::run::WaitsFor;

    fn runtime(first_ms: u64) -> Runtime {
        Runtime { max_attempts: Some(4), retry_backoff_ms: Some(first_ms), ..Runtime::default() }
    }

    fn pause(first_ms: u64, attempt: u32, run: &str) -> Option<u64> {
        retry_after_ms(Some(&runtime(first_ms)), attempt, &RunId::new(run))
    }

    #[test]
    fn backoff_doubles_until_no_attempt_is_left() {
        for (attempt, least) in [(1, 500), (2, 1_000), (3, 2_000)] {
            let pause = pause(500, attempt, "run-1").expect("an attempt is left");
            assert!((least..least + least / 4).contains(&pause), "{attempt}: {pause}");
        }
        assert_eq!(pause(500, 4, "run-1"), None);
    }

    #[test]
    fn backoff_differs_by_run_and_is_stable() {
        let pauses: HashSet<_> = (0..100).map(|run| pause(60_000, 1, &run.to_string())).collect();
        assert!(pauses.len() > 90, "{} different pauses", pauses.len());
        assert_eq!(pause(60_000, 2, "run-1"), pause(60_000, 2, "run-1"));
        assert_ne!(pause(60_000, 1, "run-1"), pause(60_000, 1, "run-2"));
    }

    #[test]
    fn backoff_is_bounded() {
        let pause = pause(u64::MAX, 3, "run-1").expect("an attempt is left");
        let longest = LONGEST_FIRST_MS..LONGEST_FIRST_MS + LONGEST_FIRST_MS / 4;
        assert!(longest.contains(&pause), "{pause}");
        let six_hours = 6 * LONGEST_MS;
        for attempt in [1, 2, 3] {
            let pause = self::pause(six_hours, attempt, "run-1").expect("an attempt is left");
            assert!(
                (six_hours..six_hours + six_hours / 4).contains(&pause),
                "as set in the job: {pause}"
            );
        }
        let doubled = self::pause(1_800_000, 3, "run-1").expect("an attempt is left");
        assert!((LONGEST_MS..LONGEST_MS + LONGEST_MS / 4).contains(&doubled), "{doubled}");
    }

    #[test]
    fn zero_backoff_stays_zero() {
        assert_eq!(pause(0, 3, "run-1"), Some(0));
    }

    #[test]
    fn retries_are_off_by_default() {
        let run = RunId::new("run-1");
        assert_eq!(retry_after_ms(None, 1, &run), None);
        assert_eq!(retry_after_ms(Some(&Runtime::default()), 1, &run), None);
    }
    const NOW: UnixMs = UnixMs(100_000);

    fn off() -> Firing {
        Firing::Off("Everything was paused".to_owned())
    }

    /// A job with four attempts, and the run after the first.
    fn retrying() -> (Job, Run) {
        let job = Job { runtime: Some(runtime(1_000)), ..job() };
        let payload = serde_json::json!({ "kind": "toolCall", "tool": "echo" });
        (job, Run { payload, ..run() })
    }

    #[test]
    fn no_retry_while_firing_is_off() {
        let (job, run) = retrying();
        assert_eq!(refuse_attempt(Some(&job), &run, &Firing::On), None);
        let refused = refuse_attempt(Some(&job), &run, &off());
        assert_eq!(refused.as_deref(), Some("Everything was paused"));
        let switched_off = Job { enabled: false, ..job.clone() };
        let refused = refuse_attempt(Some(&switched_off), &run, &Firing::On);
        assert_eq!(refused.as_deref(), Some("The job was switched off"));
        let refused = refuse_attempt(None, &run, &Firing::On);
        assert_eq!(refused.as_deref(), Some("The job was removed"));
    }

    #[test]
    fn manual_run_retries_while_firing_is_off() {
        let (job, run) = retrying();
        let by_hand = Run { trigger: RunTrigger::Manual, slot_at: None, ..run };
        let off_job = Job { enabled: false, ..job };
        assert_eq!(refuse_attempt(Some(&off_job), &by_hand, &off()), None);
        let late = UnixMs(0);
        assert_eq!(refuse_attempt_after_stop(Some(&off_job), &by_hand, &off(), late, NOW), None);
        assert!(refuse_attempt(None, &by_hand, &Firing::On).is_some(), "there is nothing to do");
    }

    #[test]
    fn retry_after_a_restart_is_late_by_its_due_instant() {
        let (mut job, run) = retrying();
        let after = |job: &Job, run: &Run, due| {
            refuse_attempt_after_stop(Some(job), run, &Firing::On, UnixMs(due), NOW)
        };
        assert_eq!(after(&job, &run, 0), None, "a catch-up run replaces the retry");
        job.policies.misfire.max_lateness_seconds = Some(30);
        assert_eq!(after(&job, &run, 70_000), None);
        assert_eq!(after(&job, &run, 69_999).as_deref(), Some("Later than the 30 s allowed"));
        let fired = Run { slot_at: None, trigger: RunTrigger::Event, ..run.clone() };
        assert_eq!(after(&job, &fired, 0), None, "only a slot can be too late");
        job.policies.misfire.max_lateness_seconds = None;
        job.policies.misfire.mode = MisfireMode::Skip;
        assert_eq!(after(&job, &run, 120_000), None, "not due yet");
        assert_eq!(
            after(&job, &run, 0).as_deref(),
            Some("Rouse was not running when the next attempt was due")
        );
    }

    #[test]
    fn maximum_attempts_are_those_of_the_present_job() {
        let (job, run) = retrying();
        let refused = |run: &Run| refuse_attempt(Some(&job), run, &Firing::On);
        let after_stop =
            |run: &Run| refuse_attempt_after_stop(Some(&job), run, &Firing::On, NOW, NOW);
        let last = Run { attempt: 4, ..run.clone() };
        let by_hand = Run { trigger: RunTrigger::Manual, slot_at: None, ..last.clone() };
        for last in [last, by_hand] {
            let why = Some("The job allows no more attempts".to_owned());
            assert_eq!((refused(&last), after_stop(&last)), (why.clone(), why));
        }
        assert_eq!((refused(&run), after_stop(&run)), (None, None));
    }

    #[test]
    fn model_wait_uses_up_no_attempt() {
        let (job, run) = retrying();
        let job = Job { runtime: None, ..job };
        assert!(refuse_attempt(Some(&job), &run, &Firing::On).is_some());
        let waiting = Run { waits_for: Some(WaitsFor::Model), ..run };
        assert_eq!(refuse_attempt(Some(&job), &waiting, &Firing::On), None);
        assert!(refuse_attempt(Some(&job), &waiting, &off()).is_some());
    }

    #[test]
    fn abandoned_retries_reason_is_one_sentence() {
        assert_eq!(
            abandoned_retries_reason("Firing is switched off."),
            "Firing is switched off, so it was not retried"
        );
    }
}
