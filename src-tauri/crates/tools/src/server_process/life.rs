//! The life of a server process, shared by its tasks, and the sentence about its end.

use std::process::ExitStatus;

use rouse_core::extension::ProcessEnd;
use tokio::sync::watch;

/// How far a server process is.
#[derive(Debug, Clone)]
pub(super) enum ServerLife {
    Running,
    /// All processes are gone; output may be left in the pipes.
    Exited,
    /// The error output is complete.
    Ended(ProcessEnd),
}

/// Waits until the processes of a server are gone, or nobody observes them any more.
pub(super) async fn exited(life: &mut watch::Receiver<ServerLife>) {
    // An error means that the observer is gone.
    drop(life.wait_for(|life| !matches!(life, ServerLife::Running)).await);
}

/// Waits for the end of a server; none if nobody observes the server any more.
pub(super) async fn ended(life: &mut watch::Receiver<ServerLife>) -> Option<ProcessEnd> {
    match life.wait_for(|life| matches!(life, ServerLife::Ended(_))).await.as_deref() {
        Ok(ServerLife::Ended(end)) => Some(end.clone()),
        Ok(ServerLife::Running | ServerLife::Exited) | Err(_) => None,
    }
}

/// Describes the exit of a server for people.
pub(super) fn describe_exit(status: Option<ExitStatus>) -> String {
    let (code, signal) = status.map_or((None, None), |status| (status.code(), signal_of(status)));
    match (code, signal) {
        (Some(code), _) => format!("The server exited with status {code}."),
        (None, Some(signal)) => format!("The server was ended by signal {signal}."),
        (None, None) => "The server ended with an unknown status.".to_owned(),
    }
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
const fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}
