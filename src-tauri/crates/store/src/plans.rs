//! What is planned of each job in the table `jobs`: its next slot, and up to where its slots are decided.
//!
//! All of it is read at once and written at once, when the clock or the rules of zones have changed. It refuses to plan. One
//! could get it wrong by writing every row as if its next slot were another one: two indexes and every client would hear of
//! ten thousand jobs that nothing has happened to.

use rouse_core::event::EventKind;
use rouse_core::job::{Schedule, stored_schedule_from_json};
use rouse_core::slots::Plan;
use rouse_core::{JobId, UnixMs};
use serde_json::{Value, json};

use crate::job_row::decided;
use crate::jobs::change;
use crate::row::Columns;
use crate::write::Durability;
use crate::{Store, StoreError};

/// A job that has a next slot, with what is needed to plan it anew.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedJob {
    /// The job.
    pub id: JobId,
    /// When it was made.
    pub created_at: UnixMs,
    /// Its next slot, and up to where those before it are decided.
    pub plan: Plan,
    /// Its trigger.
    pub schedule: Schedule,
}

pub(crate) const SET_NEXT: &str = "UPDATE jobs SET next_run_at = planned.value ->> 1,
        decided_until = planned.value ->> 2, settled_until = planned.value ->> 3
    FROM jsonb_each(?1) AS planned
    WHERE jobs.id = planned.value ->> 0 AND jobs.next_run_at IS NOT planned.value ->> 1
    RETURNING id, next_run_at";
/// The same for jobs that keep their next run. No index holds what is written, and nobody is told of it.
pub(crate) const SET_DECIDED: &str = "UPDATE jobs SET decided_until = planned.value ->> 2, settled_until = planned.value ->> 3
    FROM jsonb_each(?1) AS planned
    WHERE jobs.id = planned.value ->> 0 AND jobs.next_run_at IS planned.value ->> 1
        AND (jobs.decided_until, jobs.settled_until) IS NOT (planned.value ->> 2, planned.value ->> 3)";
/// The condition is that of `jobs_due`: jobs without a next slot are never looked at.
pub(crate) const PLANNED: &str = "SELECT id, next_run_at, decided_until, settled_until,
        CASE WHEN json_valid(definition) THEN CAST(definition ->> '$.createdAtMs' AS INTEGER) END,
        CASE WHEN json_valid(definition) THEN definition -> '$.schedule' END, name FROM jobs
    WHERE enabled = 1 AND next_run_at IS NOT NULL";

impl Store {
    /// Every enabled job that has a next slot. One whose schedule cannot be read is logged and left out.
    ///
    /// # Errors
    /// `Read`.
    pub async fn planned_jobs(&self) -> Result<Vec<PlannedJob>, StoreError> {
        let rows = self.list("read what is planned", sqlx::query(PLANNED), |row| {
            let mut columns = Columns::of(row);
            let (id, next_run_at) = (columns.id(JobId::new)?, columns.instant()?);
            let plan = Plan { next: Some(next_run_at), decided: decided(&mut columns)? };
            let created_at = columns.some_instant()?.unwrap_or(UnixMs(0));
            Ok((id, plan, created_at, columns.json()?, columns.get::<String>()?))
        });
        let planned =
            |(id, plan, created_at, schedule, name)| match stored_schedule_from_json(schedule) {
                Ok(schedule) => Some(PlannedJob { id, created_at, plan, schedule }),
                Err(error) => {
                    tracing::warn!(job_id = %id, name, %error, "a job's schedule cannot be read");
                    None
                }
            };
        Ok(rows.await?.into_iter().filter_map(planned).collect())
    }

    /// Writes new plans; no new revision. Event `cron` `updated` for those whose next run is another one.
    ///
    /// # Errors
    /// `Write`.
    pub async fn set_next_run(
        &self,
        plans: &[(JobId, Plan)],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let planned = plans.iter().map(|(id, Plan { next, decided })| {
            let at = |at: &Option<UnixMs>| at.map(|at| at.0);
            json!([id.as_str(), at(next), at(&decided.until), at(&decided.settled_until)])
        });
        let planned = Value::Array(planned.collect()).to_string();
        let mut write = self.write("plan the next runs", Durability::Normal, now).await?;
        write.run(sqlx::query(SET_DECIDED).bind(planned.clone())).await?;
        let changed = write
            .list(sqlx::query(SET_NEXT).bind(planned), |row| {
                let mut columns = Columns::of(row);
                Ok((columns.id(JobId::new)?, columns.some_instant()?))
            })
            .await?;
        for (id, at) in changed {
            write.event(EventKind::Cron, change(&id, "updated", at));
        }
        write.commit().await
    }
}
