//! `rouse tools`.

use rouse_gateway::wire::{ToolApproval, ToolView, ToolsCatalogResult, ToolsEffectiveResult};
use serde_json::json;

use crate::cron::resolve;
use crate::exit::Failure;
use crate::output::{print, short, table};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only what the runs of this job are offered.
    #[arg(long, value_name = "ID")]
    job: Option<String>,
}

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    match args.job {
        None => {
            session
                .show("tools.catalog", json!({}), |_, catalog: ToolsCatalogResult| {
                    print_table(&catalog.tools);
                    Ok(())
                })
                .await
        }
        Some(job) => {
            let id = resolve(session, &job).await?;
            session
                .show("tools.effective", json!({ "id": id }), |_, found: ToolsEffectiveResult| {
                    print_table(&found.tools);
                    Ok(())
                })
                .await
        }
    }
}

fn print_table(tools: &[ToolView]) {
    if tools.is_empty() {
        anstream::println!("No tools.");
        return;
    }
    let mut table = table(&["TOOL", "ASKS", "WHAT IT DOES"]);
    for tool in tools {
        let asks = match tool.approval {
            ToolApproval::Never => "no",
            ToolApproval::UnlessGranted => "unless granted",
            ToolApproval::Always => "always",
        };
        table.add_row([tool.name.clone(), asks.to_owned(), short(&tool.description, 88)]);
    }
    print(&table);
}
