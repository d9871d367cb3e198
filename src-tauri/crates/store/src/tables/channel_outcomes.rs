//! The newest outcomes of each channel, from the table `outbox`.

use rouse_core::UnixMs;
use rouse_core::channel::ChannelName;
use rouse_core::delivery::DeliveryState;

use crate::sql::{Store, StoreError, from_columns};

/// With a single `max`, SQLite takes `reason` from the row of the maximum.
const CHANNEL_OUTCOMES: &str = "SELECT channel, state, max(settled_at), reason FROM outbox
    WHERE state IN ('delivered', 'failed') GROUP BY channel, state";

/// The newest settled delivery of a channel in one state: delivered or failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelOutcome {
    /// The channel.
    pub channel: ChannelName,
    /// The state.
    pub state: DeliveryState,
    /// When the delivery was settled.
    pub at: UnixMs,
    /// Why the delivery failed.
    pub reason: Option<String>,
}

from_columns!(ChannelOutcome: channel, state, at, reason);

impl Store {
    /// The newest delivered and the newest failed delivery of each channel.
    pub async fn channel_outcomes(&self) -> Result<Vec<ChannelOutcome>, StoreError> {
        self.fetch_all("read the outbox", sqlx::query(CHANNEL_OUTCOMES)).await
    }
}
