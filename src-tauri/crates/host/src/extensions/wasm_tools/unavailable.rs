//! Why a tool in Rouse's own sandbox cannot be used, in sentences with a remedy.
//!
//! Owns the words. Never decides. Pitfall: a remedy without the command to run.

use rouse_core::extension::{ExtensionName, ServerUnavailable, UnavailableKind};

/// The files of the tool are not as the person accepted them; `difference` is a sentence.
#[cfg(feature = "wasm")]
pub(super) fn changed_files(name: &ExtensionName, difference: &str) -> ServerUnavailable {
    ServerUnavailable {
        server: name.clone(),
        kind: UnavailableKind::Quarantined,
        reason: format!("The tool {name} cannot be used. {difference}"),
        remedy: format!(
            "List the differences with `rouse extensions verify {name}`, then install the tool again with `rouse extensions update {name}`."
        ),
    }
}

/// The tool is not available for the reason of `kind`.
pub(super) fn unavailable(
    name: &ExtensionName,
    kind: UnavailableKind,
    reason: String,
    remedy: &str,
) -> ServerUnavailable {
    ServerUnavailable { server: name.clone(), kind, reason, remedy: remedy.to_owned() }
}
