//! A job as a document, with the engine's facts.
//!
//! Declares the fields; `payload`, `policies` and `schedule` declare their parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{EnumString, IntoStaticStr, VariantNames};
use ts_rs::TS;

use super::field_schema::is_default;
use super::payload::Payload;
use super::policies::Policies;
use super::schedule::Schedule;
use crate::json_fields::non_blank;
use crate::run::RfcStatus;
use crate::slots::DecidedSlots;
use crate::{JobId, RunState, UnixMs};

/// A job: trigger, payload and policies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Job {
    /// The id; never changes.
    pub id: JobId,
    /// The name.
    #[schemars(schema_with = "non_blank")]
    pub name: String,
    /// Notes on the purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A disabled job has no next slot.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// When the job was created.
    #[serde(rename = "createdAtMs")]
    pub created_at: UnixMs,
    /// When the definition was last changed.
    #[serde(rename = "updatedAtMs")]
    pub updated_at: UnixMs,
    /// The trigger.
    pub schedule: Schedule,
    /// The session of the runs.
    pub session_target: SessionTarget,
    /// When the main session gets a turn after a system event.
    pub wake_mode: WakeMode,
    /// The work of a run.
    pub payload: Payload,
    /// Settings of the isolated session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// Misfires, overlap, limits.
    #[serde(default, skip_serializing_if = "is_default")]
    #[ts(optional, as = "Option<Policies>")]
    pub policies: Policies,
    /// Deletes the job after its first finished run.
    #[serde(default, skip_serializing_if = "is_default")]
    #[ts(optional, as = "Option<bool>")]
    pub delete_after_run: bool,
    /// Owned by the engine.
    #[serde(default)]
    pub state: JobState,
    /// The creator: `{kind: "agent", runId, jobId?}` for a job that a model has created. Any program may write here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(type = "unknown", optional)]
    pub created_by: Option<Value>,
    /// The last author of the message; the creator when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(type = "unknown", optional)]
    pub message_by: Option<Value>,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

const fn enabled() -> bool {
    true
}

/// The session of a job's runs.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "kebab-case")]
pub enum SessionTarget {
    /// The main session; the job queues system events.
    Main,
    /// The job's own session `cron:<jobId>`.
    Isolated,
}

/// When the main session gets a turn after a system event.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum WakeMode {
    /// At once.
    Now,
    /// With the next heartbeat.
    NextHeartbeat,
}

/// Settings of the isolated session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Isolation {
    /// The prefix of the report in the main session [default: Cron].
    #[schemars(title = "Report prefix")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_to_main_prefix: Option<String>,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

/// Retries of one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Runtime {
    /// Maximum attempts, the first one included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 20))]
    pub max_attempts: Option<u32>,
    /// Milliseconds before the second attempt; doubles with every attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86_400_000))]
    pub retry_backoff_ms: Option<u64>,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

/// The engine's facts about a job. Clients write only unknown keys.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct JobState {
    /// The next slot; absent for a disabled, finished or manual job.
    #[serde(rename = "nextRunAtMs", skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<UnixMs>,
    /// The decided slots; not part of the document.
    #[serde(skip)]
    pub decided: DecidedSlots,
    /// When the newest run started.
    #[serde(rename = "lastRunAtMs", skip_serializing_if = "Option::is_none")]
    pub last_run_at: Option<UnixMs>,
    /// The final state of the newest run.
    #[serde(flatten)]
    #[ts(flatten)]
    pub last: LastOutcome,
    /// The error or reason of the newest run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The duration of the newest run in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_duration_ms: Option<i64>,
    /// Consecutive failures.
    pub consecutive_failures: u32,
    /// Increases with every change of the definition. Updates carry the revision that they are based on.
    pub revision: i64,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

/// The final state of the newest run, as run state and as status of the cron RFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct LastOutcome {
    /// Derived from `state`.
    #[serde(rename = "lastStatus", skip_serializing_if = "Option::is_none")]
    status: Option<RfcStatus>,
    /// The run state; none before the first end of a run.
    #[serde(rename = "lastState", skip_serializing_if = "Option::is_none")]
    pub state: Option<RunState>,
}

impl From<Option<RunState>> for LastOutcome {
    fn from(state: Option<RunState>) -> Self {
        Self { status: state.and_then(RunState::rfc_status), state }
    }
}

/// Writes a job or a part of a job as JSON.
///
/// # Panics
/// Never: the keys are texts, and every value has a JSON form.
pub fn to_json(part: &impl Serialize) -> Value {
    serde_json::to_value(part).expect("BUG: a part of a job has no JSON form")
}

impl Job {
    /// The prefix of the summary in the main session.
    #[must_use]
    pub fn main_prefix(&self) -> &str {
        self.isolation.as_ref().and_then(|i| i.post_to_main_prefix.as_deref()).unwrap_or("Cron")
    }

    /// The run's time limit in seconds: the policy's, else the payload's, else ten minutes.
    #[must_use]
    pub fn timeout_seconds(&self) -> u32 {
        let of_payload = match &self.payload {
            Payload::AgentTurn(turn) => turn.timeout_seconds,
            Payload::SystemEvent { .. } | Payload::ToolCall(_) => None,
        };
        self.policies.timeout_seconds.or(of_payload).unwrap_or(600)
    }
}
