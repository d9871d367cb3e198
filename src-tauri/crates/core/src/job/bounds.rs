//! Bounds on the length and the characters of a job's texts.
//!
//! Jobs appear in lists, notifications and backups; a paste without bounds could make these unusable.
//! Pitfall: checking stored jobs. An upgrade with tighter bounds would lose such jobs.

use serde_json::Value;

use crate::json_fields::FieldError;
use crate::text::MAX_DEPTH;
use crate::text::{escape_invisible, has_hidden_text, has_visible_text};

const ID: usize = 200;
const NAME: usize = 200;
const DESCRIPTION: usize = 4_000;
const WORDS_BYTES: usize = 64 * 1024;
const WHOLE_BYTES: usize = 256 * 1024;
/// The tool that runs `command` unchanged.
pub(super) const COMMAND_TOOL: &str = "run_command";

/// Violations of size and depth of any JSON document that becomes a job.
pub(super) fn size_violations(document: &Value) -> Vec<FieldError> {
    let mut found = Complaints(Vec::new());
    if document.to_string().len() > WHOLE_BYTES {
        // Without the size: an edit of another field must not look like a new violation.
        found.add("(whole input)", format!("must be at most {} KB", WHOLE_BYTES / 1024));
    }
    found.document("", document, 1);
    found.0
}

/// Violations of the length and the characters of a job's texts.
pub(super) fn text_violations(job: &Value) -> Vec<FieldError> {
    let mut found = Complaints(Vec::new());
    let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
    let (id, name) = (text(&job["id"]), text(&job["name"]));
    found.characters("id", &id, ID);
    found.characters("name", &name, NAME);
    found.characters("description", &text(&job["description"]), DESCRIPTION);
    if has_control(&id, &[]) || escape_invisible(&id) != id {
        found.add("id", "must have no control or invisible characters".to_owned());
    }
    if has_control(&name, &[]) {
        found.add("name", "must have no control characters, line breaks or tabs".to_owned());
    } else if !name.is_empty() && !has_visible_text(&name) {
        found.add("name", "must have a character that can be seen".to_owned());
    } else if has_hidden_text(&name) {
        let reason =
            "must have no characters that take no room or turn the reading direction around";
        found.add("name", reason.to_owned());
    }
    let payload = &job["payload"];
    found.words("payload.text", &text(&payload["text"]));
    found.words("payload.message", &text(&payload["message"]));
    if payload["tool"] == COMMAND_TOOL {
        found.words("payload.arguments.command", &text(&payload["arguments"]["command"]));
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
        if is_nested && level > MAX_DEPTH {
            return self
                .add(outermost(path), format!("must be nested at most {MAX_DEPTH} levels deep"));
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
            self.add(&escape_invisible(path), "must have no NUL character".to_owned());
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

/// The first three keys of a path that is nested too deeply.
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
        Job, JobError, check_bounds, job_from_json, patch_job, stored_job_from_json, to_json,
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
    fn size_bounds_ignore_content() {
        assert!(check_bounds(&json!({ "name": 7, "schedule": "the words of a secret" })).is_ok());
        let large = json!({ "filters": vec!["the words of a secret"; 20_000] });
        let complaints = check_bounds(&large).expect_err("too large").0;
        let expected = ("(whole input)", "must be at most 256 KB");
        let found: Vec<(&str, &str)> =
            complaints.iter().map(|error| (error.path.as_str(), error.message.as_str())).collect();
        assert_eq!(found, [expected]);
    }

    #[test]
    fn stored_oversized_field_allows_other_edits() {
        let large = json!({ "name": "a".repeat(500), "notes": "b".repeat(300 * 1024) });
        let job = stored_job_from_json(draft(large)).expect("a stored job stays readable");
        let patch = |patch: Value| complaint(patch_job(&job, patch, UnixMs(1), chrono_tz::UTC));
        assert_eq!(patch(json!({ "enabled": false })), None);
        let longer = patch(json!({ "name": "a".repeat(501) }));
        let expected = "must be at most 200 characters, found 501";
        assert_eq!(longer, Some(("name".to_owned(), expected.to_owned())));
        assert!(stored_job_from_json(to_json(&job)).is_ok());
    }
}
