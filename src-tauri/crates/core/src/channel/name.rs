//! The name of a channel.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The most bytes of a name.
const MAX_NAME: usize = 32;

/// The name of a channel: `notification`, or the name of a table `[channels.NAME]` in the settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(transparent)]
#[ts(type = "string")]
pub struct ChannelName(String);

/// A text that cannot name a channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a name of 1 to {MAX_NAME} small letters, digits and `-`; `notification` and `last` are taken"
)]
pub struct InvalidChannelName;

impl ChannelName {
    /// The native notification on this computer.
    #[must_use]
    pub fn notification() -> Self {
        Self(Self::NOTIFICATION.to_owned())
    }

    const NOTIFICATION: &'static str = "notification";

    /// The place of the newest message of the person in the main session; no channel of its own.
    pub const LAST: &'static str = "last";

    /// Wraps a stored name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Whether this is the native notification.
    #[must_use]
    pub fn is_notification(&self) -> bool {
        self.0 == Self::NOTIFICATION
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ChannelName {
    type Err = InvalidChannelName;

    /// Reads the name of a channel in the settings.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_reserved = name == Self::NOTIFICATION || name == Self::LAST;
        let has_valid_length = (1..=MAX_NAME).contains(&name.len());
        if has_valid_length && !is_reserved && name.chars().all(is_valid) {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidChannelName)
        }
    }
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
