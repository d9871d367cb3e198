//! A server about to be started.

use std::path::PathBuf;

use rouse_core::extension::ServerCommand;

/// A command with its program, its folders and its marker.
pub(super) struct ServerStart<'c> {
    pub(super) command: &'c ServerCommand,
    /// The absolute path of the program.
    pub(super) program: PathBuf,
    /// The folder that belongs to this extension alone.
    #[cfg_attr(windows, expect(dead_code, reason = "confined servers are refused there"))]
    pub(super) private_folder: PathBuf,
    /// The installed package of this extension; need not exist.
    #[cfg_attr(windows, expect(dead_code, reason = "confined servers are refused there"))]
    pub(super) package: PathBuf,
    /// The working directory.
    pub(super) folder: PathBuf,
    /// The process marker.
    pub(super) marker: String,
}
