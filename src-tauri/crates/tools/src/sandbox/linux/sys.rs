//! Raw system calls for a process between fork and exec.
//!
//! Owns every `unsafe` of the sandbox except the `pre_exec`. Each is a plain system call on numbers and on memory that outlives the
//! call. Never takes a lock or memory from the allocator: another thread of the engine may have held either during the fork.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// The two returns of a fork.
pub(super) enum Fork {
    /// With the child's id.
    Parent(libc::pid_t),
    Child,
}

/// Access to a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountMode {
    /// Read and execute.
    ReadOnly,
    /// Read, write and execute.
    Writable,
    /// A device file.
    Device,
}

impl MountMode {
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

/// Enters private namespaces of users, mounts, processes, network, IPC, host name and control groups.
pub(super) fn unshare_namespaces() -> io::Result<()> {
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    // SAFETY: only FILES could take descriptors from another thread, and a forked process has no other thread.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

pub(super) fn fork() -> io::Result<Fork> {
    let sigchld = libc::c_long::from(libc::SIGCHLD);
    // SAFETY: with this flag alone the call is fork without the libraries' fork handlers, which may take locks. The process has a
    // single thread (it is itself between fork and exec), and both processes continue with calls like these.
    match unsafe { libc::syscall(libc::SYS_clone, sigchld, 0, 0, 0, 0) } {
        0 => Ok(Fork::Child),
        number => match libc::pid_t::try_from(number) {
            Ok(number @ 1..) => Ok(Fork::Parent(number)),
            _ => Err(io::Error::last_os_error()),
        },
    }
}

/// Exits at once, without destructors and exit handlers.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: _exit only ends the process.
    unsafe { libc::_exit(code) }
}

/// Waits for a child, or for any with -1; returns id and wait status.
pub(super) fn wait(pid: libc::pid_t) -> Option<(libc::pid_t, i32)> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a number on the stack.
        let exited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        if exited > 0 {
            return Some((exited, status));
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
}

/// Whether a child still runs; reaps exited children.
pub(super) fn has_running_child() -> bool {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a number on the stack.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            0 => return true,
            exited if exited > 0 => {}
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return false,
        }
    }
}

/// Exits with another process's wait status.
pub(super) fn exit_like(status: i32) -> ! {
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

/// Ignores every signal but CHLD, so that only KILL ends a waiting process.
pub(super) fn ignore_signals() {
    for signal in 1..=64 {
        let action = if signal == libc::SIGCHLD { libc::SIG_DFL } else { libc::SIG_IGN };
        // SAFETY: takes numbers only; the calls for KILL and STOP fail, as intended.
        unsafe { libc::signal(signal, action) };
    }
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: RawFd) -> io::Result<()> {
    close_range(first, 0)
}

/// Closes every descriptor from `first` on at exec.
pub(super) fn close_from_at_exec(first: RawFd) -> io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC)
}

fn close_range(first: RawFd, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: takes numbers only. The callers use no descriptor from `first` on afterwards.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) })
}

/// Sets a mount's mode; `flags` is 0 or `AT_RECURSIVE`.
pub(super) fn set_mount_attributes(
    mount: BorrowedFd<'_>,
    mode: MountMode,
    flags: libc::c_int,
) -> io::Result<()> {
    // SAFETY: a struct of four numbers, for which zero is valid.
    let mut attributes: libc::mount_attr = unsafe { MaybeUninit::zeroed().assume_init() };
    attributes.attr_set = mode.attributes();
    attributes.propagation = libc::MS_PRIVATE;
    // SAFETY: the path is a static empty string, the struct lives on the stack and the size is passed.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    })
}

/// Raises the loopback device of this network namespace.
pub(super) fn raise_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a struct of numbers, for which zero is valid.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is of the type that the call reads, and lives on the stack.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) }.into())
}

/// Drops every capability from all sets, for good.
pub(super) fn drop_capabilities() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: takes numbers only.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            match io::Error::last_os_error() {
                // Beyond the last capability of the kernel.
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

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
