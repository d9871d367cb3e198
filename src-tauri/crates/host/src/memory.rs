//! Returns memory that only the start or a burst of work needed.
//!
//! An idle engine needs a small part of its program. The rest was read for the command line, the database, schemas,
//! model discovery or a page, and counts as used until memory is short. On Linux those code pages are released at
//! once; a needed page returns from the page cache in microseconds. Loaded tools and free heap pages are released too.
//! Never touches written pages, which only the program could restore. Pitfall: a release after the heap was trimmed;
//! its memory stays with the allocator.

use std::sync::Arc;
use std::time::Duration;

use rouse_store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Makes all threads share one heap instead of a heap each. Call before the first thread starts.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn share_one_heap() {
    // SAFETY: takes numbers and sets the maximum number of arenas (mallopt(3)).
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Other allocators do so by themselves or have no such setting.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub const fn share_one_heap() {}

/// The idle time before a release.
pub(crate) const IDLE: Duration = Duration::from_secs(10);

/// Releases memory after the start and after every burst of work. An idle engine is never woken.
pub(crate) struct MemoryRelease<F> {
    /// Notified of work.
    pub(crate) activity: Arc<Notify>,
    /// The time without work before a release.
    pub(crate) idle: Duration,
    pub(crate) store: Store,
    /// Releases the loaded code of tools.
    pub(crate) release_tools: F,
}

impl<F: Fn()> MemoryRelease<F> {
    /// Runs until `closing`.
    pub(crate) async fn run(self, closing: CancellationToken) {
        closing.run_until_cancelled(self.release_when_idle()).await;
    }

    async fn release_when_idle(&self) {
        let Self { activity, idle, store, release_tools } = self;
        loop {
            while tokio::time::timeout(*idle, activity.notified()).await.is_ok() {}
            store.shrink_memory().await;
            release_tools();
            release_code_pages();
            release_heap();
            activity.notified().await;
        }
    }
}

/// Releases the unmodified pages of this program's file.
#[cfg(target_os = "linux")]
fn release_code_pages() {
    use rustix::mm::{Advice, madvise};
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
    let Ok(smaps) = std::fs::read_to_string("/proc/self/smaps") else { return };
    for range in unmodified_mappings(&smaps, &program.to_string_lossy()) {
        let length = range.end - range.start;
        // SAFETY: the range is a read-only mapping of this program's file without private pages (read from the kernel
        // just above), so a released page is read again, unchanged, from the same file.
        let advised = unsafe {
            madvise(
                std::ptr::with_exposed_provenance_mut(range.start),
                length,
                Advice::LinuxDontNeed,
            )
        };
        if let Err(error) = advised {
            tracing::debug!(%error, "code pages could not be released");
        }
    }
}

/// Other systems reclaim such pages by themselves.
#[cfg(not(target_os = "linux"))]
fn release_code_pages() {}

/// Releases the empty pages of the heap, which the allocator keeps for the next burst (malloc_trim(3)).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn release_heap() {
    // SAFETY: takes a number and touches only free memory.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators do so by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
const fn release_heap() {}

/// The read-only mappings of `program` without modified pages (proc_pid_smaps(5)).
#[cfg(target_os = "linux")]
fn unmodified_mappings(smaps: &str, program: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut candidate = None;
    for line in smaps.lines() {
        if let Some(range) = parse_mapping(line) {
            candidate = (line.ends_with(program) && !line.contains(" rw")).then_some(range);
        } else if line.starts_with("Anonymous:") && line.split_whitespace().nth(1) == Some("0") {
            found.extend(candidate.take());
        }
    }
    found
}

/// The address range in a mapping's first line.
#[cfg(target_os = "linux")]
fn parse_mapping(line: &str) -> Option<std::ops::Range<usize>> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(address(start)?..address(end)?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_unmodified_mappings_are_found() {
        let smaps = "\
55d0-55e0 r--p 00000000 fe:00 1  /opt/rouse
Size:                 16 kB
Anonymous:             0 kB
VmFlags: rd mr
55e0-55f0 r-xp 00001000 fe:00 1  /opt/rouse
Anonymous:             0 kB
55f0-5600 r--p 00002000 fe:00 1  /opt/rouse
Anonymous:             8 kB
5600-5610 rw-p 00003000 fe:00 1  /opt/rouse
Anonymous:             0 kB
7f00-7f10 r-xp 00000000 fe:00 2  /usr/lib/libc.so.6
Anonymous:             0 kB
";
        assert_eq!(unmodified_mappings(smaps, "/opt/rouse"), [0x55d0..0x55e0, 0x55e0..0x55f0]);
    }

    #[tokio::test]
    async fn tools_are_released_once_per_burst() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        let (activity, closing) = (Arc::new(Notify::new()), CancellationToken::new());
        let (released, mut releases) = tokio::sync::mpsc::unbounded_channel();
        let release = MemoryRelease {
            activity: Arc::clone(&activity),
            idle: Duration::from_millis(1),
            store: store.expect("a store"),
            release_tools: move || released.send(()).expect("a receiver"),
        };
        let task = tokio::spawn(release.run(closing.clone()));
        for _ in 0..2 {
            releases.recv().await.expect("a release");
            assert!(releases.is_empty());
            activity.notify_one();
        }
        releases.recv().await.expect("a release");
        closing.cancel();
        task.await.expect("an end");
        assert!(releases.recv().await.is_none());
    }

    #[test]
    fn program_survives_the_release() {
        release_code_pages();
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("readable");
        let program = std::fs::read_link("/proc/self/exe").expect("a program");
        assert!(!unmodified_mappings(&smaps, &program.to_string_lossy()).is_empty());
    }
}
