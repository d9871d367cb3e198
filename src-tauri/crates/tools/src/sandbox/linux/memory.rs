//! How much memory the processes of one namespace hold, by the `/proc` that stands inside.
//!
//! Counted are pages of their own, swapped out or not; the tables for them; and memory that several can share and that
//! belongs to no file (`MAP_SHARED`), by its whole size, because a page of it that nobody maps any more is kept and shown
//! nowhere. Each is counted once where that can be seen. What cannot be seen counts as much as it could be. Not counted:
//! files in memory and System V segments, which have bounds of their own (`view`, `syscalls`), and what the kernel keeps
//! for a command elsewhere, like the buffers of its sockets.
//!
//! The engine may look at what a command hides from its like (`prctl`), because the namespace is the engine's own. One
//! could get it wrong by believing the number of resident shared pages, or a first thread that has ended.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

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
            Ok(first) => Ok(Some(Self { at, first })),
            Err(Errno::NOENT | Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Every process but the first, which is the engine's.
    fn each(&self) -> io::Result<Vec<Process>> {
        let mut found = Vec::new();
        for number in numbers(self.at.as_fd(), ".")? {
            if number != "1" {
                found.extend(Process::read(self.at.as_fd(), number)?);
            }
        }
        Ok(found)
    }
}

impl Look for Processes {
    fn bytes(&mut self, most: u64) -> io::Result<u64> {
        let each = self.each()?;
        let at_most =
            each.iter().map(|process| process.own + process.tables + process.others).sum();
        if at_most <= most { Ok(at_most) } else { closely(self.at.as_fd(), &each) }
    }

    fn end(&mut self) {
        match pidfd_send_signal(&self.first, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => tracing::error!(%error, "a command over its bound could not be ended"),
        }
    }
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
    /// None when it is gone.
    fn read(at: BorrowedFd<'_>, number: String) -> io::Result<Option<Self>> {
        let Some(status) = text(at, &format!("{number}/status"))? else { return Ok(None) };
        if let Some(process) = Self::of(number.clone(), &status) {
            return Ok(Some(process));
        }
        // A zombie; or its first thread has ended, and the others hold the memory.
        if field(&status, "Threads:") > 1 {
            let tasks = format!("{number}/task");
            for task in numbers(at, &tasks).or_else(gone)? {
                let place = format!("{tasks}/{task}");
                let status = text(at, &format!("{place}/status"))?;
                if let Some(process) = status.and_then(|status| Self::of(place, &status)) {
                    return Ok(Some(process));
                }
            }
        }
        Ok(None)
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

/// The same with what is shared counted once, where it can be seen.
fn closely(at: BorrowedFd<'_>, each: &[Process]) -> io::Result<u64> {
    let until = watch::now() + CLOSE;
    let (mut own, mut shared) = (0, HashMap::new());
    for process in each {
        let in_time = watch::now() < until;
        let file = |name: &str| {
            if !in_time {
                return Ok(None);
            }
            text(at, &format!("{}/{name}", process.place)).or_else(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => Ok(None),
                _ => Err(error),
            })
        };
        own += process.tables;
        own += file("smaps_rollup")?.map_or(process.own, |parts| of_its_own(&parts, process.own));
        match file("maps")? {
            Some(maps) => add_shared(&maps, &mut shared),
            None => own += process.others,
        }
    }
    Ok(own + shared.values().sum::<u64>())
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
