//! The port of a channel: rendering, sending, and what the service answered.
//!
//! A channel renders a message into parts and sends one part at a time; the outbox keeps the number of the parts that were
//! accepted. Rendering is a pure function of the message, so a part has the same text in every attempt.
//! Pitfall: calling a lost answer a failure; the message may have arrived.

use std::time::Duration;

use super::message::ChannelMessage;
use crate::future::BoxFuture;

/// A channel that is set up.
pub trait Channel: Send + Sync {
    /// The parts of `message`, each short enough for one request: at least one, at most five.
    fn render(&self, message: &ChannelMessage) -> Vec<String>;

    /// Sends the rendered part with this index. Buttons go with the last part. An error text never has a secret or an
    /// address with a secret.
    fn send<'a>(
        &'a self,
        message: &'a ChannelMessage,
        parts: &'a [String],
        index: usize,
    ) -> BoxFuture<'a, SendOutcome>;

    /// Asks the service whether messages would be taken; sends no message. Has no time limit of its own.
    ///
    /// # Errors
    /// Cause and remedy as sentences, never with a secret.
    fn check(&self) -> BoxFuture<'_, Result<(), String>>;
}

/// The answer of the service to one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The service confirmed the message.
    Accepted {
        /// The service's id of the message.
        message_id: Option<String>,
    },
    /// The message did not leave, or the service asks for a later attempt: an attempt later is safe.
    Later {
        /// The cause as a sentence.
        reason: String,
        /// The shortest pause that the service asks for.
        after: Option<Duration>,
    },
    /// The service reports an error of its own: the message may have arrived, and an attempt later is marked as a repeat.
    ServerError {
        /// The cause as a sentence.
        reason: String,
    },
    /// The request left and no answer came: the message may have arrived.
    Unknown {
        /// The cause as a sentence.
        reason: String,
    },
    /// The service refuses this message or this recipient for good: cause and remedy as sentences.
    Refused {
        /// The cause as a sentence.
        reason: String,
    },
    /// The channel itself does not work, for example after its token was revoked: cause and remedy as sentences.
    Broken {
        /// The cause as a sentence.
        reason: String,
    },
}
