//! Rouse's own export: jobs in the job format.

use serde_json::Value;

use super::entry::ImportEntry;

/// Whether the document is an export of Rouse.
pub(super) fn is_export(document: &Value) -> bool {
    document.get("format").and_then(Value::as_str) == Some("rouse")
}

/// Whether a job has fields that only Rouse's format has.
pub(super) fn is_ours(job: &Value) -> bool {
    let kind = |part: &str| job.get(part).and_then(|part| part.get("kind")).and_then(Value::as_str);
    job.get("policies").is_some()
        || kind("payload") == Some("toolCall")
        || matches!(kind("schedule"), Some("manual" | "event" | "webhook"))
}

pub(super) fn read(name: String, job: Value) -> ImportEntry {
    ImportEntry::faithful(name, job)
}
