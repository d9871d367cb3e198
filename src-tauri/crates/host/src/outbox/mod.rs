//! The outbox: every delivery ends delivered, failed or suppressed, with a reason.
//!
//! Owns one task that holds, digests and dispatches deliveries, and one worker per channel with due deliveries. A worker
//! sends one message after the other, so a slow channel delays no other channel and no notification. An empty outbox costs
//! nothing. Each pass evaluates the quiet hours again by the present clock and settings.
//! Pitfall: sending from the dispatching task; a time-out of one service would delay the notification.

mod attempt;
mod holding;
mod worker;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{Hooks, Safety};
use rouse_core::channel::{ChannelName, SharedDirectory};
use rouse_core::time::Timer;
use rouse_core::{Clock, UnixMs};
use rouse_scheduler::SchedulerHandle;
use rouse_store::{Store, StoreError};
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::channels::ChannelSenders;
use crate::config::Config;
use crate::notifier::Notifier;

/// The pause after a store error, for example on a full disk.
const STORE_PAUSE: Duration = Duration::from_secs(10);

/// The longest wait for answers when the engine closes.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The parts that the outbox and its workers share.
#[derive(Clone)]
pub(crate) struct OutboxParts {
    pub(crate) store: Store,
    pub(crate) scheduler: SchedulerHandle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: watch::Receiver<Config>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) channels: SharedDirectory,
    pub(crate) senders: Arc<ChannelSenders>,
    pub(crate) safety: Safety,
    pub(crate) hooks: Hooks,
    /// Why the newest notification was not shown, for the status.
    pub(crate) notification_error: watch::Sender<Option<String>>,
    pub(crate) closing: CancellationToken,
}

/// The outbox task.
pub(crate) struct Outbox {
    pub(crate) parts: OutboxParts,
    pub(crate) timer: Box<dyn Timer>,
    pub(crate) signal: Arc<Notify>,
}

impl Outbox {
    /// Works until the engine closes.
    pub(crate) async fn run(mut self) {
        let mut workers = JoinSet::new();
        let mut busy = HashMap::new();
        let mut is_recovered = false;
        while !self.parts.closing.is_cancelled() {
            match self.dispatch(&mut workers, &mut busy, &mut is_recovered).await {
                Ok(next) => {
                    self.timer.arm(next);
                    self.wait(&mut workers, &mut busy).await;
                }
                Err(error) => {
                    tracing::error!(%error, "the outbox cannot be read");
                    self.pause_after_error().await;
                }
            }
        }
        // A message whose answer is still awaited is sent once more at the next start, marked as a repeat.
        let all = async { while workers.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_TIMEOUT, all).await.is_err() {
            tracing::warn!("a channel did not answer before the end");
        }
    }

    /// Starts a worker for each channel with due deliveries. Returns the next instant, or none to wait for a new delivery.
    async fn dispatch(
        &self,
        workers: &mut JoinSet<()>,
        busy: &mut HashMap<Id, ChannelName>,
        is_recovered: &mut bool,
    ) -> Result<Option<UnixMs>, StoreError> {
        let now = self.parts.clock.now();
        if !*is_recovered {
            self.parts.store.recover_sending(None, now).await?;
            *is_recovered = true;
        }
        let quiet_end = self.parts.release_held().await?;
        let mut next = quiet_end;
        for (channel, due_at) in self.parts.store.due_channels().await? {
            if busy.values().any(|busy| *busy == channel) {
                // The end of the worker leads here again.
                continue;
            }
            if due_at > now {
                next = next.into_iter().chain([due_at]).min();
                continue;
            }
            self.parts.collect_digests(&channel).await?;
            let worker = workers.spawn(self.parts.clone().work(channel.clone()));
            busy.insert(worker.id(), channel);
        }
        Ok(next)
    }

    /// Waits for a new delivery, the armed instant, the end of a worker, a clock change or a changed setting.
    async fn wait(&mut self, workers: &mut JoinSet<()>, busy: &mut HashMap<Id, ChannelName>) {
        let Self { timer, signal, parts } = self;
        tokio::select! {
            () = parts.closing.cancelled() => {}
            () = signal.notified() => {}
            _ = timer.wait() => {}
            () = changed(&mut parts.settings) => {}
            Some(ended) = workers.join_next_with_id() => match ended {
                Ok((id, ())) => {
                    busy.remove(&id);
                }
                Err(error) => {
                    tracing::error!(%error, "the worker of a channel ended with a panic");
                    if let Some(channel) = busy.remove(&error.id()) {
                        parts.recover_sending(&channel).await;
                    }
                }
            },
        }
    }

    async fn pause_after_error(&self) {
        pause(STORE_PAUSE, &self.parts.closing).await;
    }
}

/// Waits for `duration`, or until the engine closes.
pub(crate) async fn pause(duration: Duration, closing: &CancellationToken) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a pause between two attempts is a duration, not an instant"
    )]
    let pause = tokio::time::sleep(duration);
    tokio::select! {
        () = closing.cancelled() => {}
        () = pause => {}
    }
}

/// Waits for a changed setting, forever after the sender is gone.
async fn changed(settings: &mut watch::Receiver<Config>) {
    if settings.changed().await.is_err() {
        std::future::pending().await
    }
}
