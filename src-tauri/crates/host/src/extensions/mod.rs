//! The installed extensions: their file, and the gateway's access to their servers.
//!
//! Owns `extensions.lock`, the packages (`packages`), the search of registries (`registry`), the stored sign-ins and the
//! deletion of a server's private folder.
//! Never starts a server itself (`rouse_mcp` does), and never changes an accepted definition or tool without a verb of a person. Pitfall: overwriting a file that
//! a newer Rouse wrote; an unreadable file refuses every change.

mod lock_file;
mod ended_runs;
mod installed;
mod sign_ins;
mod sign_in_refresh;
mod packages;
mod registry;
mod wasm_tools;
mod extension_tools;
mod gateway_extensions;
#[cfg(feature = "wasm")]
mod built_tools;
#[cfg(test)]
mod tests;

#[cfg(feature = "wasm")]
pub(crate) use built_tools::BuiltTools;
pub(crate) use ended_runs::EndedRuns;
pub(crate) use extension_tools::ExtensionTools;
pub(crate) use gateway_extensions::GatewayExtensions;
pub(crate) use installed::InstalledExtensions;
pub(crate) use packages::{PackageInstaller, packages_folder, recover_installations};
pub(crate) use registry::RegistryClient;
pub(crate) use sign_in_refresh::SignInRefresh;
pub(crate) use sign_ins::SignInVault;
pub(crate) use wasm_tools::WasmTools;
#[cfg(not(feature = "wasm"))]
pub use wasm_tools::run_wasm_compiler;
