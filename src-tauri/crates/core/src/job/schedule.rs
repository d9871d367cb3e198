//! The trigger part of a job.

use serde_json::{Map, Value};

use crate::UnixMs;
use crate::schedule::{CronPattern, Zones, describe_at, describe_every};
use crate::visible::visible_line;

/// Why a job fires, with the keys this version does not know.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The trigger itself.
    pub spec: ScheduleSpec,
    /// Spreads jobs of one instant over so many milliseconds; the offset is stable per job.
    pub jitter_ms: Option<u32>,
    /// Keys that this version does not know.
    pub extra: Map<String, Value>,
}

impl ScheduleSpec {
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

    /// Whether it names its times; the others wait for something that happens.
    #[must_use]
    pub const fn has_slots(&self) -> bool {
        matches!(self, Self::At { .. } | Self::Every { .. } | Self::Cron { .. })
    }

    /// When it fires, in plain words: `Weekdays at 07:30`. A one-shot is told in its zone, or in the local one; the
    /// zone of a cron pattern is named by whoever shows it.
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
            Self::Webhook => "When its webhook is called".to_owned(),
            Self::Manual => "Only by hand".to_owned(),
        }
    }
}

/// Which events fire a job.
#[derive(Debug, Clone, PartialEq)]
pub struct EventTrigger {
    /// Where they come from: `job`, `cron`, `wake`, `webhook`.
    pub source: String,
    /// A regular expression that is found in their text.
    pub pattern: Option<String>,
    /// Fields they must have, exactly.
    pub filters: Map<String, Value>,
}

impl EventTrigger {
    /// The id of the job that it comes after, if it names one.
    #[must_use]
    pub fn job_id(&self) -> Option<&str> {
        self.filters.get("jobId").and_then(Value::as_str)
    }

    /// Whether events of its source come at all.
    #[must_use]
    pub fn can_come(&self) -> bool {
        crate::cause::SOURCES.contains(&self.source.as_str())
    }

    /// When it fires, with the name that the job has of which only the id is known here.
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
        visible_line(&words)
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

/// The trigger kinds.
#[derive(Debug, Clone, PartialEq)]
pub enum ScheduleSpec {
    /// Once.
    At {
        /// The instant.
        at: UnixMs,
        /// The zone the instant was written in; for display only.
        tz: Option<String>,
    },
    /// At `anchor + k·every`.
    Every {
        /// Milliseconds between slots, at least 1,000.
        every_ms: i64,
        /// Slot zero; the moment of creation when the input has none.
        anchor: UnixMs,
    },
    /// At the times of a cron pattern.
    Cron {
        /// Five or six fields, or an alias such as `@daily`.
        expr: String,
        /// IANA zone, stored at creation.
        tz: String,
    },
    /// When an event comes that it waits for.
    Event(EventTrigger),
    /// When its webhook is called.
    Webhook,
    /// Only by hand.
    Manual,
}
