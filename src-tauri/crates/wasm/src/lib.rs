//! Tools in WebAssembly and JavaScript.
//!
//! Owns the sandbox of such tools: the compiler process, the compiled files, the imports, and the limits of a call;
//! and the check of a tool's folder. Never gives a tool WASI, a socket or a thread: a tool has the imports of
//! `wit/tool.wit`, each as granted. Pitfall: an import for one tool; every import is part of the world.

mod engine;
mod error;
mod limits;
mod permissions;
mod compile;
mod cache;
mod host;
mod guest;
#[cfg(test)]
mod tests;

pub use cache::ComponentCache;
pub use compile::{CompilerProgram, MAX_COMPONENT_BYTES, compile_component, run_wasm_compiler};
pub use engine::ENGINE_VERSION;
pub use error::{CompileError, GuestError, GuestTrap};
pub use guest::{CallReport, CallTrace, Guest, WasmRuntime};
pub use host::{GuestPorts, SecretFill, ToolLog, ToolLogLevel, ToolLogLine};
pub use limits::GuestLimits;
pub use permissions::{AllowedHost, FileAccess, InvalidHost, ToolPermissions};
