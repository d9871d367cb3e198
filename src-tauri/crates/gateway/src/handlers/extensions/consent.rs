//! The consent to tools: the page, its proposals, and the pins of the accepted page.
//!
//! Owns the page of held tools, and the pins of an accepted page. Pure functions.

use std::collections::BTreeMap;

use rouse_core::UnixMs;
use rouse_core::extension::{
    ConsentPage, Extension, ExtensionName, HeldTool, PinnedTool, ToolAccess,
};

use crate::context::ServerInspection;
use crate::error::{ErrorCode, RpcError};
use crate::wire::ServerToolsPage;

/// The page with the held tools of an extension.
pub(super) fn held_page(name: ExtensionName, extension: &Extension) -> ConsentPage {
    ConsentPage::new(name, extension.server.clone(), None, extension.held.clone())
}

/// The page with the held tools, their proposals, and what the server said.
pub(super) fn tools_page(
    name: ExtensionName,
    extension: &Extension,
    inspection: ServerInspection,
    error: Option<String>,
) -> ServerToolsPage {
    let ServerInspection { instructions, refused } = inspection;
    let page = held_page(name, extension);
    let proposals = proposals(extension);
    ServerToolsPage { page, proposals, refused, instructions, error, component_changes: None }
}

/// The proposed access of each held tool, by raw name.
pub(super) fn proposals(extension: &Extension) -> BTreeMap<String, ToolAccess> {
    let proposal =
        |held: &HeldTool| (held.offered.name.clone(), extension.proposed_access(&held.offered));
    extension.held.iter().map(proposal).collect()
}

/// Refuses a hash of another page.
pub(super) fn check_hash(page: &ConsentPage, hash: &str) -> Result<(), RpcError> {
    if page.is_named_by(hash) {
        return Ok(());
    }
    let name = &page.extension;
    let message = format!(
        "The hash {hash} names another page of {name}: the page was not read, or its content has changed since. Read the present page (on the command line: the same command without `--accept`), then accept its hash."
    );
    Err(RpcError::new(ErrorCode::Conflict, message))
}

/// The pins of the tools of an accepted page, with the `chosen` access or the proposal.
pub(super) fn pins_of(
    tools: Vec<HeldTool>,
    proposals: &BTreeMap<String, ToolAccess>,
    chosen: BTreeMap<String, ToolAccess>,
    now: UnixMs,
) -> Result<Vec<PinnedTool>, RpcError> {
    if let Some(unknown) = chosen.keys().find(|name| !proposals.contains_key(*name)) {
        return Err(RpcError::field("access", &format!("no tool {unknown} is on the page")));
    }
    let pin = |held: HeldTool| {
        let name = &held.offered.name;
        let access = chosen.get(name).or_else(|| proposals.get(name)).copied();
        let access = access.unwrap_or_else(|| ToolAccess::suggested(held.offered.hints));
        PinnedTool::accept(held.offered, access, now)
    };
    Ok(tools.into_iter().map(pin).collect())
}
