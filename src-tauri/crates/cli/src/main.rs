//! The `rouse` command: a client of the gateway, and `rouse serve`.
//!
//! Owns words and tables for the terminal. It decides nothing: every command is one call of a gateway method, and what
//! it prints with `--json` is that method's result as it came; the list of jobs has the heartbeat beside them.

mod exit;
mod command_line;
mod usage;
mod flags;
mod lengths;
mod output;
mod session;
mod cron;
mod runs;
mod wake;
mod heartbeat;
mod config;
mod tools;
mod models;
mod troubles;
mod secrets;
mod skills;
mod hooks;
mod ids;
mod approvals;
mod chat;
mod sessions;
mod grants;
mod status;
mod open;
mod backup;
mod doctor;
mod logs;
mod serve;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::exit::Failure;
use crate::session::Session;

/// Wakes agents on time.
///
/// Exit codes: 0 done · 1 failed · 2 wrong usage or input · 3 Rouse is not running or does not answer · 4 not found ·
/// 5 refused in the present state.
#[derive(Debug, Parser)]
#[command(name = "rouse", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// Print the gateway's answer as JSON, and a failure as one line of JSON on standard error.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Jobs: list, add, edit, run.
    #[command(alias = "jobs")]
    Cron(Of<cron::Command>),
    /// Runs: what happened.
    Runs(Of<runs::Command>),
    /// Tell the main session something.
    Wake(wake::Args),
    /// The periodic turn of the main session.
    Heartbeat(Of<heartbeat::Command>),
    /// The settings: read them, change them.
    Config(Of<config::Command>),
    /// The tools that runs can call.
    Tools(tools::Args),
    /// Models: connect one, list, test.
    Models(Of<models::Command>),
    /// Keys that requests name and no model sees.
    Secrets(Of<secrets::Command>),
    /// Instructions that jobs name: what there is, and what is trusted.
    Skills(Of<skills::Command>),
    /// Commands of yours that are told of runs or asked about them.
    Hooks,
    /// Write to the main session and see the answer.
    Chat(chat::Args),
    /// What was said: the main session and those of jobs with their models.
    Sessions(Of<sessions::Command>),
    /// What runs ask before they go on, and the answers.
    Approvals(Of<approvals::Command>),
    /// Standing answers: list them, take them back.
    Grants(Of<grants::Command>),
    /// The engine's state in a few lines.
    Status,
    /// Open Rouse in the browser, signed in.
    Open(open::Args),
    /// Back up jobs, runs, settings, skills and workspace text; without secrets.
    Backup(backup::BackupArgs),
    /// Bring a backup back. Rouse must be stopped.
    Restore(backup::RestoreArgs),
    /// Check this installation and say what to mend.
    Doctor,
    /// What the engine wrote down about its work.
    Logs(logs::Args),
    /// Run the engine without a desktop.
    Serve(serve::Args),
    /// What people look for who want Rouse to end.
    #[command(hide = true)]
    Stop,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// There is no such command: an engine ends where it was started, so that nothing starts it again behind its person's back.
const STOP: &str = "Rouse ends where it was started: press Ctrl+C where `rouse serve` runs, or choose Quit in the menu of the \
     tray icon. To keep it running and let nothing fire: rouse cron pause";

/// A noun and what is asked of it; alone it shows what there is.
#[derive(Debug, clap::Args)]
struct Of<C: Subcommand> {
    #[command(subcommand)]
    command: Option<C>,
}

impl<C: Subcommand + Default> Of<C> {
    fn asked(self) -> C {
        self.command.unwrap_or_default()
    }
}

fn main() -> std::process::ExitCode {
    if let Some(code) = rouse_host::read_page_if_asked() {
        return code;
    }
    output::end_where_nothing_can_be_printed();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match command_line::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage::refuse(&error, &arguments),
    };
    let json = cli.json;
    match command_line::check_environment().and_then(|()| run(cli)) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command_line::command(), "rouse", &mut script);
            anstream::print!("{}", String::from_utf8_lossy(&script));
            Ok(())
        }
        Command::Serve(args) => serve::run(&args, cli.json),
        Command::Stop => Err(Failure::input(STOP)),
        command => client_runtime()?.block_on(call(command, Session::find(cli.json)?)),
    }
}

/// One thread is enough for one call, and starts fastest.
fn client_runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

async fn call(command: Command, session: Session) -> Result<(), Failure> {
    match command {
        Command::Cron(of) => cron::run(of.asked(), &session).await,
        Command::Runs(of) => runs::run(of.asked(), &session).await,
        Command::Wake(args) => wake::run(args, &session).await,
        Command::Heartbeat(of) => heartbeat::run(&of.asked(), &session).await,
        Command::Config(of) => config::run(of.asked(), &session).await,
        Command::Models(of) => models::run(of.asked(), &session).await,
        Command::Secrets(of) => secrets::run(of.asked(), &session).await,
        Command::Skills(of) => skills::run(of.asked(), &session).await,
        Command::Hooks => hooks::run(&session).await,
        Command::Tools(args) => tools::run(args, &session).await,
        Command::Chat(args) => chat::run(args, &session).await,
        Command::Sessions(of) => sessions::run(of.asked(), &session).await,
        Command::Approvals(of) => approvals::run(of.asked(), &session).await,
        Command::Grants(of) => grants::run(of.asked(), &session).await,
        Command::Status => status::run(&session).await,
        Command::Open(args) => open::run(&args, &session).await,
        Command::Backup(args) => backup::run(&args, &session).await,
        Command::Restore(args) => backup::restore(&args, &session).await,
        Command::Doctor => doctor::run(&session).await,
        Command::Logs(args) => logs::run(&args, &session).await,
        Command::Serve(_) | Command::Stop | Command::Completions { .. } => {
            unreachable!("BUG: handled without a client")
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn words_that_people_try_first_find_their_way() {
        let parsed = |line: &[&str]| {
            let line = [&["rouse"], line].concat();
            Cli::try_parse_from(line).map(|cli| format!("{:?}", cli.command)).ok()
        };
        for (tried, meant) in [
            (&["jobs"][..], &["cron"][..]),
            (&["jobs", "list", "--all"], &["cron", "list", "--all"]),
            (&["cron", "ls"], &["cron", "list"]),
            (&["cron", "delete", "x"], &["cron", "rm", "x"]),
            (&["cron", "remove", "x"], &["cron", "rm", "x"]),
            (
                &["cron", "new", "--manual", "--message", "x"],
                &["cron", "add", "--manual", "--message", "x"],
            ),
            (
                &["cron", "create", "--manual", "--message", "x"],
                &["cron", "add", "--manual", "--message", "x"],
            ),
        ] {
            assert!(parsed(meant).is_some(), "{meant:?}");
            assert_eq!(parsed(tried), parsed(meant), "{tried:?}");
        }
        assert_eq!(parsed(&["stop"]).as_deref(), Some("Stop"));
        let help = Cli::command().render_long_help().to_string();
        assert!(!help.contains("  stop") && !help.contains("  jobs"), "{help}");
    }
}
