//! What a line becomes: a channel with its secrets, or an error.
//!
//! Owns the form of both. Never reads a line. Pitfall: an error with a part of the line.

use rouse_core::channel::{ChannelDetails, ChannelKind, ChannelSection};

/// The settings and secrets of a channel, read from a line. Never printed.
pub struct ImportedChannel {
    /// The settings. Keys of secrets are empty: the caller stores each secret and writes its name.
    pub section: ChannelSection,
    /// The secrets by the key of the settings, such as `tokenSecret`. A webhook also needs `signingSecret`, which a
    /// line never has.
    pub secrets: Vec<(&'static str, String)>,
    /// The chats of a Telegram bot: `CHAT` or `CHAT:TOPIC`. Recipients of e-mail are in the settings.
    pub recipients: Vec<String>,
}

/// Why a line is no channel: cause and remedy as sentences, without any part of the line but its scheme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AppriseLineError(String);

/// Settings without any key but the kind.
pub(super) fn section(kind: ChannelKind) -> ChannelSection {
    ChannelSection {
        kind,
        details: ChannelDetails::default(),
        url: None,
        url_secret: None,
        token_secret: None,
        signing_secret: None,
        topic_secret: None,
        server: None,
        security: None,
        user: None,
        password_secret: None,
        from: None,
        to: Vec::new(),
        tag: None,
        phone_number_id: None,
        template: None,
        template_language: None,
    }
}

/// An error with these sentences.
pub(super) fn problem<T>(sentences: &str) -> Result<T, AppriseLineError> {
    Err(AppriseLineError(sentences.to_owned()))
}
