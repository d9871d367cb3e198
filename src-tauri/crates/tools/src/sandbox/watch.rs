//! The bounds on what a command and all that it starts take together, where the system keeps no such count: memory, disk
//! space, files and the size of the home.
//!
//! A thread for each confined command measures, the more often the nearer a bound is, and ends the command beyond it.
//! Owns when to measure and when that is certain; memory is counted by the system's part (`linux::memory`, `macos`), disks
//! by `storage`. It refuses to guess: what cannot be looked at is ended. Between two looks a
//! command can take more than the bound; so the bound is held about, and what must be exact is a limit of the kernel.
//!
//! One could get it wrong by looking from a pool of threads that others can fill, by believing one look (a process that
//! starts another is two for a moment, with one memory), or by asking a command to end that is filling the memory.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::Sandbox;
use super::storage::{Room, Storage};
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

/// Watches over `processes`; what is over the bounds of `sandbox` is ended, and `bound` says so.
///
/// # Errors
/// When there is no thread to be had, or no workspace.
pub(super) fn begin(sandbox: &Sandbox, processes: impl Look, bound: Bound) -> io::Result<Watch> {
    let (alive, gone) = channel();
    let most = sandbox.limits.memory_bytes;
    let mut storage = Storage::new(sandbox)?;
    let work = move || watch(most, &mut storage, processes, &bound, &gone);
    std::thread::Builder::new().name("rouse-watch".to_owned()).spawn(work)?;
    Ok(Watch(alive))
}

fn watch(
    most: u64,
    storage: &mut Storage,
    mut processes: impl Look,
    bound: &Bound,
    gone: &Receiver<Infallible>,
) {
    let (mut pause, mut over) = (PAUSES.1, 0);
    while let Err(RecvTimeoutError::Timeout) = gone.recv_timeout(pause) {
        let began = now();
        let why = match (storage.room(), processes.bytes(most)) {
            (Ok(Room::Left(room)), Ok(held)) if held <= most => {
                over = 0;
                pause = until_next(room.min(most - held), began.elapsed());
                continue;
            }
            // One look at a disk is certain, and each further one costs the others some of it.
            (Ok(Room::Over(why)), _) => {
                over = CERTAIN - 1;
                why
            }
            (Ok(Room::Left(_)), Ok(_)) => {
                format!("Took more than {} MB of memory and was ended", most >> 20)
            }
            (Err(error), _) | (_, Err(error)) => {
                format!(
                    "Was ended because its use of memory and disk could not be measured ({error})"
                )
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
        let mut storage = Storage::with_space_left(&std::env::temp_dir(), least);
        watch(10 << 20, &mut storage, Seen(seen, Some(alive), end), &bound, &gone);
        (bound.crossed(), ended.try_recv().is_ok())
    }

    #[test]
    fn full_disk_ends_the_command_at_the_first_look() {
        let (why, ended) = watched_with(u64::MAX, vec![Ok(1), Ok(1)]);
        assert!(ended && why.is_some_and(|why| why.contains("MB of the disk are left")));
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
        assert!(ended && why.is_some_and(|why| why.contains("could not be measured")));
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
