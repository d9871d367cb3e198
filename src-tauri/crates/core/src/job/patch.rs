//! A merge patch (RFC 7396) on a job.
//!
//! Owns the patchable keys, and the removal of keys of a changed kind. The result is read like a written job, but
//! earlier violations are accepted: an edit is refused only for its own mistakes.
//! Pitfall: replacing an object of a changed kind as a whole. Unknown keys belong to another program and stay.

use serde_json::{Map, Value};

use super::author::MESSAGE_BY;
use super::document::{Job, JobState, to_json};
use super::payload::Payload;
use super::read::{JobError, read_written, unknown_state_keys, violations};
use super::schema;
use crate::UnixMs;
use crate::json_fields::{FieldError, kind_of, merge};
use crate::schedule::Zones;

/// Applies `patch` to `job`; `null` removes a key. `id`, `createdAtMs` and the known keys of `state` stay. A changed
/// message counts as written by a person unless the patch has `messageBy`.
///
/// # Errors
/// Every violation of the patched job, with field paths.
pub fn patch_job(
    job: &Job,
    patch: Value,
    now: UnixMs,
    zones: impl Into<Zones>,
) -> Result<Job, JobError> {
    let zones = zones.into();
    let Value::Object(mut patch) = patch else {
        let message = format!("expected an object, found {}", kind_of(&patch));
        return Err(JobError(vec![FieldError { path: "patch".to_owned(), message }]));
    };
    for key in ["id", "createdAtMs", "updatedAtMs"] {
        patch.remove(key);
    }
    let is_signed = patch.contains_key(MESSAGE_BY);
    let state = patch.remove("state").filter(Value::is_object).map(unknown_state_keys);
    patch.extend(state.map(|state| ("state".to_owned(), state)));

    let mut document = to_json(job);
    let before = violations(&document, &zones);
    for (part, extra) in [("schedule", &job.schedule.extra), ("payload", extra_of(&job.payload))] {
        remove_keys_of_old_kind(part, &mut document[part], extra, patch.get(part));
    }
    remove_old_instant(&mut document["schedule"], patch.get("schedule"));
    let has_new_jitter = patch.get("schedule").is_some_and(|part| !part["jitterMs"].is_null());
    merge(&mut document, Value::Object(patch));

    let is_accepted = |error: &FieldError| {
        before.contains(error) && !(has_new_jitter && error.path == super::checks::JITTER)
    };
    let mut patched = read_written(document, now, &zones, is_accepted)?;
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

/// A local time `at` without `atMs` replaces the instant.
fn remove_old_instant(schedule: &mut Value, patch: Option<&Value>) {
    let Some(patch) = patch else { return };
    let has_clock_time = patch["at"].is_string() && patch.get("atMs").is_none();
    if has_clock_time
        && schedule["kind"] == "at"
        && let Some(fields) = schedule.as_object_mut()
    {
        fields.shift_remove("atMs");
    }
}

/// A changed kind starts with the unknown keys, without the known keys of the new kind.
fn remove_keys_of_old_kind(
    part: &str,
    present: &mut Value,
    extra: &Map<String, Value>,
    patch: Option<&Value>,
) {
    let Some(kind) = patch.and_then(|patch| patch.get("kind")) else { return };
    if present["kind"] != *kind {
        let known = schema::known_keys(part, kind);
        let mut kept = extra.clone();
        kept.retain(|key, _| !known.contains(&key.as_str()));
        *present = Value::Object(kept);
    }
}
