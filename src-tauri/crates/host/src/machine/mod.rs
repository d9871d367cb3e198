//! The machine around Rouse: that it woke up, that its zone or its zone files changed, and that it stays awake.
//!
//! Owns what is told to the scheduler beside its own timer, and the wish that a computer does not go to sleep while a
//! run is at work. It decides nothing: the scheduler looks at the clock and plans anew, the person switches
//! `system.keepAwake` on. Everything here waits for messages of the system; nothing wakes up to look. A system without
//! these messages (a container without a bus) is no error: the timer notices a wake by itself, and zone data is looked at
//! whenever somebody asks for a zone, on macOS and Windows also by the timer.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod zone_watch;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::System;
#[cfg(target_os = "macos")]
pub(crate) use macos::System;
#[cfg(windows)]
pub(crate) use windows::System;

use rouse_scheduler::SchedulerHandle;
use tokio::sync::{mpsc, watch};

use crate::config::Config;

/// How many runs are at work.
#[derive(Debug, Clone)]
pub(crate) struct AtWork(watch::Sender<usize>);

/// One run that is at work, for as long as it is kept.
#[derive(Debug)]
pub(crate) struct OneAtWork(AtWork);

impl Default for AtWork {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl AtWork {
    /// One run more is at work, until the answer is dropped.
    pub(crate) fn one_more(&self) -> OneAtWork {
        self.0.send_modify(|count| *count += 1);
        OneAtWork(self.clone())
    }
}

impl Drop for OneAtWork {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

/// Says that something changed; whoever hears it looks for itself.
type Tell = mpsc::UnboundedSender<()>;

/// Listens to the system for as long as the host lives.
pub(crate) async fn follow(
    system: System,
    scheduler: SchedulerHandle,
    settings: watch::Receiver<Config>,
    at_work: AtWork,
) {
    let (tell, changes) = mpsc::unbounded_channel();
    tokio::join!(
        system.listen(&tell),
        hand_on(changes, scheduler),
        keep_awake(&system, settings, at_work)
    );
}

async fn hand_on(mut changes: mpsc::UnboundedReceiver<()>, scheduler: SchedulerHandle) {
    while changes.recv().await.is_some() {
        if let Err(error) = scheduler.clock_changed().await {
            tracing::debug!(%error, "the scheduler had stopped before it heard of a change");
        }
    }
}

/// Holds the computer awake exactly while it is wished and a run is at work.
async fn keep_awake(system: &System, mut settings: watch::Receiver<Config>, at_work: AtWork) {
    let mut at_work = at_work.0.subscribe();
    let mut held = None;
    loop {
        let is_wished = settings.borrow_and_update().keep_awake;
        let is_needed = *at_work.borrow_and_update() > 0;
        match (is_wished && is_needed, &held) {
            (true, None) => held = system.stay_awake().await,
            (false, Some(_)) => held = None,
            _ => {}
        }
        let goes_on = tokio::select! {
            changed = settings.changed() => changed.is_ok(),
            changed = at_work.changed() => changed.is_ok(),
        };
        if !goes_on {
            return;
        }
    }
}
