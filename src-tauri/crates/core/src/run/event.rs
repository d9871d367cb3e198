//! Numbered events for clients.

use serde_json::Value;
use strum::{EnumString, IntoStaticStr};

use crate::UnixMs;

/// The subject of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, EnumString)]
#[strum(serialize_all = "camelCase")]
pub enum EventKind {
    /// A job was added, updated or removed, or a run started or finished.
    Cron,
    /// A run changed.
    Run,
    /// An approval was requested or decided, or a grant was revoked or shortened.
    Approval,
    /// A delivery changed.
    Delivery,
    /// The transcript of a session was cleared.
    Session,
    /// The heartbeat changed.
    Heartbeat,
    /// Settings or the global pause changed.
    Config,
}

impl EventKind {
    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An event. `seq` increases by 1 and never repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The number.
    pub seq: i64,
    /// The instant of the commit.
    pub at: UnixMs,
    /// The subject.
    pub kind: EventKind,
    /// The change.
    pub data: Value,
}
