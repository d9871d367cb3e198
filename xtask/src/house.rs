//! Where things lie in the repository and in the target directory.
//!
//! Owns every path that more than one chore needs. Refuses to guess from the working directory: `cargo xtask` may be
//! called from any folder. One could get it wrong by building the path of a program by hand elsewhere, which breaks
//! with `CARGO_TARGET_DIR` and on Windows.

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

/// The drawings and the icons made from them.
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

/// A program of the workspace as the development profile builds it.
pub(crate) fn program(name: &str) -> PathBuf {
    target().join("debug").join(format!("{name}{EXE_SUFFIX}"))
}

/// An example of the workspace as the development profile builds it.
pub(crate) fn example(name: &str) -> PathBuf {
    target().join("debug").join("examples").join(format!("{name}{EXE_SUFFIX}"))
}
