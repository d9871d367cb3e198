//! Gives memory back that only the start, or a burst of work, needed.
//!
//! An engine sits in the tray for weeks and needs a small part of its program then: the rest was read to parse a command
//! line, open a database, compile schemas, look for models or answer a page. The system would take those pages back when
//! memory is short; until then they count as ours. On Linux they are let go at once, as what is still needed comes back
//! from the page cache in microseconds, and the heap is handed back where nothing lies in it. It refuses every other page
//! that was written to, which only the program itself could restore.

use std::sync::Arc;
use std::time::Duration;

use rouse_store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Has all threads share one heap, where each would keep one of its own with room that only a burst of work has needed.
/// Before the first thread is started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn share_one_heap() {
    // SAFETY: it takes numbers, and sets how many heaps there may be (mallopt(3)).
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Other allocators do so by themselves, or cannot be asked.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub const fn share_one_heap() {}

/// How long nothing must have been stored or answered.
const QUIET: Duration = Duration::from_secs(10);

/// Gives back once after the start and after every stretch of work; an idle engine is not woken for it.
pub(crate) async fn give_back_when_quiet(
    worked: Arc<Notify>,
    store: Store,
    closing: CancellationToken,
) {
    let rest = async {
        loop {
            while tokio::time::timeout(QUIET, worked.notified()).await.is_ok() {}
            store.shrink_memory().await;
            give_back_code();
            give_back_heap();
            worked.notified().await;
        }
    };
    closing.run_until_cancelled(rest).await;
}

/// Lets go of the pages of this program's own file that hold nothing but what is in the file.
#[cfg(target_os = "linux")]
fn give_back_code() {
    use rustix::mm::{Advice, madvise};
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
    let Ok(smaps) = std::fs::read_to_string("/proc/self/smaps") else { return };
    for range in unwritten(&smaps, &program.to_string_lossy()) {
        let length = range.end - range.start;
        // SAFETY: the range is a mapping of this program's file that cannot be written and has no page of its own (the
        // kernel has just said so), so what is let go is read from the same file again, unchanged, when it is touched.
        let let_go = unsafe {
            madvise(
                std::ptr::with_exposed_provenance_mut(range.start),
                length,
                Advice::LinuxDontNeed,
            )
        };
        if let Err(error) = let_go {
            tracing::debug!(%error, "memory of the start is kept");
        }
    }
}

/// Other systems count memory in other ways, and take it back by themselves.
#[cfg(not(target_os = "linux"))]
fn give_back_code() {}

/// Lets go of the pages of the heap that nothing lies in. The allocator keeps them for the next burst, which may come
/// tomorrow (malloc_trim(3)).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back_heap() {
    // SAFETY: it takes a number, and touches only what is free.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators do that by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
const fn give_back_heap() {}

/// The mappings of `program` that cannot be written and hold no page that differs from the file (proc_pid_smaps(5)).
#[cfg(target_os = "linux")]
fn unwritten(smaps: &str, program: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut candidate = None;
    for line in smaps.lines() {
        if let Some(range) = mapping(line) {
            candidate = (line.ends_with(program) && !line.contains(" rw")).then_some(range);
        } else if line.starts_with("Anonymous:") && line.split_whitespace().nth(1) == Some("0") {
            found.extend(candidate.take());
        }
    }
    found
}

/// The range at the beginning of a mapping's first line.
#[cfg(target_os = "linux")]
fn mapping(line: &str) -> Option<std::ops::Range<usize>> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(address(start)?..address(end)?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_as_in_the_file_is_let_go() {
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
        assert_eq!(unwritten(smaps, "/opt/rouse"), [0x55d0..0x55e0, 0x55e0..0x55f0]);
    }

    #[test]
    fn the_program_goes_on_afterwards() {
        give_back_code();
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("readable");
        let program = std::fs::read_link("/proc/self/exe").expect("a program");
        assert!(!unwritten(&smaps, &program.to_string_lossy()).is_empty());
    }
}
