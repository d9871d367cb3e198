//! The system clock: the only reader of the time and of the system's zone.
//!
//! A zone lookup costs a few file system calls, so the result is cached for a minute and refreshed when the host
//! reports a change. Nothing wakes up for a refresh.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rouse_core::schedule::Zones;
use rouse_core::{Clock, UnixMs};

use crate::zone_files::ZoneFolder;

/// How long a zone snapshot is valid.
const SNAPSHOT_VALID_FOR: Duration = Duration::from_secs(60);

/// The system's clocks and zones.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    snapshot: Mutex<ZoneSnapshot>,
}

/// The zones at the last lookup.
#[derive(Debug)]
struct ZoneSnapshot {
    zones: Zones,
    folder: Option<ZoneFolder>,
    at: Duration,
}

impl Default for SystemClock {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        let start = Instant::now();
        Self { start, snapshot: Mutex::new(ZoneSnapshot::first(Duration::ZERO)) }
    }
}

impl SystemClock {
    fn snapshot(&self) -> MutexGuard<'_, ZoneSnapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn zones(&self) -> Zones {
        let now = self.monotonic();
        let mut snapshot = self.snapshot();
        if now.saturating_sub(snapshot.at) >= SNAPSHOT_VALID_FOR {
            snapshot.refresh(now);
        }
        snapshot.zones.clone()
    }

    fn reload_zones(&self) {
        self.snapshot().refresh(self.monotonic());
    }
}

impl ZoneSnapshot {
    fn first(at: Duration) -> Self {
        let folder = ZoneFolder::of_system();
        Self { zones: with_local_zone(&load_zones(folder.as_ref())), folder, at }
    }

    /// Keeps the zone data while the folder is unchanged, so an idle refresh changes nothing.
    fn refresh(&mut self, at: Duration) {
        let folder = ZoneFolder::of_system();
        if folder != self.folder {
            self.zones = load_zones(folder.as_ref());
            self.folder = folder;
            tracing::info!(zones = %self.zones.source(), "the time zone data changed");
        }
        self.zones = with_local_zone(&self.zones);
        self.at = at;
    }
}

fn load_zones(folder: Option<&ZoneFolder>) -> Zones {
    folder.map_or_else(|| Zones::built_in(chrono_tz::UTC), ZoneFolder::zones)
}

fn with_local_zone(zones: &Zones) -> Zones {
    let tz = std::env::var("TZ").unwrap_or_default();
    // silent-ok: a system without a zone is in UTC, which the status shows.
    choose_zone(zones, &tz, || iana_time_zone::get_timezone().ok())
}

/// The zone in `TZ`, else the system's zone, else UTC.
///
/// An unknown `TZ` is reported, because jobs would be hours off.
fn choose_zone(zones: &Zones, tz: &str, of_system: impl FnOnce() -> Option<String>) -> Zones {
    let wanted = tz.trim_start_matches(':');
    if zones.zone(wanted).is_some() {
        return zones.with_local(wanted);
    }
    let local = zones.with_local(&of_system().unwrap_or_else(|| "UTC".to_owned()));
    // POSIX also allows a file path, mostly that of the system's own zone.
    if wanted.is_empty() || wanted.starts_with('/') {
        return local;
    }
    let used = local.local().name();
    local.with_local_problem(format!(
        "TZ={tz} is not a time zone, so Rouse uses {used}. Set TZ to a zone such as Europe/Berlin, or unset it, and restart Rouse."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(tz: &str, of_system: Option<&str>) -> (String, Option<String>) {
        let zones = Zones::built_in(chrono_tz::UTC);
        let zones = choose_zone(&zones, tz, || of_system.map(str::to_owned));
        (zones.local().name().to_owned(), zones.local_problem().map(str::to_owned))
    }

    #[test]
    fn unknown_tz_is_reported_with_the_used_zone() {
        let (zone, problem) = choose("Mars/Phobos", None);
        assert_eq!(zone, "UTC");
        let problem = problem.expect("a problem");
        assert!(
            problem.starts_with("TZ=Mars/Phobos is not a time zone, so Rouse uses UTC."),
            "{problem}"
        );
        let (zone, problem) = choose("CET-1CEST,M3.5.0,M10.5.0/3", Some("Europe/Berlin"));
        assert_eq!(zone, "Europe/Berlin");
        assert!(problem.expect("a problem").contains("so Rouse uses Europe/Berlin"));
    }

    #[test]
    fn known_tz_is_not_reported() {
        for (tz, zone) in [
            ("Asia/Tokyo", "Asia/Tokyo"),
            (":Asia/Tokyo", "Asia/Tokyo"),
            ("", "Europe/Berlin"),
            (":/etc/localtime", "Europe/Berlin"),
        ] {
            assert_eq!(choose(tz, Some("Europe/Berlin")), (zone.to_owned(), None), "{tz}");
        }
        assert_eq!(choose("", None), ("UTC".to_owned(), None));
    }

    #[test]
    fn unchanged_zone_keeps_the_data() {
        let zones = Zones::built_in(chrono_tz::UTC);
        assert!(choose_zone(&zones, "Mars/Phobos", || None).has_same_data(&zones));
        assert_eq!(
            choose_zone(&choose_zone(&zones, "Mars/Phobos", || None), "", || None).local_problem(),
            None
        );
    }
}
