//! Limits on a sandboxed command's total memory, disk space, files and home size.
//!
//! Owns the schedule: a thread per command measures, more often near a limit, and kills the command beyond it. The system's part counts
//! memory (`linux::memory_usage`, `macos`), `disk_limits` the disks. A failed measurement kills too. The limits are approximate: a
//! command can exceed them between two measurements; exact limits are those of the kernel.
//!
//! Pitfall: to measure on a thread pool that others can fill; to trust a single measurement (a process that forks counts twice for a
//! moment); to ask a command to terminate that is filling the memory.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::disk_limits::{DiskLimits, Headroom};
use super::spec::Sandbox;
use crate::process::LimitBreach;

/// The processes of a command.
pub(super) trait MonitoredProcesses: Send + 'static {
    /// Measures the memory; precisely if it seems to exceed `max_bytes`.
    fn memory_bytes(&mut self, max_bytes: u64) -> io::Result<u64>;
    /// Kills all processes.
    fn kill_all(&mut self);
}

/// A running monitor; ends when dropped.
#[derive(Debug)]
pub(super) struct ResourceMonitor(
    #[expect(dead_code, reason = "dropping it ends the thread")] Sender<Infallible>,
);

/// Consecutive measurements that confirm an exceeded limit.
const CONFIRMATIONS: u32 = 3;
const MIN_INTERVAL: Duration = Duration::from_millis(5);
const MAX_INTERVAL: Duration = Duration::from_millis(100);
/// The fastest growth of memory in bytes per millisecond: 8 GB per second.
const MAX_GROWTH: u64 = 8 << 20;
/// Minimum pause in units of the measurement's duration, so that a thread measures a tenth of the time.
const PAUSE_FACTOR: u32 = 9;

/// Monitors `processes`; records an exceeded limit in `breach` and kills the command.
///
/// # Errors
/// The thread cannot be started, or a folder is missing.
pub(super) fn start_monitor(
    sandbox: &Sandbox,
    processes: impl MonitoredProcesses,
    breach: LimitBreach,
) -> io::Result<ResourceMonitor> {
    let (alive, stop) = channel();
    let max_memory = sandbox.limits.memory_bytes;
    let mut disks = DiskLimits::new(sandbox)?;
    let work = move || monitor(max_memory, &mut disks, processes, &breach, &stop);
    std::thread::Builder::new().name("rouse-monitor".to_owned()).spawn(work)?;
    Ok(ResourceMonitor(alive))
}

fn monitor(
    max_memory: u64,
    disks: &mut DiskLimits,
    mut processes: impl MonitoredProcesses,
    breach: &LimitBreach,
    stop: &Receiver<Infallible>,
) {
    let (mut interval, mut exceeded) = (MIN_INTERVAL, 0);
    while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(interval) {
        let started = now();
        let reason = match (disks.headroom(), processes.memory_bytes(max_memory)) {
            (Ok(Headroom::Bytes(disk)), Ok(memory)) if memory <= max_memory => {
                exceeded = 0;
                interval = next_interval(disk.min(max_memory - memory), started.elapsed());
                continue;
            }
            // A single measurement of a disk is reliable, and waiting would cost other programs space.
            (Ok(Headroom::Exceeded(reason)), _) => {
                exceeded = CONFIRMATIONS - 1;
                reason
            }
            (Ok(Headroom::Bytes(_)), Ok(_)) => {
                format!("Took more than {} MB of memory and was ended", max_memory >> 20)
            }
            (Err(error), _) | (_, Err(error)) => {
                format!("Was ended because its memory and disk use could not be measured ({error})")
            }
        };
        (interval, exceeded) = (MIN_INTERVAL, exceeded + 1);
        if exceeded == CONFIRMATIONS {
            breach.record(reason);
            return processes.kill_all();
        }
    }
    // The command has exited; the orphans go too.
    processes.kill_all();
}

/// Monotonic time, to measure durations.
#[expect(clippy::disallowed_methods, reason = "measures durations in a thread without a job")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// The time until the next measurement, early enough for the fastest growth.
fn next_interval(headroom: u64, measurement: Duration) -> Duration {
    let filled_after = Duration::from_millis(headroom / MAX_GROWTH);
    filled_after.clamp(MIN_INTERVAL, MAX_INTERVAL).max(measurement * PAUSE_FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns scripted measurements; the command exits after the last measurement.
    struct ScriptedProcesses(Vec<io::Result<u64>>, Option<Sender<Infallible>>, Sender<()>);

    impl MonitoredProcesses for ScriptedProcesses {
        fn memory_bytes(&mut self, _: u64) -> io::Result<u64> {
            let measured = self.0.remove(0);
            if self.0.is_empty() {
                self.1 = None;
            }
            measured
        }

        fn kill_all(&mut self) {
            self.2.send(()).expect("received");
        }
    }

    fn run_monitor(measurements: Vec<io::Result<u64>>) -> (Option<String>, bool) {
        run_monitor_with(0, measurements)
    }

    fn run_monitor_with(
        reserved_bytes: u64,
        measurements: Vec<io::Result<u64>>,
    ) -> (Option<String>, bool) {
        let ((alive, stop), (kill, killed)) = (channel(), channel());
        let breach = LimitBreach::default();
        let mut disks = DiskLimits::for_test(&std::env::temp_dir(), reserved_bytes);
        let processes = ScriptedProcesses(measurements, Some(alive), kill);
        monitor(10 << 20, &mut disks, processes, &breach, &stop);
        (breach.reason(), killed.try_recv().is_ok())
    }

    #[test]
    fn full_disk_kills_at_the_first_measurement() {
        let (reason, killed) = run_monitor_with(u64::MAX, vec![Ok(1), Ok(1)]);
        assert!(killed && reason.is_some_and(|reason| reason.contains("MB of the disk stay free")));
    }

    #[test]
    fn memory_over_the_limit_kills_after_three_measurements() {
        let over = || Ok(11 << 20);
        let (reason, killed) = run_monitor(vec![Ok(1), over(), over(), over()]);
        assert!(
            killed && reason.is_some_and(|reason| reason.contains("more than 10 MB of memory"))
        );
        let measurements = vec![over(), over(), Ok(10 << 20), over(), over(), Ok(1)];
        let (reason, killed) = run_monitor(measurements);
        assert!(killed && reason.is_none(), "orphans are killed at the end");
    }

    #[test]
    fn failed_measurement_kills() {
        let error = || Err(io::ErrorKind::PermissionDenied.into());
        let (reason, killed) = run_monitor(vec![error(), error(), error()]);
        assert!(killed && reason.is_some_and(|reason| reason.contains("could not be measured")));
    }

    #[test]
    fn interval_shrinks_near_the_limit() {
        let interval = |left, look| next_interval(left, Duration::from_millis(look));
        assert_eq!(interval(4 << 30, 0), MAX_INTERVAL);
        assert_eq!(interval(400 << 20, 0), Duration::from_millis(50));
        assert_eq!(interval(0, 0), MIN_INTERVAL);
        assert_eq!(interval(0, 20), Duration::from_millis(180));
    }
}
