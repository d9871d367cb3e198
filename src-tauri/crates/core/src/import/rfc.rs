//! The `jobs.json` of the cron RFC.
//!
//! Owns the one correction: an agent turn for the main session, which the RFC allows, becomes a system event with the
//! same text. Everything else is unchanged.

use serde_json::{Map, Value};

use super::entry::ImportEntry;

pub(super) fn read(name: String, mut job: Value) -> ImportEntry {
    let is_turn_in_main = job.get("sessionTarget").and_then(Value::as_str) == Some("main")
        && job["payload"]["kind"] == "agentTurn";
    let mut notes = Vec::new();
    if is_turn_in_main && let Some(payload) = job["payload"].as_object_mut() {
        let message = payload.remove("message").unwrap_or_default();
        payload.insert("kind".to_owned(), "systemEvent".into());
        payload.insert("text".to_owned(), message);
        notes.push(
            "The message is queued for the main session, as the RFC requires for main jobs."
                .to_owned(),
        );
        notes.extend(sent_to(payload));
    }
    ImportEntry { notes, ..ImportEntry::faithful(name, job) }
}

/// The note on a turn with a delivery: a system event of the main session has none.
fn sent_to(payload: &Map<String, Value>) -> Option<String> {
    if payload.get("deliver") == Some(&Value::Bool(false)) {
        return None;
    }
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let keys = ["deliver", "channel", "to"].into_iter();
    let ignored: Vec<String> = keys
        .filter_map(|key| Some((key, payload.get(key).filter(|value| !value.is_null())?)))
        .map(|(key, value)| format!("`{key}: {}`", plain(value)))
        .collect();
    (!ignored.is_empty()).then(|| {
        let ignored = ignored.join(", ");
        format!("Nothing is sent from the main session to a channel: {ignored} has no effect here.")
    })
}
