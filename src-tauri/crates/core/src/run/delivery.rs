//! Deliveries: messages on their way to a channel, one row per route.
//!
//! Owns the states, the pauses between attempts and the age at which a delivery is given up. Pitfall: counting attempts; a
//! computer without a network for an hour makes many.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use ts_rs::TS;

use crate::channel::{MessageKind, Route};
use crate::time::QuietPolicy;
use crate::{ApprovalId, DeliveryId, RunId, UnixMs};

/// A message to be committed with the outcome: one row of the outbox, for one route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// Identity, and the key of the notification.
    pub id: DeliveryId,
    /// The kind.
    pub kind: MessageKind,
    /// The approval that the message requests; none for other messages, and for a message about several approvals.
    pub approval: Option<ApprovalId>,
    /// The channel and recipient.
    pub route: Route,
    /// The title, usually the job's name.
    pub title: String,
    /// The text for a lock screen.
    pub body: String,
    /// The whole text in Markdown, for a channel; the body when absent.
    pub text: Option<String>,
    /// The quiet-hours policy.
    pub quiet_hours: QuietPolicy,
}

impl NewDelivery {
    /// The same message on each of `routes`, as one row per route. A notification has no whole text: the run has it.
    #[must_use]
    pub fn on_routes(self, routes: Vec<Route>) -> Vec<Self> {
        let row = |(index, route): (usize, Route)| Self {
            id: self.id.of_route(index),
            text: self.text.clone().filter(|_| !route.channel.is_notification()),
            route,
            ..self.clone()
        };
        routes.into_iter().enumerate().map(row).collect()
    }
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
    /// Being sent to a channel that cannot recognise a repeat.
    Sending,
    /// Sent without an answer: the message may have arrived. One more attempt follows, marked as a repeat.
    Unknown,
    /// Delivered.
    Delivered,
    /// Failed for good.
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
    /// The run of the delivery; none for a digest or a test.
    pub run_id: Option<RunId>,
    /// The kind.
    pub kind: MessageKind,
    /// The approval that the message requests; none for other messages, and for a message about several approvals.
    pub approval: Option<ApprovalId>,
    /// The channel and recipient.
    pub route: Route,
    /// The title, usually the job's name.
    pub title: String,
    /// The text for a lock screen.
    pub body: String,
    /// The whole text in Markdown, for a channel; the body when absent.
    pub text: Option<String>,
    /// The state.
    pub state: DeliveryState,
    /// Attempts so far.
    pub attempts: u32,
    /// Parts that the service has accepted.
    pub sent_parts: u32,
    /// Attempts without an answer.
    pub unconfirmed: u32,
    /// Why the delivery failed, was suppressed or waits.
    pub reason: Option<String>,
    /// When the delivery entered the outbox.
    pub created_at: UnixMs,
    /// When the first attempt began.
    pub first_attempt_at: Option<UnixMs>,
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

impl Delivery {
    /// Whether the message may have arrived in an earlier attempt.
    #[must_use]
    pub const fn is_repeat(&self) -> bool {
        self.unconfirmed > 0
    }

    /// When the attempts began, for an attempt at `now`: at this one if Rouse made none for an hour, as on a computer that
    /// slept over a weekend.
    #[must_use]
    pub fn attempts_began_at(&self, now: UnixMs) -> UnixMs {
        let has_slept = self.next_attempt_at.is_some_and(|due| now.0 - due.0 > MAX_LATENESS_MS);
        self.first_attempt_at.filter(|_| !has_slept).unwrap_or(now)
    }

    /// When the next attempt is due after a failed one; none if the delivery is given up, a day after its first attempt.
    /// `after_ms` is the shortest pause that the service asks for; a longer pause ends with the last attempt.
    #[must_use]
    pub fn next_attempt(&self, now: UnixMs, after_ms: Option<i64>) -> Option<UnixMs> {
        let first = self.attempts_began_at(now);
        let last = first.plus_ms(MAX_DELIVERY_AGE_MS);
        let pause = redelivery_pause_ms(self.attempts).max(after_ms.unwrap_or(0));
        (now < last).then(|| now.plus_ms(pause).min(last))
    }
}

/// The age at which a delivery is given up: a day since its first attempt.
pub const MAX_DELIVERY_AGE_MS: i64 = 24 * 3_600_000;

/// An attempt that is later than this was not possible before.
const MAX_LATENESS_MS: i64 = 3_600_000;

/// The longest pause between two attempts, unless the service asks for a longer one.
pub const MAX_REDELIVERY_PAUSE_MS: i64 = 900_000;

/// The pause after this many attempts, in milliseconds.
const fn redelivery_pause_ms(attempts: u32) -> i64 {
    match attempts {
        0 | 1 => 2_000,
        2 => 10_000,
        3 => 60_000,
        4 => 300_000,
        _ => MAX_REDELIVERY_PAUSE_MS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::ChannelName;

    #[test]
    fn message_has_one_row_per_route() {
        let message = NewDelivery {
            id: DeliveryId::new("d"),
            kind: MessageKind::Report,
            approval: None,
            route: Route::notification(),
            title: "Mail".to_owned(),
            body: "Two mails.".to_owned(),
            text: Some("Two mails.\n- one".to_owned()),
            quiet_hours: QuietPolicy::RESPECT,
        };
        let routes = vec![Route::notification(), Route::of(ChannelName::new("phone"))];
        let rows = message.on_routes(routes);
        let ids: Vec<(&str, bool)> =
            rows.iter().map(|row| (row.id.as_str(), row.text.is_some())).collect();
        assert_eq!(ids, [("d", false), ("d@1", true)]);
        assert!(rows.iter().all(|row| row.id.message() == "d"));
    }
}
