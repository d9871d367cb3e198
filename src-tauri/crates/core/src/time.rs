//! Instants, the clock port and the timer port.
//!
//! Owns the one representation of an instant. It refuses to read the time: only `host`'s `SystemClock` does, so that
//! wall time (what is due) and monotonic time (how long something took) can never be mixed up by accident.

use std::time::Duration;

use chrono::{DateTime, TimeZone as _, Utc};
use serde::{Deserialize, Serialize};

use crate::schedule::{Zone, Zones};
use crate::tool::BoxFuture;

/// An instant of wall time: milliseconds since 1970-01-01T00:00:00Z. The unit of every `*_at` in Rouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub i64);

impl UnixMs {
    /// The largest instant that is taken for real: the end of the year 9999.
    pub const LATEST: Self = Self(253_402_300_799_000);

    /// This instant moved by `ms` milliseconds (negative: earlier); stops at the ends of the range.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this instant; negative when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The same instant as a chrono value; instants beyond chrono's range become its limits.
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

/// The clock port. `now` decides what is due; `monotonic` only measures durations and may stand still in suspend.
pub trait Clock: Send + Sync {
    /// Wall time.
    fn now(&self) -> UnixMs;
    /// Time since an arbitrary fixed point; never goes back.
    fn monotonic(&self) -> Duration;
    /// The zones of the system, its own among them.
    fn zones(&self) -> Zones;
    /// Reads the zones of the system again, now rather than within a minute. For after a wake or a step of the clock.
    fn look_at_zones_again(&self) {}
    /// The system's own zone, used as the default of new jobs.
    fn zone(&self) -> Zone {
        self.zones().local()
    }
}

/// The timer port: waits for one instant of wall time, whatever happens to the clock meanwhile.
pub trait Timer: Send + Sync {
    /// Waits for `at` from now on, and for nothing else; without one it never becomes due.
    fn arm(&mut self, at: Option<UnixMs>);
    /// Waits until the armed instant has come or the wall clock was set. A wait that is given up loses nothing.
    fn wait(&mut self) -> BoxFuture<'_, Wake>;
}

/// Why a timer woke its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The armed instant has come.
    Due,
    /// The wall clock was set, or the machine woke up: what was planned by it must be looked at again.
    ClockChanged,
}
