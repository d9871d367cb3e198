//! Python: virtual environments.
//!
//! Owns the search for an interpreter and the layout of an environment on each system. Never installs Python. Pitfall:
//! an environment whose interpreter was removed; its link leads nowhere, so the environment is made anew.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::ChoreError;
use crate::process;

/// The interpreter of the environment in `folder`; makes a missing environment.
pub(crate) fn ensure_environment(folder: &Path) -> Result<PathBuf, ChoreError> {
    let programs = if cfg!(windows) { "Scripts" } else { "bin" };
    let interpreter = folder.join(programs).join(format!("python{EXE_SUFFIX}"));
    if !interpreter.is_file() {
        let python = process::find_program(&["python3", "python"]).ok_or_else(|| {
            ChoreError::new("Python is not installed; see https://www.python.org")
        })?;
        let mut make = Command::new(python);
        make.args(["-m", "venv", "--clear"]).arg(folder);
        process::run(make)?;
    }
    Ok(interpreter)
}

/// `pip install` in the environment of `interpreter`.
pub(crate) fn pip_install(interpreter: &Path) -> Command {
    let mut install = Command::new(interpreter);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install
}
