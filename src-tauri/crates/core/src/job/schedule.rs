//! The trigger part of a job.

use chrono_tz::Tz;
use serde_json::{Map, Value};

use crate::UnixMs;
use crate::schedule::{CronPattern, describe_at, describe_every};

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
    /// When it fires, in plain words: `Weekdays at 07:30`. `local` is the zone in which a one-shot is told; the zone of
    /// a cron pattern is named by whoever shows it.
    #[must_use]
    pub fn describe(&self, local: Tz) -> String {
        match self {
            Self::At { at, tz } => {
                let zone = tz.as_ref().and_then(|tz| tz.parse().ok()).unwrap_or(local);
                describe_at(at.0, zone)
            }
            Self::Every { every_ms, .. } => describe_every(*every_ms),
            Self::Cron { expr, .. } => {
                CronPattern::parse(expr).map_or_else(|_| expr.clone(), |pattern| pattern.describe())
            }
            Self::Manual => "Only by hand".to_owned(),
        }
    }
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
    /// Only by hand.
    Manual,
}
