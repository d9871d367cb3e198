//! Environment variables of a command.
//!
//! Owns the allow lists. Never passes an unlisted variable, so that keys of model providers stay in the engine. Pitfall: a deny list.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::tool::{SandboxMode, ToolContext};

use crate::workspace::expand_granted_path;

/// The environment that commands get a part of. `Debug` omits the values, which include keys.
#[derive(Clone)]
pub struct Environment(Arc<[(OsString, OsString)]>);

impl Environment {
    /// The environment of this process.
    #[must_use]
    pub fn from_process() -> Self {
        std::env::vars_os().collect()
    }

    /// The variables in `list`, and the locale.
    pub(crate) fn select(
        &self,
        list: &'static [&'static str],
    ) -> impl Iterator<Item = (OsString, OsString)> {
        let is_passed = |(name, _): &&(OsString, OsString)| {
            let name = name.to_string_lossy();
            list.iter().any(|passed| name.eq_ignore_ascii_case(passed)) || name.starts_with("LC_")
        };
        self.0.iter().filter(is_passed).cloned()
    }

    /// The folders of `PATH`, or of the system's programs without one.
    pub(crate) fn path(&self) -> OsString {
        let path = self.0.iter().find(|(name, _)| name.eq_ignore_ascii_case("PATH"));
        path.map_or_else(|| DEFAULT_PATH.into(), |(_, value)| value.clone())
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

/// Variables of a command outside the sandbox.
const PASSED_VARIABLES: &[&str] = &[
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
    // Required by Windows to find its own parts.
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

/// Variables of a sandboxed command: without the home, the desktop, key agents and Rouse.
#[cfg(not(windows))]
const SANDBOX_VARIABLES: &[&str] = &["PATH", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ"];
#[cfg(windows)]
const SANDBOX_VARIABLES: &[&str] = &[
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

/// Fixed variables of a sandboxed command. The sandbox adds the home, and on macOS the temporary folder.
#[cfg(target_os = "linux")]
const SANDBOX_SETTINGS: &[(&str, &str)] = &[("TMPDIR", "/tmp"), ("SHELL", "/bin/sh")];
#[cfg(target_os = "macos")]
const SANDBOX_SETTINGS: &[(&str, &str)] = &[("SHELL", "/bin/sh")];
#[cfg(windows)]
const SANDBOX_SETTINGS: &[(&str, &str)] = &[];

/// The passed variables by the confinement. For a command written by a model, `PATH` omits the workspace and granted folders: earlier
/// calls may have put a program there, and no approval is bound to a program found by its bare name.
pub(super) fn passed_variables(
    environment: &Environment,
    context: &ToolContext,
) -> impl Iterator<Item = (OsString, OsString)> {
    let is_by_person = matches!(context.sandbox, SandboxMode::ByPersonUnsandboxed { .. });
    let granted = context.folders.iter().map(|folder| expand_granted_path(&folder.path));
    let writable: Vec<PathBuf> = [context.workspace.clone()].into_iter().chain(granted).collect();
    let excluded = (!is_by_person).then_some(writable);
    let (passed, settings): (_, &[(&str, &str)]) = match context.sandbox {
        SandboxMode::Sandboxed { .. } => (SANDBOX_VARIABLES, SANDBOX_SETTINGS),
        SandboxMode::ByPersonUnsandboxed { .. } | SandboxMode::OpenedByPerson { .. } => {
            (PASSED_VARIABLES, &[])
        }
    };
    let passed = environment.select(passed).map(move |(name, value)| match &excluded {
        Some(excluded) if name.eq_ignore_ascii_case("PATH") => {
            let path = exclude_folders(excluded, &value);
            (name, path)
        }
        _ => (name, value),
    });
    passed.chain(settings.iter().map(|(name, value)| (name.into(), value.into())))
}

/// The variables of a sandboxed program that no run starts. `PATH` omits the folders that the program can write.
#[cfg(not(windows))]
pub(crate) fn sandbox_variables(
    environment: &Environment,
    writable: &[PathBuf],
) -> Vec<(OsString, OsString)> {
    let owned = |(name, value): &(&str, &str)| (OsString::from(*name), OsString::from(*value));
    let settings = SANDBOX_SETTINGS.iter().map(owned);
    let path = exclude_folders(writable, &environment.path());
    let passed = environment.select(SANDBOX_VARIABLES).filter(|(name, _)| name != "PATH");
    passed.chain(settings).chain([("PATH".into(), path)]).collect()
}

/// Removes relative folders, and folders below `excluded`, from a `PATH`.
fn exclude_folders(excluded: &[PathBuf], path: &OsStr) -> OsString {
    let real = |folder: &PathBuf| folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let roots: Vec<PathBuf> = excluded.iter().map(real).collect();
    let is_outside = |folder: &PathBuf| {
        let real = real(folder);
        folder.is_absolute() && !roots.iter().any(|root| real.starts_with(root))
    };
    let mut outside = std::env::split_paths(path).filter(is_outside).peekable();
    // An empty path would mean the working directory (POSIX, 8.3).
    if outside.peek().is_none() {
        return DEFAULT_PATH.into();
    }
    std::env::join_paths(outside).expect("BUG: folders of a path form a path")
}

/// The folders of the system's programs.
const DEFAULT_PATH: &str = if cfg!(windows) { r"C:\Windows\System32" } else { "/usr/bin:/bin" };

pub(super) const RUN_ID: &str = "ROUSE_RUN_ID";

/// Variables that describe the run.
pub(super) fn run_variables(context: &ToolContext) -> impl Iterator<Item = (OsString, OsString)> {
    let job = context.job_id.as_ref().map(|job| ("ROUSE_JOB_ID", job.as_str()));
    let event = context.event.as_ref().map(|event| ("ROUSE_EVENT", event.as_str()));
    [("ROUSE_JOB_NAME", context.job_name.as_str()), (RUN_ID, context.run_id.as_str())]
        .into_iter()
        .chain(job)
        .chain(event)
        .map(|(name, value)| (name.into(), value.into()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::test_context::context;

    #[test]
    fn path_of_a_model_command_omits_the_workspace() {
        let workspace = tempfile::tempdir().expect("a folder");
        let beside = tempfile::tempdir().expect("another");
        let (bin, link) = (workspace.path().join("venv/bin"), beside.path().join("link"));
        std::fs::create_dir_all(&bin).expect("folders");
        std::os::unix::fs::symlink(&bin, &link).expect("a link");
        let path = format!("{}:.::bin:{}:/usr/bin:/nowhere", bin.display(), link.display());
        let path_for = |path: &str, sandbox| {
            let environment = Environment::from_iter([("PATH".into(), OsString::from(path))]);
            let context = ToolContext { sandbox, ..context(workspace.path()) };
            let found = passed_variables(&environment, &context).find(|(name, _)| name == "PATH");
            found.expect("a PATH").1.into_string().expect("text")
        };
        let hosts = Vec::new;
        for sandbox in [
            SandboxMode::Sandboxed { hosts: hosts() },
            SandboxMode::OpenedByPerson { hosts: hosts() },
        ] {
            assert_eq!(path_for(&path, sandbox.clone()), "/usr/bin:/nowhere");
            assert_eq!(path_for(&bin.display().to_string(), sandbox), "/usr/bin:/bin");
        }
        assert_eq!(path_for(&path, SandboxMode::ByPersonUnsandboxed { hosts: hosts() }), path);
    }
}
