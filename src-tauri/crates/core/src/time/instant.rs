//! The only representation of an instant.
//!
//! Owns `UnixMs`, the unit of every `*_at`. Never a duration: a duration is `*_ms` or `Duration`.

use chrono::{DateTime, TimeZone as _, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// An instant of wall time: milliseconds since 1970-01-01T00:00:00Z. The unit of every `*_at` in Rouse.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(transparent)]
#[ts(type = "number")]
pub struct UnixMs(#[schemars(range(min = 0, max = 253_402_300_799_000_i64))] pub i64);

impl UnixMs {
    /// The latest accepted instant: the end of the year 9999.
    pub const LATEST: Self = Self(253_402_300_799_000);

    /// Adds `ms` milliseconds, saturating.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds since `earlier`; negative if that is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// As a chrono value, clamped to chrono's range.
    #[must_use]
    pub fn to_utc(self) -> DateTime<Utc> {
        Utc.timestamp_millis_opt(self.0).single().unwrap_or(if self.0 < 0 {
            DateTime::<Utc>::MIN_UTC
        } else {
            DateTime::<Utc>::MAX_UTC
        })
    }
}

impl From<DateTime<Utc>> for UnixMs {
    fn from(at: DateTime<Utc>) -> Self {
        Self(at.timestamp_millis())
    }
}
