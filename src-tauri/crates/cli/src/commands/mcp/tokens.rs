//! `rouse mcp tokens …`: tokens for programs that reach Rouse's MCP server by URL.

use clap::Subcommand;
use rouse_gateway::wire::{
    ChangeResult, McpAccessListResult, McpScope, McpTokenCreated, McpTokenView,
};
use serde_json::json;

use crate::render::table::{new_table, print_rows};
use crate::render::text::escape;
use crate::render::time::local_time;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// List tokens
    #[default]
    #[command(alias = "ls")]
    List,
    /// Create a token and print it once
    Create {
        /// Name
        name: String,
        /// Allow tools that change and start jobs [default: reading only]
        #[arg(long)]
        write: bool,
    },
    /// Revoke a token
    Revoke {
        /// Name
        name: String,
    },
}

pub(super) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List => engine.show("mcpAccess.list", json!({}), print_tokens).await,
        Command::Create { name, write } => {
            let scope = if write { McpScope::Write } else { McpScope::Read };
            let created = engine
                .show("mcpAccess.create", json!({ "name": name, "scope": scope }), print_created)
                .await;
            created.map_err(|error| error.with_field_names(&[("name", "NAME")]))
        }
        Command::Revoke { name } => {
            let answer = engine.call("mcpAccess.revoke", json!({ "name": name })).await?;
            engine.print_answer(answer.clone(), |_, _: ChangeResult| {})?;
            if answer["changed"] == false {
                let name = escape(&name);
                return Err(CliError::not_found(format!(
                    "There is no token {name}. See them: rouse mcp tokens list"
                )));
            }
            if !engine.json {
                anstream::println!("Revoked: {}.", escape(&name));
            }
            Ok(())
        }
    }
}

fn print_created(_: &EngineConnection, created: McpTokenCreated) {
    anstream::println!("Token: {}", created.token);
    anstream::println!("URL:   {}", created.url);
    anstream::eprintln!(
        "The token is not shown again. Programs send it as `Authorization: Bearer TOKEN`."
    );
}

fn print_tokens(engine: &EngineConnection, found: McpAccessListResult) {
    if found.tokens.is_empty() {
        anstream::println!("No tokens. Programs that start `rouse mcp serve` need none.");
        return;
    }
    let mut table = new_table(&["TOKEN", "MAY", "CREATED", "LAST USE"]);
    for McpTokenView { name, scope, created_at_ms, last_used_at_ms } in &found.tokens {
        let may = match scope {
            McpScope::Read => "read",
            McpScope::Write => "read and write",
        };
        let last_use =
            last_used_at_ms.map_or_else(|| "never".to_owned(), |at| local_time(engine, at));
        table.add_row([escape(name), may.to_owned(), local_time(engine, *created_at_ms), last_use]);
    }
    print_rows(&table);
}
