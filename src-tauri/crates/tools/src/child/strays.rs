//! The search for what bears a mark, and for what came of it.
//!
//! A process can clear its environment and with it the mark. So whatever is a child of one that bears it, or is in a
//! group or a session that such a one leads, is taken for one, too. As long as the leader lives its number is that
//! group's; one without a living leader is not gone by, since nothing says whose it is. One could get it wrong by killing
//! by number: when a process began is looked at again while a descriptor holds it. It is made after every command, so it
//! asks the kernel as little as it can: one line of each process, and the environment of none that is the kernel's own.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read as _;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::child::MARK;

/// The parent of the kernel's own processes.
const KERNEL: i32 = 2;
/// More than any line of `/proc/<pid>/stat` takes.
const LINE_BYTES: usize = 1_024;

/// What `/proc/<pid>/stat` says of a process.
struct Stat {
    parent: i32,
    group: i32,
    session: i32,
    began: u64,
    has_ended: bool,
}

/// Ends every process that bears `mark`, or, when that ends in `:`, any mark that begins with it, and what came of
/// them; answers how many. This process and those that it descends from are left alone: Rouse may itself have been
/// started by a job.
pub fn end_strays(mark: &str) -> usize {
    let all = at_work_beside_us();
    let marked: HashSet<i32> = all.keys().copied().filter(|pid| bears(*pid, mark)).collect();
    let ours = with_what_came_of(marked, &all);
    ours.into_iter().filter(|number| end(*number, &all[number])).count()
}

/// Whether any process bears `mark`.
pub(crate) fn has_strays(mark: &str) -> bool {
    at_work_beside_us().keys().any(|pid| bears(*pid, mark))
}

/// All processes without this one and those that it descends from.
fn at_work_beside_us() -> HashMap<i32, Stat> {
    let mut all = at_work();
    for number in lineage(&all) {
        all.remove(&number);
    }
    all
}

fn at_work() -> HashMap<i32, Stat> {
    let Ok(processes) = fs::read_dir("/proc") else { return HashMap::new() };
    let numbers =
        processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let all = numbers.filter_map(|number| Some((number, Stat::read(number)?)));
    all.filter(|(_, stat)| !stat.has_ended && stat.parent != KERNEL).collect()
}

fn lineage(all: &HashMap<i32, Stat>) -> Vec<i32> {
    let own = i32::try_from(std::process::id()).ok();
    std::iter::successors(own, |number| all.get(number).map(|stat| stat.parent)).collect()
}

fn with_what_came_of(mut ours: HashSet<i32>, all: &HashMap<i32, Stat>) -> HashSet<i32> {
    loop {
        let came_of_ours = |stat: &Stat| {
            [stat.parent, stat.group, stat.session].iter().any(|number| ours.contains(number))
        };
        let more = all.iter().filter(|(number, stat)| !ours.contains(number) && came_of_ours(stat));
        let more: Vec<i32> = more.map(|(number, _)| *number).collect();
        if more.is_empty() {
            return ours;
        }
        ours.extend(more);
    }
}

fn end(number: i32, seen: &Stat) -> bool {
    let Some(pid) = Pid::from_raw(number) else { return false };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let is_it = Stat::read(number).is_some_and(|now| now.began == seen.began && !now.has_ended);
    is_it && pidfd_send_signal(&process, Signal::KILL).is_ok()
}

fn bears(number: i32, mark: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{number}/environ")) else { return false };
    let wanted = format!("{MARK}={mark}");
    environment.split(|byte| *byte == 0).any(|variable| {
        if mark.ends_with(':') {
            variable.starts_with(wanted.as_bytes())
        } else {
            variable == wanted.as_bytes()
        }
    })
}

impl Stat {
    /// By proc_pid_stat(5); the second field, the name, may itself hold spaces and brackets.
    fn read(number: i32) -> Option<Self> {
        let mut line = [0; LINE_BYTES];
        // The kernel gives the whole line at once.
        let length = File::open(format!("/proc/{number}/stat")).ok()?.read(&mut line).ok()?;
        let text = String::from_utf8_lossy(&line[..length]);
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |at: usize| fields.get(at)?.parse().ok();
        Some(Self {
            parent: field(1)?,
            group: field(2)?,
            session: field(3)?,
            began: fields.get(19)?.parse().ok()?,
            has_ended: matches!(*fields.first()?, "Z" | "X"),
        })
    }
}
