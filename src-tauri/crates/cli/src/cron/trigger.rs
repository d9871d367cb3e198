//! The flags that say when a job fires, and the schedule they make.

use clap::{ArgGroup, Args, ValueEnum};
use rouse_core::Clock as _;
use rouse_core::schedule::{no_zone, parse_duration};
use serde_json::{Map, Value, json};

use super::draft::{milliseconds, replacing, set};
use super::resolve;
use crate::exit::Failure;
use crate::session::Session;

/// When the job fires.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "When",
    group = ArgGroup::new("when").args(["at", "every", "cron", "on_event", "after", "webhook", "manual"])
)]
pub(crate) struct ScheduleArgs {
    /// Once: the next such time of the day (`9:00`, `9am`, `noon`, `tomorrow 9:00`), an ISO 8601 time, milliseconds since
    /// 1970, or a time from now (`20m`).
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Again and again: `10m`, `1h30m`.
    #[arg(long, value_name = "DURATION")]
    every: Option<String>,
    /// At the times of a cron pattern: `"30 7 * * 1-5"`.
    #[arg(long, value_name = "PATTERN")]
    cron: Option<String>,
    /// When an event comes: `wake`, `cron` (a line that a job queues), `webhook`, `job` (the end of a run).
    #[arg(long, value_name = "SOURCE")]
    on_event: Option<String>,
    /// Only when this regular expression is found in the event's text.
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Only when the event has this field, exactly: `type=wake`. May be given several times.
    #[arg(long = "filter", value_name = "KEY=VALUE", value_parser = filter)]
    filters: Vec<(String, Value)>,
    /// After another job, by its id or exact name.
    #[arg(long, value_name = "JOB")]
    after: Option<String>,
    /// Which end of that job.
    #[arg(long, value_enum, requires = "after", default_value = "success")]
    on: End,
    /// When its webhook is called.
    #[arg(long)]
    webhook: bool,
    /// Only by hand.
    #[arg(long)]
    manual: bool,
    /// The zone of --cron and of an --at without offset; this computer's when absent.
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Spread the slots by a stable offset of at most this long, or `none`.
    #[arg(long, value_name = "DURATION")]
    jitter: Option<String>,
}

/// Which end of another job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum End {
    Success,
    Failure,
    Any,
}

impl ScheduleArgs {
    /// The schedule; none when no flag names one.
    pub(crate) async fn to_json(&self, session: &Session) -> Result<Option<Value>, Failure> {
        if self.listens_without_source() {
            return Err(Failure::input("--pattern and --filter need --on-event or --after"));
        }
        let Some(mut schedule) = self.spec(session).await? else {
            if self.tz.is_some() || self.jitter.is_some() {
                return Err(Failure::input("--tz and --jitter need one of --at, --every, --cron"));
            }
            return Ok(None);
        };
        self.apply_jitter(&mut schedule)?;
        Ok(Some(schedule))
    }

    /// The change of a job's `present` schedule; zone and jitter may stand alone.
    pub(crate) async fn to_patch(
        &self,
        present: &Value,
        session: &Session,
    ) -> Result<Option<Value>, Failure> {
        let whole = self.spec(session).await?;
        if whole.is_some() || (self.tz.is_none() && self.jitter.is_none()) {
            let patch = self.to_json(session).await?;
            return Ok(patch.map(|patch| another_event(present, patch)));
        }
        let mut patch = json!({});
        if let Some(tz) = &self.tz {
            if present["kind"] != "cron" {
                return Err(Failure::input(
                    "--tz alone changes a job with a cron pattern; this one has none",
                ));
            }
            patch["tz"] = json!(tz);
        }
        self.apply_jitter(&mut patch)?;
        Ok(Some(patch))
    }

    fn apply_jitter(&self, schedule: &mut Value) -> Result<(), Failure> {
        if let Some(jitter) = &self.jitter {
            schedule["jitterMs"] = milliseconds(jitter, "jitter")?;
        }
        Ok(())
    }

    pub(crate) const fn is_webhook(&self) -> bool {
        self.webhook
    }

    const fn listens_without_source(&self) -> bool {
        let listens = self.pattern.is_some() || !self.filters.is_empty();
        listens && self.on_event.is_none() && self.after.is_none()
    }

    async fn spec(&self, session: &Session) -> Result<Option<Value>, Failure> {
        if let Some(schedule) = self.slots(session)? {
            return Ok(Some(schedule));
        }
        if self.on_event.is_some() || self.after.is_some() {
            return self.event(session).await.map(Some);
        }
        if self.webhook {
            return Ok(Some(json!({ "kind": "webhook" })));
        }
        Ok(self.manual.then(|| json!({ "kind": "manual" })))
    }

    async fn event(&self, session: &Session) -> Result<Value, Failure> {
        let mut filters: Map<String, Value> = self.filters.iter().cloned().collect();
        if let Some(after) = &self.after {
            let id = resolve(session, after).await?;
            // A job that is not there would never end.
            session.call("cron.get", json!({ "id": id })).await?;
            filters.insert("jobId".to_owned(), json!(id));
            set(&mut filters, "status", self.on.status());
        }
        let mut schedule = Map::new();
        set(&mut schedule, "kind", Some("event"));
        set(&mut schedule, "source", Some(self.on_event.as_deref().unwrap_or("job")));
        set(&mut schedule, "pattern", self.pattern.clone());
        set(&mut schedule, "filters", (!filters.is_empty()).then_some(filters));
        Ok(Value::Object(schedule))
    }

    fn slots(&self, session: &Session) -> Result<Option<Value>, Failure> {
        if let Some(at) = &self.at {
            let zone = match &self.tz {
                Some(tz) => session
                    .clock
                    .zones()
                    .zone(tz)
                    .ok_or_else(|| Failure::input(format!("--tz: {}", no_zone(tz))))?,
                None => session.clock.zone(),
            };
            let at = rouse_core::when::instant(at, session.clock.now(), zone)
                .map_err(|error| Failure::input(format!("--at: {error}")))?;
            let mut schedule = json!({ "kind": "at", "atMs": at.0 });
            if let Some(tz) = &self.tz {
                schedule["tz"] = json!(tz);
            }
            return Ok(Some(schedule));
        }
        if let Some(every) = &self.every {
            let ms = parse_duration(every)
                .map_err(|error| Failure::input(format!("--every: {error}")))?;
            return Ok(Some(json!({ "kind": "every", "everyMs": ms })));
        }
        if let Some(expr) = &self.cron {
            let mut schedule = json!({ "kind": "cron", "expr": expr });
            if let Some(tz) = &self.tz {
                schedule["tz"] = json!(tz);
            }
            return Ok(Some(schedule));
        }
        Ok(None)
    }
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

/// Another event replaces the one before: its pattern and its filters do not mix with those.
fn another_event(present: &Value, mut patch: Value) -> Value {
    if present["kind"] == "event" && patch["kind"] == "event" {
        for key in ["pattern", "filters"] {
            let new = patch[key].take();
            patch[key] = if new.is_null() { Value::Null } else { replacing(&present[key], new) };
        }
    }
    patch
}

/// `key=value`; a number and true or false mean what they say.
fn filter(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    let plain = serde_json::from_str(value)
        .ok()
        .filter(|read: &Value| read.is_number() || read.is_boolean());
    Ok((key.trim().to_owned(), plain.unwrap_or_else(|| Value::String(value.to_owned()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_event_leaves_nothing_of_the_one_before() {
        let old =
            json!({ "kind": "event", "source": "job", "pattern": "x", "filters": { "a": 1 } });
        let new = json!({ "kind": "event", "source": "wake", "filters": { "b": 2 } });
        let patch = json!({
            "kind": "event", "source": "wake", "pattern": null, "filters": { "a": null, "b": 2 }
        });
        assert_eq!(another_event(&old, new.clone()), patch);
        assert_eq!(another_event(&json!({ "kind": "manual" }), new.clone()), new);
    }

    #[test]
    fn a_filter_is_a_text_unless_it_is_plainly_more() {
        let read = |text| filter(text).expect("a filter").1;
        assert_eq!(read("a=1"), json!(1));
        assert_eq!(read("a=true"), json!(true));
        assert_eq!(read("a=b=c"), json!("b=c"));
        assert_eq!(read("a=[1]"), json!("[1]"));
        assert_eq!(read("a="), json!(""));
        assert!(filter("a").is_err());
    }
}
