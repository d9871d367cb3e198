//! Deliveries: results of runs on their way to a channel.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use ts_rs::TS;

use crate::time::QuietPolicy;
use crate::{DeliveryId, RunId, UnixMs};

/// A channel of delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// A native notification on this machine.
    Notification,
    /// A channel by name, which may not be set up.
    Named(String),
}

/// Reserved channel names without an implementation.
const NOT_SET_UP: [&str; 3] = ["telegram", "whatsapp", "webhook"];

impl Channel {
    /// Why the named channel cannot deliver; none for a working channel.
    #[must_use]
    pub fn complaint(name: &str) -> Option<String> {
        let what = match Self::from_name(name) {
            Self::Notification => return None,
            Self::Named(name) if NOT_SET_UP.contains(&name.as_str()) => {
                format!("{name} is not set up")
            }
            Self::Named(name) => format!("there is no channel `{name}`"),
        };
        Some(format!("{what}; the channels are `notification` and `last`"))
    }

    /// The channel with this name. `last` is the notification until a conversation channel exists.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "notification" | "last" => Self::Notification,
            other => Self::Named(other.to_owned()),
        }
    }

    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Notification => "notification",
            Self::Named(name) => name,
        }
    }
}

/// A delivery to be committed with the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// Identity, and the key of the notification.
    pub id: DeliveryId,
    /// The channel.
    pub channel: Channel,
    /// The recipient on that channel.
    pub to: Option<String>,
    /// The title, usually the job's name.
    pub title: String,
    /// The text.
    pub body: String,
    /// The quiet-hours policy.
    pub quiet_hours: QuietPolicy,
}

/// The state of a delivery.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum DeliveryState {
    /// In the outbox.
    Pending,
    /// Held in the outbox until quiet hours end.
    Held,
    /// Delivered.
    Delivered,
    /// Failed after the last attempt.
    Failed,
    /// Suppressed; the reason is on the row.
    Suppressed,
}

impl DeliveryState {
    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A delivery as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Identity.
    pub id: DeliveryId,
    /// The run of the delivery; none for a test.
    pub run_id: Option<RunId>,
    /// The channel.
    pub channel: Channel,
    /// The recipient on that channel.
    pub to: Option<String>,
    /// The title, usually the job's name.
    pub title: String,
    /// The text.
    pub body: String,
    /// The state.
    pub state: DeliveryState,
    /// Attempts so far.
    pub attempts: u32,
    /// Why the delivery failed or was suppressed.
    pub reason: Option<String>,
    /// When the delivery entered the outbox.
    pub created_at: UnixMs,
    /// When the next attempt is due.
    pub next_attempt_at: Option<UnixMs>,
    /// The instant of the final state.
    pub settled_at: Option<UnixMs>,
    /// The quiet-hours policy.
    pub quiet_hours: QuietPolicy,
    /// The end of the quiet hours that hold the delivery.
    pub held_until: Option<UnixMs>,
    /// The digest with this delivery.
    pub digest: Option<DeliveryId>,
}

/// The maximum pause between two attempts.
pub const LONGEST_REDELIVERY_MS: i64 = 1_800_000;

/// Milliseconds before attempt `attempts + 1`; none when no attempt is left.
#[must_use]
pub const fn redelivery_after_ms(attempts: u32) -> Option<i64> {
    match attempts {
        0 => Some(0),
        1 => Some(2_000),
        2 => Some(10_000),
        3 => Some(60_000),
        4 => Some(300_000),
        5 => Some(LONGEST_REDELIVERY_MS),
        _ => None,
    }
}
