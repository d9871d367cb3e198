//! `rouse tools`: the catalogue, what a job is offered, and a call to try one out.

mod trial;

use clap::Subcommand;
use rouse_core::words::with_sizes;
use rouse_gateway::wire::{
    ToolApproval, ToolView, ToolsCatalogResult, ToolsEffectiveResult, WithheldTool,
};
use serde_json::{Value, json};

use crate::cron::resolve;
use crate::exit::Failure;
use crate::output::{plain, print, short, table};
use crate::session::Session;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Only what the runs of this job are offered.
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Call a tool once and see what it answers. What changes something is asked about first.
    Try(trial::Args),
}

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    match args {
        Args { command: Some(Command::Try(args)), .. } => trial::run(args, session).await,
        Args { job: Some(job), .. } => {
            let id = resolve(session, &job).await?;
            let job = session.call("cron.get", json!({ "id": id })).await?;
            let asked = Asked::by(&job["job"]);
            session
                .show("tools.effective", json!({ "id": id }), |_, found: ToolsEffectiveResult| {
                    for why in found.problem.iter().chain(&found.ceiling) {
                        anstream::println!("{}", plain(why));
                    }
                    print_table(&found.tools, asked);
                    for WithheldTool { name, why } in &found.withheld {
                        anstream::println!(
                            "{name} is not offered, although granted. {}",
                            plain(why)
                        );
                    }
                    Ok(())
                })
                .await
        }
        Args { job: None, .. } => {
            session
                .show("tools.catalog", json!({}), |_, catalog: ToolsCatalogResult| {
                    print_table(&catalog.tools, Asked::You);
                    Ok(())
                })
                .await
        }
    }
}

/// Whom runs ask about a call that needs a yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    You,
    /// It is refused.
    Nobody,
    /// Nobody needs to be: the person has written the call.
    Author,
}

impl Asked {
    fn by(job: &Value) -> Self {
        match (job["payload"]["kind"].as_str(), job["policies"]["approvals"].as_str()) {
            (Some("toolCall"), _) => Self::Author,
            (_, None | Some("ask")) => Self::You,
            _ => Self::Nobody,
        }
    }
}

fn print_table(tools: &[ToolView], asked: Asked) {
    if tools.is_empty() {
        anstream::println!("No tools.");
        return;
    }
    let mut table = table(&["TOOL", "ASKS", "AT MOST", "WHAT IT DOES"]);
    for tool in tools {
        let most = match (tool.calls_per_minute, tool.calls_per_hour) {
            (Some(minute), Some(hour)) => format!("{minute}/min, {hour}/h"),
            _ => "no limit".to_owned(),
        };
        let does = match &tool.label {
            Some(label) => short(&format!("{label}: {}", with_sizes(&tool.description)), 72),
            None => short(&with_sizes(&tool.description), 72),
        };
        table.add_row([tool.name.clone(), asks(tool, asked).to_owned(), most, does]);
    }
    print(&table);
    for (tool, why) in tools.iter().filter_map(|tool| Some((tool, tool.why_not_here.as_ref()?))) {
        anstream::println!("{} cannot be called by a model here. {}", tool.name, plain(why));
    }
}

/// When it asks. One that never does by itself, and yet can change things beyond this computer, says so call by call.
const fn asks(tool: &ToolView, asked: Asked) -> &'static str {
    let is_by_call = tool.destructive && tool.open_world;
    match (tool.approval, asked) {
        (_, Asked::Author) => "no",
        (ToolApproval::Never, Asked::You) if is_by_call => "some calls",
        (ToolApproval::Never, Asked::Nobody) if is_by_call => "refuses some calls",
        (ToolApproval::Never, _) => "no",
        (ToolApproval::UnlessGranted, Asked::You) => "unless granted",
        (ToolApproval::UnlessGranted, Asked::Nobody) => "refused unless granted",
        (ToolApproval::Always, Asked::You) => "always",
        (ToolApproval::Always, Asked::Nobody) => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_follows_from_the_job() {
        let by = |kind: &str, approvals: Value| {
            Asked::by(
                &json!({ "payload": { "kind": kind }, "policies": { "approvals": approvals } }),
            )
        };
        assert_eq!(by("agentTurn", Value::Null), Asked::You);
        assert_eq!(by("agentTurn", json!("ask")), Asked::You);
        assert_eq!(by("agentTurn", json!("deny")), Asked::Nobody);
        assert_eq!(by("agentTurn", json!("skip")), Asked::Nobody);
        for approvals in [Value::Null, json!("ask"), json!("deny")] {
            assert_eq!(by("toolCall", approvals), Asked::Author, "its call was written by hand");
        }
    }
}
