//! `rouse tools`: the catalogue, what a job is offered, and a call to try one out.

mod trial;

use clap::Subcommand;
use rouse_core::words::with_sizes;
use rouse_gateway::wire::{ToolApproval, ToolView, ToolsCatalogResult, ToolsEffectiveResult};
use serde_json::json;

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
            let asks = job["job"]["policies"]["approvals"].as_str().unwrap_or("ask") == "ask";
            session
                .show("tools.effective", json!({ "id": id }), |_, found: ToolsEffectiveResult| {
                    for why in found.problem.iter().chain(&found.ceiling) {
                        anstream::println!("{}", plain(why));
                    }
                    print_table(&found.tools, asks);
                    Ok(())
                })
                .await
        }
        Args { job: None, .. } => {
            session
                .show("tools.catalog", json!({}), |_, catalog: ToolsCatalogResult| {
                    print_table(&catalog.tools, true);
                    Ok(())
                })
                .await
        }
    }
}

/// Tools of runs that ask somebody, or nobody.
fn print_table(tools: &[ToolView], is_asked: bool) {
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
        table.add_row([tool.name.clone(), asks(tool, is_asked).to_owned(), most, does]);
    }
    print(&table);
    for (tool, why) in tools.iter().filter_map(|tool| Some((tool, tool.why_not_here.as_ref()?))) {
        anstream::println!("{} cannot be called by a model here. {}", tool.name, plain(why));
    }
}

/// When it asks. One that never does by itself, and yet can change things beyond this computer, says so call by call. What
/// nobody is asked about is refused.
const fn asks(tool: &ToolView, is_asked: bool) -> &'static str {
    match (tool.approval, is_asked) {
        (ToolApproval::Never, true) if tool.destructive && tool.open_world => "some calls",
        (ToolApproval::Never, false) if tool.destructive && tool.open_world => "refuses some calls",
        (ToolApproval::Never, _) => "no",
        (ToolApproval::UnlessGranted, true) => "unless granted",
        (ToolApproval::UnlessGranted, false) => "refused unless granted",
        (ToolApproval::Always, true) => "always",
        (ToolApproval::Always, false) => "refused",
    }
}
