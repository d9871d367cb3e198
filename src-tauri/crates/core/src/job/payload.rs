//! What a run does.

use serde_json::{Map, Value};

use crate::model::Effort;

/// What a run does, with the keys this version does not know.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// Queues a line for the main session.
    SystemEvent {
        /// The line.
        text: String,
        /// Keys that this version does not know.
        extra: Map<String, Value>,
    },
    /// Lets a model work on a message.
    AgentTurn(Box<AgentTurn>),
    /// Calls one tool; no model, no cost.
    ToolCall(ToolCall),
}

/// A model's task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentTurn {
    /// The task in words.
    pub message: String,
    /// Whether the outcome is handed to a channel; absent means the job's `notify` policy alone decides.
    pub deliver: Option<bool>,
    /// The channel's name; `last` or absent means the notification.
    pub channel: Option<String>,
    /// The recipient on that channel.
    pub to: Option<String>,
    /// Time limit of the run.
    pub timeout_seconds: Option<u32>,
    /// Overrides the configured model.
    pub model: Option<String>,
    /// Models that are asked in this order when that one does not answer.
    pub fallbacks: Vec<String>,
    /// Whether tools are offered; yes when absent.
    pub use_tools: Option<bool>,
    /// Only these tools.
    pub tools: Option<Vec<String>>,
    /// Most model turns of one run that may call tools; 1 is no chaining. After them one is left to say what came of it.
    pub max_steps: Option<u32>,
    /// Most tokens of one answer.
    pub max_tokens: Option<u32>,
    /// How much the model reasons; the provider's setting when absent.
    pub effort: Option<Effort>,
    /// Files of the workspace put into the context.
    pub context_paths: Vec<String>,
    /// Skills that the model is told of, by their names.
    pub skills: Vec<String>,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

/// One tool call without a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments, as its schema wants them.
    pub arguments: Value,
    /// Which results are worth a notification.
    pub notify_when: NotifyWhen,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

/// Which results of a `toolCall` are worth a notification.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum NotifyWhen {
    /// Every result.
    #[default]
    Always,
    /// Only a failure.
    Failure,
    /// A result that differs from the one before, or a failure.
    Changed,
    /// A result of which this CEL expression holds, or a failure.
    Cel {
        /// The expression.
        source: String,
        /// Keys that this version does not know.
        extra: Map<String, Value>,
    },
}

impl Payload {
    /// The kind's name in the job format.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::SystemEvent { .. } => "systemEvent",
            Self::AgentTurn(_) => "agentTurn",
            Self::ToolCall(_) => "toolCall",
        }
    }
}
