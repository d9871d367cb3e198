//! `rouse mcp search`: a page of servers of the registry in the settings.
//!
//! Never installs: `rouse mcp add --entry` does, after its page.

use rouse_gateway::wire::RegistrySearchResult;
use serde_json::json;

use crate::render::registry::print_registry_servers;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// Words of the name
    #[arg(required = true)]
    words: Vec<String>,
    /// Next page, as the last line of a page names it
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(super) async fn run(args: SearchArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let SearchArgs { words, cursor } = args;
    let query = words.join(" ");
    let params = json!({ "query": query, "cursor": cursor });
    let print = |_: &EngineConnection, page: RegistrySearchResult| {
        print_registry_servers(&query, &page);
    };
    let shown = engine.show("extensions.search", params, print).await;
    shown.map_err(|error| error.with_field_names(&[("query", "WORDS"), ("cursor", "--cursor")]))
}
