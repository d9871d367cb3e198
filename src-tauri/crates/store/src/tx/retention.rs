//! Retention: pruning of old runs with their steps, files, deliveries and messages, and of settled rows of the queues.
//!
//! Owns the steps, each a short transaction, so that a claim never waits for two. Never decides limits or pace.
//! Rows to prune are looked up on a reader first; final rows cannot change before the deletion. A pruned
//! slot never fires again (`pruned_slots`). Rows of slots that did not run are *idle* and have a limit of their own, or a
//! weekend's pause would displace the history of the job.
//! Pitfall: pruning a run that is still needed (an open delivery, the result for the next comparison), or
//! scanning a whole table while the writer is locked.

use rouse_core::{JobId, RunId, SessionKey, UnixMs};
use serde_json::json;

use crate::sql::{
    Durability, Query, Store, StoreError, Transaction, from_columns, in_json_list, json_list,
    row_id, unindexed,
};
use crate::tables::pruned_slots::{SlotSpan, add_pruned_slots};
use crate::tables::steps::counts_towards_rate_limit;
use crate::tables::summaries::is_summary;

/// Runs per step.
const RUNS_PER_STEP: u32 = 50;
/// Runs per step when the size is checked after each: runs may be large, and no more than needed are pruned.
const RUNS_PER_SIZE_STEP: u32 = 10;
/// Idle rows per job.
const MAX_IDLE_RUNS: u32 = 200;
/// Messages or queue rows per step.
const ROWS_PER_STEP: u32 = 200;
/// Settled queue rows without a run that are kept for diagnosis.
const KEPT_SETTLED_ROWS: u32 = 1_000;
/// Sessions of jobs. The main session is never pruned.
const JOB_SESSIONS: &str = "cron:";

/// A run to prune.
struct PrunableRun {
    seq: i64,
    id: RunId,
    job_id: Option<JobId>,
    slot_at: Option<i64>,
    counted_from: Option<i64>,
    session: Option<SessionKey>,
}

/// Whether a run may be pruned. Kept are slots in the future (after a clock rollback only the row shows that the slot has
/// fired), and runs whose calls count towards a rate limit (`Store::tool_calls_since`).
macro_rules! is_prunable {
    () => {
        concat!(
            "finished_at IS NOT NULL AND (slot_at IS NULL OR slot_at <= $1)
             AND NOT EXISTS (SELECT 1 FROM outbox WHERE run_id = runs.id AND settled_at IS NULL)
             AND NOT EXISTS (SELECT 1 FROM run_steps WHERE run_id = runs.id AND started_at > $1 - 3600000 AND ",
            counts_towards_rate_limit!(),
            ")"
        )
    };
}

/// Whether a row says only why a slot or a queued run was not executed. The `+` leaves the choice of the index to the job.
macro_rules! is_idle {
    ($runs:literal) => {
        concat!(
            "(+",
            $runs,
            ".state IN ('skipped', 'missed') OR (+",
            $runs,
            ".state = 'cancelled' AND ",
            $runs,
            ".started_at IS NULL))"
        )
    };
}

// All rows are counted in an index; only idle rows are read.
pub(crate) const JOBS_OVER_LIMIT: &str = "SELECT counts.job_id
    FROM (SELECT job_id, count(*) AS total FROM runs GROUP BY job_id HAVING count(*) > $2) AS counts
    LEFT JOIN (SELECT job_id, count(*) AS idle FROM runs WHERE state IN ('skipped', 'missed', 'cancelled')
                   AND (state <> 'cancelled' OR started_at IS NULL) GROUP BY job_id) AS idle_runs
        ON idle_runs.job_id IS NOT DISTINCT FROM counts.job_id
    WHERE total - coalesce(idle, 0) > $1 OR idle > $2";
pub(crate) const OLDEST_IDLE_OF_JOB: &str = concat!(
    "SELECT seq, id, job_id, slot_at, counted_from, session FROM runs WHERE ",
    is_prunable!(),
    " AND job_id IS NOT DISTINCT FROM $2 AND ",
    is_idle!("runs"),
    " AND seq <= (SELECT seq FROM runs WHERE job_id IS NOT DISTINCT FROM $2 AND ",
    is_idle!("runs"),
    " ORDER BY seq DESC LIMIT 1 OFFSET $3) ORDER BY seq LIMIT $4"
);
pub(crate) const OLDEST_OF_JOB: &str = concat!(
    "SELECT seq, id, job_id, slot_at, counted_from, session FROM runs WHERE ",
    is_prunable!(),
    " AND job_id IS NOT DISTINCT FROM $2 AND NOT ",
    is_idle!("runs"),
    " AND seq <= (SELECT seq FROM runs WHERE job_id IS NOT DISTINCT FROM $2 AND NOT ",
    is_idle!("runs"),
    " ORDER BY seq DESC LIMIT 1 OFFSET $3)
      AND seq IS DISTINCT FROM (SELECT seq FROM runs WHERE job_id IS NOT DISTINCT FROM $2 AND ",
    unindexed!("state"),
    " = 'succeeded' AND result IS NOT NULL
                      ORDER BY created_at DESC, seq DESC LIMIT 1)
      ORDER BY seq LIMIT $4"
);
// Neither the newest row of an existing job nor the newest executed run.
const OLDEST: &str = concat!(
    "SELECT seq, id, job_id, slot_at, counted_from, session FROM runs WHERE ",
    is_prunable!(),
    " AND (EXISTS (SELECT 1 FROM runs AS newer WHERE newer.job_id IS NOT DISTINCT FROM runs.job_id AND newer.seq > runs.seq
                   AND (",
    is_idle!("runs"),
    " OR NOT ",
    is_idle!("newer"),
    "))
           OR NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = runs.job_id))
      ORDER BY seq LIMIT $2"
);
const DELETE_STEPS: &str = concat!("DELETE FROM run_steps WHERE run_id ", in_json_list!("$1"));
const DELETE_ATTACHMENTS: &str =
    concat!("DELETE FROM call_attachments WHERE run_id ", in_json_list!("$1"));
const DELETE_DELIVERIES_OF_RUNS: &str =
    concat!("DELETE FROM outbox WHERE run_id ", in_json_list!("$1"), " AND settled_at IS NOT NULL");
const DELETE_RUNS: &str = concat!("DELETE FROM runs WHERE seq ", in_json_list!("$1"));
const DELETE_MESSAGES_OF_RUNS: &str = concat!(
    "DELETE FROM messages
    WHERE session = $1 AND run_id ",
    in_json_list!("$2")
);
const DELETE_MESSAGES: &str = concat!("DELETE FROM messages WHERE id ", in_json_list!("$1"));
const REDUCE_COUNT: &str = "UPDATE sessions SET message_count = message_count - $2 WHERE key = $1";
// Summaries belong to no run, and go with the last message of their session.
const DELETE_ORPHAN_SUMMARIES: &str = concat!(
    "DELETE FROM messages WHERE session = $1 AND NOT EXISTS
        (SELECT 1 FROM messages WHERE session = $1 AND NOT ",
    is_summary!(),
    ")"
);
const DELETE_EMPTY_SESSION: &str = "DELETE FROM sessions
    WHERE key = $1 AND NOT EXISTS (SELECT 1 FROM messages WHERE session = sessions.key)";
const LONG_SESSIONS: &str =
    "SELECT key FROM sessions WHERE message_count > $1 AND key >= 'cron:' AND key < 'cron;'";
// The messages of a run stay together: a tool call without the result would be invalid. An open run needs its messages.
const OLDEST_MESSAGES: &str = "SELECT id FROM messages WHERE session = $1
    AND (run_id IS NULL OR run_id NOT IN (SELECT id FROM runs WHERE finished_at IS NULL)) AND id <
        (SELECT min(id) FROM messages WHERE session = $1 AND run_id IS NOT DISTINCT FROM
            (SELECT run_id FROM messages WHERE session = $1 ORDER BY id DESC LIMIT 1 OFFSET $2))
    ORDER BY id LIMIT $3";
const OLD_LINES: &str = "SELECT id FROM system_events
    WHERE drained_at IS NOT NULL AND id <= (SELECT max(id) FROM system_events) - $1 ORDER BY id LIMIT $2";
const DELETE_LINES: &str = concat!("DELETE FROM system_events WHERE id ", in_json_list!("$1"));
pub(crate) const OLD_DELIVERIES: &str = concat!(
    "SELECT ",
    row_id!(),
    " FROM outbox
    WHERE run_id IS NULL AND settled_at IS NOT NULL AND created_at <=
        (SELECT created_at FROM outbox WHERE run_id IS NULL ORDER BY created_at DESC LIMIT 1 OFFSET $1)
    ORDER BY created_at LIMIT $2"
);
const DELETE_DELIVERIES: &str =
    concat!("DELETE FROM outbox WHERE ", row_id!(), " ", in_json_list!("$1"));
const HISTORY_SIZE: &str = "SELECT (SELECT count(*) FROM runs), (SELECT min(created_at) FROM runs),
        (SELECT sum(message_count) FROM sessions)";
const MAIN_SESSION_BYTES: &str =
    "SELECT coalesce(sum(octet_length(message)), 0) FROM messages WHERE session = $1";

/// The size of the stored history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySize {
    /// Runs of all jobs.
    pub runs: u32,
    /// When the oldest run was created.
    pub oldest_run_at: Option<UnixMs>,
    /// Messages of all sessions.
    pub messages: u32,
}

from_columns!(PrunableRun: seq, id, job_id, slot_at, counted_from, session);

impl Store {
    /// Jobs with more than `keep` runs or too many idle rows; none stands for runs without a job.
    pub async fn jobs_over_limit(&self, keep: u32) -> Result<Vec<Option<JobId>>, StoreError> {
        let query = sqlx::query(JOBS_OVER_LIMIT).bind(keep).bind(keep.min(MAX_IDLE_RUNS));
        self.fetch_all("count the runs", query).await
    }

    /// Prunes some of the oldest runs of a job (or of no job) beyond the newest `keep`, excess idle rows first, with steps,
    /// deliveries and messages. Keeps the result for the next comparison. Returns whether there may be more.
    pub async fn prune_runs_of(
        &self,
        job: Option<&JobId>,
        keep: u32,
        now: UnixMs,
    ) -> Result<bool, StoreError> {
        let beyond = |sql: &'static str, keep: u32| {
            let job = job.map(JobId::as_str);
            sqlx::query(sql).bind(now.0).bind(job).bind(keep).bind(RUNS_PER_STEP)
        };
        let idle = beyond(OLDEST_IDLE_OF_JOB, keep.min(MAX_IDLE_RUNS));
        if self.prune_runs(idle, now).await? > 0 {
            return Ok(true);
        }
        Ok(self.prune_runs(beyond(OLDEST_OF_JOB, keep), now).await? == RUNS_PER_STEP as usize)
    }

    /// Prunes a few of the oldest runs, never the newest of a job. Returns whether there were any.
    pub async fn prune_oldest_runs(&self, now: UnixMs) -> Result<bool, StoreError> {
        let query = sqlx::query(OLDEST).bind(now.0).bind(RUNS_PER_SIZE_STEP);
        Ok(self.prune_runs(query, now).await? > 0)
    }

    async fn prune_runs(&self, query: Query, now: UnixMs) -> Result<usize, StoreError> {
        let runs: Vec<PrunableRun> = self.fetch_all("find old runs", query).await?;
        if runs.is_empty() {
            return Ok(0);
        }
        let mut tx = self.begin("delete old runs", Durability::Normal, now).await?;
        delete_runs(&mut tx, &runs).await?;
        tx.commit().await?;
        Ok(runs.len())
    }

    /// Prunes some of the oldest messages of job sessions beyond the newest `keep`. The messages of a run go together, so a
    /// session may keep a few more. Returns whether there may be more.
    pub async fn prune_messages(&self, keep: u32, now: UnixMs) -> Result<bool, StoreError> {
        let query = sqlx::query(LONG_SESSIONS).bind(keep);
        let sessions: Vec<String> = self.fetch_all("find long sessions", query).await?;
        let mut has_more = false;
        for session in sessions {
            let query = sqlx::query(OLDEST_MESSAGES)
                .bind(session.as_str())
                .bind(keep.saturating_sub(1))
                .bind(ROWS_PER_STEP);
            let ids: Vec<i64> = self.fetch_all("find old messages", query).await?;
            if ids.is_empty() {
                continue;
            }
            has_more |= ids.len() == ROWS_PER_STEP as usize;
            let mut tx = self.begin("delete old messages", Durability::Normal, now).await?;
            let deleted =
                tx.execute(sqlx::query(DELETE_MESSAGES).bind(json!(ids).to_string())).await?;
            reduce_session(&mut tx, &session, deleted).await?;
            tx.commit().await?;
        }
        Ok(has_more)
    }

    /// Prunes some settled rows without a run: drained system events and settled deliveries. Returns whether there may be
    /// more.
    pub async fn prune_settled_rows(&self, now: UnixMs) -> Result<bool, StoreError> {
        let mut has_more = false;
        for (select, delete) in [(OLD_LINES, DELETE_LINES), (OLD_DELIVERIES, DELETE_DELIVERIES)] {
            let query = sqlx::query(select).bind(KEPT_SETTLED_ROWS).bind(ROWS_PER_STEP);
            let ids: Vec<i64> = self.fetch_all("find settled rows", query).await?;
            if ids.is_empty() {
                continue;
            }
            has_more |= ids.len() == ROWS_PER_STEP as usize;
            let mut tx = self.begin("delete settled rows", Durability::Normal, now).await?;
            tx.execute(sqlx::query(delete).bind(json!(ids).to_string())).await?;
            tx.commit().await?;
        }
        Ok(has_more)
    }

    /// The size of the history; counts every run.
    pub async fn history_size(&self) -> Result<HistorySize, StoreError> {
        let (runs, oldest_run_at, messages): (_, _, Option<u32>) =
            self.fetch_or_default("measure the history", sqlx::query(HISTORY_SIZE)).await?;
        Ok(HistorySize { runs, oldest_run_at, messages: messages.unwrap_or(0) })
    }

    /// The bytes of the main session's transcript, which is never pruned. Reads the whole transcript.
    pub async fn main_session_bytes(&self) -> Result<u64, StoreError> {
        let query = sqlx::query(MAIN_SESSION_BYTES).bind(SessionKey::main().to_string());
        self.fetch_or_default("measure the main session", query).await
    }
}

async fn delete_runs(tx: &mut Transaction, runs: &[PrunableRun]) -> Result<(), StoreError> {
    let slots = runs.iter().filter_map(|run| {
        let through = run.slot_at?;
        let from = run.counted_from.unwrap_or(through);
        Some((run.job_id.as_ref()?, SlotSpan { from, through }))
    });
    add_pruned_slots(tx, slots).await?;
    let ids = json_list(runs.iter().map(|run| run.id.as_str()));
    tx.execute(sqlx::query(DELETE_STEPS).bind(ids.clone())).await?;
    tx.execute(sqlx::query(DELETE_ATTACHMENTS).bind(ids.clone())).await?;
    tx.execute(sqlx::query(DELETE_DELIVERIES_OF_RUNS).bind(ids.clone())).await?;
    let sessions = runs.iter().filter_map(|run| run.session.as_ref().map(SessionKey::as_str));
    let mut sessions: Vec<&str> =
        sessions.filter(|session| session.starts_with(JOB_SESSIONS)).collect();
    sessions.sort_unstable();
    sessions.dedup();
    for session in sessions {
        let query = sqlx::query(DELETE_MESSAGES_OF_RUNS).bind(session).bind(ids.clone());
        let deleted = tx.execute(query).await?;
        reduce_session(tx, session, deleted).await?;
    }
    let seqs: Vec<i64> = runs.iter().map(|run| run.seq).collect();
    tx.execute(sqlx::query(DELETE_RUNS).bind(json!(seqs).to_string())).await.map(drop)
}

/// Updates a session after the deletion of messages; deletes an empty session.
async fn reduce_session(
    tx: &mut Transaction,
    session: &str,
    deleted: u64,
) -> Result<(), StoreError> {
    if deleted == 0 {
        return Ok(());
    }
    let deleted = i64::try_from(deleted).expect("BUG: more messages than fit");
    tx.execute(sqlx::query(REDUCE_COUNT).bind(session).bind(deleted)).await?;
    tx.execute(sqlx::query(DELETE_ORPHAN_SUMMARIES).bind(session)).await?;
    tx.execute(sqlx::query(DELETE_EMPTY_SESSION).bind(session)).await.map(drop)
}
