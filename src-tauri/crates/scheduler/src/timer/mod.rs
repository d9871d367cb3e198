//! The scheduler's timer: waits for an absolute instant of wall time, or for a clock change.
//!
//! On Linux a `timerfd`: exact to microseconds, right across suspend, cancelled by a clock jump, without wake-ups in
//! between. Elsewhere a sleep of at most half a minute that reads the wall clock again. Never polls for work.
//! Pitfall: monotonic time may stand still in suspend, so a monotonic timer fires late by the length of the suspend.

#[cfg(target_os = "linux")]
mod linux;
mod capped_sleep;

pub use capped_sleep::CappedSleep;
#[cfg(not(target_os = "linux"))]
pub use capped_sleep::CappedSleep as WallTimer;
#[cfg(target_os = "linux")]
pub use linux::WallTimer;
