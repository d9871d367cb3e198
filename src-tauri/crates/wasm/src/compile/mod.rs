//! Compilation of components in a child process.
//!
//! Owns the start and the end of the child: a time limit, an end with this process, and the bounded cause of a
//! failure. The child is a second start of this program, so the compiler's memory never counts for the engine. Never
//! loads what the child wrote: `cache` does. Pitfall: the environment of this process, which may hold keys.

mod child;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

pub(crate) use child::private_file;
#[cfg(test)]
pub(crate) use child::run_from_arguments;
pub use child::run_wasm_compiler;
use child::{COMPILE_ARGUMENT, COMPILER_VARIABLE, INVALID_COMPONENT, MAX_CAUSE_BYTES};

use crate::error::CompileError;

/// Largest component.
pub const MAX_COMPONENT_BYTES: usize = 8 << 20;

/// Largest compiled component.
const MAX_COMPILED_BYTES: u64 = 128 << 20;

/// Time limit of a compilation. The child ends itself a little later, in case this process cannot.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The program that compiles components, with arguments.
#[derive(Debug, Clone)]
pub struct CompilerProgram {
    path: Option<PathBuf>,
    arguments: Vec<String>,
    time_limit: Duration,
}

/// This program.
impl Default for CompilerProgram {
    fn default() -> Self {
        let path = std::env::current_exe().ok();
        Self { path, arguments: Vec::new(), time_limit: TIME_LIMIT }
    }
}

impl CompilerProgram {
    /// This program with leading arguments: for a program that does not begin with `run_wasm_compiler`, such as a test.
    #[must_use]
    pub fn with_arguments(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { arguments, ..Self::default() }
    }

    /// With another time limit.
    #[must_use]
    pub fn with_time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    /// Compiles the component in the file `input` into the new file `output`.
    pub(crate) async fn compile(&self, input: &Path, output: &Path) -> Result<(), CompileError> {
        let child = self.start(input, output)?;
        match tokio::time::timeout(self.time_limit, finish(child)).await {
            Ok(finished) => finished?,
            Err(_) => return Err(CompileError::TimeLimit(self.time_limit)),
        }
        let bytes = tokio::fs::metadata(output).await?.len();
        if bytes > MAX_COMPILED_BYTES {
            return Err(CompileError::OutputTooLarge { bytes, limit: MAX_COMPILED_BYTES });
        }
        Ok(())
    }

    fn start(&self, input: &Path, output: &Path) -> Result<Child, CompileError> {
        let no_program = || CompileError::Io("Rouse does not find its own program file".to_owned());
        let program = self.path.as_ref().ok_or_else(no_program)?;
        let child = Command::new(program)
            .args(&self.arguments)
            .arg(COMPILE_ARGUMENT)
            .args([input, output])
            .env_clear()
            .envs(required_variables())
            .env(COMPILER_VARIABLE, "1")
            // The child ends when this pipe closes, also when this process was killed.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        Ok(child)
    }
}

/// Variables that every program needs on Windows.
fn required_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    let names: &[&'static str] = if cfg!(windows) { &["SystemRoot", "TEMP", "TMP"] } else { &[] };
    names.iter().filter_map(|&name| Some((name, std::env::var_os(name)?)))
}

async fn finish(mut child: Child) -> Result<(), CompileError> {
    let mut cause = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        stderr.take(MAX_CAUSE_BYTES).read_to_end(&mut cause).await?;
    }
    // `wait` would close the standard input, and the child would end.
    let stdin = child.stdin.take();
    let status = child.wait().await?;
    drop(stdin);
    let cause = String::from_utf8_lossy(&cause).trim().to_owned();
    match status.code() {
        Some(0) => Ok(()),
        Some(code) if code == i32::from(INVALID_COMPONENT) => Err(CompileError::Invalid(cause)),
        _ => {
            tracing::debug!(%status, cause, "the compiler of WebAssembly crashed");
            Err(CompileError::Crashed)
        }
    }
}
