//! Transcripts, and the chat with the main session.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::RunState;

/// `sessions.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct SessionsListParams {
    /// At most so many; 100 when absent, at most 500.
    pub limit: Option<u32>,
}

/// `sessions.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionsListResult {
    /// Those that changed last come first.
    pub sessions: Vec<SessionView>,
}

/// A transcript without its messages.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// `main`, or `cron:` and the id of a job.
    pub key: String,
    /// The job; none for the main session.
    pub job_id: Option<String>,
    /// The job's name; none for the main session, and for a job that is gone.
    pub job_name: Option<String>,
    /// When its first message was stored.
    pub created_at_ms: i64,
    /// When its newest message was stored.
    pub updated_at_ms: i64,
    /// How many messages it has.
    pub messages: u32,
}

/// `sessions.clear`: all that was said in it goes, and with it what its next run is told and what it has read. Its runs and
/// their steps stay. Refused while a run of it has begun and not ended.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionRef {
    /// Which one: `main`, or `cron:` and the id of a job.
    pub key: String,
}

/// `sessions.get`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SessionsGetParams {
    /// Which one.
    pub key: String,
    /// At most so many messages; 50 when absent, at most 500.
    pub limit: Option<u32>,
    /// Continue before this page's beginning: `nextCursor` of an earlier answer.
    pub cursor: Option<String>,
}

/// `sessions.get`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionsGetResult {
    /// The session; none when nothing was said in it yet.
    pub session: Option<SessionView>,
    /// The newest messages, the newest last.
    pub messages: Vec<MessageView>,
    /// Of the main session: what the person wrote and what is not answered yet, the oldest first.
    pub open: Vec<OpenMessage>,
    /// The cursor of the messages before these; none at the beginning.
    pub next_cursor: Option<String>,
}

/// One message of a transcript.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    /// Grows with every message.
    pub id: i64,
    /// The run that it belongs to; of a summary, the run that had it made.
    pub run_id: Option<String>,
    /// When it was stored.
    pub at_ms: i64,
    /// Who says it.
    pub from: MessageFrom,
    /// The words; of a tool, what it answered.
    pub text: String,
    /// The tools that the model wants to call with it.
    pub calls: Vec<CallView>,
    /// Of a tool's answer: which call it is to.
    pub call_id: Option<String>,
    /// Of a tool's answer: the tool.
    pub tool: Option<String>,
    /// Of a tool's answer: whether it is an error.
    pub is_error: bool,
    /// Of a summary: how many messages of the session, from its beginning, it stands for where a model is told of them.
    pub stands_for: Option<u32>,
}

/// Who says a message.
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
    /// Nobody in the conversation: a summary of its beginning stands here.
    Summary,
}

/// A tool that the model wants to call.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallView {
    /// The call, in the words of the model's provider.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// With what; a text when it was no JSON.
    #[ts(type = "unknown")]
    pub arguments: Value,
}

/// A message of the person that has no answer yet.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OpenMessage {
    /// Its run.
    pub run_id: String,
    /// The words.
    pub text: String,
    /// When it was taken.
    pub at_ms: i64,
    /// Whether it waits, is answered, or needs the person's yes to something.
    pub state: RunState,
    /// The words so far of the turn that the model is in; those of its earlier turns are messages.
    pub live_text: Option<String>,
}

/// `chat.send`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChatSendParams {
    /// What the person writes.
    pub text: String,
    /// What the message is known by, for a client that may send it again because no answer came: the same key is the
    /// same message, which is taken once. 8 to 64 letters, digits, `_` and `-`.
    #[serde(default)]
    #[ts(optional)]
    pub key: Option<String>,
}

/// `chat.send`: the message is saved.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChatSendResult {
    /// The run that answers it; its words come as `runText` events.
    pub run_id: String,
}

/// `chat.abort`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ChatAbortParams {
    /// Which message; all that have no answer yet when absent.
    pub run_id: Option<String>,
}
