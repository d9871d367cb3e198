//! The report of a failed set-up step: eight bytes from the child, an error message in the engine.
//!
//! Names the failed step and the usual remedy for the error number. Never guesses beyond that.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use crate::sandbox::error::{MissingLayer, SandboxError, SandboxLayer};

/// A step of the sandbox's set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetupStep {
    Namespaces,
    Identity,
    Processes,
    Root,
    /// The `MountStep` with this index.
    View(u16),
    Proc,
    MaxPid,
    Network,
    Capabilities,
    Limits,
    Folder,
    Landlock,
    Seccomp,
}

const STEPS_WITHOUT_INDEX: [SetupStep; 12] = [
    SetupStep::Namespaces,
    SetupStep::Identity,
    SetupStep::Processes,
    SetupStep::Root,
    SetupStep::Proc,
    SetupStep::MaxPid,
    SetupStep::Network,
    SetupStep::Capabilities,
    SetupStep::Limits,
    SetupStep::Folder,
    SetupStep::Landlock,
    SetupStep::Seccomp,
];

/// The child's end of the report pipe.
pub(super) struct StepReport<'r>(pub(super) BorrowedFd<'r>);

impl StepReport<'_> {
    /// Passes the result on; reports an error.
    pub(super) fn check<T>(&self, step: SetupStep, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            let errno = error.raw_os_error().unwrap_or_default();
            // Without a reader, the spawn returns the error number.
            let _written = rustix::io::write(self.0, &encode(step, errno));
        }
        result
    }
}

fn encode(step: SetupStep, errno: i32) -> [u8; 8] {
    let (kind, index) = match step {
        SetupStep::View(index) => (u16::MAX, index),
        step => {
            let kind = STEPS_WITHOUT_INDEX.iter().position(|known| *known == step);
            (kind.map_or(0, |kind| kind as u16), 0)
        }
    };
    let ([a, b], [c, d], [e, f, g, h]) =
        (kind.to_ne_bytes(), index.to_ne_bytes(), errno.to_ne_bytes());
    [a, b, c, d, e, f, g, h]
}

fn decode([a, b, c, d, e, f, g, h]: [u8; 8]) -> Option<(SetupStep, i32)> {
    let errno = i32::from_ne_bytes([e, f, g, h]);
    match u16::from_ne_bytes([a, b]) {
        u16::MAX => Some((SetupStep::View(u16::from_ne_bytes([c, d])), errno)),
        kind => STEPS_WITHOUT_INDEX.get(usize::from(kind)).map(|step| (*step, errno)),
    }
}

/// Reports that the command has exited and left processes running.
pub(super) fn report_orphans(report: BorrowedFd<'_>) {
    let _written = rustix::io::write(report, &ORPHANS);
}

pub(super) fn has_orphans(report: impl AsFd) -> bool {
    let mut bytes = [0; ORPHANS.len()];
    rustix::io::read(report, &mut bytes).is_ok() && bytes == ORPHANS
}

/// Shorter than the message of a step.
const ORPHANS: [u8; 3] = *b"run";

/// Reads the report of a failed step.
pub(super) fn read(report: impl AsFd) -> Option<(SetupStep, i32)> {
    let mut bytes = [0; 8];
    match rustix::io::read(report, &mut bytes) {
        Ok(8) => decode(bytes),
        _ => None,
    }
}

/// Converts a failed step into an error for people.
pub(super) fn explain((step, errno): (SetupStep, i32), folder: &Path) -> SandboxError {
    let error = io::Error::from_raw_os_error(errno);
    if step == SetupStep::Folder {
        return SandboxError::Folder { path: folder.to_owned() };
    }
    let (layer, remedy) = match step {
        SetupStep::Namespaces | SetupStep::Identity | SetupStep::Root => {
            (SandboxLayer::Namespaces, namespace_remedy(errno))
        }
        SetupStep::Processes | SetupStep::Proc => (SandboxLayer::Processes, PROC.to_owned()),
        SetupStep::View(_) => (SandboxLayer::View, namespace_remedy(errno)),
        SetupStep::MaxPid => (SandboxLayer::Limits, ROOT_USER_REMEDY.to_owned()),
        SetupStep::Network => (SandboxLayer::Network, namespace_remedy(errno)),
        SetupStep::Limits | SetupStep::Folder => (SandboxLayer::Limits, LIMITS.to_owned()),
        SetupStep::Capabilities => (SandboxLayer::Rights, KERNEL.to_owned()),
        SetupStep::Landlock => (SandboxLayer::Landlock, LANDLOCK.to_owned()),
        SetupStep::Seccomp => (SandboxLayer::Seccomp, KERNEL.to_owned()),
    };
    let why = match step {
        SetupStep::View(index) => format!("mount step {index}: {error}"),
        _ => error.to_string(),
    };
    MissingLayer { layer, why, remedy }.into()
}

const LANDLOCK: &str = "Landlock requires Linux 5.13 or newer and an entry among the kernel's security modules (lsm=landlock,…).";
pub(super) const ROOT_USER_REMEDY: &str =
    "The processes of root can be limited only since Linux 6.14. Run Rouse as an ordinary user.";
const KERNEL: &str = "The kernel must support seccomp and allow a process to drop its privileges.";
const LIMITS: &str = "Raise the limits under which Rouse itself runs (ulimit).";
const PROC: &str =
    "A container must show the whole /proc (Docker: --security-opt systempaths=unconfined).";
fn namespace_remedy(errno: i32) -> String {
    let set = |name: &str, value: &str| {
        std::fs::read_to_string(Path::new("/proc/sys").join(name))
            .is_ok_and(|text| text.trim() == value)
    };
    if set("kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "AppArmor denies user namespaces to programs without a profile: give Rouse a profile with `userns,`, or set kernel.apparmor_restrict_unprivileged_userns=0.".to_owned();
    }
    if set("kernel/unprivileged_userns_clone", "0") {
        return "The system denies user namespaces to ordinary users: set kernel.unprivileged_userns_clone=1.".to_owned();
    }
    if errno == libc::ENOSPC || set("user/max_user_namespaces", "0") {
        return "The limit of user namespaces is reached: raise user.max_user_namespaces."
            .to_owned();
    }
    "In a container, the runtime must allow user namespaces (Docker: a seccomp profile that permits unshare and mount).".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_step_decodes_to_itself() {
        let views = [SetupStep::View(0), SetupStep::View(700)];
        for step in STEPS_WITHOUT_INDEX.into_iter().chain(views) {
            assert_eq!(decode(encode(step, 13)), Some((step, 13)));
        }
        assert_eq!(decode([200; 8]), None);
    }

    #[test]
    fn every_step_names_the_error_and_that_nothing_ran() {
        for step in STEPS_WITHOUT_INDEX.into_iter().filter(|step| *step != SetupStep::Folder) {
            let words = explain((step, libc::EPERM), Path::new("/work")).to_string();
            assert!(
                words.contains("Operation not permitted") && words.contains("Nothing was run"),
                "{words}"
            );
        }
    }
}
