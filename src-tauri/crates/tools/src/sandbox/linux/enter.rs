//! The way in, walked by the child between fork and exec.
//!
//! Three processes come of it. The *attendant* stays outside: it is the engine's child, waits, and ends the way the
//! command ends. The *first* is process 1 inside, reaps what is orphaned, and takes everything with it when it ends: the
//! kernel leaves nothing of a process namespace without its first. The *command* is its child, so that it is killed,
//! signalled and waited for like any other. Both waiting ones hear no signal but KILL, hold no descriptor but their own,
//! and cannot be looked into: their memory is a copy of the engine's.
//!
//! All that needs the allocator was made before the fork. Every failure ends the child before the command begins, with
//! its step told; there is no way in that leaves a step out. One could get this wrong by going on without a layer.

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

use super::report::{self, At, Report};
use super::sys::{self, Fork, Show};
use super::view::{self, View};
use super::{Identity, Plan, rules};
use crate::sandbox::REPLACED;

/// The ends of pipes and sockets that are the child's.
pub(super) struct Ends {
    pub(super) report: OwnedFd,
    /// Closed on the other side when the engine lets go of the command, or is no more.
    pub(super) life: OwnedFd,
    /// Where the view of the processes inside goes, and the listening socket of the proxy.
    pub(super) handover: OwnedFd,
}

/// Returns in the command, confined, or with the error of the step that failed.
pub(super) fn enter(plan: &Plan, ends: &Ends) -> io::Result<()> {
    let report = Report(ends.report.as_fd());
    report.of(At::Namespaces, sys::leave_namespaces())?;
    report.of(At::Identity, become_itself(&plan.identity))?;
    let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(io::Error::from);
    let (heard, told) = report.of(At::Processes, pipe)?;
    match report.of(At::Processes, sys::fork())? {
        Fork::Parent(first) => attend(first, heard.as_fd(), ends.life.as_fd()),
        Fork::Child => {
            drop(heard);
            begin(plan, ends, &report, told.as_fd())
        }
    }
}

/// The same user inside as outside, and nobody else.
fn become_itself(identity: &Identity) -> io::Result<()> {
    // The first to be ended when memory runs out; that it is not always possible takes no layer away.
    drop(write_file(c"/proc/self/oom_score_adj", b"1000"));
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", &identity.user)?;
    write_file(c"/proc/self/gid_map", &identity.group)
}

/// The attendant.
fn attend(first: libc::pid_t, heard: BorrowedFd<'_>, life: BorrowedFd<'_>) -> ! {
    sys::hear_no_signals();
    let is_alone = rustix::stdio::dup2_stdin(heard)
        .and_then(|()| rustix::stdio::dup2_stdout(life))
        .and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    if is_alone.is_err() || sys::close_from(2).is_err() {
        sys::exit(1);
    }
    let (heard, life) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    let mut ends = [PollFd::new(&heard, PollFlags::IN), PollFd::new(&life, PollFlags::IN)];
    while matches!(poll(&mut ends, None), Err(Errno::INTR)) {}
    // The first inside ends with this process.
    if ends[0].revents().is_empty() {
        sys::exit(1);
    }
    let mut status = [0; 4];
    let told = rustix::io::read(heard, &mut status);
    let Some((_, of_first)) = sys::wait(first) else { sys::exit(1) };
    match told {
        Ok(4) => sys::end_as(i32::from_ne_bytes(status)),
        _ => sys::end_as(of_first),
    }
}

/// Process 1 inside, until the command is there.
fn begin(plan: &Plan, ends: &Ends, report: &Report<'_>, told: BorrowedFd<'_>) -> io::Result<()> {
    report.of(At::Processes, end_with_attendant(told))?;
    build(&plan.view, plan.process_numbers.as_deref(), report)?;
    let listener = report.of(At::Network, network(plan.proxy_port))?;
    report.of(At::Proc, hand_over(&ends.handover, listener))?;
    report.of(At::Capabilities, sys::drop_capabilities())?;
    let no_gain = rustix::thread::set_no_new_privs(true)
        .and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    report.of(At::Capabilities, no_gain.map_err(io::Error::from))?;
    match report.of(At::Processes, sys::fork())? {
        Fork::Parent(command) => reap(command, told, ends.report.as_fd(), &plan.view),
        Fork::Child => confine(plan, report),
    }
}

fn end_with_attendant(told: BorrowedFd<'_>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before that was asked for; then nobody holds the other end of the pipe.
    let mut ends = [PollFd::new(&told, PollFlags::OUT)];
    poll(&mut ends, Some(&rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    if ends[0].revents().contains(PollFlags::ERR) {
        sys::exit(1);
    }
    Ok(())
}

/// The first inside.
fn reap(command: libc::pid_t, told: BorrowedFd<'_>, report: BorrowedFd<'_>, view: &View) -> ! {
    sys::hear_no_signals();
    let is_alone =
        rustix::stdio::dup2_stdin(told).and_then(|()| rustix::stdio::dup2_stdout(report));
    if is_alone.is_err() || sys::close_from(2).is_err() {
        sys::exit(1);
    }
    loop {
        match sys::wait(-1) {
            Some((ended, status)) if ended == command => {
                // A copy that was taken away does not come back, so one look at the end is enough.
                let stayed = view.copies().all(|copied| is_in_place(copied).unwrap_or(false));
                let status = if stayed { status } else { REPLACED };
                if sys::has_running_child() {
                    report::left_running(rustix::stdio::stdout());
                }
                // Nobody to tell is nobody who waits.
                let _told = rustix::io::write(rustix::stdio::stdin(), &status.to_ne_bytes());
                sys::exit(0);
            }
            Some(_) => {}
            None => sys::exit(1),
        }
    }
}

/// The command, before it begins.
fn confine(plan: &Plan, report: &Report<'_>) -> io::Result<()> {
    for (resource, limit) in &plan.limits {
        report.of(At::Limits, setrlimit(*resource, *limit).map_err(io::Error::from))?;
    }
    report.of(At::Folder, chdir(plan.folder.as_c_str()).map_err(io::Error::from))?;
    report.of(At::Limits, sys::close_from_at_exec(3))?;
    report.of(At::Landlock, rules::apply(&plan.view.rules))?;
    for filter in plan.filters {
        let refused = |_| io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        report.of(At::Seccomp, seccompiler::apply_filter(filter).map_err(refused))?;
    }
    Ok(())
}

/// Makes the view and leaves the engine's disk for it.
fn build(view: &View, process_numbers: Option<&[u8]>, report: &Report<'_>) -> io::Result<()> {
    report.of(At::Root, new_root())?;
    for (number, step) in view.steps.iter().enumerate() {
        report.of(At::View(u16::try_from(number).unwrap_or(u16::MAX)), carry_out(step))?;
    }
    let processes = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let mounted = mount(c"proc", c"/proc", c"proc", processes, None);
    report.of(At::Proc, mounted.map_err(io::Error::from))?;
    if let Some(most) = process_numbers {
        report.of(At::ProcessNumbers, write_file(c"/proc/sys/kernel/pid_max", most))?;
    }
    report.of(At::Proc, show_as(c"/proc", Show::ReadOnly))?;
    report.of(At::Root, close_root())
}

fn new_root() -> io::Result<()> {
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

fn close_root() -> io::Result<()> {
    unmount(c"/old", UnmountFlags::DETACH)?;
    rustix::fs::rmdir(c"/old")?;
    show_as(c"/", Show::ReadOnly)
}

fn carry_out(step: &view::Step) -> io::Result<()> {
    match step {
        view::Step::Folder(at) => {
            match rustix::fs::mkdir(at.as_c_str(), Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        view::Step::File(at) => {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            rustix::fs::open(at.as_c_str(), flags, Mode::RUSR).map(drop).map_err(io::Error::from)
        }
        view::Step::Link { to, at } => Ok(rustix::fs::symlink(to.as_c_str(), at.as_c_str())?),
        view::Step::Bind { from, at, show } => bind(from, at, *show),
        view::Step::Copy(copied) => copy(copied),
        view::Step::Room { at, mode } => {
            rustix::fs::mkdir(at.as_c_str(), Mode::RWXU)?;
            Ok(rustix::fs::chmod(at.as_c_str(), Mode::from_raw_mode(*mode))?)
        }
        view::Step::Gone(at) => {
            unmount(at.as_c_str(), UnmountFlags::DETACH)?;
            Ok(rustix::fs::rmdir(at.as_c_str())?)
        }
        view::Step::Memory { at, options } => {
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            Ok(mount(c"tmpfs", at.as_c_str(), c"tmpfs", flags, Some(options.as_c_str()))?)
        }
        view::Step::Lock(at) => show_as(at, Show::ReadOnly),
        view::Step::Nothing(at) => {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            Ok(mount(c"tmpfs", at.as_c_str(), c"tmpfs", flags, Some(c"mode=0755,size=4k"))?)
        }
    }
}

/// Makes a copy and shows it in the place of its file. What was in that place before does not matter.
fn copy(copied: &view::Copied) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(copied.kept.as_c_str(), flags, Mode::RWXU)?;
    let mut left = copied.content.as_slice();
    while !left.is_empty() {
        match rustix::io::write(&file, left) {
            Ok(written) => left = &left[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(copied.mode))?;
    drop(file);
    bind(&copied.kept, &copied.at, copied.show)?;
    if is_in_place(copied)? { Ok(()) } else { Err(Errno::STALE.into()) }
}

/// Whether what is seen at the place of a file is its copy.
fn is_in_place(copied: &view::Copied) -> io::Result<bool> {
    let (kept, shown) =
        (rustix::fs::stat(copied.kept.as_c_str())?, rustix::fs::stat(copied.at.as_c_str())?);
    Ok((kept.st_dev, kept.st_ino) == (shown.st_dev, shown.st_ino))
}

/// Nothing of it can be seen before it is shown as it should be.
fn bind(from: &CStr, at: &CStr, show: Show) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, from, flags)?;
    sys::show(tree.as_fd(), show, true)?;
    Ok(move_mount(tree.as_fd(), c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

fn show_as(at: &CStr, show: Show) -> io::Result<()> {
    let place = rustix::fs::open(at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    sys::show(place.as_fd(), show, false)
}

/// A network of its own: loopback, and where hosts are granted the socket at which the engine's proxy answers.
fn network(proxy_port: Option<u16>) -> io::Result<Option<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sys::raise_loopback(socket.as_fd())?;
    let Some(port) = proxy_port else { return Ok(None) };
    let address = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, 64)?;
    Ok(Some(socket))
}

/// Gives the engine what it needs of the inside: first the processes, then the socket if there is one.
fn hand_over(to: &OwnedFd, listener: Option<OwnedFd>) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let processes = rustix::fs::open(c"/proc", flags, Mode::empty())?;
    let both = [Some(processes.as_fd()), listener.as_ref().map(AsFd::as_fd)];
    for given in both.into_iter().flatten() {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let given = [given];
        ancillary.push(SendAncillaryMessage::ScmRights(&given));
        let word = [io::IoSlice::new(b"p")];
        rustix::net::sendmsg(to, &word, &mut ancillary, SendFlags::empty())?;
    }
    Ok(())
}

fn write_file(path: &CStr, text: &[u8]) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text)?;
    Ok(())
}
