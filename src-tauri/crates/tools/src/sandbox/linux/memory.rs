//! How much memory the processes of one namespace hold, by the `/proc` that stands inside.
//!
//! Counted are pages of their own, swapped out or not; the tables for them; and memory that several can share and that
//! belongs to no file (`MAP_SHARED`), by the largest size that it was ever seen with, because a page of it that nobody
//! maps any more is kept and shown nowhere until the last map of the piece is gone. Each is counted once where that can be
//! seen. What cannot be seen counts as much as it could be. Not counted: files in memory and System V segments, which have
//! bounds of their own (`view`, `syscalls`), what the kernel keeps for a command elsewhere, like the buffers of its
//! sockets, and the part of a shared piece that came and was unmapped between two looks.
//!
//! The engine may look at what a command hides from its like (`prctl`), because the namespace is the engine's own. One
//! could get it wrong by believing the number of resident shared pages, or a first thread that has ended.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use crate::sandbox::watch::{self, Look};

/// The processes of one namespace.
pub(super) struct Processes {
    /// The `/proc` inside.
    at: OwnedFd,
    /// The first of them, with which all end.
    first: OwnedFd,
    /// The shared pieces that are mapped, by inode: the farthest end that each was ever seen with.
    shared: HashMap<String, u64>,
}

/// How long to look closely; what is not reached by then counts as much as it could be.
const CLOSE: Duration = Duration::from_millis(300);

impl Processes {
    /// Those that `at`, the `/proc` inside, shows; none when the command is over already.
    ///
    /// # Errors
    /// When they cannot be seen.
    pub(super) fn new(at: OwnedFd) -> io::Result<Option<Self>> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        match openat(&at, "1", flags, Mode::empty()) {
            Ok(first) => Ok(Some(Self { at, first, shared: HashMap::new() })),
            Err(Errno::NOENT | Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Every process but the first, which is the engine's; and whether none was gone before it could be read.
    fn each(&self) -> io::Result<(Vec<Process>, bool)> {
        let (mut found, mut are_all) = (Vec::new(), true);
        for number in numbers(self.at.as_fd(), ".")? {
            if number != "1" {
                match Process::read(self.at.as_fd(), number)? {
                    Read::Holds(process) => found.push(process),
                    Read::HoldsNothing => {}
                    Read::IsGone => are_all = false,
                }
            }
        }
        Ok((found, are_all))
    }

    /// What all of them share, and what those may whose maps cannot be read.
    fn shared(&mut self, each: &[Process], mut are_all: bool, until: Instant) -> io::Result<u64> {
        let (mut seen, mut unseen) = (HashMap::new(), 0);
        for process in each {
            match process.file(self.at.as_fd(), "maps", until)? {
                Some(maps) => add_shared(&maps, &mut seen),
                None => {
                    are_all = false;
                    unseen += process.others;
                }
            }
        }
        // What was not found may be mapped by one that was not read.
        self.shared.retain(|number, _| !are_all || seen.contains_key(number));
        for (number, end) in seen {
            let most = self.shared.entry(number).or_default();
            *most = end.max(*most);
        }
        Ok(self.shared.values().sum::<u64>() + unseen)
    }
}

impl Look for Processes {
    fn bytes(&mut self, most: u64) -> io::Result<u64> {
        let until = watch::now() + CLOSE;
        let (each, are_all) = self.each()?;
        let shared = self.shared(&each, are_all, until)?;
        let own = each.iter().map(|process| process.own + process.tables).sum::<u64>();
        if own + shared <= most {
            return Ok(own + shared);
        }
        Ok(closely(self.at.as_fd(), &each, until)? + shared)
    }

    fn end(&mut self) {
        match pidfd_send_signal(&self.first, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => tracing::error!(%error, "a command over its bound could not be ended"),
        }
    }
}

/// What there is to read of a process.
enum Read {
    Holds(Process),
    /// It has ended, and is there by its number only.
    HoldsNothing,
    IsGone,
}

/// What a process tells everybody.
struct Process {
    /// Where it is told, from `/proc` on.
    place: String,
    /// Pages of its own, which it may share with those that it was forked from.
    own: u64,
    /// The tables for all of its pages.
    tables: u64,
    /// What else is in its space of addresses: programs, files, what is reserved, and what is shared.
    others: u64,
}

impl Process {
    fn read(at: BorrowedFd<'_>, number: String) -> io::Result<Read> {
        let Some(status) = text(at, &format!("{number}/status"))? else { return Ok(Read::IsGone) };
        if let Some(process) = Self::of(number.clone(), &status) {
            return Ok(Read::Holds(process));
        }
        // A zombie; or its first thread has ended, and the others hold the memory.
        if field(&status, "Threads:") > 1 {
            let tasks = format!("{number}/task");
            for task in numbers(at, &tasks).or_else(gone)? {
                let place = format!("{tasks}/{task}");
                let status = text(at, &format!("{place}/status"))?;
                if let Some(process) = status.and_then(|status| Self::of(place, &status)) {
                    return Ok(Read::Holds(process));
                }
            }
            return Ok(Read::IsGone);
        }
        Ok(Read::HoldsNothing)
    }

    /// A file of it that not everybody may read; none after `until`.
    fn file(&self, at: BorrowedFd<'_>, name: &str, until: Instant) -> io::Result<Option<String>> {
        if watch::now() >= until {
            return Ok(None);
        }
        text(at, &format!("{}/{name}", self.place)).or_else(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Ok(None),
            _ => Err(error),
        })
    }

    /// None for one that has no memory any more.
    fn of(place: String, status: &str) -> Option<Self> {
        let kilobytes = |name: &str| field(status, name) << 10;
        let size = Some(kilobytes("VmSize:")).filter(|size| *size > 0)?;
        let (own, tables) = (kilobytes("RssAnon:") + kilobytes("VmSwap:"), kilobytes("VmPTE:"));
        // What is left when that is taken away which only one can write.
        let others = size.saturating_sub(kilobytes("VmData:") + kilobytes("VmStk:"));
        Some(Self { place, own, tables, others })
    }
}

/// What they hold themselves, with what they were forked with counted once, where it can be seen.
fn closely(at: BorrowedFd<'_>, each: &[Process], until: Instant) -> io::Result<u64> {
    let mut own = 0;
    for process in each {
        let parts = process.file(at, "smaps_rollup", until)?;
        own += process.tables + parts.map_or(process.own, |parts| of_its_own(&parts, process.own));
    }
    Ok(own)
}

/// Its part of what it shares with those that it was forked from.
fn of_its_own(parts: &str, most: u64) -> u64 {
    let part = ["Pss_Anon:", "SwapPss:"].map(|name| field(parts, name) << 10).iter().sum::<u64>();
    part.min(most)
}

/// Adds memory that can be shared and belongs to no file, each piece by its farthest end (proc_pid_maps(5)).
fn add_shared(maps: &str, shared: &mut HashMap<String, u64>) {
    let names = ["/dev/zero (deleted)", "/SYSV", "/memfd:", "/anon_hugepage"];
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let mut next = || fields.next().unwrap_or_default();
        let (range, rights, offset, _, number) = (next(), next(), next(), next(), next());
        let name = line.find('/').map_or("", |begin| &line[begin..]);
        if !rights.ends_with('s') || !names.iter().any(|begin| name.starts_with(begin)) {
            continue;
        }
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).unwrap_or_default();
        let (from, to) = range.split_once('-').unwrap_or_default();
        let end = hexadecimal(offset) + hexadecimal(to).saturating_sub(hexadecimal(from));
        let most = shared.entry(number.to_owned()).or_default();
        *most = end.max(*most);
    }
}

/// The number after `name`, nought where it is not.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// The names in a folder that are numbers.
fn numbers(at: BorrowedFd<'_>, folder: &str) -> io::Result<Vec<String>> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut found = Vec::new();
    for entry in Dir::new(openat(at, folder, flags, Mode::empty())?)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            found.push(name);
        }
    }
    Ok(found)
}

fn gone(error: io::Error) -> io::Result<Vec<String>> {
    if is_gone(&error) { Ok(Vec::new()) } else { Err(error) }
}

/// What a file says; none when the process is gone.
fn text(at: BorrowedFd<'_>, path: &str) -> io::Result<Option<String>> {
    let read = || -> io::Result<String> {
        let file = openat(at, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut bytes = Vec::new();
        std::fs::File::from(file).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    match read() {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_gone(error: &io::Error) -> bool {
    [Errno::NOENT, Errno::SRCH].iter().any(|gone| error.raw_os_error() == Some(gone.raw_os_error()))
}
