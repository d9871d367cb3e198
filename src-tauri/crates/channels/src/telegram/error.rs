//! Errors of the Bot API.
//!
//! Owns the difference between a request that did not leave, a lost answer and a rejection. Never has a URL or a token.
//! Pitfall: treating every 400 alike; the description tells a broken format from a missing chat.

use std::time::Duration;

/// The remedy for a token that Telegram does not accept. `secret` is the name of the stored secret.
pub(super) fn token_remedy(secret: &str) -> String {
    format!("Get a token from @BotFather and store it with `rouse secrets set {secret}`.")
}

/// Why a method of the Bot API has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TelegramError {
    /// No connection, so the request had no effect.
    #[error("{0}")]
    Unreached(String),
    /// The request left and no readable answer came.
    #[error("{0}")]
    NoAnswer(String),
    /// The guard prevents every request.
    #[error("{0}")]
    Blocked(String),
    /// The token has an invalid form, so no request is sent.
    #[error("The stored token is no token of a Telegram bot. {}", token_remedy(.secret))]
    BadToken {
        /// The name of the stored secret with the token.
        secret: String,
    },
    /// Telegram answered with an error.
    #[error(transparent)]
    Rejected(#[from] TelegramRejection),
}

/// An answer of Telegram with `ok: false`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Telegram refuses {method} ({code}: {description}).")]
pub struct TelegramRejection {
    /// The method.
    pub method: &'static str,
    /// The field `error_code`, or the status of an answer without one.
    pub code: u16,
    /// The description, as one line without invisible characters.
    pub description: String,
    /// The pause that Telegram asks for.
    pub retry_after: Option<Duration>,
    /// The new id of a group that became a supergroup.
    pub migrate_to: Option<i64>,
}

impl TelegramRejection {
    /// Whether Telegram could not read the HTML of a text.
    #[must_use]
    pub fn is_format_error(&self) -> bool {
        self.code == 400 && self.has("can't parse entities")
    }

    /// Whether an edit would change nothing.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        self.code == 400 && self.has("message is not modified")
    }

    /// Whether the token is wrong or revoked.
    #[must_use]
    pub const fn is_bad_token(&self) -> bool {
        matches!(self.code, 401 | 404)
    }

    /// Whether Telegram asks for a later attempt.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self.code, 408 | 425 | 429 | 500..=599)
    }

    /// Whether the description has `words`, in any letter case.
    pub(super) fn has(&self, words: &str) -> bool {
        self.description.to_lowercase().contains(words)
    }
}
