//! A disk that fails on demand and remembers what it had promised: a layer of SQLite's own file system.
//!
//! [`FaultyDisk::over`] watches one folder. SQLite's calls for files in it are counted and written down before they go
//! on to the real file system; a chosen call, or every call from one on, fails instead. From what was written down,
//! [`Record::image`] makes the files as a power cut could have left them: what was synced is there, what was not is
//! there, gone or torn. It refuses to imitate SQLite: everything above the file system is the real library. One could
//! get it wrong by letting files outside the folder through this layer; a second store of the same test would then
//! share its faults.

mod record;
mod vfs;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

pub use record::{Entry, Record};

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The disk cannot read or write (EIO).
    Broken,
    /// There is no room left (ENOSPC); only calls that need room fail.
    Full,
}

/// How long a fault lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// For that one call.
    Once,
    /// Until [`FaultyDisk::mend`].
    UntilMended,
}

/// What became of the calls that a fault was meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hits {
    /// SQLite was told that the disk cannot read or write.
    pub broken: u64,
    /// SQLite was told that there is no room left.
    pub full: u64,
    /// The disk was full, and the call needed no room.
    pub spared: u64,
}

/// A watched folder. Dropped, it is watched no more.
pub struct FaultyDisk {
    folder: PathBuf,
    state: Arc<Watched>,
}

/// A folder's state, and who waits for its files to be closed.
#[derive(Debug, Default)]
struct Watched {
    state: Mutex<State>,
    all_closed: Condvar,
}

/// What is known and planned about the calls for one folder.
#[derive(Debug, Default)]
struct State {
    calls: u64,
    open_files: usize,
    plan: Option<Plan>,
    hits: Hits,
    record: Record,
    is_recording: bool,
}

#[derive(Debug, Clone, Copy)]
struct Plan {
    at: u64,
    fault: Fault,
    lasts: Lasts,
}

/// What SQLite asks of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Open,
    Read,
    Write,
    Truncate,
    Sync,
    Delete,
    Share,
}

impl FaultyDisk {
    /// Watches `folder`, which exists, until the answer is dropped. What is in it already is taken as synced.
    ///
    /// # Panics
    /// When the folder cannot be read.
    #[must_use]
    pub fn over(folder: &Path) -> Self {
        let folder = folder.canonicalize().expect("a folder to watch");
        let state = State { record: Record::of_folder(&folder), ..State::default() };
        let state = Arc::new(Watched { state: Mutex::new(state), all_closed: Condvar::new() });
        vfs::watch(&folder, &state);
        Self { folder, state }
    }

    /// Calls made so far that could fail.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// From now on, the call with this number fails; calls are counted from 0.
    pub fn fail_at(&self, at: u64, fault: Fault, lasts: Lasts) {
        self.state().plan(Plan { at, fault, lasts });
    }

    /// From the next call on, everything fails.
    pub fn fail_now(&self, fault: Fault) {
        let mut state = self.state();
        let at = state.calls;
        state.plan(Plan { at, fault, lasts: Lasts::UntilMended });
    }

    /// How often the planned fault has struck so far; what is planned anew is counted anew.
    #[must_use]
    pub fn hits(&self) -> Hits {
        self.state().hits
    }

    /// No call fails any more.
    pub fn mend(&self) {
        self.state().plan = None;
    }

    /// Waits until SQLite has closed every file in the folder: nothing that was dropped can write any more.
    ///
    /// # Panics
    /// When a call panicked.
    pub fn wait_until_closed(&self) {
        let closed = self.state.all_closed.wait_while(self.state(), |state| state.open_files > 0);
        drop(closed.expect("BUG: a call panicked while it was counted"));
    }

    /// Writes down what the calls do from now on.
    pub fn record(&self) {
        self.state().is_recording = true;
    }

    /// Writes down that the person was told something is saved.
    pub fn note(&self, number: u64) {
        self.state().record.push(Entry::Note(number));
    }

    /// What was written down so far.
    #[must_use]
    pub fn recorded(&self) -> Record {
        self.state().record.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        vfs::forget(&self.folder);
    }
}

impl State {
    fn plan(&mut self, plan: Plan) {
        (self.plan, self.hits) = (Some(plan), Hits::default());
    }

    /// Counts a call; answers how it fails, if it does. Whoever asks fails it so.
    fn count(&mut self, call: Call) -> Option<Fault> {
        let number = self.calls;
        self.calls += 1;
        let plan = self.plan?;
        let is_meant = match plan.lasts {
            Lasts::Once => number == plan.at,
            Lasts::UntilMended => number >= plan.at,
        };
        if !is_meant {
            return None;
        }
        let needs_room = matches!(call, Call::Open | Call::Write | Call::Share);
        match plan.fault {
            Fault::Broken => self.hits.broken += 1,
            Fault::Full if needs_room => self.hits.full += 1,
            Fault::Full => {
                self.hits.spared += 1;
                return None;
            }
        }
        Some(plan.fault)
    }

    fn write_down(&mut self, entry: impl FnOnce() -> Entry) {
        if self.is_recording {
            let entry = entry();
            self.record.push(entry);
        }
    }
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("BUG: a call panicked while it was counted")
    }

    fn opened(&self) {
        self.lock().open_files += 1;
    }

    fn closed(&self) {
        let mut state = self.lock();
        state.open_files -= 1;
        if state.open_files == 0 {
            self.all_closed.notify_all();
        }
    }
}
