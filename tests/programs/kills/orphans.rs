//! Who is left behind by an engine, judged by something else than what the engine goes by.
//!
//! A command's group ends with the engine, and the rest is found by a mark in its environment. Here the kernel is asked:
//! whoever below this process loses its parent becomes a child of this process (`PR_SET_CHILD_SUBREAPER`), whatever it has
//! left or cleared. What SECURITY.md names as out of reach (a process that has left its group and cleared its environment)
//! is seen as well, so no job of these proofs makes one. One could get it
//! wrong by asking while an engine of the home is at work: its own children would be taken for orphans.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, set_child_subreaper, waitpid,
};

use crate::engine::Home;

/// How long one that is being ended may take to be gone.
const GONE_IN: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// A process that lost its parent. When it began tells it from a later one of the same number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Orphan {
    pid: i32,
    began: u64,
}

/// From now on, whoever below this process loses its parent becomes its child.
pub(super) fn adopt() {
    set_child_subreaper(Some(getpid())).expect("the kernel has it since 3.4");
}

/// Those of this home that are at work though no engine is.
pub(super) fn left_behind(home: &Home) -> Vec<Orphan> {
    let all = processes();
    reap(&all);
    let is_mine = |pid: &i32| is_below(&all, *pid) && !is_anothers(*pid, home);
    let at_work = all.iter().filter(|(pid, found)| !found.has_ended && is_mine(pid));
    at_work.map(|(pid, found)| Orphan { pid: *pid, began: found.began }).collect()
}

/// Those of them that do not end.
pub(super) fn live_on(orphans: &[Orphan]) -> Vec<&Orphan> {
    orphans.iter().filter(|orphan| !orphan.ends()).collect()
}

impl Orphan {
    /// Waits for its end; false when that does not come.
    fn ends(&self) -> bool {
        let pid = Pid::from_raw(self.pid).expect("a number");
        let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
        if Process::read(self.pid).is_none_or(|now| now.began != self.began || now.has_ended) {
            return true;
        }
        poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&GONE_IN)).expect("waited") > 0
    }
}

struct Process {
    parent: i32,
    began: u64,
    has_ended: bool,
    is_engine: bool,
}

impl Process {
    /// What `/proc/PID/stat` says (proc_pid_stat(5)); the name in it may hold anything.
    fn read(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (before, after) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = after.split(' ').collect();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            began: fields.get(19)?.parse().ok()?,
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            is_engine: before.ends_with("(rouse"),
        })
    }
}

/// All of them; read again when one lost its parent in the middle of it.
fn processes() -> HashMap<i32, Process> {
    loop {
        let entries = fs::read_dir("/proc").expect("processes").flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let all: HashMap<i32, Process> =
            numbers.filter_map(|pid| Some((pid, Process::read(pid)?))).collect();
        let is_known = |found: &Process| found.parent == 0 || all.contains_key(&found.parent);
        if all.values().all(is_known) {
            return all;
        }
    }
}

fn me() -> i32 {
    getpid().as_raw_nonzero().get()
}

fn is_below(all: &HashMap<i32, Process>, pid: i32) -> bool {
    let parent = |pid: &i32| all.get(pid).map(|found| found.parent);
    std::iter::successors(parent(&pid), parent).take_while(|pid| *pid != 0).any(|pid| pid == me())
}

/// Whether another test of this program has started it: for another home, or itself and for none.
fn is_anothers(pid: i32, home: &Home) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let named =
        environment.split(|byte| *byte == 0).find_map(|one| one.strip_prefix(b"ROUSE_HOME="));
    match named {
        Some(named) => named != home.data().as_os_str().as_encoded_bytes(),
        // A test starts its helpers where it is itself, an engine its commands elsewhere.
        None => fs::read_link(format!("/proc/{pid}/cwd"))
            .is_ok_and(|folder| std::env::current_dir().is_ok_and(|here| here == folder)),
    }
}

/// Lets those go that have ended and that nobody has waited for since the last look: nobody will.
fn reap(all: &HashMap<i32, Process>) {
    static ENDED: Mutex<Option<HashSet<Orphan>>> = Mutex::new(None);
    let is_mine = |found: &Process| found.has_ended && !found.is_engine && found.parent == me();
    let ended = all.iter().filter(|(_, found)| is_mine(found));
    let ended: HashSet<_> =
        ended.map(|(pid, found)| Orphan { pid: *pid, began: found.began }).collect();
    let mut known = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    let before = known.replace(ended.clone()).unwrap_or_default();
    for orphan in ended.intersection(&before) {
        // Somebody may have waited for it just now.
        waitpid(Pid::from_raw(orphan.pid), WaitOptions::NOHANG).ok();
    }
}

/// It is what a search by marks cannot see.
#[test]
fn one_that_left_its_group_and_cleared_its_environment_is_seen() {
    use std::process::Command;
    adopt();
    let home = Home::new();
    fs::create_dir_all(home.data()).expect("a folder");
    // Each lets go of its output when it is what it shall be, so that the output ends when both are.
    let line = "setsid env -i sh -c 'exec sleep 1000 >&- 2>&-' & setsid sh -c 'exec sleep 1000 >&- 2>&-' &";
    let mut started = Command::new("sh");
    started.args(["-c", line]).current_dir(home.data()).env("ROUSE_HOME", home.data());
    assert!(started.output().expect("sh starts").status.success());
    let orphans = left_behind(&home);
    assert_eq!(orphans.len(), 2, "{orphans:?}");
    assert_eq!(left_behind(&Home::new()).len(), 1, "who names a home is that home's only");
    for orphan in &orphans {
        let pid = nix::unistd::Pid::from_raw(orphan.pid);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).expect("it lives");
    }
    assert_eq!(live_on(&orphans), Vec::<&Orphan>::new());
    assert_eq!(left_behind(&home), []);
}
