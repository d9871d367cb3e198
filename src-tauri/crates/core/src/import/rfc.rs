//! The `jobs.json` of the cron RFC.
//!
//! The job format is the RFC's, so jobs are taken as they are. Only what the RFC allows and Rouse does not is put right:
//! a job for the main session whose payload is an agent's turn. The RFC derives the event from the message; so does this.

use serde_json::Value;

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
            "Its message is queued for the main conversation, as the RFC has it for main jobs."
                .to_owned(),
        );
    }
    Entry { notes, ..Entry::faithful(name, job) }
}
