//! The tools for runs, approvals and the main session.
//!
//! A wait ends at a final state, at an approval that only the person decides, or after its time limit, whichever is first: clients
//! end a call after about 60 s. Never decides an approval.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::summary::{SummaryLength, approval_summary, page, run_detail, run_summary};
use super::tool_call::{McpToolCall, parse};
use crate::wire::EventKindView;

/// Page size of a list of runs.
pub(super) const DEFAULT_RUNS: u32 = 15;
pub(super) const MAX_RUNS: u32 = 25;
/// Maximum time of a wait.
pub(super) const MAX_WAIT_SECONDS: u32 = 45;
/// Maximum number of approvals.
const MAX_APPROVALS: usize = 25;

const PERSON_DECIDES: &str =
    "Only the person decides approvals: in Rouse, or with `rouse approvals`.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RunsListArguments {
    job_id: Option<String>,
    states: Option<Vec<String>>,
    limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunIdArgument {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunWaitArguments {
    id: String,
    seconds: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WakeArguments {
    text: String,
    mode: Option<String>,
}

pub(super) async fn list(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let RunsListArguments { job_id, states, limit, cursor } = parse(arguments)?;
    let limit = limit.unwrap_or(DEFAULT_RUNS).clamp(1, MAX_RUNS);
    let params = json!({ "jobId": job_id, "states": states, "limit": limit, "cursor": cursor });
    let found = call.read("runs.list", params).await?;
    let runs = found["runs"].as_array().into_iter().flatten();
    let runs = runs.map(|run| run_summary(run, SummaryLength::Short, call)).collect();
    Ok(page("runs", runs, &found["nextCursor"]))
}

pub(super) async fn get(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let RunIdArgument { id } = parse(arguments)?;
    let detail = call.read("runs.get", json!({ "id": id })).await?;
    Ok(json!({ "run": run_detail(&detail, call) }))
}

/// Waits for the end of a run, and answers its state in any case.
pub(super) async fn wait(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let RunWaitArguments { id, seconds } = parse(arguments)?;
    let limit = u64::from(seconds.unwrap_or(MAX_WAIT_SECONDS).min(MAX_WAIT_SECONDS));
    // Subscribes before the first look, so that no change is missed.
    let mut events = call.gateway.events(call.gateway.newest_event().await);
    let mut detail = call.read("runs.get", json!({ "id": id })).await?;
    let change = async {
        while is_under_way(&detail["run"]) {
            let Some(event) = events.next().await else { break };
            let is_of_run = event.kind == EventKindView::Run && event.data["runId"] == id;
            if is_of_run || event.kind == EventKindView::Reset {
                detail = call.read("runs.get", json!({ "id": id })).await?;
            }
        }
        Ok::<(), String>(())
    };
    if let Ok(ended) = tokio::time::timeout(Duration::from_secs(limit), change).await {
        ended?;
    }
    let run = &detail["run"];
    let next = if is_under_way(run) {
        Some("The run is still under way. Call run_wait again.")
    } else {
        (run["state"] == "awaitingApproval").then_some(PERSON_DECIDES)
    };
    let mut value = json!({ "run": run_detail(&detail, call), "isUnderWay": is_under_way(run) });
    if let Some(next) = next {
        value["next"] = next.into();
    }
    Ok(value)
}

/// Whether the state may change without the person.
fn is_under_way(run: &Value) -> bool {
    ["queued", "running"].iter().any(|state| run["state"] == *state)
}

pub(super) async fn approvals(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let NoArguments {} = parse(arguments)?;
    let found = call.read("approvals.list", json!({})).await?;
    let approvals: Vec<&Value> = found["approvals"].as_array().into_iter().flatten().collect();
    let shown: Vec<Value> = approvals
        .iter()
        .take(MAX_APPROVALS)
        .map(|approval| approval_summary(approval, call))
        .collect();
    Ok(json!({ "approvals": shown, "count": approvals.len(), "note": PERSON_DECIDES }))
}

/// Queues a system event. The text is untrusted, because its author is a program outside Rouse.
pub(super) async fn wake(call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    let WakeArguments { text, mode } = parse(arguments)?;
    let mut params = json!({ "text": text, "mode": mode });
    if mode.as_deref() != Some("next-heartbeat") {
        params["reason"] = format!("MCP: {}", call.client).into();
    }
    let woken = call.gateway.wake_untrusted(params).await.map_err(|error| error.message)?;
    Ok(json!({ "outcome": woken["outcome"], "queuedEvents": woken["queued"] }))
}
