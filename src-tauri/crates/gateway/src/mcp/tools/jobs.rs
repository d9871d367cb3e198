//! The tools for jobs.
//!
//! Each change is a request of an agent (`core::routines`). A deletion needs the name beside the id, so that a wrong id deletes
//! nothing.

use rouse_core::routines::RoutineRequest;
use serde::Deserialize;
use serde_json::{Value, json};

use super::draft::{OutsideJobFields, OutsideSchedule};
use super::outlook::add_outlook;
use super::summary::{SummaryLength, job_summary, page};
use super::tool_call::{McpToolCall, parse};

/// Page size of a list of jobs.
pub(super) const DEFAULT_JOBS: u32 = 15;
pub(super) const MAX_JOBS: u32 = 25;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobsListArguments {
    search: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobIdArgument {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobPreviewArguments {
    schedule: OutsideSchedule,
    count: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobDeleteArguments {
    id: String,
    name: String,
}

pub(super) async fn list(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let JobsListArguments { search, limit, cursor } = parse(arguments)?;
    let limit = limit.unwrap_or(DEFAULT_JOBS).clamp(1, MAX_JOBS);
    let found = call.request(RoutineRequest::List { search, limit, cursor }).await?;
    let jobs = found["jobs"].as_array().into_iter().flatten();
    let jobs = jobs.map(|view| job_summary(view, SummaryLength::Short, call)).collect();
    Ok(page("jobs", jobs, &found["nextCursor"]))
}

pub(super) async fn get(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let JobIdArgument { id } = parse(arguments)?;
    let view = call.request(RoutineRequest::Get { id }).await?;
    let mut value = json!({ "job": job_summary(&view, SummaryLength::Long, call) });
    value["recentStates"] = view["recent"].clone();
    value["activeRuns"] = view["liveRunIds"].clone();
    Ok(value)
}

pub(super) async fn preview(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let JobPreviewArguments { schedule, count } = parse(arguments)?;
    let schedule = schedule.into_document(&*call.gateway.context().clock)?;
    let params = json!({ "schedule": schedule, "count": count.unwrap_or(5).clamp(1, 20) });
    let preview = call.read("cron.preview", params).await?;
    let next = preview["next"].as_array().into_iter().flatten();
    let next: Vec<Value> = next.map(|slot| call.local_time(&slot["atMs"])).collect();
    Ok(json!({
        "schedule": preview["text"],
        "zone": preview["zone"],
        "nextTimes": next,
        "notes": preview["notes"],
    }))
}

pub(super) async fn create(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let fields: OutsideJobFields = parse(arguments)?;
    let draft = fields.into_document(&*call.gateway.context().clock)?;
    let is_missing = |key: &str| draft.get(key).is_none_or(Value::is_null);
    if let Some(key) = ["name", "schedule"].into_iter().find(|key| is_missing(key)) {
        return Err(format!("{key}: is required."));
    }
    if is_missing("sessionTarget") {
        return Err("The job has no task. Give message or reminder.".to_owned());
    }
    let view = call.request(RoutineRequest::Create { draft: draft.into() }).await?;
    saved(call, &view).await
}

pub(super) async fn update(call: &McpToolCall<'_>, mut arguments: Value) -> Result<Value, String> {
    let mut take = |key: &str| {
        let fields = arguments.as_object_mut()?;
        fields.remove(key)
    };
    let id = take("id").and_then(|id| id.as_str().map(str::to_owned));
    let id = id.ok_or("id: is required, as a text.")?;
    let revision = take("revision").and_then(|revision| revision.as_i64());
    let revision = revision.ok_or("revision: is required, as a number from job_get.")?;
    let fields: OutsideJobFields = parse(arguments)?;
    let patch = fields.into_document(&*call.gateway.context().clock)?;
    if patch.is_empty() {
        return Err("There is nothing to change: only the id was given.".to_owned());
    }
    let request = RoutineRequest::Update { id, patch: patch.into(), revision };
    let view = call.request(request).await?;
    saved(call, &view).await
}

async fn saved(call: &McpToolCall<'_>, view: &Value) -> Result<Value, String> {
    let mut value = json!({ "job": job_summary(view, SummaryLength::Short, call) });
    add_outlook(&mut value, view, call).await;
    Ok(value)
}

pub(super) async fn delete(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let JobDeleteArguments { id, name } = parse(arguments)?;
    let view = call.request(RoutineRequest::Get { id: id.clone() }).await?;
    if view["job"]["name"] != name {
        return Err(format!(
            "Nothing was deleted: the job {id} has another name. Look it up with job_get and give the exact name."
        ));
    }
    let removed = call.request(RoutineRequest::Delete { id }).await?;
    let followers = removed["followers"].as_array().into_iter().flatten();
    let followers: Vec<Value> = followers.map(|follower| follower["name"].clone()).collect();
    Ok(json!({
        "deleted": name,
        "jobsThatWaitedForIt": followers,
        "cancelledRuns": removed["cancelledRuns"],
        "withdrawnApprovals": removed["withdrawnApprovals"],
    }))
}

pub(super) async fn run_now(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let JobIdArgument { id } = parse(arguments)?;
    let started = call.request(RoutineRequest::Fire { id }).await?;
    Ok(json!({ "runId": started["runId"], "next": "Call run_wait with the runId." }))
}
