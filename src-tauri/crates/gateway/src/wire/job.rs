//! The job format as TypeScript sees it. Reading and writing live in `rouse_core::job`; a test holds the two together.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

/// A job, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct Job {
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub enabled: bool,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
    pub schedule: Schedule,
    pub session_target: SessionTarget,
    pub wake_mode: WakeMode,
    pub payload: Payload,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Policies>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_after_run: Option<bool>,
    pub state: JobState,
}

/// A job to be made: everything but what the engine fills in. An `id` is kept when it is free (undo of a delete).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct JobDraft {
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    pub enabled: Option<bool>,
    pub schedule: Schedule,
    pub session_target: Option<SessionTarget>,
    pub wake_mode: Option<WakeMode>,
    pub payload: Payload,
    pub isolation: Option<Isolation>,
    pub runtime: Option<Runtime>,
    pub policies: Option<Policies>,
    pub delete_after_run: Option<bool>,
}

/// When a job fires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub enum Schedule {
    At {
        at_ms: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ms: Option<u32>,
    },
    Every {
        every_ms: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        anchor_ms: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ms: Option<u32>,
    },
    Cron {
        expr: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ms: Option<u32>,
    },
    Manual {},
}

/// What a run does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub enum Payload {
    SystemEvent {
        text: String,
    },
    AgentTurn {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        deliver: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout_seconds: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        use_tools: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_steps: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        context_paths: Option<Vec<String>>,
    },
    ToolCall {
        tool: String,
        #[serde(default)]
        arguments: Map<String, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        notify_when: Option<NotifyWhen>,
    },
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$rename:meta])* $variant:ident),+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
        #[serde(rename_all = "camelCase")]
        #[expect(missing_docs, reason = "the words are the job format's, documented in rouse_core::job")]
        pub enum $name { $($(#[$rename])* $variant),+ }
    };
}

words!(/// Which session a job works in.
    SessionTarget { Main, Isolated });
words!(/// When the main session gets its turn.
    WakeMode { Now, #[serde(rename = "next-heartbeat")] NextHeartbeat });
words!(/// Which results of a tool call are worth a notification.
    NotifyWhen { Always, Failure, Changed });
words!(/// Which outcomes are worth a notification.
    Notify { Always, Findings, Failure, Never });
words!(/// A slot that comes while a run is still going.
    Overlap { Skip, Queue, Parallel, CancelOther });
words!(/// What happens with slots that passed.
    MisfireMode { Skip, RunOnce, RunAll });

/// Settings of the isolated session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Isolation {
    /// Stands before the summary in main.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_to_main_prefix: Option<String>,
}

/// Retries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Runtime {
    /// Attempts in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Pause before the second attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_backoff_ms: Option<u64>,
}

/// Policies; every one has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct Policies {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfire: Option<Misfire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_after_failures: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
}

/// Slots that passed while nothing could fire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct Misfire {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<MisfireMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lateness_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Spending limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Budget {
    /// Tokens of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_run: Option<u64>,
}

/// What the engine knows about a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct JobState {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_status: Option<RfcStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_state: Option<super::RunState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_duration_ms: Option<i64>,
    pub consecutive_failures: u32,
    pub revision: i64,
}

words!(/// The RFC's three words.
    RfcStatus { Ok, Error, Skipped });
