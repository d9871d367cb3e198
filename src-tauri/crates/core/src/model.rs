//! The model port: what the agent asks of a language model, and how that can fail.
//!
//! Owns the provider-independent request, the deltas of an answer on its way, and the closed list of failures. It
//! refuses to know wire formats, keys and clocks: a provider behind this port either ends an answer completely or
//! returns an error. A stream that breaks off is never a short answer, and an error never carries a credential, so
//! whoever holds one may log it, store it and show it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::message::{Message, ModelAnswer};
use crate::said::own_words;
use crate::tool::{BoxFuture, ToolSpec};

/// A source of answers.
pub trait ModelProvider: Send + Sync {
    /// What people call it: `anthropic`, `ollama`, a name from the configuration.
    fn name(&self) -> &str;

    /// How its answers are paid for.
    fn billing(&self) -> Billing {
        Billing::ByPrice
    }

    /// The context window of `model` in tokens, where it is known.
    fn context_tokens(&self, _model: &str) -> Option<u32> {
        None
    }

    /// Asks once and reports the answer as it comes. Dropping the future ends the exchange. It does not try again:
    /// whoever asks knows whether anything was already shown.
    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        on_delta: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>>;
}

/// How the answers of a provider are paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// By the price of the model.
    ByPrice,
    /// Not at all: it is on this computer.
    Free,
    /// It tells with every answer what that has cost.
    Reported,
}

/// One question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The model's name at its provider.
    pub model: String,
    /// Standing instructions.
    pub system: String,
    /// The conversation so far; the last message is the one to answer.
    pub messages: Vec<Message>,
    /// The tools it may ask for.
    pub tools: Vec<ToolSpec>,
    /// Most tokens of the answer; the provider's own limit when absent.
    pub max_tokens: Option<u32>,
    /// How much the model reasons; the setting of the provider when absent.
    pub effort: Option<Effort>,
}

/// How much a model reasons before it answers. Each model family has its own words for the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Fast and cheap.
    Low,
    /// Balanced.
    Medium,
    /// Thorough.
    High,
    /// The most that the model has.
    Max,
}

impl Effort {
    /// Every level, the lowest first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Max];

    /// The name in jobs and settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }

    /// The level of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.name() == name)
    }
}

/// A piece of an answer on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// More words.
    Text(String),
    /// More of the reasoning that the provider shows.
    Reasoning(String),
    /// It begins to ask for this tool.
    ToolCall(String),
    /// More of the arguments of that call, so many bytes. Nobody shows them on their way.
    Arguments(usize),
}

impl Delta {
    /// How long it is, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning(text) | Self::ToolCall(text) => text.len(),
            Self::Arguments(bytes) => *bytes,
        }
    }
}

/// Why a model did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProviderErrorKind {
    /// The key is missing, wrong or not allowed to do this.
    Auth,
    /// Too many requests for now.
    RateLimited,
    /// The provider is too busy.
    Overloaded,
    /// The provider failed.
    Server,
    /// The provider could not be reached.
    Network,
    /// The question was sent, and nothing came in time, or the connection broke.
    Unanswered,
    /// The answer broke off before its end.
    Truncated,
    /// The answer is larger than any honest one.
    TooLarge,
    /// The question is longer than what the model reads.
    Overlong,
    /// The provider does not accept the question (an unknown model, no credit, a setting it refuses).
    BadRequest,
    /// The provider declines on grounds of content.
    Refused,
    /// The provider is on this computer, and it does not run or does not have the model.
    NotRunning,
}

/// A failed question. Its text never holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind of failure.
    pub kind: ProviderErrorKind,
    /// What happened, as a sentence for the person.
    pub message: String,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
}

impl ProviderError {
    /// The message without the words of the provider.
    #[must_use]
    pub fn for_log(&self) -> &str {
        own_words(&self.message)
    }

    /// A failure with nothing but its kind and its words.
    #[must_use]
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, status: None }
    }

    /// Whether the next model of a job may be asked instead: whenever this one did not answer, for whatever reason, since
    /// the person has named the next one for just that. A provider that declines has answered, and asking another one
    /// would be a way around it.
    #[must_use]
    pub const fn lets_another_answer(&self) -> bool {
        !matches!(self.kind, ProviderErrorKind::Refused)
    }

    /// Whether the provider cannot answer for now, so that a run may wait for it: a rate limit, an overload, a server that
    /// fails, cannot be reached or does not run.
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

    /// Whether the same question may succeed later.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
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
