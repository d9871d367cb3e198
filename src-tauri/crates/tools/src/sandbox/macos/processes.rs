//! The processes of one command and how much memory they hold, by what macOS tells of every process.
//!
//! A command's processes are its group, their children, and whatever was seen as one of these before; a number counts
//! only together with the moment at which its process began. One could get it wrong by ending a process by a number that
//! has gone to another one.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::watch::Look;

/// A list of the processes of one user (libproc's `PROC_UID_ONLY`).
const OF_USER: u32 = 4;

/// The processes of a group, and those that it has left behind.
pub(super) struct Processes {
    group: Pid,
    /// By number, with the moment of their beginning.
    known: HashMap<i32, (u64, u64)>,
}

impl Processes {
    pub(super) fn of(group: Pid) -> Self {
        Self { group, known: HashMap::new() }
    }

    fn look(&mut self) -> io::Result<()> {
        let running: Vec<_> = numbers()?.into_iter().filter_map(told).collect();
        let group = self.group.as_raw_nonzero().get().cast_unsigned();
        let is_known = |one: &libc::proc_bsdinfo| self.known.get(&number(one)) == Some(&began(one));
        let mut found: HashMap<_, _> = running
            .iter()
            .filter(|one| one.pbi_pgid == group || is_known(one))
            .map(|one| (number(one), began(one)))
            .collect();
        loop {
            let before = found.len();
            for one in &running {
                if found.contains_key(&one.pbi_ppid.cast_signed()) {
                    found.insert(number(one), began(one));
                }
            }
            if found.len() == before {
                break;
            }
        }
        self.known = found;
        Ok(())
    }
}

/// How many processes a group has.
pub(super) fn in_group(group: Pid) -> io::Result<usize> {
    let group = group.as_raw_nonzero().get().cast_unsigned();
    let all = numbers()?.into_iter().filter_map(told);
    Ok(all.filter(|one| one.pbi_pgid == group).count())
}

impl Look for Processes {
    fn bytes(&mut self, _: u64) -> io::Result<u64> {
        self.look()?;
        self.known.keys().map(|number| footprint(*number)).sum()
    }

    fn end(&mut self) {
        if let Err(error) = self.look() {
            tracing::warn!(%error, "what a command has left running could not be looked for");
        }
        for pid in self.known.keys().filter_map(|number| Pid::from_raw(*number)) {
            match kill_process(pid, Signal::KILL) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => tracing::error!(%error, "a process of a command could not be ended"),
            }
        }
    }
}

fn number(one: &libc::proc_bsdinfo) -> i32 {
    one.pbi_pid.cast_signed()
}

fn began(one: &libc::proc_bsdinfo) -> (u64, u64) {
    (one.pbi_start_tvsec, one.pbi_start_tvusec)
}

/// How many processes this user has.
pub(super) fn of_this_user() -> io::Result<u64> {
    let user = rustix::process::getuid().as_raw();
    // SAFETY: without a buffer it answers how large one would have to be.
    let bytes = unsafe { libc::proc_listpids(OF_USER, user, std::ptr::null_mut(), 0) };
    match usize::try_from(bytes) {
        Ok(bytes @ 1..) => Ok((bytes / size_of::<libc::pid_t>()) as u64),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number of every process.
fn numbers() -> io::Result<Vec<i32>> {
    // SAFETY: without a buffer it answers how many there are.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // Some may begin meanwhile.
    let mut numbers = vec![0_i32; count + 256];
    let bytes = libc::c_int::try_from(size_of_val(numbers.as_slice())).map_err(io::Error::other)?;
    // SAFETY: the buffer is as long as is said.
    let count = unsafe { libc::proc_listallpids(numbers.as_mut_ptr().cast(), bytes) };
    numbers.truncate(usize::try_from(count).map_err(|_| io::Error::last_os_error())?);
    Ok(numbers)
}

/// What is told of a process; nothing of one that is gone, or another user's.
fn told(number: i32) -> Option<libc::proc_bsdinfo> {
    let mut info = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
    let size = libc::c_int::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
    let (at, kind) = (info.as_mut_ptr().cast(), libc::PROC_PIDTBSDINFO);
    // SAFETY: the buffer is as long as is said.
    let told = unsafe { libc::proc_pidinfo(number, kind, 0, at, size) };
    // SAFETY: a struct of numbers, for which nought is a value.
    (told == size).then(|| unsafe { info.assume_init() })
}

/// What a process keeps of this computer's memory, its compressed and swapped pages too.
fn footprint(number: i32) -> io::Result<u64> {
    let mut usage = MaybeUninit::<libc::rusage_info_v4>::zeroed();
    let (at, kind) = (usage.as_mut_ptr().cast(), libc::RUSAGE_INFO_V4);
    // SAFETY: the buffer is a struct of the kind that is asked for.
    if unsafe { libc::proc_pid_rusage(number, kind, at) } == 0 {
        // SAFETY: a struct of numbers, for which nought is a value.
        return Ok(unsafe { usage.assume_init() }.ri_phys_footprint);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(0),
        error => Err(error),
    }
}
