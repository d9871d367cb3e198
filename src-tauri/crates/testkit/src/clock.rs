//! A clock that only a test moves, and its timers.
//!
//! `advance` passes time on both clocks; `set` steps the wall clock alone. A timer wakes as soon as its instant is reached, so a test
//! needs no sleep: a task that has answered a request sent after the move has seen the move. Pitfall: a `set` that moves the monotonic
//! clock would hide durations measured on the wall clock.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::schedule::Zones;
use rouse_core::time::{Clock, Timer, Wake};
use rouse_core::tool::BoxFuture;

/// A wall clock and a monotonic clock under test control. Clones share the time.
#[derive(Clone)]
pub struct ManualClock {
    shared: Arc<Mutex<Time>>,
}

struct Time {
    now: UnixMs,
    monotonic: Duration,
    zones: Zones,
    /// The number of wall-clock steps.
    steps: u64,
    waiting: Vec<Waker>,
    /// The instant of the timer armed last.
    armed: Option<UnixMs>,
    watching: Vec<Waker>,
}

impl ManualClock {
    /// A clock at `now`, in UTC.
    #[must_use]
    pub fn new(now: UnixMs) -> Self {
        let (monotonic, zones) = (Duration::from_secs(1_000), chrono_tz::UTC.into());
        Self {
            shared: Arc::new(Mutex::new(Time {
                now,
                monotonic,
                zones,
                steps: 0,
                waiting: Vec::new(),
                armed: None,
                watching: Vec::new(),
            })),
        }
    }

    /// Passes `ms` milliseconds.
    pub fn advance(&self, ms: u64) {
        self.change(|time| {
            time.now = time.now.plus_ms(i64::try_from(ms).unwrap_or(i64::MAX));
            time.monotonic += Duration::from_millis(ms);
        });
    }

    /// Passes time until `now`.
    ///
    /// # Panics
    /// When `now` is in the past.
    pub fn advance_to(&self, now: UnixMs) {
        let ms = u64::try_from(now.since(self.now())).expect("BUG: the instant is in the past");
        self.advance(ms);
    }

    /// Steps the wall clock; every timer reports a clock change.
    pub fn set(&self, now: UnixMs) {
        self.change(|time| {
            time.now = now;
            time.steps += 1;
        });
    }

    /// Changes the zone of the system, or its zone data.
    pub fn set_zones(&self, zones: impl Into<Zones>) {
        let zones = zones.into();
        self.change(|time| time.zones = zones);
    }

    /// Waits until a timer is armed for `at`.
    pub async fn armed(&self, at: UnixMs) {
        poll_fn(|context| {
            let mut time = self.time();
            if time.armed == Some(at) {
                return Poll::Ready(());
            }
            time.watching.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// A timer of this clock.
    #[must_use]
    pub fn timer(&self) -> ManualTimer {
        let seen_steps = self.time().steps;
        ManualTimer { clock: self.clone(), at: None, seen_steps }
    }

    fn change(&self, change: impl FnOnce(&mut Time)) {
        let waiting = {
            let mut time = self.time();
            change(&mut time);
            std::mem::take(&mut time.waiting)
        };
        // Wakes after the unlock, because a task may read the clock at once.
        waiting.into_iter().for_each(Waker::wake);
    }

    fn time(&self) -> MutexGuard<'_, Time> {
        self.shared.lock().expect("BUG: the clock is poisoned")
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixMs {
        self.time().now
    }

    fn monotonic(&self) -> Duration {
        self.time().monotonic
    }

    fn zones(&self) -> Zones {
        self.time().zones.clone()
    }
}

/// A timer of a [`ManualClock`].
pub struct ManualTimer {
    clock: ManualClock,
    at: Option<UnixMs>,
    seen_steps: u64,
}

impl ManualTimer {
    fn poll(&mut self, context: &Context<'_>) -> Poll<Wake> {
        let mut time = self.clock.time();
        if time.steps != self.seen_steps {
            self.seen_steps = time.steps;
            return Poll::Ready(Wake::ClockChanged);
        }
        if self.at.is_some_and(|at| at <= time.now) {
            return Poll::Ready(Wake::Due);
        }
        if !time.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            time.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Timer for ManualTimer {
    fn arm(&mut self, at: Option<UnixMs>) {
        self.at = at;
        let watching = {
            let mut time = self.clock.time();
            time.armed = at;
            std::mem::take(&mut time.watching)
        };
        watching.into_iter().for_each(Waker::wake);
    }

    fn wait(&mut self) -> BoxFuture<'_, Wake> {
        Box::pin(poll_fn(move |context| self.poll(context)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll_once(timer: &mut ManualTimer) -> Poll<Wake> {
        timer.poll(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn advance_moves_both_clocks_and_set_only_one() {
        let clock = ManualClock::new(UnixMs(5_000));
        let before = clock.monotonic();
        clock.advance(250);
        assert_eq!(
            (clock.now(), clock.monotonic() - before),
            (UnixMs(5_250), Duration::from_millis(250))
        );
        clock.set(UnixMs(1_000));
        assert_eq!(
            (clock.now(), clock.monotonic() - before),
            (UnixMs(1_000), Duration::from_millis(250))
        );
        clock.advance_to(UnixMs(1_100));
        assert_eq!(
            (clock.now(), clock.monotonic() - before),
            (UnixMs(1_100), Duration::from_millis(350))
        );
    }

    #[test]
    fn timer_is_due_at_its_instant() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = clock.timer();
        assert_eq!(poll_once(&mut timer), Poll::Pending);
        timer.arm(Some(UnixMs(100)));
        clock.advance(99);
        assert_eq!(poll_once(&mut timer), Poll::Pending);
        clock.advance(1);
        assert_eq!(poll_once(&mut timer), Poll::Ready(Wake::Due));
        timer.arm(None);
        assert_eq!(poll_once(&mut timer), Poll::Pending);
    }

    #[test]
    fn timer_reports_a_clock_step_once() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = clock.timer();
        clock.set(UnixMs(-5_000));
        assert_eq!(poll_once(&mut timer), Poll::Ready(Wake::ClockChanged));
        assert_eq!(poll_once(&mut timer), Poll::Pending);
    }

    #[test]
    fn advance_wakes_a_waiting_timer() {
        struct Flag(std::sync::atomic::AtomicBool);
        impl std::task::Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.0.store(true, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = clock.timer();
        let flag = Arc::new(Flag(false.into()));
        let waker = Waker::from(Arc::clone(&flag));
        assert_eq!(timer.poll(&Context::from_waker(&waker)), Poll::Pending);
        clock.advance(1);
        assert!(flag.0.load(std::sync::atomic::Ordering::SeqCst));
    }
}
