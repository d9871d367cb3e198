//! A tracer that counts the calls by which a process changes a file, and kills the process before one of them.
//!
//! Owns the ptrace loop. The kernel stops the process at each syscall, whichever library makes it. Never follows
//! child processes, which outlive the kill. Ignores logs, because nothing reads them back. Pitfall: wrapping C
//! library functions, because `rustix` makes raw syscalls.

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

/// The call before which the process is killed. Only calls that change a file count.
#[derive(Debug, Clone, Copy)]
pub(super) enum KillPoint {
    /// Never.
    None,
    /// The call with this number, from 1.
    Call(u32),
    /// The first call with this syscall number.
    First(libc::c_long),
}

/// The end of a traced process.
#[derive(Debug)]
pub(super) struct TracedExit {
    pub(super) is_killed: bool,
    /// The number of calls that changed a file.
    pub(super) calls: u32,
}

/// A traced process.
#[derive(Debug)]
pub(super) struct TracedProcess {
    pid: Pid,
    calls: Arc<AtomicU32>,
    tracer: JoinHandle<bool>,
}

impl TracedProcess {
    /// Starts the command, which must pipe the output, and returns the output.
    pub(super) fn start(mut command: Command, before: KillPoint) -> (Self, ChildStdout) {
        // SAFETY: between fork and exec the closure makes a single syscall and touches no memory.
        unsafe { command.pre_exec(|| ptrace::traceme().map_err(io::Error::from)) };
        let (started, start) = mpsc::channel();
        let calls = Arc::<AtomicU32>::default();
        let counted = Arc::clone(&calls);
        // Only the thread that started a process receives its ptrace events.
        let tracer = thread::spawn(move || {
            #[expect(clippy::zombie_processes, reason = "the tracer waits for the process")]
            let mut child = command.spawn().expect("a process");
            let pid = Pid::from_raw(child.id().try_into().expect("a pid"));
            started.send((pid, child.stdout.take().expect("a pipe"))).expect("wanted");
            Tracer { pid, threads: vec![pid], before, calls: counted }.watch()
        });
        let (pid, out) = start.recv().expect("a process");
        (Self { pid, calls, tracer }, out)
    }

    /// The number of calls so far.
    pub(super) fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }

    pub(super) fn signal(&self, signal: Signal) {
        match kill(self.pid, signal) {
            // The process has ended.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => panic!("{signal}: {error}"),
        }
    }

    /// Waits for the end.
    pub(super) fn end(self) -> TracedExit {
        let is_killed = self.tracer.join().expect("a traced end");
        TracedExit { is_killed, calls: self.calls.load(Ordering::SeqCst) }
    }
}

struct Tracer {
    pid: Pid,
    /// Known threads.
    threads: Vec<Pid>,
    before: KillPoint,
    calls: Arc<AtomicU32>,
}

impl Tracer {
    /// Traces the process to the end. Returns whether the kill happened.
    fn watch(mut self) -> bool {
        let first = waitpid(self.pid, None).expect("a stop");
        assert_eq!(first, WaitStatus::Stopped(self.pid, Signal::SIGTRAP), "stopped at the start");
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(self.pid, options).expect("tracing");
        self.resume(self.pid, None);
        loop {
            let mine = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
            match waitpid(None, Some(mine)).expect("a change") {
                WaitStatus::Exited(pid, _) if pid == self.pid => return false,
                WaitStatus::Signaled(pid, signal, _) if pid == self.pid => {
                    return signal == Signal::SIGKILL;
                }
                WaitStatus::PtraceSyscall(thread) => self.handle_syscall(thread),
                WaitStatus::Stopped(thread, signal) => self.handle_signal(thread, signal),
                WaitStatus::PtraceEvent(thread, ..) => self.resume(thread, None),
                // A thread ended.
                _ => {}
            }
        }
    }

    fn resume(&self, thread: Pid, signal: Option<Signal>) {
        match ptrace::syscall(thread, signal) {
            // The process was killed meanwhile.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => panic!("{thread} does not go on: {error}"),
        }
    }

    /// A new thread starts with a stop. Other signals are forwarded.
    fn handle_signal(&mut self, thread: Pid, signal: Signal) {
        if self.threads.contains(&thread) {
            return self.resume(thread, Some(signal));
        }
        if PathBuf::from(format!("/proc/{}/task/{thread}", self.pid)).exists() {
            self.threads.push(thread);
            self.resume(thread, None);
        } else if let Err(error) = ptrace::detach(thread, None) {
            assert_eq!(error, Errno::ESRCH, "a child is not let go");
        }
    }

    /// At the entry and the exit of a syscall.
    fn handle_syscall(&self, thread: Pid) {
        if let Ok(call) = ptrace::syscall_info(thread)
            && call.op == libc::PTRACE_SYSCALL_INFO_ENTRY
        {
            // SAFETY: the kernel fills in this member at the entry of a syscall.
            let (number, arguments) = unsafe { (call.u.entry.nr, call.u.entry.args) };
            let number = number.try_into().expect("a call");
            if changes_a_file(thread, number, arguments) {
                let count = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
                let is_kill_point = match self.before {
                    KillPoint::None => false,
                    KillPoint::Call(wanted) => wanted == count,
                    KillPoint::First(wanted) => wanted == number,
                };
                if is_kill_point {
                    // A kill at the entry of a syscall prevents the execution.
                    kill(self.pid, Signal::SIGKILL).expect("a live process");
                }
            }
        }
        self.resume(thread, None);
    }
}

/// Whether this syscall changes a file, a folder or a name, or syncs such a change.
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
        | libc::SYS_fdatasync => is_persistent_file(thread, arguments[0]),
        libc::SYS_copy_file_range => is_persistent_file(thread, arguments[2]),
        libc::SYS_openat => makes(arguments[2]),
        // The flags are the first word of the third argument's target.
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

/// Whether a descriptor belongs to a file or folder other than a log.
fn is_persistent_file(thread: Pid, descriptor: u64) -> bool {
    let link = PathBuf::from(format!("/proc/{thread}/fd/{descriptor}"));
    fs::metadata(&link).is_ok_and(|found| found.is_file() || found.is_dir())
        && fs::read_link(&link).is_ok_and(|path| !path.to_string_lossy().contains("/logs/"))
}
