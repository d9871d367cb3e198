//! What the flags say of the event that fires a job: a whole schedule of a new one, and the change of one that is there.
//!
//! It refuses to widen what nobody named: as long as the source stays, an edit keeps the pattern, every filter and the end
//! of the other job. One could get this wrong by giving an edit the defaults of a new job.

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::draft::{NONE, replacing, set, text};
use crate::exit::Failure;

/// The source whose events are the ends of runs.
pub(super) const ENDS: &str = "job";

/// Which end of another job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum End {
    Success,
    Failure,
    Any,
}

/// One --filter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Filter {
    /// Takes those off that are there.
    None,
    Is(String, Value),
}

/// What flags name of an event; what they do not name is not in it.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    pub(super) source: Option<&'a str>,
    pub(super) pattern: Option<&'a str>,
    pub(super) filters: &'a [Filter],
    /// The id of the job whose end is waited for.
    pub(super) after: Option<String>,
    pub(super) on: Option<End>,
}

impl End {
    const fn status(self) -> Option<&'static str> {
        match self {
            Self::Success => Some("ok"),
            Self::Failure => Some("error"),
            Self::Any => None,
        }
    }
}

impl Named<'_> {
    /// The schedule of a new job.
    pub(super) fn anew(&self) -> Result<Value, Failure> {
        let mut filters: Map<String, Value> = self.named_filters().collect();
        match &self.after {
            Some(id) => {
                filters.insert("jobId".to_owned(), json!(id));
                set(&mut filters, "status", self.on.unwrap_or(End::Success).status());
            }
            None if self.on.is_some() => return Err(Failure::input("--on needs --after")),
            None => {}
        }
        let mut schedule = Map::new();
        set(&mut schedule, "kind", Some("event"));
        set(&mut schedule, "source", Some(self.source.unwrap_or(ENDS)));
        set(&mut schedule, "pattern", self.pattern.filter(|pattern| !pattern.is_empty()));
        set(&mut schedule, "filters", (!filters.is_empty()).then_some(filters));
        Ok(Value::Object(schedule))
    }

    /// What changes in a job's `present` schedule.
    pub(super) fn change(&self, present: &Value) -> Result<Value, Failure> {
        let is_event = present["kind"] == "event";
        match self.source {
            None if !is_event => Err(Failure::input(
                "--pattern, --filter and --on change a job that an event fires; this one has none. \
                 Name the event beside them: --on-event or --after",
            )),
            Some(source) if !is_event || present["source"] != source => {
                Ok(another(present, self.anew()?))
            }
            _ if self.on.is_some() && present["source"] != ENDS => Err(Failure::input(
                "--on says which end of another job; this one waits for none. Name it: --after",
            )),
            _ => Ok(self.same_source(present)),
        }
    }

    fn same_source(&self, present: &Value) -> Value {
        let mut filters = Map::new();
        if self.filters.contains(&Filter::None) {
            let there = present["filters"].as_object().into_iter().flatten();
            filters.extend(there.map(|(key, _)| (key.clone(), Value::Null)));
        }
        filters.extend(self.named_filters());
        set(&mut filters, "jobId", self.after.as_deref());
        set(&mut filters, "status", self.on.map(|on| json!(on.status())));
        let mut patch = Map::new();
        set(&mut patch, "kind", Some("event"));
        set(&mut patch, "source", Some(present["source"].clone()));
        set(&mut patch, "pattern", text(self.pattern));
        set(&mut patch, "filters", (!filters.is_empty()).then_some(filters));
        Value::Object(patch)
    }

    fn named_filters(&self) -> impl Iterator<Item = (String, Value)> {
        self.filters.iter().filter_map(|filter| match filter {
            Filter::None => None,
            Filter::Is(key, value) => Some((key.clone(), value.clone())),
        })
    }
}

/// Another source replaces the one before: its pattern and its filters do not mix with those.
fn another(present: &Value, mut patch: Value) -> Value {
    if present["kind"] == "event" {
        for key in ["pattern", "filters"] {
            let new = patch[key].take();
            patch[key] = if new.is_null() { Value::Null } else { replacing(&present[key], new) };
        }
    }
    patch
}

/// `key=value`, or `none`; a number and true or false mean what they say.
pub(super) fn filter(text: &str) -> Result<Filter, String> {
    if text == NONE {
        return Ok(Filter::None);
    }
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, or none")?;
    let plain = serde_json::from_str(value)
        .ok()
        .filter(|read: &Value| read.is_number() || read.is_boolean());
    let value = plain.unwrap_or_else(|| Value::String(value.to_owned()));
    Ok(Filter::Is(key.trim().to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_job(filters: Value) -> Value {
        json!({ "kind": "event", "source": "job", "filters": filters })
    }

    fn is(key: &str, value: &str) -> Filter {
        Filter::Is(key.to_owned(), json!(value))
    }

    #[test]
    fn an_edit_keeps_what_no_flag_named_as_long_as_the_source_stays() {
        let failed = of_job(json!({ "jobId": "x", "status": "error", "name": "foo" }));
        let job = || Named { source: Some("job"), ..Named::default() };
        let after = |id: &str| Named { after: Some(id.to_owned()), ..job() };
        let table = [
            (after("x"), of_job(json!({ "jobId": "x" }))),
            (after("y"), of_job(json!({ "jobId": "y" }))),
            (
                Named { on: Some(End::Any), ..after("x") },
                of_job(json!({ "jobId": "x", "status": null })),
            ),
            (
                Named { on: Some(End::Success), ..Named::default() },
                of_job(json!({ "status": "ok" })),
            ),
            (
                Named { pattern: Some("y"), ..job() },
                json!({ "kind": "event", "source": "job", "pattern": "y" }),
            ),
            (
                Named { pattern: Some(""), ..Named::default() },
                json!({ "kind": "event", "source": "job", "pattern": null }),
            ),
            (
                Named { filters: &[is("name", "bar")], ..Named::default() },
                of_job(json!({ "name": "bar" })),
            ),
            (
                Named { filters: &[is("a", "b"), Filter::None], ..Named::default() },
                of_job(json!({ "jobId": null, "status": null, "name": null, "a": "b" })),
            ),
        ];
        for (named, patch) in table {
            assert_eq!(named.change(&failed).expect("a change"), patch, "{named:?}");
        }
    }

    #[test]
    fn another_source_leaves_nothing_of_the_one_before() {
        let old =
            json!({ "kind": "event", "source": "job", "pattern": "x", "filters": { "a": 1 } });
        let filters = [is("b", "2")];
        let wake = Named { source: Some("wake"), filters: &filters, ..Named::default() };
        let patch = json!({
            "kind": "event", "source": "wake", "pattern": null, "filters": { "a": null, "b": "2" }
        });
        assert_eq!(wake.change(&old).expect("a change"), patch);
        let manual = json!({ "kind": "manual" });
        assert_eq!(wake.change(&manual).expect("a change"), wake.anew().expect("a schedule"));
        let after = Named { source: Some("job"), after: Some("x".to_owned()), ..Named::default() };
        let succeeds = of_job(json!({ "jobId": "x", "status": "ok" }));
        assert_eq!(after.change(&manual).expect("a change"), succeeds, "as a new job");
    }

    #[test]
    fn a_part_of_an_event_needs_the_event() {
        let on = Named { on: Some(End::Failure), ..Named::default() };
        let wake = json!({ "kind": "event", "source": "wake" });
        for present in [json!({ "kind": "manual" }), wake] {
            let refused = format!("{:?}", on.change(&present).expect_err("no such event"));
            assert!(refused.contains("--after"), "{refused}");
        }
        assert!(on.anew().is_err());
    }

    #[test]
    fn a_filter_is_a_text_unless_it_is_plainly_more() {
        let read = |text| match filter(text).expect("a filter") {
            Filter::Is(_, value) => value,
            Filter::None => Value::Null,
        };
        assert_eq!(read("a=1"), json!(1));
        assert_eq!(read("a=true"), json!(true));
        assert_eq!(read("a=b=c"), json!("b=c"));
        assert_eq!(read("a=[1]"), json!("[1]"));
        assert_eq!(read("a="), json!(""));
        assert_eq!(read("none"), Value::Null);
        assert!(filter("a").is_err());
    }
}
