//! For systems without `timerfd`: sleeps of at most half a minute, each followed by a look at the wall clock and at the
//! zones, whose new rules may move the next slot to an earlier instant.
//!
//! A runtime's sleep counts monotonic time, which may stand still while the machine sleeps; the cap bounds how long
//! that goes unnoticed. A step of the clock shows as a difference between the two clocks. A stretch of waiting for
//! nothing costs nothing: without an instant there is no sleep.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::schedule::Zones;
use rouse_core::time::{Clock, Timer, Wake};
use rouse_core::tool::BoxFuture;

/// The longest sleep.
const CAP_MS: i64 = 30_000;
/// Clocks drift apart by themselves; by this much within one capped sleep somebody has moved one of them.
const STEP_MS: i64 = 1_000;

/// A sleep that re-reads the wall clock.
pub struct CappedSleep {
    clock: Arc<dyn Clock>,
    at: Option<UnixMs>,
    seen: (UnixMs, Duration),
    zones: Zones,
}

impl CappedSleep {
    /// A timer on `clock`; it waits for nothing yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let seen = (clock.now(), clock.monotonic());
        let zones = clock.zones();
        Self { clock, at: None, seen, zones }
    }

    async fn wait_in_slices(&mut self) -> Wake {
        loop {
            match self.look() {
                Seen::Reason(wake) => return wake,
                Seen::Nothing { look_again_in: Some(slice) } => sleep(slice).await,
                Seen::Nothing { look_again_in: None } => std::future::pending().await,
            }
        }
    }

    fn look(&mut self) -> Seen {
        let now = self.clock.now();
        let has_changed = self.has_stepped(now) | self.has_other_zones();
        // Looked at anew each time, so that only a drift within one slice counts as a step.
        self.seen = (now, self.clock.monotonic());
        if has_changed {
            return Seen::Reason(Wake::ClockChanged);
        }
        let Some(at) = self.at else { return Seen::Nothing { look_again_in: None } };
        match at.since(now) {
            ..=0 => Seen::Reason(Wake::Due),
            left => {
                let slice = Duration::from_millis(left.min(CAP_MS).unsigned_abs());
                Seen::Nothing { look_again_in: Some(slice) }
            }
        }
    }

    fn has_stepped(&self, now: UnixMs) -> bool {
        let (seen_now, seen_monotonic) = self.seen;
        let passed = self.clock.monotonic().saturating_sub(seen_monotonic).as_millis();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        now.since(seen_now).saturating_sub(passed).abs() > STEP_MS
    }

    fn has_other_zones(&mut self) -> bool {
        let zones = self.clock.zones();
        let is_new = !zones.has_data_of(&self.zones) || zones.local() != self.zones.local();
        self.zones = zones;
        is_new
    }
}

enum Seen {
    Reason(Wake),
    Nothing { look_again_in: Option<Duration> },
}

impl Timer for CappedSleep {
    fn arm(&mut self, at: Option<UnixMs>) {
        // Without an instant nobody looked at the clocks, which may have drifted apart in days without any step.
        if self.at.is_none() {
            self.seen = (self.clock.now(), self.clock.monotonic());
        }
        self.at = at;
    }

    fn wait(&mut self) -> BoxFuture<'_, Wake> {
        Box::pin(self.wait_in_slices())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the scheduler's timer where the system has no better one"
)]
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
        match timer.look() {
            Seen::Nothing { look_again_in } => look_again_in.map(|slice| slice.as_millis()),
            Seen::Reason(wake) => panic!("woke: {wake:?}"),
        }
    }

    #[test]
    fn sleeps_are_capped_and_look_again() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = timer(&clock);
        assert_eq!(slice_ms(&mut timer), None);
        timer.arm(Some(UnixMs(70_000)));
        assert_eq!(slice_ms(&mut timer), Some(30_000));
        clock.advance(60_000);
        assert_eq!(slice_ms(&mut timer), Some(10_000));
        clock.advance(10_000);
        assert!(matches!(timer.look(), Seen::Reason(Wake::Due)));
    }

    #[test]
    fn a_step_in_either_direction_is_told_once() {
        let clock = ManualClock::new(UnixMs(1_000_000));
        let mut timer = timer(&clock);
        timer.arm(Some(UnixMs(2_000_000)));
        for to in [500_000, 900_000] {
            clock.set(UnixMs(to));
            assert!(matches!(timer.look(), Seen::Reason(Wake::ClockChanged)));
            assert_eq!(slice_ms(&mut timer), Some(30_000));
        }
    }

    #[test]
    fn another_zone_is_told_once() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = timer(&clock);
        timer.arm(Some(UnixMs(900_000)));
        assert_eq!(slice_ms(&mut timer), Some(30_000));
        clock.set_zones(Zones::built_in(chrono_tz::Europe::Berlin));
        assert!(matches!(timer.look(), Seen::Reason(Wake::ClockChanged)));
        assert_eq!(slice_ms(&mut timer), Some(30_000));
    }

    #[test]
    fn days_without_an_instant_are_no_step() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = timer(&clock);
        clock.set(UnixMs(5_000));
        timer.arm(Some(UnixMs(6_000)));
        assert_eq!(slice_ms(&mut timer), Some(1_000));
    }

    #[tokio::test]
    async fn an_instant_that_has_passed_is_due_at_once() {
        let mut timer = timer(&ManualClock::new(UnixMs(10)));
        timer.arm(Some(UnixMs(10)));
        assert_eq!(timer.wait().await, Wake::Due);
    }
}
