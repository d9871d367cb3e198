//! The machine around Rouse: wake-ups, zone changes, and sleep inhibition.
//!
//! Owns the reports of the system to the scheduler, and sleep inhibition during runs. Never decides: the scheduler
//! reads the clock and plans again, and the person switches `system.keepAwake` on. Waits for system messages without
//! polling. A system without messages, such as a container without a bus, is no error: the timer detects a wake-up,
//! and zones are read on demand, on macOS and Windows also by the timer.

mod change_sender;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod zone_watch;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::SystemMachine;
#[cfg(target_os = "macos")]
pub(crate) use macos::SystemMachine;
#[cfg(windows)]
pub(crate) use windows::SystemMachine;

use std::sync::Arc;

use rouse_scheduler::SchedulerHandle;
use tokio::sync::{Notify, mpsc, watch};

use crate::config::Config;

/// The number of runs in progress.
#[derive(Debug, Clone)]
pub(crate) struct RunCounter(watch::Sender<usize>);

/// A counted run, until dropped.
#[derive(Debug)]
pub(crate) struct CountedRun(RunCounter);

impl Default for RunCounter {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl RunCounter {
    /// Counts a run until the result is dropped.
    pub(crate) fn count_run(&self) -> CountedRun {
        self.0.send_modify(|count| *count += 1);
        CountedRun(self.clone())
    }
}

impl Drop for CountedRun {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

/// Follows the system for the life of the host. `changed` is notified after each wake-up and zone change.
pub(crate) async fn follow(
    system: SystemMachine,
    scheduler: SchedulerHandle,
    changed: Arc<Notify>,
    settings: watch::Receiver<Config>,
    run_counter: RunCounter,
) {
    let (changes_tx, changes) = mpsc::unbounded_channel();
    tokio::join!(
        system.listen(&changes_tx),
        forward_changes(changes, scheduler, changed),
        keep_awake(&system, settings, run_counter)
    );
}

async fn forward_changes(
    mut changes: mpsc::UnboundedReceiver<()>,
    scheduler: SchedulerHandle,
    changed: Arc<Notify>,
) {
    while changes.recv().await.is_some() {
        changed.notify_one();
        if let Err(error) = scheduler.clock_changed().await {
            tracing::debug!(%error, "the scheduler stopped before a change reached it");
        }
    }
}

/// Inhibits sleep exactly while the setting is on and a run is in progress.
async fn keep_awake(
    system: &SystemMachine,
    mut settings: watch::Receiver<Config>,
    run_counter: RunCounter,
) {
    let mut run_counter = run_counter.0.subscribe();
    let mut inhibitor = None;
    loop {
        let is_enabled = settings.borrow_and_update().system.keep_awake;
        let is_needed = *run_counter.borrow_and_update() > 0;
        match (is_enabled && is_needed, &inhibitor) {
            (true, None) => inhibitor = system.inhibit_sleep().await,
            (false, Some(_)) => inhibitor = None,
            _ => {}
        }
        let is_open = tokio::select! {
            changed = settings.changed() => changed.is_ok(),
            changed = run_counter.changed() => changed.is_ok(),
        };
        if !is_open {
            return;
        }
    }
}
