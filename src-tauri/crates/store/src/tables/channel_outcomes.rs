//! The newest outcomes of each channel, from the table `outbox`.

use rouse_core::UnixMs;
use rouse_core::channel::ChannelName;
use rouse_core::delivery::DeliveryState;

use crate::sql::{Store, StoreError, from_columns};

/// One search per channel and state, however many deliveries there are.
pub(crate) const CHANNEL_OUTCOMES: &str = "WITH RECURSIVE names (channel) AS (
        SELECT min(channel) FROM outbox WHERE settled_at IS NOT NULL
        UNION ALL
        SELECT (SELECT min(channel) FROM outbox WHERE settled_at IS NOT NULL AND channel > names.channel)
        FROM names WHERE channel IS NOT NULL)
    SELECT newest.channel, newest.state, newest.settled_at, newest.reason
    FROM names CROSS JOIN (VALUES ('delivered'), ('failed')) AS states JOIN outbox AS newest ON newest.id =
        (SELECT id FROM outbox WHERE channel = names.channel AND state = states.column1 AND settled_at IS NOT NULL
         ORDER BY settled_at DESC LIMIT 1)";

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
