//! The flags of a job's schedule, and the schedule of the job document.

use clap::{ArgGroup, Args};
use rouse_core::Clock as _;
use rouse_core::schedule::{no_zone, parse_duration};
use serde_json::{Map, Value, json};

use super::event::{EventFilter, EventFlags, JOB_SOURCE, PredecessorOutcome, parse_filter};
use super::field_values::milliseconds;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;

/// The flags that each define a schedule.
pub(super) const SCHEDULE_FLAGS: &str =
    "--at, --every, --cron, --on-event, --after, --webhook, --manual";

/// The schedule of a job.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Schedule",
    group = ArgGroup::new("when").args(["at", "every", "cron", "on_event", "after", "webhook", "manual"])
)]
pub(crate) struct ScheduleArgs {
    /// Once: 9:00, tomorrow 9:00, 20m, or an ISO 8601 time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<String>,
    /// At an interval: 10m, 1h30m
    #[arg(long, value_name = "DURATION")]
    every: Option<String>,
    /// At the times of a cron pattern: "30 7 * * 1-5"
    #[arg(long, value_name = "PATTERN")]
    cron: Option<String>,
    /// At an event: wake, cron (system event), webhook, job (end of a run)
    #[arg(hide = true, long, value_name = "SOURCE")]
    on_event: Option<String>,
    /// Regular expression on the event's text
    #[arg(hide = true, long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Required field of the event: type=wake; repeatable; none removes all
    #[arg(hide = true, long = "filter", value_name = "KEY=VALUE", value_parser = parse_filter)]
    filters: Vec<EventFilter>,
    /// After a run of another job: id or exact name
    #[arg(long, value_name = "JOB")]
    after: Option<String>,
    /// Outcome of that run: success, failure, any [default: success]
    #[arg(long, hide_possible_values = true, value_enum)]
    on: Option<PredecessorOutcome>,
    /// When the job's webhook is called
    #[arg(long)]
    webhook: bool,
    /// By hand only
    #[arg(long)]
    manual: bool,
    /// Zone of --cron and --at [default: local zone]
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Maximum stable offset of the slots: 5m [default: none]
    #[arg(hide = true, long, value_name = "DURATION")]
    jitter: Option<String>,
}

impl ScheduleArgs {
    /// The schedule; none without a schedule flag.
    pub(super) async fn to_json(
        &self,
        engine: &EngineConnection,
    ) -> Result<Option<Value>, CliError> {
        let mut schedule = match self.timed_schedule(engine)? {
            Some(schedule) => schedule,
            None if self.has_event() => self.event_flags(engine).await?.to_schedule()?,
            None if self.has_event_part() => return Err(self.missing_event()),
            None if self.tz.is_some() || self.jitter.is_some() => {
                return Err(CliError::input("--tz and --jitter need one of --at, --every, --cron"));
            }
            None => return Ok(None),
        };
        self.apply_jitter(&mut schedule)?;
        Ok(Some(schedule))
    }

    /// The patch of the `present` schedule.
    pub(super) async fn to_patch(
        &self,
        present: &Value,
        engine: &EngineConnection,
    ) -> Result<Option<Value>, CliError> {
        let mut patch = match self.timed_schedule(engine)? {
            Some(schedule) => keep_jitter(present, schedule),
            None if self.has_event() || self.has_event_part() => {
                self.event_flags(engine).await?.to_patch(present)?
            }
            None => json!({}),
        };
        if let Some(tz) = &self.tz
            && patch["kind"].is_null()
        {
            if present["kind"] != "cron" {
                return Err(CliError::input(
                    "--tz alone changes a job with a cron pattern; this one has none",
                ));
            }
            patch["tz"] = json!(tz);
        }
        self.apply_jitter(&mut patch)?;
        let is_empty = patch.as_object().is_none_or(Map::is_empty);
        Ok((!is_empty).then_some(patch))
    }

    fn apply_jitter(&self, schedule: &mut Value) -> Result<(), CliError> {
        if let Some(jitter) = &self.jitter {
            schedule["jitterMs"] = milliseconds(jitter, "jitter")?;
        }
        Ok(())
    }

    pub(super) const fn is_webhook(&self) -> bool {
        self.webhook
    }

    const fn has_event(&self) -> bool {
        self.on_event.is_some() || self.after.is_some()
    }

    const fn has_event_part(&self) -> bool {
        self.pattern.is_some() || !self.filters.is_empty() || self.on.is_some()
    }

    fn missing_event(&self) -> CliError {
        let is_outcome_only = self.pattern.is_none() && self.filters.is_empty();
        CliError::input(if is_outcome_only {
            "--on needs --after"
        } else {
            "--pattern and --filter need --on-event or --after"
        })
    }

    async fn event_flags(&self, engine: &EngineConnection) -> Result<EventFlags<'_>, CliError> {
        let after = match &self.after {
            Some(after) => {
                let id = find_job(engine, after).await?;
                // A missing predecessor would never finish a run.
                engine.call("cron.get", json!({ "id": id })).await?;
                Some(id)
            }
            None => None,
        };
        Ok(EventFlags {
            source: self.on_event.as_deref().or(after.is_some().then_some(JOB_SOURCE)),
            pattern: self.pattern.as_deref(),
            filters: &self.filters,
            after,
            on: self.on,
        })
    }

    /// A schedule without an event.
    fn timed_schedule(&self, engine: &EngineConnection) -> Result<Option<Value>, CliError> {
        let schedule = match self.slot_schedule(engine)? {
            None if self.webhook => Some(json!({ "kind": "webhook" })),
            None if self.manual => Some(json!({ "kind": "manual" })),
            slots => slots,
        };
        let has_slots = !(self.webhook || self.manual || self.has_event());
        match schedule {
            Some(_) if self.has_event_part() => Err(self.missing_event()),
            _ if self.tz.is_some() && !has_slots => {
                Err(CliError::input("--tz has no effect without --at or --cron: leave it out"))
            }
            schedule => Ok(schedule),
        }
    }

    fn slot_schedule(&self, engine: &EngineConnection) -> Result<Option<Value>, CliError> {
        if let Some(at) = &self.at {
            let zone = match &self.tz {
                Some(tz) => engine
                    .clock
                    .zones()
                    .zone(tz)
                    .ok_or_else(|| CliError::input(format!("--tz: {}", no_zone(tz))))?,
                None => engine.clock.zone(),
            };
            let at = rouse_core::time::parse_instant(at, engine.clock.now(), zone)
                .map_err(|error| CliError::input(format!("--at: {error}")))?;
            let mut schedule = json!({ "kind": "at", "atMs": at.0 });
            if let Some(tz) = &self.tz {
                schedule["tz"] = json!(tz);
            }
            return Ok(Some(schedule));
        }
        if let Some(every) = &self.every {
            let ms = parse_duration(every)
                .map_err(|error| CliError::input(format!("--every: {error}")))?;
            if self.tz.is_some() {
                return Err(CliError::input(
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

/// A schedule of another kind keeps the present jitter if both kinds have jitter.
fn keep_jitter(present: &Value, mut schedule: Value) -> Value {
    let has_jitter = |schedule: &Value| schedule["kind"] == "every" || schedule["kind"] == "cron";
    if has_jitter(present) && has_jitter(&schedule) && !present["jitterMs"].is_null() {
        schedule["jitterMs"] = present["jitterMs"].clone();
    }
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_kind_of_schedule_keeps_jitter() {
        let cron = json!({ "kind": "cron", "expr": "0 7 * * *", "jitterMs": 5_000 });
        let every = json!({ "kind": "every", "everyMs": 7_200_000 });
        let with_jitter = json!({ "kind": "every", "everyMs": 7_200_000, "jitterMs": 5_000 });
        assert_eq!(keep_jitter(&cron, every.clone()), with_jitter);
        assert_eq!(keep_jitter(&json!({ "kind": "manual" }), every.clone()), every);
        let manual = json!({ "kind": "manual" });
        assert_eq!(keep_jitter(&cron, manual.clone()), manual);
    }
}
