//! Due jobs: jobs whose next slot has come, with their load.
//!
//! Owns the batches, the earliest slot first. Manual runs of a one-shot do not count as load of the slot. A due job that
//! cannot be decoded is disabled at once. Never decides a slot.
//! Pitfall: counting readable jobs only; an unreadable job would make a batch look like the last batch.

use rouse_core::job::ScheduleSpec;
use rouse_core::{Job, JobId, UnixMs};
use sqlx::sqlite::SqliteRow;

use super::job_row::{JobRow, job_columns};
use super::runs::retried_slot;
use crate::sql::{
    Store, StoreError, by_index, decode_row, from_columns, in_json_list, json_list, json_text,
    row_id,
};

/// A job with a due slot.
#[derive(Debug, Clone, PartialEq)]
pub struct DueJob {
    /// The job.
    pub job: Job,
    /// The queued runs; of a one-shot only for the slot.
    pub queued: u32,
    /// The running runs; of a one-shot only for the slot.
    pub active: u32,
    /// When the newest run began; of a one-shot only for the slot.
    pub last_run_at: Option<UnixMs>,
}

/// Due jobs in batches.
pub struct DueJobs {
    store: Store,
    now: UnixMs,
    batch_size: u32,
    /// The end of the batch before; none after the last batch.
    cursor: Option<DueCursor>,
    leaves_unreadable: bool,
}

/// The numbers of queued and running runs of a job. A run that awaits approval blocks nothing. Without `INDEXED BY` the second
/// count scans every run of the job.
macro_rules! load_columns {
    () => {
        concat!(
            "(SELECT count(*) FROM ",
            by_index!("runs", "runs_open"),
            " WHERE job_id = jobs.id AND finished_at IS NULL AND state = 'queued'),
         (SELECT count(*) FROM ",
            by_index!("runs", "runs_open"),
            " WHERE job_id = jobs.id AND finished_at IS NULL AND state = 'running')"
        )
    };
}

pub(crate) const DUE: &str = concat!(
    "SELECT ",
    row_id!(),
    ", next_run_at, ",
    job_columns!(),
    ", ",
    load_columns!(),
    " FROM jobs WHERE enabled = 1 AND next_run_at IS NOT NULL AND next_run_at >= $1 AND next_run_at <= $2
        AND (next_run_at > $1 OR ",
    row_id!(),
    " > $3)
     ORDER BY next_run_at, ",
    row_id!(),
    " LIMIT $4"
);
/// The load of a job by runs for slots.
pub(crate) const SLOT_LOAD: &str = concat!(
    "WITH of_job AS (SELECT state, started_at, finished_at FROM runs
        WHERE job_id = $1 AND coalesce(slot_at, ",
    retried_slot!(),
    ") IS NOT NULL)
     SELECT count(*) FILTER (WHERE finished_at IS NULL AND state = 'queued'),
        count(*) FILTER (WHERE finished_at IS NULL AND state = 'running'), max(started_at) FROM of_job"
);
pub(crate) const COUNT_DUE: &str = "SELECT count(*) FROM jobs
    WHERE enabled = 1 AND next_run_at IS NOT NULL AND next_run_at <= $1";
pub(crate) const NEXT_DUE: &str = "SELECT next_run_at FROM jobs
    WHERE enabled = 1 AND next_run_at IS NOT NULL ORDER BY next_run_at LIMIT 1";
pub(crate) const WITH_LOAD: &str = concat!(
    "SELECT ",
    job_columns!(),
    ", ",
    load_columns!(),
    " FROM jobs WHERE id ",
    in_json_list!("$1"),
    " AND enabled = 1"
);
pub(crate) const EVENT_JOBS: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE ",
    json_text!("definition", "schedule.kind"),
    " = 'event' AND enabled = 1"
);

/// The end of a batch, in the order of the index.
#[derive(Debug, Clone, Copy)]
struct DueCursor {
    rowid: i64,
    next_run_at: i64,
}

const START: DueCursor = DueCursor { rowid: i64::MIN, next_run_at: i64::MIN };
const ACTION: &str = "read the due jobs";

from_columns!(DueCursor: rowid, next_run_at);

impl DueJob {
    fn new(job: Job, queued: u32, active: u32) -> Self {
        let last_run_at = job.state.last_run_at;
        Self { job, queued, active, last_run_at }
    }

    /// Decodes a row of `DUE`; the error is the reason in words.
    fn decode(row: &SqliteRow) -> Result<Self, String> {
        let decoded: sqlx::Result<(DueCursor, JobRow, (u32, u32))> = decode_row(row);
        let (_, job, (queued, active)) = decoded.map_err(|error| error.to_string())?;
        Ok(Self::new(job.parse()?, queued, active))
    }

    /// Whether the load may include manual runs of a one-shot, which do not count.
    fn may_include_manual_runs(&self) -> bool {
        let is_one_shot = matches!(self.job.schedule.spec, ScheduleSpec::At { .. });
        is_one_shot && (self.queued + self.active > 0 || self.last_run_at.is_some())
    }
}

impl DueJobs {
    /// The next batch; none after the last batch.
    pub async fn next(&mut self) -> Result<Option<Vec<DueJob>>, StoreError> {
        let Some(after) = self.cursor else { return Ok(None) };
        let rows = self.store.due_rows(after, self.now, self.batch_size).await?;
        let is_full = rows.len() >= self.batch_size.max(1) as usize;
        let cursor_at = |row: &SqliteRow| -> Result<DueCursor, StoreError> {
            decode_row(row).map_err(|source| StoreError::Read { action: ACTION, source })
        };
        self.cursor = rows.last().filter(|_| is_full).map(cursor_at).transpose()?;
        let mut due = Vec::with_capacity(rows.len());
        for row in &rows {
            match DueJob::decode(row) {
                Ok(job) => due.push(job),
                Err(_) if self.leaves_unreadable => {}
                Err(reason) => {
                    let rowid = cursor_at(row)?.rowid;
                    self.store.disable_unreadable_job(rowid, &reason, self.now).await?;
                }
            }
        }
        self.store.exclude_manual_runs(&mut due).await?;
        Ok(Some(due))
    }

    /// Leaves jobs that cannot be decoded enabled: for a caller that holds the writer.
    #[must_use]
    pub fn leave_unreadable(mut self) -> Self {
        self.leaves_unreadable = true;
        self
    }

    /// Whether there may be another batch.
    #[must_use]
    pub const fn has_more(&self) -> bool {
        self.cursor.is_some()
    }
}

impl Store {
    /// Enabled jobs whose next slot is not after `now`, the earliest first, `batch_size` at a time.
    #[must_use]
    pub fn due_jobs(&self, now: UnixMs, batch_size: u32) -> DueJobs {
        let (store, cursor) = (self.clone(), Some(START));
        DueJobs { store, now, batch_size, cursor, leaves_unreadable: false }
    }

    /// All jobs whose next slot is not after `at`, the earliest first. None if there are more than `max`, or if any cannot be
    /// decoded.
    pub async fn due_jobs_up_to(
        &self,
        at: UnixMs,
        max: u32,
    ) -> Result<Option<Vec<DueJob>>, StoreError> {
        let rows = self.due_rows(START, at, max.saturating_add(1)).await?;
        if rows.len() > max as usize {
            return Ok(None);
        }
        // silent-ok: the caller reads the jobs in batches instead, which reports the reason.
        let jobs: Option<Vec<DueJob>> = rows.iter().map(|row| DueJob::decode(row).ok()).collect();
        let Some(mut jobs) = jobs else { return Ok(None) };
        self.exclude_manual_runs(&mut jobs).await?;
        Ok(Some(jobs))
    }

    /// The number of enabled jobs whose next slot is not after `at`.
    pub async fn count_due(&self, at: UnixMs) -> Result<u32, StoreError> {
        self.fetch_or_default("count the due jobs", sqlx::query(COUNT_DUE).bind(at.0)).await
    }

    /// The first due job that can be decoded.
    pub async fn first_due_job(&self, now: UnixMs) -> Result<Option<Job>, StoreError> {
        let mut batches = self.due_jobs(now, 1);
        while let Some(batch) = batches.next().await? {
            if let Some(due) = batch.into_iter().next() {
                return Ok(Some(due.job));
            }
        }
        Ok(None)
    }

    /// The earliest next slot of an enabled job.
    pub async fn next_due_at(&self) -> Result<Option<UnixMs>, StoreError> {
        self.fetch_optional("read the next slot", sqlx::query(NEXT_DUE)).await
    }

    /// These jobs with their load, if enabled.
    pub async fn jobs_with_load(&self, ids: &[JobId]) -> Result<Vec<DueJob>, StoreError> {
        let query = sqlx::query(WITH_LOAD).bind(json_list(ids.iter().map(JobId::as_str)));
        let rows: Vec<(JobRow, u32, u32)> = self.fetch_all("read the jobs", query).await?;
        let jobs = rows.into_iter().filter_map(|(row, queued, active)| {
            Some(DueJob::new(row.parse_or_log("a job receives no events")?, queued, active))
        });
        Ok(jobs.collect())
    }

    /// Enabled jobs with an event trigger. Logs and skips unreadable jobs.
    pub async fn event_jobs(&self) -> Result<Vec<Job>, StoreError> {
        let rows = self.fetch_all("read the event jobs", sqlx::query(EVENT_JOBS)).await?;
        let parse = |row: JobRow| row.parse_or_log("a job receives no events");
        Ok(rows.into_iter().filter_map(parse).collect())
    }

    /// Recounts the load of one-shots without manual runs. Few one-shots ran before the slot.
    async fn exclude_manual_runs(&self, due: &mut [DueJob]) -> Result<(), StoreError> {
        for due in due.iter_mut().filter(|due| due.may_include_manual_runs()) {
            let query = sqlx::query(SLOT_LOAD).bind(due.job.id.as_str());
            if let Some(load) = self.fetch_optional(ACTION, query).await? {
                (due.queued, due.active, due.last_run_at) = load;
            }
        }
        Ok(())
    }

    async fn due_rows(
        &self,
        after: DueCursor,
        now: UnixMs,
        limit: u32,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let query =
            sqlx::query(DUE).bind(after.next_run_at).bind(now.0).bind(after.rowid).bind(limit);
        self.fetch_rows(ACTION, query).await
    }
}
