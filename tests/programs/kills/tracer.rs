//! Sees every call by which a process changes a file, and kills it before one of them, as a power cut would find it.
//!
//! Owns the sight. The kernel stops the process at each of its calls (ptrace), so it is seen whoever makes it: a
//! library that has a name for it, or the program itself. Refuses to watch the process's children, which go on when it
//! is killed. Logs do not count: nothing is read back from them. One could get it wrong by wrapping the functions of the
//! C library: `rustix` renames and removes without them.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{ChildStdout, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Before which of its calls a process is killed. Only those count that change a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Before {
    /// Before none.
    None,
    /// Before the one with this number; the first is 1.
    Call(u32),
    /// Before the first that has this number among the kernel's calls.
    First(libc::c_long),
}

/// How a process ended.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) is_killed: bool,
    /// How many calls changed a file.
    pub(super) calls: u32,
}

/// A process that is watched until its end.
#[derive(Debug)]
pub(super) struct Watched {
    pid: Pid,
    calls: Arc<AtomicU32>,
    tracer: JoinHandle<bool>,
}

impl Watched {
    /// Starts the program, and answers its output, which the command must pipe.
    pub(super) fn start(mut command: Command, before: Before) -> (Self, ChildStdout) {
        // SAFETY: between fork and exec it makes one call of the kernel, and touches no memory.
        unsafe { command.pre_exec(|| ptrace::traceme().map_err(io::Error::from)) };
        let (started, start) = mpsc::channel();
        let calls = Arc::<AtomicU32>::default();
        let counted = Arc::clone(&calls);
        // All that the kernel says of a process it says to the thread that has started it.
        let tracer = thread::spawn(move || {
            #[expect(clippy::zombie_processes, reason = "whoever watches it waits for it")]
            let mut child = command.spawn().expect("it starts");
            let pid = Pid::from_raw(child.id().try_into().expect("a pid"));
            started.send((pid, child.stdout.take().expect("a pipe"))).expect("wanted");
            Tracer { pid, threads: vec![pid], before, calls: counted }.watch()
        });
        let (pid, out) = start.recv().expect("it started");
        (Self { pid, calls, tracer }, out)
    }

    /// How many calls have changed a file so far.
    pub(super) fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) {
        match kill(self.pid, signal) {
            // It is over already.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => panic!("{signal}: {error}"),
        }
    }

    /// Waits until it is over.
    pub(super) fn end(self) -> Life {
        let is_killed = self.tracer.join().expect("it was watched to its end");
        Life { is_killed, calls: self.calls.load(Ordering::SeqCst) }
    }
}

struct Tracer {
    pid: Pid,
    /// The threads that have been seen.
    threads: Vec<Pid>,
    before: Before,
    calls: Arc<AtomicU32>,
}

impl Tracer {
    /// Up to the end of the process; whether it was killed.
    fn watch(mut self) -> bool {
        let first = waitpid(self.pid, None).expect("it begins");
        assert_eq!(first, WaitStatus::Stopped(self.pid, Signal::SIGTRAP), "stopped at its start");
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(self.pid, options).expect("it can be watched");
        self.go_on(self.pid, None);
        loop {
            let mine = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
            match waitpid(None, Some(mine)).expect("a change") {
                WaitStatus::Exited(pid, _) if pid == self.pid => return false,
                WaitStatus::Signaled(pid, signal, _) if pid == self.pid => {
                    return signal == Signal::SIGKILL;
                }
                WaitStatus::PtraceSyscall(thread) => self.called(thread),
                WaitStatus::Stopped(thread, signal) => self.signalled(thread, signal),
                WaitStatus::PtraceEvent(thread, ..) => self.go_on(thread, None),
                // The end of a thread.
                _ => {}
            }
        }
    }

    fn go_on(&self, thread: Pid, signal: Option<Signal>) {
        match ptrace::syscall(thread, signal) {
            // It was killed meanwhile.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => panic!("{thread} does not go on: {error}"),
        }
    }

    /// A new thread begins with a stop of its own; every other signal is for the process.
    fn signalled(&mut self, thread: Pid, signal: Signal) {
        if self.threads.contains(&thread) {
            return self.go_on(thread, Some(signal));
        }
        if PathBuf::from(format!("/proc/{}/task/{thread}", self.pid)).exists() {
            self.threads.push(thread);
            self.go_on(thread, None);
        } else if let Err(error) = ptrace::detach(thread, None) {
            assert_eq!(error, Errno::ESRCH, "a child is not let go");
        }
    }

    /// At the beginning of a call, and at its end.
    fn called(&self, thread: Pid) {
        if let Ok(call) = ptrace::syscall_info(thread)
            && call.op == libc::PTRACE_SYSCALL_INFO_ENTRY
        {
            // SAFETY: this is the member that the kernel fills in at the beginning of a call.
            let (number, arguments) = unsafe { (call.u.entry.nr, call.u.entry.args) };
            let number = number.try_into().expect("a call");
            if changes_a_file(thread, number, arguments) {
                let so_far = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
                let is_it = match self.before {
                    Before::None => false,
                    Before::Call(wanted) => wanted == so_far,
                    Before::First(wanted) => wanted == number,
                };
                if is_it {
                    // A call at whose beginning a process is killed is not made.
                    kill(self.pid, Signal::SIGKILL).expect("it lives");
                }
            }
        }
        self.go_on(thread, None);
    }
}

/// Whether this call of `thread` changes a file, a folder or a name, or makes sure of such a change.
fn changes_a_file(thread: Pid, number: libc::c_long, arguments: [u64; 6]) -> bool {
    let makes = |flags: u64| flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
    match number {
        libc::SYS_write
        | libc::SYS_writev
        | libc::SYS_pwrite64
        | libc::SYS_pwritev
        | libc::SYS_pwritev2
        | libc::SYS_sendfile
        | libc::SYS_ftruncate
        | libc::SYS_fallocate
        | libc::SYS_fchmod
        | libc::SYS_fsync
        | libc::SYS_fdatasync => is_kept(thread, arguments[0]),
        libc::SYS_copy_file_range => is_kept(thread, arguments[2]),
        libc::SYS_openat => makes(arguments[2]),
        // Its flags are the first word of what its third argument points to.
        libc::SYS_openat2 => ptrace::read(thread, arguments[2] as ptrace::AddressType)
            .is_ok_and(|flags| makes(flags as u64)),
        libc::SYS_renameat
        | libc::SYS_renameat2
        | libc::SYS_unlinkat
        | libc::SYS_linkat
        | libc::SYS_symlinkat
        | libc::SYS_mkdirat
        | libc::SYS_truncate
        | libc::SYS_fchmodat => true,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => makes(arguments[1]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat
        | libc::SYS_rename
        | libc::SYS_unlink
        | libc::SYS_link
        | libc::SYS_symlink
        | libc::SYS_mkdir
        | libc::SYS_rmdir
        | libc::SYS_chmod => true,
        _ => false,
    }
}

/// Whether a descriptor is that of a file or a folder, and not of a log.
fn is_kept(thread: Pid, descriptor: u64) -> bool {
    let link = PathBuf::from(format!("/proc/{thread}/fd/{descriptor}"));
    fs::metadata(&link).is_ok_and(|found| found.is_file() || found.is_dir())
        && fs::read_link(&link).is_ok_and(|path| !path.to_string_lossy().contains("/logs/"))
}
