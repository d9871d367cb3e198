//! Due jobs: those whose next slot has come, with what each is busy with.
//!
//! Owns their reading, a batch at a time, the earliest slot first. A one-shot has one slot, and what somebody starts by hand
//! is no part of it: such runs are not counted there. A job that cannot be read is switched off on the spot
//! with the reason: it would be due for ever, and the timer with it. It refuses to say what a slot becomes. One could get
//! it wrong by counting only the jobs that can be read: a broken one would make its batch look like the last.

use rouse_core::job::ScheduleSpec;
use rouse_core::{Job, UnixMs};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::jobs::{JobRow, job_columns};
use crate::row::Columns;
use crate::runs::makes_up_for;
use crate::{Store, StoreError};

/// A job whose next slot has come.
#[derive(Debug, Clone, PartialEq)]
pub struct DueJob {
    /// The job.
    pub job: Job,
    /// Its runs that are queued; of a one-shot those for its slot.
    pub queued: u32,
    /// Its runs that are at work; the same.
    pub active: u32,
    /// When the newest of its runs began; the same.
    pub last_run_at: Option<UnixMs>,
}

impl DueJob {
    /// A job that is as busy as its row says.
    pub(crate) const fn of(job: Job, queued: u32, active: u32) -> Self {
        let last_run_at = job.state.last_run_at;
        Self { job, queued, active, last_run_at }
    }

    /// Whether runs by hand may be among what it is busy with, or has been, and do not count.
    fn may_count_by_hand(&self) -> bool {
        let is_once = matches!(self.job.schedule.spec, ScheduleSpec::At { .. });
        is_once && (self.queued + self.active > 0 || self.last_run_at.is_some())
    }
}

/// Due jobs, batch by batch.
pub struct DueJobs {
    store: Store,
    now: UnixMs,
    size: u32,
    /// Where the next batch begins; none after the last one.
    place: Option<Place>,
    leaves_broken: bool,
}

/// How many runs of a job are queued, and how many at work. One that waits for a person holds nothing up. Without
/// `INDEXED BY` the second count walks through every run that the job ever had.
macro_rules! load_columns {
    () => {
        "(SELECT count(*) FROM runs INDEXED BY runs_open
            WHERE job_id = jobs.id AND finished_at IS NULL AND state = 'queued'),
         (SELECT count(*) FROM runs INDEXED BY runs_open
            WHERE job_id = jobs.id AND finished_at IS NULL AND state = 'running')"
    };
}
pub(crate) use load_columns;

pub(crate) const DUE: &str = concat!(
    "SELECT rowid, next_run_at, ",
    job_columns!(),
    ", ",
    load_columns!(),
    " FROM jobs WHERE enabled = 1 AND next_run_at IS NOT NULL AND next_run_at >= ?1 AND next_run_at <= ?2
        AND (next_run_at > ?1 OR rowid > ?3)
     ORDER BY next_run_at, rowid LIMIT ?4"
);

/// What one job is busy with, and when it last began, by its runs for a slot alone.
pub(crate) const FOR_SLOTS: &str = concat!(
    "WITH of_job AS (SELECT state, started_at, finished_at FROM runs
        WHERE job_id = ?1 AND coalesce(slot_at, ",
    makes_up_for!(),
    ") IS NOT NULL)
     SELECT count(*) FILTER (WHERE finished_at IS NULL AND state = 'queued'),
        count(*) FILTER (WHERE finished_at IS NULL AND state = 'running'), max(started_at) FROM of_job"
);

pub(crate) const COUNT_DUE: &str = "SELECT count(*) FROM jobs
    WHERE enabled = 1 AND next_run_at IS NOT NULL AND next_run_at <= ?1";

/// Where a batch ends, in the order of the index.
#[derive(Debug, Clone, Copy)]
struct Place {
    next_run_at: i64,
    row: i64,
}

const WHAT: &str = "read the due jobs";
const FIRST: Place = Place { next_run_at: i64::MIN, row: i64::MIN };

impl DueJobs {
    /// The next batch; none when there are no more.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn next(&mut self) -> Result<Option<Vec<DueJob>>, StoreError> {
        let Some(after) = self.place else { return Ok(None) };
        let rows = self.store.due_rows(after, self.now, self.size).await?;
        self.place = place_after(&rows, self.size)?;
        let mut due = match self.leaves_broken {
            true => rows.iter().filter_map(|row| read(row).ok()).collect(),
            false => self.store.readable(&rows, self.now).await?,
        };
        self.store.leave_out_by_hand(&mut due).await?;
        Ok(Some(due))
    }

    /// Jobs that cannot be read are left as they are: for whoever holds the writing connection.
    #[must_use]
    pub fn leaving_broken(mut self) -> Self {
        self.leaves_broken = true;
        self
    }

    /// Whether there may be another batch.
    #[must_use]
    pub const fn may_have_more(&self) -> bool {
        self.place.is_some()
    }
}

impl Store {
    /// Enabled jobs whose next slot is not after `now`, the earliest first, `size` at a time.
    #[must_use]
    pub fn due_jobs(&self, now: UnixMs, size: u32) -> DueJobs {
        DueJobs { store: self.clone(), now, size, place: Some(FIRST), leaves_broken: false }
    }

    /// All jobs whose next slot is not after `at`, the earliest first; none when there are more than `most`, or when one of
    /// them cannot be read.
    ///
    /// # Errors
    /// `Read`.
    pub async fn few_due_jobs(
        &self,
        at: UnixMs,
        most: u32,
    ) -> Result<Option<Vec<DueJob>>, StoreError> {
        let rows = self.due_rows(FIRST, at, most.saturating_add(1)).await?;
        let jobs: Option<Vec<DueJob>> = rows.iter().map(|row| read(row).ok()).collect();
        let mut jobs = jobs.filter(|jobs| jobs.len() <= most as usize);
        if let Some(jobs) = &mut jobs {
            self.leave_out_by_hand(jobs).await?;
        }
        Ok(jobs)
    }

    /// Counts anew what one-shots are busy with. Few of them have run before their slot.
    async fn leave_out_by_hand(&self, due: &mut [DueJob]) -> Result<(), StoreError> {
        for due in due.iter_mut().filter(|due| due.may_count_by_hand()) {
            let query = sqlx::query(FOR_SLOTS).bind(due.job.id.as_str());
            let counted = self.one(WHAT, query, |row| {
                let mut columns = Columns::of(row);
                Ok((columns.count()?, columns.count()?, columns.some_instant()?))
            });
            if let Some(counted) = counted.await? {
                (due.queued, due.active, due.last_run_at) = counted;
            }
        }
        Ok(())
    }

    /// How many enabled jobs have their next slot not after `at`.
    ///
    /// # Errors
    /// `Read`.
    pub async fn count_due(&self, at: UnixMs) -> Result<u32, StoreError> {
        let query = sqlx::query(COUNT_DUE).bind(at.0);
        let count = self.one("count the due jobs", query, |row| Columns::of(row).count()).await?;
        Ok(count.unwrap_or_default())
    }

    /// The first due job that can be read.
    ///
    /// # Errors
    /// `Read`, `Write`.
    pub async fn first_due_job(&self, now: UnixMs) -> Result<Option<Job>, StoreError> {
        let mut jobs = self.due_jobs(now, 1);
        while let Some(batch) = jobs.next().await? {
            if let Some(due) = batch.into_iter().next() {
                return Ok(Some(due.job));
            }
        }
        Ok(None)
    }

    /// Those that can be read; the others are switched off.
    async fn readable(&self, rows: &[SqliteRow], now: UnixMs) -> Result<Vec<DueJob>, StoreError> {
        let mut due = Vec::with_capacity(rows.len());
        for row in rows {
            match read(row) {
                Ok(job) => due.push(job),
                Err(reason) => self.switch_off_broken(placed(row)?.row, &reason, now).await?,
            }
        }
        Ok(due)
    }

    async fn due_rows(
        &self,
        after: Place,
        now: UnixMs,
        size: u32,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let query = sqlx::query(DUE).bind(after.next_run_at).bind(now.0).bind(after.row).bind(size);
        let rows = self.all_rows(query).await;
        rows.map_err(|source| StoreError::Read { what: WHAT, source })
    }
}

fn placed(row: &SqliteRow) -> Result<Place, StoreError> {
    let place = || Ok(Place { row: row.try_get(0)?, next_run_at: row.try_get(1)? });
    place().map_err(|source| StoreError::Read { what: WHAT, source })
}

/// Where the batch after a full one begins.
fn place_after(rows: &[SqliteRow], size: u32) -> Result<Option<Place>, StoreError> {
    let is_full = rows.len() >= size.max(1) as usize;
    rows.last().filter(|_| is_full).map(placed).transpose()
}

/// A due job, or why it is none.
fn read(row: &SqliteRow) -> Result<DueJob, String> {
    let mut columns = Columns::after(row, 2);
    let parts = JobRow::take(&mut columns)
        .and_then(|job| Ok((job, columns.count()?, columns.count()?)))
        .map_err(|error| error.to_string());
    let (job, queued, active) = parts?;
    Ok(DueJob::of(job.parse()?, queued, active))
}
