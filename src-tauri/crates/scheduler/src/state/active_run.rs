//! An active run: attempts, time limit and end.
//!
//! All times here are monotonic, so a step of the wall clock neither shortens nor lengthens a run. Each attempt has the
//! whole time limit; backoffs do not count toward it. An attempt that continues after an approval has the rest of the
//! limit. A stopped run has less than two seconds to end; a reported outcome then counts only if the work was complete.
//! Pitfall: never retry after a time limit, because the first attempt may still have effects.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::decide::{abandoned_retries_reason, model_backoff, retry_after_ms};
use rouse_core::job::Job;
use rouse_core::run::{AbandonedRetries, Usage, WaitsFor};
use rouse_core::schedule::format_duration;
use rouse_core::{Outcome, Run, RunId, RunState};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::lanes::LaneKey;
use super::permits::PermitKind;

/// How long a stopped run may take to end; people see a cancelled run end within two seconds.
pub(crate) const STOP_GRACE: Duration = Duration::from_millis(1_750);
/// Maximum backoff that a provider's `retry-after` may ask for.
const MAX_RETRY_AFTER_MS: u64 = 86_400_000;
/// Time limit of a turn of the main session, which has no job.
const MAIN_TURN_LIMIT: Duration = Duration::from_secs(600);
/// Maximum wait of a turn of the main session for a model, since the lane waits as well.
const MAX_MAIN_TURN_PATIENCE: Duration = Duration::from_secs(60);

/// A run that has started and not ended.
#[derive(Debug)]
pub(crate) struct ActiveRun {
    /// The row as of the start of the attempt.
    pub(crate) run: Run,
    pub(crate) lane: LaneKey,
    /// The kind of the held or needed permit.
    pub(crate) permit: PermitKind,
    /// False in a backoff, so that a failing run does not keep the permits of others.
    pub(crate) holds_permit: bool,
    /// Whether the backoff is over and the run is queued for a permit.
    pub(crate) is_resuming: bool,
    /// The job with current settings and the payload of the run.
    pub(crate) job: Option<Arc<Job>>,
    /// Stops the runner.
    pub(crate) cancel: CancellationToken,
    pub(crate) phase: Phase,
    /// The runs that a command of this attempt waits for.
    pub(crate) awaits: Vec<RunId>,
    /// Whether the run deleted its own job and continues without the job.
    pub(crate) has_deleted_own_job: bool,
    /// The time limit of the attempt.
    limit: Duration,
    deadline: Duration,
    stop: Option<StopRequest>,
    /// Usage of attempts that the store does not have yet.
    unsaved_usage: Usage,
}

/// The phase of an active run.
#[derive(Debug)]
pub(crate) enum Phase {
    /// An attempt is at work.
    Attempt(AbortHandle),
    /// Waits for the next attempt, or to continue the attempt.
    Backoff(BackoffWait),
    /// Has ended; the outcome is not recorded yet.
    Ended(Box<Outcome>),
}

/// The wait between two attempts, or within an attempt.
#[derive(Debug)]
pub(crate) struct BackoffWait {
    pub(crate) until: Duration,
    pub(crate) length: Duration,
    /// The outcome of the attempt before.
    pub(crate) failure: Box<Outcome>,
    pub(crate) is_saved: bool,
}

impl BackoffWait {
    fn new(failure: Outcome, length: Duration, now: Duration) -> Self {
        Self { until: now + length, length, failure: Box::new(failure), is_saved: false }
    }
}

#[derive(Debug)]
struct StopRequest {
    cause: StopCause,
    abort_at: Duration,
}

/// Why a run is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// By a person or an overlap policy, for this reason.
    Cancelled(String),
    TimedOut,
    Shutdown,
}

impl ActiveRun {
    /// A run in `phase` since `now`. Holds the permit if an attempt is active.
    pub(crate) fn new(
        run: Run,
        lane: LaneKey,
        permit: PermitKind,
        job: Option<Arc<Job>>,
        phase: Phase,
        cancel: CancellationToken,
        now: Duration,
    ) -> Self {
        let limit = time_limit(job.as_deref());
        Self {
            deadline: now + limit.saturating_sub(duration(run.worked_ms)),
            holds_permit: matches!(phase, Phase::Attempt(_)),
            run,
            lane,
            permit,
            is_resuming: false,
            job,
            cancel,
            phase,
            awaits: Vec::new(),
            has_deleted_own_job: false,
            limit,
            stop: None,
            unsaved_usage: Usage::default(),
        }
    }

    /// Starts the next attempt with the whole time limit, or continues the attempt with the rest.
    pub(crate) fn resume(&mut self, attempt: AbortHandle, now: Duration) {
        self.limit = time_limit(self.job.as_deref());
        if self.run.waits_for.take().is_none() {
            self.run.worked_ms = 0;
        }
        self.deadline = now + self.limit.saturating_sub(duration(self.run.worked_ms));
        self.phase = Phase::Attempt(attempt);
        self.holds_permit = true;
    }

    /// When the time limit or the grace ends; none outside of an attempt.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let is_attempt = matches!(self.phase, Phase::Attempt(_));
        is_attempt.then(|| self.stop.as_ref().map_or(self.deadline, |stop| stop.abort_at))
    }

    /// When the backoff ends; none when queued for a permit already.
    pub(crate) const fn backoff_end(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Backoff(wait) if !self.is_resuming => Some(wait.until),
            _ => None,
        }
    }

    pub(crate) const fn is_in_backoff(&self) -> bool {
        matches!(self.phase, Phase::Backoff(_))
    }

    pub(crate) const fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    pub(crate) const fn unsaved_backoff(&self) -> Option<&BackoffWait> {
        match &self.phase {
            Phase::Backoff(wait) if !wait.is_saved => Some(wait),
            _ => None,
        }
    }

    /// Notes that the store has the backoff and the usage of the earlier attempts.
    pub(crate) fn mark_backoff_saved(&mut self) {
        if let Phase::Backoff(wait) = &mut self.phase {
            wait.is_saved = true;
            self.unsaved_usage = Usage::default();
        }
    }

    pub(crate) const fn unsaved_usage(&self) -> Usage {
        self.unsaved_usage
    }

    /// Ends a backoff with the failure of the last attempt.
    pub(crate) fn abandon_retries(&mut self, reason: &str, abandoned_retries: AbandonedRetries) {
        if let Phase::Backoff(wait) = &self.phase {
            let no_more = abandoned_retries_reason(reason);
            // A failed run has its cause as the error, a run without a model as the reason.
            let cause =
                wait.failure.reason.as_deref().filter(|_| wait.failure.is_model_unavailable());
            let reason = cause.map(|cause| format!("{}. {no_more}", cause.trim_end_matches('.')));
            let last = Outcome {
                reason: reason.or(Some(no_more)),
                abandoned_retries: Some(abandoned_retries),
                ..(*wait.failure).clone()
            };
            self.phase = Phase::Ended(Box::new(self.final_outcome(Some(last))));
        }
    }

    /// Makes way for a newer run of the job. In a backoff the run has failed, and that failure counts.
    pub(crate) fn replace(&mut self, reason: &str, now: Duration) {
        if self.is_in_backoff() {
            self.abandon_retries(reason, AbandonedRetries::Superseded);
        } else {
            self.stop(StopCause::Cancelled(reason.to_owned()), now);
        }
    }

    /// Stops the run. False if already ended, or in a backoff, which outlives the process.
    pub(crate) fn stop(&mut self, cause: StopCause, now: Duration) -> bool {
        let is_cancel = matches!(cause, StopCause::Cancelled(_));
        // An outcome with approvals is not final until the run is parked.
        let wants_approval =
            matches!(&self.phase, Phase::Ended(outcome) if !outcome.state.is_final());
        match self.phase {
            Phase::Backoff(_) if cause == StopCause::Shutdown => return false,
            Phase::Ended(_) if !(wants_approval && is_cancel) => return false,
            _ => {}
        }
        // The first cause is recorded.
        if self.stop.is_none() {
            self.cancel.cancel();
            self.stop = Some(StopRequest { cause, abort_at: now + STOP_GRACE });
        }
        if wants_approval || self.is_in_backoff() {
            self.phase = Phase::Ended(Box::new(self.final_outcome(None)));
        }
        true
    }

    /// Enforces time limit and grace. Returns an aborted attempt.
    pub(crate) fn enforce_deadline(&mut self, now: Duration) -> Option<AbortHandle> {
        let Phase::Attempt(attempt) = &self.phase else { return None };
        match &self.stop {
            None if self.deadline <= now => {
                self.stop(StopCause::TimedOut, now);
                None
            }
            Some(stop) if stop.abort_at <= now => {
                let attempt = attempt.clone();
                attempt.abort();
                self.phase = Phase::Ended(Box::new(self.final_outcome(None)));
                Some(attempt)
            }
            _ => None,
        }
    }

    /// Takes the outcome of an attempt: the end, a pause within the attempt, or a backoff. `patience` is the maximum
    /// wait of a run for models in all.
    pub(crate) fn end_attempt(&mut self, outcome: Outcome, now: Duration, patience: Duration) {
        self.awaits.clear();
        self.unsaved_usage = self.unsaved_usage.plus(outcome.usage);
        let worked = self.limit.saturating_sub(self.deadline.saturating_sub(now));
        if outcome.state == RunState::AwaitingApproval {
            self.run.worked_ms = milliseconds(worked);
        }
        if let Some(pause) = self.pause_within_attempt(&outcome, now, patience) {
            self.record_pause(&outcome, pause, worked);
            self.phase = Phase::Backoff(BackoffWait::new(outcome, pause, now));
        } else if let Some(backoff) = self.retry_backoff(&outcome) {
            self.phase = Phase::Backoff(BackoffWait::new(outcome, backoff, now));
        } else {
            let outcome = self.with_model_wait(outcome);
            self.phase = Phase::Ended(Box::new(self.final_outcome(Some(outcome))));
        }
    }

    /// The wait for a model or a rate limit before the attempt continues; none without a wait.
    fn pause_within_attempt(
        &self,
        outcome: &Outcome,
        now: Duration,
        patience: Duration,
    ) -> Option<Duration> {
        let waits_for = outcome.waits_for.filter(|_| !self.is_stopped_for_good())?;
        let retry_after = outcome.retry_after_ms.map(Duration::from_millis);
        match waits_for {
            WaitsFor::Model => {
                let is_main_turn = self.run.job_id.is_none();
                let patience =
                    if is_main_turn { patience.min(MAX_MAIN_TURN_PATIENCE) } else { patience };
                model_backoff(duration(self.run.model_wait_ms), patience, retry_after, &self.run.id)
            }
            WaitsFor::RateLimit => retry_after.filter(|wait| now + *wait < self.deadline),
        }
    }

    /// Counts a pause: for a rate limit toward the time limit, for a model toward the patience alone.
    fn record_pause(&mut self, outcome: &Outcome, pause: Duration, worked: Duration) {
        self.run.waits_for = outcome.waits_for;
        self.run.worked_ms = milliseconds(worked);
        match outcome.waits_for {
            Some(WaitsFor::Model) => self.run.model_wait_ms += milliseconds(pause),
            _ => self.run.worked_ms += milliseconds(pause),
        }
    }

    /// Adds the run's wait for a model to a failure for lack of a model.
    fn with_model_wait(&self, outcome: Outcome) -> Outcome {
        let waited = self.run.model_wait_ms;
        if waited == 0 || outcome.waits_for != Some(WaitsFor::Model) {
            return outcome;
        }
        let add = |text: String| {
            format!("{text} Rouse waited {} for the model.", format_duration(waited))
        };
        Outcome { error: outcome.error.map(add), reason: outcome.reason.map(add), ..outcome }
    }

    /// Whether a shutdown leaves the run to recovery: in a backoff, or cut off by the shutdown itself.
    pub(crate) fn is_left_to_recovery(&self) -> bool {
        match &self.phase {
            Phase::Backoff(_) => true,
            Phase::Ended(outcome) if outcome.state != RunState::Cancelled => false,
            Phase::Attempt(_) | Phase::Ended(_) => self.is_shutting_down(),
        }
    }

    fn is_shutting_down(&self) -> bool {
        matches!(&self.stop, Some(stop) if stop.cause == StopCause::Shutdown)
    }

    /// Stopped by anything but a shutdown, after which recovery continues the run.
    fn is_stopped_for_good(&self) -> bool {
        self.stop.is_some() && !self.is_shutting_down()
    }

    /// The wait before the next attempt; none when there is none.
    fn retry_backoff(&self, outcome: &Outcome) -> Option<Duration> {
        let is_transient = outcome.state == RunState::Failed && outcome.is_transient;
        if self.is_stopped_for_good() || !(is_transient || outcome.is_model_unavailable()) {
            return None;
        }
        let runtime = self.job.as_ref().and_then(|job| job.runtime.as_ref());
        let backoff = retry_after_ms(runtime, self.run.attempt, &self.run.id)?;
        let retry_after = outcome.retry_after_ms.unwrap_or(0).min(MAX_RETRY_AFTER_MS);
        Some(Duration::from_millis(backoff.max(retry_after)))
    }

    /// The outcome to record, from the runner's outcome if reported.
    fn final_outcome(&self, reported: Option<Outcome>) -> Outcome {
        let is_complete = reported.as_ref().is_some_and(|outcome| {
            matches!(outcome.state, RunState::Succeeded | RunState::NothingToReport)
        });
        let outcome = reported.unwrap_or(Outcome::of(RunState::Cancelled));
        let outcome = match &self.stop {
            Some(stop) if !is_complete => self.stopped_outcome(&stop.cause, outcome),
            _ if outcome.state == RunState::AwaitingApproval && !outcome.approvals.is_empty() => {
                outcome
            }
            _ if !outcome.state.is_final() => {
                Outcome::failed("The run stopped before the work was done.")
            }
            _ => outcome,
        };
        Outcome { usage: self.unsaved_usage, ..outcome }
    }

    fn stopped_outcome(&self, cause: &StopCause, outcome: Outcome) -> Outcome {
        let (state, error, reason) = match cause {
            StopCause::Cancelled(reason) => (RunState::Cancelled, None, Some(reason.clone())),
            StopCause::TimedOut => {
                let limit = format_duration(milliseconds(self.limit));
                (RunState::TimedOut, Some(format!("Timed out after {limit}")), None)
            }
            StopCause::Shutdown => return outcome,
        };
        Outcome {
            state,
            error,
            reason,
            is_transient: false,
            result: None,
            approvals: Vec::new(),
            ..outcome
        }
    }
}

/// Rounded up, so that no wait is shorter and no limit is longer for having been stored.
pub(crate) fn milliseconds(span: Duration) -> i64 {
    i64::try_from(span.as_micros().div_ceil(1_000)).unwrap_or(i64::MAX)
}

/// Stored milliseconds as a duration.
pub(crate) fn duration(ms: i64) -> Duration {
    Duration::from_millis(ms.max(0).unsigned_abs())
}

fn time_limit(job: Option<&Job>) -> Duration {
    job.map_or(MAIN_TURN_LIMIT, |job| Duration::from_secs(job.timeout_seconds().into()))
}
