//! The attempts of a run: the wait for the next one, and its beginning.
//!
//! A run that waits is still `running`, and its row holds what its last attempt failed of. Whoever starts after the end of
//! the process so knows that nothing was cut off, what to tell when no further attempt may begin, and when the next one is
//! due. What the attempt has cost is added with the wait, so it is counted once, whoever ends the run. The beginning of an
//! attempt forgets all of that in the same statement as it counts it. One could get it wrong by beginning first and
//! counting then: a run would make one attempt more each time that its process ends in between.

use rouse_core::event::EventKind;
use rouse_core::run::WaitsFor;
use rouse_core::{Outcome, Run, RunId, RunState, UnixMs};
use sqlx::sqlite::SqliteRow;

use crate::row::{Columns, bind_usage};
use crate::run_events::run_event;
use crate::runs::{read_run, run_columns, with_usage};
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// A run between two attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct Backoff {
    /// The run.
    pub run_id: RunId,
    /// How its last attempt ended: it failed, or found no model at work, and another one may go better.
    pub failure: Outcome,
    /// How long it waits.
    pub for_ms: i64,
    /// When its next attempt is due.
    pub until: UnixMs,
    /// What it waits for; none for the backoff of a failed attempt.
    pub waits_for: Option<WaitsFor>,
    /// How long its attempt has worked, in milliseconds.
    pub worked_ms: i64,
}

const BACK_OFF: &str = concat!(
    "UPDATE runs SET error = ?6, summary = ?7, error_for_log = ?8, model = coalesce(?9, model),
        fell_back = coalesce(?10, fell_back), backoff_ms = ?11, next_attempt_at = ?12, reason = ?13,
        waits_for = ?14, worked_ms = ?15,
        model_wait_ms = model_wait_ms + CASE WHEN ?14 = 'model' THEN ?11 ELSE 0 END, ",
    with_usage!("?2", "?3", "?4", "?5"),
    " WHERE id = ?1 AND state = 'running' RETURNING ",
    run_columns!()
);
pub(crate) const GET: &str =
    "SELECT error, reason, summary, error_for_log, model, fell_back, backoff_ms, next_attempt_at, waits_for, worked_ms
    FROM runs WHERE id = ?1 AND state = 'running' AND next_attempt_at IS NOT NULL";
const SET_ATTEMPT: &str = concat!(
    "UPDATE runs SET attempt = ?2, error = NULL, reason = NULL, summary = NULL, error_for_log = NULL, backoff_ms = NULL,
        next_attempt_at = NULL, worked_ms = CASE WHEN waits_for IS NULL THEN 0 ELSE worked_ms END, waits_for = NULL
     WHERE id = ?1 AND finished_at IS NULL RETURNING ",
    run_columns!()
);

impl Store {
    /// Writes that an attempt has failed and when the next one is due, with what the failed one has cost; nothing when
    /// the run is not at work any more. Event `run`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn back_off(&self, backoff: &Backoff, now: UnixMs) -> Result<(), StoreError> {
        let mut write = self.write("save a failed attempt", Durability::Normal, now).await?;
        let failure = &backoff.failure;
        let query = bind_usage(sqlx::query(BACK_OFF).bind(backoff.run_id.as_str()), failure.usage)
            .bind(failure.error.as_deref())
            .bind(failure.summary.as_deref())
            .bind(failure.error_for_log.as_deref())
            .bind(failure.model.as_deref())
            .bind(failure.fell_back.as_deref())
            .bind(backoff.for_ms)
            .bind(backoff.until.0)
            .bind(failure.reason.as_deref())
            .bind(backoff.waits_for.map(WaitsFor::name))
            .bind(backoff.worked_ms);
        let run = write.one(query, read_run).await?;
        tell(write, run).await
    }

    /// The wait of a run between two attempts; none for any other. What its attempts have cost stands in the run's row.
    ///
    /// # Errors
    /// `Read`.
    pub async fn backoff(&self, id: &RunId) -> Result<Option<Backoff>, StoreError> {
        let query = sqlx::query(GET).bind(id.as_str());
        self.one("read a failed attempt", query, |row| read(id, row)).await
    }

    /// Writes the number of the attempt that begins; nothing when the run is over. Event `run`.
    ///
    /// # Errors
    /// `Write`.
    pub async fn set_attempt(
        &self,
        id: &RunId,
        attempt: u32,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("begin another attempt", Durability::Normal, now).await?;
        let query = sqlx::query(SET_ATTEMPT).bind(id.as_str()).bind(attempt);
        let run = write.one(query, read_run).await?;
        tell(write, run).await
    }
}

/// Commits with the event of a run that was changed; nothing when there is none.
async fn tell(mut write: Write, run: Option<Run>) -> Result<(), StoreError> {
    let Some(run) = run else { return write.undo().await };
    write.event(EventKind::Run, run_event(&run));
    write.commit().await
}

fn read(id: &RunId, row: &SqliteRow) -> sqlx::Result<Backoff> {
    let mut columns = Columns::of(row);
    let (error, reason): (Option<String>, Option<String>) = (columns.get()?, columns.get()?);
    let state =
        if error.is_none() && reason.is_some() { RunState::Skipped } else { RunState::Failed };
    let failure = Outcome {
        error,
        reason,
        summary: columns.get()?,
        error_for_log: columns.get()?,
        model: columns.get()?,
        fell_back: columns.get()?,
        may_pass: true,
        ..Outcome::of(state)
    };
    let (for_ms, until) = (columns.get()?, columns.instant()?);
    let waits_for = columns.some_word(WaitsFor::from_name)?;
    let failure = Outcome { waits_for, ..failure };
    Ok(Backoff { run_id: id.clone(), failure, for_ms, until, waits_for, worked_ms: columns.get()? })
}
