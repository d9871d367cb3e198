//! The commands, one module each.

mod cron;
mod runs;
mod wake;
mod heartbeat;
mod config;
mod tools;
mod models;
mod channels;
mod devices;
mod secrets;
mod skills;
mod extensions;
mod mcp;
mod agents;
mod hooks;
mod chat;
mod sessions;
mod approvals;
mod grants;
mod status;
mod open;
mod backup;
mod doctor;
mod logs;
mod serve;
mod dial;
mod follow;

use std::process::ExitCode;

use clap::Subcommand;

use crate::command_line::{self, Cli};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Jobs: list, add, edit, run
    #[command(alias = "jobs")]
    Cron(CommandGroup<cron::Command>),
    /// Run history
    Runs(CommandGroup<runs::Command>),
    /// Queue a system event for the main session
    Wake(wake::Args),
    /// Heartbeat of the main session
    Heartbeat(CommandGroup<heartbeat::Command>),
    /// Settings: show, change
    Config(CommandGroup<config::Command>),
    /// Tools that runs can call
    Tools(tools::Args),
    /// Models: connect, list, test
    Models(CommandGroup<models::Command>),
    /// Channels of messages: list, add, test, remove
    Channels(CommandGroup<channels::Command>),
    /// Browsers and phones that may use Rouse: list, pair, revoke
    Devices(CommandGroup<devices::Command>),
    /// Secrets that requests name and no model sees
    Secrets(CommandGroup<secrets::Command>),
    /// Skills: search, add, list, show, trust, remove
    Skills(CommandGroup<skills::Command>),
    /// MCP servers: search, add, import, list; Rouse as a server: serve, install
    Mcp(CommandGroup<mcp::Command>),
    /// Coding agents that work on tasks: list, add
    Agents(CommandGroup<agents::Command>),
    /// Installed MCP servers: show, accept tools, enable, remove
    Extensions(CommandGroup<extensions::Command>),
    /// Hooks of the settings file
    Hooks,
    /// Send a message to the main session and print the answer
    Chat(chat::Args),
    /// Transcripts of the main session and of agent jobs
    Sessions(CommandGroup<sessions::Command>),
    /// Approvals: list, show, allow, answer, deny
    Approvals(CommandGroup<approvals::Command>),
    /// Grants: list, revoke
    Grants(CommandGroup<grants::Command>),
    /// Status of the engine
    Status,
    /// Open Rouse in the browser, signed in
    Open(open::Args),
    /// Back up jobs, runs, settings, skills and workspace text; without secrets
    Backup(backup::BackupArgs),
    /// Restore a backup; Rouse must be stopped
    Restore(backup::RestoreArgs),
    /// Check this installation and suggest fixes
    Doctor,
    /// Log of the engine
    Logs(logs::Args),
    /// Run the engine without a desktop
    Serve(serve::Args),
    /// Connect this computer's Rouse to standard input and output, for `rouse --on` on another computer
    #[command(hide = true)]
    Dial,
    /// Refused with instructions
    #[command(hide = true)]
    Stop,
    /// Visit a server of the MCP conformance suite
    #[command(hide = true)]
    McpConformance(mcp::conformance::Args),
    /// Print a completion script for a shell
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

/// The refusal of `rouse stop`: an engine ends only where it was started, so that no service restarts it unnoticed.
const STOP: &str = "Rouse ends where it was started: press Ctrl+C where `rouse serve` runs, or choose Quit in the menu of the \
     tray icon. To keep it running and let nothing fire: rouse cron pause";

/// The refusal of `rouse serve --on`.
const SERVE_ON: &str = "`rouse serve` starts an engine on this computer, without --on and ROUSE_ON. Start an engine on another \
     computer there, best as a service: see docs/running.md";

/// A noun with subcommands; without a subcommand, the default subcommand runs.
#[derive(Debug, clap::Args)]
pub(crate) struct CommandGroup<C: Subcommand> {
    #[command(subcommand)]
    command: Option<C>,
}

impl<C: Subcommand + Default> CommandGroup<C> {
    fn into_command(self) -> C {
        self.command.unwrap_or_default()
    }
}

/// The variable with the default of `--on`.
const ON_VARIABLE: &str = "ROUSE_ON";

impl Command {
    /// The command, if it needs files, a desktop or a process of the engine's computer.
    const fn local_name(&self) -> Option<&'static str> {
        match self {
            Self::Open(_) => Some("`rouse open`"),
            Self::Restore(_) => Some("`rouse restore`"),
            Self::Doctor => Some("`rouse doctor`"),
            Self::Logs(_) => Some("`rouse logs`"),
            Self::Mcp(CommandGroup { command: Some(command) }) => command.local_name(),
            _ => None,
        }
    }
}

/// Runs the command. Returns the exit code of a success.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, CliError> {
    match cli.command {
        Command::Dial => dial::run(),
        command => run_command(command, cli.json, cli.on).map(|()| ExitCode::SUCCESS),
    }
}

fn run_command(command: Command, json: bool, on: Option<String>) -> Result<(), CliError> {
    // silent-ok: the environment has been checked.
    let on = on.or_else(|| std::env::var(ON_VARIABLE).ok()).filter(|on| !on.is_empty());
    match command {
        Command::Serve(_) if on.is_some() => Err(CliError::input(SERVE_ON)),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command_line::command(), "rouse", &mut script);
            anstream::print!("{}", String::from_utf8_lossy(&script));
            Ok(())
        }
        Command::Serve(args) => serve::run(&args, json),
        Command::Stop => Err(CliError::input(STOP)),
        Command::McpConformance(args) => client_runtime()?.block_on(mcp::conformance::run(&args)),
        command => {
            let engine = EngineConnection::find(json, on.as_deref())?;
            if let Some(name) = command.local_name() {
                engine.require_this_computer(name)?;
            }
            client_runtime()?.block_on(run_client(command, engine))
        }
    }
}

/// A single thread is enough for a call, and starts fastest.
fn client_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

async fn run_client(command: Command, engine: EngineConnection) -> Result<(), CliError> {
    match command {
        Command::Cron(group) => cron::run(group.into_command(), &engine).await,
        Command::Runs(group) => runs::run(group.into_command(), &engine).await,
        Command::Wake(args) => wake::run(args, &engine).await,
        Command::Heartbeat(group) => heartbeat::run(&group.into_command(), &engine).await,
        Command::Config(group) => config::run(group.into_command(), &engine).await,
        Command::Models(group) => models::run(group.into_command(), &engine).await,
        Command::Channels(group) => channels::run(group.into_command(), &engine).await,
        Command::Devices(group) => devices::run(group.into_command(), &engine).await,
        Command::Secrets(group) => secrets::run(group.into_command(), &engine).await,
        Command::Skills(group) => skills::run(group.into_command(), &engine).await,
        Command::Mcp(group) => mcp::run(group.into_command(), &engine).await,
        Command::Agents(group) => agents::run(group.into_command(), &engine).await,
        Command::Extensions(group) => extensions::run(group.into_command(), &engine).await,
        Command::Hooks => hooks::run(&engine).await,
        Command::Tools(args) => tools::run(args, &engine).await,
        Command::Chat(args) => chat::run(args, &engine).await,
        Command::Sessions(group) => sessions::run(group.into_command(), &engine).await,
        Command::Approvals(group) => approvals::run(group.into_command(), &engine).await,
        Command::Grants(group) => grants::run(group.into_command(), &engine).await,
        Command::Status => status::run(&engine).await,
        Command::Open(args) => open::run(&args, &engine).await,
        Command::Backup(args) => backup::run(&args, &engine).await,
        Command::Restore(args) => backup::restore(&args, &engine).await,
        Command::Doctor => doctor::run(&engine).await,
        Command::Logs(args) => logs::run(&args, &engine).await,
        Command::Serve(_)
        | Command::Dial
        | Command::Stop
        | Command::McpConformance(_)
        | Command::Completions { .. } => unreachable!("BUG: handled without a client"),
    }
}
