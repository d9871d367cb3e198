//! `cron.*`.

mod channel;
mod condition;
mod estimate;
mod preview;
mod transfer;
mod warnings;
mod webhook;

pub(crate) use condition::try_condition;
pub(crate) use estimate::estimate;
pub(crate) use preview::preview;
pub(crate) use transfer::{export, import, ledger};
pub(crate) use warnings::{check, drafted};
pub(crate) use webhook::{knows as knows_webhook, webhook};

use std::collections::HashMap;

use rouse_agent::Complaint;
use rouse_core::incident::CONDITION;
use rouse_core::job::{
    Job, JobState, Payload, Schedule, ScheduleSpec, check_bounds, job_from_json, job_to_json,
    patch_job,
};
use rouse_core::schedule::month_start;
use rouse_core::slots::{DecidedSlots, Slots};
use rouse_core::{JobId, RunId, RunState, UnixMs};
use rouse_scheduler::RunMode as Asked;
use rouse_scheduler::{Removed, SchedulerError};
use rouse_store::{BrokenJob, JobPage, JobQuery, RunQuery, StoreError};

use serde_json::json;

use crate::context::Context;
use crate::convert::{incident_view, run_view, wire_state};
use crate::error::{ErrorCode, RpcError};
use crate::handlers::check_secrets;
use crate::handlers::spending::spent_view;
use crate::wire::{
    self, CronAddParams, CronListParams, CronListResult, CronPauseParams, CronRemoveParams,
    CronRemoveResult, CronRunParams, CronRunsParams, CronRunsResult, CronStatus, CronUpdateParams,
    Empty, Follower, IncidentView, JobRef, JobView, NextSlot, Pause, RunMode, SavedJob, StartedRun,
};

/// States shown beside a job.
const RECENT: u32 = 14;

pub(crate) async fn list(
    context: &Context,
    params: CronListParams,
) -> Result<CronListResult, RpcError> {
    let query = JobQuery {
        include_disabled: params.include_disabled.unwrap_or(false),
        search: super::words_of(params.search)?,
        limit: params.limit.unwrap_or(100).clamp(1, 500),
        after: params.cursor,
    };
    let is_first = query.after.is_none() && query.search.is_none();
    let page = match params.has_incident {
        Some(true) => failing(context, query).await?,
        Some(false) | None => context.store.jobs(&query).await?,
    };
    let broken = broken(context, is_first, page.broken).await?;
    Ok(CronListResult { jobs: views(context, &page.jobs).await?, broken, next_cursor: page.next })
}

/// Those of a page, and on the first one all that were switched off for it: whoever looks for the rest has not seen them.
async fn broken(
    context: &Context,
    is_first: bool,
    of_page: Vec<BrokenJob>,
) -> Result<Vec<wire::BrokenJob>, RpcError> {
    let mut all = if is_first { context.store.broken_jobs().await? } else { Vec::new() };
    for job in of_page {
        if all.iter().all(|known| known.id != job.id) {
            all.push(job);
        }
    }
    let view =
        |BrokenJob { id, name, reason }| wire::BrokenJob { id: id.to_string(), name, reason };
    Ok(all.into_iter().map(view).collect())
}

/// A page of the jobs with an open incident. It may end when it is half full, or the last of its places would be looked
/// for a few jobs at a time.
async fn failing(context: &Context, mut query: JobQuery) -> Result<JobPage, RpcError> {
    let most = query.limit;
    let mut page = JobPage::default();
    // Those of earlier pages are not counted, so only a first page can know that it has all.
    let all = match query.after {
        None => Some(context.store.job_counts().await?.failing as usize),
        Some(_) => None,
    };
    while all.is_none_or(|all| page.jobs.len() < all) {
        let JobPage { jobs, broken, next } = context.store.jobs(&query).await?;
        let incidents = incidents(context, &jobs).await?;
        let failing = jobs.into_iter().filter(|job| incidents.contains_key(&job.id));
        page.jobs.extend(failing);
        page.broken.extend(broken);
        let found = u32::try_from(page.jobs.len()).unwrap_or(most);
        query.limit = most.saturating_sub(found);
        if next.is_none() || query.limit <= most / 2 {
            page.next = next;
            break;
        }
        query.after = next;
    }
    Ok(page)
}

pub(crate) async fn get(context: &Context, params: JobRef) -> Result<JobView, RpcError> {
    let job = found(context, &params.id).await?;
    view(context, &job).await
}

pub(crate) async fn add(context: &Context, params: CronAddParams) -> Result<SavedJob, RpcError> {
    check_bounds(&params.0)?;
    check_secrets(context, "", &params.0).await?;
    let mut job = job_from_json(params.0, context.clock.now(), context.clock.zones())?;
    // What runs a job had is the engine's to say: a last run in the future would keep it from ever firing.
    job.state = JobState { extra: job.state.extra, ..JobState::default() };
    check_call(context, &job).await?;
    channel::check(&job, None)?;
    let job = context.scheduler.add_job(job).await?;
    saved(context, &job).await
}

async fn saved(context: &Context, job: &Job) -> Result<SavedJob, RpcError> {
    let warnings = warnings::of(context, job).await?;
    Ok(SavedJob { view: view(context, job).await?, warnings })
}

pub(crate) async fn update(
    context: &Context,
    params: CronUpdateParams,
) -> Result<SavedJob, RpcError> {
    // What it says besides is as old as it is, and no reason to refuse another change.
    check_secrets(context, "", &params.patch).await?;
    let id = JobId::new(params.id.as_str());
    if params.patch.get("payload").is_some() {
        let present = found(context, &params.id).await?;
        let (now, zones) = (context.clock.now(), context.clock.zones());
        let patched = patch_job(&present, params.patch.clone(), now, zones)?;
        check_call(context, &patched).await?;
        channel::check(&patched, Some(&present))?;
    }
    let job = context.scheduler.update_job(&id, params.patch, params.expected_revision).await?;
    saved(context, &job).await
}

pub(crate) async fn remove(
    context: &Context,
    params: CronRemoveParams,
) -> Result<CronRemoveResult, RpcError> {
    let (id, by) = (JobId::new(params.id.as_str()), params.run_id.map(RunId::new));
    let removed = match context.scheduler.remove_job(&id, by.as_ref()).await {
        // It is gone, and nothing that could be added again was in it.
        Err(SchedulerError::Store(StoreError::Unreadable { .. })) => {
            let job = Some(json!({ "id": params.id }));
            return Ok(CronRemoveResult { job, ..CronRemoveResult::default() });
        }
        removed => removed?,
    };
    let Some(Removed { job, ended, goes_on }) = removed else {
        return Ok(CronRemoveResult::default());
    };
    let followers = followers(context, &job.id).await?;
    Ok(CronRemoveResult { job: Some(job_to_json(&job)), followers, ended_runs: ended, goes_on })
}

/// Who is on and waits for `job`, by name.
pub(crate) async fn followers(context: &Context, job: &JobId) -> Result<Vec<Follower>, RpcError> {
    let mut followers = Vec::new();
    for other in context.store.listening_jobs().await? {
        if let ScheduleSpec::Event(trigger) = &other.schedule.spec
            && trigger.job_id() == Some(job.as_str())
        {
            followers.push(Follower { id: other.id.to_string(), name: other.name });
        }
    }
    followers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(followers)
}

pub(crate) async fn run(context: &Context, params: CronRunParams) -> Result<StartedRun, RpcError> {
    let job = found(context, &params.id).await?;
    let mode = match params.mode.unwrap_or(RunMode::Due) {
        RunMode::Due => Asked::Due,
        RunMode::Force => Asked::Force,
    };
    let run_id = match params.awaited_by {
        Some(by) => context.scheduler.run_awaited(&job.id, mode, &RunId::new(by)).await?,
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

pub(crate) async fn status(context: &Context, _: Empty) -> Result<CronStatus, RpcError> {
    let status = context.scheduler.status().await?;
    let counts = context.store.job_counts().await?;
    Ok(CronStatus {
        enabled: status.firing,
        off_reason: status.off_reason,
        problem: context.scheduler.problem(),
        pause: status.pause.map(|pause| Pause { until_ms: pause.until.map(|at| at.0) }),
        next: status.next.map(|next| NextSlot {
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
    status(context, Empty {}).await
}

pub(crate) async fn resume(context: &Context, _: Empty) -> Result<CronStatus, RpcError> {
    context.scheduler.resume().await?;
    status(context, Empty {}).await
}

/// A call that could only fail when it is made is refused when it is written down.
async fn check_call(context: &Context, job: &Job) -> Result<(), RpcError> {
    let Payload::ToolCall(call) = &job.payload else { return Ok(()) };
    match context.gate.tools().complaint(&call.tool, &call.arguments) {
        None => condition::check(context, job).await,
        Some(Complaint::Tool(message)) => Err(RpcError::field("payload.tool", &message)),
        Some(Complaint::Arguments(message)) => Err(RpcError::field("payload.arguments", &message)),
    }
}

/// The slots that a job would have by `schedule`, and what of them is decided; `id` names one that exists.
async fn slots_of(
    context: &Context,
    schedule: &Schedule,
    id: Option<&str>,
) -> Result<(Slots, DecidedSlots), RpcError> {
    let zones = context.clock.zones();
    let id = JobId::new(id.unwrap_or("new"));
    let (slots, decided) = match context.store.job(&id).await? {
        Some(job) => {
            let decided = match job.schedule.spec == schedule.spec {
                true => job.state.decided,
                false => job.state.decided.of_another_schedule(),
            };
            (Slots::of_job(schedule, &id, job.created_at, &zones), decided)
        }
        None => (Slots::compile(schedule, &id, &zones), DecidedSlots::default()),
    };
    Ok((slots.map_err(|reason| RpcError::field("schedule", &reason))?, decided))
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
    let mut live = context.store.live_runs(&ids).await?;
    let mut incidents = incidents(context, jobs).await?;
    let now = context.clock.now();
    let month = month_start(context.clock.zones().local(), now);
    let mut spent = context.store.spent_by_jobs(&ids, month, now).await?;
    let mut texts = Vec::with_capacity(jobs.len());
    for job in jobs {
        texts.push(schedule_text(context, &job.schedule.spec).await?);
    }
    let views = jobs.iter().zip(texts).map(|(job, (schedule_text, predecessor_is_gone))| JobView {
        job: job_to_json(job),
        schedule_text,
        predecessor_is_gone,
        zone: zone_of(context, job),
        recent: states(recent.remove(&job.id).unwrap_or_default()),
        incident: incidents.remove(&job.id),
        spent_this_month: spent_view(spent.remove(&job.id).unwrap_or_default()),
        live_run_ids: live
            .remove(&job.id)
            .unwrap_or_default()
            .iter()
            .map(RunId::to_string)
            .collect(),
    });
    Ok(views.collect())
}

/// Why jobs fail, as `job_counts` counts them: those that have failed since their last success, those that are off because
/// they did, and those that go well and whose results nobody can check. The newest failure is the one to show.
async fn incidents(
    context: &Context,
    jobs: &[Job],
) -> Result<HashMap<JobId, IncidentView>, RpcError> {
    let by_id: HashMap<&JobId, &Job> = jobs.iter().map(|job| (&job.id, job)).collect();
    let all: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
    let mut newest = HashMap::new();
    for incident in context.store.open_incidents_of(&all).await? {
        let is_unchecked = incident.class == CONDITION && !incident.taken_up;
        let shown = |job_id: &&JobId| {
            by_id.get(job_id).is_some_and(|job| {
                is_unchecked || job.state.consecutive_failures > 0 || incident.keeps_off(job)
            })
        };
        if let Some(job_id) = incident.job_id.as_ref().filter(shown) {
            newest.entry(job_id.clone()).or_insert_with(|| incident_view(&incident));
        }
    }
    Ok(newest)
}

/// When it fires, in words; a job that it comes after is called by its name. And whether that job is gone.
async fn schedule_text(context: &Context, spec: &ScheduleSpec) -> Result<(String, bool), RpcError> {
    let ScheduleSpec::Event(trigger) = spec else {
        return Ok((spec.describe(&context.clock.zones()), false));
    };
    let Some(id) = trigger.job_id() else {
        return Ok((spec.describe(&context.clock.zones()), false));
    };
    Ok(match context.store.job(&JobId::new(id)).await? {
        Some(job) => (trigger.describe_after(&job.name), false),
        None => (trigger.describe_after("a job that is gone"), true),
    })
}

fn states(states: Vec<RunState>) -> Vec<crate::wire::RunState> {
    states.into_iter().map(wire_state).collect()
}

/// The zone in which `schedule_text` tells the times of a job.
fn zone_of(context: &Context, job: &Job) -> Option<String> {
    match &job.schedule.spec {
        ScheduleSpec::Cron { tz, .. } => Some(tz.clone()),
        ScheduleSpec::At { tz, .. } => {
            Some(tz.clone().unwrap_or_else(|| context.clock.zone().name().to_owned()))
        }
        ScheduleSpec::Every { .. }
        | ScheduleSpec::Event(_)
        | ScheduleSpec::Webhook
        | ScheduleSpec::Manual => None,
    }
}
