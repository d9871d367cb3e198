//! Paths in the repository and in the target directory.
//!
//! Owns every path that several chores need. Never depends on the working directory: `cargo xtask` works in any
//! folder. Pitfall: composing the path of a program elsewhere fails with `CARGO_TARGET_DIR` and on Windows.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let manifest_dir = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest_dir.parent().expect("BUG: xtask lies in a folder of the repository").to_path_buf()
}

/// The web UI with its `package.json`.
pub(crate) fn ui() -> PathBuf {
    root().join("ui")
}

/// The drawings and the generated icons.
pub(crate) fn icons() -> PathBuf {
    root().join("icons")
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// A program of the workspace in the development profile.
pub(crate) fn program(name: &str) -> PathBuf {
    target().join("debug").join(format!("{name}{EXE_SUFFIX}"))
}

/// An example of the workspace in the development profile.
pub(crate) fn example(name: &str) -> PathBuf {
    target().join("debug").join("examples").join(format!("{name}{EXE_SUFFIX}"))
}
