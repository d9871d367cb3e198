//! The lookup of a server's program.
//!
//! Owns the way from a written program to an absolute path. Never follows links: a program may depend on its name.
//! Pitfall: a relative folder in `PATH`, which would find a program of the working directory.

use std::path::{Path, PathBuf};

use rouse_core::extension::ServerStartError;

use crate::tools::run_command::Environment;
use crate::workspace::expand_granted_path;

/// Endings of programs, tried in this order.
const ENDINGS: &[&str] = if cfg!(windows) { &["", ".exe", ".com", ".cmd", ".bat"] } else { &[""] };

/// Finds a program by its path, or by its bare name in `PATH`.
pub(super) fn find_program(
    written: &str,
    environment: &Environment,
) -> Result<PathBuf, ServerStartError> {
    if written.contains(std::path::is_separator) {
        let path = expand_granted_path(written);
        let found = Some(path).filter(|path| path.is_absolute()).and_then(|path| existing(&path));
        return found.ok_or_else(|| {
            ServerStartError(format!(
                "There is no program {written}. Give the absolute path of a file that you may run."
            ))
        });
    }
    let path = environment.path();
    let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| existing(&folder.join(written))).ok_or_else(|| {
        ServerStartError(format!(
            "The program {written} was not found in the folders of PATH. Install it, or give its absolute path."
        ))
    })
}

/// The path with the first ending that names a program.
fn existing(path: &Path) -> Option<PathBuf> {
    ENDINGS.iter().find_map(|ending| {
        let mut name = path.file_name()?.to_owned();
        name.push(ending);
        Some(path.with_file_name(name)).filter(|path| is_program(path))
    })
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() && path.extension().is_some()
}
