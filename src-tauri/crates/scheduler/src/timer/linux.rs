//! `timerfd` on `CLOCK_REALTIME`, absolute, cancelled when the clock is set.
//!
//! The kernel compares with the wall clock, in suspend as well. When the clock is set or the machine resumes, a read
//! fails with `ECANCELED`; the timer stays armed, and the owner replans. Arming fails the same way if the clock was set
//! just before; the next wait then reports the clock change.

use std::io;
use std::os::fd::OwnedFd;

use rouse_core::UnixMs;
use rouse_core::time::{Timer, Wake};
use rouse_core::tool::BoxFuture;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The kernel's wall timer.
#[derive(Debug)]
pub struct WallTimer {
    fd: AsyncFd<OwnedFd>,
    /// Whether the clock was set around the last arming, and no wait has reported the change.
    clock_changed: bool,
}

impl WallTimer {
    /// A timer without an instant. Needs a tokio runtime.
    ///
    /// # Errors
    /// No timer or file descriptor is left.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Realtime, flags)?;
        // SAFETY: an `OwnedFd` names the same open file for its lifetime, and the `AsyncFd` owns the `OwnedFd`.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?;
        Ok(Self { fd, clock_changed: false })
    }

    async fn wait_for_kernel(&mut self) -> Wake {
        if std::mem::take(&mut self.clock_changed) {
            return Wake::ClockChanged;
        }
        loop {
            let mut ready =
                self.fd.readable().await.expect("BUG: the timer outlived the runtime's driver");
            match ready.try_io(|fd| read_expirations(fd.get_ref())) {
                Ok(Ok(wake)) => return wake,
                Ok(Err(error)) => panic!("BUG: a timerfd cannot be read: {error}"),
                // Rearming has cleared the expiration since the descriptor became readable.
                Err(_would_block) => {}
            }
        }
    }
}

impl Timer for WallTimer {
    fn arm(&mut self, at: Option<UnixMs>) {
        let spec = Itimerspec { it_interval: NEVER, it_value: at.map_or(NEVER, timespec) };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        match timerfd_settime(self.fd.get_ref(), flags, &spec) {
            Ok(_previous) => {}
            Err(Errno::CANCELED) => self.clock_changed = true,
            Err(error) => panic!("BUG: a timerfd cannot be armed: {error}"),
        }
    }

    fn wait(&mut self) -> BoxFuture<'_, Wake> {
        Box::pin(self.wait_for_kernel())
    }
}

/// A zero disarms the kernel's timer.
const NEVER: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// An instant at or before 1970 is past, but a zero would disarm.
fn timespec(at: UnixMs) -> Timespec {
    let ms = at.0.max(1);
    Timespec { tv_sec: ms / 1_000, tv_nsec: (ms % 1_000) * 1_000_000 }
}

fn read_expirations(fd: &OwnedFd) -> io::Result<Wake> {
    let mut count = [0_u8; 8];
    match rustix::io::read(fd, &mut count) {
        Ok(_) => Ok(Wake::Due),
        Err(Errno::CANCELED) => Ok(Wake::ClockChanged),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_as_kernel_timespecs() {
        let words = |ms| {
            let spec = timespec(UnixMs(ms));
            (spec.tv_sec, spec.tv_nsec)
        };
        assert_eq!(words(1_767_225_600_123), (1_767_225_600, 123_000_000));
        assert_eq!(words(0), (0, 1_000_000));
        assert_eq!(words(-5), (0, 1_000_000));
    }

    /// A test cannot set the clock, but the kernel shows the flags of an armed timer.
    #[tokio::test]
    async fn clock_set_cancels_the_wait() {
        use std::os::fd::AsRawFd as _;
        let mut timer = WallTimer::new().expect("a timer");
        for at in [Some(UnixMs(32_503_680_000_000)), None] {
            timer.arm(at);
            let path = format!("/proc/self/fdinfo/{}", timer.fd.as_raw_fd());
            let info = std::fs::read_to_string(path).expect("the timer's fdinfo");
            let has = |line: &str| info.lines().any(|found| found == line);
            // CLOCK_REALTIME; TFD_TIMER_ABSTIME and TFD_TIMER_CANCEL_ON_SET.
            assert!(has("clockid: 0") && has("settime flags: 03"), "{info}");
        }
    }

    #[tokio::test]
    async fn past_instant_is_due_at_once() {
        let mut timer = WallTimer::new().expect("a timer");
        timer.arm(Some(UnixMs(0)));
        assert_eq!(timer.wait().await, Wake::Due);
    }

    #[tokio::test]
    async fn rearming_replaces_the_old_instant() {
        let mut timer = WallTimer::new().expect("a timer");
        timer.arm(Some(UnixMs(0)));
        timer.arm(None);
        let mut wait = timer.wait();
        let pending = std::future::poll_fn(|context| {
            std::task::Poll::Ready(wait.as_mut().poll(context).is_pending())
        });
        assert!(pending.await);
        drop(wait);
        timer.arm(Some(UnixMs(0)));
        assert_eq!(timer.wait().await, Wake::Due);
    }
}
