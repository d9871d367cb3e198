//! `cron.export`, `cron.ledger` and `cron.import`: jobs and their runs, out and in.
//!
//! A file is read by `core::import`; here its jobs meet those that are there. An import never fires anything, switches
//! nothing on unasked, and replaces nothing unasked; one job that cannot be taken does not keep the others out. One
//! could get this wrong by reporting something else in a dry run than what happens then: both take the same way, and
//! part only at the last step.

use std::collections::HashSet;

use rouse_core::cause::SOURCES;
use rouse_core::import::{self, Entry, Format, ORIGIN};
use rouse_core::job::{
    Job, Payload, ScheduleSpec, check_bounds, facts, imported_job_from_json, job_to_json,
    patch_job, strangers_of_state,
};
use rouse_core::visible::visible_line;
use rouse_core::{JobId, Run};
use rouse_store::{JobQuery, RunQuery};
use serde_json::{Map, Value, json};

use super::{check_call, found, preview, warnings, zone_of};
use crate::context::Context;
use crate::convert::{wire_state, wire_trigger};
use crate::error::RpcError;
use crate::handlers::check_secrets;
use crate::handlers::grants::good_of;
use crate::wire::{
    CronExportParams, CronExportResult, CronImportParams, CronImportResult, CronLedgerParams,
    CronLedgerResult, GrantView, ImportFormat, ImportLine, ImportOutcome, JobFact, JobWarning,
    LedgerEntry, PreviewSlot, RfcStatus,
};

/// Runs of one page of a ledger.
const PAGE: u32 = 500;
/// What two versions of a job may differ in and still be the same.
const NOT_COMPARED: [&str; 4] = ["state", "enabled", "createdAtMs", "updatedAtMs"];
/// Next times that are told of a job.
const MOST_NEXT: usize = 3;
const PASSED: &str = "Its time has passed, so it stays off.";
const SWITCHED_OFF: &str = "It was on; updating switches it off.";
const SWITCHED_ON: &str = "The same job is here already and off; it is switched on.";

pub(crate) async fn export(
    context: &Context,
    params: CronExportParams,
) -> Result<CronExportResult, RpcError> {
    let jobs = match params.id {
        Some(id) => vec![found(context, &id).await?],
        None => {
            let all = JobQuery { include_disabled: true, ..JobQuery::default() };
            context.store.jobs(&all).await?.jobs
        }
    };
    Ok(CronExportResult {
        format: Format::Rouse.name().to_owned(),
        version: import::VERSION,
        jobs: jobs.iter().map(job_to_json).collect(),
    })
}

pub(crate) async fn ledger(
    context: &Context,
    params: CronLedgerParams,
) -> Result<CronLedgerResult, RpcError> {
    let id = JobId::new(params.id);
    let query = RunQuery {
        job_id: Some(id.clone()),
        before: params.before,
        limit: PAGE,
        ..RunQuery::default()
    };
    let page = context.store.runs(&query).await?;
    let entries = page.runs.iter().filter_map(|run| ledger_entry(&id, run)).collect();
    Ok(CronLedgerResult { entries, next: page.next })
}

/// A run that is over.
fn ledger_entry(job: &JobId, run: &Run) -> Option<LedgerEntry> {
    let ended = run.finished_at?;
    let status = match run.state.rfc_status() {
        Some("ok") => Some(RfcStatus::Ok),
        Some("error") => Some(RfcStatus::Error),
        Some("skipped") => Some(RfcStatus::Skipped),
        _ => None,
    };
    // A log that is read by the RFC alone finds in each line what came of the run, and in each error why.
    let error = run.error.clone();
    let error = error.or_else(|| run.reason.clone().filter(|_| status == Some(RfcStatus::Error)));
    let summary = run.summary.clone().or_else(|| error.clone()).or_else(|| run.reason.clone());
    Some(LedgerEntry {
        ts: ended.0,
        job_id: job.to_string(),
        action: "finished".to_owned(),
        status,
        error,
        summary,
        run_at_ms: run.started_at.map(|at| at.0),
        duration_ms: run.took_ms(),
        run_id: run.id.to_string(),
        name: run.job_name.clone(),
        state: wire_state(run.state),
        reason: run.reason.clone(),
        trigger: wire_trigger(run.trigger),
        slot_at_ms: run.slot_at.map(|at| at.0),
        first_slot_at_ms: run.first_slot_at.map(|at| at.0),
        stands_for: run.stands_for,
        attempt: run.attempt,
        model: run.model.clone(),
    })
}

/// What the person wants done with the file's jobs.
#[derive(Clone, Copy)]
struct Wish {
    dry_run: bool,
    enable: bool,
    update: bool,
}

/// A job of the file, ready to meet what is here.
struct Arrival {
    job: Job,
    /// Whether the job is meant to be on afterwards.
    enable: bool,
    /// Whether it may be on as it now is, whatever the job that it replaces was.
    may_be_on: bool,
    /// What is here under its id.
    present: Option<Job>,
    about: About,
}

/// What is told of a job that is taken.
struct About {
    notes: Vec<String>,
    warnings: Vec<JobWarning>,
    schedule_text: String,
    zone: Option<String>,
    next: Vec<PreviewSlot>,
    facts: Vec<JobFact>,
}

pub(crate) async fn import(
    context: &Context,
    params: CronImportParams,
) -> Result<CronImportResult, RpcError> {
    let wish = Wish {
        dry_run: params.dry_run.unwrap_or(false),
        enable: params.enable.unwrap_or(false),
        update: params.update.unwrap_or(false),
    };
    let file = import::read(&params.text, params.format.map(core_format))
        .map_err(|error| RpcError::field("text", &error.to_string()))?;
    // Once for all of its jobs, so that a model which was started a moment ago is not missed.
    context.models.list(true).await;
    let mut seen = HashSet::new();
    let mut lines = Vec::with_capacity(file.entries.len());
    for entry in file.entries {
        let entry = Entry { name: context.gate.safety().words(&entry.name), ..entry };
        let place = entry.place();
        let line = import_one(context, entry, wish, &mut seen).await;
        lines.push(line.unwrap_or_else(|error| refused(place, error.message)));
    }
    Ok(CronImportResult { format: wire_format(file.format), lines })
}

async fn import_one(
    context: &Context,
    entry: Entry,
    wish: Wish,
    seen: &mut HashSet<JobId>,
) -> Result<ImportLine, RpcError> {
    let name = entry.name.clone();
    let mut arrival = match read(context, entry, wish).await? {
        Ok(arrival) => arrival,
        Err(reason) => return Ok(refused(name, reason)),
    };
    let id = arrival.job.id.clone();
    if !seen.insert(id.clone()) {
        return Ok(refused(name, format!("Another job of this file has the same id {id}.")));
    }
    let Some(present) = arrival.present.take() else {
        let Arrival { job, enable, about, .. } = arrival;
        if !wish.dry_run {
            context.scheduler.add_job(job).await?;
        }
        return Ok(line(name, &id, ImportOutcome::Created, enable, about));
    };
    meet(context, &present, arrival, wish, name).await
}

/// The entry as a job, or why there is none.
async fn read(
    context: &Context,
    entry: Entry,
    wish: Wish,
) -> Result<Result<Arrival, String>, RpcError> {
    let Entry { job, mut notes, is_faithful, .. } = entry;
    let mut document = match job {
        Ok(document) => document,
        Err(reason) => return Ok(Err(reason)),
    };
    check_bounds(&document)?;
    check_secrets(context, "", &document).await?;
    let present = match document["id"].as_str() {
        Some(id) => context.store.job(&JobId::new(id)).await?,
        None => None,
    };
    let mut may_be_on = is_faithful;
    let mut enable = wish.enable && is_faithful && can_fire_here(&document);
    if let Some(fields) = document.as_object_mut() {
        // An interval without an anchor counts from here: read anew, the same job would be another each time.
        if let Some(present) = &present {
            fields.entry("createdAtMs").or_insert_with(|| present.created_at.0.into());
        }
        let state = fields.remove("state").filter(Value::is_object).map(strangers_of_state);
        fields.extend(state.map(|state| ("state".to_owned(), state)));
        enable &= fields.get("enabled") != Some(&Value::Bool(false));
        fields.insert("enabled".to_owned(), Value::Bool(enable));
    }
    let now = context.clock.now();
    let mut job = imported_job_from_json(document, now, context.clock.zones())?;
    if matches!(job.schedule.spec, ScheduleSpec::At { at, .. } if at <= now) {
        (may_be_on, enable, job.enabled) = (false, false, false);
        notes.push(PASSED.to_owned());
    }
    if let ScheduleSpec::Event(trigger) = &job.schedule.spec
        && !trigger.can_come()
    {
        notes.push(nothing_comes_from(&trigger.source));
    }
    if let Some(unknown) = unknown_tool(context, &job) {
        (may_be_on, enable, job.enabled) = (false, false, false);
        notes.push(unknown);
    } else {
        check_call(context, &job).await?;
    }
    let (schedule_text, next) = preview::of_job(context, &job, MOST_NEXT).await?;
    let warnings = warnings::of_known(context, &job).await?;
    let facts = facts_of(&job);
    let about = About { notes, warnings, schedule_text, zone: zone_of(context, &job), next, facts };
    Ok(Ok(Arrival { job, enable, may_be_on, present, about }))
}

fn facts_of(job: &Job) -> Vec<JobFact> {
    let fact = |(about, text): (&str, String)| JobFact { about: about.to_owned(), text };
    facts(&job_to_json(job)).into_iter().map(fact).collect()
}

/// Of a job whose tool is not here: nobody can say whether its call could be made, so it comes in and stays off.
fn unknown_tool(context: &Context, job: &Job) -> Option<String> {
    let Payload::ToolCall(call) = &job.payload else { return None };
    let is_known = context.gate.tools().get(&call.tool).is_some();
    (!is_known).then(|| format!("There is no tool `{}` here, so it stays off.", call.tool))
}

/// Whether it waits for no event, or for one that can come.
fn can_fire_here(document: &Value) -> bool {
    let schedule = &document["schedule"];
    let source = schedule["source"].as_str().unwrap_or_default().trim();
    schedule["kind"] != "event" || SOURCES.contains(&source)
}

fn nothing_comes_from(source: &str) -> String {
    let sources = SOURCES.join(", ");
    format!("No event ever comes from `{source}` here, so it stays off. Sources are {sources}.")
}

/// A job of the file whose id is here already.
async fn meet(
    context: &Context,
    present: &Job,
    arrival: Arrival,
    wish: Wish,
    name: String,
) -> Result<ImportLine, RpcError> {
    let Arrival { mut job, enable, may_be_on, mut about, .. } = arrival;
    let skipped = |reason: String| ImportLine {
        reason: Some(reason),
        ..untold(name.clone(), Some(&present.id), ImportOutcome::Skipped, present.enabled)
    };
    let is_same = definition(present) == definition(&job);
    if is_same && (present.enabled || !enable) {
        return Ok(skipped("The same job is here already.".to_owned()));
    }
    if !is_same && !wish.update {
        let here = &present.name;
        return Ok(skipped(format!(
            "A job with its id is here already, as \u{201c}{here}\u{201d}, and differs. Updating replaces it."
        )));
    }
    // What is on stays on: taking a new definition is no reason to stop a job. One that nobody has looked at yet is.
    job.enabled = (enable || present.enabled) && may_be_on;
    let (outcome, patch) = if is_same {
        about.notes.insert(0, SWITCHED_ON.to_owned());
        (ImportOutcome::SwitchedOn, json!({ "enabled": true }))
    } else {
        if present.enabled && !job.enabled {
            about.notes.insert(0, SWITCHED_OFF.to_owned());
        }
        (ImportOutcome::Updated, replacing(&job_to_json(present), &job_to_json(&job)))
    };
    // Asked also in a dry run, which must not promise more than is done.
    let after = patch_job(present, patch.clone(), context.clock.now(), context.clock.zones())?;
    if !after.is_same_work(present) {
        about.notes.extend(taken_back(&good_of(context, present).await?));
    }
    if !wish.dry_run {
        let revision = Some(present.state.revision);
        context.scheduler.replace_job(&present.id, patch, revision).await?;
    }
    Ok(line(name, &present.id, outcome, job.enabled, about))
}

/// What becomes of the standing yeses of a job that a file gives other work: nobody has given them for that.
fn taken_back(grants: &[GrantView]) -> Vec<String> {
    let note = |grant: &GrantView| {
        let (tool, covers) = (&grant.tool, grant.covers.in_words());
        visible_line(&format!(
            "What it does or may reach changes, so your standing yes to {tool} ({covers}) is taken back."
        ))
    };
    grants.iter().map(note).collect()
}

fn line(
    name: String,
    id: &JobId,
    outcome: ImportOutcome,
    enabled: bool,
    about: About,
) -> ImportLine {
    let About { notes, warnings, schedule_text, zone, next, facts } = about;
    let schedule_text = Some(schedule_text);
    let bare = untold(name, Some(id), outcome, enabled);
    ImportLine { notes, warnings, schedule_text, zone, next, facts, ..bare }
}

fn refused(name: String, reason: String) -> ImportLine {
    ImportLine { reason: Some(reason), ..untold(name, None, ImportOutcome::Refused, false) }
}

/// A line that says no more than what became of the job.
fn untold(name: String, id: Option<&JobId>, outcome: ImportOutcome, enabled: bool) -> ImportLine {
    ImportLine {
        name,
        id: id.map(ToString::to_string),
        outcome,
        enabled,
        reason: None,
        notes: Vec::new(),
        warnings: Vec::new(),
        schedule_text: None,
        zone: None,
        next: Vec::new(),
        facts: Vec::new(),
    }
}

/// What makes a job the job that it is. On which line of its file it stood is no part of that: a comment above moves it.
fn definition(job: &Job) -> Value {
    let mut document = job_to_json(job);
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|key, _| !NOT_COMPARED.contains(&key.as_str()));
        let origin = fields.get_mut(ORIGIN).and_then(Value::as_object_mut);
        origin.and_then(|origin| origin.remove("line"));
    }
    document
}

/// The merge patch that makes `to` of `from`: keys that are not in `to` go.
fn replacing(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else { return to.clone() };
    let gone = from.keys().filter(|key| !to.contains_key(*key));
    let mut patch: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in to {
        let before = from.get(key).unwrap_or(&Value::Null);
        patch.insert(key.clone(), replacing(before, value));
    }
    Value::Object(patch)
}

const fn core_format(format: ImportFormat) -> Format {
    match format {
        ImportFormat::Rouse => Format::Rouse,
        ImportFormat::Rfc => Format::Rfc,
        ImportFormat::OpenClaw => Format::OpenClaw,
        ImportFormat::Crontab => Format::Crontab,
        ImportFormat::SystemCrontab => Format::SystemCrontab,
    }
}

const fn wire_format(format: Format) -> ImportFormat {
    match format {
        Format::Rouse => ImportFormat::Rouse,
        Format::Rfc => ImportFormat::Rfc,
        Format::OpenClaw => ImportFormat::OpenClaw,
        Format::Crontab => ImportFormat::Crontab,
        Format::SystemCrontab => ImportFormat::SystemCrontab,
    }
}
