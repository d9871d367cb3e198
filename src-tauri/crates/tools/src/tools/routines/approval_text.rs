//! The text of an approval for a change of jobs: the job and the changes.
//!
//! Rouse's statements come first and begin each line; the agent's text follows, indented. Pitfall: a line of the agent's text that
//! passes for a line of Rouse.

use rouse_core::job::job_facts;
use rouse_core::routines::{RoutineAuthor, RoutineRequest, Routines};
use rouse_core::tool::ToolContext;
use serde_json::Value;

use super::summary;

/// Upcoming slots shown.
const PREVIEW_SLOTS: usize = 3;

/// Describes the effect of a request; an error is a message.
pub(super) async fn describe(
    routines: &dyn Routines,
    wish: &RoutineRequest,
    context: &ToolContext,
) -> Result<String, String> {
    let get = async |id: &str| {
        let request = RoutineRequest::Get { id: id.to_owned() };
        let response = routines.ask(request, RoutineAuthor::Run(context)).await;
        response.map_err(|refusal| refusal.message)
    };
    match wish {
        RoutineRequest::Create { draft } => {
            let schedule = describe_schedule(routines, &draft["schedule"], context).await?;
            Ok(format!("New job: {}\n{schedule}\n{}", job_name(draft), describe_job(draft)))
        }
        RoutineRequest::Update { id, patch, .. } => {
            let view = get(id).await?;
            let mut lines = vec![describe_current("Change the job", &view, context)];
            if !patch["schedule"].is_null() {
                let schedule = describe_schedule(routines, &patch["schedule"], context).await?;
                lines.push(format!("\nNew schedule:\n{schedule}"));
            }
            lines.push(format!("\nChanges:\n{patch:#}"));
            Ok(lines.join("\n"))
        }
        RoutineRequest::Delete { id } => {
            Ok(describe_current("Delete the job", &get(id).await?, context))
        }
        RoutineRequest::Fire { id } => {
            Ok(describe_current("Run the job now:", &get(id).await?, context))
        }
        RoutineRequest::List { .. }
        | RoutineRequest::Get { .. }
        | RoutineRequest::Preview { .. }
        | RoutineRequest::History { .. } => Ok("Reads the jobs and changes nothing.".to_owned()),
    }
}

fn describe_current(action: &str, view: &Value, context: &ToolContext) -> String {
    let job = &view["job"];
    let schedule = summary::schedule_text(&view["scheduleText"], &view["zone"], context);
    format!("{action} {}\nSchedule: {schedule}\n{}", job_name(job), describe_job(job))
}

fn job_name(job: &Value) -> String {
    single_line(&job["name"])
}

async fn describe_schedule(
    routines: &dyn Routines,
    schedule: &Value,
    context: &ToolContext,
) -> Result<String, String> {
    let wish = RoutineRequest::Preview { schedule: schedule.clone() };
    let preview = routines.ask(wish, RoutineAuthor::Run(context)).await;
    let preview = preview.map_err(|refusal| refusal.message)?;
    let text = summary::schedule_text(&preview["text"], &preview["zone"], context);
    // The text of a single time is complete.
    let limit = if schedule["kind"] == "at" { 0 } else { PREVIEW_SLOTS };
    let next = preview["next"].as_array().into_iter().flatten().take(limit);
    let next: Vec<&Value> = next.map(|slot| &slot["atMs"]).collect();
    let mut lines = vec![format!("Schedule: {text}")];
    lines.extend(summary::slot_times(&next, context).iter().map(|slot| format!("      {slot}")));
    Ok(lines.join("\n"))
}

/// The job's state, tools, notifications, task and purpose.
fn describe_job(job: &Value) -> String {
    let mut lines = Vec::new();
    if job["enabled"] == false {
        lines.push("Disabled: it does not fire until it is enabled.".to_owned());
    }
    lines.extend(describe_tools(&job["payload"]));
    let delivery = ["Notify when", "Notify about", "Deliver", "Channel", "To", "Deliver to"];
    let facts = job_facts(job).into_iter().filter(|fact| delivery.contains(&fact.label.as_str()));
    lines.extend(facts.map(|fact| format!("{}: {}", fact.label, fact.text)));
    lines.push(describe_task(&job["payload"]));
    let purpose = job["description"].as_str();
    lines.extend(purpose.map(|purpose| format!("Purpose:\n{}", indent(purpose))));
    lines.join("\n")
}

/// The tools of an agent, if restricted.
fn describe_tools(payload: &Value) -> Option<String> {
    match (&payload["useTools"], &payload["tools"]) {
        _ if payload["kind"] != "agentTurn" => None,
        (Value::Bool(false), _) => Some("Tools: none.".to_owned()),
        (_, Value::Array(tools)) => {
            let names: Vec<String> = tools.iter().map(single_line).collect();
            Some(format!("Tools: only {}.", names.join(", ")))
        }
        _ => None,
    }
}

/// The whole task; never truncated.
fn describe_task(payload: &Value) -> String {
    let text = |key: &str| indent(payload[key].as_str().unwrap_or_default());
    match payload["kind"].as_str() {
        Some("agentTurn") => format!("Task of the agent:\n{}", text("message")),
        Some("systemEvent") => format!("Reminds you of:\n{}", text("text")),
        Some("toolCall") => {
            let tool = single_line(&payload["tool"]);
            format!("Calls {tool} with\n{}", indent(&format!("{:#}", payload["arguments"])))
        }
        _ => String::new(),
    }
}

fn single_line(name: &Value) -> String {
    name.as_str().unwrap_or_default().replace('\n', " ")
}

/// Indents the agent's text below Rouse's lines.
fn indent(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().split('\n').map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
