//! Patterns of event triggers, compiled when first needed or shortly before.
//!
//! Ten thousand patterns take seconds to compile, so neither a start nor a change of a job waits: a thread compiles the
//! patterns in the background, and an earlier event compiles the needed patterns. All compiled patterns share a memory
//! limit. A pattern that does not compile is reported once, and the job is paused.
//! Pitfall: report an invalid pattern only after the result is stored, or the reader finds nothing and does not look
//! again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use rouse_core::cause::{MOST_BYTES, Pattern, PatternError};
use tokio::sync::Notify;

/// Memory limit of the compiled patterns of all jobs.
const MAX_TOTAL_BYTES: usize = 64 << 20;

/// The state that all patterns share.
#[derive(Debug)]
pub(super) struct PatternMemory {
    bytes_left: AtomicUsize,
    has_invalid: AtomicBool,
    found_invalid: Notify,
}

impl Default for PatternMemory {
    fn default() -> Self {
        Self {
            bytes_left: AtomicUsize::new(MAX_TOTAL_BYTES),
            has_invalid: AtomicBool::new(false),
            found_invalid: Notify::new(),
        }
    }
}

impl PatternMemory {
    /// Waits until the background thread finds an invalid pattern.
    pub(super) async fn found_invalid(&self) {
        self.found_invalid.notified().await;
    }

    pub(super) fn take_has_invalid(&self) -> bool {
        self.has_invalid.swap(false, Ordering::Relaxed)
    }

    pub(super) fn set_has_invalid(&self) {
        self.has_invalid.store(true, Ordering::Relaxed);
    }

    fn compile(&self, text: &str) -> Result<Pattern, String> {
        let left = self.bytes_left.load(Ordering::Relaxed);
        let pattern = Pattern::compile_within(text, left).map_err(|error| match error {
            PatternError::TooLarge if left < MOST_BYTES => out_of_memory(),
            error => format!("The pattern {error}"),
        })?;
        let take = |left: usize| left.checked_sub(pattern.bytes());
        let taken = self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map_err(|_| out_of_memory())?;
        Ok(pattern)
    }
}

fn out_of_memory() -> String {
    let most = MAX_TOTAL_BYTES >> 20;
    format!(
        "The patterns of all jobs need more than {most} MB, so this job's pattern was not loaded"
    )
}

/// The pattern of a job.
#[derive(Debug)]
pub(super) struct EventPattern {
    text: String,
    memory: Arc<PatternMemory>,
    compiled: OnceLock<Result<Pattern, String>>,
}

impl EventPattern {
    pub(super) const fn new(text: String, memory: Arc<PatternMemory>) -> Self {
        Self { text, memory, compiled: OnceLock::new() }
    }

    /// The compiled pattern, or the error. Compiles at the first call.
    pub(super) fn get(&self) -> Result<&Pattern, &str> {
        let compiled = self.compiled.get_or_init(|| self.memory.compile(&self.text));
        compiled.as_ref().map_err(|reason| {
            self.memory.set_has_invalid();
            reason.as_str()
        })
    }

    /// The error of a compiled, invalid pattern.
    pub(super) fn error(&self) -> Option<&str> {
        self.compiled.get()?.as_ref().err().map(String::as_str)
    }
}

impl Drop for EventPattern {
    fn drop(&mut self) {
        if let Some(Ok(pattern)) = self.compiled.get() {
            self.memory.bytes_left.fetch_add(pattern.bytes(), Ordering::Relaxed);
        }
    }
}

/// Compiles patterns on a blocking thread, without patterns that were dropped meanwhile.
pub(super) fn compile_in_background(patterns: Vec<Weak<EventPattern>>) {
    if patterns.is_empty() {
        return;
    }
    tokio::task::spawn_blocking(move || {
        for pattern in patterns.iter().filter_map(Weak::upgrade) {
            if pattern.get().is_err() {
                pattern.memory.found_invalid.notify_one();
            }
        }
    });
}
