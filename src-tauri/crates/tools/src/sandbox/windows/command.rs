//! A sandboxed command: start in AppContainer and job, wait, kill. Preview: never run on Windows.
//!
//! Owns the job and the temporary folder, which live as long as the command. Never starts a command but by `process::create`.
//! Pitfall: the engine's environment; only the given variables are passed.

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

use super::acl::Sid;
use super::app_container::{self, strip_verbatim_prefix};
use super::process::{self, Job, ProcessSpec};
use crate::sandbox::spec::Limits;

/// Variables for the private home, which is kept.
const HOMES: &[&str] = &["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"];
/// Variables for the folder that is removed with the command.
const TEMPORARY: &[&str] = &["TEMP", "TMP"];

/// A running command.
pub(super) struct StartedCommand {
    pub(super) job: Job,
    pub(super) process: OwnedHandle,
    pub(super) stdout: File,
    pub(super) stderr: File,
    pub(super) scratch: Scratch,
}

/// Placement of a command.
pub(super) struct CommandPlace<'p> {
    pub(super) sid: &'p Sid,
    pub(super) folder: &'p Path,
    /// The private home; the temporary folder if there is none.
    pub(super) home: Option<&'p Path>,
    pub(super) limits: &'p Limits,
}

/// Starts the system's shell on `line` with these variables and the variables of the home.
pub(super) fn start(
    place: &CommandPlace<'_>,
    line: &str,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> io::Result<StartedCommand> {
    let scratch = Scratch::new()?;
    app_container::grant_access(&scratch.0, place.sid)?;
    let home = place.home.unwrap_or(&scratch.0);
    app_container::grant_access(home, place.sid)?;
    let shown = |path: &Path| {
        strip_verbatim_prefix(path).unwrap_or_else(|| path.to_owned()).into_os_string()
    };
    let homes = HOMES.iter().map(|name| (OsString::from(name), shown(home)));
    let temporary = TEMPORARY.iter().map(|name| (OsString::from(name), shown(&scratch.0)));
    let environment = environment_block(variables.into_iter().chain(homes).chain(temporary))?;
    let program = process::system_folder()?.join("cmd.exe");
    // `/s` with outer quotes passes the line unchanged (cmd /?).
    let line = format!("\"{}\" /d /s /c \"{line}\"", program.display());
    let folder = strip_verbatim_prefix(place.folder).unwrap_or_else(|| place.folder.to_owned());
    let (stdout, their_stdout) = io::pipe()?;
    let (stderr, their_stderr) = io::pipe()?;
    let null = File::open("NUL")?;
    let job = Job::new(place.limits.processes, place.limits.memory_bytes)?;
    let spec = ProcessSpec {
        program: program.as_os_str(),
        line: OsStr::new(&line),
        folder: folder.as_os_str(),
        environment: &environment,
        sid: place.sid,
        job: &job,
        streams: [null.as_handle(), their_stdout.as_handle(), their_stderr.as_handle()],
    };
    let process = process::create(&spec)?.resume_if_confined(&spec)?;
    let [stdout, stderr] = [stdout, stderr].map(|pipe| File::from(OwnedHandle::from(pipe)));
    Ok(StartedCommand { job, process, stdout, stderr, scratch })
}

/// The environment for `CreateProcess`: sorted by upper-case name; the last value of a name counts.
pub(super) fn environment_block(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> io::Result<Vec<u16>> {
    let mut sorted = std::collections::BTreeMap::new();
    for (name, value) in variables {
        sorted.insert(name.to_string_lossy().to_uppercase(), (name, value));
    }
    let mut block = Vec::new();
    for (name, value) in sorted.values() {
        let begin = block.len();
        block.extend(name.encode_wide().chain([u16::from(b'=')]).chain(value.encode_wide()));
        if block[begin..].contains(&0) {
            let why = "a variable contains a zero";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        block.push(0);
    }
    block.push(0);
    Ok(block)
}

/// The temporary folder of a command, removed when dropped.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rouse-{}-{number}", std::process::id());
        let path = std::env::temp_dir().canonicalize()?.join(name);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "failed to remove a command's temporary folder");
        }
    }
}

/// A running command with a job. Dropping ends all processes.
pub(crate) struct SandboxedCommand {
    job: Job,
    waiter: Option<JoinHandle<io::Result<Option<u32>>>>,
    status: Option<ExitStatus>,
    /// Dropped after the job.
    _scratch: Scratch,
}

impl SandboxedCommand {
    /// Waits on a blocking thread, which returns once the job has ended.
    pub(super) fn new(job: Job, process: OwnedHandle, scratch: Scratch) -> Self {
        let waiter = tokio::task::spawn_blocking(move || process::wait(&process, None));
        Self { job, waiter: Some(waiter), status: None, _scratch: scratch }
    }

    /// Waits for the first process.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let lost = || io::Error::other("the exit status was lost");
        let waited = self.waiter.as_mut().ok_or_else(lost)?.await;
        self.waiter = None;
        let code = waited.map_err(io::Error::other)??.ok_or_else(lost)?;
        let status = ExitStatus::from_raw(code);
        self.status = Some(status);
        Ok(status)
    }

    /// Kills all processes.
    pub(crate) fn kill(&self) {
        if let Err(error) = self.job.terminate() {
            tracing::debug!(%error, "a command had already exited");
        }
    }
}
