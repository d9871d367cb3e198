//! The table `jobs`: definitions and what the engine knows about them.
//!
//! A row holds the job in the job format, and beside it, in columns, what changes without the
//! definition changing: whether it is enabled, its next slot, its revision and the fate of its
//! newest run. The columns are the truth; the stored definition is without them. It refuses to
//! compute a next slot. One could get this wrong by writing a state that was read a moment ago: an
//! edit writes the definition and the next slot, a run's end writes the rest.

use rouse_core::event::EventKind;
use rouse_core::incident::{CONDITION, IncidentEnd};
use rouse_core::job::{JobState, Payload};
use rouse_core::{Job, JobId, RunState, UnixMs};
use serde_json::{Value, json};

use crate::broken::BrokenJob;
use crate::grants::{revoke_all, revoke_good};
use crate::incidents;
use crate::job_row::definition;
use crate::row::Columns;
use crate::runs::cancel_queued_of;
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// Which jobs. The default is all that are enabled, in one page.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// Disabled ones too.
    pub include_disabled: bool,
    /// Only jobs with these words in name, description or payload, or whose id begins with them;
    /// upper and lower case are the same.
    pub search: Option<String>,
    /// Most jobs of the page; 0 means all.
    pub limit: u32,
    /// Continue after this cursor (`JobPage::next`).
    pub after: Option<String>,
}

/// A page of jobs by next slot (those without one last), then by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Rows among them that cannot be read.
    pub broken: Vec<BrokenJob>,
    /// The cursor of the next page; none on the last one.
    pub next: Option<String>,
}

/// How many jobs there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobCounts {
    /// All.
    pub all: u32,
    /// Enabled ones.
    pub enabled: u32,
    /// Those whose newest finished runs failed, or whose results could not be checked, enabled or not.
    pub failing: u32,
}

/// What `JobRow::read` reads, in its order.
macro_rules! job_columns {
    () => {
        "id, enabled, revision, next_run_at, decided_until, settled_until, last_run_at, last_state, last_error,
         last_duration_ms, consecutive_failures, definition"
    };
}
pub(crate) use job_columns;

pub(crate) use crate::job_row::JobRow;

pub(crate) const IS_OFF: &str = "SELECT enabled = 0 FROM jobs WHERE id = ?1";
pub(crate) const GET: &str = concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = ?1");
// The first condition says nothing new, but without it SQLite walks the index from its beginning.
pub(crate) const LIST: &str = concat!(
    "SELECT ",
    job_columns!(),
    ", name FROM jobs WHERE enabled >= ?1 AND ifnull(next_run_at, 9223372036854775807) >= ?2
        AND (ifnull(next_run_at, 9223372036854775807), name COLLATE NOCASE, id) > (?2, ?3, ?4)
     ORDER BY ifnull(next_run_at, 9223372036854775807), name COLLATE NOCASE, id LIMIT ?5"
);
const INSERT: &str = "INSERT INTO jobs (id, name, enabled, revision, next_run_at, last_run_at, last_state, last_error,
        last_duration_ms, consecutive_failures, definition, decided_until, settled_until)
    VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (id) DO NOTHING";
const UPDATE: &str = concat!(
    "UPDATE jobs SET name = ?2, revision = revision + 1, next_run_at = ?4, definition = ?5, decided_until = ?6,
        settled_until = ?7,
        consecutive_failures = CASE WHEN enabled < ?3 THEN 0 ELSE consecutive_failures END, enabled = ?3
     WHERE id = ?1 RETURNING ",
    job_columns!()
);
const DELETE: &str = concat!("DELETE FROM jobs WHERE id = ?1 RETURNING ", job_columns!());
pub(crate) const COUNT: &str =
    "SELECT count(*), sum(enabled), sum(consecutive_failures > 0) +
        (SELECT count(DISTINCT well.id) FROM incidents JOIN jobs AS well ON well.id = coalesce(incidents.job_id, '')
         WHERE incidents.closed_at IS NULL AND incidents.closed_how IS NOT 'resumed' AND well.consecutive_failures = 0
            AND (incidents.class = ?1 OR incidents.paused_because IS NOT NULL AND NOT well.enabled))
    FROM jobs";
const IDS: &str = "SELECT id FROM jobs";
const IS_THERE: &str = "SELECT 1 FROM jobs WHERE id = ?1";
const PAUSE: &str =
    "UPDATE jobs SET enabled = 0, next_run_at = NULL, revision = revision + 1 WHERE id = ?1";
pub(crate) const NEXT_DUE: &str = "SELECT next_run_at FROM jobs
    WHERE enabled = 1 AND next_run_at IS NOT NULL ORDER BY next_run_at LIMIT 1";

/// Jobs that a search looks through before it asks for more.
const SEARCHED: usize = 500;

impl Store {
    /// Saves a new job with revision 1. Event `cron` `added`.
    ///
    /// # Errors
    /// `Exists` when the id is taken, `Write`.
    pub async fn insert_job(&self, job: &Job, now: UnixMs) -> Result<Job, StoreError> {
        let mut write = self.write("save the job", Durability::Full, now).await?;
        let state = &job.state;
        let query = sqlx::query(INSERT)
            .bind(job.id.as_str())
            .bind(job.name.as_str())
            .bind(job.enabled)
            .bind(state.next_run_at.map(|at| at.0))
            .bind(state.last_run_at.map(|at| at.0))
            .bind(state.last_state.map(RunState::name))
            .bind(state.last_error.as_deref())
            .bind(state.last_duration_ms)
            .bind(state.consecutive_failures)
            .bind(definition(job))
            .bind(state.decided.until.map(|at| at.0))
            .bind(state.decided.settled_until.map(|at| at.0));
        if write.run(query).await?.rows_affected() == 0 {
            write.undo().await?;
            return Err(StoreError::Exists { what: "job", id: job.id.to_string() });
        }
        write.event(EventKind::Cron, change(&job.id, "added", state.next_run_at));
        write.commit().await?;
        Ok(Job { state: JobState { revision: 1, ..state.clone() }, ..job.clone() })
    }

    /// Replaces a job's definition and next slot; what the engine knows about its runs stays.
    /// Enabling it forgets its failures in a row, or the next one would pause it again, and ends its
    /// incidents, or the next one would not be told. Event
    /// `cron` `updated`.
    ///
    /// # Errors
    /// `NotFound`, `Stale` when the stored revision is not `expected_revision`, `Write`.
    pub async fn update_job(
        &self,
        job: &Job,
        expected_revision: Option<i64>,
        now: UnixMs,
    ) -> Result<Job, StoreError> {
        self.save_job(job, expected_revision, false, now).await
    }

    /// The same for a job that does something else from now on, without anybody having looked at what it was granted: in
    /// the same transaction that is taken back.
    ///
    /// # Errors
    /// As `update_job`.
    pub async fn replace_job(
        &self,
        job: &Job,
        expected_revision: Option<i64>,
        now: UnixMs,
    ) -> Result<Job, StoreError> {
        self.save_job(job, expected_revision, true, now).await
    }

    async fn save_job(
        &self,
        job: &Job,
        expected_revision: Option<i64>,
        ends_grants: bool,
        now: UnixMs,
    ) -> Result<Job, StoreError> {
        let mut write = self.write("save the job", Durability::Full, now).await?;
        let was_off = sqlx::query(IS_OFF).bind(job.id.as_str());
        let was_off = write.one(was_off, |row| Columns::of(row).get()).await?.unwrap_or(false);
        let query = sqlx::query(UPDATE)
            .bind(job.id.as_str())
            .bind(job.name.as_str())
            .bind(job.enabled)
            .bind(job.state.next_run_at.map(|at| at.0))
            .bind(definition(job))
            .bind(job.state.decided.until.map(|at| at.0))
            .bind(job.state.decided.settled_until.map(|at| at.0));
        let Some(updated) = write.one(query, JobRow::read).await? else {
            write.undo().await?;
            return Err(StoreError::NotFound { what: "job", id: job.id.to_string() });
        };
        let found = updated.state.revision - 1;
        if let Some(expected) = expected_revision.filter(|expected| *expected != found) {
            write.undo().await?;
            return Err(StoreError::Stale { expected, found });
        }
        // Whoever switches it on has looked at it; any other change says nothing of what is wrong.
        if was_off && updated.enabled {
            incidents::take_up(&mut write, &job.id).await?;
        }
        if ends_grants {
            revoke_good(&mut write, &job.id).await?;
        }
        write.event(EventKind::Cron, change(&job.id, "updated", updated.state.next_run_at));
        write.commit().await?;
        updated.job()
    }

    /// Deletes a job. Its runs stay, with its name; the queued ones become cancelled. Event `cron`
    /// `removed`.
    ///
    /// # Errors
    /// `Write`; `Unreadable` when the deleted definition could not be read.
    pub async fn remove_job(&self, id: &JobId, now: UnixMs) -> Result<Option<Job>, StoreError> {
        let mut write = self.write("delete the job", Durability::Full, now).await?;
        let Some(removed) = delete(&mut write, id).await? else {
            write.undo().await?;
            return Ok(None);
        };
        write.commit().await?;
        removed.job().map(Some)
    }

    /// One job.
    ///
    /// # Errors
    /// `Read`, `Unreadable`.
    pub async fn job(&self, id: &JobId) -> Result<Option<Job>, StoreError> {
        let query = sqlx::query(GET).bind(id.as_str());
        self.one("read the job", query, JobRow::read).await?.map(JobRow::job).transpose()
    }

    /// Whether the job is there, also where nobody can read it.
    ///
    /// # Errors
    /// `Read`.
    pub async fn has_job(&self, id: &JobId) -> Result<bool, StoreError> {
        let query = sqlx::query(IS_THERE).bind(id.as_str());
        Ok(self.one("look for the job", query, |_| Ok(())).await?.is_some())
    }

    /// The ids of all jobs, also of those that nobody can read.
    ///
    /// # Errors
    /// `Read`.
    pub async fn job_ids(&self) -> Result<Vec<JobId>, StoreError> {
        let query = sqlx::query(IDS);
        self.list("list the jobs", query, |row| Columns::of(row).id(JobId::new)).await
    }

    /// A page of jobs. One whose definition cannot be read stands apart with the reason: a single broken
    /// row must not take the whole list away. An unreadable cursor begins at the top. A job that
    /// moves between two pages is told by an event; it may be on both of them or on neither.
    ///
    /// # Errors
    /// `Read`.
    pub async fn jobs(&self, query: &JobQuery) -> Result<JobPage, StoreError> {
        let words = query.search.as_deref().map(|words| words.trim().to_lowercase());
        let most = if query.limit == 0 { usize::MAX } else { query.limit as usize };
        // One more than the page holds tells whether there is another page.
        let in_one_go = if words.is_some() { SEARCHED } else { most.saturating_add(1) };
        let (mut page, mut ends_at) = (JobPage::default(), Place::first());
        let mut place = query.after.as_deref().and_then(Place::parse).unwrap_or_else(Place::first);
        loop {
            let rows = self.jobs_after(&place, query.include_disabled, in_one_go).await?;
            let was_last = rows.len() < in_one_go;
            for (row, name) in rows {
                place = Place::of(&row, name.clone());
                let id = row.id.clone();
                let job = match row.parse() {
                    Ok(job) => job,
                    Err(reason) => {
                        page.broken.push(BrokenJob::new(id, name, &reason));
                        continue;
                    }
                };
                if !words.as_deref().is_none_or(|words| mentions(&job, words)) {
                    continue;
                }
                if page.jobs.len() == most {
                    page.next = Some(ends_at.write());
                    return Ok(page);
                }
                page.jobs.push(job);
                ends_at = place.clone();
            }
            if was_last {
                return Ok(page);
            }
        }
    }

    async fn jobs_after(
        &self,
        place: &Place,
        include_disabled: bool,
        most: usize,
    ) -> Result<Vec<(JobRow, String)>, StoreError> {
        let query = sqlx::query(LIST)
            .bind(i64::from(!include_disabled))
            .bind(place.next_run_at)
            .bind(place.name.as_str())
            .bind(place.id.as_str())
            .bind(i64::try_from(most).unwrap_or(i64::MAX));
        self.list("list the jobs", query, |row| {
            let mut columns = Columns::of(row);
            Ok((JobRow::take(&mut columns)?, columns.get()?))
        })
        .await
    }

    /// How many jobs there are.
    ///
    /// # Errors
    /// `Read`.
    pub async fn job_counts(&self) -> Result<JobCounts, StoreError> {
        let counts = self.one("count the jobs", sqlx::query(COUNT).bind(CONDITION), |row| {
            let mut columns = Columns::of(row);
            Ok(JobCounts {
                all: columns.count()?,
                enabled: columns.some_count()?,
                failing: columns.some_count()?,
            })
        });
        Ok(counts.await?.unwrap_or_default())
    }

    /// Disables a job that the engine gives up on for now; its last error stays. Event `cron`
    /// `updated` with the reason as `error`.
    ///
    /// # Errors
    /// `NotFound`, `Write`.
    pub async fn record_pause(
        &self,
        id: &JobId,
        reason: &str,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let mut write = self.write("pause the job", Durability::Full, now).await?;
        if !pause(&mut write, id, reason).await? {
            write.undo().await?;
            return Err(StoreError::NotFound { what: "job", id: id.to_string() });
        }
        write.commit().await
    }

    /// The earliest next slot of an enabled job.
    ///
    /// # Errors
    /// `Read`.
    pub async fn next_due_at(&self) -> Result<Option<UnixMs>, StoreError> {
        let query = sqlx::query(NEXT_DUE);
        self.one("read the next slot", query, |row| Columns::of(row).instant()).await
    }
}

/// A place in the order of the list. The name and the id are in it so that a deleted or renamed job
/// is as good a place to continue from as any other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    next_run_at: i64,
    name: String,
    id: String,
}

impl Place {
    const fn first() -> Self {
        Self { next_run_at: i64::MIN, name: String::new(), id: String::new() }
    }

    fn of(row: &JobRow, name: String) -> Self {
        let next_run_at = row.state.next_run_at.map_or(i64::MAX, |at| at.0);
        Self { next_run_at, name, id: row.id.to_string() }
    }

    fn parse(cursor: &str) -> Option<Self> {
        // silent-ok: a cursor that is none begins at the top, as `jobs` says.
        let (next_run_at, name, id) = serde_json::from_str(cursor).ok()?;
        Some(Self { next_run_at, name, id })
    }

    fn write(&self) -> String {
        json!([self.next_run_at, self.name, self.id]).to_string()
    }
}

/// Whether the job is there as a write sees it.
pub(crate) async fn is_there(write: &mut Write, id: &JobId) -> Result<bool, StoreError> {
    let query = sqlx::query(IS_THERE).bind(id.as_str());
    Ok(write.one(query, |_| Ok(())).await?.is_some())
}

/// Deletes the row and cancels what waits for it, as part of a write.
pub(crate) async fn delete(write: &mut Write, id: &JobId) -> Result<Option<JobRow>, StoreError> {
    let query = sqlx::query(DELETE).bind(id.as_str());
    let Some(removed) = write.one(query, JobRow::read).await? else {
        return Ok(None);
    };
    cancel_queued_of(write, id, "Its job was deleted").await?;
    incidents::end(write, Some(id), IncidentEnd::Removed).await?;
    revoke_all(write, id).await?;
    write.event(EventKind::Cron, change(id, "removed", None));
    Ok(Some(removed))
}

/// Disables a job as part of a write; false when there is none.
pub(crate) async fn pause(write: &mut Write, id: &JobId, reason: &str) -> Result<bool, StoreError> {
    if write.run(sqlx::query(PAUSE).bind(id.as_str())).await?.rows_affected() == 0 {
        return Ok(false);
    }
    let mut data = change(id, "updated", None);
    data["error"] = reason.into();
    write.event(EventKind::Cron, data);
    Ok(true)
}

/// The data of a `cron` event.
pub(crate) fn change(id: &JobId, action: &str, next_run_at: Option<UnixMs>) -> Value {
    let mut data = json!({ "jobId": id.as_str(), "action": action });
    if let Some(at) = next_run_at {
        data["nextRunAtMs"] = at.0.into();
    }
    data
}

/// SQLite compares only ASCII letters without case; names are in every language.
fn mentions(job: &Job, words: &str) -> bool {
    let holds = |text: &str| text.to_lowercase().contains(words);
    let payload = match &job.payload {
        Payload::SystemEvent { text, .. } => holds(text),
        Payload::AgentTurn(turn) => holds(&turn.message),
        Payload::ToolCall(call) => holds(&call.tool),
    };
    let id = job.id.as_str().to_lowercase().starts_with(words);
    id || payload || holds(&job.name) || job.description.as_deref().is_some_and(holds)
}
