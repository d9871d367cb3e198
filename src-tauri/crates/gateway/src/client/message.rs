//! Messages of a subscription: events, and notification requests for a desktop app.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::{EventView, NotificationRequest};

/// The parameters of a subscription.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Subscribe {
    /// The events after this one [default: only new ones].
    pub(super) after: Option<i64>,
    /// Also notification requests.
    pub(super) is_desktop_app: bool,
}

/// A message to an attached desktop app.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "camelCase")]
pub enum DesktopAppMessage {
    /// An event.
    Event(EventView),
    /// A notification to show; `deliveries.answer` reports the outcome.
    Show(NotificationRequest),
}

/// Reads a message; none for a kind that this version does not know.
pub(super) fn parse_message(message: Value) -> Option<DesktopAppMessage> {
    let is_known = matches!(message["method"].as_str(), Some("event" | "show"));
    let parsed = serde_json::from_value(message);
    let parsed = parsed.inspect_err(|error| {
        if is_known {
            tracing::debug!(%error, "invalid message of the engine");
        }
    });
    // silent-ok: a newer engine may send other kinds.
    parsed.ok()
}
