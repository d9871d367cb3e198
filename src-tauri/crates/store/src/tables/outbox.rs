//! The table `outbox`: deliveries, from the decision to notify until they are settled.
//!
//! A row is inserted before the first attempt and ends delivered, failed or suppressed, with a reason. A delivery that waits
//! for the end of quiet hours is held; deliveries in a digest are settled with it. A settled row never changes, so a late
//! reply of a channel is ignored. Power loss may undo a settlement: the delivery is repeated under the same id, which is
//! better than a loss.

use rouse_core::delivery::{Delivery, DeliveryState, NewDelivery};
use rouse_core::event::EventKind;
use rouse_core::job::to_json;
use rouse_core::text::strip_invisible;
use rouse_core::time::QuietPolicy;
use rouse_core::{DeliveryId, RunId, UnixMs};
use serde_json::Value;

use super::event_data::delivery_event;
use crate::sql::{
    Durability, FromColumn, Query, Store, StoreError, Transaction, from_columns, json_list,
    parse_json,
};

/// The columns that `Delivery` reads, in order.
macro_rules! delivery_columns {
    () => {
        "id, run_id, channel, recipient, title, body, state, attempts, reason, created_at, next_attempt_at, settled_at,
         quiet_hours, held_until, digest"
    };
}

pub(crate) const DUE: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM outbox WHERE state = 'pending' AND next_attempt_at <= ?1 ORDER BY next_attempt_at LIMIT ?2"
);
pub(crate) const NEXT_ATTEMPT: &str = "SELECT next_attempt_at FROM outbox
    WHERE state = 'pending' ORDER BY next_attempt_at LIMIT 1";
const INSERT: &str = "INSERT INTO outbox
        (id, run_id, channel, recipient, title, body, state, attempts, created_at, next_attempt_at, quiet_hours)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending', 0, ?7, ?7, ?8)";
const EXISTS: &str = "SELECT 1 FROM outbox WHERE id = ?1";
const GET: &str = concat!("SELECT ", delivery_columns!(), " FROM outbox WHERE id = ?1");
pub(crate) const OF_RUN: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM outbox WHERE run_id = ?1 ORDER BY created_at, rowid"
);
pub(crate) const HELD: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM outbox WHERE state = 'held' AND digest IS NULL ORDER BY created_at, rowid"
);
const HELD_UNTIL: &str = "SELECT held_until FROM outbox WHERE id = ?1";
const HOLD: &str = "UPDATE outbox SET state = 'held', held_until = ?2, next_attempt_at = NULL
    WHERE id = ?1 AND state IN ('pending', 'held') AND digest IS NULL
        AND (state = 'pending' OR held_until IS NOT ?2) RETURNING run_id";
const RELEASE: &str = "UPDATE outbox SET state = 'pending', held_until = NULL, next_attempt_at = ?2
    WHERE id = ?1 AND state = 'held' AND digest IS NULL RETURNING run_id";
pub(crate) const ADD_TO_DIGEST: &str = "UPDATE outbox SET digest = ?2, state = 'held', next_attempt_at = NULL
    WHERE id IN (SELECT value FROM json_each(?1)) AND state IN ('pending', 'held') AND digest IS NULL
    RETURNING id";
pub(crate) const SETTLE_DIGESTED: &str =
    "UPDATE outbox SET state = ?2, reason = ?3, settled_at = ?4
    WHERE digest = ?1 AND state = 'held' RETURNING id, run_id";
/// A run with a pending approval has no deliveries but those that announce it.
const SUPPRESS_APPROVALS: &str =
    "UPDATE outbox SET state = ?2, reason = 'The approval was decided before it was announced.', settled_at = ?3,
        next_attempt_at = NULL
    WHERE run_id = ?1 AND state IN ('pending', 'held') AND digest IS NULL
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE run_id = ?1 AND state = 'pending') RETURNING id";
const SETTLE: &str =
    "UPDATE outbox SET state = ?2, reason = ?3, settled_at = ?4, next_attempt_at = NULL,
        attempts = attempts + 1
    WHERE id = ?1 AND state = 'pending' RETURNING run_id";
const POSTPONE: &str =
    "UPDATE outbox SET reason = ?2, next_attempt_at = ?3, attempts = attempts + 1
    WHERE id = ?1 AND state = 'pending' RETURNING run_id";

from_columns!(
    Delivery:
    id, run_id, channel, to, title, body, state, attempts, reason, created_at, next_attempt_at,
    settled_at, quiet_hours, held_until, digest
);

impl<'r> FromColumn<'r> for QuietPolicy {
    type Stored = Option<&'r str>;

    /// An invalid policy reads as the default: the delivery must not be lost.
    fn from_stored(stored: Self::Stored) -> sqlx::Result<Self> {
        let policy: Option<Value> = stored.map(parse_json).transpose()?;
        Ok(policy.and_then(|policy| serde_json::from_value(policy).ok()).unwrap_or_default())
    }
}

impl Store {
    /// Pending deliveries whose next attempt is not after `now`, the earliest first.
    pub async fn due_deliveries(
        &self,
        now: UnixMs,
        limit: u32,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.fetch_all("read the outbox", sqlx::query(DUE).bind(now.0).bind(limit)).await
    }

    /// The earliest next attempt of a pending delivery.
    pub async fn next_delivery_at(&self) -> Result<Option<UnixMs>, StoreError> {
        self.fetch_optional("read the outbox", sqlx::query(NEXT_ATTEMPT)).await
    }

    /// One delivery.
    pub async fn delivery(&self, id: &DeliveryId) -> Result<Option<Delivery>, StoreError> {
        self.fetch_optional("read the delivery", sqlx::query(GET).bind(id.as_str())).await
    }

    /// The deliveries of a run, the oldest first.
    pub async fn deliveries_of(&self, run: &RunId) -> Result<Vec<Delivery>, StoreError> {
        self.fetch_all("read the deliveries", sqlx::query(OF_RUN).bind(run.as_str())).await
    }

    /// Deliveries that wait for the end of quiet hours, the oldest first.
    pub async fn held_deliveries(&self) -> Result<Vec<Delivery>, StoreError> {
        self.fetch_all("read the held deliveries", sqlx::query(HELD)).await
    }

    /// Inserts a delivery apart from an outcome. Event `delivery`.
    pub async fn enqueue_delivery(
        &self,
        run: Option<&RunId>,
        delivery: &NewDelivery,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("put a delivery into the outbox", Durability::Full, now).await?;
        enqueue(&mut tx, run, delivery).await?;
        tx.commit().await
    }

    /// Settles a pending delivery after an attempt; a digest with all its deliveries. Event `delivery`.
    pub async fn settle_delivery(
        &self,
        id: &DeliveryId,
        state: DeliveryState,
        reason: Option<&str>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let query =
            sqlx::query(SETTLE).bind(id.as_str()).bind(state.name()).bind(reason).bind(now.0);
        let action = "save the attempt of a delivery";
        let mut tx = self.begin(action, Durability::Normal, now).await?;
        if change_delivery(&mut tx, query, id, state).await?.is_none() {
            return tx.roll_back().await;
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
        tx.commit().await
    }

    /// Postpones a pending delivery after an attempt. Event `delivery`.
    pub async fn postpone_delivery(
        &self,
        id: &DeliveryId,
        reason: &str,
        next_attempt_at: UnixMs,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(POSTPONE).bind(id.as_str()).bind(reason).bind(next_attempt_at.0);
        let action = "save the attempt of a delivery";
        let mut tx = self.begin(action, Durability::Normal, now).await?;
        match change_delivery(&mut tx, query, id, DeliveryState::Pending).await? {
            Some(_) => tx.commit().await,
            None => tx.roll_back().await,
        }
    }

    /// Inserts a digest that announces several deliveries, which are held until the digest is settled and settled together.
    /// Writes nothing if none is pending or held. Event `delivery`.
    pub async fn digest_deliveries(
        &self,
        deliveries: &[DeliveryId],
        digest: &NewDelivery,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("put a digest into the outbox", Durability::Full, now).await?;
        let query = sqlx::query(ADD_TO_DIGEST)
            .bind(json_list(deliveries.iter().map(DeliveryId::as_str)))
            .bind(digest.id.as_str());
        if !tx.exists(query).await? {
            return tx.roll_back().await;
        }
        enqueue(&mut tx, None, digest).await?;
        tx.commit().await
    }
}

/// Executes an update of a delivery that returns the run, and emits the event; none without a change.
async fn change_delivery(
    tx: &mut Transaction,
    query: Query,
    id: &DeliveryId,
    state: DeliveryState,
) -> Result<Option<Option<RunId>>, StoreError> {
    let changed: Option<Option<RunId>> = tx.fetch_optional(query).await?;
    if let Some(run) = &changed {
        tx.emit(EventKind::Delivery, delivery_event(id, run.as_ref(), state));
    }
    Ok(changed)
}

/// Holds a pending or held delivery until `until`, unless digested; the inner option is the run.
pub(crate) async fn hold(
    tx: &mut Transaction,
    id: &DeliveryId,
    until: UnixMs,
) -> Result<Option<Option<RunId>>, StoreError> {
    let query = sqlx::query(HOLD).bind(id.as_str()).bind(until.0);
    change_delivery(tx, query, id, DeliveryState::Held).await
}

/// Makes a held delivery pending, unless digested; the inner option is the run.
pub(crate) async fn release(
    tx: &mut Transaction,
    id: &DeliveryId,
) -> Result<Option<Option<RunId>>, StoreError> {
    let query = sqlx::query(RELEASE).bind(id.as_str()).bind(tx.now().0);
    change_delivery(tx, query, id, DeliveryState::Pending).await
}

/// The end of a delivery's hold.
pub(crate) async fn held_until(
    tx: &mut Transaction,
    id: &DeliveryId,
) -> Result<Option<UnixMs>, StoreError> {
    let until = tx.fetch_optional(sqlx::query(HELD_UNTIL).bind(id.as_str())).await?;
    Ok(until.flatten())
}

/// Suppresses the open deliveries that announce approvals of a run, once no approval is pending.
pub(crate) async fn suppress_approval_deliveries(
    tx: &mut Transaction,
    run: &RunId,
) -> Result<(), StoreError> {
    let state = DeliveryState::Suppressed;
    let query =
        sqlx::query(SUPPRESS_APPROVALS).bind(run.as_str()).bind(state.name()).bind(tx.now().0);
    for id in tx.fetch_all(query).await? {
        tx.emit(EventKind::Delivery, delivery_event(&id, Some(run), state));
    }
    Ok(())
}

/// Inserts a pending delivery. Event `delivery`.
pub(crate) async fn enqueue(
    tx: &mut Transaction,
    run: Option<&RunId>,
    delivery: &NewDelivery,
) -> Result<(), StoreError> {
    let query = sqlx::query(INSERT)
        .bind(delivery.id.as_str())
        .bind(run.map(RunId::as_str))
        .bind(delivery.channel.name())
        .bind(delivery.to.as_deref())
        .bind(strip_invisible(&delivery.title))
        .bind(strip_invisible(&delivery.body))
        .bind(tx.now().0)
        .bind(
            (delivery.quiet_hours != QuietPolicy::RESPECT)
                .then(|| to_json(&delivery.quiet_hours).to_string()),
        );
    tx.execute(query).await?;
    tx.emit(EventKind::Delivery, delivery_event(&delivery.id, run, DeliveryState::Pending));
    Ok(())
}

/// Inserts a pending delivery, unless the id is in the outbox.
pub(crate) async fn enqueue_once(
    tx: &mut Transaction,
    run: &RunId,
    delivery: &NewDelivery,
) -> Result<(), StoreError> {
    if tx.exists(sqlx::query(EXISTS).bind(delivery.id.as_str())).await? {
        return Ok(());
    }
    enqueue(tx, Some(run), delivery).await
}
