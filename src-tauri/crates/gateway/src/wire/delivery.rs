//! Deliveries: what was told to whom.

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
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the states are documented in rouse_core::delivery")]
pub enum DeliveryState {
    Pending,
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
