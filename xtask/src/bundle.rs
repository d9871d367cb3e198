//! `cargo xtask bundle`: the installers of this system, and the Tauri command line that makes them.
//!
//! Owns where the Tauri command line comes from: cargo's when it is installed, else the pinned one from npm, which comes
//! as a finished program. Refuses to keep it among the UI's packages: no test needs it. One could get it wrong by
//! taking whatever version is newest; it has to match the `tauri` crate.

use std::process::{Command, ExitCode};

use crate::failure::Failure;
use crate::progress::{Done, Steps};
use crate::system::{self, Consent, Need};
use crate::{house, process};

/// Keep in step with the `tauri` crate in the root manifest.
const FROM_NPM: &str = "--package=@tauri-apps/cli@2.12.5";

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let mut steps = Steps::of(2);
    steps.step("System packages", || {
        let done = system::ensure(Need::APP, Consent::Ask)?;
        system::check_node()?;
        Ok(done)
    })?;
    // The Tauri command line installs the UI's packages and builds the UI itself, as its configuration says.
    steps.step("UI, Rouse and installers", || {
        let mut build = tauri();
        build.arg("build").args(arguments);
        process::run(build)?;
        Ok(Done::Made)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The Tauri command line, in the root of the repository.
pub(crate) fn tauri() -> Command {
    if process::on_path(&["cargo-tauri"]).is_some() {
        return process::cargo(["tauri"]);
    }
    let mut command = process::npm(["exec", "--yes", FROM_NPM, "--", "tauri"]);
    command.current_dir(house::root());
    command
}
