//! Numbered events: what changed, for every client.

use serde_json::Value;

use crate::UnixMs;

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A job was added, updated, removed, or one of its runs started or finished.
    Cron,
    /// A run changed.
    Run,
    /// A question to a person was asked or answered, or a grant was taken back or nearer.
    Approval,
    /// A delivery changed.
    Delivery,
    /// What a session has said was cleared.
    Session,
    /// The heartbeat changed.
    Heartbeat,
    /// Settings or the pause changed.
    Config,
}

impl EventKind {
    /// The name on the wire and in SQL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::Run => "run",
            Self::Approval => "approval",
            Self::Delivery => "delivery",
            Self::Session => "session",
            Self::Heartbeat => "heartbeat",
            Self::Config => "config",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Cron,
            Self::Run,
            Self::Approval,
            Self::Delivery,
            Self::Session,
            Self::Heartbeat,
            Self::Config,
        ]
        .into_iter()
        .find(|k| k.name() == name)
    }
}

/// One event; `seq` grows by one and never repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number.
    pub seq: i64,
    /// When it was committed.
    pub at: UnixMs,
    /// What it is about.
    pub kind: EventKind,
    /// The change.
    pub data: Value,
}
