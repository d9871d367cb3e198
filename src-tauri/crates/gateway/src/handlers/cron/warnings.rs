//! What will keep a job from doing what it says, said when it is written down.
//!
//! Owns the look at what a run will need and may not find: its tools, its models, its skills, its files, its secrets, its
//! channel, an event that can come and comes again, a time that is still ahead; `knobs` owns that at settings without effect. It refuses nothing: all of these may be there by the time
//! of the run, and what can never be right is refused elsewhere. One could get it wrong by warning of what a person has
//! just decided: a job that is off may well have a time that has passed.

mod knobs;
mod offers;

use std::path::Path;

use rouse_core::JobId;
use rouse_core::cause::{SOURCES, fields_of};
use rouse_core::job::{
    AgentTurn, EventTrigger, Job, Payload, ScheduleSpec, ToolCall, check_bounds, job_from_json,
};
use rouse_core::slots::Slots;
use rouse_core::tool::Domain;
use rouse_core::words::grouped;

use serde_json::Value;

use super::{channel, schedule_text};
use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::check_secrets;
use crate::wire::{CronCheckParams, CronCheckResult, JobWarning};

/// A day, and the runs of a job that fires every minute of it.
const DAY_MS: i64 = 24 * 3_600_000;
const MINUTES_OF_A_DAY: u32 = 24 * 60;

/// What saving a job would warn of.
pub(crate) async fn check(
    context: &Context,
    params: CronCheckParams,
) -> Result<CronCheckResult, RpcError> {
    let job = drafted(context, params.job).await?;
    let named = offers::Named::of(context, &job).await;
    let offers = named.offers(&context.engine.workspace).await;
    Ok(CronCheckResult { warnings: of(context, &job).await?, offers })
}

/// A job as it stands in a form, which is not saved.
pub(crate) async fn drafted(context: &Context, draft: Value) -> Result<Job, RpcError> {
    check_bounds(&draft)?;
    check_secrets(context, "", &draft).await?;
    Ok(job_from_json(draft, context.clock.now(), context.clock.zones())?)
}

/// The warnings about a job. When its model is in doubt, models are looked for again first: it may have been started a
/// moment ago.
pub(super) async fn of(context: &Context, job: &Job) -> Result<Vec<JobWarning>, RpcError> {
    if let Payload::AgentTurn(turn) = &job.payload
        && !models(context, turn).is_empty()
    {
        context.models.list(true).await;
    }
    let namesake = namesake(context, job).await?;
    Ok(namesake.into_iter().chain(of_known(context, job).await?).collect())
}

/// That its name alone does not say which job is meant.
async fn namesake(context: &Context, job: &Job) -> Result<Option<JobWarning>, RpcError> {
    let is_another = context.store.has_namesake(&job.name, &job.id).await?;
    let message = "Another job is called so too: commands and agents have to say the id of the one they mean.";
    Ok(is_another.then(|| warning("name", message.to_owned())))
}

/// The warnings about a job by the models that are known.
pub(super) async fn of_known(context: &Context, job: &Job) -> Result<Vec<JobWarning>, RpcError> {
    let mut warnings = schedule(context, job).await?;
    warnings.extend(knobs::without_effect(job, slots(context, job).as_ref(), context.clock.now()));
    match &job.payload {
        Payload::AgentTurn(turn) => {
            warnings.extend(too_often(context, job));
            warnings.extend(models(context, turn));
            warnings.extend(tools(context, turn));
            warnings.extend(skills(context, turn).await?);
            warnings.extend(files(context, turn).await);
            warnings.extend(offers::Named::of(context, job).await.closed_hosts());
            let unknown = context.gate.safety().doubt_of_text(&turn.message);
            warnings.extend(unknown.map(|what| warning("payload.message", what.to_string())));
        }
        Payload::ToolCall(call) => {
            if context.gate.tools().get(&call.tool).is_none() {
                let message = format!("There is no tool `{}` here; its runs fail.", call.tool);
                warnings.push(warning("payload.tool", message));
            }
            warnings.extend(bare_keys(context, call));
            warnings.extend(secrets(context, call));
            warnings.extend(hosts(context, job, call));
        }
        Payload::SystemEvent { .. } => {}
    }
    let nowhere = channel::complaint(job).map(|what| {
        warning("payload.channel", format!("Its outcome cannot be delivered: {what}."))
    });
    warnings.extend(nowhere);
    Ok(warnings)
}

fn warning(field: &str, message: String) -> JobWarning {
    JobWarning { field: field.to_owned(), message }
}

/// That it never fires although it is on, or no more than once.
async fn schedule(context: &Context, job: &Job) -> Result<Vec<JobWarning>, RpcError> {
    if !job.enabled {
        return Ok(Vec::new());
    }
    let now = context.clock.now();
    let told = match &job.schedule.spec {
        spec if spec.has_slots() => {
            let ends = slots(context, job).is_some_and(|slots| slots.next_after(now).is_none());
            let (field, what) = match spec.instant() {
                Some(_) => ("schedule.atMs", "That time has passed, so it never fires."),
                None => ("schedule", "No time of it is ahead, so it never fires."),
            };
            ends.then(|| warning(field, what.to_owned()))
        }
        ScheduleSpec::Event(trigger) if !trigger.can_come() => {
            let sources = SOURCES.join(", ");
            let source = &trigger.source;
            let message = format!("No event ever comes from `{source}`. Sources are {sources}.");
            Some(warning("schedule.source", message))
        }
        spec @ ScheduleSpec::Event(trigger) => {
            let is_gone = schedule_text(context, spec).await?.1;
            let message = "The job that it waits for is not there, so it never fires.";
            let gone = is_gone.then(|| warning("schedule.filters.jobId", message.to_owned()));
            match gone.or_else(|| unknown_filter(trigger)) {
                None => comes_once(context, trigger).await?,
                never => never,
            }
        }
        _ => None,
    };
    Ok(told.into_iter().collect())
}

/// That the job it waits for goes with its run.
async fn comes_once(
    context: &Context,
    trigger: &EventTrigger,
) -> Result<Option<JobWarning>, RpcError> {
    let Some(id) = trigger.job_id() else { return Ok(None) };
    let before = context.store.job(&JobId::new(id)).await?.filter(|job| job.delete_after_run);
    Ok(before.map(|before| {
        let message = format!("{} is deleted after its run, so this one comes once.", before.name);
        warning("schedule.filters.jobId", message)
    }))
}

/// A field that no event of its source has.
fn unknown_filter(trigger: &EventTrigger) -> Option<JobWarning> {
    let (source, known) = (&trigger.source, fields_of(&trigger.source)?);
    let name = trigger.filters.keys().find(|name| !known.contains(&name.as_str()))?;
    let message = format!(
        "No event from `{source}` has a field `{name}`, so it never fires. Its fields are {}.",
        known.join(", ")
    );
    Some(warning("schedule.filters", message))
}

/// When it fires; none where its schedule cannot be read.
fn slots(context: &Context, job: &Job) -> Option<Slots> {
    // silent-ok: the parser has said what is wrong with it.
    Slots::of_job(&job.schedule, &job.id, job.created_at, &context.clock.zones()).ok()
}

/// That it asks a model more often than once a minute, also while it is off: what that costs is soon more than was meant.
fn too_often(context: &Context, job: &Job) -> Option<JobWarning> {
    let slots = slots(context, job)?;
    let count = super::estimate::runs_within(&slots, context.clock.now(), DAY_MS);
    let message = format!("It asks a model {} times a day.", grouped(u64::from(count)));
    (count > MINUTES_OF_A_DAY).then(|| warning("schedule", message))
}

fn models(context: &Context, turn: &AgentTurn) -> Vec<JobWarning> {
    let own = context.models.doubt(turn.model.as_deref());
    let own = own.map(|message| warning("payload.model", message));
    let others = turn.fallbacks.iter().enumerate().filter_map(|(place, wish)| {
        let message = context.models.doubt(Some(wish))?;
        Some(warning(&format!("payload.fallbacks[{place}]"), message))
    });
    let mut doubts: Vec<JobWarning> = own.into_iter().chain(others).collect();
    // Without any model all of them say the same.
    doubts.dedup_by(|next, first| next.message == first.message);
    doubts
}

fn tools(context: &Context, turn: &AgentTurn) -> Vec<JobWarning> {
    let named = turn.tools.iter().flatten().enumerate();
    let doubts = named.filter_map(|(place, name)| {
        let message = match context.gate.tools().get(name) {
            None => format!("There is no tool `{name}` here; its runs go on without it."),
            Some(tool) if tool.spec().attended_only => format!(
                "`{name}` may be called only in a conversation with you; its runs go on without it."
            ),
            Some(_) => return None,
        };
        Some(warning(&format!("payload.tools[{place}]"), message))
    });
    doubts.collect()
}

/// What has the shape of a key: as it stands there it is in the database and in every export. It is told by its kind.
fn bare_keys(context: &Context, call: &ToolCall) -> Option<JobWarning> {
    let leak = context.gate.safety().outgoing(&call.arguments).err()?;
    let message = format!(
        "It holds what looks like a key ({}), and is kept as it is written. Store the key with `rouse secrets set NAME --host HOST`, and write {{{{secret:NAME}}}} in its place.",
        leak.what.join(", ")
    );
    Some(warning("payload.arguments", message))
}

/// A secret that the call names and that is not stored, or may not go where the call goes.
fn secrets(context: &Context, call: &ToolCall) -> Option<JobWarning> {
    let tool = context.gate.tools().get(&call.tool)?;
    let doubt = context.gate.safety().doubt_of_call(tool.as_ref(), &call.arguments)?;
    Some(warning("payload.arguments", doubt.to_string()))
}

/// That a list of hosts does not bound its command, which a person has written and which runs with their own rights.
fn hosts(context: &Context, job: &Job, call: &ToolCall) -> Option<JobWarning> {
    let tool = context.gate.tools().get(&call.tool)?;
    let is_command = tool.spec().domain == Domain::Container;
    let message = format!(
        "The call of `{}` runs outside the sandbox, so this list does not bound it.",
        call.tool
    );
    (is_command && !job.policies.hosts.is_empty()).then(|| warning("policies.hosts", message))
}

async fn skills(context: &Context, turn: &AgentTurn) -> Result<Vec<JobWarning>, RpcError> {
    let mut warnings = Vec::new();
    for (place, name) in turn.skills.iter().enumerate() {
        if let Err(problem) = context.skills.named(std::slice::from_ref(name)).await? {
            warnings.push(warning(&format!("payload.skills[{place}]"), problem));
        }
    }
    Ok(warnings)
}

/// The files that its model is to be shown and that are not there now.
async fn files(context: &Context, turn: &AgentTurn) -> Vec<JobWarning> {
    if turn.context_paths.is_empty() {
        return Vec::new();
    }
    let (workspace, paths) = (context.engine.workspace.clone(), turn.context_paths.clone());
    let looked = tokio::task::spawn_blocking(move || {
        paths.iter().map(|path| missing(&workspace, path)).collect::<Vec<_>>()
    });
    let looked = looked.await.expect("BUG: looking for files does not panic");
    let missing = looked.into_iter().enumerate().filter_map(|(place, message)| {
        Some(warning(&format!("payload.contextPaths[{place}]"), message?))
    });
    missing.collect()
}

/// Why a run would not find `path`. Only whether it is there is looked at: reading it is the tool's matter.
fn missing(workspace: &Path, path: &str) -> Option<String> {
    let folder = workspace.display();
    let Ok(place) = workspace.join(path).canonicalize() else {
        return Some(format!(
            "`{path}` is not in the workspace ({folder}) now; its runs begin without it until it is."
        ));
    };
    let is_inside = workspace.canonicalize().is_ok_and(|workspace| place.starts_with(workspace));
    match (is_inside, place.is_file()) {
        (false, _) => {
            Some(format!("`{path}` lies outside the workspace ({folder}), so no run reads it."))
        }
        (true, false) => Some(format!("`{path}` is no file, so no run reads it.")),
        (true, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn a_file_is_missed_where_a_run_would_miss_it() {
        let workspace = tempfile::tempdir().expect("a folder");
        let inside = |name: &str| workspace.path().join(name);
        std::fs::create_dir(inside("folder")).expect("made");
        std::fs::write(inside("folder/notes.md"), "x").expect("written");
        let said = |path: &str| missing(workspace.path(), path).unwrap_or_default();
        assert_eq!(said("folder/notes.md"), "");
        assert_eq!(said(inside("folder/notes.md").to_str().expect("text")), "");
        assert!(said("folder").contains("is no file"));
        assert!(said("other.md").contains("is not in the workspace"));
        assert!(said("../../etc/hostname").contains("workspace"));
        assert!(said("/etc/hostname").contains("outside the workspace"));
    }
}
