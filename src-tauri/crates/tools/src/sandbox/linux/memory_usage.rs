//! Memory of the processes in a namespace, read from the namespace's `/proc`.
//!
//! Counts private pages (swapped or not), page tables, and shared memory without a file (`MAP_SHARED`). Shared memory counts by the
//! largest size ever seen, because a page that is no longer mapped stays allocated, invisibly, until the last mapping of its object is
//! gone. Counts shared objects once if visible, and unreadable mappings by their maximum. Does not count files in memory and System V
//! segments, which have limits of their own (`view`, `seccomp_filters`), kernel memory such as socket buffers, and shared memory that
//! was mapped and unmapped between two measurements.
//!
//! The engine may inspect a process that hides itself (`prctl`), because it owns the namespace.
//! Pitfall: to trust the count of resident shared pages, or a first thread that has exited.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use crate::sandbox::resource_monitor::{MonitoredProcesses, now};

/// The processes of a namespace.
pub(super) struct NamespaceProcesses {
    /// The namespace's `/proc`.
    proc: OwnedFd,
    /// Process 1, with which all end.
    init: OwnedFd,
    /// Mapped shared objects by inode, with the largest end ever seen.
    shared: HashMap<String, u64>,
}

/// Time for a precise measurement; the rest counts by the maximum.
const PRECISE_TIME_LIMIT: Duration = Duration::from_millis(300);

impl NamespaceProcesses {
    /// The processes of `proc`; `None` if the command has exited already.
    ///
    /// # Errors
    /// The processes are not readable.
    pub(super) fn new(proc: OwnedFd) -> io::Result<Option<Self>> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        match openat(&proc, "1", flags, Mode::empty()) {
            Ok(init) => Ok(Some(Self { proc, init, shared: HashMap::new() })),
            Err(Errno::NOENT | Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads every process but the init; returns whether none was gone before it could be read.
    fn read_all(&self) -> io::Result<(Vec<ProcessMemory>, bool)> {
        let (mut found, mut are_all) = (Vec::new(), true);
        for pid in list_numbers(self.proc.as_fd(), ".")? {
            if pid != "1" {
                match ProcessMemory::read(self.proc.as_fd(), pid)? {
                    ProcessRead::Memory(process) => found.push(process),
                    ProcessRead::Zombie => {}
                    ProcessRead::Gone => are_all = false,
                }
            }
        }
        Ok((found, are_all))
    }

    /// The shared memory of all processes, and the possible shared memory of unreadable processes.
    fn shared_bytes(
        &mut self,
        processes: &[ProcessMemory],
        mut are_all: bool,
        deadline: Instant,
    ) -> io::Result<u64> {
        let (mut seen, mut unreadable) = (HashMap::new(), 0);
        for process in processes {
            match process.read_restricted(self.proc.as_fd(), "maps", deadline)? {
                Some(maps) => add_shared_objects(&maps, &mut seen),
                None => {
                    are_all = false;
                    unreadable += process.other_bytes;
                }
            }
        }
        // An unread process may map an object that was not seen.
        self.shared.retain(|inode, _| !are_all || seen.contains_key(inode));
        for (inode, end) in seen {
            let largest = self.shared.entry(inode).or_default();
            *largest = end.max(*largest);
        }
        Ok(self.shared.values().sum::<u64>() + unreadable)
    }
}

impl MonitoredProcesses for NamespaceProcesses {
    fn memory_bytes(&mut self, max_bytes: u64) -> io::Result<u64> {
        let deadline = now() + PRECISE_TIME_LIMIT;
        let (processes, are_all) = self.read_all()?;
        let shared = self.shared_bytes(&processes, are_all, deadline)?;
        let private = processes.iter().map(|process| process.private + process.tables).sum::<u64>();
        if private + shared <= max_bytes {
            return Ok(private + shared);
        }
        Ok(precise_private_bytes(self.proc.as_fd(), &processes, deadline)? + shared)
    }

    fn kill_all(&mut self) {
        match pidfd_send_signal(&self.init, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => tracing::error!(%error, "failed to kill a command over its limit"),
        }
    }
}

/// The result of reading a process.
enum ProcessRead {
    Memory(ProcessMemory),
    /// Exited, and only the id is left.
    Zombie,
    Gone,
}

/// Memory of a process, by publicly readable files.
struct ProcessMemory {
    /// The process's folder in `/proc`.
    folder: String,
    /// Private pages, possibly shared with the parent process.
    private: u64,
    /// Page tables.
    tables: u64,
    /// The rest of the address space: programs, files, reservations, and shared memory.
    other_bytes: u64,
}

impl ProcessMemory {
    fn read(proc: BorrowedFd<'_>, pid: String) -> io::Result<ProcessRead> {
        let Some(status) = read_file(proc, &format!("{pid}/status"))? else {
            return Ok(ProcessRead::Gone);
        };
        if let Some(process) = Self::parse(pid.clone(), &status) {
            return Ok(ProcessRead::Memory(process));
        }
        // A zombie; or the first thread has exited, and the other threads hold the memory.
        if field(&status, "Threads:") > 1 {
            let tasks = format!("{pid}/task");
            for task in list_numbers(proc, &tasks).or_else(ignore_gone)? {
                let folder = format!("{tasks}/{task}");
                let status = read_file(proc, &format!("{folder}/status"))?;
                if let Some(process) = status.and_then(|status| Self::parse(folder, &status)) {
                    return Ok(ProcessRead::Memory(process));
                }
            }
            return Ok(ProcessRead::Gone);
        }
        Ok(ProcessRead::Zombie)
    }

    /// Reads a file with restricted access; `None` without permission or after the deadline.
    fn read_restricted(
        &self,
        proc: BorrowedFd<'_>,
        name: &str,
        deadline: Instant,
    ) -> io::Result<Option<String>> {
        if now() >= deadline {
            return Ok(None);
        }
        read_file(proc, &format!("{}/{name}", self.folder)).or_else(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Ok(None),
            _ => Err(error),
        })
    }

    /// `None` for a process without memory.
    fn parse(folder: String, status: &str) -> Option<Self> {
        let bytes = |name: &str| field(status, name) << 10;
        let size = Some(bytes("VmSize:")).filter(|size| *size > 0)?;
        let (private, tables) = (bytes("RssAnon:") + bytes("VmSwap:"), bytes("VmPTE:"));
        // Without the mappings that a single process can write.
        let other_bytes = size.saturating_sub(bytes("VmData:") + bytes("VmStk:"));
        Some(Self { folder, private, tables, other_bytes })
    }
}

/// Private memory with pages of forked processes counted once, where readable.
fn precise_private_bytes(
    proc: BorrowedFd<'_>,
    processes: &[ProcessMemory],
    deadline: Instant,
) -> io::Result<u64> {
    let mut bytes = 0;
    for process in processes {
        let rollup = process.read_restricted(proc, "smaps_rollup", deadline)?;
        let private = rollup.map_or(process.private, |rollup| {
            let share = (field(&rollup, "Pss_Anon:") + field(&rollup, "SwapPss:")) << 10;
            share.min(process.private)
        });
        bytes += process.tables + private;
    }
    Ok(bytes)
}

/// Adds shared objects without a file, each with the largest mapped end (proc_pid_maps(5)).
fn add_shared_objects(maps: &str, shared: &mut HashMap<String, u64>) {
    let names = ["/dev/zero (deleted)", "/SYSV", "/memfd:", "/anon_hugepage"];
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let mut next = || fields.next().unwrap_or_default();
        let (range, rights, offset, _, inode) = (next(), next(), next(), next(), next());
        let name = line.find('/').map_or("", |begin| &line[begin..]);
        if !rights.ends_with('s') || !names.iter().any(|begin| name.starts_with(begin)) {
            continue;
        }
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).unwrap_or_default();
        let (from, to) = range.split_once('-').unwrap_or_default();
        let end = hexadecimal(offset) + hexadecimal(to).saturating_sub(hexadecimal(from));
        let largest = shared.entry(inode.to_owned()).or_default();
        *largest = end.max(*largest);
    }
}

/// The number after `name`; 0 if missing.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Lists the numeric names in a folder.
fn list_numbers(proc: BorrowedFd<'_>, folder: &str) -> io::Result<Vec<String>> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut found = Vec::new();
    for entry in Dir::new(openat(proc, folder, flags, Mode::empty())?)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            found.push(name);
        }
    }
    Ok(found)
}

fn ignore_gone(error: io::Error) -> io::Result<Vec<String>> {
    if is_gone(&error) { Ok(Vec::new()) } else { Err(error) }
}

/// Reads a file; `None` if the process is gone.
fn read_file(proc: BorrowedFd<'_>, path: &str) -> io::Result<Option<String>> {
    let read = || -> io::Result<String> {
        let file = openat(proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
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
