//! What is no longer kept: old runs with all that hangs on them, old messages, old lines of the queues.
//!
//! Owns the steps, each one small transaction, so that a claim never waits for more than one of them. What to keep and
//! when to go on is the caller's. What goes is looked up on a reading connection first; it is final, so nothing about
//! it can change before it is deleted. A slot stays fired when its run goes: that is in `slots`. Rows of slots that did
//! not run are *quiet*; they have a bound of their own, or the pause of a weekend would take the place of all that a
//! job has done. One could get this wrong by deleting a run that something still waits for (a pending delivery, the
//! result that the next one is compared with), or by walking a whole table while the writer is held.

mod file;
mod slots;

pub use file::{FileSize, Kept};
pub(crate) use slots::not_pruned;

use rouse_core::{JobId, RunId, SessionKey, UnixMs};
use serde_json::json;

use crate::row::{Columns, json_list};
use crate::summaries::is_summary;
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// Most runs of one step.
const RUNS: u32 = 50;
/// The same, where the size is looked at after each: runs may be large, and no more than needed shall go.
const RUNS_FOR_SIZE: u32 = 10;
/// Quiet rows of a job that are kept at most.
const QUIET: u32 = 200;
/// Most messages or lines of one step.
const ROWS: u32 = 200;
/// Settled lines of the queues that belong to no run and are kept all the same, for whoever looks for a cause.
const LEFTOVERS: u32 = 1_000;
/// Sessions of jobs. The main conversation is the person's and is never pruned.
const ISOLATED: &str = "cron:";

/// A run that goes.
struct Doomed {
    seq: i64,
    id: RunId,
    job_id: Option<JobId>,
    slot_at: Option<UnixMs>,
    counted_from: Option<UnixMs>,
    session: Option<SessionKey>,
}

/// What a run must be like to go. A slot in the future (the clock was set back) is kept: only its row says that it has
/// fired. So is one whose calls count to what may be called in this hour (`Store::called_since`), which a start asks for.
macro_rules! may_go {
    () => {
        concat!(
            "finished_at IS NOT NULL AND (slot_at IS NULL OR slot_at <= ?1)
             AND NOT EXISTS (SELECT 1 FROM outbox WHERE run_id = runs.id AND settled_at IS NULL)
             AND NOT EXISTS (SELECT 1 FROM run_steps WHERE run_id = runs.id AND started_at > ?1 - 3600000 AND ",
            crate::steps::is_counted!(),
            ")"
        )
    };
}

/// A row that says only why a slot, or a run that waited, was not carried out. The `+` leaves the choice of the index to
/// the job.
macro_rules! is_quiet {
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

// All rows are counted in an index; only the quiet ones are read.
pub(crate) const CROWDED: &str = "SELECT crowd.job_id
    FROM (SELECT job_id, count(*) AS total FROM runs GROUP BY job_id HAVING count(*) > ?2) AS crowd
    LEFT JOIN (SELECT job_id, count(*) AS quiet FROM runs WHERE state IN ('skipped', 'missed', 'cancelled')
                   AND (state <> 'cancelled' OR started_at IS NULL) GROUP BY job_id) AS still
        ON still.job_id IS crowd.job_id
    WHERE total - coalesce(quiet, 0) > ?1 OR quiet > ?2";
pub(crate) const OLDEST_QUIET_OF: &str = concat!(
    "SELECT seq, id, job_id, slot_at, counted_from, session FROM runs WHERE ",
    may_go!(),
    " AND job_id IS ?2 AND ",
    is_quiet!("runs"),
    " AND seq <= (SELECT seq FROM runs WHERE job_id IS ?2 AND ",
    is_quiet!("runs"),
    " ORDER BY seq DESC LIMIT 1 OFFSET ?3) ORDER BY seq LIMIT ?4"
);
pub(crate) const OLDEST_OF: &str = concat!(
    "SELECT seq, id, job_id, slot_at, counted_from, session FROM runs WHERE ",
    may_go!(),
    " AND job_id IS ?2 AND NOT ",
    is_quiet!("runs"),
    " AND seq <= (SELECT seq FROM runs WHERE job_id IS ?2 AND NOT ",
    is_quiet!("runs"),
    " ORDER BY seq DESC LIMIT 1 OFFSET ?3)
      AND seq IS NOT (SELECT seq FROM runs WHERE job_id IS ?2 AND +state = 'succeeded' AND result IS NOT NULL
                      ORDER BY created_at DESC, seq DESC LIMIT 1)
      ORDER BY seq LIMIT ?4"
);
// Not the newest one of a job that still exists, and not the newest that ran.
pub(crate) const OLDEST: &str = concat!(
    "SELECT seq, id, job_id, slot_at, counted_from, session FROM runs WHERE ",
    may_go!(),
    " AND (EXISTS (SELECT 1 FROM runs AS newer WHERE newer.job_id IS runs.job_id AND newer.seq > runs.seq
                   AND (",
    is_quiet!("runs"),
    " OR NOT ",
    is_quiet!("newer"),
    "))
           OR NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = runs.job_id))
      ORDER BY seq LIMIT ?2"
);
const DELETE_STEPS: &str =
    "DELETE FROM run_steps WHERE run_id IN (SELECT value FROM json_each(?1))";
const DELETE_DELIVERIES: &str = "DELETE FROM outbox WHERE run_id IN (SELECT value FROM json_each(?1)) AND settled_at IS NOT NULL";
const DELETE_RUNS: &str = "DELETE FROM runs WHERE seq IN (SELECT value FROM json_each(?1))";
const DELETE_MESSAGES_OF_RUNS: &str = "DELETE FROM messages
    WHERE session = ?1 AND run_id IN (SELECT value FROM json_each(?2))";
const DELETE_MESSAGES: &str = "DELETE FROM messages WHERE id IN (SELECT value FROM json_each(?1))";
const COUNT_LESS: &str = "UPDATE sessions SET message_count = message_count - ?2 WHERE key = ?1";
// Summaries belong to no run, and go with the last of what they stand beside.
const DELETE_LONELY_SUMMARIES: &str = concat!(
    "DELETE FROM messages WHERE session = ?1 AND NOT EXISTS
        (SELECT 1 FROM messages WHERE session = ?1 AND NOT ",
    is_summary!(),
    ")"
);
const DELETE_EMPTY_SESSION: &str = "DELETE FROM sessions
    WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM messages WHERE session = sessions.key)";
const LONG_SESSIONS: &str =
    "SELECT key FROM sessions WHERE message_count > ?1 AND key >= 'cron:' AND key < 'cron;'";
// The messages of one run stay together: half a conversation with a tool would be none. A run that waits for an answer goes
// on from its own, however long that takes.
pub(crate) const OLDEST_MESSAGES: &str = "SELECT id FROM messages WHERE session = ?1
    AND (run_id IS NULL OR run_id NOT IN (SELECT id FROM runs WHERE finished_at IS NULL)) AND id <
        (SELECT min(id) FROM messages WHERE session = ?1 AND run_id IS
            (SELECT run_id FROM messages WHERE session = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2))
    ORDER BY id LIMIT ?3";
pub(crate) const OLD_LINES: &str = "SELECT id FROM system_events
    WHERE drained_at IS NOT NULL AND id <= (SELECT max(id) FROM system_events) - ?1 ORDER BY id LIMIT ?2";
const DELETE_LINES: &str =
    "DELETE FROM system_events WHERE id IN (SELECT value FROM json_each(?1))";
pub(crate) const OLD_DELIVERIES: &str = "SELECT rowid FROM outbox
    WHERE run_id IS NULL AND settled_at IS NOT NULL AND created_at <=
        (SELECT created_at FROM outbox WHERE run_id IS NULL ORDER BY created_at DESC LIMIT 1 OFFSET ?1)
    ORDER BY created_at LIMIT ?2";
const DELETE_OLD_DELIVERIES: &str =
    "DELETE FROM outbox WHERE rowid IN (SELECT value FROM json_each(?1))";

impl Store {
    /// The jobs with more than `keep` runs, or with too many quiet rows; none stands for runs without a job.
    ///
    /// # Errors
    /// `Read`.
    pub async fn crowded_jobs(&self, keep: u32) -> Result<Vec<Option<JobId>>, StoreError> {
        let query = sqlx::query(CROWDED).bind(keep).bind(quiet_of(keep));
        self.list("count the runs", query, |row| Columns::of(row).some_id(JobId::new)).await
    }

    /// Deletes some of the oldest runs of a job (or of those without one) beyond its newest `keep`, the quiet rows that
    /// are too many first; whether there may be more. Their steps, deliveries and messages go with them; what is compared
    /// with the next result stays.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn prune_runs_of(
        &self,
        job: Option<&JobId>,
        keep: u32,
        now: UnixMs,
    ) -> Result<bool, StoreError> {
        let beyond = |query: &'static str, keep: u32| {
            sqlx::query(query)
                .bind(now.0)
                .bind(job.map(JobId::as_str).map(str::to_owned))
                .bind(keep)
                .bind(RUNS)
        };
        let quiet = beyond(OLDEST_QUIET_OF, quiet_of(keep));
        if self.prune_runs(quiet, now).await? > 0 {
            return Ok(true);
        }
        Ok(self.prune_runs(beyond(OLDEST_OF, keep), now).await? == RUNS as usize)
    }

    /// Deletes a few of the oldest runs of all, but never the newest of a job; whether there were any.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn prune_oldest_runs(&self, now: UnixMs) -> Result<bool, StoreError> {
        let query = sqlx::query(OLDEST).bind(now.0).bind(RUNS_FOR_SIZE);
        Ok(self.prune_runs(query, now).await? > 0)
    }

    async fn prune_runs(
        &self,
        query: crate::write::Query,
        now: UnixMs,
    ) -> Result<usize, StoreError> {
        let doomed = self
            .list("look for old runs", query, |row| {
                let mut columns = Columns::of(row);
                Ok(Doomed {
                    seq: columns.get()?,
                    id: columns.id(RunId::new)?,
                    job_id: columns.some_id(JobId::new)?,
                    slot_at: columns.some_instant()?,
                    counted_from: columns.some_instant()?,
                    session: columns.some_id(SessionKey::new)?,
                })
            })
            .await?;
        if doomed.is_empty() {
            return Ok(0);
        }
        let mut write = self.write("delete old runs", Durability::Normal, now).await?;
        delete_runs(&mut write, &doomed).await?;
        write.commit().await?;
        Ok(doomed.len())
    }

    /// Deletes some of the oldest messages of jobs' sessions beyond the newest `keep`; whether there may be more. All
    /// messages of a run go together, so a session may keep a few more.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn prune_messages(&self, keep: u32, now: UnixMs) -> Result<bool, StoreError> {
        let query = sqlx::query(LONG_SESSIONS).bind(keep);
        let sessions: Vec<String> =
            self.list("look for long sessions", query, |row| Columns::of(row).get()).await?;
        let mut more = false;
        for session in sessions {
            let query = sqlx::query(OLDEST_MESSAGES)
                .bind(session.clone())
                .bind(keep.saturating_sub(1))
                .bind(ROWS);
            let ids = self.ids("look for old messages", query).await?;
            if ids.is_empty() {
                continue;
            }
            more |= ids.len() == ROWS as usize;
            let mut write = self.write("delete old messages", Durability::Normal, now).await?;
            let query = sqlx::query(DELETE_MESSAGES).bind(json!(ids).to_string());
            let gone = write.run(query).await?.rows_affected();
            count_less(&mut write, &session, gone).await?;
            write.commit().await?;
        }
        Ok(more)
    }

    /// Deletes some settled lines that belong to no run: system events that were seen, deliveries that are over.
    /// Whether there may be more.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn prune_leftovers(&self, now: UnixMs) -> Result<bool, StoreError> {
        let mut more = false;
        for (look, delete) in [(OLD_LINES, DELETE_LINES), (OLD_DELIVERIES, DELETE_OLD_DELIVERIES)] {
            let query = sqlx::query(look).bind(LEFTOVERS).bind(ROWS);
            let ids = self.ids("look for old lines", query).await?;
            if ids.is_empty() {
                continue;
            }
            more |= ids.len() == ROWS as usize;
            let mut write = self.write("delete old lines", Durability::Normal, now).await?;
            write.run(sqlx::query(delete).bind(json!(ids).to_string())).await?;
            write.commit().await?;
        }
        Ok(more)
    }

    async fn ids(
        &self,
        what: &'static str,
        query: crate::write::Query,
    ) -> Result<Vec<i64>, StoreError> {
        self.list(what, query, |row| Columns::of(row).get()).await
    }
}

/// How many quiet rows are kept of a job of which `keep` runs are.
fn quiet_of(keep: u32) -> u32 {
    keep.min(QUIET)
}

async fn delete_runs(write: &mut Write, doomed: &[Doomed]) -> Result<(), StoreError> {
    slots::remember(write, doomed).await?;
    let ids = json_list(doomed.iter().map(|run| run.id.as_str()));
    write.run(sqlx::query(DELETE_STEPS).bind(ids.clone())).await?;
    write.run(sqlx::query(DELETE_DELIVERIES).bind(ids.clone())).await?;
    let mut sessions: Vec<&str> = doomed
        .iter()
        .filter_map(|run| run.session.as_ref().map(SessionKey::as_str))
        .filter(|session| session.starts_with(ISOLATED))
        .collect();
    sessions.sort_unstable();
    sessions.dedup();
    for session in sessions {
        let query = sqlx::query(DELETE_MESSAGES_OF_RUNS).bind(session.to_owned()).bind(ids.clone());
        let gone = write.run(query).await?.rows_affected();
        count_less(write, session, gone).await?;
    }
    let seqs: Vec<i64> = doomed.iter().map(|run| run.seq).collect();
    write.run(sqlx::query(DELETE_RUNS).bind(json!(seqs).to_string())).await?;
    Ok(())
}

async fn count_less(write: &mut Write, session: &str, gone: u64) -> Result<(), StoreError> {
    if gone == 0 {
        return Ok(());
    }
    let gone = i64::try_from(gone).expect("BUG: more messages than fit");
    write.run(sqlx::query(COUNT_LESS).bind(session.to_owned()).bind(gone)).await?;
    write.run(sqlx::query(DELETE_LONELY_SUMMARIES).bind(session.to_owned())).await?;
    write.run(sqlx::query(DELETE_EMPTY_SESSION).bind(session.to_owned())).await?;
    Ok(())
}
