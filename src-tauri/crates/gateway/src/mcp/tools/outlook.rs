//! The outlook of a saved job: next times, tools that will ask for an approval, and what the person still has to do.
//!
//! Owns the sentences for the person. Never fails: the job is saved already, so a part that cannot be told becomes a sentence.

use rouse_core::text::escape_line;
use serde_json::{Value, json};

use super::tool_call::McpToolCall;

/// Number of next times.
const NEXT_TIMES: u32 = 5;
/// Maximum number of sentences, and of tools.
const MAX_ENTRIES: usize = 40;

/// Adds the outlook of the job in `view` to `value`.
pub(super) async fn add_outlook(value: &mut Value, view: &Value, call: &McpToolCall<'_>) {
    let job = &view["job"];
    let mut to_do: Vec<String> = view["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|warning| {
            let text = |key: &str| warning[key].as_str().unwrap_or_default();
            format!("{}: {}", text("field"), text("message"))
        })
        .collect();
    match next_times(job, call).await {
        Ok(next) => value["nextTimes"] = next,
        Err(message) => to_do.push(format!("The next times are unknown: {message}")),
    }
    match asking_tools(job, call).await {
        Ok(tools) => value["asksApproval"] = tools,
        Err(message) => to_do.push(format!("The tools of the runs are unknown: {message}")),
    }
    match missing_grants(job, call).await {
        Ok(sentences) => to_do.extend(sentences),
        Err(message) => to_do.push(format!("The grants are unknown: {message}")),
    }
    match pause(call).await {
        Ok(sentence) => to_do.extend(sentence),
        Err(message) => to_do.push(format!("The status is unknown: {message}")),
    }
    to_do.truncate(MAX_ENTRIES);
    value["personMustDo"] = to_do.into();
}

/// The next times on the person's clock; empty for a job without a time schedule.
async fn next_times(job: &Value, call: &McpToolCall<'_>) -> Result<Value, String> {
    let is_timed = ["at", "every", "cron"].iter().any(|kind| job["schedule"]["kind"] == *kind);
    if !is_timed || job["enabled"] == false {
        return Ok(json!([]));
    }
    let params = json!({ "schedule": job["schedule"], "id": job["id"], "count": NEXT_TIMES });
    let preview = call.read("cron.preview", params).await?;
    let next = preview["next"].as_array().into_iter().flatten();
    Ok(next.map(|slot| call.local_time(&slot["atMs"])).collect())
}

/// The tools of the runs whose calls may ask for an approval.
async fn asking_tools(job: &Value, call: &McpToolCall<'_>) -> Result<Value, String> {
    let effective = call.read("tools.effective", json!({ "id": job["id"] })).await?;
    let tools = effective["tools"].as_array().into_iter().flatten();
    let asking = tools.filter(|tool| tool["approval"] != "never");
    Ok(asking.take(MAX_ENTRIES).map(|tool| tool["name"].clone()).collect())
}

/// The hosts and folders that the task names and only the person can grant.
async fn missing_grants(job: &Value, call: &McpToolCall<'_>) -> Result<Vec<String>, String> {
    let checked = call.read("cron.check", json!({ "job": job })).await?;
    let id = job["id"].as_str().unwrap_or_default();
    let parts = [("hosts", "--hosts HOST"), ("folders", "--folder PATH")];
    let sentence = |(kind, flag): (&str, &str)| {
        let named = checked["offers"][kind].as_array()?.iter().filter_map(Value::as_str);
        let named: Vec<String> = named.map(escape_line).collect();
        let message = format!(
            "The task names the {kind} {}. Only the person can grant them: rouse cron edit {id} {flag}",
            named.join(", ")
        );
        (!named.is_empty()).then_some(message)
    };
    Ok(parts.into_iter().filter_map(sentence).collect())
}

/// Why no job fires now.
async fn pause(call: &McpToolCall<'_>) -> Result<Option<String>, String> {
    let status = call.read("cron.status", json!({})).await?;
    let reason = status["problem"].as_str().or(status["offReason"].as_str());
    let reason = reason.or((!status["pause"].is_null()).then_some("all jobs are paused"));
    Ok(reason.map(|reason| format!("No job fires now: {}.", reason.trim_end_matches('.'))))
}
