//! Lookup of jobs by id, and of the jobs that follow a job.

use rouse_core::JobId;
use rouse_core::job::{Job, ScheduleSpec};

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::Follower;

pub(crate) async fn find_job(context: &Context, id: &str) -> Result<Job, RpcError> {
    let job = context.store.job(&JobId::new(id)).await?;
    job.ok_or_else(|| RpcError::new(ErrorCode::NotFound, format!("There is no job {id}.")))
}

/// The enabled jobs that start after `job`, by name.
pub(crate) async fn followers(context: &Context, job: &JobId) -> Result<Vec<Follower>, RpcError> {
    let mut followers = Vec::new();
    for other in context.store.event_jobs().await? {
        if let ScheduleSpec::Event(trigger) = &other.schedule.spec
            && trigger.job_id() == Some(job.as_str())
        {
            followers.push(Follower { id: other.id.to_string(), name: other.name });
        }
    }
    followers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(followers)
}
