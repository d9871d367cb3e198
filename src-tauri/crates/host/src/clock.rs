//! The only place where the time is read.

use std::time::{Duration, Instant};

use chrono_tz::Tz;
use rouse_core::{Clock, UnixMs};

/// The system's clocks and zone.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> UnixMs {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        UnixMs::from(chrono::Utc::now())
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn zone(&self) -> Tz {
        // A zone that chrono-tz does not know (a newer one, or none set) reads as UTC, which status shows.
        of_environment()
            .or_else(|| iana_time_zone::get_timezone().ok()?.parse().ok())
            .unwrap_or(Tz::UTC)
    }
}

/// `TZ`, where it names a zone of the IANA database (POSIX lets it be a rule or a file as well).
fn of_environment() -> Option<Tz> {
    std::env::var("TZ").ok()?.trim_start_matches(':').parse().ok()
}
