//! Empties the outbox: every delivery ends delivered, failed or suppressed, with a reason.
//!
//! Sleeps until something is put in, an attempt is due or quiet hours end; an empty outbox costs nothing. A delivery is
//! tried, then its fate is written; a crash in between tries it again, and the notification's id keeps the second from
//! standing beside the first. What comes in quiet hours is held in the store, and whether it still is quiet is asked
//! again at every look, of the clock and the settings as they are then: a clock that was set and a changed setting
//! neither lose nor keep anything.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{DeliveryAnswer, DeliverySeen, HookContext, Hooks, Safety};
use rouse_core::decide::{digest, digest_of_crowd};
use rouse_core::delivery::{Channel, Delivery, DeliveryState, redelivery_after_ms};
use rouse_core::said::own_words;
use rouse_core::time::Timer;
use rouse_core::{Clock, DeliveryId, Run, RunId, RunState, UnixMs};
use rouse_scheduler::SchedulerHandle;
use rouse_store::{Store, StoreError};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::config::Config;
use crate::notifier::{Notifier, NotifyError};

/// Deliveries read in one go; a crowd among them is told at once, and one claim is of at most 512 jobs.
const BATCH: u32 = 1_000;
/// The pause after the store failed, so that a full disk is not hammered.
const STORE_PAUSE: Duration = Duration::from_secs(10);

/// What the outbox works with.
pub(crate) struct Outbox {
    pub(crate) store: Store,
    pub(crate) scheduler: SchedulerHandle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timer: Box<dyn Timer>,
    pub(crate) settings: watch::Receiver<Config>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) safety: Safety,
    pub(crate) hooks: Hooks,
    /// Why the newest notification was not shown, for whoever asks how things are.
    pub(crate) unshown: watch::Sender<Option<String>>,
    pub(crate) signal: Arc<Notify>,
    pub(crate) closing: CancellationToken,
}

impl Outbox {
    /// Works until the engine closes.
    pub(crate) async fn run(mut self) {
        while !self.closing.is_cancelled() {
            match self.empty().await {
                Ok(next) => {
                    self.timer.arm(next);
                    self.wait().await;
                }
                Err(error) => {
                    tracing::error!(%error, "the outbox cannot be read");
                    self.rest().await;
                }
            }
        }
    }

    /// Tries everything that is due; answers when to look again, or none for "when something is put in".
    async fn empty(&mut self) -> Result<Option<UnixMs>, StoreError> {
        // Two looks, because the first one may hold what it finds.
        self.look_at_held().await?;
        loop {
            let due = self.store.due_deliveries(self.clock.now(), BATCH).await?;
            if due.is_empty() {
                break;
            }
            for delivery in self.without_crowd(due).await? {
                // Screens leave with the engine; what is left is for the next start, not for nobody to see.
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
        let quiet_end = self.look_at_held().await?;
        let next = self.store.next_delivery_at().await?;
        Ok(next.into_iter().chain(quiet_end).min())
    }

    /// Those that are told by themselves. A machine that comes back after a weekend, and an engine that comes back after a
    /// crash, tell once of all that was missed, and once of all that was cut off.
    async fn without_crowd(&self, due: Vec<Delivery>) -> Result<Vec<Delivery>, StoreError> {
        let now = self.clock.now();
        let (mut missed, mut cut_off, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let may_join = |told: &Delivery| {
            told.channel == Channel::Notification && self.quiet_until(told, now).is_none()
        };
        let runs: Vec<RunId> = due.iter().filter_map(|told| told.run_id.clone()).collect();
        let standing = self.store.standing_of(&runs).await?;
        for delivery in due {
            let run = delivery.run_id.as_ref().filter(|_| may_join(&delivery));
            match run.and_then(|id| standing.get(id)) {
                Some((_, RunState::Missed)) => missed.push(delivery),
                Some((_, RunState::Interrupted)) => cut_off.push(delivery),
                _ => others.push(delivery),
            }
        }
        for (crowd, state) in [(missed, RunState::Missed), (cut_off, RunState::Interrupted)] {
            match digest_of_crowd(&crowd, state, DeliveryId::of_digest(now)) {
                Some(digest) => {
                    let ids: Vec<DeliveryId> = crowd.into_iter().map(|told| told.id).collect();
                    self.store.digest_deliveries(&ids, &digest, now).await?;
                }
                None => others.extend(crowd),
            }
        }
        others.sort_by_key(|delivery| delivery.next_attempt_at);
        Ok(others)
    }

    /// When the quiet hours end that `delivery` must wait for; none when it may be shown now. Only notifications make a
    /// noise.
    fn quiet_until(&self, delivery: &Delivery, now: UnixMs) -> Option<UnixMs> {
        if delivery.channel != Channel::Notification {
            return None;
        }
        let settings = self.settings.borrow();
        let hours = delivery.quiet_hours.hours(settings.quiet_hours.as_ref())?;
        hours.ends_at(now, self.clock.zones())
    }

    /// Lets go what need not wait any more: questions and a single result by themselves, several results as a digest.
    /// Answers when the next quiet hours end.
    async fn look_at_held(&self) -> Result<Option<UnixMs>, StoreError> {
        let now = self.clock.now();
        let (mut free, mut ends) = (Vec::new(), None);
        let asking = self.store.pending_approvals().await?;
        let asks = |held: &Delivery| {
            asking.iter().any(|asked| Some(&asked.run_id) == held.run_id.as_ref())
        };
        let mut have_moved = false;
        for delivery in self.store.held_deliveries().await? {
            match self.quiet_until(&delivery, now) {
                None => free.push(delivery),
                Some(until) => {
                    if delivery.held_until != Some(until) {
                        self.store.hold_delivery(&delivery.id, until, now).await?;
                        have_moved = have_moved || asks(&delivery);
                    }
                    ends = ends.into_iter().chain([until]).min();
                }
            }
        }
        let (questions, results): (Vec<Delivery>, Vec<Delivery>) = free.into_iter().partition(asks);
        for question in &questions {
            self.store.release_delivery(&question.id, now).await?;
        }
        if have_moved || !questions.is_empty() {
            self.questions_moved().await;
        }
        match results.as_slice() {
            [] => {}
            [one] => self.store.release_delivery(&one.id, now).await?,
            several => {
                let ids: Vec<DeliveryId> = several.iter().map(|held| held.id.clone()).collect();
                let runs: Vec<RunId> =
                    several.iter().filter_map(|held| held.run_id.clone()).collect();
                let told = self.store.told_runs(&runs).await?;
                let digest = digest(several, &told, DeliveryId::of_digest(now));
                self.store.digest_deliveries(&ids, &digest, now).await?;
            }
        }
        Ok(ends)
    }

    /// The time for an answer follows what the quiet hours are by now, and the scheduler ends it.
    async fn questions_moved(&self) {
        if let Err(error) = self.scheduler.questions_moved().await {
            tracing::debug!(%error, "the next start reads when questions end");
        }
    }

    /// Every line that is written about it names its run.
    async fn deliver(&self, delivery: &Delivery) -> Result<(), StoreError> {
        let run = self.run_of(delivery).await;
        let span = span_of(delivery, run.as_ref());
        self.hand_over(delivery, run.as_ref()).instrument(span).await
    }

    async fn hand_over(&self, delivery: &Delivery, run: Option<&Run>) -> Result<(), StoreError> {
        let shown = match &delivery.channel {
            Channel::Notification => match self.prepared(delivery, run).await {
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
            Err(NotifyError::Later(reason)) => self.later(delivery, &reason).await,
        }
    }

    async fn show(&self, prepared: &Delivery) -> Result<(), NotifyError> {
        let shown = self.notifier.show(prepared).await;
        let why_not = shown.as_ref().err().map(ToString::to_string);
        self.unshown.send_if_modified(|told| {
            let is_news = *told != why_not;
            *told = why_not;
            is_news
        });
        shown
    }

    /// The delivery as it is shown: without secrets, and as the hooks want it.
    async fn prepared(
        &self,
        delivery: &Delivery,
        run: Option<&Run>,
    ) -> Result<Delivery, NotifyError> {
        let clean = |text: &str| self.safety.redacted(text).unwrap_or_else(|| text.to_owned());
        let (title, body) = (clean(&delivery.title), clean(&delivery.body));
        let workspace = self.settings.borrow().workspace.clone();
        let context = run.map(|run| HookContext::of(&run.id, run.job_id.as_ref(), &workspace));
        let seen = DeliverySeen {
            delivery_id: delivery.id.to_string(),
            channel: delivery.channel.name().to_owned(),
            to: delivery.to.clone(),
            title: title.clone(),
            body: body.clone(),
            context,
        };
        match self.hooks.before_delivery(seen).await {
            Ok(DeliveryAnswer::Allow) => Ok(Delivery { title, body, ..delivery.clone() }),
            Ok(DeliveryAnswer::Rewrite { title, body }) => {
                Ok(Delivery { title, body, ..delivery.clone() })
            }
            Ok(DeliveryAnswer::Suppress(reason)) => Err(NotifyError::Never(reason)),
            Err(error) => Err(NotifyError::Later(error.to_string())),
        }
    }

    /// The run that it tells of. One that cannot be read must hold up no delivery.
    async fn run_of(&self, delivery: &Delivery) -> Option<Run> {
        match self.store.run(delivery.run_id.as_ref()?).await {
            Ok(run) => run,
            Err(error) => {
                tracing::warn!(delivery_id = %delivery.id, %error, "the run of a delivery cannot be read");
                None
            }
        }
    }

    async fn later(&self, delivery: &Delivery, reason: &str) -> Result<(), StoreError> {
        let now = self.clock.now();
        tracing::warn!(reason = own_words(reason), "a delivery did not get through");
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

    /// Until something is put in, the armed instant has come, the clock was set or a setting was changed.
    async fn wait(&mut self) {
        let Self { timer, settings, signal, closing, .. } = self;
        tokio::select! {
            () = closing.cancelled() => {}
            () = signal.notified() => {}
            _ = timer.wait() => {}
            () = changed(settings) => {}
        }
    }

    async fn rest(&self) {
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

/// Nobody is left to change a setting when the sender is gone.
async fn changed(settings: &mut watch::Receiver<Config>) {
    if settings.changed().await.is_err() {
        std::future::pending().await
    }
}

fn span_of(delivery: &Delivery, run: Option<&Run>) -> tracing::Span {
    let job_id = run.and_then(|run| run.job_id.as_ref()).map(tracing::field::display);
    let run_id = run.map(|run| tracing::field::display(&run.id));
    let name = run.map(Run::name_for_log);
    // Of the highest level, so that it is there whatever lines are asked for.
    tracing::error_span!("delivery", delivery_id = %delivery.id, job_id, run_id, name)
}
