//! Windows: an AppContainer without capabilities, in a job object, that is used only after it has held before our eyes.
//!
//! A program in an AppContainer has no right to a file that does not name that AppContainer, and no network, not even the
//! computer's own. So the home need not be hidden: it cannot be opened. A workspace is opened to its AppContainer; the
//! system's programs are open to all of them. The job bounds processes and memory, keeps windows and the clipboard
//! apart, lets nothing break away, and ends with Rouse. Before the first command, and for `rouse doctor`, a command tries
//! in vain to get out (`proof`); where it gets out, or it cannot be told, nothing is run confined.
//!
//! - `container` knows whose rights a workspace has, `confined` starts and ends a command, `rights` and `process` hold
//!   the bare calls, `proof` tries them.
//!
//! The AppContainer belongs to the workspace, so the private home of a job is closed to the person's other programs in it,
//! but not to the commands of other jobs. It refuses granted folders, whose rights would have to be changed one by one, and
//! granted hosts: a proxy in the engine could be reached only by opening the whole of the computer's own
//! network to the AppContainer, for good and as an administrator. What it does not hold: files of the system are readable
//! as they are to every AppContainer, and what of the disk others have opened to all of them. One could get it wrong by
//! taking a job object for a sandbox: it hides no file.

mod confined;
mod container;
mod process;
mod proof;
mod rights;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;

use super::{Layer, Layers, Missing, Sandbox, SandboxError};
use crate::child::{Child, MARK, Process};
pub(crate) use confined::Confined;
use confined::{Begun, Place};

/// Nothing of the engine is needed inside.
pub(super) struct Held;

/// Says whether the command that has ended left processes running.
pub(super) type LeftRunning = Box<dyn Fn() -> bool + Send + Sync>;

/// Does what takes its time: the proof, once for each process, and the rights on a new workspace.
pub(super) fn prepare(sandbox: &Sandbox) -> Result<(), SandboxError> {
    begin_check(sandbox)?;
    container::of(&sandbox.workspace).map(drop)
}

/// A shell that runs `line` confined.
pub(super) fn begin(
    sandbox: &Sandbox,
    line: &str,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    mark: &str,
) -> Result<(Child, Held), SandboxError> {
    begin_check(sandbox)?;
    let sid = container::of(&sandbox.workspace)?;
    let home = sandbox.home.as_deref();
    let place = Place { sid: &sid, folder: &sandbox.folder, home, limits: &sandbox.limits };
    let marked = [(MARK.into(), mark.into())];
    let begun = confined::begin(&place, line, variables.into_iter().chain(marked));
    let Begun { job, process, stdout, stderr, scratch } = begun.map_err(explain)?;
    let process = Process::Confined(Confined::new(job, process, scratch));
    let [stdout, stderr] = [stdout, stderr].map(tokio::fs::File::from_std);
    Ok((Child::watched(process, stdout, stderr, mark), Held))
}

fn begin_check(sandbox: &Sandbox) -> Result<(), SandboxError> {
    if !sandbox.hosts.is_empty() {
        return Err(super::no_hosts());
    }
    if !sandbox.granted.is_empty() {
        return Err(super::no_folders());
    }
    container::check(sandbox)?;
    Ok(proof::held()?)
}

/// What this computer holds, by the same proof that a command waits for.
pub(super) fn available() -> Result<Layers, SandboxError> {
    proof::held()?;
    Ok(Layers {
        held: "an AppContainer with rights on the workspace and no network, which a command has just tried in vain to leave; a job object with limits on processes, memory in sum and windows; limits on output and time",
        not_held: Some(
            "what is written into the workspace, reading what the system and others have opened to every AppContainer",
        ),
    })
}

/// A system that did not do as it was told is without a sandbox; any other failure is the command's own.
fn explain(error: io::Error) -> SandboxError {
    match error.kind() {
        io::ErrorKind::Unsupported => missing(Layer::AppContainer, error.to_string(), ""),
        _ => SandboxError::Start(error),
    }
}

fn missing(layer: Layer, why: String, mend: &str) -> SandboxError {
    let mend = format!("{mend} A person can allow the job to run without a sandbox.");
    Missing { layer, why, mend: mend.trim_start().to_owned() }.into()
}

impl Held {
    /// No proxy answers here, and what the command needs is kept with its process.
    #[expect(clippy::unused_self, reason = "elsewhere it is asked for")]
    pub(super) fn begun(
        self,
        _: &Sandbox,
        _: &Child,
    ) -> io::Result<(Option<std::net::TcpListener>, (), LeftRunning)> {
        // What it left running ends with its job object, and is not counted.
        Ok((None, (), Box::new(|| false)))
    }
}
