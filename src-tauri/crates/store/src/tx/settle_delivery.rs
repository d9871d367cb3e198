//! The outcome of an attempt that a delivery survives or ends with.
//!
//! Owns what settles together: a digest with its deliveries, a failed row with the row that takes its message over, and the
//! lifetime of an approval, which begins with the first delivered message. Pitfall: an approval that expires while its message
//! waits for a network; the person never saw it.

use rouse_core::delivery::{DeliveryState, NewDelivery};
use rouse_core::event::EventKind;
use rouse_core::{DeliveryId, RunId, UnixMs};

use crate::sql::{Durability, Store, StoreError};
use crate::tables::approvals::delay_expiry_of_unseen;
use crate::tables::event_data::delivery_event;
use crate::tables::outbox::{POSTPONE, SETTLE, SETTLE_DIGESTED, change_delivery, enqueue_once};

/// Why and until when an attempt is postponed.
#[derive(Debug, Clone, Copy)]
pub struct Postponement<'a> {
    /// The cause as a sentence.
    pub reason: &'a str,
    /// When the next attempt is due.
    pub next_attempt_at: UnixMs,
    /// When the attempts began, for the age at which the delivery is given up.
    pub attempts_began_at: UnixMs,
    /// Whether the message may have arrived: the next attempt repeats the whole message with a mark.
    pub may_have_arrived: bool,
}

impl Store {
    /// Settles a delivery after an attempt; a digest with all its deliveries. The first delivered message of an approval
    /// begins its lifetime. Events `delivery`, `approval`.
    pub async fn settle_delivery(
        &self,
        id: &DeliveryId,
        state: DeliveryState,
        reason: Option<&str>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        self.settle_with_fallback(id, (state, reason), None, now).await
    }

    /// Settles a delivery as failed and inserts the row that takes the message over, unless that row exists. Event
    /// `delivery`.
    pub async fn fail_delivery(
        &self,
        id: &DeliveryId,
        reason: &str,
        fallback: Option<&NewDelivery>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        self.settle_with_fallback(id, (DeliveryState::Failed, Some(reason)), fallback, now).await
    }

    async fn settle_with_fallback(
        &self,
        id: &DeliveryId,
        (state, reason): (DeliveryState, Option<&str>),
        fallback: Option<&NewDelivery>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let query =
            sqlx::query(SETTLE).bind(id.as_str()).bind(state.name()).bind(reason).bind(now.0);
        let durability = if fallback.is_some() { Durability::Full } else { Durability::Normal };
        let mut tx = self.begin("save the attempt of a delivery", durability, now).await?;
        let Some(run) = change_delivery(&mut tx, query, id, state).await? else {
            return tx.roll_back().await;
        };
        if state == DeliveryState::Delivered {
            delay_expiry_of_unseen(&mut tx, id, now).await?;
        }
        let digested = sqlx::query(SETTLE_DIGESTED)
            .bind(id.as_str())
            .bind(state.name())
            .bind(reason.unwrap_or("Announced in a digest with others."))
            .bind(now.0);
        let digested: Vec<(DeliveryId, Option<RunId>)> = tx.fetch_all(digested).await?;
        for (id, run) in digested {
            tx.emit(EventKind::Delivery, delivery_event(&id, run.as_ref(), state));
        }
        if let Some(fallback) = fallback {
            enqueue_once(&mut tx, run.as_ref(), fallback).await?;
        }
        tx.commit().await
    }

    /// Postpones a delivery after an attempt that the service did not confirm. The lifetime of an approval that nobody has
    /// seen begins with the next attempt. Events `delivery`, `approval`.
    pub async fn postpone_delivery(
        &self,
        id: &DeliveryId,
        postponement: &Postponement<'_>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let Postponement { reason, next_attempt_at, attempts_began_at, may_have_arrived } =
            *postponement;
        let query = sqlx::query(POSTPONE).bind(id.as_str()).bind(reason).bind(next_attempt_at.0);
        let query = query.bind(attempts_began_at.0).bind(may_have_arrived);
        let mut tx = self.begin("save the attempt of a delivery", Durability::Normal, now).await?;
        if change_delivery(&mut tx, query, id, DeliveryState::Pending).await?.is_none() {
            return tx.roll_back().await;
        }
        delay_expiry_of_unseen(&mut tx, id, next_attempt_at).await?;
        tx.commit().await
    }
}
