//! The sandboxed child process that reads pages: a second start of this program.
//!
//! Owns the folder with the page and the text, and the limits on time, memory and processes. A page that makes the
//! reader crash, loop or exhaust its memory ends the child alone. Never falls back to reading in the engine: a computer
//! without a sandbox reads no pages.
//! Pitfall: a page may have taken over the child, so the result is read with a limit and is nothing but text.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::tool::{Fault, PendingCleanup};
use tempfile::TempDir;

use super::reader::{
    PAGE_FILE, PROGRAM_VARIABLE, PageText, READ_PAGE_ARGUMENT, REQUEST_FILE, RESULT_FILE,
    ReadFailure, ReaderRequest,
};
use crate::http_guard::{Fetcher, HttpConfig, RawResponse};
use crate::output::ToolFailure;
use crate::process::{CompletedProcess, ExitCause};
use crate::sandbox::{Limits, Sandbox, SandboxError};

const TIME_LIMIT: Duration = Duration::from_secs(20);
const MEMORY_LIMIT: u64 = 768 << 20;
/// Limit of processes and threads.
const PROCESS_LIMIT: u32 = 16;
/// Limit of a result: 4 MB of text with every character escaped.
const MAX_RESULT_BYTES: u64 = 12 << 20;

/// The program that reads pages, with arguments.
#[derive(Debug, Clone)]
pub struct ReaderProgram {
    path: Option<PathBuf>,
    arguments: String,
    time_limit: Duration,
}

/// This program.
impl Default for ReaderProgram {
    fn default() -> Self {
        let path = std::env::current_exe().and_then(std::fs::canonicalize).ok();
        Self { path, arguments: READ_PAGE_ARGUMENT.to_owned(), time_limit: TIME_LIMIT }
    }
}

impl ReaderProgram {
    /// This program with leading arguments: for a program that does not begin with `run_page_reader`, such as a test.
    #[must_use]
    pub fn with_arguments(arguments: &str) -> Self {
        Self { arguments: format!("{arguments} {READ_PAGE_ARGUMENT}"), ..Self::default() }
    }

    #[cfg(test)]
    pub(super) fn for_test(arguments: &str, time_limit: Duration) -> Self {
        Self { arguments: arguments.to_owned(), time_limit, ..Self::default() }
    }
}

/// Failure to read a page.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReaderError {
    #[error("{0} Use http to get the source of the page.")]
    Sandbox(#[from] SandboxError),
    #[error("The page could not be read: Rouse does not find its own program file.")]
    NoProgram,
    #[error("The page could not be read: {0}.")]
    Io(#[from] io::Error),
    #[error("The page could not be read within {} seconds.", .0.as_secs())]
    TimeLimit(Duration),
    #[error(
        "The page could not be read: its reader exceeded the memory limit, or the page is damaged."
    )]
    Crashed,
    #[error(transparent)]
    Unreadable(#[from] ReadFailure),
}

impl ToolFailure for ReaderError {
    fn fault(&self) -> Fault {
        match self {
            Self::Sandbox(SandboxError::Missing(_) | SandboxError::Workspace { .. }) => {
                Fault::Sandbox
            }
            Self::Unreadable(_) => Fault::Refused,
            Self::TimeLimit(_) => Fault::Timeout,
            Self::Sandbox(_) | Self::NoProgram | Self::Io(_) | Self::Crashed => Fault::Execution,
        }
    }
}

/// Starts a reader for each page.
pub(super) struct ReaderProcess {
    program: ReaderProgram,
    calls: AtomicU64,
}

impl ReaderProcess {
    pub(super) const fn new(program: ReaderProgram) -> Self {
        Self { program, calls: AtomicU64::new(0) }
    }

    /// Reads a response as text.
    pub(super) async fn read(
        &self,
        response: RawResponse,
        cleanups: &PendingCleanup,
    ) -> Result<PageText, ReaderError> {
        let program = self.program.path.clone().ok_or(ReaderError::NoProgram)?;
        let folder = run_blocking(move || create_exchange_folder(&response)).await?;
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let marker = format!("reader-{}:{call}", std::process::id());
        let sandbox = reader_sandbox(folder.path(), &program)?;
        #[cfg(windows)]
        let sandbox = sandbox.prepare().await?;
        let variables = environment(&sandbox, &program)?;
        let line = format!("{} {}", start_command(), self.program.arguments);
        let fetcher = Fetcher::new(&HttpConfig::default());
        let child = sandbox.spawn(&line, variables, &marker, fetcher)?.with_cleanups(cleanups);
        let completed = child.finish(self.program.time_limit).await?;
        if let ExitCause::TimedOut = completed.exit {
            return Err(ReaderError::TimeLimit(self.program.time_limit));
        }
        run_blocking(move || read_result(folder.path(), &completed)).await
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ReaderError> + Send + 'static,
) -> Result<T, ReaderError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ReaderError::Crashed))
}

/// Creates a folder with the page and the reader's request.
fn create_exchange_folder(response: &RawResponse) -> Result<TempDir, ReaderError> {
    let folder = tempfile::Builder::new().prefix("rouse-page-").tempdir()?;
    let request = ReaderRequest {
        url: response.url.clone(),
        content_type: response.content_type.clone(),
        content_encoding: response.content_encoding.clone(),
        is_truncated: response.body.is_truncated,
    };
    let request = serde_json::to_vec(&request).map_err(io::Error::other)?;
    std::fs::write(folder.path().join(PAGE_FILE), &response.body.bytes)?;
    std::fs::write(folder.path().join(REQUEST_FILE), request)?;
    Ok(folder)
}

fn reader_sandbox(folder: &Path, program: &Path) -> Result<Sandbox, SandboxError> {
    let limits =
        Limits { processes: PROCESS_LIMIT, memory_bytes: MEMORY_LIMIT, ..Limits::default() };
    let extra_programs = vec![program.to_owned()];
    Ok(Sandbox { limits, extra_programs, ..Sandbox::new(folder, &[], None)? })
}

/// How the system's shell starts the program in `PROGRAM_VARIABLE`.
const fn start_command() -> &'static str {
    if cfg!(windows) { "\"%ROUSE_READER%\"" } else { "exec \"$ROUSE_READER\"" }
}

/// The reader's environment: nothing of the engine's, except the variables that every program needs on Windows.
fn environment(sandbox: &Sandbox, program: &Path) -> io::Result<Vec<(OsString, OsString)>> {
    let program = sandboxed_program(sandbox, program)?;
    let mut variables = vec![(PROGRAM_VARIABLE.into(), program.into_os_string())];
    if cfg!(windows) {
        let required = ["SystemRoot", "TEMP", "TMP"].into_iter();
        variables.extend(required.filter_map(|name| Some((name.into(), std::env::var_os(name)?))));
    }
    Ok(variables)
}

#[cfg(not(windows))]
fn sandboxed_program(_: &Sandbox, program: &Path) -> io::Result<PathBuf> {
    Ok(program.to_owned())
}

/// Copies the program into the workspace: an AppContainer opens only files with access for the AppContainer.
#[cfg(windows)]
fn sandboxed_program(sandbox: &Sandbox, program: &Path) -> io::Result<PathBuf> {
    let copy = sandbox.workspace.join("rouse-reader.exe");
    std::fs::copy(program, &copy)?;
    Ok(copy)
}

fn read_result(folder: &Path, completed: &CompletedProcess) -> Result<PageText, ReaderError> {
    let path = folder.join(RESULT_FILE);
    // The child may have put a link to another file there.
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    if !is_file {
        let stderr = completed.stderr.text();
        tracing::debug!(exit = ?completed.exit, stderr, "a page reader left no result");
        return Err(ReaderError::Crashed);
    }
    let mut bytes = Vec::new();
    std::fs::File::open(&path)?.take(MAX_RESULT_BYTES).read_to_end(&mut bytes)?;
    let result: Result<PageText, ReadFailure> =
        serde_json::from_slice(&bytes).map_err(|_| ReaderError::Crashed)?;
    Ok(result?)
}
