//! macOS: a Seatbelt profile, put on by the system's own `sandbox-exec`.
//!
//! Everything is refused but what is named: reading the system, writing the workspace and a temporary folder of its own,
//! no network and no other program's services. What it does not hold: other processes can be seen, though not touched,
//! and processes and memory are not bounded, because macOS counts them per user; a command that multiplies is ended at
//! its time limit at the latest. Hosts cannot be granted: there is no network of its own in which a proxy could answer.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Layer, Layers, Missing, Sandbox, SandboxError};
use crate::child::Child;

const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The paths come as parameters, so that no name of a folder can be read as a rule.
const PROFILE: &str = r#"(version 1)
(deny default)
(import "system.sb")
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/opt")
  (subpath "/Library/Apple") (subpath "/Library/Developer") (subpath "/Library/Frameworks")
  (subpath "/private/etc/ssl") (literal "/private/etc/passwd") (literal "/private/etc/group")
  (literal "/private/etc/hosts") (literal "/private/etc/services") (literal "/private/etc/protocols")
  (literal "/private/etc/localtime") (literal "/private/etc/shells")
  (subpath "/private/var/db/timezone") (literal "/private/var/select/sh") (literal "/"))
(allow file-read* file-write* (subpath (param "WORKSPACE")) (subpath (param "TEMPORARY")))
(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero"))
(allow file-read* (literal "/dev/random") (literal "/dev/urandom"))
(deny file-read* file-write* (subpath (param "HIDDEN")))
(deny network*)
"#;

/// The temporary folder of a confined command, which goes with it.
pub(super) struct Held {
    temporary: Temporary,
}

/// A folder that is removed when nobody holds it.
pub(super) struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "the temporary folder of a command was not removed");
        }
    }
}

/// A shell that runs `line` confined once it is spawned.
pub(super) fn shell(sandbox: &Sandbox, line: &str) -> Result<(Command, Held), SandboxError> {
    if !sandbox.hosts.is_empty() {
        return Err(super::no_hosts());
    }
    check(sandbox)?;
    let temporary = Temporary::new().map_err(SandboxError::Start)?;
    // A parameter has to name something: where nothing is hidden, a path at which nothing is.
    let hidden = sandbox.hidden.iter().find(|path| path.starts_with(&sandbox.workspace));
    let hidden = hidden.map_or(Path::new("/nonexistent"), PathBuf::as_path);
    let mut command = confined(&sandbox.workspace, &temporary.0, hidden)?;
    command.arg("/bin/sh").arg("-c").arg(line).current_dir(&sandbox.folder);
    Ok((command, Held { temporary }))
}

/// Starts a command that does nothing, to see whether the sandbox is there.
pub(super) fn available() -> Result<Layers, SandboxError> {
    let temporary = Temporary::new().map_err(SandboxError::Start)?;
    let mut command = confined(&temporary.0, &temporary.0, Path::new("/nonexistent"))?;
    let output = command.arg("/usr/bin/true").env_clear().output().map_err(SandboxError::Start)?;
    if !output.status.success() {
        return Err(missing(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(Layers {
        held: "the disk and the network, by a Seatbelt profile; limits on output and time",
        not_held: Some("the number of processes, memory"),
    })
}

/// `-D` sets a parameter, `-p` takes the profile as text (sandbox-exec(1)).
fn confined(workspace: &Path, temporary: &Path, hidden: &Path) -> Result<Command, SandboxError> {
    if !Path::new(PROGRAM).exists() {
        return Err(missing(format!("{PROGRAM} is not there")));
    }
    let mut command = Command::new(PROGRAM);
    for (name, path) in [("WORKSPACE", workspace), ("TEMPORARY", temporary), ("HIDDEN", hidden)] {
        let mut parameter = std::ffi::OsString::from(format!("{name}="));
        parameter.push(path);
        command.arg("-D").arg(parameter);
    }
    command.arg("-p").arg(PROFILE);
    Ok(command)
}

fn check(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let refused = |why: &str| {
        Err(SandboxError::Workspace { path: sandbox.workspace.clone(), why: why.to_owned() })
    };
    let holds = |path: &Path| {
        path.canonicalize().unwrap_or_else(|_| path.to_owned()).starts_with(&sandbox.workspace)
    };
    if std::env::var_os("HOME").is_some_and(|home| holds(Path::new(&home))) {
        return refused("it holds your whole home");
    }
    if sandbox.hidden.iter().filter(|path| holds(path)).count() > 1 {
        return refused("it holds Rouse's own data");
    }
    Ok(())
}

fn missing(why: String) -> SandboxError {
    let mend = "Look for it with `ls -l /usr/bin/sandbox-exec`; it is a part of macOS.".to_owned();
    Missing { layer: Layer::All, why, mend }.into()
}

impl Temporary {
    fn new() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        use std::sync::atomic::{AtomicU64, Ordering};
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("rouse-{}-{number}", std::process::id());
        let path = std::env::temp_dir().canonicalize()?.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Held {
    /// Where the home of the command is, which it has for itself.
    pub(super) fn home(&self) -> &Path {
        &self.temporary.0
    }

    /// Why it did not start.
    pub(super) const fn explain(&self, error: io::Error) -> SandboxError {
        SandboxError::Start(error)
    }

    /// No proxy answers here.
    pub(super) const fn proxy_address(&self) -> Option<String> {
        None
    }

    /// What has to be kept as long as the command may run; no proxy answers here.
    pub(super) fn begun(
        self,
        _: &Sandbox,
        _: &Child,
    ) -> io::Result<(Option<std::net::TcpListener>, Temporary)> {
        Ok((None, self.temporary))
    }
}
