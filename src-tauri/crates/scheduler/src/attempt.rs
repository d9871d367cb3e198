//! A run at work: its attempts, its time limit, and how it is brought to an end.
//!
//! Everything here is measured with the monotonic clock; setting the wall clock neither shortens nor lengthens a run.
//! A run that is told to end has two seconds to say what it did. What it says then counts only if it had finished its
//! work: a run that did everything is not called cancelled because somebody clicked at the same moment. One could get
//! it wrong by trying again after a time limit: the first attempt may still be doing what it was doing.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::decide::retry_after_ms;
use rouse_core::job::Job;
use rouse_core::run::Usage;
use rouse_core::schedule::format_duration;
use rouse_core::{Outcome, Run, RunId, RunState};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::lanes::LaneKey;

/// How long a run may take to end when it is told to.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// The time limit of a beat of the heartbeat, which has no job to say so.
const HEARTBEAT_LIMIT: Duration = Duration::from_secs(600);

/// A run at work.
#[derive(Debug)]
pub(crate) struct Running {
    /// The row, as it was when the attempt began.
    pub(crate) run: Run,
    /// Its lane.
    pub(crate) lane: LaneKey,
    /// Its job at the start.
    pub(crate) job: Option<Arc<Job>>,
    /// Tells the runner to end.
    pub(crate) cancel: CancellationToken,
    /// What it is at.
    pub(crate) work: Work,
    /// Whether it has a place under the cap. Between two attempts it has none, so that what fails again and again does not
    /// keep the places of what works.
    pub(crate) has_place: bool,
    /// The runs that it waits for, if it does. Its place is lent as long as there is one.
    pub(crate) awaits: Vec<RunId>,
    /// Whether its next attempt could begin but for a place.
    pub(crate) waits_for_place: bool,
    /// Whether it has removed its job, and goes on without it.
    pub(crate) outlives_job: bool,
    deadline: Duration,
    ending: Option<Ending>,
    spent: Usage,
}

/// What a run is at.
#[derive(Debug)]
pub(crate) enum Work {
    /// An attempt.
    Attempt(AbortHandle),
    /// Waiting for the next attempt.
    Backoff {
        /// When it begins.
        until: Duration,
    },
    /// Nothing more; the outcome is to be recorded.
    Over(Box<Outcome>),
}

#[derive(Debug)]
struct Ending {
    why: Why,
    abort_at: Duration,
}

/// Why a run is brought to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// Somebody, or an overlap policy, ended it.
    Cancelled(String),
    /// Its time limit.
    TimedOut,
    /// Rouse stops.
    Shutdown,
}

impl Running {
    /// A run whose first attempt begins at `now`.
    pub(crate) fn new(run: Run, lane: LaneKey, job: Option<Arc<Job>>, now: Duration) -> Self {
        let deadline = now + time_limit(job.as_deref());
        let work = Work::Backoff { until: now };
        let (cancel, spent) = (CancellationToken::new(), Usage::default());
        Self {
            run,
            lane,
            job,
            cancel,
            work,
            has_place: true,
            awaits: Vec::new(),
            waits_for_place: false,
            outlives_job: false,
            deadline,
            ending: None,
            spent,
        }
    }

    /// When its time limit or its grace ends. Between two attempts there is none: the next begins before it, if it has a place.
    pub(crate) fn expires_at(&self) -> Option<Duration> {
        match (&self.work, &self.ending) {
            (Work::Attempt(_), None) => Some(self.deadline),
            (Work::Attempt(_), Some(ending)) => Some(ending.abort_at),
            (Work::Backoff { .. }, _) if self.waits_for_place => Some(self.deadline),
            (Work::Backoff { .. } | Work::Over(_), _) => None,
        }
    }

    /// When its next attempt begins.
    pub(crate) const fn goes_on_at(&self) -> Option<Duration> {
        match self.work {
            Work::Backoff { until } if !self.waits_for_place => Some(until),
            _ => None,
        }
    }

    /// Tells it to end. False when it is over already.
    pub(crate) fn end(&mut self, why: Why, now: Duration) -> bool {
        let asks = matches!(&self.work, Work::Over(outcome) if !outcome.state.is_final());
        if matches!(self.work, Work::Over(_)) && !(asks && matches!(why, Why::Cancelled(_))) {
            return false;
        }
        // Who asked first is on record.
        if self.ending.is_none() {
            self.cancel.cancel();
            self.ending = Some(Ending { why, abort_at: now + GRACE });
        }
        // One that has asked and is not parked yet is over with that, and nobody is asked.
        if asks || matches!(self.work, Work::Backoff { .. }) {
            self.work = Work::Over(Box::new(self.settled(None)));
        }
        true
    }

    /// Enforces the time limit and the grace. Answers the attempt that was given up.
    pub(crate) fn expire(&mut self, now: Duration) -> Option<AbortHandle> {
        let Work::Attempt(attempt) = &self.work else {
            if self.waits_for_place && self.deadline <= now {
                self.end(Why::TimedOut, now);
            }
            return None;
        };
        match &self.ending {
            None if self.deadline <= now => {
                self.end(Why::TimedOut, now);
                None
            }
            Some(ending) if ending.abort_at <= now => {
                let attempt = attempt.clone();
                attempt.abort();
                self.work = Work::Over(Box::new(self.settled(None)));
                Some(attempt)
            }
            _ => None,
        }
    }

    /// Takes the outcome of an attempt: the end, or another attempt later.
    pub(crate) fn attempt_ended(&mut self, outcome: Outcome, now: Duration) {
        self.spent = self.spent.plus(outcome.usage);
        let backoff = self.backoff(&outcome).map(|backoff| now + backoff);
        self.work = match backoff.filter(|until| *until < self.deadline) {
            Some(until) => Work::Backoff { until },
            None => Work::Over(Box::new(self.settled(Some(outcome)))),
        };
    }

    /// Whether it ended only because Rouse stops, so that the next start finds it as cut off.
    pub(crate) fn is_cut_off(&self) -> bool {
        let by_shutdown = matches!(&self.ending, Some(ending) if ending.why == Why::Shutdown);
        by_shutdown
            && !matches!(&self.work, Work::Over(outcome) if outcome.state != RunState::Cancelled)
    }

    fn backoff(&self, outcome: &Outcome) -> Option<Duration> {
        if self.ending.is_some() || !outcome.state.is_failure() || !outcome.may_pass {
            return None;
        }
        let runtime = self.job.as_ref().and_then(|job| job.runtime.as_ref());
        retry_after_ms(runtime, self.run.attempt, &self.run.id).map(Duration::from_millis)
    }

    /// The outcome on record, from what the runner said, if it said anything.
    fn settled(&self, said: Option<Outcome>) -> Outcome {
        let done = said.as_ref().is_some_and(|outcome| has_done_its_work(outcome.state));
        let outcome = said.unwrap_or(Outcome::of(RunState::Cancelled));
        let outcome = match self.ending.as_ref().map(|ending| &ending.why) {
            Some(why) if !done => self.brought_to_an_end(why, outcome),
            _ if outcome.state == RunState::AwaitingApproval && !outcome.asks.is_empty() => outcome,
            _ if !outcome.state.is_final() => {
                Outcome::failed("It stopped in the middle of its work.")
            }
            _ => outcome,
        };
        Outcome { usage: self.spent, ..outcome }
    }

    fn brought_to_an_end(&self, why: &Why, outcome: Outcome) -> Outcome {
        let (state, error, reason) = match why {
            Why::Cancelled(reason) => (RunState::Cancelled, None, Some(reason.clone())),
            Why::TimedOut => {
                let limit = time_limit(self.job.as_deref()).as_millis();
                let limit = format_duration(i64::try_from(limit).unwrap_or(i64::MAX));
                (RunState::TimedOut, Some(format!("Ran out of time after {limit}")), None)
            }
            Why::Shutdown => return outcome,
        };
        Outcome { state, error, reason, may_pass: false, result: None, asks: Vec::new(), ..outcome }
    }
}

const fn has_done_its_work(state: RunState) -> bool {
    matches!(state, RunState::Succeeded | RunState::NothingToReport)
}

fn time_limit(job: Option<&Job>) -> Duration {
    job.map_or(HEARTBEAT_LIMIT, |job| Duration::from_secs(job.timeout_seconds().into()))
}
