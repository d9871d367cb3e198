//! Windows, and every other system without one: no sandbox yet, so nothing is run confined.
//!
//! A job object ends what a command has started, and could bound it, but hides no file and cuts no network; a command in
//! one alone would be called confined and not be. What is missing is a token without rights, or an AppContainer.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::process::Command;

use super::{Layer, Layers, Missing, Sandbox, SandboxError};

/// There is none to hold.
pub(super) struct Held(Infallible);

/// Refused.
pub(super) fn shell(sandbox: &Sandbox, _: &str) -> Result<(Command, Held), SandboxError> {
    let Sandbox { workspace, folder, hidden, hosts } = sandbox;
    tracing::info!(
        ?workspace,
        ?folder,
        ?hidden,
        ?hosts,
        "a command was not run, for want of a sandbox"
    );
    Err(missing())
}

/// Refused.
pub(super) fn available() -> Result<Layers, SandboxError> {
    Err(missing())
}

fn missing() -> SandboxError {
    let why =
        "Rouse cannot hide files from a command on this system, nor cut its network".to_owned();
    let mend = "A person can allow the job to run without a sandbox.".to_owned();
    Missing { layer: Layer::All, why, mend }.into()
}

impl Held {
    pub(super) const fn home(&self) -> &Path {
        match self.0 {}
    }

    pub(super) fn explain(&self, _: io::Error) -> SandboxError {
        match self.0 {}
    }

    pub(super) const fn proxy_listener(&self) -> io::Result<Option<std::net::TcpListener>> {
        match self.0 {}
    }

    pub(super) const fn proxy_address(&self) -> Option<String> {
        match self.0 {}
    }

    pub(super) fn into_life(self) -> impl Send + Sync + 'static {
        self.0
    }
}
