//! `rouse mcp …`: adding and importing MCP servers. `rouse extensions` shows and changes the installed ones.

mod add;
mod definition;
mod import;

use clap::Subcommand;

use crate::commands::extensions;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// Install an MCP server, or update its definition
    #[command(before_help = add::EXAMPLES)]
    Add(Box<add::Args>),
    /// Install MCP servers from the settings of Claude, Cursor, VS Code, Codex or Goose
    #[command(before_help = import::EXAMPLES)]
    Import(import::Args),
    /// List MCP servers; the same as `rouse extensions list`
    #[default]
    #[command(alias = "ls")]
    List,
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::Add(args) => add::run(*args, engine).await,
        Command::Import(args) => import::run(args, engine).await,
        Command::List => extensions::list(engine).await,
    }
}
