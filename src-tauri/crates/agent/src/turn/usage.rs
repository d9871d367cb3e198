//! Usage of a model call, estimated if the provider reports none.
//!
//! Owns the estimate: four bytes per token of the request and the received answer. It covers an answer without usage, a
//! truncated answer, and a call that Rouse cancelled. A call that failed before the first byte of an answer used nothing.
//! The journal marks every estimate. Pitfall: trusting a reported usage of zero; every call has input.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rouse_core::attachment::Attachment;
use rouse_core::message::{Message, Part};
use rouse_core::model::{Delta, ModelRequest};
use rouse_core::run::Usage;
use serde_json::Value;

const BYTES_PER_TOKEN: u64 = 4;

/// Usage of a model call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallUsage {
    pub(crate) usage: Usage,
    pub(crate) is_estimated: bool,
}

/// The part of a streamed answer that has arrived.
#[derive(Default)]
pub(crate) struct ReceivedAnswer {
    has_begun: AtomicBool,
    bytes: AtomicU64,
    /// The text that clients were shown.
    shown_text: Mutex<String>,
}

impl CallUsage {
    /// The reported usage; estimated fields where the report has zeros.
    pub(crate) fn of_call(reported: Usage, request_tokens: u64, answer_bytes: u64) -> Self {
        let or_estimate = |reported: u64, estimate: u64| match reported {
            0 => estimate,
            reported => reported,
        };
        let usage = Usage {
            input_tokens: or_estimate(reported.input_tokens, request_tokens),
            output_tokens: or_estimate(
                reported.output_tokens,
                answer_bytes.div_ceil(BYTES_PER_TOKEN),
            ),
            ..reported
        };
        Self { usage, is_estimated: usage != reported }
    }

    /// Adds the mark of an estimate to a step's output.
    pub(crate) fn mark(self, mut output: Value) -> Value {
        if self.is_estimated {
            output["usageIsEstimated"] = Value::Bool(true);
        }
        output
    }
}

impl ReceivedAnswer {
    pub(crate) fn add(&self, delta: &Delta) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.bytes.fetch_add(u64::try_from(delta.bytes()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn add_shown(&self, delta: &Delta) {
        if let Delta::Text(text) = delta {
            self.shown_text.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        }
    }

    /// The shown text; none when blank.
    pub(crate) fn into_shown_text(self) -> Option<String> {
        let shown = self.shown_text.into_inner().unwrap_or_else(PoisonError::into_inner);
        (!shown.trim().is_empty()).then_some(shown)
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The estimated input tokens of a request.
pub(crate) fn request_tokens(request: &ModelRequest) -> u64 {
    let tools = request.tools.iter();
    let tools: usize =
        tools.map(|tool| tool.description.len() + tool.parameters.to_string().len()).sum();
    let messages: usize = request.messages.iter().map(message_bytes).sum();
    let files: usize = request.messages.iter().map(attachment_tokens).sum();
    let bytes = u64::try_from(request.system.len() + tools + messages).unwrap_or(u64::MAX);
    bytes / BYTES_PER_TOKEN + u64::try_from(files).unwrap_or(u64::MAX)
}

/// The length of an answer in bytes.
pub(crate) fn answer_bytes(parts: &[Part]) -> u64 {
    let bytes: usize = parts.iter().map(part_bytes).sum();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn message_bytes(message: &Message) -> usize {
    match message {
        Message::User { text } | Message::ToolResult { text, .. } => text.len(),
        Message::Assistant { parts } => parts.iter().map(part_bytes).sum(),
        Message::Attachments { .. } => 0,
    }
}

fn attachment_tokens(message: &Message) -> usize {
    match message {
        Message::Attachments { files } => files.iter().map(Attachment::tokens).sum(),
        _ => 0,
    }
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.len(),
        Part::ToolCall(call) => call.arguments.to_string().len(),
        // Only the text of a block in a private format of the provider.
        Part::Opaque { block, .. } => block["text"].as_str().map_or(0, str::len),
    }
}
