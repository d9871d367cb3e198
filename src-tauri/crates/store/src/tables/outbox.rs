//! The table `outbox`: deliveries, from the decision to notify until they are settled.
//!
//! A row is inserted before the first attempt and ends delivered, failed or suppressed, with a reason. Rows of one message
//! share the id before `@`. A row that waits for an attempt has `next_attempt_at`. A delivery that waits for the end of quiet
//! hours is held; deliveries in a digest are settled with it. A settled row never changes, so a late reply of a channel is
//! ignored. Power loss may undo a settlement: a notification is repeated under the same id, and another message is marked
//! as a repeat.

use rouse_core::channel::ChannelName;
use rouse_core::delivery::{Delivery, DeliveryState, NewDelivery};
use rouse_core::event::EventKind;
use rouse_core::job::to_json;
use rouse_core::text::strip_invisible;
use rouse_core::time::QuietPolicy;
use rouse_core::{ApprovalId, DeliveryId, RunId, UnixMs};

use super::event_data::delivery_event;
use crate::sql::{
    Durability, Query, Store, StoreError, Transaction, from_columns, in_json_list, json_append,
    json_list, row_id,
};

/// The columns that `Delivery` reads, in order.
macro_rules! delivery_columns {
    () => {
        "id, run_id, kind, approval_id, channel, recipient, thread, title, body, text, state, attempts, sent_parts, unconfirmed, reason,
         created_at, first_attempt_at, next_attempt_at, settled_at, quiet_hours, held_until, digest"
    };
}

pub(crate) const DUE: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM outbox WHERE channel = $1 AND next_attempt_at <= $2 ORDER BY next_attempt_at LIMIT $3"
);
/// One search per channel, however many deliveries wait.
pub(crate) const DUE_CHANNELS: &str = "WITH RECURSIVE names (channel) AS (
        SELECT min(channel) FROM outbox WHERE next_attempt_at IS NOT NULL
        UNION ALL
        SELECT (SELECT min(channel) FROM outbox WHERE next_attempt_at IS NOT NULL AND channel > names.channel)
        FROM names WHERE channel IS NOT NULL)
    SELECT channel, (SELECT min(next_attempt_at) FROM outbox
        WHERE outbox.channel = names.channel AND next_attempt_at IS NOT NULL)
    FROM names WHERE channel IS NOT NULL";
const INSERT: &str = "INSERT INTO outbox
        (id, run_id, kind, approval_id, channel, recipient, thread, title, body, text, state, attempts, created_at,
         next_attempt_at, quiet_hours)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', 0, $11, $11, $12)";
const EXISTS: &str = "SELECT 1 FROM outbox WHERE id = $1";
const GET: &str = concat!("SELECT ", delivery_columns!(), " FROM outbox WHERE id = $1");
pub(crate) const OF_RUN: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM outbox WHERE run_id = $1 ORDER BY created_at, ",
    row_id!()
);
pub(crate) const HELD: &str = concat!(
    "SELECT id, run_id, kind, approval_id, channel, recipient, thread, title, body, NULL AS text, state, attempts,
        sent_parts, unconfirmed, reason, created_at, first_attempt_at, next_attempt_at, settled_at, quiet_hours,
        held_until, digest
    FROM outbox WHERE state = 'held' AND digest IS NULL ORDER BY created_at, ",
    row_id!()
);
/// Rows of the message `$1`: its id, or its id with `@` and the index of a route. `A` follows `@`.
macro_rules! of_message {
    () => {
        "(id = $1 OR id >= $1 || '@' AND id < $1 || 'A')"
    };
}
const ROUTES_OF_MESSAGE: &str =
    concat!("SELECT channel, approval_id FROM outbox WHERE ", of_message!());
const HELD_UNTIL: &str =
    concat!("SELECT max(held_until) FROM outbox WHERE ", of_message!(), " AND state = 'held'");
const HOLD: &str = concat!(
    "UPDATE outbox SET state = 'held', held_until = $2, next_attempt_at = NULL WHERE ",
    of_message!(),
    " AND state IN ('pending', 'unknown', 'held') AND digest IS NULL
        AND (state <> 'held' OR held_until IS DISTINCT FROM $2) RETURNING id, run_id"
);
macro_rules! release {
    ($rows:expr) => {
        concat!(
            "UPDATE outbox SET state = CASE WHEN unconfirmed > 0 THEN 'unknown' ELSE 'pending' END,
                held_until = NULL, next_attempt_at = $2 WHERE ",
            $rows,
            " AND state = 'held' AND digest IS NULL RETURNING id, run_id"
        )
    };
}
const RELEASE: &str = release!("id = $1");
const RELEASE_MESSAGE: &str = release!(of_message!());
pub(crate) const ADD_TO_DIGEST: &str = concat!(
    "UPDATE outbox SET digest = $2, state = 'held', next_attempt_at = NULL
    WHERE id ",
    in_json_list!("$1"),
    " AND state IN ('pending', 'held') AND digest IS NULL
    RETURNING id"
);
pub(crate) const SETTLE_DIGESTED: &str =
    "UPDATE outbox SET state = $2, reason = $3, settled_at = $4
    WHERE digest = $1 AND state = 'held' RETURNING id, run_id";
const SUPPRESS_APPROVALS: &str =
    "UPDATE outbox SET state = $2, reason = 'The approval was decided before it was announced.', settled_at = $3,
        next_attempt_at = NULL
    WHERE run_id = $1 AND kind = 'approval' AND state IN ('pending', 'held', 'unknown') AND digest IS NULL
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE run_id = $1 AND state = 'pending'
            AND id = coalesce(outbox.approval_id, id)) RETURNING id";
/// An attempt in the state `sending` was counted at its beginning.
macro_rules! count_attempt {
    () => {
        "attempts = attempts + CASE WHEN state = 'sending' THEN 0 ELSE 1 END"
    };
}
pub(crate) const SETTLE: &str = concat!(
    "UPDATE outbox SET state = $2, reason = $3, settled_at = $4, next_attempt_at = NULL, ",
    count_attempt!(),
    " WHERE id = $1 AND state IN ('pending', 'sending', 'unknown') RETURNING run_id"
);
pub(crate) const POSTPONE: &str = concat!(
    "UPDATE outbox SET state = CASE WHEN unconfirmed > 0 OR $5 THEN 'unknown' ELSE 'pending' END,
        unconfirmed = CASE WHEN unconfirmed = 0 AND $5 THEN 1 ELSE unconfirmed END,
        sent_parts = CASE WHEN $5 THEN 0 ELSE sent_parts END,
        reason = $2, next_attempt_at = $3, first_attempt_at = $4, ",
    count_attempt!(),
    " WHERE id = $1 AND state IN ('pending', 'sending', 'unknown') RETURNING run_id"
);
const BEGIN_SEND: &str =
    "UPDATE outbox SET state = 'sending', next_attempt_at = NULL, attempts = attempts + 1,
        first_attempt_at = coalesce(first_attempt_at, $2)
    WHERE id = $1 AND state IN ('pending', 'unknown') RETURNING run_id";
const ACCEPT_PART: &str = concat!(
    "UPDATE outbox SET sent_parts = $2,
        message_ids = ",
    json_append!("message_ids", "$3"),
    " WHERE id = $1 AND state = 'sending'"
);
const MARK_UNKNOWN: &str =
    "UPDATE outbox SET state = 'unknown', unconfirmed = unconfirmed + 1, sent_parts = 0,
        reason = $2, next_attempt_at = $3
    WHERE id = $1 AND state = 'sending' RETURNING run_id";
pub(crate) const DELAY_CHANNEL: &str =
    "UPDATE outbox SET next_attempt_at = $2 WHERE channel = $1 AND next_attempt_at < $2";
pub(crate) const RECOVER_SENDING: &str =
    "UPDATE outbox SET state = 'unknown', unconfirmed = unconfirmed + 1, sent_parts = 0,
        reason = 'Rouse ended while the message was sent.', next_attempt_at = $1
    WHERE state = 'sending' AND ($2 IS NULL OR channel = $2)";

from_columns!(
    Delivery:
    id, run_id, kind, approval, route, title, body, text, state, attempts, sent_parts, unconfirmed, reason,
    created_at, first_attempt_at, next_attempt_at, settled_at, quiet_hours, held_until, digest
);

impl Store {
    /// Deliveries on `channel` whose next attempt is not after `now`, the earliest first.
    pub async fn due_deliveries(
        &self,
        channel: &ChannelName,
        now: UnixMs,
        limit: u32,
    ) -> Result<Vec<Delivery>, StoreError> {
        let query = sqlx::query(DUE).bind(channel.as_str()).bind(now.0).bind(limit);
        self.fetch_all("read the outbox", query).await
    }

    /// The channels with deliveries that wait for an attempt, each with its earliest attempt.
    pub async fn due_channels(&self) -> Result<Vec<(ChannelName, UnixMs)>, StoreError> {
        self.fetch_all("read the outbox", sqlx::query(DUE_CHANNELS)).await
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

    /// Inserts the rows of a message apart from an outcome. Event `delivery`.
    pub async fn enqueue_deliveries(
        &self,
        run: Option<&RunId>,
        rows: &[NewDelivery],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("put a delivery into the outbox", Durability::Full, now).await?;
        for row in rows {
            enqueue(&mut tx, run, row).await?;
        }
        tx.commit().await
    }

    /// Inserts one delivery apart from an outcome. Event `delivery`.
    pub async fn enqueue_delivery(
        &self,
        run: Option<&RunId>,
        delivery: &NewDelivery,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        self.enqueue_deliveries(run, std::slice::from_ref(delivery), now).await
    }

    /// The channel and the approval of each row of a message.
    pub async fn routes_of_message(
        &self,
        delivery: &DeliveryId,
    ) -> Result<Vec<(ChannelName, Option<ApprovalId>)>, StoreError> {
        let query = sqlx::query(ROUTES_OF_MESSAGE).bind(delivery.message());
        self.fetch_all("read the message", query).await
    }

    /// Marks a delivery as being sent, before the first byte leaves. False if the delivery no longer waits. Event `delivery`.
    pub async fn begin_send(&self, id: &DeliveryId, now: UnixMs) -> Result<bool, StoreError> {
        let query = sqlx::query(BEGIN_SEND).bind(id.as_str()).bind(now.0);
        let mut tx = self.begin("begin to send a delivery", Durability::Full, now).await?;
        match change_delivery(&mut tx, query, id, DeliveryState::Sending).await? {
            Some(_) => tx.commit().await.map(|()| true),
            None => tx.roll_back().await.map(|()| false),
        }
    }

    /// Records that the service accepted the parts before `sent_parts`.
    pub async fn accept_part(
        &self,
        id: &DeliveryId,
        sent_parts: u32,
        message_id: Option<&str>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(ACCEPT_PART).bind(id.as_str()).bind(sent_parts).bind(message_id);
        let mut tx = self.begin("save the attempt of a delivery", Durability::Normal, now).await?;
        tx.execute(query).await?;
        tx.commit().await
    }

    /// Records an attempt without an answer; one more attempt of the whole message follows at `next_attempt_at`. Event
    /// `delivery`.
    pub async fn mark_unconfirmed(
        &self,
        id: &DeliveryId,
        reason: &str,
        next_attempt_at: UnixMs,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(MARK_UNKNOWN).bind(id.as_str()).bind(reason);
        let query = query.bind(next_attempt_at.0);
        let mut tx = self.begin("save the attempt of a delivery", Durability::Normal, now).await?;
        match change_delivery(&mut tx, query, id, DeliveryState::Unknown).await? {
            Some(_) => tx.commit().await,
            None => tx.roll_back().await,
        }
    }

    /// Delays the waiting deliveries of a busy channel: none is due before `until`.
    pub async fn delay_channel(
        &self,
        channel: &ChannelName,
        until: UnixMs,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("delay a channel", Durability::Normal, now).await?;
        tx.execute(sqlx::query(DELAY_CHANNEL).bind(channel.as_str()).bind(until.0)).await?;
        tx.commit().await
    }

    /// Marks the deliveries that an earlier sender of `channel` left as unconfirmed; without a channel, those of all.
    pub async fn recover_sending(
        &self,
        channel: Option<&ChannelName>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin("recover the outbox", Durability::Full, now).await?;
        let query = sqlx::query(RECOVER_SENDING).bind(now.0);
        match tx.execute(query.bind(channel.map(ChannelName::as_str))).await? {
            0 => tx.roll_back().await,
            _ => tx.commit().await,
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
pub(crate) async fn change_delivery(
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

/// Holds the pending and held rows of a message until `until`, unless digested. Returns the runs of the changed rows.
pub(crate) async fn hold(
    tx: &mut Transaction,
    id: &DeliveryId,
    until: UnixMs,
) -> Result<Vec<Option<RunId>>, StoreError> {
    let query = sqlx::query(HOLD).bind(id.message()).bind(until.0);
    change_rows(tx, query, DeliveryState::Held).await
}

/// Makes a held row pending, unless digested. Returns the run of the changed row.
pub(crate) async fn release(
    tx: &mut Transaction,
    id: &DeliveryId,
) -> Result<Vec<Option<RunId>>, StoreError> {
    let query = sqlx::query(RELEASE).bind(id.as_str()).bind(tx.now().0);
    change_rows(tx, query, DeliveryState::Pending).await
}

/// Makes the held rows of a message pending, unless digested. Returns the runs of the changed rows.
pub(crate) async fn release_rows_of_message(
    tx: &mut Transaction,
    id: &DeliveryId,
) -> Result<Vec<Option<RunId>>, StoreError> {
    let query = sqlx::query(RELEASE_MESSAGE).bind(id.message()).bind(tx.now().0);
    change_rows(tx, query, DeliveryState::Pending).await
}

async fn change_rows(
    tx: &mut Transaction,
    query: Query,
    state: DeliveryState,
) -> Result<Vec<Option<RunId>>, StoreError> {
    let changed: Vec<(DeliveryId, Option<RunId>)> = tx.fetch_all(query).await?;
    let mut runs = Vec::with_capacity(changed.len());
    for (id, run) in changed {
        tx.emit(EventKind::Delivery, delivery_event(&id, run.as_ref(), state));
        runs.push(run);
    }
    Ok(runs)
}

/// The end of the hold of a message.
pub(crate) async fn held_until(
    tx: &mut Transaction,
    id: &DeliveryId,
) -> Result<Option<UnixMs>, StoreError> {
    let until = tx.fetch_optional(sqlx::query(HELD_UNTIL).bind(id.message())).await?;
    Ok(until.flatten())
}

/// Suppresses the open deliveries of a run that announce no pending approval.
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
        .bind(delivery.kind.name())
        .bind(delivery.approval.as_ref().map(ApprovalId::as_str))
        .bind(delivery.route.channel.as_str())
        .bind(delivery.route.to.as_deref())
        .bind(delivery.route.thread.as_deref())
        .bind(strip_invisible(&delivery.title))
        .bind(strip_invisible(&delivery.body))
        .bind(delivery.text.as_deref())
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
    run: Option<&RunId>,
    delivery: &NewDelivery,
) -> Result<(), StoreError> {
    if tx.exists(sqlx::query(EXISTS).bind(delivery.id.as_str())).await? {
        return Ok(());
    }
    enqueue(tx, run, delivery).await
}
