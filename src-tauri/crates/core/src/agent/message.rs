//! Messages of a conversation with a model, independent of the provider's format.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::attachment::Attachment;
use crate::run::Usage;

/// A message of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// From the person, or from Rouse in the person's name.
    User {
        /// The text.
        text: String,
    },
    /// From the model.
    Assistant {
        /// The parts, in order.
        parts: Vec<Part>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        call_id: String,
        /// The tool's name.
        tool: String,
        /// The result as text.
        text: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// Files that belong to the results before.
    Attachments {
        /// In the order of the results.
        files: Vec<Attachment>,
    },
}

/// A part of a model's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A tool call.
    ToolCall(ToolCallRequest),
    /// A block in a private format of the provider (signed or redacted reasoning); sent back unchanged.
    Opaque {
        /// The provider format.
        provider: String,
        /// The block.
        block: Value,
    },
}

/// A tool call that a model requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRequest {
    /// The provider's id of the call.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments; a text when invalid as JSON.
    #[ts(type = "unknown")]
    pub arguments: Value,
}

/// A complete answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// Tokens and cost.
    pub usage: Usage,
    /// The model, as reported by the provider.
    pub model: String,
    /// Why the answer ended.
    pub stop: StopReason,
}

/// Why an answer stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Complete.
    End,
    /// Requests tool calls.
    ToolCalls,
    /// The token limit.
    Length,
    /// Declined by the provider.
    Refusal,
}

impl ModelAnswer {
    /// The text parts, joined.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(
                |part| if let Part::Text { text } = part { Some(text.as_str()) } else { None },
            )
            .collect();
        texts.join("")
    }

    /// The requested calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCallRequest> {
        self.parts
            .iter()
            .filter_map(|part| if let Part::ToolCall(call) = part { Some(call) } else { None })
    }
}
