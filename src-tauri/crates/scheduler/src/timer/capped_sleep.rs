//! A timer for systems without `timerfd`: sleeps of at most half a minute, each followed by a read of wall clock and zones.
//!
//! A runtime's sleep counts monotonic time, which may stand still in suspend; the cap bounds how long that goes unnoticed.
//! A clock jump shows as a difference between the two clocks. Without an instant there is no sleep.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::schedule::Zones;
use rouse_core::time::{Clock, Timer, Wake};
use rouse_core::tool::BoxFuture;

/// Maximum sleep.
const MAX_SLEEP_MS: i64 = 30_000;
/// Minimum difference of the clocks within a sleep that counts as a clock jump rather than drift.
const MIN_JUMP_MS: i64 = 1_000;

/// A capped sleep that reads the wall clock again.
pub struct CappedSleep {
    clock: Arc<dyn Clock>,
    at: Option<UnixMs>,
    last_seen: (UnixMs, Duration),
    zones: Zones,
}

impl CappedSleep {
    /// A timer on `clock` without an instant.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let last_seen = (clock.now(), clock.monotonic());
        let zones = clock.zones();
        Self { clock, at: None, last_seen, zones }
    }

    async fn wait_in_slices(&mut self) -> Wake {
        loop {
            match self.poll() {
                NextStep::Wake(wake) => return wake,
                NextStep::Sleep(slice) => sleep(slice).await,
                NextStep::Park => std::future::pending().await,
            }
        }
    }

    fn poll(&mut self) -> NextStep {
        let now = self.clock.now();
        let has_changed = self.has_jumped(now) | self.has_new_zones();
        // Updated each time, so that drift adds up within a single sleep only.
        self.last_seen = (now, self.clock.monotonic());
        if has_changed {
            return NextStep::Wake(Wake::ClockChanged);
        }
        let Some(at) = self.at else { return NextStep::Park };
        match at.since(now) {
            ..=0 => NextStep::Wake(Wake::Due),
            left => NextStep::Sleep(Duration::from_millis(left.min(MAX_SLEEP_MS).unsigned_abs())),
        }
    }

    fn has_jumped(&self, now: UnixMs) -> bool {
        let (seen_now, seen_monotonic) = self.last_seen;
        let passed = self.clock.monotonic().saturating_sub(seen_monotonic).as_millis();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        now.since(seen_now).saturating_sub(passed).abs() > MIN_JUMP_MS
    }

    fn has_new_zones(&mut self) -> bool {
        let zones = self.clock.zones();
        let is_new = !zones.has_same_data(&self.zones) || zones.local() != self.zones.local();
        self.zones = zones;
        is_new
    }
}

enum NextStep {
    Wake(Wake),
    Sleep(Duration),
    /// There is no instant to wait for.
    Park,
}

impl Timer for CappedSleep {
    fn arm(&mut self, at: Option<UnixMs>) {
        // Without an instant the clocks were not read, and may have drifted apart in days.
        if self.at.is_none() {
            self.last_seen = (self.clock.now(), self.clock.monotonic());
        }
        self.at = at;
    }

    fn wait(&mut self) -> BoxFuture<'_, Wake> {
        Box::pin(self.wait_in_slices())
    }
}

#[expect(clippy::disallowed_methods, reason = "the scheduler's timer on systems without `timerfd`")]
async fn sleep(slice: Duration) {
    tokio::time::sleep(slice).await;
}

#[cfg(test)]
mod tests {
    use rouse_testkit::ManualClock;

    use super::*;

    fn timer(clock: &ManualClock) -> CappedSleep {
        CappedSleep::new(Arc::new(clock.clone()))
    }

    fn slice_ms(timer: &mut CappedSleep) -> Option<u128> {
        match timer.poll() {
            NextStep::Sleep(slice) => Some(slice.as_millis()),
            NextStep::Park => None,
            NextStep::Wake(wake) => panic!("woke: {wake:?}"),
        }
    }

    #[test]
    fn sleeps_are_capped() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = timer(&clock);
        assert_eq!(slice_ms(&mut timer), None);
        timer.arm(Some(UnixMs(70_000)));
        assert_eq!(slice_ms(&mut timer), Some(30_000));
        clock.advance(60_000);
        assert_eq!(slice_ms(&mut timer), Some(10_000));
        clock.advance(10_000);
        assert!(matches!(timer.poll(), NextStep::Wake(Wake::Due)));
    }

    #[test]
    fn clock_step_is_reported_once() {
        let clock = ManualClock::new(UnixMs(1_000_000));
        let mut timer = timer(&clock);
        timer.arm(Some(UnixMs(2_000_000)));
        for to in [500_000, 900_000] {
            clock.set(UnixMs(to));
            assert!(matches!(timer.poll(), NextStep::Wake(Wake::ClockChanged)));
            assert_eq!(slice_ms(&mut timer), Some(30_000));
        }
    }

    #[test]
    fn new_zone_is_reported_once() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = timer(&clock);
        timer.arm(Some(UnixMs(900_000)));
        assert_eq!(slice_ms(&mut timer), Some(30_000));
        clock.set_zones(Zones::built_in(chrono_tz::Europe::Berlin));
        assert!(matches!(timer.poll(), NextStep::Wake(Wake::ClockChanged)));
        assert_eq!(slice_ms(&mut timer), Some(30_000));
    }

    #[test]
    fn days_without_an_instant_are_no_clock_step() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = timer(&clock);
        clock.set(UnixMs(5_000));
        timer.arm(Some(UnixMs(6_000)));
        assert_eq!(slice_ms(&mut timer), Some(1_000));
    }

    #[tokio::test]
    async fn past_instant_is_due_at_once() {
        let mut timer = timer(&ManualClock::new(UnixMs(10)));
        timer.arm(Some(UnixMs(10)));
        assert_eq!(timer.wait().await, Wake::Due);
    }
}
