//! The calls into the system that no library makes safe for a process between fork and exec.
//!
//! Owns every `unsafe` of the sandbox but the one that hands the entry over. Each is a plain system call on numbers and
//! on memory that outlives it. Nothing here takes a lock or memory from the allocator, because another thread of the
//! engine may have held either at the moment of the fork. One could get this wrong by calling something convenient.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// What a fork is for the one who reads it.
pub(super) enum Fork {
    /// The one who called, with the number of the new process.
    Parent(libc::pid_t),
    /// The new process.
    Child,
}

/// How a mount is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// To read and to run programs from.
    ReadOnly,
    /// To read, write and run programs from.
    Writable,
    /// A device file.
    Device,
}

impl Show {
    const fn attributes(self) -> u64 {
        match self {
            Self::ReadOnly => {
                libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV
            }
            Self::Writable => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
            Self::Device => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC,
        }
    }
}

/// Leaves the users, mounts, processes, network, messages, host name and control groups of the engine.
pub(super) fn leave_namespaces() -> io::Result<()> {
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    // SAFETY: only FILES could take descriptors away from another thread, and there is no other thread after a fork.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

/// Forks.
pub(super) fn fork() -> io::Result<Fork> {
    let plainly = libc::c_long::from(libc::SIGCHLD);
    // SAFETY: with this flag alone it is fork, past what libraries have asked to be done at one, which may take locks.
    // The process has a single thread (it is itself between fork and exec), and both go on with calls like these.
    match unsafe { libc::syscall(libc::SYS_clone, plainly, 0, 0, 0, 0) } {
        0 => Ok(Fork::Child),
        number => match libc::pid_t::try_from(number) {
            Ok(number @ 1..) => Ok(Fork::Parent(number)),
            _ => Err(io::Error::last_os_error()),
        },
    }
}

/// Ends this process at once: no destructors, no handlers of the engine.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: _exit does nothing but end the process.
    unsafe { libc::_exit(code) }
}

/// Waits for `number`, or for any child with -1; answers who ended, and the system's word on how.
pub(super) fn wait(number: libc::pid_t) -> Option<(libc::pid_t, i32)> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a number on this stack.
        let ended = unsafe { libc::waitpid(number, &raw mut status, 0) };
        if ended > 0 {
            return Some((ended, status));
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
}

/// Whether a child of this process still runs; those that have ended are reaped.
pub(super) fn has_running_child() -> bool {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a number on this stack.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            0 => return true,
            ended if ended > 0 => {}
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return false,
        }
    }
}

/// Ends this process the way another one has ended.
pub(super) fn end_as(status: i32) -> ! {
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        // SAFETY: both calls take numbers only.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
        }
        exit(128 + signal);
    }
    exit(libc::WEXITSTATUS(status))
}

/// Takes the engine's signal handlers away: what waits here is ended by KILL alone, and the command by all of them.
pub(super) fn hear_no_signals() {
    for signal in 1..=64 {
        let heard = if signal == libc::SIGCHLD { libc::SIG_DFL } else { libc::SIG_IGN };
        // SAFETY: takes numbers only; it refuses those of KILL and STOP, as it should.
        unsafe { libc::signal(signal, heard) };
    }
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: RawFd) -> io::Result<()> {
    close_range(first, 0)
}

/// Closes every descriptor from `first` on when the command begins.
pub(super) fn close_from_at_exec(first: RawFd) -> io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC)
}

fn close_range(first: RawFd, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: takes numbers only. Whoever calls it uses no descriptor from `first` on afterwards.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) })
}

/// Sets how a mount, and every mount beneath it, is shown.
pub(super) fn show(mount: BorrowedFd<'_>, show: Show, with_all_beneath: bool) -> io::Result<()> {
    // SAFETY: a struct of four numbers, for which nought is a value.
    let mut wanted: libc::mount_attr = unsafe { MaybeUninit::zeroed().assume_init() };
    wanted.attr_set = show.attributes();
    wanted.propagation = libc::MS_PRIVATE;
    let beneath = if with_all_beneath { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty text of static life, the struct lives on this stack and its size is told.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | beneath,
            &raw const wanted,
            size_of::<libc::mount_attr>(),
        )
    })
}

/// Switches the loopback device of this network on.
pub(super) fn raise_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a struct of numbers, for which nought is a value.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is of the kind that this call reads, and lives on this stack.
    checked(
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) }.into(),
    )
}

/// Gives up every capability for good, in all the sets from which one could come back.
pub(super) fn drop_capabilities() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: takes numbers only.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            match io::Error::last_os_error() {
                // The kernel knows no more of them.
                error if error.raw_os_error() == Some(libc::EINVAL) => break,
                error => return Err(error),
            }
        }
    }
    let none = rustix::thread::CapabilitySet::empty();
    let sets =
        rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets)?;
    Ok(rustix::thread::clear_ambient_capability_set()?)
}

fn checked(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
