//! The environments of the peers: npm, PyPI, crates, and Rouse itself.
//!
//! Owns the folders below `target/peers`. Only pinned versions are installed; lock files decide. Pitfall: running npm
//! in the sources would put `node_modules` into the tests. Pitfall: running Rouse's program through cargo would
//! recompile a changed file during the measurement.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::error::{ChoreError, ErrorContext};
use crate::{paths, process, python};

/// A kind of installation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerEnvironment {
    Rouse,
    Node,
    Python,
    Rust,
}

/// A program that is called with a measurement's arguments.
pub(super) struct PeerProgram {
    file: PathBuf,
    arguments: Vec<OsString>,
    folder: PathBuf,
}

impl PeerProgram {
    fn new(file: impl Into<PathBuf>, arguments: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            file: file.into(),
            arguments: arguments.into_iter().collect(),
            folder: paths::root(),
        }
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.args(&self.arguments).current_dir(&self.folder);
        command
    }
}

impl PeerEnvironment {
    pub(super) const ALL: &[Self] = &[Self::Rouse, Self::Node, Self::Python, Self::Rust];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Rouse => "build Rouse as it is released, and the program that asks it",
            Self::Node => "install the peers from npm",
            Self::Python => "install the peer from PyPI",
            Self::Rust => "build the peers from crates.io",
        }
    }

    /// Installs the versions of the lock file.
    pub(super) fn prepare(self) -> Result<PeerProgram, ChoreError> {
        match self {
            Self::Rouse => prepare_rouse(),
            Self::Node => prepare_node(),
            Self::Python => prepare_python(),
            Self::Rust => prepare_rust(),
        }
    }
}

fn sources(environment: &str) -> PathBuf {
    paths::root().join("tests").join("bench").join("peers").join(environment)
}

fn installed(environment: &str) -> PathBuf {
    paths::target().join("peers").join(environment)
}

fn prepare_rouse() -> Result<PeerProgram, ChoreError> {
    process::run(process::cargo(["build", "--release", "--package", "rouse-cli"]))?;
    let output = process::output(process::cargo([
        "bench",
        "--no-run",
        "--package",
        "rouse-tests",
        "--bench",
        "promises",
        "--message-format=json-render-diagnostics",
    ]))?;
    let program = last_executable(&output)
        .ok_or_else(|| ChoreError::new("cargo did not report the path of the benchmark program"))?;
    Ok(PeerProgram::new(program, ["--peer".into()]))
}

/// The last program in cargo's build messages.
fn last_executable(output: &str) -> Option<String> {
    let (_, rest) = output.rsplit_once(r#""executable":""#)?;
    let (path, _) = rest.split_once('"')?;
    Some(path.replace(r"\\", r"\"))
}

/// Node resolves packages beside the importing file, so the programs are copied next to their packages.
fn prepare_node() -> Result<PeerProgram, ChoreError> {
    let (from, folder) = (sources("node"), installed("node"));
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    for entry in fs::read_dir(&from).with_context(|| format!("read {}", from.display()))? {
        let file = entry.with_context(|| format!("read {}", from.display()))?.path();
        let name = file.file_name().unwrap_or_default();
        fs::copy(&file, folder.join(name)).with_context(|| format!("copy {}", file.display()))?;
    }
    let mut install = process::npm(["ci", "--no-audit", "--no-fund"]);
    install.current_dir(&folder);
    process::run(install)?;
    Ok(PeerProgram { folder, ..PeerProgram::new("node", []) })
}

fn prepare_python() -> Result<PeerProgram, ChoreError> {
    let interpreter = python::ensure_environment(&installed("python"))?;
    let mut install = python::pip_install(&interpreter);
    install.args(["--no-deps", "--requirement"]).arg(sources("python").join("requirements.txt"));
    process::run(install)?;
    let program = sources("python").join("apscheduler_peer.py");
    Ok(PeerProgram::new(interpreter, [program.into_os_string()]))
}

fn prepare_rust() -> Result<PeerProgram, ChoreError> {
    let target = installed("rust");
    let mut build = process::cargo(["build", "--release", "--locked"]);
    build.arg("--manifest-path").arg(sources("rust").join("Cargo.toml"));
    build.arg("--target-dir").arg(&target);
    process::run(build)?;
    let program = target.join("release").join(format!("rouse-bench-peers{EXE_SUFFIX}"));
    Ok(PeerProgram::new(program, []))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_built_executable_is_found() {
        let output = concat!(
            r#"{"reason":"compiler-artifact","executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","executable":"C:\\t\\one.exe","fresh":true}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(last_executable(output).as_deref(), Some(r"C:\t\one.exe"));
        assert_eq!(last_executable(r#"{"executable":null}"#), None);
    }
}
