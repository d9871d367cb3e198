//! The `jobs.json` of the cron RFC.
//!
//! The job format is the RFC's, so jobs are taken as they are. Only what the RFC allows and Rouse does not is put right:
//! a job for the main session whose payload is an agent's turn. The RFC derives the event from the message; so does this.

use serde_json::{Map, Value};

use super::Entry;

pub(super) fn read(name: String, mut job: Value) -> Entry {
    let is_turn_in_main = job.get("sessionTarget").and_then(Value::as_str) == Some("main")
        && job["payload"]["kind"] == "agentTurn";
    let mut notes = Vec::new();
    if is_turn_in_main && let Some(payload) = job["payload"].as_object_mut() {
        let message = payload.remove("message").unwrap_or_default();
        payload.insert("kind".to_owned(), "systemEvent".into());
        payload.insert("text".to_owned(), message);
        notes.push(
            "Its message is queued for the main session, as the RFC has it for main jobs."
                .to_owned(),
        );
        notes.extend(sent_to(payload));
    }
    Entry { notes, ..Entry::faithful(name, job) }
}

/// What to know of a turn whose outcome was to be sent on: a line for the main session has none.
fn sent_to(payload: &Map<String, Value>) -> Option<String> {
    if payload.get("deliver") == Some(&Value::Bool(false)) {
        return None;
    }
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let keys = ["deliver", "channel", "to"].into_iter();
    let said: Vec<String> = keys
        .filter_map(|key| Some((key, payload.get(key).filter(|value| !value.is_null())?)))
        .map(|(key, value)| format!("`{key}: {}`", plain(value)))
        .collect();
    (!said.is_empty()).then(|| {
        let said = said.join(", ");
        format!("Nothing is sent from the main session to a channel: {said} has no effect here.")
    })
}
