//! How much of a text a job takes, and which characters.
//!
//! A job is shown in lists, told in notifications and kept in every backup: without bounds one paste could make each of
//! them unusable. Only what somebody writes is judged; a job that is stored stays readable, and an edit of it is refused
//! only for what the edit itself made too large. One could get this wrong by judging stored jobs: an upgrade with
//! tighter bounds would take them away.

use serde_json::Value;

use super::{Job, Payload};
use crate::depth::LEVELS;
use crate::json_fields::FieldError;
use crate::visible::{hides_something, shows_something, visible};

const ID: usize = 200;
const NAME: usize = 200;
const DESCRIPTION: usize = 4_000;
const WORDS_BYTES: usize = 64 * 1024;
const WHOLE_BYTES: usize = 256 * 1024;
/// The tool whose `command` is run as it is written.
pub(super) const COMMAND_TOOL: &str = "run_command";

/// What is wrong with a job as a document: whatever its keys mean, it must be told in answers, exported and imported.
pub(super) fn complaints_about(document: &Value) -> Vec<FieldError> {
    let mut found = Complaints(Vec::new());
    if document.to_string().len() > WHOLE_BYTES {
        // Without the number found: an edit of something else must not look like a new complaint.
        found.add("(whole input)", format!("must be at most {} KB", WHOLE_BYTES / 1024));
    }
    found.document("", document, 1);
    found.0
}

/// What is wrong with the texts of `job`.
pub(super) fn complaints(job: &Job) -> Vec<FieldError> {
    let mut found = Complaints(Vec::new());
    found.characters("id", job.id.as_str(), ID);
    found.characters("name", &job.name, NAME);
    found.characters("description", job.description.as_deref().unwrap_or_default(), DESCRIPTION);
    let id = job.id.as_str();
    if has_control(id, &[]) || visible(id) != id {
        found.add("id", "must have no control or invisible characters".to_owned());
    }
    // An empty name was complained about as such.
    if has_control(&job.name, &[]) {
        found.add("name", "must have no control characters, line breaks or tabs".to_owned());
    } else if !job.name.is_empty() && !shows_something(&job.name) {
        found.add("name", "must have a character that can be seen".to_owned());
    } else if hides_something(&job.name) {
        let reason =
            "must have no characters that take no room or turn the reading direction around";
        found.add("name", reason.to_owned());
    }
    match &job.payload {
        Payload::SystemEvent { text, .. } => found.words("payload.text", text),
        Payload::AgentTurn(turn) => found.words("payload.message", &turn.message),
        Payload::ToolCall(call) if call.tool == COMMAND_TOOL => {
            let command = call.arguments.get("command").and_then(Value::as_str).unwrap_or_default();
            found.words("payload.arguments.command", command);
        }
        Payload::ToolCall(_) => {}
    }
    found.0
}

struct Complaints(Vec<FieldError>);

impl Complaints {
    fn add(&mut self, path: &str, message: String) {
        self.0.push(FieldError { path: path.to_owned(), message });
    }

    fn characters(&mut self, path: &str, text: &str, most: usize) {
        let count = text.chars().count();
        if count > most {
            self.add(path, format!("must be at most {most} characters, found {count}"));
        }
    }

    fn document(&mut self, path: &str, value: &Value, level: usize) {
        let is_nested = value.is_object() || value.is_array();
        if is_nested && level > LEVELS {
            return self
                .add(outermost(path), format!("must be nested at most {LEVELS} levels deep"));
        }
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    self.no_nul(&path, key);
                    self.document(&path, value, level + 1);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.document(&format!("{path}[{index}]"), item, level + 1);
                }
            }
            Value::String(text) => self.no_nul(path, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn no_nul(&mut self, path: &str, text: &str) {
        if text.contains('\0') {
            self.add(&visible(path), "must have no NUL character".to_owned());
        }
    }

    fn words(&mut self, path: &str, text: &str) {
        if text.len() > WORDS_BYTES {
            let most = WORDS_BYTES / 1024;
            self.add(path, format!("must be at most {most} KB, found {} bytes", text.len()));
        }
        if has_control(text, &['\n', '\r', '\t']) {
            self.add(path, "must have no control characters but line breaks and tabs".to_owned());
        }
    }
}

/// The first three keys: what is nested too deeply has a path that nobody reads.
fn outermost(path: &str) -> &str {
    path.match_indices(['.', '[']).nth(2).map_or(path, |(end, _)| &path[..end])
}

fn has_control(text: &str, but: &[char]) -> bool {
    text.chars().any(|character| character.is_control() && !but.contains(&character))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::UnixMs;
    use crate::job::{
        JobError, check_bounds, job_from_json, job_to_json, patch_job, stored_job_from_json,
    };

    use super::*;

    fn draft(change: Value) -> Value {
        let mut draft = json!({
            "name": "A job", "schedule": { "kind": "manual" },
            "payload": { "kind": "agentTurn", "message": "Look" },
        });
        for (key, value) in change.as_object().cloned().unwrap_or_default() {
            draft[key] = value;
        }
        draft
    }

    fn complaint(result: Result<Job, JobError>) -> Option<(String, String)> {
        let error = result.err()?;
        assert_eq!(error.0.len(), 1, "{error}");
        error.0.into_iter().next().map(|error| (error.path, error.message))
    }

    fn added(change: Value) -> Option<String> {
        complaint(job_from_json(draft(change), UnixMs(0), chrono_tz::UTC)).map(|(path, _)| path)
    }

    #[test]
    fn texts_have_bounds_and_the_complaint_names_the_field() {
        let message = |text: String| json!({ "payload": { "kind": "agentTurn", "message": text } });
        let event = |text: &str| json!({ "payload": { "kind": "systemEvent", "text": text } });
        let command = |text: &str| json!({ "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": text } } });
        let cases = [
            (json!({ "id": "a".repeat(200), "name": "ü".repeat(200) }), None),
            (json!({ "id": "a".repeat(201) }), Some("id")),
            (json!({ "id": "a\u{0}b" }), Some("id")),
            (json!({ "id": "a\nb" }), Some("id")),
            (json!({ "id": "a\u{202e}b" }), Some("id")),
            (json!({ "name": "a".repeat(201) }), Some("name")),
            (json!({ "name": "a\u{0}b" }), Some("name")),
            (json!({ "name": "a\tb" }), Some("name")),
            (json!({ "name": "\u{200b}\u{2060}" }), Some("name")),
            (json!({ "name": "⟨" }), None),
            (json!({ "description": "ü".repeat(4_000) }), None),
            (json!({ "description": "a".repeat(4_001) }), Some("description")),
            (message("a".repeat(64 * 1024)), None),
            (message("a".repeat(64 * 1024 + 1)), Some("payload.message")),
            (message("one\r\n\ttwo".to_owned()), None),
            (event("a\u{0}"), Some("payload.text")),
            (command("ls\n\tpwd"), None),
            (command("ls \u{0}"), Some("payload.arguments.command")),
            (command("ls \u{1b}[2K"), Some("payload.arguments.command")),
            (json!({ "notes": "a".repeat(256 * 1024) }), Some("(whole input)")),
        ];
        for (change, expected) in cases {
            let shown: String = change.to_string().chars().take(60).collect();
            assert_eq!(added(change).as_deref(), expected, "{shown}");
        }
    }

    #[test]
    fn the_bounds_alone_say_nothing_of_what_stands_there() {
        assert!(check_bounds(&json!({ "name": 7, "schedule": "the words of a secret" })).is_ok());
        let large = json!({ "filters": vec!["the words of a secret"; 20_000] });
        let complaints = check_bounds(&large).expect_err("too large").0;
        let expected = ("(whole input)", "must be at most 256 KB");
        let found: Vec<(&str, &str)> =
            complaints.iter().map(|error| (error.path.as_str(), error.message.as_str())).collect();
        assert_eq!(found, [expected]);
    }

    #[test]
    fn what_is_stored_stays_and_is_edited_in_all_else() {
        let large = json!({ "name": "a".repeat(500), "notes": "b".repeat(300 * 1024) });
        let job = stored_job_from_json(draft(large)).expect("a stored job stays readable");
        let patch = |patch: Value| complaint(patch_job(&job, patch, UnixMs(1), chrono_tz::UTC));
        assert_eq!(patch(json!({ "enabled": false })), None);
        let longer = patch(json!({ "name": "a".repeat(501) }));
        let expected = "must be at most 200 characters, found 501";
        assert_eq!(longer, Some(("name".to_owned(), expected.to_owned())));
        assert!(stored_job_from_json(job_to_json(&job)).is_ok());
    }
}
