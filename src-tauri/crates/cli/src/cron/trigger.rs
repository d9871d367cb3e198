//! The flags that say when a job fires, and the schedule they make.

use clap::{ArgGroup, Args};
use rouse_core::Clock as _;
use rouse_core::schedule::{no_zone, parse_duration};
use serde_json::{Map, Value, json};

use super::draft::milliseconds;
use super::event::{ENDS, End, Filter, Named, filter};
use super::resolve;
use crate::exit::Failure;
use crate::session::Session;

/// The flags that each make a schedule.
pub(super) const WAYS: &str = "--at, --every, --cron, --on-event, --after, --webhook, --manual";

/// When the job fires.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "When",
    group = ArgGroup::new("when").args(["at", "every", "cron", "on_event", "after", "webhook", "manual"])
)]
pub(crate) struct ScheduleArgs {
    /// Once: the next such time of the day (`9:00`, `9am`, `noon`, `tomorrow 9:00`), an ISO 8601 time, milliseconds since
    /// 1970, or a time from now (`20m`).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
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
    /// Only when this regular expression is found in the event's text; empty for any text.
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Only when the event has this field, exactly: `type=wake`. May be given several times; in an edit `none` takes
    /// those off that are there.
    #[arg(long = "filter", value_name = "KEY=VALUE", value_parser = filter)]
    filters: Vec<Filter>,
    /// After another job, by its id or exact name.
    #[arg(long, value_name = "JOB")]
    after: Option<String>,
    /// Which end of that job; success for a new one when nothing is said.
    #[arg(long, value_enum)]
    on: Option<End>,
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

impl ScheduleArgs {
    /// The schedule; none when no flag names one.
    pub(crate) async fn to_json(&self, session: &Session) -> Result<Option<Value>, Failure> {
        let mut schedule = match self.without_event(session)? {
            Some(schedule) => schedule,
            None if self.names_event() => self.event(session).await?.anew()?,
            None if self.names_part_of_event() => return Err(self.needs_event()),
            None if self.tz.is_some() || self.jitter.is_some() => {
                return Err(Failure::input("--tz and --jitter need one of --at, --every, --cron"));
            }
            None => return Ok(None),
        };
        self.apply_jitter(&mut schedule)?;
        Ok(Some(schedule))
    }

    /// The change of a job's `present` schedule; a part of one may stand alone.
    pub(crate) async fn to_patch(
        &self,
        present: &Value,
        session: &Session,
    ) -> Result<Option<Value>, Failure> {
        let mut patch = match self.without_event(session)? {
            Some(schedule) => with_spread_of(present, schedule),
            None if self.names_event() || self.names_part_of_event() => {
                self.event(session).await?.change(present)?
            }
            None => json!({}),
        };
        if let Some(tz) = &self.tz
            && patch["kind"].is_null()
        {
            if present["kind"] != "cron" {
                return Err(Failure::input(
                    "--tz alone changes a job with a cron pattern; this one has none",
                ));
            }
            patch["tz"] = json!(tz);
        }
        self.apply_jitter(&mut patch)?;
        let is_empty = patch.as_object().is_none_or(Map::is_empty);
        Ok((!is_empty).then_some(patch))
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

    const fn names_event(&self) -> bool {
        self.on_event.is_some() || self.after.is_some()
    }

    const fn names_part_of_event(&self) -> bool {
        self.pattern.is_some() || !self.filters.is_empty() || self.on.is_some()
    }

    fn needs_event(&self) -> Failure {
        let has_only_end = self.pattern.is_none() && self.filters.is_empty();
        Failure::input(match has_only_end {
            true => "--on needs --after",
            false => "--pattern and --filter need --on-event or --after",
        })
    }

    async fn event(&self, session: &Session) -> Result<Named<'_>, Failure> {
        let after = match &self.after {
            Some(after) => {
                let id = resolve(session, after).await?;
                // A job that is not there would never end.
                session.call("cron.get", json!({ "id": id })).await?;
                Some(id)
            }
            None => None,
        };
        Ok(Named {
            source: self.on_event.as_deref().or(after.is_some().then_some(ENDS)),
            pattern: self.pattern.as_deref(),
            filters: &self.filters,
            after,
            on: self.on,
        })
    }

    /// A schedule that no event fires.
    fn without_event(&self, session: &Session) -> Result<Option<Value>, Failure> {
        let schedule = match self.slots(session)? {
            None if self.webhook => Some(json!({ "kind": "webhook" })),
            None if self.manual => Some(json!({ "kind": "manual" })),
            slots => slots,
        };
        let has_slots = !(self.webhook || self.manual || self.names_event());
        match schedule {
            Some(_) if self.names_part_of_event() => Err(self.needs_event()),
            _ if self.tz.is_some() && !has_slots => Err(Failure::input(
                "--tz has no effect with what fires at no time of its own: leave it out",
            )),
            schedule => Ok(schedule),
        }
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
            if self.tz.is_some() {
                return Err(Failure::input(
                    "--tz has no effect with --every: an interval is the same everywhere",
                ));
            }
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

/// A schedule of another kind keeps the spread of the one before, where it has slots to spread.
fn with_spread_of(present: &Value, mut schedule: Value) -> Value {
    let has_slots = |schedule: &Value| schedule["kind"] == "every" || schedule["kind"] == "cron";
    if has_slots(present) && has_slots(&schedule) && !present["jitterMs"].is_null() {
        schedule["jitterMs"] = present["jitterMs"].clone();
    }
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_kind_of_schedule_keeps_the_spread() {
        let cron = json!({ "kind": "cron", "expr": "0 7 * * *", "jitterMs": 5_000 });
        let every = json!({ "kind": "every", "everyMs": 7_200_000 });
        let spread = json!({ "kind": "every", "everyMs": 7_200_000, "jitterMs": 5_000 });
        assert_eq!(with_spread_of(&cron, every.clone()), spread);
        assert_eq!(with_spread_of(&json!({ "kind": "manual" }), every.clone()), every);
        let manual = json!({ "kind": "manual" });
        assert_eq!(with_spread_of(&cron, manual.clone()), manual);
    }
}
