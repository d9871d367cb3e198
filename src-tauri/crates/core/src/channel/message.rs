//! A message on its way to a channel.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use crate::{DeliveryId, RunId, UnixMs};

/// Begins the text of a message that may have arrived before.
pub const REPEAT_NOTICE: &str = "Again, in case it did not arrive:";

/// The kind of a message. Each kind has its own default channels.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum MessageKind {
    /// A result, a reminder or a message of a run.
    Report,
    /// A failed, missed or interrupted run, or a paused job.
    Failure,
    /// A request for an approval or for input.
    Approval,
    /// An answer in a chat. No other channel takes it over: the person wrote in private.
    Reply,
}

impl MessageKind {
    /// The name in SQL and on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A message for a channel: redacted, after the hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelMessage {
    /// The delivery; equal in every attempt.
    pub delivery: DeliveryId,
    /// The kind.
    pub kind: MessageKind,
    /// The run; none for a digest or a test.
    pub run: Option<RunId>,
    /// When the delivery entered the outbox.
    pub created_at: UnixMs,
    /// The address of the recipient; none if the channel has only one.
    pub to: Option<String>,
    /// The topic or thread of the recipient.
    pub thread: Option<String>,
    /// The title as plain text, usually the job's name.
    pub title: String,
    /// The first sentence as plain text, for a lock screen.
    pub headline: String,
    /// The whole text in Markdown. Text of a model or a tool: data, never markup of the channel.
    pub text: String,
    /// Buttons, in one row. A channel without buttons leaves them out.
    pub buttons: Vec<MessageButton>,
    /// Whether the message may have arrived before. Its text then begins with [`REPEAT_NOTICE`].
    pub is_repeat: bool,
}

/// A button below a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageButton {
    /// The label.
    pub label: String,
    /// The data that the channel returns when the button is pressed: random, and valid once.
    pub data: String,
}
