//! The one wait of the scheduler: until an absolute instant of wall time, or until the wall clock is set.
//!
//! Owns the choice of what the system has for that. On Linux it is a `timerfd` that the kernel keeps: exact to some
//! microseconds, right across suspend, cancelled by a step of the clock, and without a single wake-up in between.
//! Elsewhere it is a sleep of at most half a minute that looks at the wall clock again. It refuses intervals: nothing
//! here wakes up to see whether there is something to do. One could get it wrong with a timer on monotonic time, which
//! stands still while the machine sleeps and fires late by the length of the sleep.

#[cfg(target_os = "linux")]
mod linux;
mod portable;

#[cfg(target_os = "linux")]
pub use linux::WallTimer;
#[cfg(not(target_os = "linux"))]
pub use portable::CappedSleep as WallTimer;
pub use portable::CappedSleep;
