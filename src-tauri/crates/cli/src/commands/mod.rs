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
mod follow;

use clap::Subcommand;

use crate::command_line;
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

pub(crate) fn run(command: Command, json: bool) -> Result<(), CliError> {
    match command {
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command_line::command(), "rouse", &mut script);
            anstream::print!("{}", String::from_utf8_lossy(&script));
            Ok(())
        }
        Command::Serve(args) => serve::run(&args, json),
        Command::Stop => Err(CliError::input(STOP)),
        Command::McpConformance(args) => client_runtime()?.block_on(mcp::conformance::run(&args)),
        command => client_runtime()?.block_on(run_client(command, EngineConnection::find(json)?)),
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
        | Command::Stop
        | Command::McpConformance(_)
        | Command::Completions { .. } => unreachable!("BUG: handled without a client"),
    }
}
