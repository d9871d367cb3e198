//! The event flags: the schedule of a new job, and the patch of a present job.
//!
//! Never widens the filters of a present job: while the source stays, an edit keeps the pattern, each filter and the
//! predecessor's outcome. Pitfall: an edit must not apply the defaults of a new job.

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::field_values::{NONE, set, text_value};
use crate::resolve::error::CliError;
use crate::resolve::merge_patch::replacement_patch;

/// The event source for finished runs.
pub(super) const JOB_SOURCE: &str = "job";

/// The outcome of the predecessor's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PredecessorOutcome {
    Success,
    Failure,
    Any,
}

/// A --filter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EventFilter {
    /// Removes the present filters.
    None,
    Equals(String, Value),
}

/// The event flags of a command line.
#[derive(Debug, Default)]
pub(super) struct EventFlags<'a> {
    pub(super) source: Option<&'a str>,
    pub(super) pattern: Option<&'a str>,
    pub(super) filters: &'a [EventFilter],
    /// The id of the predecessor.
    pub(super) after: Option<String>,
    pub(super) on: Option<PredecessorOutcome>,
}

impl PredecessorOutcome {
    const fn status(self) -> Option<&'static str> {
        match self {
            Self::Success => Some("ok"),
            Self::Failure => Some("error"),
            Self::Any => None,
        }
    }
}

impl EventFlags<'_> {
    /// The schedule of a new job.
    pub(super) fn to_schedule(&self) -> Result<Value, CliError> {
        let mut filters: Map<String, Value> = self.equals_filters().collect();
        match &self.after {
            Some(id) => {
                filters.insert("jobId".to_owned(), json!(id));
                let outcome = self.on.unwrap_or(PredecessorOutcome::Success);
                set(&mut filters, "status", outcome.status());
            }
            None if self.on.is_some() => return Err(CliError::input("--on needs --after")),
            None => {}
        }
        let mut schedule = Map::new();
        set(&mut schedule, "kind", Some("event"));
        set(&mut schedule, "source", Some(self.source.unwrap_or(JOB_SOURCE)));
        set(&mut schedule, "pattern", self.pattern.filter(|pattern| !pattern.is_empty()));
        set(&mut schedule, "filters", (!filters.is_empty()).then_some(filters));
        Ok(Value::Object(schedule))
    }

    /// The patch of the `present` schedule.
    pub(super) fn to_patch(&self, present: &Value) -> Result<Value, CliError> {
        let is_event = present["kind"] == "event";
        match self.source {
            None if !is_event => Err(CliError::input(
                "--pattern, --filter and --on change an event schedule; this job has none. \
                 Add --on-event or --after",
            )),
            Some(source) if !is_event || present["source"] != source => {
                Ok(replace_source(present, self.to_schedule()?))
            }
            _ if self.on.is_some() && present["source"] != JOB_SOURCE => Err(CliError::input(
                "--on is the outcome of another job's run; this job follows none. Add --after",
            )),
            _ => Ok(self.patch_same_source(present)),
        }
    }

    fn patch_same_source(&self, present: &Value) -> Value {
        let mut filters = Map::new();
        if self.filters.contains(&EventFilter::None) {
            let old = present["filters"].as_object().into_iter().flatten();
            filters.extend(old.map(|(key, _)| (key.clone(), Value::Null)));
        }
        filters.extend(self.equals_filters());
        set(&mut filters, "jobId", self.after.as_deref());
        set(&mut filters, "status", self.on.map(|on| json!(on.status())));
        let mut patch = Map::new();
        set(&mut patch, "kind", Some("event"));
        set(&mut patch, "source", Some(present["source"].clone()));
        set(&mut patch, "pattern", text_value(self.pattern));
        set(&mut patch, "filters", (!filters.is_empty()).then_some(filters));
        Value::Object(patch)
    }

    fn equals_filters(&self) -> impl Iterator<Item = (String, Value)> {
        self.filters.iter().filter_map(|filter| match filter {
            EventFilter::None => None,
            EventFilter::Equals(key, value) => Some((key.clone(), value.clone())),
        })
    }
}

/// Another source drops the present pattern and filters.
fn replace_source(present: &Value, mut patch: Value) -> Value {
    if present["kind"] == "event" {
        for key in ["pattern", "filters"] {
            let new = patch[key].take();
            patch[key] =
                if new.is_null() { Value::Null } else { replacement_patch(&present[key], new) };
        }
    }
    patch
}

/// Parses `key=value` or `none`. Numbers and booleans keep their type.
pub(super) fn parse_filter(text: &str) -> Result<EventFilter, String> {
    if text == NONE {
        return Ok(EventFilter::None);
    }
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, or none")?;
    let scalar = serde_json::from_str(value)
        .ok()
        .filter(|parsed: &Value| parsed.is_number() || parsed.is_boolean());
    let value = scalar.unwrap_or_else(|| Value::String(value.to_owned()));
    Ok(EventFilter::Equals(key.trim().to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job_event(filters: Value) -> Value {
        json!({ "kind": "event", "source": "job", "filters": filters })
    }

    fn equals(key: &str, value: &str) -> EventFilter {
        EventFilter::Equals(key.to_owned(), json!(value))
    }

    #[test]
    fn edit_of_same_source_keeps_unnamed_fields() {
        let failed = job_event(json!({ "jobId": "x", "status": "error", "name": "foo" }));
        let job = || EventFlags { source: Some("job"), ..EventFlags::default() };
        let after = |id: &str| EventFlags { after: Some(id.to_owned()), ..job() };
        let table = [
            (after("x"), job_event(json!({ "jobId": "x" }))),
            (after("y"), job_event(json!({ "jobId": "y" }))),
            (
                EventFlags { on: Some(PredecessorOutcome::Any), ..after("x") },
                job_event(json!({ "jobId": "x", "status": null })),
            ),
            (
                EventFlags { on: Some(PredecessorOutcome::Success), ..EventFlags::default() },
                job_event(json!({ "status": "ok" })),
            ),
            (
                EventFlags { pattern: Some("y"), ..job() },
                json!({ "kind": "event", "source": "job", "pattern": "y" }),
            ),
            (
                EventFlags { pattern: Some(""), ..EventFlags::default() },
                json!({ "kind": "event", "source": "job", "pattern": null }),
            ),
            (
                EventFlags { filters: &[equals("name", "bar")], ..EventFlags::default() },
                job_event(json!({ "name": "bar" })),
            ),
            (
                EventFlags {
                    filters: &[equals("a", "b"), EventFilter::None],
                    ..EventFlags::default()
                },
                job_event(json!({ "jobId": null, "status": null, "name": null, "a": "b" })),
            ),
        ];
        for (flags, patch) in table {
            assert_eq!(flags.to_patch(&failed).expect("a change"), patch, "{flags:?}");
        }
    }

    #[test]
    fn other_source_removes_pattern_and_filters() {
        let old =
            json!({ "kind": "event", "source": "job", "pattern": "x", "filters": { "a": 1 } });
        let filters = [equals("b", "2")];
        let wake = EventFlags { source: Some("wake"), filters: &filters, ..EventFlags::default() };
        let patch = json!({
            "kind": "event", "source": "wake", "pattern": null, "filters": { "a": null, "b": "2" }
        });
        assert_eq!(wake.to_patch(&old).expect("a change"), patch);
        let manual = json!({ "kind": "manual" });
        assert_eq!(
            wake.to_patch(&manual).expect("a change"),
            wake.to_schedule().expect("a schedule")
        );
        let after = EventFlags {
            source: Some("job"),
            after: Some("x".to_owned()),
            ..EventFlags::default()
        };
        let succeeds = job_event(json!({ "jobId": "x", "status": "ok" }));
        assert_eq!(after.to_patch(&manual).expect("a change"), succeeds, "as a new job");
    }

    #[test]
    fn outcome_flag_needs_a_predecessor() {
        let on = EventFlags { on: Some(PredecessorOutcome::Failure), ..EventFlags::default() };
        let wake = json!({ "kind": "event", "source": "wake" });
        for present in [json!({ "kind": "manual" }), wake] {
            let refused = format!("{:?}", on.to_patch(&present).expect_err("no such event"));
            assert!(refused.contains("--after"), "{refused}");
        }
        assert!(on.to_schedule().is_err());
    }

    #[test]
    fn filter_value_keeps_numbers_and_booleans() {
        let value = |text| match parse_filter(text).expect("a filter") {
            EventFilter::Equals(_, value) => value,
            EventFilter::None => Value::Null,
        };
        assert_eq!(value("a=1"), json!(1));
        assert_eq!(value("a=true"), json!(true));
        assert_eq!(value("a=b=c"), json!("b=c"));
        assert_eq!(value("a=[1]"), json!("[1]"));
        assert_eq!(value("a="), json!(""));
        assert_eq!(value("none"), Value::Null);
        assert!(parse_filter("a").is_err());
    }
}
