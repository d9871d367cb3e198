//! Handing a run's outcome to a channel.

use crate::quiet::QuietPolicy;
use crate::{DeliveryId, RunId, UnixMs};

/// Where a delivery goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// A native notification on this machine.
    Notification,
    /// A channel of that name, which may not be set up.
    Named(String),
}

/// Channels that have a name and nothing behind it yet.
const NOT_SET_UP: [&str; 3] = ["telegram", "whatsapp", "webhook"];

impl Channel {
    /// Why nothing can go to the channel of that name; none when it is set up.
    #[must_use]
    pub fn complaint(name: &str) -> Option<String> {
        let what = match Self::from_name(name) {
            Self::Notification => return None,
            Self::Named(name) if NOT_SET_UP.contains(&name.as_str()) => {
                format!("{name} is not set up")
            }
            Self::Named(name) => format!("there is no channel `{name}`"),
        };
        Some(format!("{what}; there are notification and last"))
    }

    /// The channel of that name; `last` means the notification until a conversation channel exists.
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

/// A delivery to be committed with the outcome that caused it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// Identity, and the key of the notification.
    pub id: DeliveryId,
    /// Where to.
    pub channel: Channel,
    /// The recipient on that channel.
    pub to: Option<String>,
    /// The job's name.
    pub title: String,
    /// The outcome's first sentence.
    pub body: String,
    /// Whether it waits for the end of quiet hours.
    pub quiet_hours: QuietPolicy,
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// In the outbox.
    Pending,
    /// In the outbox until quiet hours end, then told alone or in a digest.
    Held,
    /// Handed over.
    Delivered,
    /// Given up after the last attempt.
    Failed,
    /// Not handed over on purpose; the reason is on the row.
    Suppressed,
}

impl DeliveryState {
    /// The name in JSON and SQL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Held => "held",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Suppressed => "suppressed",
        }
    }

    /// The state of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Pending, Self::Held, Self::Delivered, Self::Failed, Self::Suppressed]
            .into_iter()
            .find(|s| s.name() == name)
    }
}

/// A delivery as it stands in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Identity.
    pub id: DeliveryId,
    /// The run that it tells about; none for a test.
    pub run_id: Option<RunId>,
    /// Where to.
    pub channel: Channel,
    /// The recipient on that channel.
    pub to: Option<String>,
    /// The job's name.
    pub title: String,
    /// The outcome's first sentence.
    pub body: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// Attempts made.
    pub attempts: u32,
    /// Why it failed or was suppressed.
    pub reason: Option<String>,
    /// When it was put into the outbox.
    pub created_at: UnixMs,
    /// When it is tried next.
    pub next_attempt_at: Option<UnixMs>,
    /// When it reached its final state.
    pub settled_at: Option<UnixMs>,
    /// What its job says about quiet hours.
    pub quiet_hours: QuietPolicy,
    /// When the quiet hours end that it is held for.
    pub held_until: Option<UnixMs>,
    /// The digest that tells of it.
    pub digest: Option<DeliveryId>,
}

/// The longest of the pauses between two attempts.
pub const LONGEST_REDELIVERY_MS: i64 = 1_800_000;

/// Milliseconds before attempt `attempts + 1`; none when it is given up.
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
