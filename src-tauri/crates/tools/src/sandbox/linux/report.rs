//! The step at which the way in ended: told by the child in eight bytes, read by the engine as a sentence.
//!
//! An error number alone says nothing to a person. It refuses to guess: what it names is the step that failed, and what
//! it advises is what commonly stands behind that number at that step.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use crate::sandbox::{Layer, Missing, SandboxError};

/// A step of the way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Namespaces,
    Identity,
    Processes,
    Root,
    /// The step of the view with this number.
    View(u16),
    Proc,
    ProcessNumbers,
    Network,
    Capabilities,
    Limits,
    Folder,
    Landlock,
    Seccomp,
}

const PLAIN: [At; 12] = [
    At::Namespaces,
    At::Identity,
    At::Processes,
    At::Root,
    At::Proc,
    At::ProcessNumbers,
    At::Network,
    At::Capabilities,
    At::Limits,
    At::Folder,
    At::Landlock,
    At::Seccomp,
];

/// Where the child tells it.
pub(super) struct Report<'r>(pub(super) BorrowedFd<'r>);

impl Report<'_> {
    /// Passes the result on; an error is told.
    pub(super) fn of<T>(&self, at: At, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            let errno = error.raw_os_error().unwrap_or_default();
            // Whoever cannot be told learns the number from the spawn itself.
            let _told = rustix::io::write(self.0, &packed(at, errno));
        }
        result
    }
}

fn packed(at: At, errno: i32) -> [u8; 8] {
    let (kind, number) = match at {
        At::View(number) => (u16::MAX, number),
        plain => (PLAIN.iter().position(|known| *known == plain).map_or(0, |i| i as u16), 0),
    };
    let ([a, b], [c, d], [e, f, g, h]) =
        (kind.to_ne_bytes(), number.to_ne_bytes(), errno.to_ne_bytes());
    [a, b, c, d, e, f, g, h]
}

fn unpacked([a, b, c, d, e, f, g, h]: [u8; 8]) -> Option<(At, i32)> {
    let errno = i32::from_ne_bytes([e, f, g, h]);
    match u16::from_ne_bytes([a, b]) {
        u16::MAX => Some((At::View(u16::from_ne_bytes([c, d])), errno)),
        kind => PLAIN.get(usize::from(kind)).map(|at| (*at, errno)),
    }
}

/// Tells that the command has ended and left processes running.
pub(super) fn left_running(report: BorrowedFd<'_>) {
    let _told = rustix::io::write(report, &LEFT_RUNNING);
}

/// Whether that was told.
pub(super) fn has_left_running(report: impl AsFd) -> bool {
    let mut told = [0; LEFT_RUNNING.len()];
    rustix::io::read(report, &mut told).is_ok() && told == LEFT_RUNNING
}

/// No step has a message of this length.
const LEFT_RUNNING: [u8; 3] = *b"run";

/// What the child has told, if anything.
pub(super) fn read(report: impl AsFd) -> Option<(At, i32)> {
    let mut told = [0; 8];
    match rustix::io::read(report, &mut told) {
        Ok(8) => unpacked(told),
        _ => None,
    }
}

/// The failure in words.
pub(super) fn explain((at, errno): (At, i32), folder: &Path) -> SandboxError {
    let error = io::Error::from_raw_os_error(errno);
    if at == At::Folder {
        return SandboxError::Folder { path: folder.to_owned() };
    }
    let (layer, mend) = match at {
        At::Namespaces | At::Identity | At::Root => (Layer::Namespaces, namespaces(errno)),
        At::Processes | At::Proc => (Layer::Processes, PROC.to_owned()),
        At::View(_) => (Layer::View, namespaces(errno)),
        At::ProcessNumbers => (Layer::Limits, AS_ROOT.to_owned()),
        At::Network => (Layer::Network, namespaces(errno)),
        At::Limits | At::Folder => (Layer::Limits, LIMITS.to_owned()),
        At::Capabilities => (Layer::Rights, KERNEL.to_owned()),
        At::Landlock => (Layer::Landlock, LANDLOCK.to_owned()),
        At::Seccomp => (Layer::Seccomp, KERNEL.to_owned()),
    };
    let why = match at {
        At::View(number) => format!("step {number} of building the view: {error}"),
        _ => error.to_string(),
    };
    Missing { layer, why, mend }.into()
}

pub(super) const LANDLOCK: &str = "It needs Linux 5.13 or newer with Landlock among the kernel's security modules (lsm=landlock,…).";
pub(super) const AS_ROOT: &str = "For root the number of processes can be bounded only since Linux 6.14. Run Rouse as an ordinary user.";
const KERNEL: &str = "The kernel must be built with seccomp and let a process give up its rights.";
const LIMITS: &str = "Raise the limits under which Rouse itself runs (ulimit).";
const PROC: &str =
    "In a container, /proc must be shown whole (Docker: --security-opt systempaths=unconfined).";

fn namespaces(errno: i32) -> String {
    let set = |name: &str, value: &str| {
        std::fs::read_to_string(Path::new("/proc/sys").join(name))
            .is_ok_and(|text| text.trim() == value)
    };
    if set("kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "AppArmor keeps programs without a profile from making them: give Rouse a profile with `userns,`, or set kernel.apparmor_restrict_unprivileged_userns=0.".to_owned();
    }
    if set("kernel/unprivileged_userns_clone", "0") {
        return "The system keeps ordinary users from making them: set kernel.unprivileged_userns_clone=1.".to_owned();
    }
    if errno == libc::ENOSPC || set("user/max_user_namespaces", "0") {
        return "No more of them are allowed: raise user.max_user_namespaces.".to_owned();
    }
    "In a container, its runtime must allow user namespaces (Docker: a seccomp profile that lets unshare and mount pass).".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_is_read() {
        for at in PLAIN.into_iter().chain([At::View(0), At::View(700)]) {
            assert_eq!(unpacked(packed(at, 13)), Some((at, 13)));
        }
        assert_eq!(unpacked([200; 8]), None);
    }

    #[test]
    fn every_step_says_what_is_missing_and_what_to_do() {
        for at in PLAIN.into_iter().filter(|at| *at != At::Folder) {
            let words = explain((at, libc::EPERM), Path::new("/work")).to_string();
            assert!(
                words.contains("Operation not permitted") && words.contains("Nothing was run"),
                "{words}"
            );
        }
    }
}
