//! `cron.*`: jobs, and the pause of all jobs.

mod job_lookup;
mod schedule;
mod job_view;
mod channel;
mod condition;
mod tool_call;
mod estimate;
mod preview;
mod warnings;
mod transfer;
mod webhook;

pub(crate) use condition::try_condition;
pub(crate) use estimate::estimate;
pub(crate) use job_lookup::{find_job, followers};
pub(crate) use preview::preview;
pub(crate) use transfer::{export, import, ledger};
pub(crate) use warnings::{check, parse_draft};
pub(crate) use webhook::{check_webhook_signature, verify_webhook_secret, webhook};

use rouse_core::job::{Job, JobState, check_bounds, job_from_json, patch_job, to_json};
use rouse_core::{JobId, RunId, UnixMs};
use rouse_scheduler::{DeletedJob, SchedulerError};
use rouse_store::{JobPage, JobQuery, RunQuery, StoreError, UnreadableJob};
use serde_json::{Value, json};

use self::channel::check_channel;
use self::job_view::{incidents, job_view, job_views};
use self::tool_call::check_call;
use self::warnings::warnings_of;

use crate::context::Context;
use crate::convert::run_view;
use crate::error::RpcError;
use crate::handlers::input::check_secrets;
use crate::wire::{
    self, CronAddParams, CronListParams, CronListResult, CronPauseParams, CronRemoveParams,
    CronRemoveResult, CronRunParams, CronRunsParams, CronRunsResult, CronStatus, CronUpdateParams,
    EmptyObject, JobRef, JobView, ManualRunMode, NextSlotView, PauseView, SavedJob, StartedRun,
};

pub(crate) async fn list(
    context: &Context,
    params: CronListParams,
) -> Result<CronListResult, RpcError> {
    let query = JobQuery {
        include_disabled: params.include_disabled.unwrap_or(false),
        search: super::input::parse_search(params.search)?,
        limit: params.limit.unwrap_or(100).clamp(1, 500),
        after: params.cursor,
    };
    let is_first = query.after.is_none() && query.search.is_none();
    let page = match params.has_incident {
        Some(true) => jobs_with_incident(context, query).await?,
        Some(false) | None => context.store.jobs(&query).await?,
    };
    let broken = broken_jobs(context, is_first, page.unreadable).await?;
    Ok(CronListResult {
        jobs: job_views(context, &page.jobs).await?,
        broken,
        next_cursor: page.next,
    })
}

/// The unreadable jobs of a page; on the first page also all that were disabled as unreadable.
async fn broken_jobs(
    context: &Context,
    is_first: bool,
    page: Vec<UnreadableJob>,
) -> Result<Vec<wire::BrokenJob>, RpcError> {
    let mut all = if is_first { context.store.unreadable_jobs().await? } else { Vec::new() };
    for job in page {
        if all.iter().all(|known| known.id != job.id) {
            all.push(job);
        }
    }
    let view =
        |UnreadableJob { id, name, reason }| wire::BrokenJob { id: id.to_string(), name, reason };
    Ok(all.into_iter().map(view).collect())
}

/// A page of the jobs with an open incident. A page may end half full: filling the rest would read a few jobs at a time.
async fn jobs_with_incident(context: &Context, mut query: JobQuery) -> Result<JobPage, RpcError> {
    let limit = query.limit;
    let mut page = JobPage::default();
    // Only the first page knows the total, because jobs of earlier pages are not counted.
    let total = match query.after {
        None => Some(context.store.job_counts().await?.failing as usize),
        Some(_) => None,
    };
    while total.is_none_or(|total| page.jobs.len() < total) {
        let JobPage { jobs, unreadable, next } = context.store.jobs(&query).await?;
        let incidents = incidents(context, &jobs).await?;
        let failing = jobs.into_iter().filter(|job| incidents.contains_key(&job.id));
        page.jobs.extend(failing);
        page.unreadable.extend(unreadable);
        let found = u32::try_from(page.jobs.len()).unwrap_or(limit);
        query.limit = limit.saturating_sub(found);
        if next.is_none() || query.limit <= limit / 2 {
            page.next = next;
            break;
        }
        query.after = next;
    }
    Ok(page)
}

pub(crate) async fn get(context: &Context, params: JobRef) -> Result<JobView, RpcError> {
    let job = find_job(context, &params.id).await?;
    job_view(context, &job).await
}

pub(crate) async fn add(context: &Context, params: CronAddParams) -> Result<SavedJob, RpcError> {
    let job = add_job(context, params.0).await?;
    saved(context, &job).await
}

/// Checks and stores the job of a document.
pub(crate) async fn add_job(context: &Context, document: Value) -> Result<Job, RpcError> {
    check_bounds(&document)?;
    check_secrets(context, "", &document).await?;
    let mut job = job_from_json(document, context.clock.now(), context.clock.zones())?;
    // The engine owns the state: a last run in the future would prevent all firing.
    job.state = JobState { extra: job.state.extra, ..JobState::default() };
    check_call(context, &job).await?;
    check_channel(&context.channels.now(), &job, None)?;
    Ok(context.scheduler.add_job(job).await?)
}

async fn saved(context: &Context, job: &Job) -> Result<SavedJob, RpcError> {
    let warnings = warnings_of(context, job).await?;
    Ok(SavedJob { view: job_view(context, job).await?, warnings })
}

pub(crate) async fn update(
    context: &Context,
    params: CronUpdateParams,
) -> Result<SavedJob, RpcError> {
    // Only the patch is checked: existing content must not prevent another change.
    check_secrets(context, "", &params.patch).await?;
    let id = JobId::new(params.id.as_str());
    let changes_payload = params.patch.get("payload").is_some();
    if changes_payload || params.patch.pointer("/policies/deliverTo").is_some() {
        let current = find_job(context, &params.id).await?;
        let (now, zones) = (context.clock.now(), context.clock.zones());
        let patched = patch_job(&current, params.patch.clone(), now, zones)?;
        if changes_payload {
            check_call(context, &patched).await?;
        }
        check_channel(&context.channels.now(), &patched, Some(&current))?;
    }
    let job = context.scheduler.update_job(&id, params.patch, params.expected_revision).await?;
    saved(context, &job).await
}

pub(crate) async fn remove(
    context: &Context,
    params: CronRemoveParams,
) -> Result<CronRemoveResult, RpcError> {
    let (id, caller) = (JobId::new(params.id.as_str()), params.run_id.map(RunId::new));
    let withdrawn_approvals = pending_approvals_of_job(context, &id).await?;
    let removed = match context.scheduler.remove_job(&id, caller.as_ref()).await {
        // Removed, but an unreadable job cannot be restored.
        Err(SchedulerError::Store(StoreError::Unreadable { .. })) => {
            let job = Some(json!({ "id": params.id }));
            return Ok(CronRemoveResult {
                job,
                withdrawn_approvals,
                ..CronRemoveResult::default()
            });
        }
        removed => removed?,
    };
    let Some(DeletedJob { job, stopped_runs, caller_continues }) = removed else {
        return Ok(CronRemoveResult::default());
    };
    let followers = followers(context, &job.id).await?;
    Ok(CronRemoveResult {
        job: Some(to_json(&job)),
        followers,
        cancelled_runs: stopped_runs,
        withdrawn_approvals,
        caller_continues,
    })
}

async fn pending_approvals_of_job(context: &Context, job: &JobId) -> Result<u32, RpcError> {
    let pending = context.store.pending_approvals().await?;
    let of_job = pending.iter().filter(|approval| approval.job_id.as_ref() == Some(job)).count();
    Ok(u32::try_from(of_job).unwrap_or(u32::MAX))
}

pub(crate) async fn run(context: &Context, params: CronRunParams) -> Result<StartedRun, RpcError> {
    let job = find_job(context, &params.id).await?;
    let mode = params.mode.unwrap_or(ManualRunMode::Due);
    let run_id = match params.awaited_by {
        Some(waiting) => context.scheduler.run_awaited(&job.id, mode, &RunId::new(waiting)).await?,
        None => context.scheduler.run_now(&job.id, mode).await?,
    };
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

pub(crate) async fn status(context: &Context, _: EmptyObject) -> Result<CronStatus, RpcError> {
    let status = context.scheduler.status().await?;
    let counts = context.store.job_counts().await?;
    Ok(CronStatus {
        enabled: status.firing,
        off_reason: status.off_reason,
        problem: context.scheduler.problem(),
        pause: status.pause.map(|pause| PauseView { until_ms: pause.until.map(|at| at.0) }),
        next: status.next.map(|next| NextSlotView {
            job_id: next.job_id.to_string(),
            name: next.name,
            at_ms: next.at.0,
        }),
        running: status.running,
        between_attempts: status.between_attempts,
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
    if until.is_some_and(|until| until > UnixMs::LATEST) {
        return Err(RpcError::field("untilMs", "must be before the year 10000"));
    }
    context.scheduler.pause(until).await?;
    status(context, EmptyObject {}).await
}

pub(crate) async fn resume(context: &Context, _: EmptyObject) -> Result<CronStatus, RpcError> {
    context.scheduler.resume().await?;
    status(context, EmptyObject {}).await
}
