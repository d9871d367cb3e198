//! What a command gets of the environment.
//!
//! Owns the lists. What is not named is not passed on, so that keys of model providers and the like stay where they are;
//! one could get it wrong with a list of what to leave out.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::tool::{SandboxMode, ToolContext};

use crate::reach::expanded;

/// Variables, of which a command gets those that the lists name. Shown without their values: there are keys among them.
#[derive(Clone)]
pub struct Environment(Arc<[(OsString, OsString)]>);

impl Environment {
    /// That of this process, which is the same as long as it lives.
    #[must_use]
    pub fn of_this_process() -> Self {
        std::env::vars_os().collect()
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// What a command is told of the environment, where it is set.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_CURRENT_DESKTOP",
    "XDG_SESSION_TYPE",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "ROUSE_HOME",
    // Windows does not find its own parts without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// What a confined command is told of it. Its home is its own, and the desktop, the agents of keys and Rouse are not
/// there for it.
#[cfg(not(windows))]
const PASSED_INSIDE: &[&str] = &["PATH", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ"];
#[cfg(windows)]
const PASSED_INSIDE: &[&str] = &[
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "USERNAME",
    "OS",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// What it is told beside that; the sandbox adds where its home is, and on macOS, where no `/tmp` is its own, where it can
/// put what is temporary.
#[cfg(target_os = "linux")]
const SET_INSIDE: &[(&str, &str)] = &[("TMPDIR", "/tmp"), ("SHELL", "/bin/sh")];
#[cfg(target_os = "macos")]
const SET_INSIDE: &[(&str, &str)] = &[("SHELL", "/bin/sh")];
#[cfg(windows)]
const SET_INSIDE: &[(&str, &str)] = &[];

/// What a command gets of the environment, by how it is confined. One that a model has written finds no program in the
/// workspace by its bare name: what stands there the model's own calls may have put there, and no yes is bound to it.
pub(super) fn passed(
    of: &Environment,
    context: &ToolContext,
) -> impl Iterator<Item = (OsString, OsString)> {
    let is_a_persons = matches!(context.sandbox, SandboxMode::ByPersonUnsandboxed { .. });
    let granted = context.folders.iter().map(|folder| expanded(&folder.path));
    let own: Vec<PathBuf> = [context.workspace.clone()].into_iter().chain(granted).collect();
    let own = (!is_a_persons).then_some(own);
    let (passed, inside): (_, &[(&str, &str)]) = match context.sandbox {
        SandboxMode::Sandboxed { .. } => (PASSED_INSIDE, SET_INSIDE),
        SandboxMode::ByPersonUnsandboxed { .. } | SandboxMode::OpenedByPerson { .. } => {
            (PASSED_ON, &[])
        }
    };
    let passed = passed_on(of, passed).map(move |(name, value)| match &own {
        Some(own) if name.eq_ignore_ascii_case("PATH") => {
            let outside = without_folders_in(own, &value);
            (name, outside)
        }
        _ => (name, value),
    });
    passed.chain(inside.iter().map(|(name, value)| (name.into(), value.into())))
}

/// The folders of a `PATH` that lie neither in the workspace nor in a granted folder, and are absolute.
fn without_folders_in(own: &[PathBuf], path: &OsStr) -> OsString {
    let real = |folder: &PathBuf| folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let roots: Vec<PathBuf> = own.iter().map(real).collect();
    let is_outside = |folder: &PathBuf| {
        let real = real(folder);
        folder.is_absolute() && !roots.iter().any(|root| real.starts_with(root))
    };
    let mut outside = std::env::split_paths(path).filter(is_outside).peekable();
    // A path without a folder would mean the one that a command works in (POSIX, 8.3).
    if outside.peek().is_none() {
        return USUAL_PATH.into();
    }
    let outside = std::env::join_paths(outside);
    outside.expect("BUG: what was one of several folders can be one again")
}

/// Where the programs of a system lie.
const USUAL_PATH: &str = if cfg!(windows) { r"C:\Windows\System32" } else { "/usr/bin:/bin" };

pub(super) const RUN_ID: &str = "ROUSE_RUN_ID";

/// What a command is told of its run.
pub(super) fn about(context: &ToolContext) -> impl Iterator<Item = (OsString, OsString)> {
    let job = context.job_id.as_ref().map(|job| ("ROUSE_JOB_ID", job.as_str()));
    let event = context.event.as_ref().map(|event| ("ROUSE_EVENT", event.as_str()));
    [("ROUSE_JOB_NAME", context.job_name.as_str()), (RUN_ID, context.run_id.as_str())]
        .into_iter()
        .chain(job)
        .chain(event)
        .map(|(name, value)| (name.into(), value.into()))
}

fn passed_on(
    of: &Environment,
    list: &'static [&'static str],
) -> impl Iterator<Item = (OsString, OsString)> {
    let is_passed = |(name, _): &&(OsString, OsString)| {
        let name = name.to_string_lossy();
        list.iter().any(|passed| name.eq_ignore_ascii_case(passed)) || name.starts_with("LC_")
    };
    of.0.iter().filter(is_passed).cloned()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::testing::context;

    #[test]
    fn no_bare_name_of_a_model_runs_a_file_of_the_workspace() {
        let workspace = tempfile::tempdir().expect("a folder");
        let beside = tempfile::tempdir().expect("another");
        let (bin, link) = (workspace.path().join("venv/bin"), beside.path().join("link"));
        std::fs::create_dir_all(&bin).expect("folders");
        std::os::unix::fs::symlink(&bin, &link).expect("a link");
        let path = format!("{}:.::bin:{}:/usr/bin:/nowhere", bin.display(), link.display());
        let told_of = |path: &str, sandbox| {
            let of = Environment::from_iter([("PATH".into(), OsString::from(path))]);
            let context = ToolContext { sandbox, ..context(workspace.path()) };
            let found = passed(&of, &context).find(|(name, _)| name == "PATH");
            found.expect("a PATH").1.into_string().expect("text")
        };
        let told = |sandbox| told_of(&path, sandbox);
        let hosts = Vec::new;
        for sandbox in [
            SandboxMode::Sandboxed { hosts: hosts() },
            SandboxMode::OpenedByPerson { hosts: hosts() },
        ] {
            assert_eq!(told(sandbox.clone()), "/usr/bin:/nowhere");
            assert_eq!(told_of(&bin.display().to_string(), sandbox), "/usr/bin:/bin");
        }
        assert_eq!(told(SandboxMode::ByPersonUnsandboxed { hosts: hosts() }), path);
    }
}
