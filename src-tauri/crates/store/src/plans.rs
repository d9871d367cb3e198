//! What is planned of each job in the table `jobs`: its next slot, and up to where its slots are decided.
//!
//! All of it is read at once and written at once, when the clock or the rules of zones have changed. It refuses to plan. One
//! could get it wrong by writing every row as if its next slot were another one: two indexes and every client would hear of
//! ten thousand jobs that nothing has happened to.

use rouse_core::event::EventKind;
use rouse_core::job::{Schedule, stored_schedule_from_json};
use rouse_core::naming::of_unread;
use rouse_core::slots::{DecidedSlots, Plan};
use rouse_core::{JobId, UnixMs};
use serde_json::{Value, json};

use crate::jobs::change;
use crate::row::Columns;
use crate::write::Durability;
use crate::{Store, StoreError};

/// Of more jobs that move at once one event tells: ten thousand would push all others out of those that are kept.
const MOST_NAMED: usize = 100;

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
    FROM jsonb_each(?1) AS planned WHERE jobs.id = planned.value ->> 0";
/// The same for jobs that keep their next run. No index holds what is written, and nobody is told of it.
pub(crate) const SET_DECIDED: &str =
    "UPDATE jobs SET decided_until = planned.value ->> 2, settled_until = planned.value ->> 3
    FROM jsonb_each(?1) AS planned WHERE jobs.id = planned.value ->> 0";
/// All rows in one answer: a row that comes alone is a walk from thread to thread. The condition is that of `jobs_due`:
/// jobs without a next slot are never looked at.
pub(crate) const PLANNED: &str = "SELECT json_group_array(json_array(
        id, next_run_at, decided_until, settled_until,
        CASE WHEN json_valid(definition) THEN CAST(definition ->> '$.createdAtMs' AS INTEGER) END,
        json(CASE WHEN json_valid(definition) THEN definition -> '$.schedule' END))) FROM jobs
    WHERE enabled = 1 AND next_run_at IS NOT NULL";

/// A row of it.
type Planned = (String, UnixMs, Option<UnixMs>, Option<UnixMs>, Option<UnixMs>, Option<Value>);

impl Store {
    /// Every enabled job that has a next slot. One whose schedule cannot be read is logged and left out.
    ///
    /// # Errors
    /// `Read`.
    pub async fn planned_jobs(&self) -> Result<Vec<PlannedJob>, StoreError> {
        let rows =
            self.one("read what is planned", sqlx::query(PLANNED), |row| Columns::of(row).json());
        let Some(Value::Array(rows)) = rows.await? else { return Ok(Vec::new()) };
        Ok(rows.into_iter().filter_map(planned).collect())
    }

    /// Writes a new plan for each of these jobs, of which it is known what they have; no new revision. Event `cron`
    /// `updated` for those whose next run is another one; where there are many, one that names none of them.
    ///
    /// # Errors
    /// `Write`.
    pub async fn set_next_run(
        &self,
        plans: &[(PlannedJob, Plan)],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let (keep, move_on): (Vec<_>, Vec<_>) =
            plans.iter().partition(|(job, plan)| job.plan.next == plan.next);
        let mut write = self.write("plan the next runs", Durability::Normal, now).await?;
        if !keep.is_empty() {
            write.run(sqlx::query(SET_DECIDED).bind(listed(&keep))).await?;
        }
        if !move_on.is_empty() {
            write.run(sqlx::query(SET_NEXT).bind(listed(&move_on))).await?;
        }
        if move_on.len() > MOST_NAMED {
            let data = json!({ "action": "updated", "jobs": move_on.len() });
            write.event(EventKind::Cron, data);
        } else {
            for (job, plan) in move_on {
                write.event(EventKind::Cron, change(&job.id, "updated", plan.next));
            }
        }
        write.commit().await
    }
}

/// A job that is planned, unless it cannot be read.
fn planned(row: Value) -> Option<PlannedJob> {
    let row: Planned = serde_json::from_value(row)
        .inspect_err(|error| tracing::warn!(%error, "a job's plan cannot be read"))
        .ok()?;
    let (id, next, until, settled_until, created_at, schedule) = row;
    let id = JobId::new(id);
    match stored_schedule_from_json(schedule.unwrap_or_default()) {
        Ok(schedule) => {
            let decided = DecidedSlots { until, settled_until };
            let plan = Plan { next: Some(next), decided };
            Some(PlannedJob { id, created_at: created_at.unwrap_or(UnixMs(0)), plan, schedule })
        }
        Err(error) => {
            let name = of_unread(id.as_str());
            tracing::warn!(job_id = %id, name, %error, "a job's schedule cannot be read");
            None
        }
    }
}

/// For a statement: `[[id, next run, decided until, settled until], …]`.
fn listed(plans: &[&(PlannedJob, Plan)]) -> String {
    let at = |at: &Option<UnixMs>| at.map(|at| at.0);
    let row = |(job, Plan { next, decided }): &&(PlannedJob, Plan)| {
        json!([job.id.as_str(), at(next), at(&decided.until), at(&decided.settled_until)])
    };
    Value::Array(plans.iter().map(row).collect()).to_string()
}
