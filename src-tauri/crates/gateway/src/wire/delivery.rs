//! Deliveries, and notification requests to the desktop app.

use rouse_core::channel::ChannelKind;
pub use rouse_core::delivery::DeliveryState;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A delivery.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are documented in rouse_core::delivery::Delivery")]
pub struct DeliveryView {
    pub id: String,
    pub run_id: Option<String>,
    pub channel: String,
    /// Kind of the channel; none for the notification and for a removed channel.
    pub channel_kind: Option<ChannelKind>,
    /// Address of the recipient; none for a channel with a single place.
    pub to: Option<String>,
    pub title: String,
    pub body: String,
    pub state: DeliveryState,
    pub attempts: u32,
    pub reason: Option<String>,
    pub created_at_ms: i64,
    pub next_attempt_at_ms: Option<i64>,
    pub settled_at_ms: Option<i64>,
    pub held_until_ms: Option<i64>,
    pub digest_id: Option<String>,
}

/// A delivery by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryRef {
    /// Id of the delivery, which is also the key of the notification.
    pub id: String,
}

/// The message `show` on the socket of a desktop app: a notification to show. Pages never receive it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotificationRequest {
    /// Key of the request, for the report.
    pub key: String,
    /// Id of the delivery. A notification replaces an earlier one of the same delivery.
    pub delivery_id: String,
    /// Run of the notification; none for a test.
    pub run_id: Option<String>,
    /// Name of the job.
    pub title: String,
    /// First sentence of the outcome.
    pub body: String,
}

/// `deliveries.answer`: the report on a notification request.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct NotificationReport {
    /// Key of the request.
    pub key: String,
    /// Outcome of the request.
    pub outcome: NotificationOutcome,
    /// Error for the person, if not shown.
    pub reason: Option<String>,
}

/// Outcome of a notification request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum NotificationOutcome {
    /// Shown.
    Shown,
    /// Not shown; a retry may succeed.
    NotNow,
    /// Not shown; this desktop cannot show notifications.
    Never,
}
