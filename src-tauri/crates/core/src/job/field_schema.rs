//! JSON schemas of single fields of the job document.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Whether a field has the default, which the document leaves out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(super) fn cron_pattern(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": r"\S", "format": "cron-pattern" })
}

pub(super) fn event_source(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": r"\S", "maxLength": 100 })
}

pub(super) fn cel(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": r"\S", "maxLength": crate::condition::MAX_CONDITION_BYTES })
}

pub(super) fn event_filters(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 20,
        "additionalProperties": { "type": ["string", "number", "boolean"] },
    })
}
