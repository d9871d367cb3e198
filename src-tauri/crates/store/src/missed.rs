//! Slots that were missed: what is told with them, and whether that, or that a run was cut off, was said a while ago.

use rouse_core::delivery::NewDelivery;
use rouse_core::{JobId, Run, RunId, UnixMs};

use crate::finish::source_of;
use crate::outbox::enqueue;
use crate::row::{Columns, json_list};
use crate::system_events::queue;
use crate::write::Write;
use crate::{Store, StoreError};

/// What is told of a slot that a claim finds missed.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldMissed {
    /// Its run; when that gets no row of its own, nothing is told.
    pub run_id: RunId,
    /// Rows for the outbox.
    pub deliveries: Vec<NewDelivery>,
    /// A line for the main session.
    pub system_event: Option<String>,
}

/// Found by the job and not by the state, of which all jobs may have many. After the clock was set back, what was missed is
/// still to come.
pub(crate) const LATELY: &str = "SELECT id FROM jobs
    WHERE id IN (SELECT value FROM json_each(?1)) AND EXISTS (
        SELECT 1 FROM runs WHERE runs.job_id = jobs.id AND +runs.state = 'missed'
            AND runs.finished_at > ?2 AND runs.finished_at <= ?3 AND runs.finished_at >= coalesce(jobs.last_run_at, 0))";

/// Those of which a run was cut off and told, that none has ended by itself since.
pub(crate) const LATELY_CUT_OFF: &str = "SELECT id FROM jobs
    WHERE id IN (SELECT value FROM json_each(?1)) AND EXISTS (
        SELECT 1 FROM runs AS cut WHERE cut.job_id = jobs.id AND +cut.state = 'interrupted'
            AND cut.finished_at > ?2 AND cut.finished_at <= ?3
            AND EXISTS (SELECT 1 FROM outbox WHERE outbox.run_id = cut.id)
            AND NOT EXISTS (
                SELECT 1 FROM runs AS own WHERE own.job_id = jobs.id AND own.finished_at >= cut.finished_at
                    AND own.started_at IS NOT NULL AND +own.state NOT IN ('interrupted', 'cancelled')))";

impl Store {
    /// Which of these jobs have missed a slot between `since` and `now`, and have not started since they did.
    ///
    /// # Errors
    /// `Read`.
    pub async fn have_missed(
        &self,
        jobs: &[JobId],
        since: UnixMs,
        now: UnixMs,
    ) -> Result<Vec<JobId>, StoreError> {
        self.said_lately(LATELY, jobs, since, now).await
    }

    /// Of which of these jobs it was told between `since` and `now` that a run was cut off, while none has ended by itself
    /// after that.
    ///
    /// # Errors
    /// `Read`.
    pub async fn were_cut_off(
        &self,
        jobs: &[JobId],
        since: UnixMs,
        now: UnixMs,
    ) -> Result<Vec<JobId>, StoreError> {
        self.said_lately(LATELY_CUT_OFF, jobs, since, now).await
    }

    async fn said_lately(
        &self,
        which: &'static str,
        jobs: &[JobId],
        since: UnixMs,
        now: UnixMs,
    ) -> Result<Vec<JobId>, StoreError> {
        let jobs = json_list(jobs.iter().map(JobId::as_str));
        let query = sqlx::query(which).bind(jobs).bind(since.0).bind(now.0);
        self.list("read what was told lately", query, |row| Columns::of(row).id(JobId::new)).await
    }
}

/// Tells of the missed runs that have got their rows, as part of the write that gave them.
pub(crate) async fn tell<'r>(
    write: &mut Write,
    told: &[ToldMissed],
    inserted: impl Iterator<Item = &'r Run>,
) -> Result<(), StoreError> {
    if told.is_empty() {
        return Ok(());
    }
    for run in inserted {
        let Some(told) = told.iter().find(|told| told.run_id == run.id) else { continue };
        if let Some(line) = &told.system_event {
            queue(write, line, &source_of(run)).await?;
        }
        for delivery in &told.deliveries {
            enqueue(write, Some(&run.id), delivery).await?;
        }
    }
    Ok(())
}
