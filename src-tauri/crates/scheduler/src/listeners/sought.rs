//! Patterns that are read when they are needed, or a little before.
//!
//! Reading ten thousand patterns takes seconds, so neither a start nor a change of a job waits for it: a thread of its own
//! reads ahead, and an event that comes sooner reads those that it needs itself. All of them together have a bound in
//! memory. One that cannot be read says so once, and its job is paused (`deaf`). One could get it wrong by saying so before
//! the answer can be seen: whoever looks then finds nothing, and looks no more.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use rouse_core::cause::{MOST_BYTES, Pattern, PatternError};
use tokio::sync::Notify;

/// Memory of the patterns of all jobs.
const MOST_BYTES_OF_ALL: usize = 64 << 20;

/// What all patterns share.
#[derive(Debug)]
pub(super) struct Shared {
    bytes_left: AtomicUsize,
    /// Whether one was found that cannot be read.
    has_broken: AtomicBool,
    found_broken: Notify,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            bytes_left: AtomicUsize::new(MOST_BYTES_OF_ALL),
            has_broken: AtomicBool::new(false),
            found_broken: Notify::new(),
        }
    }
}

impl Shared {
    /// Waits for a pattern that cannot be read.
    pub(super) async fn found_broken(&self) {
        self.found_broken.notified().await;
    }

    pub(super) fn take_broken(&self) -> bool {
        self.has_broken.swap(false, Ordering::Relaxed)
    }

    pub(super) fn remember_broken(&self) {
        self.has_broken.store(true, Ordering::Relaxed);
    }

    fn read(&self, text: &str) -> Result<Pattern, String> {
        let left = self.bytes_left.load(Ordering::Relaxed);
        let pattern = Pattern::compile_within(text, left).map_err(|error| match error {
            PatternError::TooLarge if left < MOST_BYTES => no_room(),
            error => format!("Its pattern {error}"),
        })?;
        let take = |left: usize| left.checked_sub(pattern.bytes());
        let taken = self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map_err(|_| no_room())?;
        Ok(pattern)
    }

    fn give_back(&self, bytes: usize) {
        self.bytes_left.fetch_add(bytes, Ordering::Relaxed);
    }
}

fn no_room() -> String {
    let most = MOST_BYTES_OF_ALL >> 20;
    format!("The patterns of all jobs together take more than {most} MB, and its own had no room")
}

/// The pattern of one job.
#[derive(Debug)]
pub(super) struct Sought {
    text: String,
    shared: Arc<Shared>,
    pattern: OnceLock<Result<Pattern, String>>,
}

impl Sought {
    pub(super) const fn new(text: String, shared: Arc<Shared>) -> Self {
        Self { text, shared, pattern: OnceLock::new() }
    }

    /// It, or why it cannot be looked for. Reads it when nobody has.
    pub(super) fn pattern(&self) -> Result<&Pattern, &str> {
        let pattern = self.pattern.get_or_init(|| self.shared.read(&self.text));
        pattern.as_ref().map_err(|reason| {
            self.shared.remember_broken();
            reason.as_str()
        })
    }

    /// Why it cannot be looked for, if it was read and cannot.
    pub(super) fn complaint(&self) -> Option<&str> {
        self.pattern.get()?.as_ref().err().map(String::as_str)
    }

    fn read_ahead(&self) {
        if self.pattern().is_err() {
            self.shared.found_broken.notify_one();
        }
    }
}

impl Drop for Sought {
    fn drop(&mut self) {
        if let Some(Ok(pattern)) = self.pattern.get() {
            self.shared.give_back(pattern.bytes());
        }
    }
}

/// Reads them on a thread for such work; those that nobody needs any more are left out.
pub(super) fn read_ahead(unread: Vec<Weak<Sought>>) {
    if !unread.is_empty() {
        tokio::task::spawn_blocking(move || {
            unread.iter().filter_map(Weak::upgrade).for_each(|sought| sought.read_ahead());
        });
    }
}
