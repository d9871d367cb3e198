//! Recipients: places on a channel that the person has paired or written down.

use super::name::ChannelName;

/// A place on a channel that the person has paired or written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// The channel.
    pub channel: ChannelName,
    /// The address on the channel, such as a chat id or an e-mail address.
    pub address: String,
    /// The name for people, such as `Anna (@anna)`.
    pub label: String,
    /// Whether only one person reads the place.
    pub is_private: bool,
    /// Whether the person has paired the place. Only a paired place can decide approvals and write to the main session.
    pub is_paired: bool,
}
