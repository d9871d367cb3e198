//! `sessions.*` and `chat.*`: transcripts, and the chat with the main session.

pub use rouse_core::message::ToolCallRequest;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::job::RunState;

/// `sessions.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct SessionsListParams {
    /// Maximum number of sessions: 1 to 500, default 100.
    pub limit: Option<u32>,
}

/// `sessions.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionsListResult {
    /// The sessions, last changed first.
    pub sessions: Vec<SessionView>,
}

/// A session without messages.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Key: `main` or `cron:<jobId>`.
    pub key: String,
    /// The job; none for the main session.
    pub job_id: Option<String>,
    /// Name of the job; none for the main session or a deleted job.
    pub job_name: Option<String>,
    /// Time of the first message.
    pub created_at_ms: i64,
    /// Time of the newest message.
    pub updated_at_ms: i64,
    /// Number of messages.
    pub messages: u32,
}

/// `sessions.clear`: deletes the transcript and the taint of a session, but no runs. Refused during a run of the session.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionRef {
    /// Key: `main` or `cron:<jobId>`.
    pub key: String,
}

/// `sessions.get`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionsGetParams {
    /// Key: `main` or `cron:<jobId>`.
    pub key: String,
    /// Page size: 1 to 500 messages, default 50.
    pub limit: Option<u32>,
    /// `nextCursor` of the previous page.
    pub cursor: Option<String>,
}

/// `sessions.get`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionsGetResult {
    /// The session; none before the first message.
    pub session: Option<SessionView>,
    /// A page of messages, newest last.
    pub messages: Vec<MessageView>,
    /// Unanswered chat messages of the main session, oldest first.
    pub open: Vec<OpenMessage>,
    /// Cursor of the page before; none at the start of the transcript.
    pub next_cursor: Option<String>,
}

/// A message of a transcript.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    /// Id, which grows with every message.
    pub id: i64,
    /// Run of the message; for a summary, the run that created the summary.
    pub run_id: Option<String>,
    /// Time of the message.
    pub at_ms: i64,
    /// Author of the message.
    pub from: MessageFrom,
    /// Text, or the result of a tool.
    pub text: String,
    /// Tool calls of the model.
    pub calls: Vec<ToolCallRequest>,
    /// Call id of a tool result.
    pub call_id: Option<String>,
    /// Tool of a tool result.
    pub tool: Option<String>,
    /// Whether a tool result is an error.
    pub is_error: bool,
    /// Number of messages that a summary replaces in the context, from the start of the session.
    pub summarized_messages: Option<u32>,
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum MessageFrom {
    /// The person, in the chat.
    Person,
    /// Rouse: the task of a job or of a heartbeat.
    Rouse,
    /// The model.
    Model,
    /// A tool.
    Tool,
    /// Rouse: a summary of earlier messages.
    Summary,
}

/// An unanswered chat message.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OpenMessage {
    /// Run of the answer.
    pub run_id: String,
    /// Text.
    pub text: String,
    /// Time of the message.
    pub at_ms: i64,
    /// State of the run.
    pub state: RunState,
    /// Text so far of the active model call; text of earlier calls is in messages.
    pub live_text: Option<String>,
}

/// `chat.send`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChatSendParams {
    /// Text of the message.
    pub text: String,
    /// Idempotency key: a repeated key is the same message. 8 to 64 letters, digits, `_` and `-`.
    #[serde(default)]
    #[ts(optional)]
    pub key: Option<String>,
}

/// `chat.send`: the saved message.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChatSendResult {
    /// Run of the answer. `runText` events carry the live text.
    pub run_id: String,
}

/// `chat.abort`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ChatAbortParams {
    /// Run of the message. Default: all unanswered messages.
    pub run_id: Option<String>,
}
