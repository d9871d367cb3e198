//! The child process that reads pages: a second start of this program, confined like a command.
//!
//! Owns the folder in which the page goes in and its text comes out, and the bounds: time, memory, processes. A page that
//! makes the reader crash, loop or fill its memory ends the child, and the engine says so. Never falls back to reading in
//! the engine: a computer that cannot confine the child reads no pages. Pitfall: what comes out is written by a process
//! that a page may have taken over, so it is read with a bound and is nothing but text.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rouse_core::tool::{Fault, LooseEnds};
use tempfile::TempDir;

use super::reader::{ORDER, Order, PAGE, PROGRAM, READ_PAGE, RESULT, Reading, Unread};
use crate::answer::Faulty;
use crate::child::{End, Finished};
use crate::http::{Answer, Fetcher, HttpConfig};
use crate::sandbox::{Limits, Sandbox, SandboxError};

/// How long a page may take.
const LIMIT: Duration = Duration::from_secs(20);

/// The most memory of the child.
const MEMORY: u64 = 768 << 20;

/// The most processes and threads of the child.
const PROCESSES: u32 = 16;

/// The most bytes of a result: a text of 4 MB whose every character is escaped.
const MOST_RESULT: u64 = 12 << 20;

/// The program that reads pages, and what it is started with.
#[derive(Debug, Clone)]
pub struct ReaderProgram {
    path: Option<PathBuf>,
    arguments: String,
    time: Duration,
}

/// This program once more.
impl Default for ReaderProgram {
    fn default() -> Self {
        let path = std::env::current_exe().and_then(std::fs::canonicalize).ok();
        Self { path, arguments: READ_PAGE.to_owned(), time: LIMIT }
    }
}

impl ReaderProgram {
    /// This program, started with these arguments before its own: for a program that does not begin with
    /// `read_page_if_asked`, such as a test.
    #[must_use]
    pub fn started_with(arguments: &str) -> Self {
        Self { arguments: format!("{arguments} {READ_PAGE}"), ..Self::default() }
    }

    #[cfg(test)]
    pub(super) fn of_test(arguments: &str, time: Duration) -> Self {
        Self { arguments: arguments.to_owned(), time, ..Self::default() }
    }
}

/// Why a page was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReaderError {
    #[error("{0} Use http to get the source of the page.")]
    Sandbox(#[from] SandboxError),
    #[error("The page could not be read: Rouse does not find its own program.")]
    NoProgram,
    #[error("The page could not be read: {0}.")]
    Io(#[from] io::Error),
    #[error("The page could not be read within {} seconds.", .0.as_secs())]
    Time(Duration),
    #[error(
        "The page could not be read: its reader took more memory than it may have, or the page is broken."
    )]
    Ended,
    #[error("{0}")]
    Unread(#[from] Unread),
}

impl Faulty for ReaderError {
    fn fault(&self) -> Fault {
        match self {
            Self::Sandbox(SandboxError::Missing(_) | SandboxError::Workspace { .. }) => {
                Fault::Sandbox
            }
            Self::Unread(_) => Fault::Refused,
            Self::Time(_) => Fault::Timeout,
            Self::Sandbox(_) | Self::NoProgram | Self::Io(_) | Self::Ended => Fault::Execution,
        }
    }
}

/// Starts the reader for each page.
pub(super) struct ReaderChild {
    program: ReaderProgram,
    calls: AtomicU64,
}

impl ReaderChild {
    pub(super) const fn new(program: ReaderProgram) -> Self {
        Self { program, calls: AtomicU64::new(0) }
    }

    /// The text of an answer.
    pub(super) async fn read(
        &self,
        answer: Answer,
        loose_ends: &LooseEnds,
    ) -> Result<Reading, ReaderError> {
        let program = self.program.path.clone().ok_or(ReaderError::NoProgram)?;
        let folder = in_folder(move || filled(&answer)).await?;
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let mark = format!("reader-{}:{call}", std::process::id());
        let sandbox = sandbox(folder.path(), &program)?;
        #[cfg(windows)]
        let sandbox = sandbox.prepared().await?;
        let variables = variables(&sandbox, &program)?;
        let line = format!("{} {}", start(), self.program.arguments);
        let fetcher = Fetcher::new(&HttpConfig::default());
        let child = sandbox.spawn(&line, variables, &mark, fetcher)?;
        let child = child.leaving(loose_ends);
        let finished = child.finish(self.program.time).await?;
        if let End::TimedOut = finished.end {
            return Err(ReaderError::Time(self.program.time));
        }
        in_folder(move || result(folder.path(), &finished)).await
    }
}

/// Does `work` where waiting for a disk holds up nobody else.
async fn in_folder<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ReaderError> + Send + 'static,
) -> Result<T, ReaderError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ReaderError::Ended))
}

/// A folder of its own with the page and what is known of it.
fn filled(answer: &Answer) -> Result<TempDir, ReaderError> {
    let folder = tempfile::Builder::new().prefix("rouse-page-").tempdir()?;
    let order = Order {
        url: answer.url.clone(),
        content_type: answer.content_type.clone(),
        packing: answer.packing.clone(),
        is_cut: answer.body.is_cut,
    };
    std::fs::write(folder.path().join(PAGE), &answer.body.bytes)?;
    std::fs::write(
        folder.path().join(ORDER),
        serde_json::to_vec(&order).map_err(io::Error::other)?,
    )?;
    Ok(folder)
}

fn sandbox(folder: &Path, program: &Path) -> Result<Sandbox, SandboxError> {
    let limits = Limits { processes: PROCESSES, memory_bytes: MEMORY, ..Limits::default() };
    let shown = vec![program.to_owned()];
    Ok(Sandbox { limits, shown, ..Sandbox::new(folder, &[], None)? })
}

/// How the shell of the system starts the program that a variable names.
const fn start() -> &'static str {
    if cfg!(windows) { "\"%ROUSE_READER%\"" } else { "exec \"$ROUSE_READER\"" }
}

/// Nothing of the engine's environment but what every program of Windows needs.
fn variables(sandbox: &Sandbox, program: &Path) -> io::Result<Vec<(OsString, OsString)>> {
    let program = inside(sandbox, program)?;
    let mut variables = vec![(PROGRAM.into(), program.into_os_string())];
    if cfg!(windows) {
        let kept = ["SystemRoot", "TEMP", "TMP"].into_iter();
        variables.extend(kept.filter_map(|name| Some((name.into(), std::env::var_os(name)?))));
    }
    Ok(variables)
}

#[cfg(not(windows))]
fn inside(_: &Sandbox, program: &Path) -> io::Result<PathBuf> {
    Ok(program.to_owned())
}

/// An AppContainer opens only files that name it, and those of its folder do.
#[cfg(windows)]
fn inside(sandbox: &Sandbox, program: &Path) -> io::Result<PathBuf> {
    let copy = sandbox.workspace.join("rouse-reader.exe");
    std::fs::copy(program, &copy)?;
    Ok(copy)
}

fn result(folder: &Path, finished: &Finished) -> Result<Reading, ReaderError> {
    let path = folder.join(RESULT);
    // The child may have put anything there, a link to another file among it.
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    if !is_file {
        tracing::debug!(end = ?finished.end, stderr = finished.stderr.text(), "no result of a reader");
        return Err(ReaderError::Ended);
    }
    let mut bytes = Vec::new();
    std::fs::File::open(&path)?.take(MOST_RESULT).read_to_end(&mut bytes)?;
    let result: Result<Reading, Unread> =
        serde_json::from_slice(&bytes).map_err(|_| ReaderError::Ended)?;
    Ok(result?)
}
