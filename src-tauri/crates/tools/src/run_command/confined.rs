//! How a command is confined, and whether this computer can do that, known before anybody is asked about one.
//!
//! Owns the words of the one and the memory of the other: that the sandbox holds is found out once. That it does not is looked at again each time, so that
//! whoever mends it need not start Rouse again. It refuses to say anything of a start that failed for another reason:
//! the command itself tells that. One could get it wrong by taking the probe for a promise: each command fails closed
//! by itself.

use std::sync::{Arc, OnceLock};

use rouse_core::tool::{SandboxMode, ToolContext};

use crate::sandbox::{Layers, SandboxError};

/// What is known of the sandbox.
pub(super) struct Probe {
    look: fn() -> Result<Layers, SandboxError>,
    holds: OnceLock<()>,
}

impl Probe {
    pub(super) const fn of(look: fn() -> Result<Layers, SandboxError>) -> Self {
        Self { look, holds: OnceLock::new() }
    }

    /// Whether the sandbox holds; it may take a moment.
    ///
    /// # Errors
    /// Which layer is missing, and what to do.
    pub(super) fn holds(&self) -> Result<(), SandboxError> {
        if self.holds.get().is_some() {
            return Ok(());
        }
        match (self.look)() {
            Ok(_) => {
                self.holds.get_or_init(|| ());
                Ok(())
            }
            Err(missing @ SandboxError::Missing(_)) => Err(missing),
            Err(_) => Ok(()),
        }
    }

    /// Why a command that is confined like this cannot be run here; none when it can.
    pub(super) async fn why_not(self: Arc<Self>, sandbox: &SandboxMode) -> Option<String> {
        if !is_confined(sandbox) {
            return None;
        }
        let probed = tokio::task::spawn_blocking(move || self.holds()).await;
        let probed = probed.expect("BUG: looking for the sandbox does not panic");
        probed.err().map(|error| error.to_string())
    }
}

/// Whether it runs in the sandbox.
pub(super) const fn is_confined(sandbox: &SandboxMode) -> bool {
    matches!(sandbox, SandboxMode::Sandboxed { .. })
}

/// How it is confined, for a person and for what an approval is bound to: another grant of folders is another call.
pub(super) fn confinement(context: &ToolContext) -> String {
    let folders: Vec<String> = context.folders.iter().map(ToString::to_string).collect();
    match folders.as_slice() {
        folders if !folders.is_empty() && is_confined(&context.sandbox) => {
            format!("{}, with the folders {}", network(&context.sandbox), folders.join(", "))
        }
        _ => network(&context.sandbox),
    }
}

fn network(sandbox: &SandboxMode) -> String {
    match sandbox {
        SandboxMode::Sandboxed { hosts } if hosts.is_empty() => {
            "in the sandbox, without a network".to_owned()
        }
        SandboxMode::Sandboxed { hosts } => {
            format!("in the sandbox, with a way to {}", hosts.join(", "))
        }
        SandboxMode::ByPersonUnsandboxed { .. } | SandboxMode::OpenedByPerson { .. } => {
            "outside the sandbox, with all your rights".to_owned()
        }
    }
}
