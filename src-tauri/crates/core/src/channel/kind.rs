//! The kinds of channels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use ts_rs::TS;

/// The kind of a channel: the service and its protocol.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    IntoStaticStr,
    EnumString,
    VariantArray,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ChannelKind {
    /// Telegram: reports, approval requests with buttons, and chat.
    Telegram,
    /// E-mail over SMTP.
    Email,
    /// The push service ntfy.
    Ntfy,
    /// An incoming webhook of Slack.
    Slack,
    /// A webhook of Discord.
    Discord,
    /// A webhook of the person, signed as in Standard Webhooks.
    Webhook,
    /// An Apprise API server, which passes messages on to many services.
    Apprise,
    /// The WhatsApp Cloud API.
    Whatsapp,
}

impl ChannelKind {
    /// All kinds, in the order of set-up pages.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in settings and on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Telegram => "Telegram",
            Self::Email => "E-mail",
            Self::Ntfy => "ntfy",
            Self::Slack => "Slack",
            Self::Discord => "Discord",
            Self::Webhook => "Webhook",
            Self::Apprise => "Apprise",
            Self::Whatsapp => "WhatsApp",
        }
    }
}
