//! `rouse tools`: the catalogue, the tools of a job, trial calls, and built tools.

mod built;
mod trial;

use clap::Subcommand;
use rouse_core::text::humanize_sizes;
use rouse_gateway::wire::{
    ApprovalRule, RefusedToolView, ToolView, ToolsCatalogResult, ToolsEffectiveResult, WithheldTool,
};
use serde_json::{Value, json};

use crate::render::table::{new_table, print_rows};
use crate::render::text::{escape, shorten};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Job whose tools are listed: id, id prefix or exact name [default: all tools]
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Call a tool once and print its output; side effects need an approval
    Try(trial::Args),
    /// Let an agent build a tool; it is tested, and installed only if you allow it
    #[command(before_help = BUILD_EXAMPLES)]
    Build(built::BuildArgs),
    /// Check a tool's folder: its manifest, and every test without a network
    Check {
        /// Folder with tool.toml and tool.js or tool.wasm
        #[arg(value_name = "FOLDER")]
        folder: String,
    },
    /// Install a tool's folder after its check
    Add(built::AddArgs),
    /// Built tools with their versions
    Built,
    /// Source, tests and permissions of a built tool
    Source(built::SourceArgs),
    /// Remove the versions of a built tool, except the installed one
    Remove {
        /// Built tool
        name: String,
    },
}

const BUILD_EXAMPLES: &str = "\
Examples:
  rouse tools build 'Tell the air quality of a city, from api.openaq.org'
  rouse tools build 'Add the humidity' --tool air-quality
";

pub(crate) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    match args {
        Args { command: Some(command), .. } => run_command(command, engine).await,
        Args { job: Some(job), .. } => {
            let id = find_job(engine, &job).await?;
            let job = engine.call("cron.get", json!({ "id": id })).await?;
            let source = ApprovalSource::of_job(&job["job"]);
            engine
                .show("tools.effective", json!({ "id": id }), |_, found: ToolsEffectiveResult| {
                    for reason in found.problem.iter().chain(&found.ceiling) {
                        anstream::println!("{}", escape(reason));
                    }
                    print_tools(&found.tools, source);
                    for WithheldTool { name, reason } in &found.withheld {
                        let reason = escape(reason);
                        anstream::println!("{name} is not offered, although granted. {reason}");
                    }
                })
                .await
        }
        Args { job: None, .. } => {
            engine
                .show("tools.catalog", json!({}), |_, catalog: ToolsCatalogResult| {
                    print_tools(&catalog.tools, ApprovalSource::User);
                    for RefusedToolView { name, reason } in &catalog.refused {
                        anstream::println!("{} is not offered. {}", escape(name), escape(reason));
                    }
                })
                .await
        }
    }
}

async fn run_command(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::Try(args) => trial::run(args, engine).await,
        Command::Build(args) => built::build(args, engine).await,
        Command::Check { folder } => built::check(&folder, engine).await,
        Command::Add(args) => built::add(args, engine).await,
        Command::Built => built::list(engine).await,
        Command::Source(args) => built::source(args, engine).await,
        Command::Remove { name } => built::remove(&name, engine).await,
    }
}

/// The source of approvals for a job's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApprovalSource {
    User,
    /// Calls that need an approval are refused.
    None,
    /// The author of the job wrote the call.
    JobAuthor,
}

impl ApprovalSource {
    fn of_job(job: &Value) -> Self {
        match (job["payload"]["kind"].as_str(), job["policies"]["approvals"].as_str()) {
            (Some("toolCall"), _) => Self::JobAuthor,
            (_, None | Some("ask")) => Self::User,
            _ => Self::None,
        }
    }
}

fn print_tools(tools: &[ToolView], source: ApprovalSource) {
    if tools.is_empty() {
        anstream::println!("No tools.");
        return;
    }
    let mut table = new_table(&["TOOL", "APPROVAL", "RATE LIMIT", "DESCRIPTION"]);
    for tool in tools {
        let rate_limit = match (tool.calls_per_minute, tool.calls_per_hour) {
            (Some(minute), Some(hour)) => format!("{minute}/min, {hour}/h"),
            _ => "no limit".to_owned(),
        };
        let description = humanize_sizes(&tool.description);
        let description = match &tool.label {
            Some(label) => shorten(&format!("{label}: {description}"), 72),
            None => shorten(&description, 72),
        };
        let approval = approval_text(tool, source).to_owned();
        table.add_row([tool.name.clone(), approval, rate_limit, description]);
    }
    print_rows(&table);
    for tool in tools {
        if let Some(reason) = &tool.unavailable_reason {
            anstream::println!("{} is not available to models. {}", tool.name, escape(reason));
        }
    }
}

/// When a call needs an approval. A tool without approval that can change remote systems decides per call.
const fn approval_text(tool: &ToolView, source: ApprovalSource) -> &'static str {
    let is_per_call = tool.destructive && tool.open_world;
    match (tool.approval, source) {
        (_, ApprovalSource::JobAuthor) => "no",
        (ApprovalRule::Never, ApprovalSource::User) if is_per_call => "some calls",
        (ApprovalRule::Never, ApprovalSource::None) if is_per_call => "refuses some calls",
        (ApprovalRule::Never, _) => "no",
        (ApprovalRule::UnlessGranted, ApprovalSource::User) => "unless granted",
        (ApprovalRule::UnlessGranted, ApprovalSource::None) => "refused unless granted",
        (ApprovalRule::Always, ApprovalSource::User) => "always",
        (ApprovalRule::Always, ApprovalSource::None) => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_source_follows_from_the_job() {
        let source = |kind: &str, approvals: Value| {
            ApprovalSource::of_job(
                &json!({ "payload": { "kind": kind }, "policies": { "approvals": approvals } }),
            )
        };
        assert_eq!(source("agentTurn", Value::Null), ApprovalSource::User);
        assert_eq!(source("agentTurn", json!("ask")), ApprovalSource::User);
        assert_eq!(source("agentTurn", json!("deny")), ApprovalSource::None);
        assert_eq!(source("agentTurn", json!("skip")), ApprovalSource::None);
        for approvals in [Value::Null, json!("ask"), json!("deny")] {
            assert_eq!(source("toolCall", approvals), ApprovalSource::JobAuthor);
        }
    }
}
