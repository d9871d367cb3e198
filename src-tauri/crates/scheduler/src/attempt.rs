//! A run at work: its attempts, their time limit, and how it is brought to an end.
//!
//! Everything here is measured with the monotonic clock; setting the wall clock neither shortens nor lengthens a run. Each
//! attempt has the whole time limit, and the wait before it none: what a person has written of attempts is what happens,
//! however long the waits are. A run has an end all the same, since its attempts are counted. One that goes on with an
//! answer goes on in its attempt, and has what is left of the limit: questions do not make it longer.
//! A run that is told to end has less than two seconds to say what it did, and is over within them. What it says then
//! counts only if it had finished its work: a run that did everything is not called cancelled because somebody clicked at
//! the same moment. One could get it wrong by trying again after a time limit: the first attempt may still be doing what
//! it was doing.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::decide::{model_pause, no_further_attempt, retry_after_ms};
use rouse_core::job::Job;
use rouse_core::run::{GivenUp, Usage, WaitsFor};
use rouse_core::schedule::format_duration;
use rouse_core::{Outcome, Run, RunId, RunState};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::lanes::{LaneKey, Rank};

/// How long a run may take to end when it is told to: whoever stops one sees it ended within two seconds.
pub(crate) const GRACE: Duration = Duration::from_millis(1_750);
/// The longest that a provider's wish puts a further attempt off.
const LONGEST_WISH_MS: u64 = 86_400_000;
/// The time limit of a beat of the heartbeat, which has no job to say so.
const HEARTBEAT_LIMIT: Duration = Duration::from_secs(600);

/// How long a turn of the main session waits for models: its lane waits with it.
const MAIN_SESSION_PATIENCE: Duration = Duration::from_secs(60);

/// A run at work.
#[derive(Debug)]
pub(crate) struct Running {
    /// The row, as it was when the attempt began.
    pub(crate) run: Run,
    /// Its lane.
    pub(crate) lane: LaneKey,
    /// The rank of its place.
    pub(crate) rank: Rank,
    /// Its job as it is now, with the work that the run was claimed with.
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
    /// Whether its wait is over and it queues for a permit.
    pub(crate) is_queued: bool,
    /// Whether it has removed its job, and goes on without it.
    pub(crate) outlives_job: bool,
    /// How long its attempt may work: what its job said when that began.
    limit: Duration,
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
    Backoff(Wait),
    /// Nothing more; the outcome is to be recorded.
    Over(Box<Outcome>),
}

/// The wait for the next attempt.
#[derive(Debug)]
pub(crate) struct Wait {
    /// When it is over.
    pub(crate) until: Duration,
    /// How long it is.
    pub(crate) backoff: Duration,
    /// How the last attempt has failed.
    pub(crate) failure: Box<Outcome>,
    /// Whether the store knows of it.
    pub(crate) is_kept: bool,
}

impl Wait {
    fn new(failure: Outcome, backoff: Duration, now: Duration) -> Self {
        Self { until: now + backoff, backoff, failure: Box::new(failure), is_kept: false }
    }
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
    /// A run that is at this since `now`, with a place if it works.
    pub(crate) fn new(
        run: Run,
        lane: LaneKey,
        job: Option<Arc<Job>>,
        (work, cancel): (Work, CancellationToken),
        now: Duration,
    ) -> Self {
        let worked = Duration::from_millis(run.worked_ms.max(0).unsigned_abs());
        let limit = time_limit(job.as_deref());
        let deadline = now + limit.saturating_sub(worked);
        let has_place = matches!(work, Work::Attempt(_));
        Self {
            rank: Rank::from(run.trigger),
            run,
            lane,
            job,
            cancel,
            work,
            has_place,
            awaits: Vec::new(),
            is_queued: false,
            outlives_job: false,
            limit,
            deadline,
            ending: None,
            spent: Usage::default(),
        }
    }

    /// The same, with the rank that it has got its place by.
    pub(crate) fn with_rank(self, rank: Rank) -> Self {
        Self { rank, ..self }
    }

    /// Follows a change of its job: whether and when there is another attempt, and how long that may work. The attempt at
    /// work goes on as it began.
    pub(crate) fn follows(&mut self, job: Job) {
        self.job = Some(Arc::new(job));
    }

    /// Takes up its next attempt, which has the whole time limit from `now` on; or goes on in its attempt after a wait, with
    /// what is left of the limit.
    pub(crate) fn tries_again(&mut self, attempt: AbortHandle, now: Duration) {
        self.limit = time_limit(self.job.as_deref());
        if self.run.waits_for.take().is_none() {
            self.run.worked_ms = 0;
        }
        let worked = Duration::from_millis(self.run.worked_ms.max(0).unsigned_abs());
        self.deadline = now + self.limit.saturating_sub(worked);
        self.work = Work::Attempt(attempt);
    }

    /// When its time limit or its grace ends. Between two attempts there is none.
    pub(crate) fn expires_at(&self) -> Option<Duration> {
        match (&self.work, &self.ending) {
            (Work::Attempt(_), None) => Some(self.deadline),
            (Work::Attempt(_), Some(ending)) => Some(ending.abort_at),
            (Work::Backoff(_) | Work::Over(_), _) => None,
        }
    }

    /// When its wait is over; none where it does not wait, or queues for a permit already.
    pub(crate) const fn resumes_at(&self) -> Option<Duration> {
        match &self.work {
            Work::Backoff(wait) if !self.is_queued => Some(wait.until),
            _ => None,
        }
    }

    /// Whether it waits for nothing but a permit.
    pub(crate) const fn is_queued(&self) -> bool {
        self.is_queued && matches!(self.work, Work::Backoff(_))
    }

    /// Whether its outcome is to be recorded.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self.work, Work::Over(_))
    }

    /// The wait that the store does not know of yet.
    pub(crate) fn new_wait(&self) -> Option<&Wait> {
        match &self.work {
            Work::Backoff(wait) if !wait.is_kept => Some(wait),
            _ => None,
        }
    }

    /// Takes in that the store knows of the wait, and of what the attempts before it have cost.
    pub(crate) fn wait_is_kept(&mut self) {
        if let Work::Backoff(wait) = &mut self.work {
            wait.is_kept = true;
            self.spent = Usage::default();
        }
    }

    /// What its attempts have cost that the store does not know of.
    pub(crate) const fn spent(&self) -> Usage {
        self.spent
    }

    /// Ends the wait for another attempt with the failure of the last one.
    pub(crate) fn gives_up(&mut self, why: &str, given_up: GivenUp) {
        if let Work::Backoff(wait) = &self.work {
            let no_more = no_further_attempt(why);
            // Of one that failed the cause is its error.
            let cause = wait.failure.reason.as_deref().filter(|_| wait.failure.lacks_model());
            let reason = cause.map(|cause| format!("{}. {no_more}", cause.trim_end_matches('.')));
            let reason = reason.or(Some(no_more));
            let given_up = Some(given_up);
            let last = Outcome { reason, given_up, ..(*wait.failure).clone() };
            self.work = Work::Over(Box::new(self.settled(Some(last))));
        }
    }

    /// Makes room for a newer run of its job. One between two attempts has failed, and its failure counts.
    pub(crate) fn is_replaced(&mut self, why: &str, now: Duration) {
        match self.work {
            Work::Backoff(_) => self.gives_up(why, GivenUp::Replaced),
            Work::Attempt(_) | Work::Over(_) => {
                self.end(Why::Cancelled(why.to_owned()), now);
            }
        }
    }

    /// Tells it to end. False when it is over already, or when nothing is to be done: a wait outlives the process.
    pub(crate) fn end(&mut self, why: Why, now: Duration) -> bool {
        if matches!(self.work, Work::Backoff(_)) && why == Why::Shutdown {
            return false;
        }
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
        if asks || matches!(self.work, Work::Backoff(_)) {
            self.work = Work::Over(Box::new(self.settled(None)));
        }
        true
    }

    /// Enforces the time limit and the grace. Answers the attempt that was given up.
    pub(crate) fn expire(&mut self, now: Duration) -> Option<AbortHandle> {
        let Work::Attempt(attempt) = &self.work else { return None };
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

    /// Takes the outcome of an attempt: the end, a wait within the attempt, or another attempt later. `patience` is how long
    /// a run waits in all for models that cannot answer for now.
    pub(crate) fn attempt_ended(&mut self, outcome: Outcome, now: Duration, patience: Duration) {
        self.spent = self.spent.plus(outcome.usage);
        let worked = self.limit.saturating_sub(self.deadline.saturating_sub(now));
        if outcome.state == RunState::AwaitingApproval {
            self.run.worked_ms = milliseconds(worked);
        }
        if let Some(pause) = self.pause(&outcome, now, patience) {
            self.note_wait(&outcome, pause, worked);
            self.work = Work::Backoff(Wait::new(outcome, pause, now));
        } else if let Some(backoff) = self.backoff(&outcome) {
            self.work = Work::Backoff(Wait::new(outcome, backoff, now));
        } else {
            let outcome = self.with_patience_told(outcome);
            self.work = Work::Over(Box::new(self.settled(Some(outcome))));
        }
    }

    /// How long the run waits before it goes on in its attempt; none when it does not.
    fn pause(&self, outcome: &Outcome, now: Duration, patience: Duration) -> Option<Duration> {
        let is_ended = self.ending.is_some() && !self.is_stopped();
        let waits_for = outcome.waits_for.filter(|_| !is_ended)?;
        let wish = outcome.retry_after_ms.map(Duration::from_millis);
        match waits_for {
            WaitsFor::Model => {
                let patience = match self.run.job_id {
                    Some(_) => patience,
                    None => patience.min(MAIN_SESSION_PATIENCE),
                };
                let waited = Duration::from_millis(self.run.model_wait_ms.max(0).unsigned_abs());
                model_pause(waited, patience, wish, &self.run.id)
            }
            WaitsFor::RateLimit => wish.filter(|wish| now + *wish < self.deadline),
        }
    }

    /// Notes a wait: one for a model counts towards no limit, one for a rate limit towards the time limit.
    fn note_wait(&mut self, outcome: &Outcome, pause: Duration, worked: Duration) {
        self.run.waits_for = outcome.waits_for;
        self.run.worked_ms = milliseconds(worked);
        match outcome.waits_for {
            Some(WaitsFor::Model) => self.run.model_wait_ms += milliseconds(pause),
            _ => self.run.worked_ms += milliseconds(pause),
        }
    }

    /// The failure with how long the run has waited for a model in vain.
    fn with_patience_told(&self, outcome: Outcome) -> Outcome {
        let waited = self.run.model_wait_ms;
        if waited == 0 || outcome.waits_for != Some(WaitsFor::Model) {
            return outcome;
        }
        let told = |words: String| {
            format!("{words} Rouse waited {} for the model.", format_duration(waited))
        };
        Outcome { error: outcome.error.map(told), reason: outcome.reason.map(told), ..outcome }
    }

    /// Whether it is the next start's: it waits for its next attempt, or it ended only because Rouse stops and is found as
    /// cut off.
    pub(crate) fn is_left_to_next_start(&self) -> bool {
        match &self.work {
            Work::Backoff(_) => true,
            Work::Over(outcome) if outcome.state != RunState::Cancelled => false,
            Work::Attempt(_) | Work::Over(_) => self.is_stopped(),
        }
    }

    /// Whether it is told to end because Rouse stops.
    fn is_stopped(&self) -> bool {
        matches!(&self.ending, Some(ending) if ending.why == Why::Shutdown)
    }

    fn backoff(&self, outcome: &Outcome) -> Option<Duration> {
        // What fails as Rouse stops is tried again by the next start. What ran out of time may still be at work.
        let is_ended = self.ending.is_some() && !self.is_stopped();
        let is_worth_it = outcome.state == RunState::Failed && outcome.may_pass;
        if is_ended || !(is_worth_it || outcome.lacks_model()) {
            return None;
        }
        let runtime = self.job.as_ref().and_then(|job| job.runtime.as_ref());
        let pause = retry_after_ms(runtime, self.run.attempt, &self.run.id)?;
        // Who has said when is not asked before; a day is as long as any wish counts.
        let wish = outcome.retry_after_ms.unwrap_or(0).min(LONGEST_WISH_MS);
        Some(Duration::from_millis(pause.max(wish)))
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
                let limit = format_duration(milliseconds(self.limit));
                (RunState::TimedOut, Some(format!("Ran out of time after {limit}")), None)
            }
            Why::Shutdown => return outcome,
        };
        Outcome { state, error, reason, may_pass: false, result: None, asks: Vec::new(), ..outcome }
    }
}

/// Rounded up: no wait is shorter and no limit is longer for having been written down.
pub(crate) fn milliseconds(span: Duration) -> i64 {
    i64::try_from(span.as_micros().div_ceil(1_000)).unwrap_or(i64::MAX)
}

const fn has_done_its_work(state: RunState) -> bool {
    matches!(state, RunState::Succeeded | RunState::NothingToReport)
}

fn time_limit(job: Option<&Job>) -> Duration {
    job.map_or(HEARTBEAT_LIMIT, |job| Duration::from_secs(job.timeout_seconds().into()))
}
