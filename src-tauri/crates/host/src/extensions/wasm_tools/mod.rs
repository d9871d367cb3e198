//! Tools in WebAssembly and JavaScript: the check of a folder, its copy, and the tools of installed folders.
//!
//! Owns the words of a check for the consent page, and the state of such an extension. Never starts a server. Without
//! the cargo feature `wasm`, every such tool is refused and reported as unavailable. Pitfall: a state that differs from
//! the recorded listing; runs would miss a tool that the list shows.

#[cfg(feature = "wasm")]
mod check;
#[cfg(feature = "wasm")]
mod stored_hashes;
#[cfg(feature = "wasm")]
mod version_origin;
#[cfg(feature = "wasm")]
mod checked_version;
#[cfg(feature = "wasm")]
mod request_secrets;
#[cfg(feature = "wasm")]
mod sandbox;
#[cfg(not(feature = "wasm"))]
mod missing_sandbox;
mod listed_state;
mod checked_tool;
mod unavailable;

#[cfg(feature = "wasm")]
pub(crate) use check::copy_tool;
pub(crate) use checked_tool::CheckedTool;
#[cfg(not(feature = "wasm"))]
pub use missing_sandbox::run_wasm_compiler;
#[cfg(not(feature = "wasm"))]
pub(crate) use missing_sandbox::{WasmTools, copy_tool};
#[cfg(feature = "wasm")]
pub(crate) use sandbox::WasmTools;
#[cfg(feature = "wasm")]
pub(super) use version_origin::VersionOrigin;
