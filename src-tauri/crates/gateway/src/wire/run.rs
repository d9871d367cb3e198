//! `runs.*`: history and the page of one run.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::{ApprovalView, DeliveryView, GateView};

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the states are documented in rouse_core::run")]
pub enum RunState {
    Queued,
    Running,
    AwaitingApproval,
    Succeeded,
    NothingToReport,
    Failed,
    TimedOut,
    Cancelled,
    Skipped,
    Missed,
    Interrupted,
}

/// Why a run exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the triggers are documented in rouse_core::run")]
pub enum RunTrigger {
    Schedule,
    CatchUp,
    Event,
    Webhook,
    Manual,
    Heartbeat,
    Chat,
}

/// What a run waits for within its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum WaitsFor {
    /// A model: none could answer for now.
    Model,
    /// A tool's rate limit.
    RateLimit,
}

/// Tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens sent that the provider had cached.
    pub cached_input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Millionths of a US dollar; none when unknown.
    pub cost_micro_usd: Option<u64>,
}

/// A run in a list.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are documented in rouse_core::run::Run")]
pub struct RunView {
    pub id: String,
    pub job_id: Option<String>,
    pub job_name: String,
    pub slot_at_ms: Option<i64>,
    pub first_slot_at_ms: Option<i64>,
    pub makes_up_for_ms: Option<i64>,
    pub trigger: RunTrigger,
    pub state: RunState,
    pub reason: Option<String>,
    pub stands_for: u32,
    pub created_at_ms: i64,
    pub started_at_ms: Option<i64>,
    pub finished_at_ms: Option<i64>,
    pub late_by_ms: Option<i64>,
    pub duration_ms: Option<i64>,
    pub attempt: u32,
    pub next_attempt_at_ms: Option<i64>,
    pub waits_for: Option<WaitsFor>,
    pub retry_of: Option<String>,
    pub summary: Option<String>,
    pub error: Option<String>,
    pub session: Option<String>,
    pub model: Option<String>,
    pub fell_back: Option<String>,
    pub usage: UsageView,
}

/// One step of a run's journal.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// Its place in the run, from 1.
    pub seq: u32,
    /// What it is.
    pub kind: StepKind,
    /// The model's or the tool's name.
    pub name: String,
    /// Where it is.
    pub status: StepStatus,
    /// What went in.
    #[ts(type = "unknown")]
    pub input: Value,
    /// What came out.
    #[ts(type = "unknown")]
    pub output: Option<Value>,
    /// Whether the output is an error that the model was told.
    pub is_error: bool,
    /// Tokens and money of a model turn.
    pub usage: UsageView,
    /// When it began.
    pub started_at_ms: i64,
    /// How long it took, by the monotonic clock.
    pub duration_ms: Option<i64>,
    /// What the gate decided about it; none where nobody needs to say yes.
    pub gate: Option<GateView>,
}

/// What a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the words say it")]
pub enum StepKind {
    ModelTurn,
    ToolCall,
    Note,
    Summary,
}

/// Where a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the words say it")]
pub enum StepStatus {
    Started,
    Finished,
    Failed,
    Unknown,
}

/// One run by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunRef {
    /// The run.
    pub id: String,
}

/// `runs.await`: a run that a command of another run waits for. That one lends its place under the cap meanwhile, so that
/// the two cannot wait for each other.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunAwaited {
    /// The run that is waited for.
    pub id: String,
    /// The run whose command waits.
    pub by: String,
}

/// An event that fired a run. All of it comes from outside.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CauseView {
    /// Where it came from: `job`, `cron`, `wake`, `webhook`.
    pub source: String,
    /// What was said.
    pub text: String,
    /// What filters are compared with.
    #[ts(type = "Record<string, unknown>")]
    pub fields: Map<String, Value>,
    /// When it happened.
    pub at_ms: i64,
}

/// `runs.get`: everything about one run.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunDetail {
    /// The run.
    pub run: RunView,
    /// The job's payload when it was claimed.
    #[ts(type = "unknown")]
    pub payload: Value,
    /// The journal, in order.
    pub steps: Vec<StepView>,
    /// What it has asked a person, in order.
    pub approvals: Vec<ApprovalView>,
    /// What was told to whom.
    pub deliveries: Vec<DeliveryView>,
    /// The event that fired it; none when its time did, or a person.
    pub cause: Option<CauseView>,
    /// Whether the job still exists.
    pub job_exists: bool,
    /// Words of the model turn that is going, so far.
    pub live_text: Option<String>,
}

/// `runs.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct RunsListParams {
    /// Only this job's.
    pub job_id: Option<String>,
    /// Only these states.
    pub states: Option<Vec<RunState>>,
    /// Only these triggers.
    pub triggers: Option<Vec<RunTrigger>>,
    /// Made at or after.
    pub from_ms: Option<i64>,
    /// Made before.
    pub to_ms: Option<i64>,
    /// Only those that this digest tells of.
    pub digest: Option<String>,
    /// Words in the job's name, the summary or the error.
    pub search: Option<String>,
    /// At most so many; 50 when absent, at most 500.
    pub limit: Option<u32>,
    /// Continue after this cursor.
    pub cursor: Option<String>,
}

/// `runs.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunsListResult {
    /// Newest first.
    pub runs: Vec<RunView>,
    /// Where the next page starts; none at the end.
    pub next_cursor: Option<String>,
    /// How many there are with this filter (counted up to 100,000).
    pub total: u32,
}
