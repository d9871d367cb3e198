//! `channels.*`: the channels of the settings, their recipients and the default routes. Never returns a secret.

pub use rouse_core::channel::{ChannelDetails, ChannelKind};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `channels.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChannelsListResult {
    /// The channels, by name.
    pub channels: Vec<ChannelView>,
    /// The default channels and recipients, as labels.
    pub deliver_to: DefaultRoutes,
    /// The default channels as written in the settings.
    pub written: WrittenDefaults,
    /// The present channel and recipient of `last`, as a label.
    pub last: String,
    /// Whether this engine has no desktop, so that its own notifications are not shown.
    pub is_headless: bool,
}

/// A channel of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChannelView {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: ChannelKind,
    /// Name of the kind for people, such as `Telegram`.
    pub label: String,
    /// How much of a message the channel gets; none if unknown.
    pub details: ChannelDetails,
    /// Recipients that the person has paired or written down.
    pub recipients: Vec<RecipientView>,
    /// Why the channel cannot send: cause and remedy as sentences.
    pub problem: Option<String>,
    /// Newest failed delivery.
    pub newest_failure: Option<ChannelFailure>,
    /// Time of the newest confirmed delivery.
    pub last_delivered_at_ms: Option<i64>,
}

/// A recipient of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RecipientView {
    /// Address on the channel.
    pub address: String,
    /// Name for people.
    pub label: String,
    /// Whether only one person reads the place.
    pub is_private: bool,
}

/// A failed delivery of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChannelFailure {
    /// Time of the failure.
    pub at_ms: i64,
    /// Cause, as sentences.
    pub reason: String,
}

/// The default channels and recipients of each kind of message, as labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DefaultRoutes {
    /// Reports, reminders and messages of runs.
    pub reports: Vec<String>,
    /// Failures.
    pub failures: Vec<String>,
    /// Requests for an approval or input.
    pub approvals: Vec<String>,
}

/// The default channels as written in the settings: `NAME` or `NAME:RECIPIENT`; none where not written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WrittenDefaults {
    /// Channels of reports.
    pub deliver_to: Option<Vec<String>>,
    /// Channels of failures.
    pub deliver_failures_to: Option<Vec<String>>,
    /// Channels of requests for an approval or input.
    pub deliver_approvals_to: Option<Vec<String>>,
}

/// The channels and recipients of a job's messages, as labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct JobRoutes {
    /// Reports, reminders and messages of runs.
    pub reports: Vec<String>,
    /// Failures.
    pub failures: Vec<String>,
}

/// `channels.test`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ChannelsTestParams {
    /// Channel.
    pub name: String,
    /// Address of the recipient. Default: the only recipient.
    pub to: Option<String>,
}
