//! JSON schema of the job document.

use std::sync::LazyLock;

use serde_json::Value;

use super::checks::format_violation;
use super::document::Job;
use crate::json_fields::{DocumentSchema, is_of_kind, keys_of_kind, union_of};

/// The formats of texts, checked by `checks::format_violation`.
const FORMATS: [&str; 9] = [
    "channel-target",
    "cron-pattern",
    "event-pattern",
    "folder-grant",
    "host",
    "job-server",
    "model",
    "skill-name",
    "time-of-day",
];

pub(super) static JOB: LazyLock<DocumentSchema> =
    LazyLock::new(|| DocumentSchema::of::<Job>(&FORMATS, format_violation));

/// The JSON schema of the job document: names, types, bounds, units and descriptions.
#[must_use]
pub fn job_schema() -> &'static Value {
    &JOB.schema
}

/// The schema of the object under `part`, in the branch of `kind`.
pub(super) fn part_of_kind(part: &str, kind: &Value) -> &'static Value {
    let schema = &job_schema()["properties"][part];
    let branch =
        union_of(schema).and_then(|branches| branches.iter().find(|b| is_of_kind(b, kind)));
    branch.unwrap_or(schema)
}

/// The known keys of the object under `part`, in the branch of `kind` where the object is a union.
pub(super) fn known_keys(part: &str, kind: &Value) -> Vec<&'static str> {
    keys_of_kind(&JOB.schema["properties"][part], kind)
}
