//! The search for orphan processes by their marker and their ancestry (Linux).
//!
//! A process can clear its environment, and the marker with it. So children of a marked process count as marked, and so
//! do members of the group and session of a live marked process; without a living leader a group id proves nothing.
//! Runs after every command, so reads a single line per process, and no environment of kernel threads. Pitfall: a
//! reused process id; the start time is compared again while a pidfd holds the process.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read as _;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::process::PROCESS_MARKER;

/// The parent of kernel threads.
const KTHREADD: i32 = 2;
/// Upper bound of a line of `/proc/<pid>/stat`.
const LINE_BYTES: usize = 1_024;

/// Fields of `/proc/<pid>/stat`.
struct ProcessStat {
    parent: i32,
    group: i32,
    session: i32,
    start_time: u64,
    has_exited: bool,
}

/// Kills every process with this marker and all descendants; returns the count. A `marker` that ends in `:` is a
/// prefix. Spares this process and its ancestors: a job may have started Rouse.
pub fn kill_orphans(marker: &str) -> usize {
    let all = other_processes();
    let marked: HashSet<i32> = all.keys().copied().filter(|pid| has_marker(*pid, marker)).collect();
    let orphans = with_descendants(marked, &all);
    orphans.into_iter().filter(|pid| kill(*pid, &all[pid])).count()
}

/// Whether any process has this marker.
pub(crate) fn has_orphans(marker: &str) -> bool {
    other_processes().keys().any(|pid| has_marker(*pid, marker))
}

/// All processes except this process and its ancestors.
fn other_processes() -> HashMap<i32, ProcessStat> {
    let Ok(entries) = fs::read_dir("/proc") else { return HashMap::new() };
    let pids =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let all = pids.filter_map(|pid| Some((pid, ProcessStat::read(pid)?)));
    let mut all: HashMap<_, _> =
        all.filter(|(_, stat)| !stat.has_exited && stat.parent != KTHREADD).collect();
    let mut ancestor = i32::try_from(std::process::id()).ok();
    while let Some(stat) = ancestor.and_then(|pid| all.remove(&pid)) {
        ancestor = Some(stat.parent);
    }
    all
}

fn with_descendants(mut pids: HashSet<i32>, all: &HashMap<i32, ProcessStat>) -> HashSet<i32> {
    loop {
        let is_related = |stat: &ProcessStat| {
            [stat.parent, stat.group, stat.session].iter().any(|pid| pids.contains(pid))
        };
        let more = all.iter().filter(|(pid, stat)| !pids.contains(pid) && is_related(stat));
        let more: Vec<i32> = more.map(|(pid, _)| *pid).collect();
        if more.is_empty() {
            return pids;
        }
        pids.extend(more);
    }
}

fn kill(pid: i32, seen: &ProcessStat) -> bool {
    let Some(raw) = Pid::from_raw(pid) else { return false };
    let Ok(process) = pidfd_open(raw, PidfdFlags::empty()) else { return false };
    let is_same = ProcessStat::read(pid)
        .is_some_and(|now| now.start_time == seen.start_time && !now.has_exited);
    is_same && pidfd_send_signal(&process, Signal::KILL).is_ok()
}

fn has_marker(pid: i32, marker: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let wanted = format!("{PROCESS_MARKER}={marker}");
    environment.split(|byte| *byte == 0).any(|variable| {
        if marker.ends_with(':') {
            variable.starts_with(wanted.as_bytes())
        } else {
            variable == wanted.as_bytes()
        }
    })
}

impl ProcessStat {
    /// Reads the fields by proc_pid_stat(5). The second field, the name, may contain spaces and brackets.
    fn read(pid: i32) -> Option<Self> {
        let mut line = [0; LINE_BYTES];
        // A single read returns the whole line.
        let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
        let text = String::from_utf8_lossy(&line[..length]);
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |at: usize| fields.get(at)?.parse().ok();
        Some(Self {
            parent: field(1)?,
            group: field(2)?,
            session: field(3)?,
            start_time: fields.get(19)?.parse().ok()?,
            has_exited: matches!(*fields.first()?, "Z" | "X"),
        })
    }
}
