//! The only place where the time is read, and where the system is asked for its zone.
//!
//! Looking at the zones costs a few calls to the file system, so it is done when somebody asks and the last look is a
//! minute old, and at once when the host is told that something changed. Nothing wakes up for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rouse_core::schedule::Zones;
use rouse_core::{Clock, UnixMs};

use crate::error::HostError;
use crate::options::HostOptions;
use crate::zone_files::ZoneFolder;

/// A look at the zones is good for so long.
const LOOK_LASTS: Duration = Duration::from_secs(60);

/// The system's clocks and zones.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    look: Mutex<Look>,
}

/// The zones as they were last seen.
#[derive(Debug)]
struct Look {
    zones: Zones,
    folder: Option<ZoneFolder>,
    at: Duration,
}

impl Default for SystemClock {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        let start = Instant::now();
        Self { start, look: Mutex::new(Look::first(Duration::ZERO)) }
    }
}

impl SystemClock {
    fn look(&self) -> MutexGuard<'_, Look> {
        self.look.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut look = self.look();
        if now.saturating_sub(look.at) >= LOOK_LASTS {
            look.again(now);
        }
        look.zones.clone()
    }

    fn look_at_zones_again(&self) {
        self.look().again(self.monotonic());
    }
}

impl Look {
    fn first(at: Duration) -> Self {
        let folder = ZoneFolder::of_system();
        Self { zones: with_local(&zones_of(folder.as_ref())), folder, at }
    }

    /// Keeps the data as long as the folder stays what it was, so that a look that finds nothing new changes nothing.
    fn again(&mut self, at: Duration) {
        let folder = ZoneFolder::of_system();
        if folder != self.folder {
            self.zones = zones_of(folder.as_ref());
            self.folder = folder;
            tracing::info!(zones = %self.zones.source(), "the time zone data changed");
        }
        self.zones = with_local(&self.zones);
        self.at = at;
    }
}

fn zones_of(folder: Option<&ZoneFolder>) -> Zones {
    folder.map_or_else(|| Zones::built_in(chrono_tz::UTC), ZoneFolder::zones)
}

fn with_local(zones: &Zones) -> Zones {
    let of_environment = std::env::var("TZ").unwrap_or_default();
    // silent-ok: a system that names no zone is in UTC, which status shows.
    chosen(zones, &of_environment, || iana_time_zone::get_timezone().ok())
}

/// The zone that `TZ` names, else that of the system, else UTC. A `TZ` that was meant and is not followed is told: jobs
/// would be hours off.
fn chosen(zones: &Zones, tz: &str, of_system: impl FnOnce() -> Option<String>) -> Zones {
    let wanted = tz.trim_start_matches(':');
    if zones.zone(wanted).is_some() {
        return zones.with_local(wanted);
    }
    let local = zones.with_local(&of_system().unwrap_or_else(|| "UTC".to_owned()));
    // POSIX lets it be the path of a file as well, which mostly is that of the system's own zone.
    if wanted.is_empty() || wanted.starts_with('/') {
        return local;
    }
    let used = local.local().name();
    local.with_local_problem(format!(
        "TZ={tz} is no zone, so {used} is used. Set TZ to one such as Europe/Berlin, or take it out, and start Rouse again."
    ))
}

/// What wakes the scheduler and the outbox: what a test brought, else the system's.
pub(crate) fn timer(
    options: &HostOptions,
    clock: &Arc<dyn Clock>,
) -> Result<Box<dyn rouse_core::time::Timer>, HostError> {
    options.timer.as_ref().map_or_else(|| system_timer(clock), |make| Ok(make()))
}

#[cfg(target_os = "linux")]
fn system_timer(_: &Arc<dyn Clock>) -> Result<Box<dyn rouse_core::time::Timer>, HostError> {
    Ok(Box::new(rouse_scheduler::timer::WallTimer::new().map_err(HostError::Timer)?))
}

#[cfg(not(target_os = "linux"))]
fn system_timer(clock: &Arc<dyn Clock>) -> Result<Box<dyn rouse_core::time::Timer>, HostError> {
    Ok(Box::new(rouse_scheduler::timer::WallTimer::new(Arc::clone(clock))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tz: &str, of_system: Option<&str>) -> (String, Option<String>) {
        let zones = Zones::built_in(chrono_tz::UTC);
        let zones = chosen(&zones, tz, || of_system.map(str::to_owned));
        (zones.local().name().to_owned(), zones.local_problem().map(str::to_owned))
    }

    #[test]
    fn a_tz_that_is_no_zone_is_told_with_the_zone_that_is_used() {
        let (zone, problem) = told("Mars/Phobos", None);
        assert_eq!(zone, "UTC");
        let problem = problem.expect("it is told");
        assert!(problem.starts_with("TZ=Mars/Phobos is no zone, so UTC is used."), "{problem}");
        let (zone, problem) = told("CET-1CEST,M3.5.0,M10.5.0/3", Some("Europe/Berlin"));
        assert_eq!(zone, "Europe/Berlin");
        assert!(problem.expect("it is told").contains("so Europe/Berlin is used"));
    }

    #[test]
    fn a_tz_that_is_followed_or_leads_to_the_system_is_not_told() {
        for (tz, zone) in [
            ("Asia/Tokyo", "Asia/Tokyo"),
            (":Asia/Tokyo", "Asia/Tokyo"),
            ("", "Europe/Berlin"),
            (":/etc/localtime", "Europe/Berlin"),
        ] {
            assert_eq!(told(tz, Some("Europe/Berlin")), (zone.to_owned(), None), "{tz}");
        }
        assert_eq!(told("", None), ("UTC".to_owned(), None));
    }

    #[test]
    fn a_look_that_finds_nothing_new_keeps_the_data() {
        let zones = Zones::built_in(chrono_tz::UTC);
        assert!(chosen(&zones, "Mars/Phobos", || None).has_data_of(&zones));
        assert_eq!(
            chosen(&chosen(&zones, "Mars/Phobos", || None), "", || None).local_problem(),
            None
        );
    }
}
