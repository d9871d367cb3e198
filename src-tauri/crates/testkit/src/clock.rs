//! A clock that stands still until a test moves it, and the timer that follows it.
//!
//! `advance` is time passing; `set` is somebody setting the wall clock. Every timer made by the clock wakes the moment
//! its instant has come, so a test never waits: once a task that owns a timer has answered anything asked after the
//! move, it has seen the move. One could get it wrong by moving the monotonic time in `set`: a step of the wall clock
//! is exactly what durations must not notice.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::schedule::Zones;
use rouse_core::time::{Clock, Timer, Wake};
use rouse_core::tool::BoxFuture;

/// A wall clock and a monotonic clock in a test's hand. Clones share the time.
#[derive(Clone)]
pub struct ManualClock {
    shared: Arc<Mutex<Time>>,
}

struct Time {
    now: UnixMs,
    monotonic: Duration,
    zones: Zones,
    /// How often the wall clock was set.
    steps: u64,
    waiting: Vec<Waker>,
    /// What the timer that was armed last waits for, and who wants to know.
    armed: Option<UnixMs>,
    watching: Vec<Waker>,
}

impl ManualClock {
    /// A clock that shows `now`, in UTC.
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

    /// Lets `ms` milliseconds pass.
    pub fn advance(&self, ms: u64) {
        self.change(|time| {
            time.now = time.now.plus_ms(i64::try_from(ms).unwrap_or(i64::MAX));
            time.monotonic += Duration::from_millis(ms);
        });
    }

    /// Lets time pass until the wall clock shows `now`, which must not lie in the past.
    pub fn advance_to(&self, now: UnixMs) {
        let ms = u64::try_from(now.since(self.now())).expect("BUG: time does not pass backwards");
        self.advance(ms);
    }

    /// Sets the wall clock: no time passes. Timers tell their owners.
    pub fn set(&self, now: UnixMs) {
        self.change(|time| {
            time.now = now;
            time.steps += 1;
        });
    }

    /// Moves the machine to another zone, or gives it other zone data.
    pub fn set_zones(&self, zones: impl Into<Zones>) {
        let zones = zones.into();
        self.change(|time| time.zones = zones);
    }

    /// Waits until a timer waits for `at`. Nothing is asked of its owner.
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

    /// A timer that follows this clock.
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
        // Woken without the lock, because a woken task may look at the clock at once.
        waiting.into_iter().for_each(Waker::wake);
    }

    fn time(&self) -> MutexGuard<'_, Time> {
        self.shared.lock().expect("BUG: a test panicked while it moved the clock")
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

/// A timer that becomes due when its clock is moved.
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

    fn look(timer: &mut ManualTimer) -> Poll<Wake> {
        timer.poll(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn time_passes_on_both_clocks_and_a_step_only_on_one() {
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
    fn a_timer_is_due_at_its_instant() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = clock.timer();
        assert_eq!(look(&mut timer), Poll::Pending);
        timer.arm(Some(UnixMs(100)));
        clock.advance(99);
        assert_eq!(look(&mut timer), Poll::Pending);
        clock.advance(1);
        assert_eq!(look(&mut timer), Poll::Ready(Wake::Due));
        timer.arm(None);
        assert_eq!(look(&mut timer), Poll::Pending);
    }

    #[test]
    fn a_timer_tells_of_a_step_once() {
        let clock = ManualClock::new(UnixMs(0));
        let mut timer = clock.timer();
        clock.set(UnixMs(-5_000));
        assert_eq!(look(&mut timer), Poll::Ready(Wake::ClockChanged));
        assert_eq!(look(&mut timer), Poll::Pending);
    }

    #[test]
    fn a_moved_clock_wakes_who_waits() {
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
