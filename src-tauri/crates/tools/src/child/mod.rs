//! A child process and everything that it starts: begun in a group of its own, ended as a whole.
//!
//! Owns three promises. What a command writes is read while it runs and kept within bounds, so that a full pipe never
//! stops it and an endless one never fills the memory. When it ends, is dropped or runs out of time, what it has started
//! ends with it: asked first, then made to. And a crash of Rouse leaves nothing at work for good: it ends with Rouse, or is
//! found at the next start. It refuses shells, tools and permissions: it gets a command.
//!
//! - Linux and macOS: a process group. In each a guard ends it together with Rouse (`guard`).
//! - Linux: besides, every process that bears the mark in its environment, which each child inherits, wherever it has moved
//!   itself to, and what came of such a one (`strays`); so it is found at the next start too. A process that leaves the
//!   group *and* clears its environment is out of reach once those that it came of have ended; only a sandbox holds it.
//! - macOS: the mark cannot be read from outside there. A process that leaves the group is out of reach.
//! - Windows: a job object that the system ends together with Rouse, so that nothing is ever left behind. A confined
//!   command has a job of its own kind (`sandbox`).
//!
//! One could get it wrong by killing by number: between looking and killing, a number can come to name another process.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

mod bound;
mod kept;

#[cfg(all(test, unix))]
mod tests;

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rouse_core::tool::LooseEnds;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

pub(crate) use bound::Bound;
use kept::Kept;
#[cfg(windows)]
pub(crate) use system::Process;
pub use system::end_strays;
use system::has_strays;

/// The environment variable by which children are found: `<instance>:<run>:<call>`.
pub const MARK: &str = "ROUSE_RUN";
/// What a command may write before it is ended for it.
const MOST_BYTES: usize = 64 << 20;
/// How long what was asked to end may take.
const GRACE: Duration = Duration::from_secs(1);
/// How long to read on when the command is over: what it wrote last is in the pipe already.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A running command. Dropping it ends it, in a task that is left to whoever waits for loose ends.
pub(crate) struct Child {
    process: Option<system::Process>,
    ending: Option<JoinHandle<()>>,
    left_to: LooseEnds,
    mark: String,
    overflow: Arc<Notify>,
    readers: [Reader; 2],
    /// Crossed by what watches over it, which then ends it.
    bound: Bound,
    /// Let go when the command is over.
    kept: Option<Box<dyn Send + Sync>>,
    /// Says whether a command that has ended left processes running, where its sandbox knows.
    left_running: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) end: End,
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
    /// Whether it ended by itself and left processes running, which were ended then.
    pub(crate) has_left_running: bool,
}

/// How it ended.
#[derive(Debug)]
pub(crate) enum End {
    /// By itself.
    Exited(ExitStatus),
    /// Because of its time limit.
    TimedOut,
    /// Because it wrote without end.
    WroteTooMuch,
    /// Because of a bound that was watched, in words.
    OverBound(String),
}

impl Child {
    /// Starts `command` in a group of its own, without input, marked with `mark`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn spawn(mut command: Command, mark: &str) -> io::Result<Self> {
        command.env(MARK, mark).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = system::Process::spawn(command)?;
        let (stdout, stderr) = process.take_output();
        Ok(Self::watched(process, stdout, stderr, mark))
    }

    /// A process that runs, with what it writes.
    pub(crate) fn watched(
        process: system::Process,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        stderr: impl AsyncRead + Send + Unpin + 'static,
        mark: &str,
    ) -> Self {
        let overflow = Arc::new(Notify::new());
        let readers = [read(stdout, Arc::clone(&overflow)), read(stderr, Arc::clone(&overflow))];
        Self {
            process: Some(process),
            ending: None,
            left_to: LooseEnds::default(),
            mark: mark.to_owned(),
            overflow,
            readers,
            bound: Bound::default(),
            kept: None,
            left_running: None,
        }
    }

    /// The same child, whose end is left to `ends` when it is dropped.
    pub(crate) fn leaving(mut self, ends: &LooseEnds) -> Self {
        self.left_to = ends.clone();
        self
    }

    /// The same child, with something that is to live as long as it does.
    pub(crate) fn keeping(mut self, kept: impl Send + Sync + 'static) -> Self {
        self.kept = Some(Box::new(kept));
        self
    }

    /// The same child, which asks this about processes that it left running.
    pub(crate) fn asking(mut self, left_running: Box<dyn Fn() -> bool + Send + Sync>) -> Self {
        self.left_running = Some(left_running);
        self
    }

    /// Where it is said that it is ended for what it takes.
    #[cfg_attr(windows, expect(dead_code, reason = "a job object bounds it there"))]
    pub(crate) fn bound(&self) -> Bound {
        self.bound.clone()
    }

    /// Its group; it was not finished yet.
    #[cfg(target_os = "macos")]
    pub(crate) fn group(&self) -> rustix::process::Pid {
        self.process.as_ref().expect("BUG: a child was finished twice").group()
    }

    /// Waits for its end, at most `limit`, and ends what is left of it.
    ///
    /// # Errors
    /// When the system cannot say how it ended.
    pub(crate) async fn finish(mut self, limit: Duration) -> io::Result<Finished> {
        let process = self.process.as_mut().expect("BUG: a child was finished twice");
        let end = tokio::select! {
            status = process.wait() => End::Exited(status?),
            () = self.overflow.notified() => End::WroteTooMuch,
            () = pause(limit) => End::TimedOut,
        };
        let ended_by_itself = matches!(end, End::Exited(_));
        let has_left_running = ended_by_itself && self.has_left_running().await;
        self.begin_to_end();
        if let Some(ending) = &mut self.ending {
            over(ending).await;
        }
        self.ending = None;
        let end = match self.bound.crossed() {
            Some(how) => End::OverBound(how),
            None => end,
        };
        let [stdout, stderr] = &mut self.readers;
        let (stdout, stderr) = tokio::join!(last_words(stdout), last_words(stderr));
        Ok(Finished { end, stdout, stderr, has_left_running })
    }
}

impl Child {
    /// Whether the command, which has ended, left processes running. A sandbox that knows says so; elsewhere the mark is
    /// looked for.
    async fn has_left_running(&self) -> bool {
        if let Some(left_running) = &self.left_running {
            return left_running();
        }
        let mark = self.mark.clone();
        let found = tokio::task::spawn_blocking(move || has_strays(&mark)).await;
        found.unwrap_or(false)
    }

    /// Ends the whole group in a task of its own, so that nobody who stops waiting for that stops it.
    fn begin_to_end(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        process.ask_group_to_end();
        // Without a runtime the process ends its group when it is dropped.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let mark = std::mem::take(&mut self.mark);
            self.ending = Some(runtime.spawn(end_whole(process, mark).in_current_span()));
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        for reader in &self.readers {
            reader.task.abort();
        }
        self.begin_to_end();
        if let Some(mut ending) = self.ending.take() {
            self.left_to.add(Box::pin(async move { over(&mut ending).await }));
        }
    }
}

async fn over(ending: &mut JoinHandle<()>) {
    if let Err(error) = ending.await {
        tracing::error!(%error, "the end of a command was not waited for");
    }
}

/// Waits a moment for a group that was asked to end, and makes it.
async fn end_whole(mut process: system::Process, mark: String) {
    if tokio::time::timeout(GRACE, process.wait()).await.is_err() {
        tracing::debug!(mark, "a command did not end when it was asked to");
    }
    process.kill_group();
    let strays = tokio::task::spawn_blocking(move || end_strays(&mark)).await;
    if let Ok(count @ 1..) = strays {
        tracing::info!(count, "processes that had left their command's group were ended");
    }
    // Reaps it; after the kill there is nothing to wait for.
    if let Err(error) = process.wait().await {
        tracing::debug!(%error, "a command was not reaped");
    }
}

/// What reads a stream, and what it has kept of it so far.
struct Reader {
    task: JoinHandle<()>,
    kept: Arc<Mutex<Kept>>,
}

fn read(pipe: impl AsyncRead + Send + Unpin + 'static, overflow: Arc<Notify>) -> Reader {
    let kept = Arc::<Mutex<Kept>>::default();
    let fills = Arc::clone(&kept);
    let task = tokio::spawn(async move {
        let (mut pipe, mut piece) = (pipe, vec![0; 16 << 10]);
        while let Ok(count @ 1..) = pipe.read(&mut piece).await {
            let mut kept = fills.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push(&piece[..count]);
            // Read on until it is ended: a pipe closed on it would end it in another way.
            if kept.total() > MOST_BYTES {
                overflow.notify_one();
            }
        }
    });
    Reader { task, kept }
}

/// What a reader has read. A process that escaped may hold the pipe open for ever.
async fn last_words(reader: &mut Reader) -> Kept {
    let is_open = tokio::time::timeout(LAST_WORDS, &mut reader.task).await.is_err();
    reader.task.abort();
    let mut kept = reader.kept.lock().unwrap_or_else(PoisonError::into_inner);
    if is_open {
        kept.leave_open();
    }
    std::mem::take(&mut kept)
}

#[expect(clippy::disallowed_methods, reason = "a time limit is the waiting itself")]
async fn pause(limit: Duration) {
    tokio::time::sleep(limit).await;
}
