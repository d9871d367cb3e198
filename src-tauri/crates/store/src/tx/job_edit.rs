//! Adding, editing, pausing and deleting jobs, with their incidents, grants and waiting runs.

use rouse_core::event::EventKind;
use rouse_core::incident::IncidentEnd;
use rouse_core::job::JobState;
use rouse_core::{Job, JobId, Run, UnixMs};

use super::approve::withdraw_approvals;
use crate::sql::{Durability, Store, StoreError, Transaction, decode_or_log};
use crate::tables::event_data::{job_event, run_event};
use crate::tables::grants::{revoke_grants_of_deleted_job, revoke_valid_grants};
use crate::tables::incidents::{close_incidents, resume_incidents};
use crate::tables::job_row::JobRow;
use crate::tables::jobs::{delete_job, disable_job, insert_job, is_job_disabled, update_job};
use crate::tables::runs::run_columns;

pub(crate) const CANCEL_WAITING: &str = concat!(
    "UPDATE runs SET state = 'cancelled', reason = $2, finished_at = $3
     WHERE job_id = $1 AND finished_at IS NULL AND state IN ('queued', 'awaitingApproval') RETURNING ",
    run_columns!()
);

impl Store {
    /// Inserts a job with revision 1. Event `cron` `added`.
    ///
    /// # Errors
    /// `Exists` if the id is taken.
    pub async fn insert_job(&self, job: &Job, now: UnixMs) -> Result<Job, StoreError> {
        let mut tx = self.begin("save the job", Durability::Full, now).await?;
        if !insert_job(&mut tx, job).await? {
            tx.roll_back().await?;
            return Err(StoreError::Exists { what: "job", id: job.id.to_string() });
        }
        tx.emit(EventKind::Cron, job_event(&job.id, "added", job.state.next_run_at));
        tx.commit().await?;
        Ok(Job { state: JobState { revision: 1, ..job.state.clone() }, ..job.clone() })
    }

    /// Replaces a job's definition and next slot; the history of runs stays. Enabling resets the consecutive failures and
    /// resumes the incidents. Event `cron` `updated`.
    ///
    /// # Errors
    /// `NotFound`; `Stale` if the stored revision is not `expected_revision`.
    pub async fn update_job(
        &self,
        job: &Job,
        expected_revision: Option<i64>,
        now: UnixMs,
    ) -> Result<Job, StoreError> {
        self.save_job(job, expected_revision, false, now).await
    }

    /// Updates a job that does something else from now on. No person has reviewed the grants: revokes them in the
    /// same transaction.
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
        revokes_grants: bool,
        now: UnixMs,
    ) -> Result<Job, StoreError> {
        let mut tx = self.begin("save the job", Durability::Full, now).await?;
        let was_disabled = is_job_disabled(&mut tx, &job.id).await?;
        let Some(updated) = update_job(&mut tx, job).await? else {
            tx.roll_back().await?;
            return Err(StoreError::not_found("job", &job.id));
        };
        let found = updated.state.revision - 1;
        if let Some(expected) = expected_revision.filter(|expected| *expected != found) {
            tx.roll_back().await?;
            return Err(StoreError::Stale { expected, found });
        }
        // Enabling a job means that a person has seen the incidents; other edits do not.
        if was_disabled && updated.enabled {
            resume_incidents(&mut tx, &job.id).await?;
        }
        if revokes_grants {
            revoke_valid_grants(&mut tx, &job.id).await?;
        }
        tx.emit(EventKind::Cron, job_event(&job.id, "updated", updated.state.next_run_at));
        tx.commit().await?;
        updated.into_job()
    }

    /// Deletes a job. Runs stay, with the name; waiting runs are cancelled. Event `cron` `removed`.
    ///
    /// # Errors
    /// `Unreadable` if the deleted definition cannot be read.
    pub async fn remove_job(&self, id: &JobId, now: UnixMs) -> Result<Option<Job>, StoreError> {
        let mut tx = self.begin("delete the job", Durability::Full, now).await?;
        let Some(removed) = remove_job(&mut tx, id).await? else {
            tx.roll_back().await?;
            return Ok(None);
        };
        tx.commit().await?;
        removed.into_job().map(Some)
    }

    /// Disables a job for `reason`; the last error stays. Event `cron` `updated` with the reason as `error`.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn pause_job(&self, id: &JobId, reason: &str, now: UnixMs) -> Result<(), StoreError> {
        let mut tx = self.begin("pause the job", Durability::Full, now).await?;
        if !disable_job(&mut tx, id, reason).await? {
            tx.roll_back().await?;
            return Err(StoreError::not_found("job", id));
        }
        tx.commit().await
    }
}

/// Deletes a job: cancels waiting runs, closes incidents, revokes grants. Event `cron` `removed`.
pub(super) async fn remove_job(
    tx: &mut Transaction,
    id: &JobId,
) -> Result<Option<JobRow>, StoreError> {
    let Some(removed) = delete_job(tx, id).await? else { return Ok(None) };
    let reason = "The job was deleted";
    let query = sqlx::query(CANCEL_WAITING).bind(id.as_str()).bind(reason).bind(tx.now().0);
    let cancelled = tx.execute_one(query).await?;
    // A run that cannot be decoded is cancelled all the same.
    let cancelled = cancelled.rows.iter().filter_map(|row| decode_or_log("cancel the runs", row));
    for run in cancelled.collect::<Vec<Run>>() {
        withdraw_approvals(tx, &run.id).await?;
        tx.emit(EventKind::Run, run_event(&run));
    }
    close_incidents(tx, Some(id), IncidentEnd::Removed).await?;
    revoke_grants_of_deleted_job(tx, id).await?;
    tx.emit(EventKind::Cron, job_event(id, "removed", None));
    Ok(Some(removed))
}
