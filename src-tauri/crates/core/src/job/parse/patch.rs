//! A change laid over a job.
//!
//! Owns what a merge patch means to a job: what it may not touch, and what goes when a kind changes. It refuses to judge
//! the result, which is read like any other job. One could get it wrong by starting a changed kind afresh: keys that
//! nobody here knows belong to somebody else, and stay.

use serde_json::{Map, Value};

use super::{
    JobError, Origin, Sources, bounds, event, is_off, jitter, read_payload, read_schedule,
    strangers_of_state, written,
};
use crate::UnixMs;
use crate::job::{Job, JobState, MESSAGE_BY, Payload, ScheduleSpec, job_to_json};
use crate::json_fields::{FieldError, Fields, kind_of, merge};
use crate::schedule::Zones;

/// Lays `patch` over `job` (RFC 7396 merge: `null` takes a key away) and reads the result again. `id`, `createdAtMs`
/// and what is known of `state` are not the client's to change. Other words in it are a person's, unless it says whose.
///
/// # Errors
/// Every complaint about the patched job, with the path of its field.
pub fn patch_job(
    job: &Job,
    patch: Value,
    now: UnixMs,
    zones: impl Into<Zones>,
) -> Result<Job, JobError> {
    let mut document = job_to_json(job);
    let mut before = bounds::complaints(job);
    before.extend(bounds::complaints_about(&document));
    before.extend(event::complaint(&job.schedule.spec));
    let Value::Object(mut patch) = patch else {
        let message = format!("expected an object, found {}", kind_of(&patch));
        return Err(JobError(vec![FieldError { path: "patch".to_owned(), message }]));
    };
    if patch.get("schedule").is_none_or(|schedule| schedule["jitterMs"].is_null()) {
        before.extend(jitter::complaint_about(&job.schedule));
    }
    for key in ["id", "createdAtMs", "updatedAtMs"] {
        patch.remove(key);
    }
    let is_signed = patch.contains_key(MESSAGE_BY);
    let state = patch.remove("state").filter(Value::is_object).map(strangers_of_state);
    patch.extend(state.map(|state| ("state".to_owned(), state)));
    for (part, extra) in [("schedule", &job.schedule.extra), ("payload", extra_of(&job.payload))] {
        replace_changed_kind(part, &mut document[part], extra, patch.get(part));
    }
    forget_instant(&mut document["schedule"], patch.get("schedule"));
    merge(&mut document, Value::Object(patch));
    let sources = match &job.schedule.spec {
        ScheduleSpec::Event(trigger) if is_off(&document) => Sources::KnownOr(&trigger.source),
        _ => Sources::Known,
    };
    let mut patched = written(document, now, &zones.into(), sources, &before)?;
    if !is_signed && patched.payload.message() != job.payload.message() {
        patched.claim_message();
    }
    patched.updated_at = now;
    patched.state = JobState { extra: patched.state.extra, ..job.state.clone() };
    Ok(patched)
}

const fn extra_of(payload: &Payload) -> &Map<String, Value> {
    match payload {
        Payload::SystemEvent { extra, .. } => extra,
        Payload::AgentTurn(turn) => &turn.extra,
        Payload::ToolCall(call) => &call.extra,
    }
}

/// A time that is written as a clock shows it stands for another instant than the one before, which goes unless it is named.
fn forget_instant(present: &mut Value, patch: Option<&Value>) {
    let Some(patch) = patch else { return };
    let is_written = patch["at"].is_string() && patch.get("atMs").is_none();
    if is_written
        && present["kind"] == "at"
        && let Some(fields) = present.as_object_mut()
    {
        fields.shift_remove("atMs");
    }
}

/// A patch that changes a kind starts that object afresh: the old kind's keys mean nothing in the new one. Of what the old
/// one did not know, the words of the new one go too: they were never meant for it.
fn replace_changed_kind(
    part: &str,
    present: &mut Value,
    extra: &Map<String, Value>,
    patch: Option<&Value>,
) {
    let Some(kind) = patch.and_then(|patch| patch.get("kind")) else { return };
    if present["kind"] != *kind {
        let words = if extra.is_empty() { Vec::new() } else { words_of(part, kind) };
        let mut kept = extra.clone();
        kept.retain(|key, _| !words.contains(&format!("{part}.{key}")));
        *present = Value::Object(kept);
    }
}

/// The paths that a schedule or a payload of this kind knows.
fn words_of(part: &str, kind: &Value) -> Vec<String> {
    let kind = Map::from_iter([("kind".to_owned(), kind.clone())]);
    let whole = Map::from_iter([(part.to_owned(), Value::Object(kind))]);
    let (mut errors, mut asked) = (Vec::new(), Vec::new());
    let mut fields = Fields::noting("", Value::Object(whole), &mut errors, &mut asked);
    if part == "schedule" {
        read_schedule(&mut fields, UnixMs(0), Origin::Stored);
    } else {
        read_payload(&mut fields);
    }
    asked
}
