//! Packages of MCP servers: plan, installation, and comparison of the installed files with the accepted files.
//!
//! Owns the folders of packages. Never installs without an accepted plan, and never runs a script of a package during an
//! installation. The installers (`npm`, `uv`, `pip`) run with the person's own rights: their scripts are off, so they
//! only load and unpack files. Pitfall: files that a server can write; installed and new files stay outside of every
//! folder that a confined server can write.

mod site;
mod registry;
mod files;
mod npm;
mod python;
mod requirements;
mod bundle;
mod folder;
mod steps;
mod planner;
mod installer;
mod checks;
mod recovery;
#[cfg(all(test, unix))]
mod tests;

pub(super) use checks::PackageChecks;
pub(super) use installer::InstallError;
pub(crate) use installer::PackageInstaller;
pub(crate) use recovery::recover_installations;
pub(crate) use site::packages_folder;
