//! Warnings about a job when it is saved.
//!
//! Owns the checks of the dependencies of a run: servers, tools, models, skills, files, secrets, channel, event source and future slots.
//! `ineffective_settings` checks settings. Never refuses a job: a missing dependency may appear before the run.
//! Pitfall: warning about the person's own decisions, such as the past time of a disabled job.

mod field_warning;
mod grant_offers;
mod ineffective_settings;

use std::path::Path;

use rouse_core::JobId;
use rouse_core::cause::{SOURCES, event_fields};
use rouse_core::extension::{
    Extension, ExtensionName, MissingTool, ToolListing, extension_of_tool,
};
use rouse_core::job::{
    AgentTurn, EventTrigger, Job, JobServer, Payload, ScheduleSpec, ToolCall, check_bounds,
    job_from_json,
};
use rouse_core::slots::Slots;
use rouse_core::text::group_thousands;
use rouse_core::tool::ToolDomain;

use serde_json::Value;

use self::field_warning::warning;
use self::grant_offers::GrantTargets;
use self::ineffective_settings::{DAY_MS, ineffective_settings};
use super::channel::problem_text;
use super::estimate::slots_within;
use super::schedule::schedule_text;
use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::input::check_secrets;
use crate::wire::{CronCheckParams, CronCheckResult, JobWarning};

/// More runs of a model per day are warned about.
const MAX_RUNS_PER_DAY: u32 = 24 * 60;

/// The warnings of an unsaved job, and grant offers.
pub(crate) async fn check(
    context: &Context,
    params: CronCheckParams,
) -> Result<CronCheckResult, RpcError> {
    let job = parse_draft(context, params.job).await?;
    let targets = GrantTargets::of(context, &job).await;
    let offers = targets.into_offers(&context.engine.workspace).await;
    Ok(CronCheckResult { warnings: warnings_of(context, &job).await?, offers })
}

/// Parses an unsaved job.
pub(crate) async fn parse_draft(context: &Context, draft: Value) -> Result<Job, RpcError> {
    check_bounds(&draft)?;
    check_secrets(context, "", &draft).await?;
    Ok(job_from_json(draft, context.clock.now(), context.clock.zones())?)
}

/// The warnings about a job. Detects models again if a model is missing, because the model may have been started since.
pub(super) async fn warnings_of(context: &Context, job: &Job) -> Result<Vec<JobWarning>, RpcError> {
    if let Payload::AgentTurn(turn) = &job.payload
        && !check_models(context, turn).is_empty()
    {
        context.models.list(true).await;
    }
    let name = check_name(context, job).await?;
    Ok(name.into_iter().chain(warnings_of_known(context, job).await?).collect())
}

/// Warns about another job with the same name.
async fn check_name(context: &Context, job: &Job) -> Result<Option<JobWarning>, RpcError> {
    let is_ambiguous = context.store.has_other_job_named(&job.name, &job.id).await?;
    let message = "Another job has the same name. Commands and agents must use the id.";
    Ok(is_ambiguous.then(|| warning("name", message.to_owned())))
}

/// The warnings about a job, without detecting models again.
pub(super) async fn warnings_of_known(
    context: &Context,
    job: &Job,
) -> Result<Vec<JobWarning>, RpcError> {
    let mut warnings = check_schedule(context, job).await?;
    let slots = slots(context, job);
    warnings.extend(ineffective_settings(job, slots.as_ref(), context.clock.now()));
    match &job.payload {
        Payload::AgentTurn(turn) => {
            warnings.extend(check_frequency(context, slots.as_ref()));
            warnings.extend(check_models(context, turn));
            warnings.extend(turn.agent.iter().filter_map(|agent| check_agent(context, agent)));
            warnings.extend(check_servers(context, turn));
            warnings.extend(check_tools(context, turn));
            warnings.extend(check_skills(context, turn).await?);
            warnings.extend(check_files(context, turn).await);
            warnings.extend(GrantTargets::of(context, job).await.closed_host_warnings());
            let error = context.gate.safety().handle_error_of_text(&turn.message);
            warnings.extend(error.map(|error| warning("payload.message", error.to_string())));
        }
        Payload::ToolCall(call) => {
            if context.gate.tools().get(&call.tool).is_none() {
                let message = format!("There is no tool `{}`; runs fail.", call.tool);
                warnings.push(warning("payload.tool", message));
            }
            warnings.extend(check_keys(context, call));
            warnings.extend(check_secret_handles(context, call));
            warnings.extend(check_hosts(context, job, call));
        }
        Payload::SystemEvent { .. } => {}
    }
    let problem = context.channels.now().job_problem(job);
    warnings.extend(problem.map(|problem| warning(problem.field, problem_text(&problem))));
    Ok(warnings)
}

/// Warns about an enabled job that never fires, or only once.
async fn check_schedule(context: &Context, job: &Job) -> Result<Vec<JobWarning>, RpcError> {
    if !job.enabled {
        return Ok(Vec::new());
    }
    let now = context.clock.now();
    let warning = match &job.schedule.spec {
        spec if spec.has_slots() => {
            let has_ended =
                slots(context, job).is_some_and(|slots| slots.next_after(now).is_none());
            let (field, message) = match spec.instant() {
                Some(_) => ("schedule.atMs", "This time has passed, so the job never fires."),
                None => ("schedule", "The schedule has no future time, so the job never fires."),
            };
            has_ended.then(|| warning(field, message.to_owned()))
        }
        ScheduleSpec::Event(trigger) if !trigger.can_come() => {
            let sources = SOURCES.join(", ");
            let source = &trigger.source;
            let message = format!("Unknown event source `{source}`. Sources are {sources}.");
            Some(warning("schedule.source", message))
        }
        spec @ ScheduleSpec::Event(trigger) => {
            let is_missing = schedule_text(context, spec).await?.1;
            let message = "The predecessor does not exist, so the job never fires.";
            let missing = is_missing.then(|| warning("schedule.filters.jobId", message.to_owned()));
            match missing.or_else(|| check_filters(trigger)) {
                None => check_predecessor(context, trigger).await?,
                warning => warning,
            }
        }
        _ => None,
    };
    Ok(warning.into_iter().collect())
}

/// Warns about a predecessor that is deleted after its run.
async fn check_predecessor(
    context: &Context,
    trigger: &EventTrigger,
) -> Result<Option<JobWarning>, RpcError> {
    let Some(id) = trigger.job_id() else { return Ok(None) };
    let predecessor = context.store.job(&JobId::new(id)).await?.filter(|job| job.delete_after_run);
    Ok(predecessor.map(|job| {
        let message = format!("{} is deleted after its run, so this job fires once.", job.name);
        warning("schedule.filters.jobId", message)
    }))
}

/// Warns about a filter on a field that no event of the source has.
fn check_filters(trigger: &EventTrigger) -> Option<JobWarning> {
    let (source, known) = (&trigger.source, event_fields(&trigger.source)?);
    let name = trigger.filters.keys().find(|name| !known.contains(&name.as_str()))?;
    let message = format!(
        "Events from `{source}` have no field `{name}`, so the job never fires. Fields are {}.",
        known.join(", ")
    );
    Some(warning("schedule.filters", message))
}

/// The slots of the job; none for an invalid schedule.
fn slots(context: &Context, job: &Job) -> Option<Slots> {
    // silent-ok: the parser reports an invalid schedule.
    Slots::of_job(&job.schedule, &job.id, job.created_at, &context.clock.zones()).ok()
}

/// Warns about more than one model call per minute, because of the cost.
fn check_frequency(context: &Context, slots: Option<&Slots>) -> Option<JobWarning> {
    let count = slots_within(slots?, context.clock.now(), DAY_MS);
    let message =
        format!("The job runs a model {} times a day.", group_thousands(u64::from(count)));
    (count > MAX_RUNS_PER_DAY).then(|| warning("schedule", message))
}

/// Warns about a coding agent that no run can use.
fn check_agent(context: &Context, agent: &ExtensionName) -> Option<JobWarning> {
    let problem = match context.extensions.book().get(agent) {
        Some(extension) if !extension.server.is_coding_agent() => "is no coding agent",
        Some(extension) if !extension.is_enabled => "is switched off",
        Some(_) => return None,
        None => "is not installed",
    };
    let message = format!("The coding agent `{agent}` {problem}; runs fail.");
    Some(warning("payload.agent", message))
}

fn check_models(context: &Context, turn: &AgentTurn) -> Vec<JobWarning> {
    if turn.agent.is_some() {
        return Vec::new();
    }
    let own = context.models.model_warning(turn.model.as_deref());
    let own = own.map(|message| warning("payload.model", message));
    let others = turn.fallbacks.iter().enumerate().filter_map(|(index, model)| {
        let message = context.models.model_warning(Some(model))?;
        Some(warning(&format!("payload.fallbacks[{index}]"), message))
    });
    let mut warnings: Vec<JobWarning> = own.into_iter().chain(others).collect();
    // Without any model, all messages are equal.
    warnings.dedup_by(|next, first| next.message == first.message);
    warnings
}

/// Warns about servers that no run can use.
fn check_servers(context: &Context, turn: &AgentTurn) -> Vec<JobWarning> {
    let named = turn.servers.iter().enumerate();
    let warnings = named.filter_map(|(index, JobServer { name, is_optional })| {
        let problem = match context.extensions.book().get(name) {
            None => "is not installed",
            Some(extension) if !extension.is_enabled => "is switched off",
            Some(_) => return None,
        };
        let effect = if *is_optional { "runs start without it" } else { "runs fail" };
        let message = format!("The MCP server `{name}` {problem}; {effect}.");
        Some(warning(&format!("payload.servers[{index}]"), message))
    });
    warnings.collect()
}

fn check_tools(context: &Context, turn: &AgentTurn) -> Vec<JobWarning> {
    let is_used = |server: &ExtensionName| turn.servers.iter().any(|used| used.name == *server);
    let named = turn.tools.iter().flatten().enumerate();
    let warnings = named.filter_map(|(index, name)| {
        let message = match context.gate.tools().get(name) {
            None => missing_tool_message(context, turn, name)?,
            Some(tool) if tool.spec().attended_only => {
                format!("`{name}` is available only in Chat; runs start without it.")
            }
            Some(tool) => {
                let server = &tool.spec().origin.as_ref()?.extension;
                if is_used(server) {
                    return None;
                }
                format!(
                    "The job does not use the MCP server `{server}` of the tool `{name}`; runs start without the tool."
                )
            }
        };
        Some(warning(&format!("payload.tools[{index}]"), message))
    });
    warnings.collect()
}

/// The message about a listed tool that no run gets now. A run fails without a tool of a required server. None if the
/// warning about the server says so already.
fn missing_tool_message(context: &Context, turn: &AgentTurn, name: &str) -> Option<String> {
    let server = extension_of_tool(name);
    let is_of = |used: &&JobServer| Some(&used.name) == server.as_ref();
    let Some(used) = turn.servers.iter().find(is_of).filter(|used| !used.is_optional) else {
        return Some(format!("There is no tool `{name}`; runs start without it."));
    };
    let extension = context.extensions.book().get(&used.name);
    let Extension { held, gone, .. } = extension.filter(|extension| extension.is_enabled)?;
    let listing = ToolListing { held, gone, ..ToolListing::default() };
    let missing = MissingTool::of_listing(&used.name, &listing);
    let missing = MissingTool::find(&used.name, name, missing);
    Some(format!("Runs without `{name}` fail. {missing}"))
}

/// Warns about a key in the arguments, which would be stored and exported. The message contains the kind only.
fn check_keys(context: &Context, call: &ToolCall) -> Option<JobWarning> {
    let leak = context.gate.safety().check_egress(&call.arguments).err()?;
    let message = format!(
        "The arguments seem to contain a key ({}) and are stored as written. Store the key with `rouse secrets set NAME --host HOST` and write {{{{secret:NAME}}}} instead.",
        leak.what.join(", ")
    );
    Some(warning("payload.arguments", message))
}

/// Warns about a secret handle that cannot be resolved: unknown secret, or another host.
fn check_secret_handles(context: &Context, call: &ToolCall) -> Option<JobWarning> {
    let tool = context.gate.tools().get(&call.tool)?;
    let error = context.gate.safety().handle_error_of_call(tool.as_ref(), &call.arguments)?;
    Some(warning("payload.arguments", error.to_string()))
}

/// Warns about a host list that does not limit a fixed command, which runs with the rights of the person.
fn check_hosts(context: &Context, job: &Job, call: &ToolCall) -> Option<JobWarning> {
    let tool = context.gate.tools().get(&call.tool)?;
    let is_command = tool.spec().domain == ToolDomain::Container;
    let message = format!(
        "The call of `{}` runs outside the sandbox, so this list does not limit the call.",
        call.tool
    );
    (is_command && !job.policies.hosts.is_empty()).then(|| warning("policies.hosts", message))
}

async fn check_skills(context: &Context, turn: &AgentTurn) -> Result<Vec<JobWarning>, RpcError> {
    let mut warnings = Vec::new();
    for (index, name) in turn.skills.iter().enumerate() {
        if let Err(problem) = context.skills.load_named(std::slice::from_ref(name)).await? {
            warnings.push(warning(&format!("payload.skills[{index}]"), problem));
        }
    }
    Ok(warnings)
}

/// Warns about missing context files.
async fn check_files(context: &Context, turn: &AgentTurn) -> Vec<JobWarning> {
    if turn.context_paths.is_empty() {
        return Vec::new();
    }
    let (workspace, paths) = (context.engine.workspace.clone(), turn.context_paths.clone());
    let task = tokio::task::spawn_blocking(move || {
        paths.iter().map(|path| file_problem(&workspace, path)).collect::<Vec<_>>()
    });
    let problems = task.await.expect("BUG: the check of files does not panic");
    let warnings = problems.into_iter().enumerate().filter_map(|(index, message)| {
        Some(warning(&format!("payload.contextPaths[{index}]"), message?))
    });
    warnings.collect()
}

/// Why a run would not find `path`; does not read the file.
fn file_problem(workspace: &Path, path: &str) -> Option<String> {
    let folder = workspace.display();
    let Ok(real_path) = workspace.join(path).canonicalize() else {
        return Some(format!(
            "`{path}` is not in the workspace ({folder}); runs start without the file."
        ));
    };
    let is_inside =
        workspace.canonicalize().is_ok_and(|workspace| real_path.starts_with(workspace));
    match (is_inside, real_path.is_file()) {
        (false, _) => {
            Some(format!("`{path}` is outside the workspace ({folder}), so no run reads the file."))
        }
        (true, false) => Some(format!("`{path}` is not a file, so no run reads it.")),
        (true, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::file_problem;

    #[test]
    fn file_outside_the_workspace_is_reported() {
        let workspace = tempfile::tempdir().expect("a folder");
        let inside = |name: &str| workspace.path().join(name);
        std::fs::create_dir(inside("folder")).expect("made");
        std::fs::write(inside("folder/notes.md"), "x").expect("written");
        let problem = |path: &str| file_problem(workspace.path(), path).unwrap_or_default();
        assert_eq!(problem("folder/notes.md"), "");
        assert_eq!(problem(inside("folder/notes.md").to_str().expect("text")), "");
        assert!(problem("folder").contains("is not a file"));
        assert!(problem("other.md").contains("is not in the workspace"));
        assert!(problem("../../etc/hostname").contains("workspace"));
        assert!(problem("/etc/hostname").contains("outside the workspace"));
    }
}
