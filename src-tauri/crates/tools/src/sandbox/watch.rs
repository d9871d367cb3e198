//! The bounds on what a command and all that it starts take together, where the system keeps no such count: the memory
//! that they hold, and the disk of the workspace, of which some is to be left for everybody else.
//!
//! A thread of its own for each confined command looks at what its processes hold, the more often the nearer that is to
//! the bound, and ends them beyond it. It owns when to look and when it has seen enough; what there is to see is the
//! system's (`linux::memory`, `macos`). It refuses to guess: what cannot be looked at is ended. Between two looks a
//! command can take more than the bound; so the bound is held about, and what must be exact is a limit of the kernel.
//!
//! One could get it wrong by looking from a pool of threads that others can fill, by believing one look (a process that
//! starts another is two for a moment, with one memory), or by asking a command to end that is filling the memory.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fstatvfs, open};

use super::Sandbox;
use crate::child::Bound;

/// One command's processes.
pub(super) trait Look: Send + 'static {
    /// How many bytes they hold. What is over `most` is looked at a second time, as closely as the system lets it.
    fn bytes(&mut self, most: u64) -> io::Result<u64>;
    /// Ends them all at once.
    fn end(&mut self);
}

/// A command is watched as long as this lives.
#[derive(Debug)]
pub(super) struct Watch(
    #[expect(dead_code, reason = "dropping it ends the thread")] Sender<Infallible>,
);

/// So many looks in a row show what is so.
const CERTAIN: u32 = 3;
/// The longest and the shortest time between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(5));
/// As fast as memory can be filled, in bytes for a millisecond: 8 GB in a second.
const FASTEST: u64 = 8 << 20;
/// A thread looks for a tenth of its time at most.
const SHARE: u32 = 9;

/// The disk of the workspace.
struct Disk {
    folder: OwnedFd,
    /// What is to be left of it.
    least: u64,
}

impl Disk {
    /// Of a disk that is nearly full already, half of what is left may be taken.
    fn new(folder: &Path, least: u64) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let disk = Self { folder: open(folder, flags, Mode::empty())?, least };
        Ok(Self { least: least.min(disk.left()? / 2), ..disk })
    }

    fn left(&self) -> io::Result<u64> {
        let told = fstatvfs(&self.folder)?;
        Ok(told.f_bavail.saturating_mul(told.f_frsize))
    }
}

/// Watches over `processes`; what is over the bounds of `sandbox` is ended, and `bound` says so.
///
/// # Errors
/// When there is no thread to be had, or no workspace.
pub(super) fn begin(sandbox: &Sandbox, processes: impl Look, bound: Bound) -> io::Result<Watch> {
    let (alive, gone) = channel();
    let most = sandbox.limits.memory_bytes;
    let disk = Disk::new(&sandbox.workspace, sandbox.limits.disk_left_bytes)?;
    let work = move || watch((most, &disk), processes, &bound, &gone);
    std::thread::Builder::new().name("rouse-watch".to_owned()).spawn(work)?;
    Ok(Watch(alive))
}

fn watch(
    (most, disk): (u64, &Disk),
    mut processes: impl Look,
    bound: &Bound,
    gone: &Receiver<Infallible>,
) {
    let (mut pause, mut over) = (PAUSES.1, 0);
    while let Err(RecvTimeoutError::Timeout) = gone.recv_timeout(pause) {
        let began = now();
        let why = match (processes.bytes(most), disk.left()) {
            (Ok(held), Ok(left)) if held <= most && left >= disk.least => {
                over = 0;
                pause = until_next(most - held, began.elapsed());
                continue;
            }
            (Ok(held), _) if held > most => {
                format!("Took more than {} MB of memory and was ended", most >> 20)
            }
            (Ok(_), Ok(_)) => {
                let least = disk.least >> 20;
                format!("Was ended because less than {least} MB of the workspace's disk are left")
            }
            (Err(error), _) | (_, Err(error)) => {
                format!("Was ended because what it takes could not be seen ({error})")
            }
        };
        (pause, over) = (PAUSES.1, over + 1);
        if over == CERTAIN {
            bound.is_crossed(why);
            return processes.end();
        }
    }
    // The command is over; so is what it has left behind.
    processes.end();
}

/// Now, to know how long a look takes.
#[expect(clippy::disallowed_methods, reason = "no clock of jobs runs in a thread of its own")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Soon enough to be there before `left` is filled.
fn until_next(left: u64, look: Duration) -> Duration {
    let filled = Duration::from_millis(left / FASTEST);
    filled.clamp(PAUSES.1, PAUSES.0).max(look * SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers one after another; then the command is over.
    struct Seen(Vec<io::Result<u64>>, Option<Sender<Infallible>>, Sender<()>);

    impl Look for Seen {
        fn bytes(&mut self, _: u64) -> io::Result<u64> {
            let seen = self.0.remove(0);
            if self.0.is_empty() {
                self.1 = None;
            }
            seen
        }

        fn end(&mut self) {
            self.2.send(()).expect("heard");
        }
    }

    fn watched(seen: Vec<io::Result<u64>>) -> (Option<String>, bool) {
        watched_with(0, seen)
    }

    fn watched_with(least: u64, seen: Vec<io::Result<u64>>) -> (Option<String>, bool) {
        let ((alive, gone), (end, ended)) = (channel(), channel());
        let bound = Bound::default();
        let disk = Disk { least, ..Disk::new(&std::env::temp_dir(), 0).expect("a folder") };
        watch((10 << 20, &disk), Seen(seen, Some(alive), end), &bound, &gone);
        (bound.crossed(), ended.try_recv().is_ok())
    }

    #[test]
    fn a_disk_that_fills_up_ends_the_command() {
        let (why, ended) = watched_with(u64::MAX, vec![Ok(1), Ok(1), Ok(1), Ok(1)]);
        assert!(ended && why.is_some_and(|why| why.contains("of the workspace's disk are left")));
        let disk = Disk::new(&std::env::temp_dir(), u64::MAX).expect("a folder");
        assert!(disk.least < disk.left().expect("told"), "what is nearly full is still used");
    }

    #[test]
    fn what_is_over_the_bound_three_times_in_a_row_is_ended() {
        let over = || Ok(11 << 20);
        let (why, ended) = watched(vec![Ok(1), over(), over(), over()]);
        assert!(ended && why.is_some_and(|why| why.contains("more than 10 MB of memory")));
        let (why, ended) = watched(vec![over(), over(), Ok(10 << 20), over(), over(), Ok(1)]);
        assert!(ended && why.is_none(), "what it leaves behind ends with it");
    }

    #[test]
    fn what_cannot_be_looked_at_is_ended() {
        let error = || Err(io::ErrorKind::PermissionDenied.into());
        let (why, ended) = watched(vec![error(), error(), error()]);
        assert!(ended && why.is_some_and(|why| why.contains("what it takes could not be seen")));
    }

    #[test]
    fn the_nearer_the_bound_the_sooner_the_next_look() {
        let of = |left, look| until_next(left, Duration::from_millis(look));
        assert_eq!(of(4 << 30, 0), PAUSES.0);
        assert_eq!(of(400 << 20, 0), Duration::from_millis(50));
        assert_eq!(of(0, 0), PAUSES.1);
        assert_eq!(of(0, 20), Duration::from_millis(180));
    }
}
