//! Empties the outbox: every delivery ends delivered, failed or suppressed, with a reason.
//!
//! Sleeps until something is put in or an attempt is due; an empty outbox costs nothing. A delivery is tried, then its
//! fate is written; a crash in between tries it again, and the notification's id keeps the second from standing beside
//! the first.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::Clock;
use rouse_core::delivery::{Channel, Delivery, DeliveryState, redelivery_after_ms};
use rouse_store::{Store, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::notifier::{Notifier, NotifyError};

/// Deliveries read in one go.
const BATCH: u32 = 50;
/// The pause after the store failed, so that a full disk is not hammered.
const STORE_PAUSE: Duration = Duration::from_secs(10);
/// The longest sleep: wall time may step under a monotonic timer.
const LONGEST_SLEEP_MS: i64 = 30_000;

/// What the outbox works with.
pub(crate) struct Outbox {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) signal: Arc<Notify>,
    pub(crate) closing: CancellationToken,
}

impl Outbox {
    /// Works until the engine closes.
    pub(crate) async fn run(self) {
        while !self.closing.is_cancelled() {
            let pause = match self.empty().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!(%error, "the outbox cannot be read");
                    Some(STORE_PAUSE)
                }
            };
            self.wait(pause).await;
        }
    }

    /// Tries everything that is due; answers how long to sleep, or none for "until something is put in".
    async fn empty(&self) -> Result<Option<Duration>, StoreError> {
        loop {
            let due = self.store.due_deliveries(self.clock.now(), BATCH).await?;
            if due.is_empty() {
                break;
            }
            for delivery in due {
                self.deliver(&delivery).await?;
            }
        }
        let next = self.store.next_delivery_at().await?;
        Ok(next.map(|at| {
            let wait = at.since(self.clock.now()).clamp(1, LONGEST_SLEEP_MS);
            Duration::from_millis(u64::try_from(wait).unwrap_or(1))
        }))
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<(), StoreError> {
        let shown = match &delivery.channel {
            Channel::Notification => self.notifier.show(delivery).await,
            Channel::Named(name) => Err(NotifyError::Never(format!(
                "The channel {name} is not set up. The result is in the run."
            ))),
        };
        let now = self.clock.now();
        match shown {
            Ok(()) => {
                self.store.settle_delivery(&delivery.id, DeliveryState::Delivered, None, now).await
            }
            Err(NotifyError::Never(reason)) => {
                let state = match delivery.channel {
                    Channel::Notification => DeliveryState::Suppressed,
                    Channel::Named(_) => DeliveryState::Failed,
                };
                self.store.settle_delivery(&delivery.id, state, Some(&reason), now).await
            }
            Err(NotifyError::Later(reason)) => self.later(delivery, &reason).await,
        }
    }

    async fn later(&self, delivery: &Delivery, reason: &str) -> Result<(), StoreError> {
        let now = self.clock.now();
        tracing::warn!(delivery_id = %delivery.id, reason, "a delivery did not get through");
        match redelivery_after_ms(delivery.attempts + 1) {
            Some(pause) => {
                self.store.postpone_delivery(&delivery.id, reason, now.plus_ms(pause), now).await
            }
            None => {
                self.store
                    .settle_delivery(&delivery.id, DeliveryState::Failed, Some(reason), now)
                    .await
            }
        }
    }

    async fn wait(&self, pause: Option<Duration>) {
        let sleep = async {
            match pause {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "a delivery's backoff is a duration, not an instant"
                )]
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.closing.cancelled() => {}
            () = self.signal.notified() => {}
            () = sleep => {}
        }
    }
}
