//! The planned slots of all jobs, in the table `jobs`: next slot and decided slots.
//!
//! All plans are read and written at once, after a clock or time zone change. Never plans.
//! Pitfall: writing every row as if the next slot had changed; two indexes and every client would process ten thousand
//! unchanged jobs.

use rouse_core::event::EventKind;
use rouse_core::job::Schedule;
use rouse_core::naming::of_unread;
use rouse_core::slots::{DecidedSlots, Plan};
use rouse_core::{JobId, UnixMs};
use serde_json::{Value, json};

use super::event_data::job_event;
use crate::sql::{
    Durability, Store, StoreError, if_valid_json, json_array, json_array_of, json_part, json_rows,
    json_text, json_value,
};

/// More moved jobs share one event: ten thousand events would prune all others.
const MAX_EVENTS: usize = 100;

/// A job with a next slot, and the facts for planning.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedJob {
    /// The job.
    pub id: JobId,
    /// When it was created.
    pub created_at: UnixMs,
    /// The next slot and the decided slots.
    pub plan: Plan,
    /// The trigger.
    pub schedule: Schedule,
}

/// The bound rows: id, next slot, decided until, settled until.
macro_rules! plans {
    () => {
        concat!(
            json_rows!("$1": 0 => "id", 1 => "next_run_at", 2 => "decided_until", 3 => "settled_until"),
            " AS planned"
        )
    };
}
pub(crate) const SET_NEXT: &str = concat!(
    "UPDATE jobs SET next_run_at = planned.next_run_at, decided_until = planned.decided_until,
        settled_until = planned.settled_until FROM ",
    plans!(),
    " WHERE jobs.id = planned.id"
);
/// For jobs that keep their next slot: writes no index.
pub(crate) const SET_DECIDED: &str = concat!(
    "UPDATE jobs SET decided_until = planned.decided_until, settled_until = planned.settled_until FROM ",
    plans!(),
    " WHERE jobs.id = planned.id"
);
/// One result row: every row costs a message between threads. The condition is that of the index `jobs_due`.
pub(crate) const PLANNED: &str = concat!(
    "SELECT ",
    json_array_of!(json_array!(concat!(
        "id, next_run_at, decided_until, settled_until, CAST(",
        if_valid_json!("definition", json_text!("definition", "createdAtMs")),
        " AS BIGINT), ",
        json_value!(if_valid_json!("definition", json_part!("definition", "schedule")))
    ))),
    " FROM jobs WHERE enabled = 1 AND next_run_at IS NOT NULL"
);

/// An element of `PLANNED`: id, next slot, decided until, settled until, created at, schedule.
type PlannedRow = (String, UnixMs, Option<UnixMs>, Option<UnixMs>, Option<UnixMs>, Option<Value>);

impl Store {
    /// All enabled jobs with a next slot. Logs and skips a job whose schedule cannot be read.
    pub async fn planned_jobs(&self) -> Result<Vec<PlannedJob>, StoreError> {
        let rows = self.fetch_optional("read the planned slots", sqlx::query(PLANNED)).await?;
        let Some(Value::Array(rows)) = rows else { return Ok(Vec::new()) };
        Ok(rows.into_iter().filter_map(parse_planned).collect())
    }

    /// Writes new plans of jobs as `planned_jobs` returned them; revisions stay. Event `cron` `updated` for each job whose
    /// next slot moved, or a single event without ids for many jobs.
    pub async fn save_plans(
        &self,
        plans: &[(PlannedJob, Plan)],
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let (kept, moved): (Vec<_>, Vec<_>) =
            plans.iter().partition(|(job, plan)| job.plan.next == plan.next);
        let mut tx = self.begin("save the planned slots", Durability::Normal, now).await?;
        if !kept.is_empty() {
            tx.execute(sqlx::query(SET_DECIDED).bind(plans_to_json(&kept))).await?;
        }
        if !moved.is_empty() {
            tx.execute(sqlx::query(SET_NEXT).bind(plans_to_json(&moved))).await?;
        }
        if moved.len() > MAX_EVENTS {
            tx.emit(EventKind::Cron, json!({ "action": "updated", "jobs": moved.len() }));
        } else {
            for (job, plan) in moved {
                tx.emit(EventKind::Cron, job_event(&job.id, "updated", plan.next));
            }
        }
        tx.commit().await
    }
}

fn parse_planned(row: Value) -> Option<PlannedJob> {
    let row: PlannedRow = serde_json::from_value(row)
        .inspect_err(|error| tracing::warn!(%error, "the plan of a job cannot be read"))
        .ok()?;
    let (id, next, until, settled_until, created_at, schedule) = row;
    let id = JobId::new(id);
    match serde_json::from_value(schedule.unwrap_or_default()) {
        Ok(schedule) => {
            let plan = Plan { next: Some(next), decided: DecidedSlots { until, settled_until } };
            Some(PlannedJob { id, created_at: created_at.unwrap_or(UnixMs(0)), plan, schedule })
        }
        Err(error) => {
            let name = of_unread(id.as_str());
            tracing::warn!(job_id = %id, name, %error, "the schedule of a job cannot be read");
            None
        }
    }
}

/// `[[id, next slot, decided until, settled until], …]`.
fn plans_to_json(plans: &[&(PlannedJob, Plan)]) -> String {
    let at = |at: &Option<UnixMs>| at.map(|at| at.0);
    let row = |(job, Plan { next, decided }): &&(PlannedJob, Plan)| {
        json!([job.id.as_str(), at(next), at(&decided.until), at(&decided.settled_until)])
    };
    Value::Array(plans.iter().map(row).collect()).to_string()
}
