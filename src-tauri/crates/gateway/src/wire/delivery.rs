//! Deliveries: what was told to whom, and what a screen is asked to show.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// One delivery.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are documented in rouse_core::delivery::Delivery")]
pub struct DeliveryView {
    pub id: String,
    pub run_id: Option<String>,
    pub channel: String,
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

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the states are documented in rouse_core::delivery")]
pub enum DeliveryState {
    Pending,
    Held,
    Delivered,
    Failed,
    Suppressed,
}

/// One delivery by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryRef {
    /// The delivery: the key of its notification.
    pub id: String,
}

/// What a screen is asked to show: the message `show` on its socket. Pages never get one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShowRequest {
    /// To be given back with the answer.
    pub key: String,
    /// The delivery: a notification with the same one takes the place of the earlier.
    pub delivery_id: String,
    /// The run it tells about; none for a test.
    pub run_id: Option<String>,
    /// The job's name.
    pub title: String,
    /// The outcome's first sentence.
    pub body: String,
}

/// `deliveries.answer`: what became of a notification that a screen was asked to show.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ShowAnswer {
    /// The key of the request.
    pub key: String,
    /// What became of it.
    pub outcome: ShowOutcome,
    /// Why it was not shown, for people.
    pub reason: Option<String>,
}

/// What became of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ShowOutcome {
    /// It is on the screen.
    Shown,
    /// It may work later.
    NotNow,
    /// It cannot work on this desktop.
    Never,
}
