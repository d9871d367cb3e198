//! What a person is shown before an agent changes their jobs: the job in words, and what would be different.
//!
//! What Rouse says of the job comes first and begins each line; what the agent has written stands behind it, each of its lines
//! further in. One could get it wrong by setting one behind the other: a line of the agent's would pass for one of Rouse's.

use rouse_core::job::facts;
use rouse_core::routines::{Routines, Wish};
use rouse_core::tool::ToolContext;
use serde_json::Value;

use super::shown;

/// The next times that are named.
const TIMES: usize = 3;

/// What carrying out `wish` would mean; or why it cannot be said.
pub(super) async fn about(
    routines: &dyn Routines,
    wish: &Wish,
    context: &ToolContext,
) -> Result<String, String> {
    let get = async |id: &str| {
        let answer = routines.ask(Wish::Get { id: id.to_owned() }, context).await;
        answer.map_err(|refusal| refusal.message)
    };
    match wish {
        Wish::Create { draft } => {
            let when = when(routines, &draft["schedule"], context).await?;
            Ok(format!("New job: {}\n{when}\n{}", name(draft), whole(draft)))
        }
        Wish::Update { id, patch, .. } => {
            let view = get(id).await?;
            let mut lines = vec![present("Change the job", &view, context)];
            if !patch["schedule"].is_null() {
                lines.push(format!(
                    "\nNew times:\n{}",
                    when(routines, &patch["schedule"], context).await?
                ));
            }
            lines.push(format!("\nWhat changes:\n{patch:#}"));
            Ok(lines.join("\n"))
        }
        Wish::Delete { id } => Ok(present("Delete the job", &get(id).await?, context)),
        Wish::Fire { id } => {
            Ok(present("Run at once, beside its schedule: the job", &get(id).await?, context))
        }
        Wish::List { .. } | Wish::Get { .. } | Wish::Preview { .. } | Wish::History { .. } => {
            Ok("Looks at the jobs and changes nothing.".to_owned())
        }
    }
}

/// The job as it stands.
fn present(what: &str, view: &Value, context: &ToolContext) -> String {
    let job = &view["job"];
    let when = shown::when(&view["scheduleText"], &view["zone"], context);
    format!("{what} {}\nWhen: {when}\n{}", name(job), whole(job))
}

fn name(job: &Value) -> String {
    in_one_line(&job["name"])
}

async fn when(
    routines: &dyn Routines,
    schedule: &Value,
    context: &ToolContext,
) -> Result<String, String> {
    let asked = Wish::Preview { schedule: schedule.clone() };
    let preview = routines.ask(asked, context).await.map_err(|refusal| refusal.message)?;
    let when = shown::when(&preview["text"], &preview["zone"], context);
    // Of a single time the words have said all.
    let most = if schedule["kind"] == "at" { 0 } else { TIMES };
    let next = preview["next"].as_array().into_iter().flatten().take(most);
    let next: Vec<&Value> = next.map(|slot| &slot["atMs"]).collect();
    let mut lines = vec![format!("When: {when}")];
    lines.extend(shown::slots(&next, context).iter().map(|slot| format!("      {slot}")));
    Ok(lines.join("\n"))
}

/// What it does, and whatever of the rest an agent can set.
fn whole(job: &Value) -> String {
    let mut lines = Vec::new();
    if job["enabled"] == false {
        lines.push("It is off: no time comes until it is switched on.".to_owned());
    }
    lines.extend(tools(&job["payload"]));
    let told = facts(job).into_iter().filter(|(about, _)| *about == "tells");
    lines.extend(told.map(|(_, outcomes)| format!("It tells you: {outcomes}.")));
    lines.push(does(&job["payload"]));
    let what_for = job["description"].as_str();
    lines.extend(what_for.map(|what_for| format!("What it is for:\n{}", further_in(what_for))));
    lines.join("\n")
}

/// The tools of an agent that may not use all of them.
fn tools(payload: &Value) -> Option<String> {
    match (&payload["useTools"], &payload["tools"]) {
        _ if payload["kind"] != "agentTurn" => None,
        (Value::Bool(false), _) => Some("It has no tools.".to_owned()),
        (_, Value::Array(tools)) => {
            let names: Vec<String> = tools.iter().map(in_one_line).collect();
            Some(format!("It has only these tools: {}.", names.join(", ")))
        }
        _ => None,
    }
}

/// All that it does, nothing cut off.
fn does(payload: &Value) -> String {
    let text = |key: &str| further_in(payload[key].as_str().unwrap_or_default());
    match payload["kind"].as_str() {
        Some("agentTurn") => format!("An agent works on:\n{}", text("message")),
        Some("systemEvent") => format!("You are reminded of:\n{}", text("text")),
        Some("toolCall") => {
            let tool = in_one_line(&payload["tool"]);
            format!("Calls {tool} with\n{}", further_in(&format!("{:#}", payload["arguments"])))
        }
        _ => String::new(),
    }
}

/// A name, which begins no line of its own.
fn in_one_line(name: &Value) -> String {
    name.as_str().unwrap_or_default().replace('\n', " ")
}

/// Somebody's words, each line of which begins further in than a line of Rouse's.
fn further_in(words: &str) -> String {
    let lines: Vec<String> = words.trim_end().split('\n').map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
