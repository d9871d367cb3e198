//! The clock port and the timer port.
//!
//! Owns both traits. Never reads the time: only the clock of `host` does, so wall time (due instants) and monotonic time
//! (durations) stay apart.

use std::time::Duration;

use super::UnixMs;
use super::zones::{Zone, Zones};
use crate::future::BoxFuture;

/// The clock port. `now` decides due slots; `monotonic` measures durations and may stand still in suspend.
pub trait Clock: Send + Sync {
    /// WallTime time.
    fn now(&self) -> UnixMs;
    /// Monotonic time since an arbitrary point.
    fn monotonic(&self) -> Duration;
    /// The zones of the system, with the local zone.
    fn zones(&self) -> Zones;
    /// Reloads the zones at once instead of within a minute, after a wake-up or a clock jump.
    fn reload_zones(&self) {}
    /// The local zone, the default of new jobs.
    fn zone(&self) -> Zone {
        self.zones().local()
    }
}

/// The timer port: waits for an instant of wall time, over clock jumps and suspend.
pub trait Timer: Send + Sync {
    /// Arms the timer for `at` only; without an instant the timer never fires.
    fn arm(&mut self, at: Option<UnixMs>);
    /// Waits for the armed instant or a clock jump. Cancel-safe.
    fn wait(&mut self) -> BoxFuture<'_, Wake>;
}

/// Why a timer fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The armed instant has come.
    Due,
    /// The wall clock was set or the machine resumed: plans must be checked.
    ClockChanged,
}
