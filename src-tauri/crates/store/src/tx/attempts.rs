//! From queued to running: starts, attempts, backoff, and requeueing after an interruption.
//!
//! A run in backoff is still `running`, and the row holds the failure of the last attempt. So a restart knows that the run
//! was not interrupted, the failure to report if no retry may begin, and the instant of the next attempt. The usage
//! of the attempt is added with the backoff, so each attempt counts once, however the run ends. Beginning an attempt clears
//! the backoff in the statement that counts the attempt.
//! Pitfall: beginning first and counting then; a run would get an extra attempt for each crash in between.

use std::collections::HashMap;

use rouse_core::event::EventKind;
use rouse_core::run::WaitsFor;
use rouse_core::{JobId, Outcome, Run, RunId, RunState, UnixMs};

use crate::sql::{
    Batch, Durability, FromColumns, Query, RowReader, Store, StoreError, at_least, bind_usage,
    in_json_list, json_list, unindexed,
};
use crate::tables::event_data::{run_event, run_state_event, started_event};
use crate::tables::jobs::add_last_run_at;
use crate::tables::runs::{add_usage, run_columns};
use crate::tables::steps::mark_steps_unknown;

/// The wait of a run between two attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct Backoff {
    /// The run.
    pub run_id: RunId,
    /// The end of the last attempt: a transient error, or no available model.
    pub failure: Outcome,
    /// The length of the wait.
    pub wait_ms: i64,
    /// When the next attempt is due.
    pub next_attempt_at: UnixMs,
    /// The awaited resource; none for the backoff of a failed attempt.
    pub waits_for: Option<WaitsFor>,
    /// The working time of the attempt.
    pub worked_ms: i64,
}

// The `+` keeps SQLite from scanning all queued runs instead of looking these up.
pub(crate) const START: &str = concat!(
    "UPDATE runs SET state = 'running', started_at = coalesce(started_at, $1), attempt = ",
    at_least!("attempt", "1"),
    " WHERE id ",
    in_json_list!("$2"),
    " AND ",
    unindexed!("state"),
    " = 'queued' RETURNING id, job_id"
);
const REQUEUE: &str = concat!(
    "UPDATE runs SET state = 'queued', attempt = attempt + 1, worked_ms = 0 WHERE id = $1 AND state = 'running' RETURNING ",
    run_columns!()
);
const SAVE_BACKOFF: &str = concat!(
    "UPDATE runs SET error = $6, summary = $7, error_for_log = $8, model = coalesce($9, model),
        fell_back = coalesce($10, fell_back), backoff_ms = $11, next_attempt_at = $12, reason = $13,
        waits_for = $14, worked_ms = $15,
        model_wait_ms = model_wait_ms + CASE WHEN $14 = 'model' THEN $11 ELSE 0 END, ",
    add_usage!("$2", "$3", "$4", "$5"),
    " WHERE id = $1 AND state = 'running' RETURNING ",
    run_columns!()
);
pub(crate) const GET_BACKOFF: &str =
    "SELECT id, error, reason, summary, error_for_log, model, fell_back, backoff_ms,
        next_attempt_at, waits_for, worked_ms
    FROM runs WHERE id = $1 AND state = 'running' AND next_attempt_at IS NOT NULL";
const BEGIN_ATTEMPT: &str = concat!(
    "UPDATE runs SET attempt = $2, error = NULL, reason = NULL, summary = NULL, error_for_log = NULL, backoff_ms = NULL,
        next_attempt_at = NULL, worked_ms = CASE WHEN waits_for IS NULL THEN 0 ELSE worked_ms END, waits_for = NULL
     WHERE id = $1 AND finished_at IS NULL RETURNING ",
    run_columns!()
);

impl FromColumns<'_> for Backoff {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        let (run_id, error, reason) = row.read::<(_, Option<String>, Option<String>)>()?;
        let is_skipped = error.is_none() && reason.is_some();
        let state = if is_skipped { RunState::Skipped } else { RunState::Failed };
        let mut failure = Outcome {
            error,
            reason,
            summary: row.read()?,
            error_for_log: row.read()?,
            model: row.read()?,
            fallback_reason: row.read()?,
            is_transient: true,
            ..Outcome::of(state)
        };
        let (wait_ms, next_attempt_at, waits_for) = row.read()?;
        failure.waits_for = waits_for;
        let worked_ms = row.read()?;
        Ok(Self { run_id, failure, wait_ms, next_attempt_at, waits_for, worked_ms })
    }
}

impl Store {
    /// Starts queued runs with attempt 1; returns the started runs in the given order. Events `run` and `cron`
    /// `started`.
    pub async fn start_runs(&self, ids: &[RunId], now: UnixMs) -> Result<Vec<RunId>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.begin("start the runs", Durability::Normal, now).await?;
        let query = sqlx::query(START).bind(now.0).bind(json_list(ids.iter().map(RunId::as_str)));
        let started: Vec<(RunId, Option<JobId>)> = tx.fetch_all(query).await?;
        let started: HashMap<RunId, Option<JobId>> = started.into_iter().collect();
        let mut batch = Batch::default();
        add_last_run_at(&mut batch, started.values().flatten(), now);
        tx.execute_batch(batch).await?;
        let in_order: Vec<RunId> =
            ids.iter().filter(|id| started.contains_key(id)).cloned().collect();
        for id in &in_order {
            let job_id = started.get(id).and_then(Option::as_ref);
            tx.emit(EventKind::Run, run_state_event(id, job_id, RunState::Running));
            if let Some(job_id) = job_id {
                tx.emit(EventKind::Cron, started_event(id, job_id));
            }
        }
        tx.commit().await?;
        Ok(in_order)
    }

    /// Requeues an interrupted run for another attempt and marks unfinished steps as unknown; none if not running.
    /// Event `run`.
    pub async fn requeue_run(&self, id: &RunId, now: UnixMs) -> Result<Option<Run>, StoreError> {
        let mut tx = self.begin("requeue the run", Durability::Full, now).await?;
        mark_steps_unknown(&mut tx, id).await?;
        let run: Option<Run> = tx.fetch_optional(sqlx::query(REQUEUE).bind(id.as_str())).await?;
        let Some(run) = run else {
            tx.roll_back().await?;
            return Ok(None);
        };
        tx.emit(EventKind::Run, run_event(&run));
        tx.commit().await?;
        Ok(Some(run))
    }

    /// Saves the backoff of a running run with the usage of the attempt; ignores other runs. Event `run`.
    pub async fn save_backoff(&self, backoff: &Backoff, now: UnixMs) -> Result<(), StoreError> {
        let failure = &backoff.failure;
        let query = sqlx::query(SAVE_BACKOFF).bind(backoff.run_id.as_str());
        let query = bind_usage(query, failure.usage)
            .bind(failure.error.as_deref())
            .bind(failure.summary.as_deref())
            .bind(failure.error_for_log.as_deref())
            .bind(failure.model.as_deref())
            .bind(failure.fallback_reason.as_deref())
            .bind(backoff.wait_ms)
            .bind(backoff.next_attempt_at.0)
            .bind(failure.reason.as_deref())
            .bind(backoff.waits_for.map(WaitsFor::name))
            .bind(backoff.worked_ms);
        self.update_run("save the backoff", query, now).await
    }

    /// The backoff of a run, if any.
    pub async fn backoff(&self, id: &RunId) -> Result<Option<Backoff>, StoreError> {
        let query = sqlx::query(GET_BACKOFF).bind(id.as_str());
        self.fetch_optional("read the backoff", query).await
    }

    /// Writes the number of the attempt that begins, unless the run has ended. Event `run`.
    pub async fn begin_attempt(
        &self,
        id: &RunId,
        attempt: u32,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(BEGIN_ATTEMPT).bind(id.as_str()).bind(attempt);
        self.update_run("begin another attempt", query, now).await
    }

    /// Executes an update that returns a run; writes nothing without a row.
    async fn update_run(
        &self,
        action: &'static str,
        query: Query,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin(action, Durability::Normal, now).await?;
        let run: Option<Run> = tx.fetch_optional(query).await?;
        let Some(run) = run else { return tx.roll_back().await };
        tx.emit(EventKind::Run, run_event(&run));
        tx.commit().await
    }
}
