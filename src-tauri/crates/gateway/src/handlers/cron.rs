//! `cron.*`.

mod preview;
mod transfer;

pub(crate) use preview::preview;
pub(crate) use transfer::{export, import};

use std::collections::HashMap;

use rouse_agent::Complaint;
use rouse_core::job::{Job, Payload, ScheduleSpec, job_from_json, job_to_json, patch_job};
use rouse_core::{JobId, Run, RunState, UnixMs};
use rouse_scheduler::RunMode as Asked;
use rouse_store::{JobQuery, RunQuery};

use crate::context::Context;
use crate::convert::{run_view, wire_state};
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    CronAddParams, CronListParams, CronListResult, CronPauseParams, CronRemoveResult,
    CronRunParams, CronRunsParams, CronRunsResult, CronStatus, CronUpdateParams, Empty, JobRef,
    JobView, NextSlot, Pause, RunMode, StartedRun,
};

/// States shown beside a job.
const RECENT: u32 = 14;

pub(crate) async fn list(
    context: &Context,
    params: CronListParams,
) -> Result<CronListResult, RpcError> {
    let include_disabled = params.include_disabled.unwrap_or(false);
    let search = params.search.filter(|words| !words.trim().is_empty());
    let jobs = context.store.jobs(&JobQuery { include_disabled, search }).await?;
    Ok(CronListResult { jobs: views(context, &jobs).await? })
}

pub(crate) async fn get(context: &Context, params: JobRef) -> Result<JobView, RpcError> {
    let job = found(context, &params.id).await?;
    view(context, &job).await
}

pub(crate) async fn add(context: &Context, params: CronAddParams) -> Result<JobView, RpcError> {
    let job = job_from_json(params.0, context.clock.now(), context.clock.zone())?;
    check_call(context, &job)?;
    let job = context.scheduler.add_job(job).await?;
    view(context, &job).await
}

pub(crate) async fn update(
    context: &Context,
    params: CronUpdateParams,
) -> Result<JobView, RpcError> {
    let id = JobId::new(params.id.as_str());
    if params.patch.get("payload").is_some() {
        let present = found(context, &params.id).await?;
        let (now, zone) = (context.clock.now(), context.clock.zone());
        check_call(context, &patch_job(&present, params.patch.clone(), now, zone)?)?;
    }
    let job = context.scheduler.update_job(&id, params.patch, params.expected_revision).await?;
    view(context, &job).await
}

pub(crate) async fn remove(
    context: &Context,
    params: JobRef,
) -> Result<CronRemoveResult, RpcError> {
    let removed = context.scheduler.remove_job(&JobId::new(params.id)).await?;
    Ok(CronRemoveResult { job: removed.as_ref().map(job_to_json) })
}

pub(crate) async fn run(context: &Context, params: CronRunParams) -> Result<StartedRun, RpcError> {
    let job = found(context, &params.id).await?;
    let mode = match params.mode.unwrap_or(RunMode::Due) {
        RunMode::Due => Asked::Due,
        RunMode::Force => Asked::Force,
    };
    let run_id = context.scheduler.run_now(&job.id, mode).await?;
    Ok(StartedRun { run_id: run_id.map(|id| id.to_string()) })
}

pub(crate) async fn runs(
    context: &Context,
    params: CronRunsParams,
) -> Result<CronRunsResult, RpcError> {
    let limit = params.limit.unwrap_or(20).clamp(1, 500);
    let query = RunQuery { job_id: Some(JobId::new(params.id)), limit, ..RunQuery::default() };
    let page = context.store.runs(&query).await?;
    Ok(CronRunsResult { entries: page.runs.iter().map(run_view).collect() })
}

pub(crate) async fn status(context: &Context, _: Empty) -> Result<CronStatus, RpcError> {
    let status = context.scheduler.status().await?;
    let counts = context.store.job_counts().await?;
    Ok(CronStatus {
        enabled: status.firing,
        off_reason: status.off_reason,
        pause: status.pause.map(|pause| Pause { until_ms: pause.until.map(|at| at.0) }),
        next: status.next.map(|next| NextSlot {
            job_id: next.job_id.to_string(),
            name: next.name,
            at_ms: next.at.0,
        }),
        running: status.running,
        queued: status.queued,
        max_concurrent_runs: status.max_concurrent_runs,
        jobs: counts.all,
        enabled_jobs: counts.enabled,
        failing_jobs: counts.failing,
    })
}

pub(crate) async fn pause(
    context: &Context,
    params: CronPauseParams,
) -> Result<CronStatus, RpcError> {
    let until = params.until_ms.map(UnixMs);
    if until.is_some_and(|until| until <= context.clock.now()) {
        return Err(RpcError::field("untilMs", "must be in the future"));
    }
    context.scheduler.pause(until).await?;
    status(context, Empty {}).await
}

pub(crate) async fn resume(context: &Context, _: Empty) -> Result<CronStatus, RpcError> {
    context.scheduler.resume().await?;
    status(context, Empty {}).await
}

/// A call that could only fail when it is made is refused when it is written down.
fn check_call(context: &Context, job: &Job) -> Result<(), RpcError> {
    let Payload::ToolCall(call) = &job.payload else { return Ok(()) };
    match context.gate.tools().complaint(&call.tool, &call.arguments) {
        None => Ok(()),
        Some(Complaint::Tool(message)) => Err(RpcError::field("payload.tool", &message)),
        Some(Complaint::Arguments(message)) => Err(RpcError::field("payload.arguments", &message)),
    }
}

async fn found(context: &Context, id: &str) -> Result<Job, RpcError> {
    let job = context.store.job(&JobId::new(id)).await?;
    job.ok_or_else(|| RpcError::new(ErrorCode::NotFound, format!("There is no job {id}.")))
}

async fn view(context: &Context, job: &Job) -> Result<JobView, RpcError> {
    let mut views = views(context, std::slice::from_ref(job)).await?;
    Ok(views.pop().expect("BUG: one job has one view"))
}

async fn views(context: &Context, jobs: &[Job]) -> Result<Vec<JobView>, RpcError> {
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
    let mut recent = context.store.recent_states(&ids, RECENT).await?;
    let mut live = live_runs(context).await?;
    let views = jobs.iter().map(|job| JobView {
        job: job_to_json(job),
        schedule_text: job.schedule.spec.describe(context.clock.zone()),
        zone: zone_of(job),
        recent: states(recent.remove(&job.id).unwrap_or_default()),
        live_run_ids: live.remove(&job.id).unwrap_or_default(),
    });
    Ok(views.collect())
}

async fn live_runs(context: &Context) -> Result<HashMap<JobId, Vec<String>>, RpcError> {
    let running: Vec<Run> = context.store.running_runs().await?;
    let queued: Vec<Run> = context.store.queued_runs().await?;
    let mut live: HashMap<JobId, Vec<String>> = HashMap::new();
    for run in running.into_iter().chain(queued) {
        if let Some(job_id) = run.job_id {
            live.entry(job_id).or_default().push(run.id.to_string());
        }
    }
    Ok(live)
}

fn states(states: Vec<RunState>) -> Vec<crate::wire::RunState> {
    states.into_iter().map(wire_state).collect()
}

fn zone_of(job: &Job) -> Option<String> {
    match &job.schedule.spec {
        ScheduleSpec::Cron { tz, .. } => Some(tz.clone()),
        ScheduleSpec::At { tz, .. } => tz.clone(),
        ScheduleSpec::Every { .. } | ScheduleSpec::Manual => None,
    }
}
