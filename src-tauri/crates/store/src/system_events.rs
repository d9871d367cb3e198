//! The table `system_events`: lines that wait for the main session.
//!
//! A line waits until a main turn that has seen it is stored; only then it leaves the queue, with
//! the run that took it. It never expires here, and a heartbeat that is off does not lose it.

use rouse_core::event::EventKind;
use rouse_core::{DeliveryId, JobId, RunId, UnixMs};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteRow;

use crate::causes::{Fired, insert_fired};
use crate::row::Columns;
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// A line queued for the main session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemEvent {
    /// Its number.
    pub id: i64,
    /// The line.
    pub text: String,
    /// Where it came from, such as `cron:<jobId>`, `reminder:<jobId>` or `wake`.
    pub source: String,
    /// When it was queued.
    pub queued_at: UnixMs,
    /// Whether somebody else than the person may have written it: all but wakes and the person's own reminders.
    pub from_outside: bool,
}

/// The source of a line that the person has written.
pub const WAKE: &str = "wake";
/// What the source of a reminder begins with that the person has worded; its job follows. The line is theirs for good,
/// whatever becomes of the job or of the run.
pub(crate) const REMINDER: &str = "reminder:";
/// The source of a line that a program has sent.
pub const HOOK: &str = "hook";

/// A reminder that waits for the main session, and that nothing has told yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntoldReminder {
    /// What tells it by itself; always the same for the same line.
    pub key: DeliveryId,
    /// The run that queued it.
    pub run_id: RunId,
    /// Its job, which may be gone.
    pub job_id: JobId,
    /// The job's name then.
    pub job_name: String,
    /// The line.
    pub text: String,
}

const QUEUE: &str = "INSERT INTO system_events (text, source, queued_at) VALUES (?1, ?2, ?3)";
/// The note of a run that says which lines it was shown, as `ids`.
pub const QUEUED_LINES: &str = "Queued lines";

/// The lines that a turn was shown which waits for a person, or for its place after the answer.
macro_rules! of_parked_turns {
    () => {
        "SELECT shown.value FROM runs JOIN run_steps ON run_steps.run_id = runs.id,
            json_each(run_steps.input, '$.ids') AS shown
        WHERE runs.state IN ('awaitingApproval', 'queued') AND runs.job_id IS NULL
            AND run_steps.kind = 'note' AND run_steps.name = 'Queued lines'"
    };
}

pub(crate) const PENDING: &str = concat!(
    "SELECT id, text, source, queued_at, source <> 'wake' AND source NOT LIKE 'reminder:%'
    FROM system_events
    WHERE drained_at IS NULL AND id NOT IN (",
    of_parked_turns!(),
    ") ORDER BY id LIMIT ?1"
);
pub(crate) const COUNT_PENDING: &str = concat!(
    "SELECT count(*) FROM system_events WHERE drained_at IS NULL AND id NOT IN (",
    of_parked_turns!(),
    ")"
);
/// Reminders that nothing has told. A line is queued together with the end of its run, at the same instant. What an agent's
/// run has told of itself is no reminder: a model was asked, or a tool was called. The payload alone does not tell, for it is
/// as it was when the run began to wait, and its job may have been made an agent's since.
macro_rules! untold {
    ($which:expr) => {
        concat!(
            "SELECT 'line-' || line.id || '-' || line.queued_at, runs.id, runs.job_id, runs.job_name, line.text
    FROM system_events AS line JOIN runs
        ON runs.job_id = substr(line.source, instr(line.source, ':') + 1)
            AND runs.finished_at = line.queued_at
    WHERE (line.source LIKE 'reminder:%' OR line.source LIKE 'cron:%')
        AND runs.created_at <= line.queued_at
        AND runs.payload ->> '$.kind' = 'systemEvent' AND runs.model IS NULL
        AND NOT EXISTS (SELECT 1 FROM run_steps WHERE run_steps.run_id = runs.id)
        AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.run_id = runs.id)
        AND ",
            $which,
            " ORDER BY line.id"
        )
    };
}

pub(crate) const UNTOLD: &str = untold!(concat!(
    "line.drained_at IS NULL AND line.queued_at <= ?1 AND line.id NOT IN (",
    of_parked_turns!(),
    ")"
));
pub(crate) const UNTOLD_BY: &str = untold!(
    "line.id IN (SELECT shown.value FROM run_steps, json_each(run_steps.input, '$.ids') AS shown
        WHERE run_steps.run_id = ?1 AND run_steps.kind = 'note' AND run_steps.name = 'Queued lines')"
);
pub(crate) const UNTOLD_AND_DRAINED: &str = untold!("line.drained_by = ?1");
pub(crate) const COUNT: &str = "SELECT count(*) FROM system_events WHERE drained_at IS NULL";
pub(crate) const MAIN_TURN_BEGUN: &str = "SELECT started_at FROM runs
    WHERE job_id IS NULL AND trigger IN ('heartbeat', 'chat') AND +state IN ('succeeded', 'nothingToReport')
    ORDER BY created_at DESC, seq DESC LIMIT 1";
const DRAIN: &str = "UPDATE system_events SET drained_at = ?1, drained_by = ?2
    WHERE drained_at IS NULL AND id IN (SELECT value FROM json_each(?3))";

impl Store {
    /// Queues a line for the main session, with what it fires; answers its id. Event `heartbeat` with `queued`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn queue_system_event(
        &self,
        text: &str,
        source: &str,
        fired: &[Fired],
        now: UnixMs,
    ) -> Result<i64, StoreError> {
        let mut write = self.write("queue the system event", Durability::Full, now).await?;
        let id = queue(&mut write, text, source).await?;
        insert_fired(&mut write, fired).await?;
        write.commit().await?;
        Ok(id)
    }

    /// The oldest `most` lines that no main turn has dealt with, in their order. Those that a turn was shown which waits
    /// for a person, or for its place after the answer, are that turn's.
    ///
    /// # Errors
    /// `Read`.
    pub async fn pending_system_events(&self, most: u32) -> Result<Vec<SystemEvent>, StoreError> {
        self.list("read the system events", sqlx::query(PENDING).bind(most), read).await
    }

    /// When the last turn of the main session began that has done its work.
    ///
    /// # Errors
    /// `Read`.
    pub async fn last_main_turn_begun_at(&self) -> Result<Option<UnixMs>, StoreError> {
        let query = sqlx::query(MAIN_TURN_BEGUN);
        let begun = self.one("read the last turn of the main session", query, |row| {
            Columns::of(row).some_instant()
        });
        Ok(begun.await?.flatten())
    }

    /// How many lines that are; a year of reminders that no model has taken up is many.
    ///
    /// # Errors
    /// `Read`.
    pub async fn count_pending_system_events(&self) -> Result<u32, StoreError> {
        let query = sqlx::query(COUNT_PENDING);
        let count = self.one("count the system events", query, |row| Columns::of(row).count());
        Ok(count.await?.unwrap_or_default())
    }

    /// Takes the lines with these ids, which `run` has dealt with, out of the queue. Event `heartbeat` with `queued`, the
    /// number of those still waiting.
    ///
    /// # Errors
    /// `Write`: nothing was taken.
    pub async fn drain_system_events(
        &self,
        run: &RunId,
        ids: &[i64],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("take lines out of the queue", Durability::Normal, now).await?;
        let query = sqlx::query(DRAIN).bind(now.0).bind(run.as_str()).bind(json!(ids).to_string());
        write.run(query).await?;
        let event = queued_event(&mut write).await?;
        write.event(EventKind::Heartbeat, event);
        write.commit().await
    }
}

impl Store {
    /// Reminders that were queued by `until`, that no main turn has dealt with and no notification has told, the oldest
    /// first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn untold_reminders(&self, until: UnixMs) -> Result<Vec<UntoldReminder>, StoreError> {
        let query = sqlx::query(UNTOLD).bind(until.0);
        self.list("read the untold reminders", query, read_untold).await
    }

    /// Reminders that the main turn `run` was shown and that no notification has told, the oldest first.
    ///
    /// # Errors
    /// `Read`.
    pub async fn reminders_untold_by(
        &self,
        run: &RunId,
    ) -> Result<Vec<UntoldReminder>, StoreError> {
        let query = sqlx::query(UNTOLD_BY).bind(run.as_str());
        self.list("read the untold reminders", query, read_untold).await
    }

    /// Reminders that left the queue with an answer of the main turn `run` and that no notification has told.
    ///
    /// # Errors
    /// `Read`.
    pub async fn reminders_drained_by(
        &self,
        run: &RunId,
    ) -> Result<Vec<UntoldReminder>, StoreError> {
        let query = sqlx::query(UNTOLD_AND_DRAINED).bind(run.as_str());
        self.list("read the untold reminders", query, read_untold).await
    }
}

/// Queues a line as part of a write.
pub(crate) async fn queue(write: &mut Write, text: &str, source: &str) -> Result<i64, StoreError> {
    let query = sqlx::query(QUEUE).bind(text).bind(source).bind(write.now().0);
    let id = write.run(query).await?.last_insert_rowid();
    let event = queued_event(write).await?;
    write.event(EventKind::Heartbeat, event);
    Ok(id)
}

/// The data of a `heartbeat` event: how many lines wait.
pub(crate) async fn queued_event(write: &mut Write) -> Result<Value, StoreError> {
    let queued = write.one(sqlx::query(COUNT), |row| Columns::of(row).count()).await?;
    Ok(json!({ "queued": queued.unwrap_or(0) }))
}

fn read(row: &SqliteRow) -> sqlx::Result<SystemEvent> {
    let mut columns = Columns::of(row);
    Ok(SystemEvent {
        id: columns.get()?,
        text: columns.get()?,
        source: columns.get()?,
        queued_at: columns.instant()?,
        from_outside: columns.get()?,
    })
}

fn read_untold(row: &SqliteRow) -> sqlx::Result<UntoldReminder> {
    let mut columns = Columns::of(row);
    Ok(UntoldReminder {
        key: columns.id(DeliveryId::new)?,
        run_id: columns.id(RunId::new)?,
        job_id: columns.id(JobId::new)?,
        job_name: columns.get()?,
        text: columns.get()?,
    })
}
