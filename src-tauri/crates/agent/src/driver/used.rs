//! What a question to a model has used, where its provider does not say so.
//!
//! Owns the estimate: four bytes a token, of the input and of the received output. Estimated are an answer without usage,
//! an answer that broke off (with the calls that it had begun to write), and a call that Rouse cancelled. A call that
//! failed before the first byte of an answer used nothing. The estimate of a call that the end of the process cuts off is in
//! the journal from its beginning, for the store to spend. The journal marks every estimate. Pitfall: a reported usage of
//! zero is no usage; every call has input.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rouse_core::attachment::Attachment;
use rouse_core::message::{Message, Part};
use rouse_core::model::{Delta, ModelRequest};
use rouse_core::run::Usage;
use serde_json::Value;

/// The bytes of one token.
const TOKEN: u64 = 4;

/// How long a question is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    pub(super) tokens: u64,
}

/// What a question has used, and whether nobody has said it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    pub(super) usage: Usage,
    pub(super) is_estimated: bool,
}

/// What has come of an answer.
#[derive(Default)]
pub(super) struct Received {
    is_begun: AtomicBool,
    bytes: AtomicU64,
    /// Its words, as whoever looked on was shown them.
    shown: Mutex<String>,
}

impl Question {
    pub(super) fn of(request: &ModelRequest) -> Self {
        let tools = request.tools.iter();
        let tools: usize =
            tools.map(|tool| tool.description.len() + tool.parameters.to_string().len()).sum();
        let messages: usize = request.messages.iter().map(bytes).sum();
        let files: usize = request.messages.iter().map(attachment_tokens).sum();
        let bytes = u64::try_from(request.system.len() + tools + messages).unwrap_or(u64::MAX);
        Self { tokens: bytes / TOKEN + u64::try_from(files).unwrap_or(u64::MAX) }
    }

    /// What was used, as it was `told`, and where it was not, by the length of the question and the bytes that came.
    pub(super) fn completed(self, told: Usage, came: u64) -> Used {
        let or = |told: u64, guess: u64| if told == 0 { guess } else { told };
        let usage = Usage {
            input_tokens: or(told.input_tokens, self.tokens),
            output_tokens: or(told.output_tokens, came.div_ceil(TOKEN)),
            ..told
        };
        Used { usage, is_estimated: usage != told }
    }
}

impl Used {
    /// What a step says of its end, with the mark of an estimate where that is one.
    pub(super) fn marked(self, mut output: Value) -> Value {
        if self.is_estimated {
            output["usageIsEstimated"] = Value::Bool(true);
        }
        output
    }
}

impl Received {
    pub(super) fn add(&self, delta: &Delta) {
        self.is_begun.store(true, Ordering::Relaxed);
        self.bytes.fetch_add(u64::try_from(delta.bytes()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn show(&self, delta: &Delta) {
        if let Delta::Text(text) = delta {
            self.shown.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        }
    }

    /// Those words; none when there were none.
    pub(super) fn words(self) -> Option<String> {
        let shown = self.shown.into_inner().unwrap_or_else(PoisonError::into_inner);
        (!shown.trim().is_empty()).then_some(shown)
    }

    pub(super) fn is_begun(&self) -> bool {
        self.is_begun.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The length of what a model has said.
pub(super) fn bytes_of(parts: &[Part]) -> u64 {
    let bytes: usize = parts.iter().map(part).sum();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn bytes(message: &Message) -> usize {
    match message {
        Message::User { text } | Message::ToolResult { text, .. } => text.len(),
        Message::Assistant { parts } => parts.iter().map(part).sum(),
        Message::Attachments { .. } => 0,
    }
}

fn attachment_tokens(message: &Message) -> usize {
    match message {
        Message::Attachments { files } => files.iter().map(Attachment::tokens).sum(),
        _ => 0,
    }
}

fn part(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.len(),
        Part::ToolCall(call) => call.arguments.to_string().len(),
        // Of what only its provider can read, no more than its words.
        Part::Opaque { block, .. } => block["text"].as_str().map_or(0, str::len),
    }
}
