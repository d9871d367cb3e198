//! JSON → event trigger.
//!
//! Where events come from, what they must say, and which triggers make no sense: a source that nothing ever comes from, a
//! pattern that cannot be looked for, a job that waits for itself. One could get it wrong by judging what is stored as
//! what is written: a job must stay readable.

use serde_json::{Map, Value};

use super::{Origin, Sources};
use crate::cause::{self, Pattern};
use crate::job::{EventTrigger, ScheduleSpec};
use crate::json_fields::{FieldError, Fields};
use crate::{JobId, RunState};

const MOST_FILTERS: usize = 20;

pub(super) fn read(fields: &mut Fields<'_>, origin: Origin<'_>) -> EventTrigger {
    let source = fields.required_text("source").trim().to_owned();
    if source.chars().count() > 100 {
        fields.complain("source", "must be at most 100 characters");
    }
    if !source.is_empty() && !may_be_named(&source, origin) {
        let known = cause::SOURCES.join(", ");
        let found = format!("found `{source}`: no event ever comes from there");
        fields.complain("source", format!("expected one of {known}, {found}"));
    }
    let pattern = fields.text("pattern").filter(|pattern| !pattern.is_empty());
    if let (Origin::Written { .. }, Some(reason)) =
        (origin, pattern.as_deref().and_then(Pattern::complaint))
    {
        fields.complain("pattern", reason);
    }
    let filters = fields.object("filters", |filters| read_filters(filters, &source));
    EventTrigger { source, pattern, filters: filters.unwrap_or_default() }
}

fn may_be_named(source: &str, origin: Origin<'_>) -> bool {
    let is_known = cause::SOURCES.contains(&source);
    match origin {
        Origin::Stored | Origin::Written { sources: Sources::Any, .. } => true,
        Origin::Written { sources: Sources::KnownOr(other), .. } => is_known || source == other,
        Origin::Written { sources: Sources::Known, .. } => is_known,
    }
}

fn read_filters(mut fields: Fields<'_>, source: &str) -> Map<String, Value> {
    let keys = fields.keys();
    if keys.len() > MOST_FILTERS {
        fields.complain_about_all(format!("must be at most {MOST_FILTERS} fields"));
    }
    let mut filters = Map::new();
    for key in keys {
        let value = fields.take(&key).unwrap_or_default();
        if matches!(value, Value::Null | Value::Array(_) | Value::Object(_)) {
            let found = crate::json_fields::kind_of(&value);
            fields.complain(
                &key,
                format!("expected a text, a number or true or false, found {found}"),
            );
        }
        filters.insert(key, value);
    }
    let status = filters.get("status").filter(|_| source == cause::JOB);
    if let Some(status) = status
        && !status.as_str().is_some_and(is_end)
    {
        fields.complain("status", "expected ok, error, skipped or the final state of a run");
    }
    filters
}

fn is_end(word: &str) -> bool {
    ["ok", "error", "skipped"].contains(&word)
        || RunState::from_name(word).is_some_and(RunState::is_final)
}

/// What a job's pattern would be refused for if it were written now.
pub(super) fn complaint(spec: &ScheduleSpec) -> Option<FieldError> {
    let ScheduleSpec::Event(EventTrigger { pattern: Some(pattern), .. }) = spec else {
        return None;
    };
    let message = Pattern::complaint(pattern)?;
    Some(FieldError { path: "schedule.pattern".to_owned(), message })
}

/// A job that fires itself would never stop.
pub(super) fn refuse_own(fields: &mut Fields<'_>, id: &JobId, name: &str, spec: &ScheduleSpec) {
    let ScheduleSpec::Event(trigger) = spec else { return };
    for (key, own) in [("jobId", id.as_str()), ("name", name)] {
        let names_itself = trigger.filters.get(key).and_then(Value::as_str) == Some(own);
        if names_itself && [cause::JOB, cause::CRON].contains(&trigger.source.as_str()) {
            let path = format!("schedule.filters.{key}");
            fields.complain(&path, "names the job itself; a job cannot come after itself");
        }
    }
}
