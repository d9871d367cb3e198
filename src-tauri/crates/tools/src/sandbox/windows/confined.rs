//! A confined command: begun in its AppContainer and its job, waited for, ended.
//!
//! Owns what has to live as long as the command does: the job, and the temporary folder, which is removed with it. It refuses to start a command by any other way than `process::create`. One could get it wrong by
//! handing over a variable that was not asked for: what is in the engine's environment never gets here.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::io::{AsHandle as _, OwnedHandle};
use std::os::windows::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::JoinHandle;

use super::container::{self, plain};
use super::process::{self, Job, Wanted};
use super::rights::Sid;
use crate::sandbox::Limits;

/// Variables that name the private home, which stays.
const HOMES: &[&str] = &["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"];
/// Variables that name the folder that ends with the command.
const TEMPORARY: &[&str] = &["TEMP", "TMP"];

/// A command that runs.
pub(super) struct Begun {
    pub(super) job: Job,
    pub(super) process: OwnedHandle,
    pub(super) stdout: File,
    pub(super) stderr: File,
    pub(super) scratch: Scratch,
}

/// Where and how a command is to run.
pub(super) struct Place<'p> {
    pub(super) sid: &'p Sid,
    pub(super) folder: &'p Path,
    /// The private home; the temporary folder when there is none.
    pub(super) home: Option<&'p Path>,
    pub(super) limits: &'p Limits,
}

/// Starts the system's shell on `line`, with these variables and those of its home.
pub(super) fn begin(
    place: &Place<'_>,
    line: &str,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> io::Result<Begun> {
    let scratch = Scratch::new()?;
    container::open_to(&scratch.0, place.sid)?;
    let home = place.home.unwrap_or(&scratch.0);
    container::open_to(home, place.sid)?;
    let shown = |path: &Path| plain(path).unwrap_or_else(|| path.to_owned()).into_os_string();
    let homes = HOMES.iter().map(|name| (OsString::from(name), shown(home)));
    let temporary = TEMPORARY.iter().map(|name| (OsString::from(name), shown(&scratch.0)));
    let environment = block(variables.into_iter().chain(homes).chain(temporary))?;
    let program = process::system_folder()?.join("cmd.exe");
    // `/s` with outer quotes hands the line over as it is (cmd /?).
    let line = format!("\"{}\" /d /s /c \"{line}\"", program.display());
    let folder = plain(place.folder).unwrap_or_else(|| place.folder.to_owned());
    let (stdout, their_stdout) = io::pipe()?;
    let (stderr, their_stderr) = io::pipe()?;
    let nothing = File::open("NUL")?;
    let job = Job::new(place.limits.processes, place.limits.memory_bytes)?;
    let wanted = Wanted {
        program: program.as_os_str(),
        line: OsStr::new(&line),
        folder: folder.as_os_str(),
        environment: &environment,
        sid: place.sid,
        job: &job,
        streams: [nothing.as_handle(), their_stdout.as_handle(), their_stderr.as_handle()],
    };
    let process = process::create(&wanted)?.begin(&wanted)?;
    let [stdout, stderr] = [stdout, stderr].map(|pipe| File::from(OwnedHandle::from(pipe)));
    Ok(Begun { job, process, stdout, stderr, scratch })
}

/// As `CreateProcess` takes it: sorted by name without regard to case, the last value of a name counts.
pub(super) fn block(variables: impl Iterator<Item = (OsString, OsString)>) -> io::Result<Vec<u16>> {
    let mut sorted = std::collections::BTreeMap::new();
    for (name, value) in variables {
        sorted.insert(name.to_string_lossy().to_uppercase(), (name, value));
    }
    let mut block = Vec::new();
    for (name, value) in sorted.values() {
        let begin = block.len();
        block.extend(name.encode_wide().chain([u16::from(b'=')]).chain(value.encode_wide()));
        if block[begin..].contains(&0) {
            let why = "a variable holds a zero";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        block.push(0);
    }
    block.push(0);
    Ok(block)
}

/// A folder of one command's own. It is removed when the command is over.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("rouse-{}-{number}", std::process::id());
        let path = std::env::temp_dir().canonicalize()?.join(name);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "the temporary folder of a command was not removed");
        }
    }
}

/// A command that somebody waits for. Dropping it ends all that it started.
pub(crate) struct Confined {
    job: Job,
    over: Option<JoinHandle<io::Result<Option<u32>>>>,
    ended: Option<ExitStatus>,
    /// Goes after the job.
    _scratch: Scratch,
}

impl Confined {
    /// Waits on a thread that may; it comes back when the job has ended, whoever ended it.
    pub(super) fn new(job: Job, process: OwnedHandle, scratch: Scratch) -> Self {
        let over = tokio::task::spawn_blocking(move || process::wait(&process, None));
        Self { job, over: Some(over), ended: None, _scratch: scratch }
    }

    /// How its first process ended.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        let lost = || io::Error::other("how the command ended was not told");
        let waited = self.over.as_mut().ok_or_else(lost)?.await;
        self.over = None;
        let code = waited.map_err(io::Error::other)??.ok_or_else(lost)?;
        let status = ExitStatus::from_raw(code);
        self.ended = Some(status);
        Ok(status)
    }

    /// Ends all that it started.
    pub(crate) fn kill(&self) {
        if let Err(error) = self.job.end() {
            tracing::debug!(%error, "a command had ended already");
        }
    }
}
