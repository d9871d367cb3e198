//! `tools.build`, `tools.builds`, `tools.source`, `tools.check`, `tools.removeBuilds`: built tools.
//!
//! Owns the job of a build and the views of versions. An accepted version is an extension, so `extensions.*` owns its
//! installation by a person. Pitfall: a whole list with files; only one version is shown with its files.

use std::path::Path;

use rouse_agent::{BUILD_TOOLS, build_tool_task};
use rouse_core::extension::{ExtensionName, ToolBuild};
use rouse_core::run::ManualRunMode;
use rouse_core::text::{first_line, has_visible_text};
use serde_json::{Value, json};

use super::cron;
use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    BuiltToolRef, ChangeResult, EmptyObject, ToolBuildDetail, ToolBuildParams, ToolBuildSummary,
    ToolBuildsResult, ToolsBuildParams, ToolsBuildResult, ToolsCheckParams,
};

/// The time for the decision about an offer: a day.
const OFFER_SECONDS: u32 = 24 * 60 * 60;

/// The maximum model calls of a build.
const MAX_BUILD_STEPS: u32 = 40;

/// The characters of the request in the name of the job.
const NAME_CHARACTERS: usize = 60;

/// Starts an ordinary run of a job that is deleted after its success.
pub(crate) async fn build(
    context: &Context,
    params: ToolsBuildParams,
) -> Result<ToolsBuildResult, RpcError> {
    let ToolsBuildParams { task, tool, model } = params;
    if !has_visible_text(&task) {
        return Err(RpcError::field("task", "must say what the tool does"));
    }
    let tool = tool.map(|name| parse_name("tool", &name)).transpose()?;
    if let Some(tool) = &tool
        && list(context, Some(tool)).await?.is_empty()
    {
        return Err(RpcError::field("tool", &format!("there is no built tool {tool}")));
    }
    if model.is_none() && context.models.active_label().is_none() {
        let message = "No model is set up, so no agent can build the tool. Set one up in the settings: `rouse models`.";
        return Err(RpcError::new(ErrorCode::Conflict, message));
    }
    let mut payload = json!({
        "kind": "agentTurn",
        "message": build_tool_task(&task, tool.as_ref()),
        "tools": BUILD_TOOLS,
        "maxSteps": MAX_BUILD_STEPS,
    });
    if let Some(model) = model {
        payload["model"] = model.into();
    }
    let request = first_line(&task, NAME_CHARACTERS, str::to_owned);
    let job = json!({
        "name": format!("Build a tool: {request}"),
        "schedule": { "kind": "manual" },
        "payload": payload,
        "policies": { "approvalSeconds": OFFER_SECONDS },
        "deleteAfterRun": true,
    });
    let job = cron::add_job(context, job).await?;
    let run = context.scheduler.run_now(&job.id, ManualRunMode::Force).await?;
    let run = run.expect("BUG: a forced run starts");
    Ok(ToolsBuildResult { job_id: job.id.to_string(), run_id: run.to_string() })
}

pub(crate) async fn builds(
    context: &Context,
    _: EmptyObject,
) -> Result<ToolBuildsResult, RpcError> {
    let all = list(context, None).await?;
    Ok(ToolBuildsResult { builds: all.iter().map(summary).collect() })
}

/// One version with its files, and the other versions.
pub(crate) async fn source(
    context: &Context,
    params: ToolBuildParams,
) -> Result<ToolBuildDetail, RpcError> {
    let name = parse_name("name", &params.name)?;
    let all = list(context, Some(&name)).await?;
    let versions = all.iter().map(summary).collect();
    let wanted = params.hash.as_deref();
    let is_wanted = |build: &&ToolBuild| wanted.is_none_or(|hash| build.hash.starts_with(hash));
    let build = match all.iter().find(is_wanted) {
        Some(build) => context.tool_builds.find(&name, &build.hash).await.map_err(conflict)?,
        None => None,
    };
    let build = build.ok_or_else(|| {
        let message = format!("There is no such version of a built tool {name}.");
        RpcError::new(ErrorCode::NotFound, message)
    })?;
    let folder = context.tool_builds.version_folder(&name, &build.hash).await;
    let folder = folder.map(|folder| folder.display().to_string());
    Ok(ToolBuildDetail { reach: build.reach(), build, versions, folder })
}

/// Checks a folder for a person.
pub(crate) async fn check(
    context: &Context,
    params: ToolsCheckParams,
) -> Result<ToolBuild, RpcError> {
    if !Path::new(&params.folder).is_absolute() {
        return Err(RpcError::field("folder", "must be an absolute path"));
    }
    let checked = context.tool_builds.check_folder(&params.folder).await;
    checked.map_err(|problem| RpcError::field("folder", &problem))
}

/// Removes the versions. The installed one stays.
pub(crate) async fn remove(
    context: &Context,
    params: BuiltToolRef,
) -> Result<ChangeResult, RpcError> {
    let name = parse_name("name", &params.name)?;
    let removed = context.tool_builds.remove(&name).await;
    Ok(ChangeResult { changed: removed.map_err(conflict)? })
}

async fn list(context: &Context, name: Option<&ExtensionName>) -> Result<Vec<ToolBuild>, RpcError> {
    context.tool_builds.list(name).await.map_err(conflict)
}

fn conflict(problem: String) -> RpcError {
    RpcError::new(ErrorCode::Conflict, problem)
}

fn parse_name(field: &str, name: &str) -> Result<ExtensionName, RpcError> {
    name.parse().map_err(|error| RpcError::field(field, &format!("{error}")))
}

fn summary(build: &ToolBuild) -> ToolBuildSummary {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let text = |key: &str| build.manifest.get(key).and_then(Value::as_str).map(str::to_owned);
    ToolBuildSummary {
        name: build.name.to_string(),
        hash: build.hash.clone(),
        description: text("description"),
        version: text("version"),
        language: build.language,
        state: build.state,
        tests: count(build.tests.len()),
        passed_tests: count(build.tests.iter().filter(|test| test.passed).count()),
        errors: count(build.errors.len()),
        is_tainted: build.is_tainted,
        run_id: build.run_id.as_ref().map(ToString::to_string),
        checked_at_ms: build.checked_at.0,
    }
}
