//! Messages between Rouse and a model, independent of any provider's format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attachment::Attachment;
use crate::run::Usage;

/// One message of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// From the person, or from Rouse in their name.
    User {
        /// The text.
        text: String,
    },
    /// From the model.
    Assistant {
        /// Its parts, in the order they came.
        parts: Vec<Part>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The call it answers.
        call_id: String,
        /// The tool's name.
        tool: String,
        /// What the tool said.
        text: String,
        /// Whether it is an error that the model may mend.
        is_error: bool,
    },
    /// The files beside the results before it.
    Attachments {
        /// In the order of the results.
        files: Vec<Attachment>,
    },
}

/// One part of a model's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A wish to call a tool.
    ToolCall(ToolCallRequest),
    /// A block that only the provider understands (signed or redacted reasoning); handed back unchanged.
    Opaque {
        /// Which provider format wrote it.
        provider: String,
        /// The block.
        block: Value,
    },
}

/// A model's wish to call a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRequest {
    /// The provider's id of the call.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments; a text when they were not valid JSON.
    pub arguments: Value,
}

/// One finished answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// Its parts, in the order they came.
    pub parts: Vec<Part>,
    /// What it cost.
    pub usage: Usage,
    /// The model that the provider says has answered.
    pub model: String,
    /// Why it stopped.
    pub stop: StopReason,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// It was done.
    End,
    /// It wants tools.
    ToolCalls,
    /// The token limit.
    Length,
    /// The provider refused.
    Refusal,
}

impl ModelAnswer {
    /// The words of the answer, joined.
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

    /// The calls it asks for, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCallRequest> {
        self.parts
            .iter()
            .filter_map(|part| if let Part::ToolCall(call) = part { Some(call) } else { None })
    }
}
