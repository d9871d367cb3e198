//! `cargo xtask bundle`: the installers of this system, and the Tauri command line.
//!
//! Owns the source of the Tauri command line: the installed cargo plugin, else the pinned npm package with its
//! prebuilt program. Never adds the package to the UI, because no test needs it. Pitfall: using the newest version;
//! the version must match the `tauri` crate.

use std::process::{Command, ExitCode};

use crate::error::ChoreError;
use crate::progress::{ChoreOutcome, Steps};
use crate::system::{self, Consent, Requirement};
use crate::{paths, process};

/// Keep in step with the `tauri` crate in the root manifest.
const FROM_NPM: &str = "--package=@tauri-apps/cli@2.12.5";

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, ChoreError> {
    let mut steps = Steps::of(2);
    steps.step("System packages", || {
        let done = system::ensure(Requirement::APP, Consent::Ask)?;
        system::check_node()?;
        Ok(done)
    })?;
    // The Tauri command line installs the UI's packages and builds the UI as configured.
    steps.step("UI, Rouse and installers", || {
        let mut build = tauri();
        build.arg("build").args(arguments);
        process::run(build)?;
        Ok(ChoreOutcome::Done)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The Tauri command line, in the root of the repository.
pub(crate) fn tauri() -> Command {
    if process::find_program(&["cargo-tauri"]).is_some() {
        return process::cargo(["tauri"]);
    }
    let mut command = process::npm(["exec", "--yes", FROM_NPM, "--", "tauri"]);
    command.current_dir(paths::root());
    command
}
