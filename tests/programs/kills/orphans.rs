//! Orphan processes of an engine, found independently of the engine's own search.
//!
//! The engine ends the process groups of its commands and finds the rest by a mark in their environment. Here this
//! process is the subreaper of all descendants (`PR_SET_CHILD_SUBREAPER`). It also sees the processes that
//! SECURITY.md names as out of reach, so no job here creates one. Pitfall: asking while an engine of the home runs,
//! because its own children would count.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, set_child_subreaper, waitpid,
};

use crate::engine::TestHome;

/// The limit for the end of an orphan.
const GONE_IN: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// A process without its parent. The start time distinguishes reused pids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Orphan {
    pid: i32,
    started: u64,
}

/// Makes this process the subreaper of its descendants.
pub(super) fn become_subreaper() {
    set_child_subreaper(Some(getpid())).expect("Linux 3.4 or newer");
}

/// The running orphans of this home, while no engine runs.
pub(super) fn orphans_of(home: &TestHome) -> Vec<Orphan> {
    let all = processes();
    reap(&all);
    let is_mine = |pid: &i32| is_below(&all, *pid) && !belongs_to_other_test(*pid, home);
    let running = all.iter().filter(|(pid, found)| !found.has_ended && is_mine(pid));
    running.map(|(pid, found)| Orphan { pid: *pid, started: found.started }).collect()
}

/// The orphans that do not end.
pub(super) fn surviving(orphans: &[Orphan]) -> Vec<&Orphan> {
    orphans.iter().filter(|orphan| !orphan.wait_for_end()).collect()
}

impl Orphan {
    /// Waits for the end. False after the limit.
    fn wait_for_end(&self) -> bool {
        let pid = Pid::from_raw(self.pid).expect("a number");
        let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
        if ProcessEntry::read(self.pid)
            .is_none_or(|now| now.started != self.started || now.has_ended)
        {
            return true;
        }
        poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&GONE_IN)).expect("waited") > 0
    }
}

struct ProcessEntry {
    parent: i32,
    started: u64,
    has_ended: bool,
    is_engine: bool,
}

impl ProcessEntry {
    /// Parses `/proc/PID/stat` (proc_pid_stat(5)). The name may contain any character.
    fn read(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (before, after) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = after.split(' ').collect();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            is_engine: before.ends_with("(rouse"),
        })
    }
}

/// All processes. Read again if a parent disappeared meanwhile.
fn processes() -> HashMap<i32, ProcessEntry> {
    loop {
        let entries = fs::read_dir("/proc").expect("processes").flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let all: HashMap<i32, ProcessEntry> =
            numbers.filter_map(|pid| Some((pid, ProcessEntry::read(pid)?))).collect();
        let is_known = |found: &ProcessEntry| found.parent == 0 || all.contains_key(&found.parent);
        if all.values().all(is_known) {
            return all;
        }
    }
}

fn own_pid() -> i32 {
    getpid().as_raw_nonzero().get()
}

fn is_below(all: &HashMap<i32, ProcessEntry>, pid: i32) -> bool {
    let parent = |pid: &i32| all.get(pid).map(|found| found.parent);
    std::iter::successors(parent(&pid), parent)
        .take_while(|pid| *pid != 0)
        .any(|pid| pid == own_pid())
}

/// Whether the process belongs to another test: to another home, or to no home.
fn belongs_to_other_test(pid: i32, home: &TestHome) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let named =
        environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"ROUSE_HOME="));
    match named {
        Some(named) => named != home.data().as_os_str().as_encoded_bytes(),
        // Test helpers run in the directory of the test, commands of an engine elsewhere.
        None => fs::read_link(format!("/proc/{pid}/cwd"))
            .is_ok_and(|folder| std::env::current_dir().is_ok_and(|here| here == folder)),
    }
}

/// Reaps zombies that no parent has waited for since the last call.
fn reap(all: &HashMap<i32, ProcessEntry>) {
    static ENDED: Mutex<Option<HashSet<Orphan>>> = Mutex::new(None);
    let is_mine =
        |found: &ProcessEntry| found.has_ended && !found.is_engine && found.parent == own_pid();
    let ended = all.iter().filter(|(_, found)| is_mine(found));
    let ended: HashSet<_> =
        ended.map(|(pid, found)| Orphan { pid: *pid, started: found.started }).collect();
    let mut known = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    let before = known.replace(ended.clone()).unwrap_or_default();
    for orphan in ended.intersection(&before) {
        // Another thread may have reaped the child.
        waitpid(Pid::from_raw(orphan.pid), WaitOptions::NOHANG).ok();
    }
}

/// The engine's search by marks cannot find these processes.
#[test]
fn detached_process_with_cleared_environment_is_found() {
    use std::process::Command;
    become_subreaper();
    let home = TestHome::new();
    fs::create_dir_all(home.data()).expect("a folder");
    // Each process closes the output after the setup, so the output ends when both are set up.
    let line = "setsid env -i sh -c 'exec sleep 1000 >&- 2>&-' & setsid sh -c 'exec sleep 1000 >&- 2>&-' &";
    let mut started = Command::new("sh");
    started.args(["-c", line]).current_dir(home.data()).env("ROUSE_HOME", home.data());
    assert!(started.output().expect("sh starts").status.success());
    let orphans = orphans_of(&home);
    assert_eq!(orphans.len(), 2, "{orphans:?}");
    assert_eq!(orphans_of(&TestHome::new()).len(), 1, "one process carries the mark");
    for orphan in &orphans {
        let pid = nix::unistd::Pid::from_raw(orphan.pid);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).expect("a live process");
    }
    assert_eq!(surviving(&orphans), Vec::<&Orphan>::new());
    assert_eq!(orphans_of(&home), []);
}
