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
        Self { zones: with_local(zones_of(folder.as_ref())), folder, at }
    }

    /// Keeps the data as long as the folder stays what it was, so that a look that finds nothing new changes nothing.
    fn again(&mut self, at: Duration) {
        let folder = ZoneFolder::of_system();
        if folder != self.folder {
            self.zones = zones_of(folder.as_ref());
            self.folder = folder;
            tracing::info!(zones = %self.zones.source(), "the time zone data changed");
        }
        self.zones = with_local(self.zones.clone());
        self.at = at;
    }
}

fn zones_of(folder: Option<&ZoneFolder>) -> Zones {
    folder.map_or_else(|| Zones::built_in(chrono_tz::UTC), ZoneFolder::zones)
}

/// A zone that neither source knows, or none set, reads as UTC, which status shows.
fn with_local(zones: Zones) -> Zones {
    // POSIX lets `TZ` be a rule or a file as well; then it names no zone.
    let of_environment = std::env::var("TZ").ok().map(|tz| tz.trim_start_matches(':').to_owned());
    let name = of_environment
        .filter(|name| zones.zone(name).is_some())
        .or_else(|| iana_time_zone::get_timezone().ok());
    match name {
        Some(name) if name == zones.local().name() => zones,
        Some(name) => zones.with_local(&name),
        None => zones.with_local("UTC"),
    }
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
