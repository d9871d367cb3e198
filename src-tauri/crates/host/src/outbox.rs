//! The outbox: every delivery ends delivered, failed or suppressed, with a reason.
//!
//! Sleeps until a delivery is added, an attempt is due or quiet hours end; an empty outbox costs nothing. The state
//! is written after the attempt. A crash in between repeats the attempt, and the notification's id replaces the first
//! notification. Deliveries in quiet hours are held in the store. Each pass evaluates the quiet hours again by the
//! present clock and settings.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{DeliveryDecision, DeliveryEvent, HookContext, Hooks, Safety};
use rouse_core::decide::{build_digest, build_mass_digest};
use rouse_core::delivery::{Channel, Delivery, DeliveryState, redelivery_after_ms};
use rouse_core::text::strip_quote;
use rouse_core::time::Timer;
use rouse_core::{Clock, DeliveryId, Run, RunId, RunState, UnixMs};
use rouse_scheduler::SchedulerHandle;
use rouse_store::{Store, StoreError};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::config::Config;
use crate::notifier::{Notifier, NotifyError};

/// Deliveries read at once. A claim covers at most 512 jobs, so a mass digest fits.
const BATCH: u32 = 1_000;
/// The pause after a store error, for example on a full disk.
const STORE_PAUSE: Duration = Duration::from_secs(10);

/// The outbox task.
pub(crate) struct Outbox {
    pub(crate) store: Store,
    pub(crate) scheduler: SchedulerHandle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timer: Box<dyn Timer>,
    pub(crate) settings: watch::Receiver<Config>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) safety: Safety,
    pub(crate) hooks: Hooks,
    /// Why the newest notification was not shown, for the status.
    pub(crate) notification_error: watch::Sender<Option<String>>,
    pub(crate) signal: Arc<Notify>,
    pub(crate) closing: CancellationToken,
}

impl Outbox {
    /// Works until the engine closes.
    pub(crate) async fn run(mut self) {
        while !self.closing.is_cancelled() {
            match self.drain().await {
                Ok(next) => {
                    self.timer.arm(next);
                    self.wait().await;
                }
                Err(error) => {
                    tracing::error!(%error, "the outbox cannot be read");
                    self.pause_after_error().await;
                }
            }
        }
    }

    /// Attempts all due deliveries. Returns the next instant, or none to wait for a new delivery.
    async fn drain(&mut self) -> Result<Option<UnixMs>, StoreError> {
        // Held deliveries are checked before and after, because the loop may hold some.
        self.release_held().await?;
        loop {
            let due = self.store.due_deliveries(self.clock.now(), BATCH).await?;
            if due.is_empty() {
                break;
            }
            for delivery in self.collect_digests(due).await? {
                // Screens leave with the engine; the next start shows the rest.
                if self.closing.is_cancelled() {
                    return Ok(None);
                }
                match self.quiet_until(&delivery, self.clock.now()) {
                    Some(until) => {
                        self.store.hold_delivery(&delivery.id, until, self.clock.now()).await?;
                    }
                    None => self.deliver(&delivery).await?,
                }
            }
        }
        let quiet_end = self.release_held().await?;
        let next = self.store.next_delivery_at().await?;
        Ok(next.into_iter().chain(quiet_end).min())
    }

    /// Replaces many missed or interrupted runs, for example after a weekend or a crash, by one digest each. Returns
    /// the remaining deliveries.
    async fn collect_digests(&self, due: Vec<Delivery>) -> Result<Vec<Delivery>, StoreError> {
        let now = self.clock.now();
        let (mut missed, mut interrupted, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let fits_digest = |delivery: &Delivery| {
            delivery.channel == Channel::Notification && self.quiet_until(delivery, now).is_none()
        };
        let runs: Vec<RunId> = due.iter().filter_map(|delivery| delivery.run_id.clone()).collect();
        let states = self.store.run_states(&runs).await?;
        for delivery in due {
            let run = delivery.run_id.as_ref().filter(|_| fits_digest(&delivery));
            match run.and_then(|id| states.get(id)) {
                Some((_, RunState::Missed)) => missed.push(delivery),
                Some((_, RunState::Interrupted)) => interrupted.push(delivery),
                _ => others.push(delivery),
            }
        }
        for (group, state) in [(missed, RunState::Missed), (interrupted, RunState::Interrupted)] {
            match build_mass_digest(&group, state, DeliveryId::of_digest(now)) {
                Some(digest) => {
                    let ids: Vec<DeliveryId> =
                        group.into_iter().map(|delivery| delivery.id).collect();
                    self.store.digest_deliveries(&ids, &digest, now).await?;
                }
                None => others.extend(group),
            }
        }
        others.sort_by_key(|delivery| delivery.next_attempt_at);
        Ok(others)
    }

    /// The end of the quiet hours for `delivery`; none if the delivery may be shown now. Only notifications observe
    /// quiet hours.
    fn quiet_until(&self, delivery: &Delivery, now: UnixMs) -> Option<UnixMs> {
        if delivery.channel != Channel::Notification {
            return None;
        }
        let settings = self.settings.borrow();
        let hours = delivery.quiet_hours.hours(settings.quiet_hours.as_ref())?;
        hours.ends_at(now, self.clock.zones())
    }

    /// Releases deliveries whose quiet hours are over: approvals and a single result on their own, several results as
    /// a digest. Returns the end of the next quiet hours.
    async fn release_held(&self) -> Result<Option<UnixMs>, StoreError> {
        let now = self.clock.now();
        let (mut free, mut ends) = (Vec::new(), None);
        let pending = self.store.pending_approvals().await?;
        let is_approval = |held: &Delivery| {
            pending.iter().any(|approval| Some(&approval.run_id) == held.run_id.as_ref())
        };
        let mut has_moved = false;
        for delivery in self.store.held_deliveries().await? {
            match self.quiet_until(&delivery, now) {
                None => free.push(delivery),
                Some(until) => {
                    if delivery.held_until != Some(until) {
                        self.store.hold_delivery(&delivery.id, until, now).await?;
                        has_moved = has_moved || is_approval(&delivery);
                    }
                    ends = ends.into_iter().chain([until]).min();
                }
            }
        }
        let (approvals, results): (Vec<Delivery>, Vec<Delivery>) =
            free.into_iter().partition(is_approval);
        for approval in &approvals {
            self.store.release_delivery(&approval.id, now).await?;
        }
        if has_moved || !approvals.is_empty() {
            self.announce_moved_deadlines().await;
        }
        match results.as_slice() {
            [] => {}
            [single] => self.store.release_delivery(&single.id, now).await?,
            several => {
                let ids: Vec<DeliveryId> = several.iter().map(|held| held.id.clone()).collect();
                let runs: Vec<RunId> =
                    several.iter().filter_map(|held| held.run_id.clone()).collect();
                let announced = self.store.announced_runs(&runs).await?;
                let digest = build_digest(several, &announced, DeliveryId::of_digest(now));
                self.store.digest_deliveries(&ids, &digest, now).await?;
            }
        }
        Ok(ends)
    }

    /// Tells the scheduler that approval deadlines moved with the quiet hours.
    async fn announce_moved_deadlines(&self) {
        if let Err(error) = self.scheduler.approvals_moved().await {
            tracing::debug!(%error, "the next start reads the approval deadlines");
        }
    }

    /// Delivers inside a span that names the run.
    async fn deliver(&self, delivery: &Delivery) -> Result<(), StoreError> {
        let run = self.load_run(delivery).await;
        let span = delivery_span(delivery, run.as_ref());
        self.send(delivery, run.as_ref()).instrument(span).await
    }

    async fn send(&self, delivery: &Delivery, run: Option<&Run>) -> Result<(), StoreError> {
        let shown = match &delivery.channel {
            Channel::Notification => match self.prepare(delivery, run).await {
                Ok(prepared) => self.show(&prepared).await,
                Err(error) => Err(error),
            },
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
            Err(NotifyError::Later(reason)) => self.postpone(delivery, &reason).await,
        }
    }

    async fn show(&self, delivery: &Delivery) -> Result<(), NotifyError> {
        let shown = self.notifier.show(delivery).await;
        let why_not = shown.as_ref().err().map(ToString::to_string);
        self.notification_error.send_if_modified(|reason| {
            let is_changed = *reason != why_not;
            *reason = why_not;
            is_changed
        });
        shown
    }

    /// The delivery as shown: secrets redacted, hooks applied.
    async fn prepare(
        &self,
        delivery: &Delivery,
        run: Option<&Run>,
    ) -> Result<Delivery, NotifyError> {
        let clean = |text: &str| self.safety.redacted(text).unwrap_or_else(|| text.to_owned());
        let (title, body) = (clean(&delivery.title), clean(&delivery.body));
        let workspace = self.settings.borrow().workspace.clone();
        let context = run.map(|run| HookContext::of(&run.id, run.job_id.as_ref(), &workspace));
        let event = DeliveryEvent {
            delivery_id: delivery.id.to_string(),
            channel: delivery.channel.name().to_owned(),
            to: delivery.to.clone(),
            title: title.clone(),
            body: body.clone(),
            context,
        };
        match self.hooks.before_delivery(event).await {
            Ok(DeliveryDecision::Allow) => Ok(Delivery { title, body, ..delivery.clone() }),
            Ok(DeliveryDecision::Rewrite { title, body }) => {
                Ok(Delivery { title, body, ..delivery.clone() })
            }
            Ok(DeliveryDecision::Suppress(reason)) => Err(NotifyError::Never(reason)),
            Err(error) => Err(NotifyError::Later(error.to_string())),
        }
    }

    /// The run of the delivery. A read error does not hold up the delivery.
    async fn load_run(&self, delivery: &Delivery) -> Option<Run> {
        match self.store.run(delivery.run_id.as_ref()?).await {
            Ok(run) => run,
            Err(error) => {
                tracing::warn!(delivery_id = %delivery.id, %error, "the run of a delivery cannot be read");
                None
            }
        }
    }

    async fn postpone(&self, delivery: &Delivery, reason: &str) -> Result<(), StoreError> {
        let now = self.clock.now();
        tracing::warn!(reason = strip_quote(reason), "a delivery attempt failed");
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

    /// Waits for a new delivery, the armed instant, a clock change or a changed setting.
    async fn wait(&mut self) {
        let Self { timer, settings, signal, closing, .. } = self;
        tokio::select! {
            () = closing.cancelled() => {}
            () = signal.notified() => {}
            _ = timer.wait() => {}
            () = changed(settings) => {}
        }
    }

    async fn pause_after_error(&self) {
        #[expect(
            clippy::disallowed_methods,
            reason = "a pause after a failure is a duration, not an instant"
        )]
        let pause = tokio::time::sleep(STORE_PAUSE);
        tokio::select! {
            () = self.closing.cancelled() => {}
            () = pause => {}
        }
    }
}

/// Waits for a changed setting, forever after the sender is gone.
async fn changed(settings: &mut watch::Receiver<Config>) {
    if settings.changed().await.is_err() {
        std::future::pending().await
    }
}

fn delivery_span(delivery: &Delivery, run: Option<&Run>) -> tracing::Span {
    let job_id = run.and_then(|run| run.job_id.as_ref()).map(tracing::field::display);
    let run_id = run.map(|run| tracing::field::display(&run.id));
    let name = run.map(Run::name_for_log);
    // Error level keeps the span under every log filter.
    tracing::error_span!("delivery", delivery_id = %delivery.id, job_id, run_id, name)
}
