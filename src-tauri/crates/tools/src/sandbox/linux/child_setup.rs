//! The set-up of the sandbox by the child, between fork and exec.
//!
//! Three processes result. The *attendant* stays outside: the engine's child, which waits and exits like the command. The *init* is
//! process 1 of the namespace, reaps orphans, and takes every process with it when it exits. The *command* is the init's child, so that
//! it can be killed, signalled and reaped like any other. Both waiting processes ignore all signals but KILL, close all descriptors but
//! their own, and are not dumpable: their memory is a copy of the engine's.
//!
//! Everything that needs the allocator is made before the fork. Every failure ends the child before the command starts, with a report of
//! the step. Pitfall: to continue without a layer.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::{
    DumpableBehavior, Signal, chdir, pivot_root, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};

use super::landlock_rules;
use super::plan::{SandboxPlan, UserMapping};
use super::report::{self, SetupStep, StepReport};
use super::sys::{self, Fork, MountMode};
use super::view::{CopyMount, FilesystemView, MountStep};
use crate::sandbox::spec::COPY_REPLACED_SIGNAL;

/// The child's ends of pipes and sockets.
pub(super) struct ChildEnds {
    pub(super) report: OwnedFd,
    /// Closed by the other side when the engine drops the command or dies.
    pub(super) life: OwnedFd,
    /// Sends the namespace's `/proc` and the proxy's listening socket.
    pub(super) handover: OwnedFd,
}

/// Returns in the sandboxed command, or with the error of the failed step.
pub(super) fn enter(plan: &SandboxPlan, ends: &ChildEnds) -> io::Result<()> {
    let report = StepReport(ends.report.as_fd());
    report.check(SetupStep::Namespaces, sys::unshare_namespaces())?;
    report.check(SetupStep::Identity, map_user(&plan.user_mapping))?;
    let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(io::Error::from);
    let (status_reader, status_writer) = report.check(SetupStep::Processes, pipe)?;
    match report.check(SetupStep::Processes, sys::fork())? {
        Fork::Parent(init) => run_attendant(init, status_reader.as_fd(), ends.life.as_fd()),
        Fork::Child => {
            drop(status_reader);
            run_init(plan, ends, &report, status_writer.as_fd())
        }
    }
}

/// Maps the engine's user alone, to itself.
fn map_user(mapping: &UserMapping) -> io::Result<()> {
    // Preferred victim of the OOM killer. Not always possible, and no layer depends on it.
    drop(write_file(c"/proc/self/oom_score_adj", b"1000"));
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", &mapping.user)?;
    write_file(c"/proc/self/gid_map", &mapping.group)
}

fn run_attendant(init: libc::pid_t, status: BorrowedFd<'_>, life: BorrowedFd<'_>) -> ! {
    sys::ignore_signals();
    let isolated = rustix::stdio::dup2_stdin(status)
        .and_then(|()| rustix::stdio::dup2_stdout(life))
        .and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    if isolated.is_err() || sys::close_from(2).is_err() {
        sys::exit(1);
    }
    let (status, life) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    let mut ends = [PollFd::new(&status, PollFlags::IN), PollFd::new(&life, PollFlags::IN)];
    while matches!(poll(&mut ends, None), Err(Errno::INTR)) {}
    // The init dies with this process.
    if ends[0].revents().is_empty() {
        sys::exit(1);
    }
    let mut bytes = [0; 4];
    let read = rustix::io::read(status, &mut bytes);
    let Some((_, init_status)) = sys::wait(init) else { sys::exit(1) };
    match read {
        Ok(4) => sys::exit_like(i32::from_ne_bytes(bytes)),
        _ => sys::exit_like(init_status),
    }
}

/// Process 1 of the namespace, until the command is forked.
fn run_init(
    plan: &SandboxPlan,
    ends: &ChildEnds,
    report: &StepReport<'_>,
    status: BorrowedFd<'_>,
) -> io::Result<()> {
    report.check(SetupStep::Processes, die_with_attendant(status))?;
    build_view(&plan.view, plan.max_pid.as_deref(), report)?;
    let listener = report.check(SetupStep::Network, set_up_network(plan.proxy_port))?;
    report.check(SetupStep::Proc, hand_over(&ends.handover, listener))?;
    report.check(SetupStep::Capabilities, sys::drop_capabilities())?;
    let no_new_privileges = rustix::thread::set_no_new_privs(true)
        .and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    report.check(SetupStep::Capabilities, no_new_privileges.map_err(io::Error::from))?;
    match report.check(SetupStep::Processes, sys::fork())? {
        Fork::Parent(command) => reap(command, status, ends.report.as_fd(), &plan.view),
        Fork::Child => restrict_command(plan, report),
    }
}

fn die_with_attendant(status: BorrowedFd<'_>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The attendant may have died before the call; then the pipe has no reader.
    let mut ends = [PollFd::new(&status, PollFlags::OUT)];
    poll(&mut ends, Some(&rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    if ends[0].revents().contains(PollFlags::ERR) {
        sys::exit(1);
    }
    Ok(())
}

/// The init, until the command has exited.
fn reap(
    command: libc::pid_t,
    status_writer: BorrowedFd<'_>,
    report: BorrowedFd<'_>,
    view: &FilesystemView,
) -> ! {
    sys::ignore_signals();
    let isolated =
        rustix::stdio::dup2_stdin(status_writer).and_then(|()| rustix::stdio::dup2_stdout(report));
    if isolated.is_err() || sys::close_from(2).is_err() {
        sys::exit(1);
    }
    loop {
        match sys::wait(-1) {
            Some((exited, status)) if exited == command => {
                // A removed copy does not come back, so a single check at the end is enough.
                let are_in_place = view.copies().all(|copy| is_in_place(copy).unwrap_or(false));
                let status = if are_in_place { status } else { COPY_REPLACED_SIGNAL };
                if sys::has_running_child() {
                    report::report_orphans(rustix::stdio::stdout());
                }
                // Without a reader the status is ignored.
                let _written = rustix::io::write(rustix::stdio::stdin(), &status.to_ne_bytes());
                sys::exit(0);
            }
            Some(_) => {}
            None => sys::exit(1),
        }
    }
}

/// Applies limits, Landlock and seccomp to the command before exec.
fn restrict_command(plan: &SandboxPlan, report: &StepReport<'_>) -> io::Result<()> {
    for (resource, limit) in &plan.limits {
        report.check(SetupStep::Limits, setrlimit(*resource, *limit).map_err(io::Error::from))?;
    }
    report.check(SetupStep::Folder, chdir(plan.folder.as_c_str()).map_err(io::Error::from))?;
    report.check(SetupStep::Limits, sys::close_from_at_exec(3))?;
    report.check(SetupStep::Landlock, landlock_rules::apply(&plan.view.rules))?;
    for filter in plan.filters {
        let refused = |_| io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        report.check(SetupStep::Seccomp, seccompiler::apply_filter(filter).map_err(refused))?;
    }
    Ok(())
}

/// Builds the view and detaches the engine's file system.
fn build_view(
    view: &FilesystemView,
    max_pid: Option<&[u8]>,
    report: &StepReport<'_>,
) -> io::Result<()> {
    report.check(SetupStep::Root, create_root())?;
    for (number, step) in view.steps.iter().enumerate() {
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        report.check(SetupStep::View(number), run_step(step))?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let mounted = mount(c"proc", c"/proc", c"proc", flags, None);
    report.check(SetupStep::Proc, mounted.map_err(io::Error::from))?;
    if let Some(max_pid) = max_pid {
        report.check(SetupStep::MaxPid, write_file(c"/proc/sys/kernel/pid_max", max_pid))?;
    }
    report.check(SetupStep::Proc, set_mount_mode(c"/proc", MountMode::ReadOnly))?;
    report.check(SetupStep::Root, detach_old_root())
}

fn create_root() -> io::Result<()> {
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount(
        c"tmpfs",
        c"/tmp",
        c"tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        Some(c"mode=0755,size=1m"),
    )?;
    chdir(c"/tmp")?;
    rustix::fs::mkdir(c"old", Mode::RWXU)?;
    pivot_root(c".", c"old")?;
    Ok(chdir(c"/")?)
}

fn detach_old_root() -> io::Result<()> {
    unmount(c"/old", UnmountFlags::DETACH)?;
    rustix::fs::rmdir(c"/old")?;
    set_mount_mode(c"/", MountMode::ReadOnly)
}

fn run_step(step: &MountStep) -> io::Result<()> {
    match step {
        MountStep::Folder(at) => {
            match rustix::fs::mkdir(at.as_c_str(), Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        MountStep::File(at) => {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            rustix::fs::open(at.as_c_str(), flags, Mode::RUSR).map(drop).map_err(io::Error::from)
        }
        MountStep::Link { to, at } => Ok(rustix::fs::symlink(to.as_c_str(), at.as_c_str())?),
        MountStep::Bind { from, at, mode } => bind(from, at, *mode),
        MountStep::Copy(copy) => mount_copy(copy),
        MountStep::FolderWithMode { at, mode } => {
            rustix::fs::mkdir(at.as_c_str(), Mode::RWXU)?;
            Ok(rustix::fs::chmod(at.as_c_str(), Mode::from_raw_mode(*mode))?)
        }
        MountStep::Detach(at) => {
            unmount(at.as_c_str(), UnmountFlags::DETACH)?;
            Ok(rustix::fs::rmdir(at.as_c_str())?)
        }
        MountStep::Tmpfs { at, options } => {
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            Ok(mount(c"tmpfs", at.as_c_str(), c"tmpfs", flags, Some(options.as_c_str()))?)
        }
        MountStep::MakeReadOnly(at) => set_mount_mode(at, MountMode::ReadOnly),
        MountStep::Cover(at) => {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            Ok(mount(c"tmpfs", at.as_c_str(), c"tmpfs", flags, Some(c"mode=0755,size=4k"))?)
        }
    }
}

/// Writes a copy and mounts the copy over the file, whatever the present content.
fn mount_copy(copy: &CopyMount) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(copy.stored_at.as_c_str(), flags, Mode::RWXU)?;
    let mut left = copy.content.as_slice();
    while !left.is_empty() {
        match rustix::io::write(&file, left) {
            Ok(written) => left = &left[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(copy.mode))?;
    drop(file);
    bind(&copy.stored_at, &copy.mounted_at, copy.mount_mode)?;
    if is_in_place(copy)? { Ok(()) } else { Err(Errno::STALE.into()) }
}

/// Whether the file's path still shows the copy.
fn is_in_place(copy: &CopyMount) -> io::Result<bool> {
    let stored = rustix::fs::stat(copy.stored_at.as_c_str())?;
    let mounted = rustix::fs::stat(copy.mounted_at.as_c_str())?;
    Ok((stored.st_dev, stored.st_ino) == (mounted.st_dev, mounted.st_ino))
}

/// Bind-mounts a path, invisible until the mode is set.
fn bind(from: &CStr, at: &CStr, mode: MountMode) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, from, flags)?;
    sys::set_mount_attributes(tree.as_fd(), mode, libc::AT_RECURSIVE)?;
    Ok(move_mount(tree.as_fd(), c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

fn set_mount_mode(at: &CStr, mode: MountMode) -> io::Result<()> {
    let mount = rustix::fs::open(at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    sys::set_mount_attributes(mount.as_fd(), mode, 0)
}

/// Raises the loopback device of the private network; opens the proxy's socket if hosts are granted.
fn set_up_network(proxy_port: Option<u16>) -> io::Result<Option<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sys::raise_loopback(socket.as_fd())?;
    let Some(port) = proxy_port else { return Ok(None) };
    let address = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, 64)?;
    Ok(Some(socket))
}

/// Sends the engine the namespace's `/proc`, then the proxy's socket.
fn hand_over(socket: &OwnedFd, listener: Option<OwnedFd>) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let proc = rustix::fs::open(c"/proc", flags, Mode::empty())?;
    let descriptors = [Some(proc.as_fd()), listener.as_ref().map(AsFd::as_fd)];
    for descriptor in descriptors.into_iter().flatten() {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = [descriptor];
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let byte = [io::IoSlice::new(b"p")];
        rustix::net::sendmsg(socket, &byte, &mut ancillary, SendFlags::empty())?;
    }
    Ok(())
}

fn write_file(path: &CStr, text: &[u8]) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text)?;
    Ok(())
}
