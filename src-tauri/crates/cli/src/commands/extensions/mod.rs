//! `rouse extensions …`: installed MCP servers and their tools.

mod prompt;
mod tools_page;
mod verify;

pub(super) use prompt::{ask_line, is_interactive};
pub(super) use tools_page::{ToolChoices, decide_tools};
pub(super) use verify::is_accepted;

use clap::Subcommand;
use rouse_core::extension::{ExtensionName, ToolAccess};
use rouse_core::job::Payload;
use rouse_core::text::escape_line;
use rouse_gateway::wire::{ChangeResult, ExtensionDetail, ExtensionRemoved, ExtensionsListResult};
use serde_json::{Value, json};

use crate::commands::cron::choice;
use crate::commands::mcp::update;
use crate::render::extension::{print_extension, print_extension_table};
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::list_jobs;
use crate::resolve::keyboard::is_confirmed;
use tools_page::accept_tools;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// List MCP servers with state and tools
    #[default]
    #[command(alias = "ls")]
    List,
    /// Show an extension: definition, state, tools
    Show(ExtensionArg),
    /// Read the new and changed tools of a server, and accept them
    Accept(AcceptArgs),
    /// Choose how calls of an accepted tool are judged
    Access {
        /// Name of the extension
        name: ExtensionName,
        /// Name of the tool at its server
        tool: String,
        /// Access
        #[arg(value_parser = choice::<ToolAccess>())]
        access: ToolAccess,
    },
    /// Let runs use a server
    Enable(ExtensionArg),
    /// Stop a server and keep runs from using it
    Disable(ExtensionArg),
    /// Remove a server with its tools, its private folder and its grants
    #[command(aliases = ["rm", "delete"])]
    Remove {
        /// Name of the extension
        name: ExtensionName,
        /// Remove without a prompt
        #[arg(long)]
        yes: bool,
    },
    /// Install another version of a package, or the same version again
    Update(update::UpdateArgs),
    /// Compare the files of packages with the accepted files; exit code 1 for a difference
    Verify {
        /// Name of the extension [default: all]
        name: Option<ExtensionName>,
    },
    /// Stop a server; the next use starts it
    Restart(ExtensionArg),
    /// Print the end of a server's error output
    Logs(ExtensionArg),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExtensionArg {
    /// Name of the extension
    name: ExtensionName,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AcceptArgs {
    /// Name of the extension
    name: ExtensionName,
    /// Hash of the page that you have read [default: print the page and ask]
    #[arg(long, value_name = "HASH")]
    accept: Option<String>,
    /// Tool that needs no approval; repeatable [default: by the claims of the server]
    #[arg(long, value_name = "TOOL")]
    reads_only: Vec<String>,
    /// Tool that needs an approval unless granted; repeatable
    #[arg(long, value_name = "TOOL")]
    ask: Vec<String>,
    /// Tool that needs an approval every time; repeatable
    #[arg(long, value_name = "TOOL")]
    always_ask: Vec<String>,
    /// Tool that is not offered; repeatable
    #[arg(long, value_name = "TOOL")]
    off: Vec<String>,
}

impl AcceptArgs {
    fn choices(&self) -> Result<ToolChoices, CliError> {
        let mut choices = ToolChoices::new();
        let flags = [
            (&self.reads_only, ToolAccess::ReadsOnly),
            (&self.ask, ToolAccess::Ask),
            (&self.always_ask, ToolAccess::AlwaysAsk),
            (&self.off, ToolAccess::Off),
        ];
        for (names, access) in flags {
            for name in names {
                if choices.insert(name.clone(), access).is_some_and(|earlier| earlier != access) {
                    let name = escape(name);
                    return Err(CliError::input(format!("{name}: choose one access for a tool")));
                }
            }
        }
        Ok(choices)
    }
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List => list(engine).await,
        Command::Show(ExtensionArg { name }) => {
            let print = |engine: &EngineConnection, detail: ExtensionDetail| {
                print_extension(engine, &detail);
            };
            engine.show("extensions.get", json!({ "name": name }), print).await
        }
        Command::Accept(args) => {
            let choices = args.choices()?;
            if let Some(hash) = &args.accept {
                return accept_tools(engine, &args.name, hash, choices).await;
            }
            if !engine.json {
                anstream::eprintln!("Starting {} …", args.name);
            }
            let answer = engine.call("extensions.review", json!({ "name": args.name })).await?;
            decide_tools(engine, answer, choices).await
        }
        Command::Access { name, tool, access } => {
            let params = json!({ "name": name, "tool": tool, "access": access });
            change(engine, "extensions.setAccess", params, "Changed.").await
        }
        Command::Enable(ExtensionArg { name }) => {
            let params = json!({ "name": name, "enabled": true });
            change(engine, "extensions.setEnabled", params, "Enabled.").await
        }
        Command::Disable(ExtensionArg { name }) => {
            let params = json!({ "name": name, "enabled": false });
            change(engine, "extensions.setEnabled", params, "Disabled.").await
        }
        Command::Remove { name, yes } => remove(engine, &name, yes).await,
        Command::Update(args) => update::run(args, engine).await,
        Command::Verify { name } => verify::run(name, engine).await,
        Command::Restart(ExtensionArg { name }) => {
            let params = json!({ "name": name });
            let done = "Stopped. The next use starts the server.";
            change(engine, "extensions.restart", params, done).await
        }
        Command::Logs(ExtensionArg { name }) => {
            engine.show("extensions.get", json!({ "name": name }), print_error_output).await
        }
    }
}

pub(super) async fn list(engine: &EngineConnection) -> Result<(), CliError> {
    let print = |_: &EngineConnection, found: ExtensionsListResult| {
        print_extension_table(&found.extensions);
    };
    engine.show("extensions.list", json!({}), print).await
}

/// Calls a method that changes one thing, and prints `done` or that nothing changed.
async fn change(
    engine: &EngineConnection,
    method: &str,
    params: Value,
    done: &str,
) -> Result<(), CliError> {
    let print = |_: &EngineConnection, result: ChangeResult| {
        anstream::println!("{}", if result.changed { done } else { "Nothing to change." });
    };
    engine.show(method, params, print).await
}

/// Removes an extension after a confirmation, because its private folder cannot be restored.
async fn remove(
    engine: &EngineConnection,
    name: &ExtensionName,
    yes: bool,
) -> Result<(), CliError> {
    let jobs = jobs_with(engine, name).await?;
    let uses = (!jobs.is_empty()).then(|| format!("Jobs that use {name}: {}.", jobs.join(", ")));
    if !yes {
        if !is_interactive(engine) {
            return Err(CliError::Refused(format!(
                "The private folder of {name} cannot be restored. To remove the server: rouse extensions remove {name} --yes"
            )));
        }
        if let Some(uses) = &uses {
            anstream::eprintln!("{uses} Their runs fail without it.");
        }
        let prompt = format!("Remove {name}, its tools, its private folder and its grants? [y/N] ");
        if !is_confirmed(&ask_line(&prompt).await?) {
            anstream::eprintln!("Nothing was removed.");
            return Ok(());
        }
    }
    let print = |_: &EngineConnection, removed: ExtensionRemoved| {
        anstream::println!("Removed {name}.");
        if removed.revoked_grants > 0 {
            anstream::println!("Revoked grants: {}", removed.revoked_grants);
        }
        if let Some(remains) = removed.manual_cleanup {
            anstream::println!("{}", escape(&remains));
        }
        if let Some(uses) = uses {
            anstream::println!(
                "{uses} Change them: rouse cron edit JOB. Remove them: rouse cron rm JOB"
            );
        }
    };
    engine.show("extensions.remove", json!({ "name": name }), print).await
}

/// The names of the jobs whose runs use a server, also of disabled jobs.
async fn jobs_with(
    engine: &EngineConnection,
    name: &ExtensionName,
) -> Result<Vec<String>, CliError> {
    let list = list_jobs(engine, true, None, usize::MAX).await?;
    let jobs = list["jobs"].as_array().into_iter().flatten().map(|view| &view["job"]);
    let names_server = |job: &&Value| {
        // silent-ok: the engine lists only jobs with a readable payload.
        let payload = serde_json::from_value::<Payload>(job["payload"].clone());
        payload.is_ok_and(|payload| payload.names_server(name))
    };
    let names = jobs.filter(names_server).filter_map(|job| job["name"].as_str());
    Ok(names.map(escape_line).collect())
}

fn print_error_output(_: &EngineConnection, detail: ExtensionDetail) {
    match detail.status.stderr_tail.as_deref().map(str::trim_end) {
        None | Some("") => anstream::println!("{} wrote no error output.", detail.name),
        Some(text) => anstream::println!("{}", escape(text)),
    }
}
