//! Where peers are installed and how their programs are called: npm's, PyPI's, the crates, and Rouse itself.
//!
//! Owns the folders below `target/peers`. Refuses anything but the pinned versions: lock files decide. One could get it
//! wrong by running npm where the sources lie: `node_modules` would stand in the middle of the tests. Or by leaving the
//! call of Rouse's program to cargo: a file that changes during the measuring would be compiled in the middle of it.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Doing, Failure};
use crate::{house, process};

/// A kind of installation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Rouse,
    Node,
    Python,
    Rust,
}

/// What is called with a question as its arguments.
pub(super) struct Program {
    file: PathBuf,
    words: Vec<OsString>,
    folder: PathBuf,
}

impl Program {
    fn new(file: impl Into<PathBuf>, words: impl IntoIterator<Item = OsString>) -> Self {
        Self { file: file.into(), words: words.into_iter().collect(), folder: house::root() }
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.args(&self.words).current_dir(&self.folder);
        command
    }
}

impl Room {
    pub(super) const ALL: &[Self] = &[Self::Rouse, Self::Node, Self::Python, Self::Rust];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Rouse => "build Rouse as it is released, and the program that asks it",
            Self::Node => "install the peers from npm",
            Self::Python => "install the peer from PyPI",
            Self::Rust => "build the peers from crates.io",
        }
    }

    /// Brings the room to what its lock file says.
    pub(super) fn prepare(self) -> Result<Program, Failure> {
        match self {
            Self::Rouse => prepare_rouse(),
            Self::Node => prepare_node(),
            Self::Python => prepare_python(),
            Self::Rust => prepare_rust(),
        }
    }
}

fn sources(room: &str) -> PathBuf {
    house::root().join("tests").join("bench").join("peers").join(room)
}

fn installed(room: &str) -> PathBuf {
    house::target().join("peers").join(room)
}

fn prepare_rouse() -> Result<Program, Failure> {
    process::run(process::cargo(["build", "--release", "--package", "rouse-cli"]))?;
    let told = process::printed(process::cargo([
        "bench",
        "--no-run",
        "--package",
        "rouse-tests",
        "--bench",
        "promises",
        "--message-format=json-render-diagnostics",
    ]))?;
    let program = executable(&told)
        .ok_or_else(|| Failure::new("cargo did not say where the benchmark program lies"))?;
    Ok(Program::new(program, ["--beside".into()]))
}

/// The last program that cargo says it built.
fn executable(told: &str) -> Option<String> {
    let (_, rest) = told.rsplit_once(r#""executable":""#)?;
    let (path, _) = rest.split_once('"')?;
    Some(path.replace(r"\\", r"\"))
}

/// Node finds packages beside the file that asks for them, so the programs are copied to their packages.
fn prepare_node() -> Result<Program, Failure> {
    let (from, folder) = (sources("node"), installed("node"));
    fs::create_dir_all(&folder).doing(|| format!("make {}", folder.display()))?;
    for entry in fs::read_dir(&from).doing(|| format!("read {}", from.display()))? {
        let file = entry.doing(|| format!("read {}", from.display()))?.path();
        let name = file.file_name().unwrap_or_default();
        fs::copy(&file, folder.join(name)).doing(|| format!("copy {}", file.display()))?;
    }
    let mut install = process::npm(["ci", "--no-audit", "--no-fund"]);
    install.current_dir(&folder);
    process::run(install)?;
    Ok(Program { folder, ..Program::new("node", []) })
}

fn prepare_python() -> Result<Program, Failure> {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    let inside = installed("python").join(folder).join(format!("python{EXE_SUFFIX}"));
    if !inside.is_file() {
        let python = process::on_path(&["python3", "python"])
            .ok_or_else(|| Failure::new("Python is not installed; see https://www.python.org"))?;
        let mut make = Command::new(python);
        make.args(["-m", "venv"]).arg(installed("python"));
        process::run(make)?;
    }
    let mut install = Command::new(&inside);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    install.arg("--requirement").arg(sources("python").join("requirements.txt"));
    process::run(install)?;
    let program = sources("python").join("apscheduler_peer.py");
    Ok(Program::new(inside, [program.into_os_string()]))
}

fn prepare_rust() -> Result<Program, Failure> {
    let target = installed("rust");
    let mut build = process::cargo(["build", "--release", "--locked"]);
    build.arg("--manifest-path").arg(sources("rust").join("Cargo.toml"));
    build.arg("--target-dir").arg(&target);
    process::run(build)?;
    let program = target.join("release").join(format!("rouse-bench-peers{EXE_SUFFIX}"));
    Ok(Program::new(program, []))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_that_cargo_built_last_is_found() {
        let told = concat!(
            r#"{"reason":"compiler-artifact","executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","executable":"C:\\t\\one.exe","fresh":true}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(executable(told).as_deref(), Some(r"C:\t\one.exe"));
        assert_eq!(executable(r#"{"executable":null}"#), None);
    }
}
