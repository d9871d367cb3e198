//! Tools in WebAssembly and JavaScript, in a build without their sandbox.
//!
//! Owns the words of the refusal. Never calls a tool. Pitfall: an extension of another build; it stays installed.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use rouse_core::extension::{
    Extension, ExtensionName, OpenServer, ServerState, ServerStatus, ServerUnavailable,
    UnavailableKind,
};
use rouse_core::tool::{BoxFuture, Tool};
use rouse_store::Store;
use rouse_tools::HttpConfig;

use super::checked_tool::CheckedTool;
use super::listed_state;
use super::unavailable::unavailable;
use crate::extensions::installed::InstalledExtensions;
use crate::options::HostOptions;

/// Why no such tool is available.
const NO_SANDBOX: &str =
    "This Rouse was built without the sandbox for tools in WebAssembly and JavaScript.";

/// What to do.
const REMEDY: &str = "Use a build with the feature `wasm`.";

/// No tools.
#[derive(Clone)]
pub(crate) struct WasmTools;

impl WasmTools {
    pub(crate) fn open(
        _: &HostOptions,
        _: Store,
        _: Arc<InstalledExtensions>,
        _: &HttpConfig,
    ) -> Self {
        Self
    }

    pub(crate) fn check<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<CheckedTool, String>> {
        Box::pin(std::future::ready(Err(format!("{NO_SANDBOX} {REMEDY}"))))
    }

    pub(in crate::extensions) async fn record_accepted(&self, _: &ExtensionName, _: &str) {}

    pub(crate) fn known_tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    pub(crate) async fn open_tool(
        &self,
        name: &ExtensionName,
    ) -> Result<OpenServer, ServerUnavailable> {
        Err(no_sandbox(name))
    }

    pub(crate) async fn inspect(&self, name: &ExtensionName) -> Result<(), ServerUnavailable> {
        Err(no_sandbox(name))
    }

    /// Nothing is loaded.
    pub(crate) const fn release_memory(&self) {}

    pub(crate) fn status(&self, name: &ExtensionName, entry: &Extension) -> ServerStatus {
        let status = listed_state::listed_status(name, entry);
        if status.state != ServerState::Ready {
            return status;
        }
        let reason = Some(no_sandbox(name).to_string());
        ServerStatus { state: ServerState::Broken, reason, ..status }
    }
}

/// No folder is planned, so none is copied.
pub(crate) fn copy_tool(_: &str, _: &str, _: &Path) -> Result<(), String> {
    Err(format!("{NO_SANDBOX} {REMEDY}"))
}

/// No process of this build is a compiler.
#[must_use]
pub const fn run_wasm_compiler() -> Option<ExitCode> {
    None
}

fn no_sandbox(name: &ExtensionName) -> ServerUnavailable {
    let reason = format!("The tool {name} cannot be called. {NO_SANDBOX}");
    unavailable(name, UnavailableKind::Off, reason, REMEDY)
}
