//! JSON → job.
//!
//! A written document gets the defaults that are fixed at creation, is validated by schema and rules, and becomes a job
//! in canonical form. All violations are reported at once, each with a field path.
//! Pitfall: validating a stored document. Zone and pattern are taken unchanged (`Slots::compile` reports errors).

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::document::Job;
use super::payload::Payload;
use super::schedule::Schedule;
use super::schema::{self, JOB};
use super::{bounds, checks};
use crate::json_fields::{FieldError, kind_of};
use crate::schedule::{Zone, Zones};
use crate::time::{lower_days, parse_dated_instant};
use crate::{JobId, UnixMs};

/// The input is not a job. An error per field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct JobError(pub Vec<FieldError>);

impl From<FieldError> for JobError {
    fn from(error: FieldError) -> Self {
        Self(vec![error])
    }
}

impl JobError {
    fn of(path: &str, message: impl Into<String>) -> Self {
        Self(vec![FieldError { path: path.to_owned(), message: message.into() }])
    }
}

/// Reads a job that a client wrote. Fills the defaults of `id`, `createdAtMs`, `updatedAtMs`, `enabled`,
/// `sessionTarget`, `wakeMode`, the zone and the anchor.
///
/// # Errors
/// Every violation, with field paths.
pub fn job_from_json(input: Value, now: UnixMs, zones: impl Into<Zones>) -> Result<Job, JobError> {
    read_written(input, now, &zones.into(), |_| false)
}

/// Reads a job of an import file. Jitter without effect is kept.
///
/// # Errors
/// Every violation, with field paths.
pub fn imported_job_from_json(
    input: Value,
    now: UnixMs,
    zones: impl Into<Zones>,
) -> Result<Job, JobError> {
    read_written(input, now, &zones.into(), |error| error.path == checks::JITTER)
}

/// Checks size and depth of `input` alone, before anything else reads the document.
///
/// # Errors
/// Every violation, with field paths; no message repeats the value.
pub fn check_bounds(input: &Value) -> Result<(), JobError> {
    let found = bounds::size_violations(input);
    if found.is_empty() { Ok(()) } else { Err(JobError(found)) }
}

/// Reads a written document. `is_accepted` violations are ignored.
pub(super) fn read_written(
    mut document: Value,
    now: UnixMs,
    zones: &Zones,
    is_accepted: impl Fn(&FieldError) -> bool,
) -> Result<Job, JobError> {
    if !document.is_object() {
        let message = format!("expected an object, found {}", kind_of(&document));
        return Err(JobError::of("(whole input)", message));
    }
    JOB.normalise(&mut document);
    if let Some(hours) = document.pointer_mut("/policies/quietHours") {
        lower_days(hours);
    }
    let clock_time =
        document.get_mut("schedule").map(|schedule| convert_clock_time(schedule, zones));
    fill_defaults(&mut document, now, zones.local());
    let mut found = Vec::from_iter(clock_time.and_then(Result::err));
    found.extend(violations(&document, zones));
    found.retain(|error| !is_accepted(error));
    if !found.is_empty() {
        return Err(JobError(found));
    }
    let mut job: Job = parse(document)?;
    job.canonicalise(zones);
    Ok(job)
}

/// All violations of a document with defaults; the first of each field.
pub(super) fn violations(document: &Value, zones: &Zones) -> Vec<FieldError> {
    let across_fields = [
        checks::violations(document, zones),
        bounds::text_violations(document),
        bounds::size_violations(document),
    ];
    JOB.violations(document, across_fields.concat())
}

/// Reads a job from the store, without validation.
///
/// # Errors
/// The first value without a place in the type.
pub fn stored_job_from_json(mut document: Value) -> Result<Job, JobError> {
    fill_defaults(&mut document, UnixMs(0), Zone::UTC);
    parse(document)
}

/// Reads a schedule without a job, such as the schedule of a form; paths begin with `schedule.`.
///
/// # Errors
/// Every violation, with field paths.
pub fn schedule_from_json(input: Value, now: UnixMs, zones: &Zones) -> Result<Schedule, JobError> {
    // Any other valid job has the same violations of the schedule.
    let document = json!({
        "name": "preview",
        "schedule": input,
        "payload": { "kind": "toolCall", "tool": "preview" },
    });
    read_written(document, now, zones, |_| false).map(|job| job.schedule)
}

/// Removes the keys of `state` that belong to the engine.
#[must_use]
pub fn unknown_state_keys(mut state: Value) -> Value {
    let known = schema::known_keys("state", &Value::Null);
    if let Some(fields) = state.as_object_mut() {
        fields.retain(|key, _| !known.contains(&key.as_str()));
    }
    state
}

pub(super) fn parse<T: DeserializeOwned>(document: Value) -> Result<T, JobError> {
    serde_json::from_value(document)
        .map_err(|error| JobError::of("(whole input)", error.to_string()))
}

/// Converts the local time `at` of a one-shot to `atMs`. Beside `atMs`, `at` is an unknown key.
fn convert_clock_time(schedule: &mut Value, zones: &Zones) -> Result<(), FieldError> {
    let is_clock_time = schedule["kind"] == "at" && schedule["atMs"].is_null();
    if !is_clock_time || schedule["at"].is_null() {
        return Ok(());
    }
    let error = |message: String| FieldError { path: "schedule.at".to_owned(), message };
    let zone = schedule["tz"].as_str().and_then(|tz| zones.zone(tz)).unwrap_or(zones.local());
    let instant = match &schedule["at"] {
        Value::String(text) => parse_dated_instant(text, zone).map_err(error).and_then(|at| {
            let is_valid = (0..=UnixMs::LATEST.0).contains(&at.0);
            let message = "must be between the years 1970 and 9999";
            is_valid.then_some(at).ok_or_else(|| error(message.to_owned()))
        }),
        other => Err(error(format!("expected a text, found {}", kind_of(other)))),
    };
    if let Some(fields) = schedule.as_object_mut() {
        fields.shift_remove("at");
        // A valid instant instead leaves the complaint about `at` alone.
        fields.insert("atMs".to_owned(), instant.as_ref().map_or(0, |at| at.0).into());
    }
    instant.map(drop)
}

fn fill_defaults(document: &mut Value, now: UnixMs, local: Zone) {
    if !document.is_object() {
        return;
    }
    if document["id"].as_str().is_none_or(|id| id.trim().is_empty()) && !document["id"].is_number()
    {
        document["id"] = JobId::generate().as_str().into();
    }
    let target = if document["payload"]["kind"] == "systemEvent" { "main" } else { "isolated" };
    let defaults = [
        ("enabled", json!(true)),
        ("createdAtMs", json!(now)),
        ("updatedAtMs", json!(now)),
        ("sessionTarget", json!(target)),
        ("wakeMode", json!("now")),
    ];
    for (key, default) in defaults {
        fill(document, key, default);
    }
    let created_at = document["createdAtMs"].clone();
    let Some(schedule) = document.get_mut("schedule") else { return };
    match schedule["kind"].as_str() {
        Some("every") => fill(schedule, "anchorMs", created_at),
        Some("cron") => fill(schedule, "tz", local.name().into()),
        _ => {}
    }
}

fn fill(part: &mut Value, key: &str, default: Value) {
    if let Some(fields) = part.as_object_mut() {
        fields.entry(key).or_insert(default);
    }
}

impl Job {
    /// A single form for each meaning: trimmed patterns, zones by IANA name, lists without duplicates.
    fn canonicalise(&mut self, zones: &Zones) {
        self.schedule.canonicalise(zones);
        if let Payload::AgentTurn(turn) = &mut self.payload {
            remove_duplicates(&mut turn.skills);
        }
        self.policies.quiet_hours.canonicalise(zones);
        for host in &mut self.policies.hosts {
            *host = host.trim().to_ascii_lowercase();
        }
        remove_duplicates(&mut self.policies.hosts);
        remove_duplicates(&mut self.policies.folders);
    }
}

fn remove_duplicates<T: PartialEq + Clone>(list: &mut Vec<T>) {
    let mut kept: Vec<T> = Vec::with_capacity(list.len());
    for item in list.drain(..) {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    *list = kept;
}
