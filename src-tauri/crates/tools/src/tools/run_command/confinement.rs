//! The confinement of commands: description, and the check whether this computer has a sandbox.
//!
//! Remembers a passed check. Repeats a failed check, so that a remedy takes effect without a restart. Never reports a
//! failed start for another reason: the command itself does. Pitfall: the check is no guarantee; each command fails
//! closed.

use std::sync::{Arc, OnceLock};

use rouse_core::tool::{SandboxMode, ToolContext};

use crate::sandbox::{SandboxError, SandboxGuarantees};

/// The check for a sandbox, with the result.
pub(super) struct SandboxProbe {
    probe: fn() -> Result<SandboxGuarantees, SandboxError>,
    has_passed: OnceLock<()>,
}

impl SandboxProbe {
    pub(super) const fn new(probe: fn() -> Result<SandboxGuarantees, SandboxError>) -> Self {
        Self { probe, has_passed: OnceLock::new() }
    }

    /// Checks the sandbox; blocks.
    ///
    /// # Errors
    /// The missing layer and the remedy.
    pub(super) fn check(&self) -> Result<(), SandboxError> {
        if self.has_passed.get().is_some() {
            return Ok(());
        }
        match (self.probe)() {
            Ok(_) => {
                self.has_passed.get_or_init(|| ());
                Ok(())
            }
            Err(missing @ SandboxError::Missing(_)) => Err(missing),
            Err(_) => Ok(()),
        }
    }

    /// The reason why this computer cannot run a command in this mode.
    pub(super) async fn unavailable_reason(
        self: Arc<Self>,
        sandbox: &SandboxMode,
    ) -> Option<String> {
        if !is_sandboxed(sandbox) {
            return None;
        }
        let checked = tokio::task::spawn_blocking(move || self.check()).await;
        let checked = checked.expect("BUG: the check of the sandbox does not panic");
        checked.err().map(|error| error.to_string())
    }
}

pub(super) const fn is_sandboxed(sandbox: &SandboxMode) -> bool {
    matches!(sandbox, SandboxMode::Sandboxed { .. })
}

/// Describes network and granted folders. Part of an approval's fingerprint, so the text must not change.
pub(super) fn describe_confinement(context: &ToolContext) -> String {
    let folders: Vec<String> = context.folders.iter().map(ToString::to_string).collect();
    match folders.as_slice() {
        folders if !folders.is_empty() && is_sandboxed(&context.sandbox) => {
            format!(
                "{}, with the folders {}",
                describe_network(&context.sandbox),
                folders.join(", ")
            )
        }
        _ => describe_network(&context.sandbox),
    }
}

fn describe_network(sandbox: &SandboxMode) -> String {
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
