//! `extensions.*`: installed MCP servers and the tools that a person accepts. No tool calls these methods: only the person
//! installs a server, accepts a tool or changes an access.
//!
//! Owns the check of a consent: a change names the hash of exactly the page that the present state gives. Pitfall: accepting
//! the tools of a later listing; the pins are made from the page with the accepted hash.

mod lookup;
mod consent;
mod definition;
mod sign_in;
mod package;

use rouse_core::extension::{
    AGENT_PRESETS, AgentPreset, Extension, ExtensionName, RESERVED_EXTENSION_NAMES,
    ServerTransport, ToolAccess, extension_of_tool, tool_name,
};
use serde_json::json;

use self::consent::{check_hash, held_page, pins_of, proposals, tools_page};
use self::definition::{check_definition, check_plain_secrets};
use self::lookup::find;
use self::package::component_changes;
pub(crate) use self::package::{cancel_install, install_status, verify};
pub(crate) use self::sign_in::{await_sign_in, cancel_sign_in, sign_in, sign_out};
use super::input::check_secrets;
use crate::command_text::command_text;
use crate::context::{Context, PlannedPackage, ServerInspection};
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    AgentPresetsResult, ChangeResult, ConsentPage, EmptyObject, ExtensionAcceptParams,
    ExtensionAccessParams, ExtensionDetail, ExtensionDraft, ExtensionEnabledParams,
    ExtensionInstallParams, ExtensionRef, ExtensionRemoved, ExtensionToolView, ExtensionView,
    ExtensionsListResult, ServerToolsPage,
};

pub(crate) async fn list(
    context: &Context,
    _: EmptyObject,
) -> Result<ExtensionsListResult, RpcError> {
    let all = context.extensions.book().all();
    let extensions = all.into_iter().map(|(name, extension)| list_view(context, name, extension));
    Ok(ExtensionsListResult { extensions: extensions.collect() })
}

pub(crate) async fn get(
    context: &Context,
    params: ExtensionRef,
) -> Result<ExtensionDetail, RpcError> {
    detail(context, params.name).await
}

/// The known coding agents.
pub(crate) async fn agent_presets(
    _: &Context,
    _: EmptyObject,
) -> Result<AgentPresetsResult, RpcError> {
    let presets = AGENT_PRESETS.iter().map(AgentPreset::view);
    Ok(AgentPresetsResult { presets: presets.collect() })
}

/// The page of an installation or an update. Starts nothing.
pub(crate) async fn preview(
    context: &Context,
    params: ExtensionDraft,
) -> Result<ConsentPage, RpcError> {
    let ExtensionDraft { name, server, source } = params;
    check_name(context, &name)?;
    check_secrets(context, "server", &json!(server)).await?;
    check_plain_secrets(&name, &server, source.as_ref())?;
    let installed = context.extensions.book().get(&name);
    let replaced_source = installed.as_ref().and_then(|extension| extension.package.clone());
    let replaces = installed.map(|extension| extension.server);
    let Some(source) = source else {
        if server.is_wasm() {
            let message = "a tool needs its folder as `source` of the kind `tool`";
            return Err(RpcError::field("server.transport.kind", message));
        }
        check_definition(&server)?;
        let server = context.extensions.resolve(server).await?;
        return Ok(ConsentPage::new(name, server, replaces, Vec::new()));
    };
    check_secrets(context, "source", &json!(source)).await?;
    let planned = context.extensions.plan_package(&name, source, server).await?;
    let PlannedPackage { server, mut plan, .. } = planned;
    check_definition(&server)?;
    // A bundle may put a setting into a variable whose name tells more.
    check_plain_secrets(&name, &server, None)?;
    plan.replaces = replaced_source.map(|package| package.source);
    Ok(ConsentPage::new(name, server, replaces, Vec::new()).with_package(plan))
}

/// Installs exactly the package and the definition of the accepted page, starts the server once and lists its tools. A server that does
/// not start stays installed.
pub(crate) async fn install(
    context: &Context,
    params: ExtensionInstallParams,
) -> Result<ServerToolsPage, RpcError> {
    let ExtensionInstallParams { name, server: draft, source, accept } = params;
    let server = draft.clone();
    let page = preview(context, ExtensionDraft { name: name.clone(), server, source }).await?;
    check_hash(&page, &accept)?;
    let replaced = context.extensions.book().get(&name).and_then(|extension| extension.package);
    let (server, now) = (page.server, context.clock.now());
    match page.package {
        None => context.extensions.install(&name, server, now).await?,
        Some(plan) => {
            let package = PlannedPackage { draft, server, plan };
            context.extensions.install_package(&name, package, now).await?;
        }
    }
    let inspected = context.extensions.inspect(&name).await;
    let extension = find(context, &name)?;
    let packages = replaced.as_ref().zip(extension.package.as_ref());
    let component_changes = packages.and_then(|(old, new)| component_changes(old, new));
    let found = match inspected {
        Ok(inspection) => tools_page(name, &extension, inspection, None),
        Err(error) => {
            let inspection = ServerInspection::default();
            tools_page(name, &extension, inspection, Some(error.to_string()))
        }
    };
    Ok(ServerToolsPage { component_changes, ..found })
}

/// Starts the server and lists its tools: the page with the held tools.
pub(crate) async fn review(
    context: &Context,
    params: ExtensionRef,
) -> Result<ServerToolsPage, RpcError> {
    find(context, &params.name)?;
    let inspected = context.extensions.inspect(&params.name).await;
    let inspection =
        inspected.map_err(|error| RpcError::new(ErrorCode::Conflict, error.to_string()))?;
    let extension = find(context, &params.name)?;
    Ok(tools_page(params.name, &extension, inspection, None))
}

/// Accepts the held tools of the page with this hash.
pub(crate) async fn accept(
    context: &Context,
    params: ExtensionAcceptParams,
) -> Result<ExtensionDetail, RpcError> {
    let ExtensionAcceptParams { name, accept, access } = params;
    let extension = find(context, &name)?;
    let page = held_page(name.clone(), &extension);
    if page.tools.is_empty() {
        let message = format!(
            "No tool of {name} waits for you. `rouse extensions show {name}` lists its tools."
        );
        return Err(RpcError::new(ErrorCode::Conflict, message));
    }
    check_hash(&page, &accept)?;
    let proposals = proposals(&extension);
    let pins = pins_of(page.tools, &proposals, access.unwrap_or_default(), context.clock.now())?;
    context.extensions.accept_tools(&name, pins)?;
    detail(context, name).await
}

pub(crate) async fn set_access(
    context: &Context,
    params: ExtensionAccessParams,
) -> Result<ChangeResult, RpcError> {
    let ExtensionAccessParams { name, tool, access } = params;
    Ok(ChangeResult { changed: context.extensions.set_access(&name, &tool, access)? })
}

pub(crate) async fn set_enabled(
    context: &Context,
    params: ExtensionEnabledParams,
) -> Result<ChangeResult, RpcError> {
    let changed = context.extensions.set_enabled(&params.name, params.enabled).await?;
    Ok(ChangeResult { changed })
}

/// Removes an extension with its pins, its private folder and the grants for its tools.
pub(crate) async fn remove(
    context: &Context,
    params: ExtensionRef,
) -> Result<ExtensionRemoved, RpcError> {
    find(context, &params.name)?;
    // First, so that no grant remains if the removal fails half-way.
    let revoked_grants = revoke_grants(context, &params.name).await?;
    let manual_cleanup = context.extensions.remove(&params.name).await?;
    Ok(ExtensionRemoved { revoked_grants, manual_cleanup })
}

/// Stops the server. The next use starts it.
pub(crate) async fn restart(
    context: &Context,
    params: ExtensionRef,
) -> Result<ChangeResult, RpcError> {
    find(context, &params.name)?;
    context.extensions.stop(&params.name).await;
    Ok(ChangeResult { changed: true })
}

/// Refuses a name that is or begins the name of a tool of Rouse, so that no tool of an extension shadows it.
fn check_name(context: &Context, name: &ExtensionName) -> Result<(), RpcError> {
    let tools = context.gate.tools();
    let mut own = tools.specs().filter(|tool| tool.origin.is_none());
    match own.find(|tool| extension_of_tool(&tool.name).as_ref() == Some(name)) {
        None if RESERVED_EXTENSION_NAMES.contains(&name.as_str()) => {
            let message =
                format!("is reserved for tools of Rouse; choose another name, such as my-{name}");
            Err(RpcError::field("name", &message))
        }
        None => Ok(()),
        Some(tool) => {
            let message = format!(
                "is reserved, because Rouse has a tool {}; choose another name, such as my-{name}",
                tool.name
            );
            Err(RpcError::field("name", &message))
        }
    }
}

/// Revokes the grants for tools of an extension. Returns their number.
async fn revoke_grants(context: &Context, name: &ExtensionName) -> Result<usize, RpcError> {
    let now = context.clock.now();
    let mut revoked = 0;
    for grant in context.store.grants().await? {
        let is_of = extension_of_tool(&grant.tool).as_ref() == Some(name);
        if is_of && context.store.revoke_grant(&grant.id, now).await? {
            revoked += 1;
        }
    }
    Ok(revoked)
}

fn list_view(context: &Context, name: ExtensionName, extension: Extension) -> ExtensionView {
    let status = context.extensions.status(&name);
    let is_missing = |raw_name: &String| {
        let is_held = extension.held.iter().any(|held| held.offered.name == *raw_name);
        is_held || extension.gone.contains(raw_name)
    };
    let is_on = |access: ToolAccess| access != ToolAccess::Off;
    let on = extension.tools.iter().filter(|pin| is_on(pin.access));
    ExtensionView {
        transport: command_text(&extension.server.transport),
        is_enabled: extension.is_enabled,
        is_coding_agent: extension.server.is_coding_agent(),
        state: status.state,
        label: status.state.label().to_owned(),
        reason: status.reason,
        accepted: on.filter(|pin| !is_missing(&pin.definition.name)).count(),
        held: extension.held.len(),
        off: extension.tools.iter().filter(|pin| !is_on(pin.access)).count(),
        reported_version: extension.reported_version,
        name,
    }
}

async fn detail(context: &Context, name: ExtensionName) -> Result<ExtensionDetail, RpcError> {
    let extension = find(context, &name)?;
    let accepted = extension.tools.iter().map(|pin| pin.definition.name.clone());
    let mut raw_names: Vec<String> = accepted.collect();
    for held in &extension.held {
        if !raw_names.contains(&held.offered.name) {
            raw_names.push(held.offered.name.clone());
        }
    }
    let view = |raw_name: String| {
        let tool_name = tool_name(&name, &raw_name);
        ExtensionToolView { raw_name, tool_name }
    };
    let tools = raw_names.into_iter().map(view).collect();
    let status = context.extensions.status(&name);
    let sign_in = match &extension.server.transport {
        ServerTransport::Http { .. } => Some(context.extensions.sign_ins().status(&name).await),
        ServerTransport::Stdio { .. } | ServerTransport::Wasm { .. } => None,
    };
    Ok(ExtensionDetail { name, extension, status, sign_in, tools })
}
