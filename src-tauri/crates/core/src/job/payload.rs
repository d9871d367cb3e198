//! The work of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{EnumString, IntoStaticStr, VariantNames};
use ts_rs::TS;

use super::server::JobServer;
use crate::extension::{ExtensionName, extension_of_tool};
use crate::json_fields::{non_blank, text_of};
use crate::model::Effort;

/// More servers than a run can use well.
const MAX_SERVERS: usize = 10;

/// The work of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS, IntoStaticStr)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Payload {
    /// Queues a system event for the main session.
    SystemEvent {
        /// The text.
        #[schemars(schema_with = "non_blank")]
        text: String,
        /// Unknown keys.
        #[serde(flatten)]
        #[schemars(skip)]
        #[ts(skip)]
        extra: Map<String, Value>,
    },
    /// Runs a model on a message.
    AgentTurn(Box<AgentTurn>),
    /// Calls one tool; no model, no cost.
    ToolCall(ToolCall),
}

/// A task for a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct AgentTurn {
    /// The task.
    #[schemars(schema_with = "non_blank")]
    pub message: String,
    /// Whether the report goes to a channel; `policies.notify` decides when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliver: Option<bool>,
    /// The channel; the notification when absent or `last`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The recipient on that channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Time limit of the run in seconds; `policies.timeoutSeconds` has priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Time limit", range(min = 1, max = 604_800))]
    pub timeout_seconds: Option<u32>,
    /// The model; that of the settings when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models to try in this order when the model is unavailable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(title = "Fallback models", extend("items" = text_of("model"), "maxItems" = 5))]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub fallbacks: Vec<String>,
    /// Coding agent that works on the task in the place of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Coding agent")]
    pub agent: Option<ExtensionName>,
    /// Folder in which the coding agent works; the workspace when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Folder of the coding agent")]
    pub cwd: Option<String>,
    /// Whether tools are offered [default: true].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_tools: Option<bool>,
    /// The offered tools; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Maximum model calls with tools per run. One more call without tools may follow for the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub max_steps: Option<u32>,
    /// Maximum tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Max answer tokens", range(min = 1, max = 1_000_000))]
    pub max_tokens: Option<u32>,
    /// Reasoning effort; the provider's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Workspace files for the context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(title = "Context files")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub context_paths: Vec<String>,
    /// Skills by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("items" = text_of("skill-name"), "maxItems" = crate::skills::MOST_SKILLS))]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub skills: Vec<String>,
    /// MCP servers whose accepted tools are offered; `NAME:optional` for a server that the run can do without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = MAX_SERVERS))]
    #[ts(optional, as = "Option<Vec<JobServer>>")]
    pub servers: Vec<JobServer>,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

/// One tool call without a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The tool's name.
    #[schemars(schema_with = "non_blank")]
    pub tool: String,
    /// The arguments, by the tool's schema.
    #[serde(default = "no_arguments")]
    #[schemars(with = "Map<String, Value>")]
    #[ts(as = "Map<String, Value>")]
    pub arguments: Value,
    /// Which results are worth a notification.
    #[serde(default)]
    #[ts(optional, as = "Option<NotifyWhen>")]
    pub notify_when: NotifyWhen,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

/// Which results of a tool call are worth a notification: a word or a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(untagged)]
pub enum NotifyWhen {
    /// A word.
    Word(NotifyWord),
    /// A condition on the result.
    Condition(NotifyCondition),
}

impl Default for NotifyWhen {
    fn default() -> Self {
        Self::Word(NotifyWord::Always)
    }
}

/// Which results of a tool call are worth a notification.
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
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "kebab-case")]
pub enum NotifyWord {
    /// Every result.
    Always,
    /// Failures only.
    Failure,
    /// Failures, and results that differ from the previous one.
    Changed,
}

/// A condition: its result is worth a notification, and so is a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct NotifyCondition {
    /// A CEL expression over `result`, `previous` and `state`.
    #[schemars(schema_with = "super::field_schema::cel")]
    pub cel: String,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

impl Payload {
    /// The kind's name in the job format.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Whether a run of this payload uses the server or the coding agent.
    #[must_use]
    pub fn names_server(&self, server: &ExtensionName) -> bool {
        match self {
            Self::AgentTurn(turn) => {
                turn.agent.as_ref().is_some_and(|agent| agent == server)
                    || turn.servers.iter().any(|named| named.name == *server)
            }
            Self::ToolCall(call) => extension_of_tool(&call.tool).is_some_and(|of| of == *server),
            Self::SystemEvent { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn server_of_a_payload_is_named() {
        let server: ExtensionName = "cal".parse().expect("a name");
        for (payload, is_named) in [
            (json!({ "kind": "agentTurn", "message": "x", "servers": ["cal:optional"] }), true),
            (json!({ "kind": "agentTurn", "message": "cal", "servers": ["calendar"] }), false),
            (json!({ "kind": "agentTurn", "message": "x", "agent": "cal" }), true),
            (json!({ "kind": "toolCall", "tool": "cal_list" }), true),
            (json!({ "kind": "toolCall", "tool": "calendar_list" }), false),
            (json!({ "kind": "systemEvent", "text": "cal_list" }), false),
        ] {
            let parsed: Payload = serde_json::from_value(payload.clone()).expect("a payload");
            assert_eq!(parsed.names_server(&server), is_named, "{payload}");
        }
    }
}
