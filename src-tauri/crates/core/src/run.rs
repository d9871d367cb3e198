//! One execution of a job or of the heartbeat: exactly one row, exactly one final state.

use serde_json::Value;

use crate::approval::Approval;
use crate::condition::Verdict;
use crate::money::BudgetStop;
use crate::naming::for_log;
use crate::{JobId, RunId, SessionKey, UnixMs};

/// Every state a run can be in. Waiting states move on; final states never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Claimed, waits in its lane.
    Queued,
    /// At work.
    Running,
    /// Parked until a person answers.
    AwaitingApproval,
    /// Did what it should and has something to show.
    Succeeded,
    /// Did what it should and found nothing worth telling.
    NothingToReport,
    /// Ended in an error.
    Failed,
    /// Ran out of time.
    TimedOut,
    /// Ended by a person or by an overlap policy.
    Cancelled,
    /// Decided not to run; the reason is on the row.
    Skipped,
    /// Its time passed while nothing could fire; the reason is on the row.
    Missed,
    /// Cut off by the end of the process.
    Interrupted,
}

const NAMES: [(RunState, &str); 11] = [
    (RunState::Queued, "queued"),
    (RunState::Running, "running"),
    (RunState::AwaitingApproval, "awaitingApproval"),
    (RunState::Succeeded, "succeeded"),
    (RunState::NothingToReport, "nothingToReport"),
    (RunState::Failed, "failed"),
    (RunState::TimedOut, "timedOut"),
    (RunState::Cancelled, "cancelled"),
    (RunState::Skipped, "skipped"),
    (RunState::Missed, "missed"),
    (RunState::Interrupted, "interrupted"),
];

impl RunState {
    /// All of them, in the order of a run's life.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(state, _)| *state)
    }

    /// The name in JSON, SQL and the UI.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(state, _)| *state == self)
            .map(|(_, name)| *name)
            .expect("BUG: a run state has no name")
    }

    /// The state of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(state, _)| *state)
    }

    /// Whether the run is over.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::AwaitingApproval)
    }

    /// Whether a final state counts as a failure of the job.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::TimedOut)
    }

    /// The RFC's three words for a final state; none while the run goes on.
    #[must_use]
    pub const fn rfc_status(self) -> Option<&'static str> {
        match self {
            Self::Succeeded | Self::NothingToReport => Some("ok"),
            Self::Failed | Self::TimedOut | Self::Interrupted => Some("error"),
            Self::Skipped | Self::Missed | Self::Cancelled => Some("skipped"),
            Self::Queued | Self::Running | Self::AwaitingApproval => None,
        }
    }
}

/// Why a run exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunTrigger {
    /// Its slot came.
    Schedule,
    /// Its slot had passed, or its first run was cut off.
    CatchUp,
    /// An event that its job waits for.
    Event,
    /// A call of its job's webhook.
    Webhook,
    /// A person asked.
    Manual,
    /// The heartbeat or a wake.
    Heartbeat,
    /// A person wrote to the main session and waits for an answer.
    Chat,
}

impl RunTrigger {
    /// The name in JSON, SQL and the UI.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::CatchUp => "catchUp",
            Self::Event => "event",
            Self::Webhook => "webhook",
            Self::Manual => "manual",
            Self::Heartbeat => "heartbeat",
            Self::Chat => "chat",
        }
    }

    /// Whether it is a turn of the main session.
    #[must_use]
    pub const fn is_main_turn(self) -> bool {
        matches!(self, Self::Heartbeat | Self::Chat)
    }

    /// The trigger of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Schedule,
            Self::CatchUp,
            Self::Event,
            Self::Webhook,
            Self::Manual,
            Self::Heartbeat,
            Self::Chat,
        ];
        all.into_iter().find(|trigger| trigger.name() == name)
    }
}

/// A run as it stands in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Identity.
    pub id: RunId,
    /// Its job; none for the heartbeat.
    pub job_id: Option<JobId>,
    /// The job's name when the run was made (it outlives the job).
    pub job_name: String,
    /// The slot it stands for, the newest of several; none for manual and heartbeat runs.
    pub slot_at: Option<UnixMs>,
    /// The first slot it stands for, where there are several.
    pub first_slot_at: Option<UnixMs>,
    /// Why it exists.
    pub trigger: RunTrigger,
    /// Where it is.
    pub state: RunState,
    /// Why it was skipped, missed, cancelled or interrupted.
    pub reason: Option<String>,
    /// How many slots it stands for (more than one after a pause).
    pub stands_for: u32,
    /// When it was claimed.
    pub created_at: UnixMs,
    /// When its work began.
    pub started_at: Option<UnixMs>,
    /// When it ended.
    pub finished_at: Option<UnixMs>,
    /// Attempts made, the running one included.
    pub attempt: u32,
    /// When its next attempt is due; none while it does not wait for one.
    pub next_attempt_at: Option<UnixMs>,
    /// Milliseconds that its attempt was at work before its last question or wait; they count towards the time limit.
    pub worked_ms: i64,
    /// What it waits for until `next_attempt_at`; none for the backoff of a failed attempt.
    pub waits_for: Option<WaitsFor>,
    /// Milliseconds that it has waited for models so far.
    pub model_wait_ms: i64,
    /// The run that this one makes up for.
    pub retry_of: Option<RunId>,
    /// The slot that was cut off with that run, where it had one.
    pub makes_up_for: Option<UnixMs>,
    /// The outcome in words.
    pub summary: Option<String>,
    /// What failed; of a run that waits for its next attempt, what the last one failed of.
    pub error: Option<String>,
    /// The transcript it wrote.
    pub session: Option<SessionKey>,
    /// The model that worked.
    pub model: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// The job's payload when the run was claimed, in the job format.
    pub payload: Value,
    /// Why another model than the job's own has worked; none when none has.
    pub fell_back: Option<String>,
}

impl Run {
    /// A run that waits in its lane since `created_at`, and of which nothing else is said: no job, no slot, no payload.
    #[must_use]
    pub fn queued(id: RunId, trigger: RunTrigger, created_at: UnixMs) -> Self {
        Self {
            id,
            job_id: None,
            job_name: String::new(),
            slot_at: None,
            first_slot_at: None,
            trigger,
            state: RunState::Queued,
            reason: None,
            stands_for: 1,
            created_at,
            started_at: None,
            finished_at: None,
            attempt: 0,
            next_attempt_at: None,
            worked_ms: 0,
            waits_for: None,
            model_wait_ms: 0,
            retry_of: None,
            makes_up_for: None,
            summary: None,
            error: None,
            session: None,
            model: None,
            usage: Usage::default(),
            payload: Value::Null,
            fell_back: None,
        }
    }

    /// What the log calls it: a name that was made from what its job is told is not that.
    #[must_use]
    pub fn name_for_log(&self) -> String {
        let id = self.job_id.as_ref().map_or_else(|| self.id.as_str(), JobId::as_str);
        for_log(&self.job_name, &self.payload, id)
    }

    /// Whether it is a call that a person tries a tool with: no job, and a payload of its own kind.
    #[must_use]
    pub fn is_trial(&self) -> bool {
        self.job_id.is_none() && self.payload["kind"] == "trial"
    }

    /// Whether whoever began it looks at its end where they began it. It is nobody's notification then, and no incident.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.trigger == RunTrigger::Chat || self.is_trial()
    }

    /// The slot that its work is for: its own, or the one that was cut off before it.
    #[must_use]
    pub fn slot(&self) -> Option<UnixMs> {
        self.slot_at.or(self.makes_up_for)
    }

    /// Milliseconds between the slot and the start of the work; none without both.
    #[must_use]
    pub fn late_by_ms(&self) -> Option<i64> {
        Some(self.started_at?.since(self.slot()?).max(0))
    }

    /// Milliseconds from the start of the work to its end. Nobody knows them of one that was cut off: its end is when that
    /// was found.
    #[must_use]
    pub fn took_ms(&self) -> Option<i64> {
        let finished_at = self.finished_at.filter(|_| self.state != RunState::Interrupted)?;
        Some(finished_at.since(self.started_at?).max(0))
    }
}

/// Tokens and money of a run or of one model turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens sent that the provider had cached.
    pub cached_input_tokens: u64,
    /// Tokens sent that the provider wrote to its cache. They are part of the cost and not stored by themselves.
    pub cache_write_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Millionths of a US dollar; none when unknown (never zero for unknown).
    pub cost_micro_usd: Option<u64>,
}

impl Usage {
    /// No tokens.
    pub const NONE: Self = Self {
        input_tokens: 0,
        cached_input_tokens: 0,
        cache_write_tokens: 0,
        output_tokens: 0,
        cost_micro_usd: None,
    };

    /// The sum; a cost stays known only while every part's is known.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_add(other.cached_input_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_micro_usd: match (self.cost_micro_usd, other.cost_micro_usd) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (None, Some(b)) if self.tokens() == 0 => Some(b),
                (Some(a), None) if other.tokens() == 0 => Some(a),
                _ => None,
            },
        }
    }

    /// All tokens.
    #[must_use]
    pub const fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// What a run waits for between two stretches of work, without ending its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// A model: none could answer for now.
    Model,
    /// A tool's rate limit.
    RateLimit,
}

impl WaitsFor {
    /// The name in JSON, SQL and the UI.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::RateLimit => "rateLimit",
        }
    }

    /// What has this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Model, Self::RateLimit].into_iter().find(|waits_for| waits_for.name() == name)
    }
}

/// Why a run ends with the failure of its last attempt although it had attempts left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenUp {
    /// It was kept from them: everything is paused, firing or its job is off, its job allows fewer by now, or a stop of Rouse
    /// made the next one too late. Whoever did that has not asked for what a failure does to a job: it neither pauses nor
    /// deletes it.
    KeptBack,
    /// A newer run of its job took its place. It failed like any other and can pause its job; but that newer run is there,
    /// and whether the job goes is for the end of that one.
    Replaced,
}

/// How a run ended, as its runner reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// A final state, or `AwaitingApproval` for a run that is to be parked.
    pub state: RunState,
    /// The outcome in words, for the person.
    pub summary: Option<String>,
    /// What failed, for the person.
    pub error: Option<String>,
    /// What the log says of the error, where its words are a tool's or a model's.
    pub error_for_log: Option<String>,
    /// Why it was skipped or cancelled.
    pub reason: Option<String>,
    /// Whether another attempt may succeed (a network failure, an overloaded provider).
    pub may_pass: bool,
    /// What the run could wait for and go on: no model answered for now, or a tool's rate limit is reached.
    pub waits_for: Option<WaitsFor>,
    /// How long the provider asks to wait, or how long the rate limit lasts, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Why attempts that it had left were not made; none where it had none left, or has made them.
    pub given_up: Option<GivenUp>,
    /// What it cost.
    pub usage: Usage,
    /// The model that worked.
    pub model: Option<String>,
    /// The result of a tool call, to compare the next one with.
    pub result: Option<Value>,
    /// What the job's condition said of the result; none without one.
    pub verdict: Option<Verdict>,
    /// Why its job is to be switched off, whatever the job's own policies say.
    pub pauses: Option<String>,
    /// The budget that has ended it, or kept it from beginning.
    pub budget: Option<BudgetStop>,
    /// Why another model than the job's own has worked.
    pub fell_back: Option<String>,
    /// What it asks of a person, for `AwaitingApproval`, the one state here that is not final.
    pub asks: Vec<Approval>,
}

impl Outcome {
    /// Whether no model was there to do its work, which may pass.
    #[must_use]
    pub fn lacks_model(&self) -> bool {
        self.state == RunState::Skipped && self.may_pass
    }

    /// An outcome of `state` and nothing else.
    #[must_use]
    pub const fn of(state: RunState) -> Self {
        Self {
            state,
            summary: None,
            error: None,
            error_for_log: None,
            reason: None,
            may_pass: false,
            waits_for: None,
            retry_after_ms: None,
            given_up: None,
            usage: Usage::NONE,
            model: None,
            result: None,
            verdict: None,
            pauses: None,
            budget: None,
            fell_back: None,
            asks: Vec::new(),
        }
    }

    /// Success with something to show.
    #[must_use]
    pub fn succeeded(summary: impl Into<String>) -> Self {
        Self { summary: Some(summary.into()), ..Self::of(RunState::Succeeded) }
    }

    /// A failure that another attempt will not mend.
    #[must_use]
    pub fn failed(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::of(RunState::Failed) }
    }

    /// A decision not to run.
    #[must_use]
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::of(RunState::Skipped) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_knows_how_long_a_run_took_that_was_cut_off() {
        let run = Run {
            state: RunState::Succeeded,
            started_at: Some(UnixMs(1_000)),
            finished_at: Some(UnixMs(3_000)),
            ..Run::queued(RunId::new("1"), RunTrigger::Manual, UnixMs(0))
        };
        assert_eq!(run.took_ms(), Some(2_000));
        assert_eq!(Run { state: RunState::Interrupted, ..run }.took_ms(), None);
    }

    #[test]
    fn a_sum_beyond_every_number_stays_the_largest_one() {
        let most = Usage {
            input_tokens: u64::MAX,
            cached_input_tokens: u64::MAX,
            cache_write_tokens: u64::MAX,
            output_tokens: u64::MAX,
            cost_micro_usd: Some(u64::MAX),
        };
        assert_eq!(most.plus(most), most);
        assert_eq!(most.tokens(), u64::MAX);
    }
}
