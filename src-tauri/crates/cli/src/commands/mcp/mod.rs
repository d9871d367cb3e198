//! `rouse mcp …`: searching, adding and importing MCP servers, signing in, and Rouse as an MCP server of other programs.
//! `rouse extensions` shows and changes the installed servers.

mod add;
mod definition;
mod oauth_flags;
mod package;
mod search;
mod install_progress;
pub(super) mod update;
mod import;
mod login;
mod serve;
mod client_setup;
mod tokens;
pub(crate) mod conformance;

pub(super) use add::{InstallOffer, accepting_command, offer_install};
pub(super) use definition::{DefinitionArgs, ProgramArgs, runtime_program};

use clap::Subcommand;

use crate::commands::extensions;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// Install an MCP server, or update its definition
    #[command(before_help = add::EXAMPLES)]
    Add(Box<add::Args>),
    /// Search the registry of the settings for MCP servers
    Search(search::SearchArgs),
    /// Install MCP servers from the settings of Claude, Cursor, VS Code, Codex or Goose
    #[command(before_help = import::EXAMPLES)]
    Import(import::Args),
    /// List MCP servers; the same as `rouse extensions list`
    #[default]
    #[command(alias = "ls")]
    List,
    /// Sign in at a server over HTTP, in a browser
    Login(login::LoginArgs),
    /// Delete the tokens of a server over HTTP
    Logout(login::LogoutArgs),
    /// Serve Rouse to an MCP client over standard input and output
    Serve,
    /// Add Rouse to the settings of an MCP client
    Install(client_setup::Args),
    /// Tokens for MCP clients that reach Rouse by URL: list, create, revoke
    Tokens {
        #[command(subcommand)]
        command: Option<tokens::Command>,
    },
}

impl Command {
    /// The command, if it needs files or a browser of the engine's computer.
    pub(crate) const fn local_name(&self) -> Option<&'static str> {
        match self {
            Self::Import(_) => Some("`rouse mcp import`"),
            Self::Login(_) => Some("`rouse mcp login`"),
            Self::Serve => Some("`rouse mcp serve`"),
            Self::Install(_) => Some("`rouse mcp install`"),
            Self::Add(_) | Self::Search(_) | Self::List | Self::Logout(_) | Self::Tokens { .. } => {
                None
            }
        }
    }
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::Add(args) => add::run(*args, engine).await,
        Command::Search(args) => search::run(args, engine).await,
        Command::Import(args) => import::run(args, engine).await,
        Command::List => extensions::list(engine).await,
        Command::Login(args) => login::login(args, engine).await,
        Command::Logout(args) => login::logout(args, engine).await,
        Command::Serve => serve::run(engine).await,
        Command::Install(args) => client_setup::run(&args, engine).await,
        Command::Tokens { command } => tokens::run(command.unwrap_or_default(), engine).await,
    }
}
