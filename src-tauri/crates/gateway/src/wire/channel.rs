//! `channels.*`: the channels of the settings, their recipients and the default routes. Never returns a secret.

pub use rouse_core::channel::{ChannelDetails, ChannelKind};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `channels.list` and `channels.check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChannelsListResult {
    /// The channels, by name.
    pub channels: Vec<ChannelView>,
    /// The default channels and recipients, as labels.
    pub deliver_to: MessageRoutes,
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
    /// How messages from the channel arrive; none for a channel that only sends.
    pub receiving: Option<ReceivingView>,
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
    /// Whether the person has paired the place, so that it can decide approvals and write to the main session.
    pub is_paired: bool,
}

/// How messages from a channel arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReceivingView {
    /// State.
    pub state: ReceivingState,
    /// Start of the state.
    pub since_ms: i64,
    /// Why no message arrives: cause and remedy as sentences.
    pub problem: Option<String>,
    /// Ignored messages of people that are not paired, since the start of the engine.
    pub ignored: u32,
}

/// Whether messages from a channel arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ReceivingState {
    /// Off: nobody is paired.
    Off,
    /// Connecting.
    Connecting,
    /// Messages arrive.
    Listening,
    /// No message arrives.
    Failed,
}

/// `channels.pair`, `channels.pairing` and `channels.confirmPairing`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PairingView {
    /// Channel.
    pub channel: String,
    /// State.
    pub state: PairingState,
    /// One-time link that the person opens on the phone.
    pub link: String,
    /// QR code of the link, as SVG.
    pub qr_svg: String,
    /// QR code of the link, as text for a terminal.
    pub qr_text: String,
    /// Expiry of the link.
    pub expires_at_ms: i64,
    /// Name of the person who opened the link.
    pub person: Option<String>,
}

/// State of a pairing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum PairingState {
    /// Nobody has opened the link.
    Waiting,
    /// Somebody has opened the link; `channels.confirmPairing` follows.
    Confirming,
    /// Paired.
    Paired,
    /// The person on this computer refused the person who opened the link.
    Refused,
    /// The link expired.
    Expired,
}

/// A channel by name.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChannelRef {
    /// Channel.
    pub name: String,
}

/// `channels.pairing`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ChannelPairingParams {
    /// Channel.
    pub name: String,
    /// The known state: the answer comes with another state, or after 25 seconds. Default: the answer comes at once.
    pub known: Option<PairingState>,
}

/// `channels.pairing`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChannelPairingResult {
    /// Newest pairing of the channel since the start of the engine; none without one.
    pub pairing: Option<PairingView>,
}

/// `channels.confirmPairing`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmPairingParams {
    /// Channel.
    pub name: String,
    /// True pairs the person of the pairing; false refuses the pairing.
    pub accept: bool,
}

/// `channels.unpair`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ChannelUnpairParams {
    /// Channel.
    pub name: String,
    /// Address of the recipient. Default: the only paired one.
    pub address: Option<String>,
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

/// The channels and recipients of each kind of message, as labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MessageRoutes {
    /// Reports, reminders and messages of runs.
    pub reports: Vec<String>,
    /// Failures.
    pub failures: Vec<String>,
    /// Requests for an approval or input; empty for a reminder.
    pub approvals: Vec<String>,
}

/// The delivery settings of an unsaved job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct DeliveryDraft {
    /// `policies.deliverTo`.
    pub deliver_to: Option<Vec<String>>,
    /// `payload.channel` of an agent job.
    pub channel: Option<String>,
    /// `payload.to` of an agent job.
    pub to: Option<String>,
    /// `payload.deliver` of an agent job.
    pub deliver: Option<bool>,
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
