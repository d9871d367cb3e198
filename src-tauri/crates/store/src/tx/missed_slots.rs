//! Missed slots: their notices, and whether a job missed a slot or was interrupted recently.

use rouse_core::delivery::NewDelivery;
use rouse_core::{JobId, Run, RunId, UnixMs};

use crate::sql::{Store, StoreError, Transaction, in_json_list, json_list, unindexed};
use crate::tables::outbox::enqueue;
use crate::tables::system_events::{queue_line, source_of};

/// The notice of a missed slot that a claim found.
#[derive(Debug, Clone, PartialEq)]
pub struct MissedSlotNotice {
    /// The run. Without a row of the run the notice is dropped.
    pub run_id: RunId,
    /// Rows for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// A line for the main session.
    pub system_event: Option<String>,
}

/// Looks up runs by job, because many runs are in this state. Slots missed later than now are still to come after a clock
/// rollback.
pub(crate) const RECENTLY_MISSED: &str = concat!(
    "SELECT id FROM jobs
    WHERE id ",
    in_json_list!("$1"),
    " AND EXISTS (
        SELECT 1 FROM runs WHERE runs.job_id = jobs.id AND ",
    unindexed!("runs.state"),
    " = 'missed'
            AND runs.finished_at > $2 AND runs.finished_at <= $3 AND runs.finished_at >= coalesce(jobs.last_run_at, 0))"
);

/// Jobs with an announced interruption since which no run ended by itself.
pub(crate) const RECENTLY_INTERRUPTED: &str = concat!(
    "SELECT id FROM jobs
    WHERE id ",
    in_json_list!("$1"),
    " AND EXISTS (
        SELECT 1 FROM runs AS interrupted WHERE interrupted.job_id = jobs.id AND ",
    unindexed!("interrupted.state"),
    " = 'interrupted'
            AND interrupted.finished_at > $2 AND interrupted.finished_at <= $3
            AND EXISTS (SELECT 1 FROM outbox WHERE outbox.run_id = interrupted.id)
            AND NOT EXISTS (
                SELECT 1 FROM runs AS later WHERE later.job_id = jobs.id AND later.finished_at >= interrupted.finished_at
                    AND later.started_at IS NOT NULL AND ",
    unindexed!("later.state"),
    " NOT IN ('interrupted', 'cancelled')))"
);

impl Store {
    /// Jobs among these that missed a slot between `since` and `now` and have not started since.
    pub async fn recently_missed_jobs(
        &self,
        jobs: &[JobId],
        since: UnixMs,
        now: UnixMs,
    ) -> Result<Vec<JobId>, StoreError> {
        self.jobs_since(RECENTLY_MISSED, jobs, since, now).await
    }

    /// Jobs among these with an announced interruption between `since` and `now`, since which no run ended by itself.
    pub async fn recently_interrupted_jobs(
        &self,
        jobs: &[JobId],
        since: UnixMs,
        now: UnixMs,
    ) -> Result<Vec<JobId>, StoreError> {
        self.jobs_since(RECENTLY_INTERRUPTED, jobs, since, now).await
    }

    async fn jobs_since(
        &self,
        sql: &'static str,
        jobs: &[JobId],
        since: UnixMs,
        now: UnixMs,
    ) -> Result<Vec<JobId>, StoreError> {
        let jobs = json_list(jobs.iter().map(JobId::as_str));
        let query = sqlx::query(sql).bind(jobs).bind(since.0).bind(now.0);
        self.fetch_all("read the recent runs", query).await
    }
}

/// Enqueues the notices of missed runs that were inserted.
pub(super) async fn enqueue_missed_notices<'r>(
    tx: &mut Transaction,
    notices: &[MissedSlotNotice],
    inserted: impl Iterator<Item = &'r Run>,
) -> Result<(), StoreError> {
    if notices.is_empty() {
        return Ok(());
    }
    for run in inserted {
        let Some(notice) = notices.iter().find(|notice| notice.run_id == run.id) else { continue };
        if let Some(line) = &notice.system_event {
            queue_line(tx, line, &source_of(run)).await?;
        }
        for delivery in &notice.deliveries {
            enqueue(tx, Some(&run.id), delivery).await?;
        }
    }
    Ok(())
}
