//! The table `outbox`: deliveries, from the moment something is to be told until its fate is known.
//!
//! A row is here before anything is tried and ends delivered, failed or suppressed, with the
//! reason. One that waits for the end of quiet hours is held; a digest that tells of several shares
//! its fate with each of them. A settled row never moves again, so a late answer of a channel changes nothing. Settling
//! may be lost with the power: the delivery is tried again then, under the same id, which is better
//! than never.

use rouse_core::delivery::{Channel, Delivery, DeliveryState, NewDelivery};
use rouse_core::event::EventKind;
use rouse_core::json_fields::Fields;
use rouse_core::quiet::QuietPolicy;
use rouse_core::visible::only_visible;
use rouse_core::{DeliveryId, RunId, UnixMs};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteRow;

use crate::approvals::put_off;
use crate::row::{Columns, json_list};
use crate::write::{Durability, Query, Write};
use crate::{Store, StoreError};

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
pub(crate) const NEXT: &str = "SELECT next_attempt_at FROM outbox
    WHERE state = 'pending' ORDER BY next_attempt_at LIMIT 1";
const ENQUEUE: &str = "INSERT INTO outbox
        (id, run_id, channel, recipient, title, body, state, attempts, created_at, next_attempt_at, quiet_hours)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending', 0, ?7, ?7, ?8)";
const IS_THERE: &str = "SELECT 1 FROM outbox WHERE id = ?1";
const HELD_UNTIL: &str = "SELECT held_until FROM outbox WHERE id = ?1";
const HOLD: &str = "UPDATE outbox SET state = 'held', held_until = ?2, next_attempt_at = NULL
    WHERE id = ?1 AND state IN ('pending', 'held') AND digest IS NULL
        AND (state = 'pending' OR held_until IS NOT ?2) RETURNING run_id";
pub(crate) const HELD: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM outbox WHERE state = 'held' AND digest IS NULL ORDER BY created_at, rowid"
);
const RELEASE: &str = "UPDATE outbox SET state = 'pending', held_until = NULL, next_attempt_at = ?2
    WHERE id = ?1 AND state = 'held' AND digest IS NULL RETURNING run_id";
pub(crate) const INTO_DIGEST: &str = "UPDATE outbox SET digest = ?2, state = 'held', next_attempt_at = NULL
    WHERE id IN (SELECT value FROM json_each(?1)) AND state IN ('pending', 'held') AND digest IS NULL
    RETURNING id";
pub(crate) const SETTLE_DIGESTED: &str =
    "UPDATE outbox SET state = ?2, reason = ?3, settled_at = ?4
    WHERE digest = ?1 AND state = 'held' RETURNING id, run_id";
/// A run with an open question has told nothing else yet.
pub(crate) const FORGET_QUESTIONS: &str =
    "UPDATE outbox SET state = ?2, reason = 'The question was over before it was told.', settled_at = ?3,
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
const GET: &str = concat!("SELECT ", delivery_columns!(), " FROM outbox WHERE id = ?1");
pub(crate) const OF_RUN: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM outbox WHERE run_id = ?1 ORDER BY created_at, rowid"
);

impl Store {
    /// Pending deliveries whose next attempt is not after `now`, the earliest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn due_deliveries(
        &self,
        now: UnixMs,
        limit: u32,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.list("read the outbox", sqlx::query(DUE).bind(now.0).bind(limit), read).await
    }

    /// The earliest next attempt of a pending delivery.
    ///
    /// # Errors
    /// `Read`.
    pub async fn next_delivery_at(&self) -> Result<Option<UnixMs>, StoreError> {
        self.one("read the outbox", sqlx::query(NEXT), |row| Columns::of(row).instant()).await
    }

    /// Puts a delivery into the outbox that no outcome brings along. Event `delivery`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn enqueue_delivery(
        &self,
        run: Option<&RunId>,
        delivery: &NewDelivery,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("put a delivery into the outbox", Durability::Full, now).await?;
        enqueue(&mut write, run, delivery).await?;
        write.commit().await
    }

    /// Pending → `state`, one attempt more; a settled delivery stays as it is. Event `delivery`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn settle_delivery(
        &self,
        id: &DeliveryId,
        state: DeliveryState,
        reason: Option<&str>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let query =
            sqlx::query(SETTLE).bind(id.as_str()).bind(state.name()).bind(reason).bind(now.0);
        let mut write =
            self.write("save what became of a delivery", Durability::Normal, now).await?;
        let run = write.one(query, |row| Columns::of(row).some_id(RunId::new)).await?;
        let Some(run) = run else {
            return write.undo().await;
        };
        write.event(EventKind::Delivery, event(id, run.as_ref(), state));
        settle_digested(&mut write, id, state, reason).await?;
        write.commit().await
    }

    /// Stays pending until `next_attempt_at`, one attempt more; a settled delivery stays as it is.
    /// Event `delivery`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn postpone_delivery(
        &self,
        id: &DeliveryId,
        reason: &str,
        next_attempt_at: UnixMs,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(POSTPONE).bind(id.as_str()).bind(reason).bind(next_attempt_at.0);
        self.attempted(id, DeliveryState::Pending, query, now).await
    }

    /// One delivery.
    ///
    /// # Errors
    /// `Read`.
    pub async fn delivery(&self, id: &DeliveryId) -> Result<Option<Delivery>, StoreError> {
        self.one("read the delivery", sqlx::query(GET).bind(id.as_str()), read).await
    }

    /// A run's deliveries, the oldest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn deliveries_of(&self, run: &RunId) -> Result<Vec<Delivery>, StoreError> {
        self.list("read the deliveries", sqlx::query(OF_RUN).bind(run.as_str()), read).await
    }

    /// Pending or held → held until the quiet hours end; one that is in a digest already stays as
    /// it is. The time for the answers of its run begins with the end of the quiet hours: nobody is told before. Events
    /// `delivery`, `approval`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn hold_delivery(
        &self,
        id: &DeliveryId,
        until: UnixMs,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("hold a delivery", Durability::Full, now).await?;
        let before = held_until(&mut write, id).await?;
        let query = sqlx::query(HOLD).bind(id.as_str()).bind(until.0);
        let run = write.one(query, |row| Columns::of(row).some_id(RunId::new)).await?;
        let Some(run) = run else {
            return write.undo().await;
        };
        write.event(EventKind::Delivery, event(id, run.as_ref(), DeliveryState::Held));
        if let Some(run) = &run {
            put_off(&mut write, run, before, until).await?;
        }
        write.commit().await
    }

    /// Deliveries that wait for the end of quiet hours, the oldest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn held_deliveries(&self) -> Result<Vec<Delivery>, StoreError> {
        self.list("read what is held", sqlx::query(HELD), read).await
    }

    /// Held → pending, to be told by itself now. Where that is before the quiet hours were to end, the time for the answers
    /// of its run begins now. Events `delivery`, `approval`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn release_delivery(&self, id: &DeliveryId, now: UnixMs) -> Result<(), StoreError> {
        let mut write = self.write("let go of a delivery", Durability::Full, now).await?;
        let until = held_until(&mut write, id).await?;
        let query = sqlx::query(RELEASE).bind(id.as_str()).bind(now.0);
        let run = write.one(query, |row| Columns::of(row).some_id(RunId::new)).await?;
        let Some(run) = run else {
            return write.undo().await;
        };
        write.event(EventKind::Delivery, event(id, run.as_ref(), DeliveryState::Pending));
        if let (Some(run), Some(until)) = (&run, until.filter(|until| *until > now)) {
            put_off(&mut write, run, Some(until), now).await?;
        }
        write.commit().await
    }

    /// Puts a digest into the outbox that tells of `untold` ones in their place, which are held until it is told. From
    /// then on their fate is the digest's. Nothing is written when none of them is pending or held any more. Event
    /// `delivery`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn digest_deliveries(
        &self,
        untold: &[DeliveryId],
        digest: &NewDelivery,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("put a digest into the outbox", Durability::Full, now).await?;
        let query = sqlx::query(INTO_DIGEST)
            .bind(json_list(untold.iter().map(DeliveryId::as_str)))
            .bind(digest.id.as_str());
        if write.list(query, |row| Columns::of(row).id(DeliveryId::new)).await?.is_empty() {
            return write.undo().await;
        }
        enqueue(&mut write, None, digest).await?;
        write.commit().await
    }

    async fn attempted(
        &self,
        id: &DeliveryId,
        state: DeliveryState,
        query: Query,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write =
            self.write("save what became of a delivery", Durability::Normal, now).await?;
        let run = write.one(query, |row| Columns::of(row).some_id(RunId::new)).await?;
        let Some(run) = run else {
            return write.undo().await;
        };
        write.event(EventKind::Delivery, event(id, run.as_ref(), state));
        write.commit().await
    }
}

/// Until when it is held, as part of a write.
async fn held_until(write: &mut Write, id: &DeliveryId) -> Result<Option<UnixMs>, StoreError> {
    let query = sqlx::query(HELD_UNTIL).bind(id.as_str());
    let until = write.one(query, |row| Columns::of(row).some_instant()).await?;
    Ok(until.flatten())
}

/// Gives what a digest told of the fate of the digest, as part of a write.
async fn settle_digested(
    write: &mut Write,
    digest: &DeliveryId,
    state: DeliveryState,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    let reason = reason.unwrap_or("Told in one notification with others.");
    let query = sqlx::query(SETTLE_DIGESTED)
        .bind(digest.as_str())
        .bind(state.name())
        .bind(reason)
        .bind(write.now().0);
    let told = write
        .list(query, |row| {
            let mut columns = Columns::of(row);
            Ok((columns.id(DeliveryId::new)?, columns.some_id(RunId::new)?))
        })
        .await?;
    for (id, run) in told {
        write.event(EventKind::Delivery, event(&id, run.as_ref(), state));
    }
    Ok(())
}

/// Settles what was still to be told of a run's questions, as part of the write that ends the last of them: it would ask
/// for an answer that nobody can give any more.
pub(crate) async fn forget_questions(write: &mut Write, run: &RunId) -> Result<(), StoreError> {
    let query = sqlx::query(FORGET_QUESTIONS)
        .bind(run.as_str())
        .bind(DeliveryState::Suppressed.name())
        .bind(write.now().0);
    for id in write.list(query, |row| Columns::of(row).id(DeliveryId::new)).await? {
        write.event(EventKind::Delivery, event(&id, Some(run), DeliveryState::Suppressed));
    }
    Ok(())
}

/// Puts a delivery into the outbox as part of a write.
pub(crate) async fn enqueue(
    write: &mut Write,
    run: Option<&RunId>,
    delivery: &NewDelivery,
) -> Result<(), StoreError> {
    let query = sqlx::query(ENQUEUE)
        .bind(delivery.id.as_str())
        .bind(run.map(RunId::as_str))
        .bind(delivery.channel.name())
        .bind(delivery.to.as_deref())
        .bind(only_visible(&delivery.title))
        .bind(only_visible(&delivery.body))
        .bind(write.now().0)
        .bind(delivery.quiet_hours.to_json().map(|rule| rule.to_string()));
    write.run(query).await?;
    write.event(EventKind::Delivery, event(&delivery.id, run, DeliveryState::Pending));
    Ok(())
}

/// The same for one that is told once ever; the outbox knows it by its id.
pub(crate) async fn enqueue_once(
    write: &mut Write,
    run: Option<&RunId>,
    delivery: &NewDelivery,
) -> Result<(), StoreError> {
    let query = sqlx::query(IS_THERE).bind(delivery.id.as_str());
    match write.one(query, |row| Columns::of(row).get::<bool>()).await? {
        Some(_) => Ok(()),
        None => enqueue(write, run, delivery).await,
    }
}

/// A rule that this version cannot read is the default: the delivery itself must not be lost over it.
fn quiet_rule(rule: Option<Value>) -> QuietPolicy {
    let mut complaints = Vec::new();
    let document = json!({ "quietHours": rule });
    QuietPolicy::read(&mut Fields::new("", document, &mut complaints), "quietHours", None)
}

fn event(id: &DeliveryId, run: Option<&RunId>, state: DeliveryState) -> Value {
    let mut data = json!({ "deliveryId": id.as_str(), "state": state.name() });
    if let Some(run) = run {
        data["runId"] = run.as_str().into();
    }
    data
}

fn read(row: &SqliteRow) -> sqlx::Result<Delivery> {
    let mut columns = Columns::of(row);
    Ok(Delivery {
        id: columns.id(DeliveryId::new)?,
        run_id: columns.some_id(RunId::new)?,
        channel: columns.id(|name| Channel::from_name(&name))?,
        to: columns.get()?,
        title: columns.get()?,
        body: columns.get()?,
        state: columns.word(DeliveryState::from_name)?,
        attempts: columns.count()?,
        reason: columns.get()?,
        created_at: columns.instant()?,
        next_attempt_at: columns.some_instant()?,
        settled_at: columns.some_instant()?,
        quiet_hours: quiet_rule(columns.some_json()?),
        held_until: columns.some_instant()?,
        digest: columns.some_id(DeliveryId::new)?,
    })
}
