//! A SQLite VFS that injects faults, and records writes to simulate power cuts.
//!
//! [`FaultyDisk::over`] watches one folder: calls for its files are counted and recorded before the real VFS. A chosen call, or every
//! call from one on, fails. [`Record::image`] builds the files as a power cut could leave them. Everything above the VFS is the real
//! SQLite. Pitfall: files outside the folder must bypass the faults, or a second store of the test would share them.

mod record;
mod vfs;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

pub use record::{Entry, Record};

/// The error of a failing call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An I/O error (EIO).
    Broken,
    /// A full disk (ENOSPC): only calls that need space fail.
    Full,
}

/// The duration of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// One call.
    Once,
    /// Until [`FaultyDisk::repair`].
    UntilMended,
}

/// The effect of a fault, in calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hits {
    /// Calls with an I/O error.
    pub broken: u64,
    /// Calls with a full disk.
    pub full: u64,
    /// Calls that succeeded on a full disk.
    pub spared: u64,
}

/// A watched folder, until dropped.
pub struct FaultyDisk {
    folder: PathBuf,
    state: Arc<WatchedFolder>,
}

/// The state of a watched folder.
#[derive(Debug, Default)]
struct WatchedFolder {
    state: Mutex<State>,
    all_closed: Condvar,
}

/// The counts, the planned fault and the record of a folder.
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

/// The kinds of calls that can fail.
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
    /// Watches an existing folder. Its present files count as synced.
    ///
    /// # Panics
    /// When the folder cannot be read.
    #[must_use]
    pub fn over(folder: &Path) -> Self {
        let folder = folder.canonicalize().expect("the folder exists");
        let state = State { record: Record::of_folder(&folder), ..State::default() };
        let state =
            Arc::new(WatchedFolder { state: Mutex::new(state), all_closed: Condvar::new() });
        vfs::watch(&folder, &state);
        Self { folder, state }
    }

    /// The calls so far that could fail.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Plans a fault at call `at`, counted from 0.
    pub fn fail_at(&self, at: u64, fault: Fault, lasts: Lasts) {
        self.state().plan(Plan { at, fault, lasts });
    }

    /// Fails every call from now on.
    pub fn fail_now(&self, fault: Fault) {
        let mut state = self.state();
        let at = state.calls;
        state.plan(Plan { at, fault, lasts: Lasts::UntilMended });
    }

    /// The effect of the current fault.
    #[must_use]
    pub fn hits(&self) -> Hits {
        self.state().hits
    }

    /// Ends the fault.
    pub fn repair(&self) {
        self.state().plan = None;
    }

    /// Waits until SQLite has closed every file in the folder, so that no dropped store can still write.
    ///
    /// # Panics
    /// After a panic in a call.
    pub fn wait_until_closed(&self) {
        let closed = self.state.all_closed.wait_while(self.state(), |state| state.open_files > 0);
        drop(closed.expect("BUG: the disk state is poisoned"));
    }

    /// Starts the record.
    pub fn record(&self) {
        self.state().is_recording = true;
    }

    /// Records that `number` was acknowledged as saved.
    pub fn note(&self, number: u64) {
        self.state().record.push(Entry::Note(number));
    }

    /// The record so far.
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
        vfs::unwatch(&self.folder);
    }
}

impl State {
    fn plan(&mut self, plan: Plan) {
        (self.plan, self.hits) = (Some(plan), Hits::default());
    }

    /// Counts a call and returns its fault, if any.
    fn count(&mut self, call: Call) -> Option<Fault> {
        let number = self.calls;
        self.calls += 1;
        let plan = self.plan?;
        let is_due = match plan.lasts {
            Lasts::Once => number == plan.at,
            Lasts::UntilMended => number >= plan.at,
        };
        if !is_due {
            return None;
        }
        let needs_space = matches!(call, Call::Open | Call::Write | Call::Share);
        match plan.fault {
            Fault::Broken => self.hits.broken += 1,
            Fault::Full if needs_space => self.hits.full += 1,
            Fault::Full => {
                self.hits.spared += 1;
                return None;
            }
        }
        Some(plan.fault)
    }

    fn add_entry(&mut self, entry: impl FnOnce() -> Entry) {
        if self.is_recording {
            let entry = entry();
            self.record.push(entry);
        }
    }
}

impl WatchedFolder {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("BUG: the disk state is poisoned")
    }

    fn count_open(&self) {
        self.lock().open_files += 1;
    }

    fn count_close(&self) {
        let mut state = self.lock();
        state.open_files -= 1;
        if state.open_files == 0 {
            self.all_closed.notify_all();
        }
    }
}
