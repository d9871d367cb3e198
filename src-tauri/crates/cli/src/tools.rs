//! `rouse tools`.

use rouse_gateway::wire::ToolsCatalogResult;
use serde_json::json;

use crate::exit::Failure;
use crate::output::{print, short, table};
use crate::session::Session;

pub(crate) async fn run(session: &Session) -> Result<(), Failure> {
    session
        .show("tools.catalog", json!({}), |_, catalog: ToolsCatalogResult| {
            let mut table = table(&["TOOL", "WHAT IT DOES"]);
            for tool in &catalog.tools {
                table.add_row([tool.name.clone(), short(&tool.description, 100)]);
            }
            print(&table);
            Ok(())
        })
        .await
}
