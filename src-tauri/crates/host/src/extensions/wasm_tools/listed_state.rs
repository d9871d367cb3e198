//! The state of a tool in Rouse's own sandbox, as of its last listing.
//!
//! Owns the decision whether runs can use the tool. Reads no file. Pitfall: a tool that is held and accepted; an
//! update may change the definition under the same name.

use rouse_core::extension::{
    Extension, ExtensionName, MissingTool, OpenServer, PinnedTool, ServerState, ServerStatus,
    ServerUnavailable, ToolAccess, ToolChange, ToolListing, UnavailableKind,
};

use super::unavailable::unavailable;

/// Opens the tool for a run. Nothing is started.
///
/// # Errors
/// The extension is off, or the tool waits for the person.
pub(super) fn open_listed(
    name: &ExtensionName,
    entry: &Extension,
) -> Result<OpenServer, ServerUnavailable> {
    if !entry.is_enabled {
        let reason = format!("The tool {name} is switched off.");
        let remedy = format!("Switch it on with `rouse extensions enable {name}`.");
        return Err(unavailable(name, UnavailableKind::Off, reason, &remedy));
    }
    if is_quarantined(entry) {
        let reason = format!("The tool {name} is new or changed and waits for you.");
        let remedy = format!("Review it with `rouse extensions accept {name}`.");
        return Err(unavailable(name, UnavailableKind::Quarantined, reason, &remedy));
    }
    let (held, gone) = (entry.held.clone(), entry.gone.clone());
    let listing = ToolListing { held, gone, ..ToolListing::default() };
    Ok(OpenServer { missing: MissingTool::of_listing(name, &listing), lease: Box::new(()) })
}

/// The state for people.
pub(super) fn listed_status(name: &ExtensionName, entry: &Extension) -> ServerStatus {
    let (state, reason) = match open_listed(name, entry) {
        Ok(_) => (ServerState::Ready, None),
        Err(error) if error.kind == UnavailableKind::Quarantined => {
            (ServerState::Quarantined, Some(error.to_string()))
        }
        Err(_) => (ServerState::Off, None),
    };
    ServerStatus { state, reason, stderr_tail: None, started_at_ms: None }
}

/// Whether the last listing had the tool as it was accepted.
pub(super) fn is_listed(entry: &Extension, pin: &PinnedTool) -> bool {
    let name = &pin.definition.name;
    let mut held = entry.held.iter();
    let is_changed =
        held.any(|held| held.change == ToolChange::Changed && held.offered.name == *name);
    !is_changed && !entry.gone.contains(name)
}

/// Whether tools wait for a person and no accepted tool is left.
fn is_quarantined(entry: &Extension) -> bool {
    let is_offered = |pin: &PinnedTool| pin.access != ToolAccess::Off && is_listed(entry, pin);
    !entry.held.is_empty() && !entry.tools.iter().any(is_offered)
}
