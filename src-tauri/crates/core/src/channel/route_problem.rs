//! Why a channel and recipient are no route, as a sentence with the remedy.

use super::kind::ChannelKind;
use super::name::ChannelName;

/// Why a channel and recipient are no route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteProblem {
    /// No channel has this name.
    #[error(
        "there is no channel `{name}`; the channels are {}. Set one up with `rouse channels add`",
        listed(known)
    )]
    NoChannel {
        /// The name.
        name: String,
        /// The names of all channels.
        known: Vec<String>,
    },
    /// Several channels have the kind with this name.
    #[error("{} channels are of the kind `{kind}`; name one of {}", names.len(), listed(names))]
    SeveralChannels {
        /// The kind.
        kind: &'static str,
        /// The names of the channels.
        names: Vec<String>,
    },
    /// The channel has no recipient yet.
    #[error(
        "{channel} has no recipient. {}", set_recipient(channel, *kind)
    )]
    NoRecipient {
        /// The channel.
        channel: ChannelName,
        /// The kind of the channel.
        kind: ChannelKind,
    },
    /// The recipient is not among those that the person has paired or written down.
    #[error("`{to}` is no recipient of {channel}; {}", known_recipients(addresses))]
    UnknownRecipient {
        /// The channel.
        channel: ChannelName,
        /// The named recipient.
        to: String,
        /// The addresses.
        addresses: Vec<String>,
    },
    /// A job names a recipient and no channel.
    #[error("a recipient needs a channel; name the channel too")]
    NoChannelNamed,
    /// The channel has a single place.
    #[error("{channel} has no recipients to choose from; leave the recipient out")]
    NoChoice {
        /// The channel.
        channel: String,
    },
}

/// Why a job's channel or recipient cannot get messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRouteProblem {
    /// The path of the field in the job document.
    pub field: &'static str,
    /// The cause.
    pub cause: RouteProblem,
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The remedy for a channel without a recipient.
fn set_recipient(channel: &ChannelName, kind: ChannelKind) -> String {
    match kind {
        ChannelKind::Telegram => {
            format!("Pair your chat with `rouse channels pair {channel}`")
        }
        _ => format!("Write one into `to` of `[channels.{channel}]` in the settings file"),
    }
}

fn known_recipients(addresses: &[String]) -> String {
    match addresses {
        [] => "no recipient is paired or written down".to_owned(),
        known => format!("its recipients are {}", listed(known)),
    }
}
