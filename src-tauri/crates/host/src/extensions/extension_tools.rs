//! The tools of all extensions for runs: those of MCP servers, and those in Rouse's own sandbox.
//!
//! Owns the choice between both by the definition of the extension. Never starts a server for a tool without one.
//! Pitfall: an extension that both sides offer; the pool leaves out the tools in the sandbox.

use std::sync::Arc;

use rouse_core::extension::{
    ExtensionBook as _, ExtensionName, OpenServer, ServerUnavailable, ToolServers,
};
use rouse_core::tool::{BoxFuture, Tool};
use rouse_mcp::ServerPool;

use super::installed::InstalledExtensions;
use super::wasm_tools::WasmTools;

/// The tools of all extensions.
#[derive(Clone)]
pub(crate) struct ExtensionTools {
    pub(crate) installed: Arc<InstalledExtensions>,
    pub(crate) pool: ServerPool,
    pub(crate) wasm: WasmTools,
}

impl ToolServers for ExtensionTools {
    fn open<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<OpenServer, ServerUnavailable>> {
        Box::pin(async move {
            if self.installed.get(server).is_some_and(|entry| entry.server.is_wasm()) {
                self.wasm.open_tool(server).await
            } else {
                self.pool.open(server).await
            }
        })
    }

    fn known_tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools = self.pool.known_tools();
        tools.extend(self.wasm.known_tools());
        tools
    }
}
