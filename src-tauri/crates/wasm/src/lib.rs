//! Tools in WebAssembly and JavaScript.
//!
//! Owns the sandbox of such tools: the compiler process, the compiled files, the imports, and the limits of a call;
//! and the check of a tool's folder. Never gives a tool WASI, a socket or a thread: a tool has the imports of
//! `wit/tool.wit`, each as granted, and the seed for hash maps. Pitfall: an import for one tool; every import is part of the world.

mod engine;
mod error;
mod limits;
mod permissions;
mod manifest;
mod compile;
mod cache;
mod script_engine;
mod host;
mod world;
mod guest;
mod check;
mod tool;
#[cfg(test)]
mod tests;

pub use cache::{ComponentBytes, ComponentCache};
pub use check::{
    TEST_NOW, ToolCheck, ToolChecker, ToolFolder, ToolFolderError, ToolTestFailure,
    ToolTestOutcome, read_manifest, tool_guest,
};
pub use compile::{CompilerProgram, MAX_COMPONENT_BYTES, run_wasm_compiler};
pub use engine::ENGINE_VERSION;
pub use error::{CompileError, GuestError, GuestTrap};
pub use guest::{CallReport, CallTrace, Guest, WasmRuntime};
pub use host::{GuestPorts, SecretFill, ToolLog, ToolLogLevel, ToolLogLine, ToolSecrets};
pub use limits::GuestLimits;
pub use manifest::{
    CannedHttpExchange, ExpectedResult, MANIFEST_FILE, ManifestProblem, ToolManifest, ToolTest,
};
pub use permissions::{GrantedHost, InvalidHost, ToolPermissions};
pub use script_engine::script_engine;

/// The WIT of the world of a tool, for the build of a guest.
pub const TOOL_WORLD: &str = include_str!("../wit/tool.wit");

pub use tool::{WasmToolFolders, WasmToolPorts, manifest_tool, tool_transport, wasm_tool};
