//! The model port: the request to a language model, the answer, and the failures.
//!
//! Owns the provider-independent request, the deltas of a streamed answer and the closed set of failures. Never knows wire
//! formats, keys or clocks. A provider either completes an answer or returns an error: a broken stream is never a short
//! answer. Errors hold no credentials, so they may be logged, stored and shown.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use ts_rs::TS;

use crate::future::BoxFuture;
use crate::message::{Message, ModelAnswer};
use crate::text::strip_quote;
use crate::tool::ToolSpec;

/// A model provider.
pub trait ModelProvider: Send + Sync {
    /// The name: `anthropic`, `ollama`, or a name from the settings.
    fn name(&self) -> &str;

    /// The billing of the answers.
    fn billing(&self) -> Billing {
        Billing::ByPrice
    }

    /// The context window of `model` in tokens, when known.
    fn context_tokens(&self, _model: &str) -> Option<u32> {
        None
    }

    /// Makes a single call and streams the answer. Dropping the future aborts the call. Never retries: the caller knows
    /// whether a delta was already shown.
    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        on_delta: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>>;
}

/// How answers are billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// By the price list.
    ByPrice,
    /// Free: a local model.
    Free,
    /// The provider reports the cost of every answer.
    Reported,
}

/// A model call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The provider's name of the model.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The conversation, ending with the message to answer.
    pub messages: Vec<Message>,
    /// The offered tools.
    pub tools: Vec<ToolSpec>,
    /// The maximum tokens of the answer; the provider's default when none.
    pub max_tokens: Option<u32>,
    /// The reasoning effort; the provider's default when none.
    pub effort: Option<Effort>,
}

/// How much a model reasons before it answers. Each model family has its own words for the levels.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS, IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Effort {
    /// Fast and cheap.
    Low,
    /// Balanced.
    Medium,
    /// Thorough.
    High,
    /// The model's maximum.
    Max,
}

impl Effort {
    /// The name in jobs and settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text.
    Text(String),
    /// Visible reasoning.
    Reasoning(String),
    /// The beginning of a call of this tool.
    ToolCall(String),
    /// So many bytes of the call's arguments.
    Arguments(usize),
}

impl Delta {
    /// The size in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning(text) | Self::ToolCall(text) => text.len(),
            Self::Arguments(bytes) => *bytes,
        }
    }
}

/// The kind of a failed model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProviderErrorKind {
    /// The key is missing, wrong or lacks permission.
    Auth,
    /// Rate limited.
    RateLimited,
    /// The provider is overloaded.
    Overloaded,
    /// A server error.
    Server,
    /// The provider is unreachable.
    Network,
    /// The request was sent, and no answer came in time or the connection broke.
    Unanswered,
    /// The stream ended before the answer did.
    Truncated,
    /// The answer exceeds the size limit.
    TooLarge,
    /// The request exceeds the context window.
    Overlong,
    /// The provider rejects the request (unknown model, no credit, unsupported setting).
    BadRequest,
    /// The provider declines the content.
    Refused,
    /// A local provider is not running or lacks the model.
    NotRunning,
}

/// A failed model call. The message never holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// The kind.
    pub kind: ProviderErrorKind,
    /// The message for the person, as a sentence.
    pub message: String,
    /// The provider's `Retry-After`.
    pub retry_after: Option<Duration>,
    /// The HTTP status, if any.
    pub status: Option<u16>,
}

impl ProviderError {
    /// The message without the provider's text.
    #[must_use]
    pub fn for_log(&self) -> &str {
        strip_quote(&self.message)
    }

    /// A failure of this kind with this message.
    #[must_use]
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, status: None }
    }

    /// Whether the fallback model may be called: for every failure but a refusal of content, which a fallback would
    /// circumvent.
    #[must_use]
    pub const fn allows_fallback(&self) -> bool {
        !matches!(self.kind, ProviderErrorKind::Refused)
    }

    /// Whether the provider is temporarily unavailable, so that a run may wait.
    #[must_use]
    pub const fn is_outage(&self) -> bool {
        match self.kind {
            ProviderErrorKind::RateLimited
            | ProviderErrorKind::Overloaded
            | ProviderErrorKind::Network
            | ProviderErrorKind::Unanswered
            | ProviderErrorKind::NotRunning => true,
            ProviderErrorKind::Server => self.status.is_some(),
            _ => false,
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            ProviderErrorKind::RateLimited
                | ProviderErrorKind::Overloaded
                | ProviderErrorKind::Server
                | ProviderErrorKind::Network
                | ProviderErrorKind::Unanswered
                | ProviderErrorKind::Truncated
                | ProviderErrorKind::NotRunning
        )
    }
}
