//! The peers of the tests: real MCP servers, the conformance suites, a mail server and Apprise.
//!
//! Owns `target/mcp-peers`. The lock files in `tests/peers` decide every version, and no script of a package runs.
//! Pitfall: running npm in the sources would put `node_modules` into the tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{ChoreError, ErrorContext};
use crate::progress::ChoreOutcome;
use crate::{build_stamp, paths, process, python};

/// The lock files and their manifest.
const LOCK_FILES: [&str; 3] = ["package.json", "package-lock.json", "requirements.txt"];

/// The oldest Python of the servers.
const PYTHON_CHECK: &str = "import sys; assert sys.version_info >= (3, 10)";

/// Installs the packages of the lock files.
pub(crate) fn install() -> Result<ChoreOutcome, ChoreError> {
    let sources = paths::root().join("tests").join("peers");
    let lock_files = LOCK_FILES.map(|name| sources.join(name));
    let [manifest, lock, requirements] = lock_files.each_ref().map(PathBuf::as_path);
    let folder = paths::target().join("mcp-peers");
    let stamp = folder.join("installed");
    if build_stamp::has_same_content(&[manifest, lock, requirements], &stamp) {
        return Ok(ChoreOutcome::UpToDate);
    }
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    // A broken installation leaves an empty stamp.
    fs::write(&stamp, []).with_context(|| format!("write {}", stamp.display()))?;
    install_npm(&[manifest, lock], &folder.join("npm")).map_err(|error| with_advice(&error))?;
    install_python(requirements, &folder.join("python")).map_err(|error| with_advice(&error))?;
    build_stamp::write_content_stamp(&[manifest, lock, requirements], &stamp)
        .with_context(|| format!("write {}", stamp.display()))?;
    Ok(ChoreOutcome::Done)
}

/// Installs the servers, the suites, and the Node.js that the suites need.
fn install_npm(lock_files: &[&Path], folder: &Path) -> Result<(), ChoreError> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    for file in lock_files {
        let name = file.file_name().unwrap_or_default();
        fs::copy(file, folder.join(name)).with_context(|| format!("copy {}", file.display()))?;
    }
    let mut install =
        process::npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    install.current_dir(folder);
    process::run(install)
}

/// Installs the servers into a virtual environment, from wheels only.
fn install_python(requirements: &Path, folder: &Path) -> Result<(), ChoreError> {
    let interpreter = python::ensure_environment(folder)?;
    if process::try_output(&interpreter.to_string_lossy(), &["-c", PYTHON_CHECK]).is_none() {
        return Err(ChoreError::new(format!(
            "the Python of {} is older than 3.10; install a newer one and delete that folder",
            folder.display()
        )));
    }
    let mut install = python::pip_install(&interpreter);
    install.args(["--require-hashes", "--only-binary", ":all:", "--requirement"]);
    install.arg(requirements);
    process::run(install)
}

fn with_advice(error: &ChoreError) -> ChoreError {
    ChoreError::new(format!(
        "{error}\n      The peers come from the registries of npm and PyPI. Check the network connection, then \
         run `cargo xtask test --only peers`."
    ))
}
