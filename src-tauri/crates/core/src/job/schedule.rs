//! The trigger of a job.
//!
//! Pitfall: `Schedule` reads the keys by hand. A derived flattened enum leaves them in `extra`, too.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use strum::IntoStaticStr;
use ts_rs::TS;

use super::field_schema::event_source;
use crate::UnixMs;
use crate::json_fields::{keys_of_kind, schema_of};
use crate::schedule::{CronPattern, Zones, describe_at, describe_every};
use crate::text::escape_line;

/// The schema of a schedule, without the schema of the job.
static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<Schedule>);

/// The trigger of a job.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Schedule {
    /// The trigger.
    #[serde(flatten)]
    #[ts(flatten)]
    pub spec: ScheduleSpec,
    /// Maximum jitter in milliseconds. The offset is stable per job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3_600_000))]
    pub jitter_ms: Option<u32>,
    /// Unknown keys.
    #[serde(flatten)]
    #[schemars(skip)]
    #[ts(skip)]
    pub extra: Map<String, Value>,
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut extra = Map::deserialize(deserializer)?;
        let spec =
            ScheduleSpec::deserialize(Value::Object(extra.clone())).map_err(D::Error::custom)?;
        let jitter_ms = extra.shift_remove("jitterMs").map(Option::deserialize);
        let jitter_ms = jitter_ms.transpose().map_err(D::Error::custom)?.flatten();
        let known = keys_of_kind(&SCHEMA, &extra["kind"]);
        extra.retain(|key, _| !known.contains(&key.as_str()));
        Ok(Self { spec, jitter_ms, extra })
    }
}

impl Schedule {
    /// A single form for each meaning: trimmed texts, the zone by IANA name, no empty pattern.
    pub(super) fn canonicalise(&mut self, zones: &Zones) {
        let canonical = |tz: &mut String| {
            if let Some(zone) = zones.zone(tz) {
                *tz = zone.name().to_owned();
            }
        };
        match &mut self.spec {
            ScheduleSpec::At { tz, .. } => tz.iter_mut().for_each(canonical),
            ScheduleSpec::Cron { expr, tz } => {
                *expr = expr.trim().to_owned();
                canonical(tz);
            }
            ScheduleSpec::Event(trigger) => {
                trigger.source = trigger.source.trim().to_owned();
                trigger.pattern = trigger.pattern.take().filter(|pattern| !pattern.is_empty());
            }
            ScheduleSpec::Every { .. } | ScheduleSpec::Webhook | ScheduleSpec::Manual => {}
        }
    }
}

/// The trigger kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS, IntoStaticStr)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[strum(serialize_all = "camelCase")]
#[ts(optional_fields)]
pub enum ScheduleSpec {
    /// Once.
    At {
        /// The instant.
        #[serde(rename = "atMs")]
        #[schemars(extend("expected" = "milliseconds since 1970, or a time in `at`"))]
        at: UnixMs,
        /// The zone in which the instant was written; for display only.
        #[serde(skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
    },
    /// At `anchor + k·every`.
    Every {
        /// Milliseconds between slots.
        #[schemars(range(min = 1_000, max = 253_402_300_799_000_i64))]
        #[schemars(extend("expected" = "milliseconds, at least 1000"))]
        every_ms: i64,
        /// Slot zero [default: the creation of the job].
        #[serde(rename = "anchorMs")]
        anchor: UnixMs,
    },
    /// At the times of a cron pattern.
    Cron {
        /// Five or six fields, or an alias such as `@daily`.
        #[schemars(schema_with = "super::field_schema::cron_pattern")]
        expr: String,
        /// IANA zone [default: the local zone at creation].
        tz: String,
    },
    /// At a matching event.
    Event(EventTrigger),
    /// When the job's webhook is called.
    Webhook,
    /// By hand only.
    Manual,
}

impl ScheduleSpec {
    /// The kind's name in the job format.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// The instant of a one-shot.
    #[must_use]
    pub const fn instant(&self) -> Option<UnixMs> {
        match self {
            Self::At { at, .. } => Some(*at),
            Self::Every { .. }
            | Self::Cron { .. }
            | Self::Event(_)
            | Self::Webhook
            | Self::Manual => None,
        }
    }

    /// Whether the trigger has scheduled slots.
    #[must_use]
    pub const fn has_slots(&self) -> bool {
        matches!(self, Self::At { .. } | Self::Every { .. } | Self::Cron { .. })
    }

    /// The trigger in words: `Weekdays at 07:30`. A one-shot is described in the job's zone, else in the local zone;
    /// the zone of a cron pattern is left out.
    #[must_use]
    pub fn describe(&self, zones: &Zones) -> String {
        match self {
            Self::At { at, tz } => {
                let zone = tz.as_ref().and_then(|tz| zones.zone(tz)).unwrap_or(zones.local());
                describe_at(at.0, zone)
            }
            Self::Every { every_ms, .. } => describe_every(*every_ms),
            Self::Cron { expr, .. } => {
                CronPattern::parse(expr).map_or_else(|_| expr.clone(), |pattern| pattern.describe())
            }
            Self::Event(trigger) => trigger.describe(),
            Self::Webhook => "When the webhook is called".to_owned(),
            Self::Manual => "Only by hand".to_owned(),
        }
    }
}

/// Which events fire a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct EventTrigger {
    /// The source: `job`, `cron`, `wake`, `webhook`.
    #[schemars(schema_with = "event_source")]
    pub source: String,
    /// A regular expression on the event's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "event-pattern"))]
    pub pattern: Option<String>,
    /// Required fields of the event with their values.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "super::field_schema::event_filters")]
    #[ts(optional, as = "Option<Map<String, Value>>")]
    pub filters: Map<String, Value>,
}

impl EventTrigger {
    /// The id of the job whose end fires this job.
    #[must_use]
    pub fn job_id(&self) -> Option<&str> {
        self.filters.get("jobId").and_then(Value::as_str)
    }

    /// Whether the source exists.
    #[must_use]
    pub fn can_come(&self) -> bool {
        crate::cause::SOURCES.contains(&self.source.as_str())
    }

    /// The trigger in words, with the name of the preceding job.
    #[must_use]
    pub fn describe_after(&self, job_name: &str) -> String {
        self.words(Some(job_name))
    }

    fn describe(&self) -> String {
        self.words(self.job_id().or_else(|| self.filters.get("name")?.as_str()))
    }

    fn words(&self, job_name: Option<&str>) -> String {
        let is_job = self.source == crate::cause::JOB;
        let mut words = match (is_job, job_name) {
            (true, Some(name)) => format!("After {name} {}", self.end_in_words()),
            (true, None) => format!("After any job {}", self.end_in_words()),
            (false, _) => format!("On a {} event", self.source),
        };
        let is_said = |key: &str| is_job && ["jobId", "name", "status"].contains(&key);
        let rest = self.filters.iter().filter(|(key, _)| !is_said(key));
        let rest: Vec<String> =
            rest.map(|(key, value)| format!("{key} = {}", plain(value))).collect();
        if !rest.is_empty() {
            words = format!("{words} with {}", rest.join(", "));
        }
        if let Some(pattern) = &self.pattern {
            words = format!("{words} whose text matches {pattern}");
        }
        escape_line(&words)
    }

    fn end_in_words(&self) -> &str {
        match self.filters.get("status").and_then(Value::as_str) {
            None => "ends",
            Some("ok") => "succeeds",
            Some("error") => "fails",
            Some("skipped") => "is skipped",
            Some("succeeded") => "succeeds with a result",
            Some("nothingToReport") => "has nothing to report",
            Some("timedOut") => "runs out of time",
            Some("failed") => "ends in an error",
            Some("missed") => "misses its time",
            Some(_) => "is cut off",
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
