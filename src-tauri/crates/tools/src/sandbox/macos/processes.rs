//! The processes of a command and their memory, by libproc. Preview: never run on macOS.
//!
//! A command's processes are its group, their children, and every process seen as one of these before; an id counts only together with
//! the process's start time. Pitfall: a reused process id.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::resource_monitor::MonitoredProcesses;

/// Filter for the processes of a user (libproc's `PROC_UID_ONLY`).
const PROC_UID_ONLY: u32 = 4;

/// The processes of a group, and processes that have left the group.
pub(super) struct GroupProcesses {
    group: Pid,
    /// Start time by process id.
    known: HashMap<i32, (u64, u64)>,
}

impl GroupProcesses {
    pub(super) fn new(group: Pid) -> Self {
        Self { group, known: HashMap::new() }
    }

    fn refresh(&mut self) -> io::Result<()> {
        let running: Vec<_> = list_pids()?.into_iter().filter_map(process_info).collect();
        let group = self.group.as_raw_nonzero().get().cast_unsigned();
        let is_known =
            |info: &libc::proc_bsdinfo| self.known.get(&pid_of(info)) == Some(&start_time(info));
        let mut found: HashMap<_, _> = running
            .iter()
            .filter(|info| info.pbi_pgid == group || is_known(info))
            .map(|info| (pid_of(info), start_time(info)))
            .collect();
        loop {
            let before = found.len();
            for info in &running {
                if found.contains_key(&info.pbi_ppid.cast_signed()) {
                    found.insert(pid_of(info), start_time(info));
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

/// Counts the processes of a group.
pub(super) fn count_in_group(group: Pid) -> io::Result<usize> {
    let group = group.as_raw_nonzero().get().cast_unsigned();
    let all = list_pids()?.into_iter().filter_map(process_info);
    Ok(all.filter(|info| info.pbi_pgid == group).count())
}

impl MonitoredProcesses for GroupProcesses {
    fn memory_bytes(&mut self, _: u64) -> io::Result<u64> {
        self.refresh()?;
        self.known.keys().map(|pid| footprint(*pid)).sum()
    }

    fn kill_all(&mut self) {
        if let Err(error) = self.refresh() {
            tracing::warn!(%error, "failed to search for a command's orphans");
        }
        for pid in self.known.keys().filter_map(|pid| Pid::from_raw(*pid)) {
            match kill_process(pid, Signal::KILL) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => tracing::error!(%error, "failed to kill a process of a command"),
            }
        }
    }
}

fn pid_of(info: &libc::proc_bsdinfo) -> i32 {
    info.pbi_pid.cast_signed()
}
fn start_time(info: &libc::proc_bsdinfo) -> (u64, u64) {
    (info.pbi_start_tvsec, info.pbi_start_tvusec)
}

/// Counts the processes of this user.
pub(super) fn count_of_user() -> io::Result<u64> {
    let user = rustix::process::getuid().as_raw();
    // SAFETY: without a buffer the call returns the required size.
    let bytes = unsafe { libc::proc_listpids(PROC_UID_ONLY, user, std::ptr::null_mut(), 0) };
    match usize::try_from(bytes) {
        Ok(bytes @ 1..) => Ok((bytes / size_of::<libc::pid_t>()) as u64),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lists all process ids.
fn list_pids() -> io::Result<Vec<i32>> {
    // SAFETY: without a buffer the call returns the count.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // Room for processes that start meanwhile.
    let mut pids = vec![0_i32; count + 256];
    let bytes = libc::c_int::try_from(size_of_val(pids.as_slice())).map_err(io::Error::other)?;
    // SAFETY: the buffer has the passed size.
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
    pids.truncate(usize::try_from(count).map_err(|_| io::Error::last_os_error())?);
    Ok(pids)
}

/// Information about a process; `None` if gone or another user's.
fn process_info(pid: i32) -> Option<libc::proc_bsdinfo> {
    let mut info = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
    let size = libc::c_int::try_from(size_of::<libc::proc_bsdinfo>()).ok()?;
    let (buffer, kind) = (info.as_mut_ptr().cast(), libc::PROC_PIDTBSDINFO);
    // SAFETY: the buffer has the passed size.
    let written = unsafe { libc::proc_pidinfo(pid, kind, 0, buffer, size) };
    // SAFETY: a struct of numbers, for which zero is valid.
    (written == size).then(|| unsafe { info.assume_init() })
}

/// Physical footprint of a process, compressed and swapped pages included.
fn footprint(pid: i32) -> io::Result<u64> {
    let mut usage = MaybeUninit::<libc::rusage_info_v4>::zeroed();
    let (buffer, kind) = (usage.as_mut_ptr().cast(), libc::RUSAGE_INFO_V4);
    // SAFETY: the buffer is a struct of the requested type.
    if unsafe { libc::proc_pid_rusage(pid, kind, buffer) } == 0 {
        // SAFETY: a struct of numbers, for which zero is valid.
        return Ok(unsafe { usage.assume_init() }.ri_phys_footprint);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(0),
        error => Err(error),
    }
}
