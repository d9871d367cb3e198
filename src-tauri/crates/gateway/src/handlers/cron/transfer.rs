//! `cron.export`, `cron.ledger` and `cron.import`: export and import of jobs, and run logs.
//!
//! `core::import` parses a file; this module merges its jobs with existing ones. An import never fires a job, and enables or
//! replaces jobs only on request. An invalid job does not prevent the import of others.
//! Pitfall: a dry run with another report than the import; both share the code up to the last step.

use std::collections::HashSet;

use rouse_core::cause::SOURCES;
use rouse_core::import::{self, ImportEntry, ImportFormat, ORIGIN};
use rouse_core::job::{
    Job, Payload, ScheduleSpec, check_bounds, imported_job_from_json, job_facts, patch_job,
    to_json, unknown_state_keys,
};
use rouse_core::text::escape_line;
use rouse_core::{JobId, Run};
use rouse_store::{JobQuery, RunQuery};
use serde_json::{Map, Value, json};

use super::job_lookup::find_job;
use super::preview::preview_job;
use super::schedule::schedule_zone;
use super::tool_call::check_call;
use super::warnings::warnings_of_known;
use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::grants::valid_grants;
use crate::handlers::input::check_secrets;
use crate::wire::{
    CronExportParams, CronExportResult, CronImportParams, CronImportResult, CronLedgerParams,
    CronLedgerResult, GrantView, ImportLine, ImportOutcome, JobFact, JobWarning, LedgerEntry,
    PreviewSlot, RfcStatus,
};

/// Runs per page of a run log.
const LEDGER_PAGE: u32 = 500;
/// Fields that do not count in a comparison of two versions of a job.
const IGNORED_FIELDS: [&str; 4] = ["state", "enabled", "createdAtMs", "updatedAtMs"];
/// Number of slots in the report.
const MAX_SLOTS: usize = 3;
const TIME_PASSED: &str = "The time has passed, so the job stays disabled.";
const DISABLED: &str = "The update disables the job.";
const ENABLED: &str = "The same job exists and is disabled; the import enables it.";

pub(crate) async fn export(
    context: &Context,
    params: CronExportParams,
) -> Result<CronExportResult, RpcError> {
    let jobs = match params.id {
        Some(id) => vec![find_job(context, &id).await?],
        None => {
            let all = JobQuery { include_disabled: true, ..JobQuery::default() };
            context.store.jobs(&all).await?.jobs
        }
    };
    Ok(CronExportResult {
        format: ImportFormat::Rouse.name().to_owned(),
        version: import::VERSION,
        jobs: jobs.iter().map(to_json).collect(),
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
        limit: LEDGER_PAGE,
        ..RunQuery::default()
    };
    let page = context.store.runs(&query).await?;
    let entries = page.runs.iter().filter_map(|run| ledger_entry(&id, run)).collect();
    Ok(CronLedgerResult { entries, next: page.next })
}

/// The log entry of a finished run.
fn ledger_entry(job: &JobId, run: &Run) -> Option<LedgerEntry> {
    let ended = run.finished_at?;
    let status = run.state.rfc_status();
    // Readers of the RFC format expect a summary in each entry and an error in each failed one.
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
        duration_ms: run.duration_ms(),
        run_id: run.id.to_string(),
        name: run.job_name.clone(),
        state: run.state,
        reason: run.reason.clone(),
        trigger: run.trigger,
        slot_at_ms: run.slot_at.map(|at| at.0),
        first_slot_at_ms: run.first_slot_at.map(|at| at.0),
        slot_count: run.slot_count,
        attempt: run.attempt,
        model: run.model.clone(),
    })
}

/// The options of an import.
#[derive(Clone, Copy)]
struct ImportOptions {
    dry_run: bool,
    enable: bool,
    update: bool,
}

/// A parsed job of the file.
struct ParsedJob {
    job: Job,
    /// Whether the import enables the job.
    enable: bool,
    /// Whether the job may be enabled at all, also if the existing job is.
    can_be_enabled: bool,
    /// The existing job with the same id.
    existing: Option<Job>,
    report: JobReport,
}

/// Details of a parsed job for the report.
struct JobReport {
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
    let options = ImportOptions {
        dry_run: params.dry_run.unwrap_or(false),
        enable: params.enable.unwrap_or(false),
        update: params.update.unwrap_or(false),
    };
    let file = import::read(&params.text, params.format)
        .map_err(|error| RpcError::field("text", &error.to_string()))?;
    // Detects models once for all jobs, because a model may have been started since.
    context.models.list(true).await;
    let mut seen = HashSet::new();
    let mut lines = Vec::with_capacity(file.entries.len());
    for entry in file.entries {
        let entry = ImportEntry { name: context.gate.safety().redact_stored(&entry.name), ..entry };
        let label = entry.place();
        let line = import_job(context, entry, options, &mut seen).await;
        lines.push(line.unwrap_or_else(|error| refused_line(label, error.message)));
    }
    Ok(CronImportResult { format: file.format, lines })
}

async fn import_job(
    context: &Context,
    entry: ImportEntry,
    options: ImportOptions,
    seen: &mut HashSet<JobId>,
) -> Result<ImportLine, RpcError> {
    let name = entry.name.clone();
    let mut parsed = match parse_entry(context, entry, options).await? {
        Ok(parsed) => parsed,
        Err(reason) => return Ok(refused_line(name, reason)),
    };
    let id = parsed.job.id.clone();
    if !seen.insert(id.clone()) {
        return Ok(refused_line(name, format!("Another job of this file has the same id {id}.")));
    }
    let Some(existing) = parsed.existing.take() else {
        let ParsedJob { job, enable, report, .. } = parsed;
        if !options.dry_run {
            context.scheduler.add_job(job).await?;
        }
        return Ok(imported_line(name, &id, ImportOutcome::Created, enable, report));
    };
    merge(context, &existing, parsed, options, name).await
}

/// Parses an entry; the inner error is the reason for a refusal.
async fn parse_entry(
    context: &Context,
    entry: ImportEntry,
    options: ImportOptions,
) -> Result<Result<ParsedJob, String>, RpcError> {
    let ImportEntry { job, mut notes, is_faithful, .. } = entry;
    let mut document = match job {
        Ok(document) => document,
        Err(reason) => return Ok(Err(reason)),
    };
    check_bounds(&document)?;
    check_secrets(context, "", &document).await?;
    let existing = match document["id"].as_str() {
        Some(id) => context.store.job(&JobId::new(id)).await?,
        None => None,
    };
    let mut can_be_enabled = is_faithful;
    let mut enable = options.enable && is_faithful && has_known_source(&document);
    if let Some(fields) = document.as_object_mut() {
        // The anchor of an interval defaults to the creation time: without the existing one, each import would differ.
        if let Some(existing) = &existing {
            fields.entry("createdAtMs").or_insert_with(|| existing.created_at.0.into());
        }
        let state = fields.remove("state").filter(Value::is_object).map(unknown_state_keys);
        fields.extend(state.map(|state| ("state".to_owned(), state)));
        enable &= fields.get("enabled") != Some(&Value::Bool(false));
        fields.insert("enabled".to_owned(), Value::Bool(enable));
    }
    let now = context.clock.now();
    let mut job = imported_job_from_json(document, now, context.clock.zones())?;
    if matches!(job.schedule.spec, ScheduleSpec::At { at, .. } if at <= now) {
        (can_be_enabled, enable, job.enabled) = (false, false, false);
        notes.push(TIME_PASSED.to_owned());
    }
    if let ScheduleSpec::Event(trigger) = &job.schedule.spec
        && !trigger.can_come()
    {
        notes.push(unknown_source(&trigger.source));
    }
    if let Some(note) = unknown_tool(context, &job) {
        (can_be_enabled, enable, job.enabled) = (false, false, false);
        notes.push(note);
    } else {
        check_call(context, &job).await?;
    }
    let (schedule_text, next) = preview_job(context, &job, MAX_SLOTS).await?;
    let warnings = warnings_of_known(context, &job).await?;
    let facts = job_facts(&to_json(&job));
    let zone = schedule_zone(context, &job);
    let report = JobReport { notes, warnings, schedule_text, zone, next, facts };
    Ok(Ok(ParsedJob { job, enable, can_be_enabled, existing, report }))
}

/// The note on a job with an unknown tool, which stays disabled because its call cannot be checked.
fn unknown_tool(context: &Context, job: &Job) -> Option<String> {
    let Payload::ToolCall(call) = &job.payload else { return None };
    let is_known = context.gate.tools().get(&call.tool).is_some();
    (!is_known).then(|| format!("There is no tool `{}`, so the job stays disabled.", call.tool))
}

/// Whether the event source is known, if the job has an event trigger.
fn has_known_source(document: &Value) -> bool {
    let schedule = &document["schedule"];
    let source = schedule["source"].as_str().unwrap_or_default().trim();
    schedule["kind"] != "event" || SOURCES.contains(&source)
}

fn unknown_source(source: &str) -> String {
    let sources = SOURCES.join(", ");
    format!("Unknown event source `{source}`, so the job stays disabled. Sources are {sources}.")
}

/// Merges a job of the file with the existing job of the same id.
async fn merge(
    context: &Context,
    existing: &Job,
    parsed: ParsedJob,
    options: ImportOptions,
    name: String,
) -> Result<ImportLine, RpcError> {
    let ParsedJob { mut job, enable, can_be_enabled, mut report, .. } = parsed;
    let skipped = |reason: String| ImportLine {
        reason: Some(reason),
        ..base_line(name.clone(), Some(&existing.id), ImportOutcome::Skipped, existing.enabled)
    };
    let is_same = definition(existing) == definition(&job);
    if is_same && (existing.enabled || !enable) {
        return Ok(skipped("The same job exists already.".to_owned()));
    }
    if !is_same && !options.update {
        return Ok(skipped(format!(
            "The existing job “{}” has the same id. An update would replace it.",
            existing.name
        )));
    }
    // An enabled job stays enabled after an update, unless the new version needs review.
    job.enabled = (enable || existing.enabled) && can_be_enabled;
    let (outcome, patch) = if is_same {
        report.notes.insert(0, ENABLED.to_owned());
        (ImportOutcome::SwitchedOn, json!({ "enabled": true }))
    } else {
        if existing.enabled && !job.enabled {
            report.notes.insert(0, DISABLED.to_owned());
        }
        (ImportOutcome::Updated, replacement_patch(&to_json(existing), &to_json(&job)))
    };
    // Also in a dry run, which must report the same errors.
    let updated = patch_job(existing, patch.clone(), context.clock.now(), context.clock.zones())?;
    if !updated.is_same_work(existing) {
        report.notes.extend(revocation_notes(&valid_grants(context, existing).await?));
    }
    if !options.dry_run {
        let revision = Some(existing.state.revision);
        context.scheduler.replace_job(&existing.id, patch, revision).await?;
    }
    Ok(imported_line(name, &existing.id, outcome, job.enabled, report))
}

/// Notes on grants that an update revokes, because they were made for other work.
fn revocation_notes(grants: &[GrantView]) -> Vec<String> {
    let note = |grant: &GrantView| {
        let (tool, covers) = (&grant.tool, grant.covers.describe());
        escape_line(&format!(
            "The work of the job changes, so your grant for {tool} ({covers}) is revoked."
        ))
    };
    grants.iter().map(note).collect()
}

fn imported_line(
    name: String,
    id: &JobId,
    outcome: ImportOutcome,
    enabled: bool,
    report: JobReport,
) -> ImportLine {
    let JobReport { notes, warnings, schedule_text, zone, next, facts } = report;
    let schedule_text = Some(schedule_text);
    let base = base_line(name, Some(id), outcome, enabled);
    ImportLine { notes, warnings, schedule_text, zone, next, facts, ..base }
}

fn refused_line(name: String, reason: String) -> ImportLine {
    ImportLine { reason: Some(reason), ..base_line(name, None, ImportOutcome::Refused, false) }
}

/// A line with the outcome only.
fn base_line(
    name: String,
    id: Option<&JobId>,
    outcome: ImportOutcome,
    enabled: bool,
) -> ImportLine {
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

/// The document for a comparison: without state and without the line of its origin, which a comment in the file moves.
fn definition(job: &Job) -> Value {
    let mut document = to_json(job);
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|key, _| !IGNORED_FIELDS.contains(&key.as_str()));
        let origin = fields.get_mut(ORIGIN).and_then(Value::as_object_mut);
        origin.and_then(|origin| origin.remove("line"));
    }
    document
}

/// The merge patch from `from` to `to`, which removes keys missing in `to`.
fn replacement_patch(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else { return to.clone() };
    let removed = from.keys().filter(|key| !to.contains_key(*key));
    let mut patch: Map<String, Value> = removed.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in to {
        let before = from.get(key).unwrap_or(&Value::Null);
        patch.insert(key.clone(), replacement_patch(before, value));
    }
    Value::Object(patch)
}
