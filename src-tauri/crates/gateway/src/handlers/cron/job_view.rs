//! Job views: the job with schedule text, recent runs, incident and spending.

use std::collections::HashMap;

use rouse_core::incident::CONDITION;
use rouse_core::job::{Job, to_json};
use rouse_core::schedule::month_start;
use rouse_core::{JobId, RunId};

use super::schedule::{schedule_text, schedule_zone};
use crate::context::Context;
use crate::convert::incident_view;
use crate::error::RpcError;
use crate::handlers::route_labels::RouteLabels;
use crate::handlers::spending::spent_view;
use crate::wire::{IncidentView, JobView};

/// Number of final states shown beside a job.
const RECENT_STATES: u32 = 14;

pub(super) async fn job_view(context: &Context, job: &Job) -> Result<JobView, RpcError> {
    let mut views = job_views(context, std::slice::from_ref(job)).await?;
    Ok(views.pop().expect("BUG: one view per job"))
}

pub(super) async fn job_views(context: &Context, jobs: &[Job]) -> Result<Vec<JobView>, RpcError> {
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
    let mut recent = context.store.recent_states(&ids, RECENT_STATES).await?;
    let mut live_runs = context.store.live_runs(&ids).await?;
    let mut incidents = incidents(context, jobs).await?;
    let now = context.clock.now();
    let month = month_start(context.clock.zones().local(), now);
    let mut spent = context.store.spent_by_jobs(&ids, month, now).await?;
    let mut texts = Vec::with_capacity(jobs.len());
    for job in jobs {
        texts.push(schedule_text(context, &job.schedule.spec).await?);
    }
    let labels = RouteLabels::of(context.channels.now());
    let views =
        jobs.iter().zip(texts).map(|(job, (schedule_text, is_predecessor_missing))| JobView {
            job: to_json(job),
            schedule_text,
            is_predecessor_missing,
            zone: schedule_zone(context, job),
            recent: recent.remove(&job.id).unwrap_or_default(),
            incident: incidents.remove(&job.id),
            spent_this_month: spent_view(spent.remove(&job.id).unwrap_or_default()),
            routes: labels.message_routes(Some(job)),
            live_run_ids: live_runs
                .remove(&job.id)
                .unwrap_or_default()
                .iter()
                .map(RunId::to_string)
                .collect(),
        });
    Ok(views.collect())
}

/// The newest open incident of each job, consistent with `job_counts`: failures since the last success, failures that disabled
/// the job, and conditions that cannot be evaluated.
pub(super) async fn incidents(
    context: &Context,
    jobs: &[Job],
) -> Result<HashMap<JobId, IncidentView>, RpcError> {
    let by_id: HashMap<&JobId, &Job> = jobs.iter().map(|job| (&job.id, job)).collect();
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
    let mut newest = HashMap::new();
    for incident in context.store.open_incidents_of(&ids).await? {
        let is_unchecked = incident.class == CONDITION && !incident.taken_up;
        let is_shown = |job_id: &&JobId| {
            by_id.get(job_id).is_some_and(|job| {
                is_unchecked
                    || job.state.consecutive_failures > 0
                    || incident.keeps_job_disabled(job)
            })
        };
        if let Some(job_id) = incident.job_id.as_ref().filter(is_shown) {
            newest.entry(job_id.clone()).or_insert_with(|| incident_view(&incident));
        }
    }
    Ok(newest)
}
