//! Rouse's own export: jobs in the job format.

use serde_json::Value;

use super::Entry;

/// Whether the whole document says that Rouse wrote it.
pub(super) fn is_export(document: &Value) -> bool {
    document.get("format").and_then(Value::as_str) == Some("rouse")
}

/// Whether a job says something that only Rouse's format has.
pub(super) fn is_ours(job: &Value) -> bool {
    let kind = |part: &str| job.get(part).and_then(|part| part.get("kind")).and_then(Value::as_str);
    job.get("policies").is_some()
        || kind("payload") == Some("toolCall")
        || matches!(kind("schedule"), Some("manual" | "event" | "webhook"))
}

pub(super) fn read(name: String, job: Value) -> Entry {
    Entry::faithful(name, job)
}
