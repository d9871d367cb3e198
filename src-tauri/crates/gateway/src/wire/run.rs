//! `runs.*`: run history and run details.

pub use rouse_core::run::{StepKind, StepStatus, Usage, WaitsFor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::approval::ApprovalView;
use super::delivery::DeliveryView;
use super::gate::GateView;
use super::job::{RunState, RunTrigger};

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
    /// Slot of the interrupted run that this run repeats.
    pub catch_up_slot_at_ms: Option<i64>,
    pub trigger: RunTrigger,
    pub state: RunState,
    pub reason: Option<String>,
    /// Number of slots of the run; more than one after a catch-up.
    pub slot_count: u32,
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
    /// Why a fallback model answered; none for the chosen model.
    pub fallback_reason: Option<String>,
    pub usage: Usage,
}

/// A step of a run's journal.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// Number of the step in the run, from 1.
    pub seq: u32,
    /// Kind of the step.
    pub kind: StepKind,
    /// Name of the model or tool.
    pub name: String,
    /// Status of the step.
    pub status: StepStatus,
    /// The input.
    #[ts(type = "unknown")]
    pub input: Value,
    /// The output.
    #[ts(type = "unknown")]
    pub output: Option<Value>,
    /// Whether the output is an error.
    pub is_error: bool,
    /// Tokens and cost of a model call.
    pub usage: Usage,
    /// Start of the step.
    pub started_at_ms: i64,
    /// Duration on the monotonic clock.
    pub duration_ms: Option<i64>,
    /// Decision of the gate; none if no approval was needed.
    pub gate: Option<GateView>,
    /// The decision as a short text, such as `refused: unknown tool`.
    pub gate_text: Option<String>,
    /// Id of the call, as in the transcript; none for other steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub call_id: Option<String>,
    /// Files that the call returned, by position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<StepAttachmentView>>")]
    pub attachments: Vec<StepAttachmentView>,
}

/// A file that a call returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StepAttachmentView {
    /// Name of the file, without folder or address. Untrusted.
    pub name: String,
    /// Media type, by content: an image type or `application/pdf`.
    pub media_type: String,
    /// Size in bytes.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Whether the file is kept: false beyond 20 MB of a run.
    pub is_kept: bool,
}

/// `runs.attachment`: a kept file of a step.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunAttachmentParams {
    /// The run.
    pub run_id: String,
    /// Number of the step in the run.
    pub step: u32,
    /// Position in the files of the step, from 0.
    pub position: u32,
}

/// `runs.attachment`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunAttachment {
    /// Media type, by content.
    pub media_type: String,
    /// The file as base64.
    pub data: String,
}

/// A run by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunRef {
    /// Id of the run.
    pub id: String,
}

/// `runs.await`: a command of an active run waits for another run. Refused on a deadlock.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunAwaitParams {
    /// The awaited run.
    pub id: String,
    /// The waiting run.
    pub waiting_run_id: String,
}

/// An event that triggered a run. All fields are untrusted.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CauseView {
    /// Source of the event: `job`, `cron`, `wake` or `webhook`.
    pub source: String,
    /// Text of the event.
    pub text: String,
    /// Fields for filters.
    #[ts(type = "Record<string, unknown>")]
    pub fields: Map<String, Value>,
    /// Time of the event.
    pub at_ms: i64,
}

/// `runs.get`: all details of a run.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunDetail {
    /// The run.
    pub run: RunView,
    /// The job's payload at the claim.
    #[ts(type = "unknown")]
    pub payload: Value,
    /// The journal, in order.
    pub steps: Vec<StepView>,
    /// Approvals of the run, in order.
    pub approvals: Vec<ApprovalView>,
    /// Deliveries of the run.
    pub deliveries: Vec<DeliveryView>,
    /// Event that triggered the run; none for a scheduled or manual run.
    pub cause: Option<CauseView>,
    /// Whether the job still exists.
    pub job_exists: bool,
    /// Text so far of the active model call.
    pub live_text: Option<String>,
    /// Newest progress of the running calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<CallProgressView>>")]
    pub progress: Vec<CallProgressView>,
}

/// Newest progress message of a running call. Live only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallProgressView {
    /// Number of the call's step in the run.
    pub step: u32,
    /// The tool.
    pub tool: String,
    /// The message, such as `3 of 10`. Untrusted.
    pub text: String,
}

/// `runs.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct RunsListParams {
    /// Only runs of this job.
    pub job_id: Option<String>,
    /// Only these states.
    pub states: Option<Vec<RunState>>,
    /// Only these triggers.
    pub triggers: Option<Vec<RunTrigger>>,
    /// Minimum creation time, inclusive.
    pub from_ms: Option<i64>,
    /// Maximum creation time, exclusive.
    pub to_ms: Option<i64>,
    /// Only runs in this digest.
    pub digest: Option<String>,
    /// Words in the job's name, the summary or the error.
    pub search: Option<String>,
    /// Page size: 1 to 500, default 50.
    pub limit: Option<u32>,
    /// `nextCursor` of the previous page.
    pub cursor: Option<String>,
}

/// `runs.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunsListResult {
    /// The runs, newest first.
    pub runs: Vec<RunView>,
    /// Cursor of the next page; none on the last page.
    pub next_cursor: Option<String>,
    /// Number of matching runs, counted up to 100,000.
    pub total: u32,
}
