//! The worker of one channel: its due deliveries, one after the other.
//!
//! Owns the redaction and the hooks before every channel. Ends when nothing is due, the store fails or the engine closes.

use rouse_agent::{DeliveryDecision, DeliveryEvent, HookContext};
use rouse_core::Run;
use rouse_core::channel::ChannelName;
use rouse_core::decide::first_sentence;
use rouse_core::delivery::{Delivery, DeliveryState};
use rouse_store::StoreError;
use tracing::Instrument as _;

use super::{OutboxParts, STORE_PAUSE, pause};

/// The most characters of a text on a lock screen.
const MAX_HEADLINE: usize = 180;

/// Why a delivery is not handed to its channel.
pub(super) enum Withheld {
    /// A hook suppressed the delivery.
    Suppressed(String),
    /// A hook failed; an attempt follows later.
    Later(String),
}

impl OutboxParts {
    /// Sends the due deliveries of `channel`.
    pub(super) async fn work(self, channel: ChannelName) {
        // Screens leave with the engine; the next start sends the rest.
        while !self.closing.is_cancelled() {
            match self.send_next(&channel).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::error!(%error, %channel, "the outbox cannot be written");
                    pause(STORE_PAUSE, &self.closing).await;
                    self.recover_sending(&channel).await;
                }
            }
        }
    }

    /// Takes up deliveries that a failed worker of `channel` left in the state `sending`.
    pub(super) async fn recover_sending(&self, channel: &ChannelName) {
        let recovered = self.store.recover_sending(Some(channel), self.clock.now()).await;
        if let Err(error) = recovered {
            tracing::error!(%error, %channel, "unconfirmed deliveries wait for the next start");
        }
    }

    /// Sends or holds the earliest due delivery. Returns whether there was one.
    async fn send_next(&self, channel: &ChannelName) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let Some(delivery) = self.store.due_deliveries(channel, now, 1).await?.pop() else {
            return Ok(false);
        };
        match self.quiet_until(&delivery, now) {
            Some(until) => self.store.hold_delivery(&delivery.id, until, now).await?,
            None => self.deliver(&delivery).await?,
        }
        Ok(true)
    }

    /// Delivers inside a span that names the run.
    async fn deliver(&self, delivery: &Delivery) -> Result<(), StoreError> {
        let run = self.load_run(delivery).await;
        let span = delivery_span(delivery, run.as_ref());
        self.prepare_and_send(delivery, run.as_ref()).instrument(span).await
    }

    async fn prepare_and_send(
        &self,
        delivery: &Delivery,
        run: Option<&Run>,
    ) -> Result<(), StoreError> {
        match self.prepare(delivery, run).await {
            Ok(prepared) => self.attempt(&prepared).await,
            Err(Withheld::Suppressed(reason)) => {
                let (state, now) = (DeliveryState::Suppressed, self.clock.now());
                self.store.settle_delivery(&delivery.id, state, Some(&reason), now).await
            }
            Err(Withheld::Later(reason)) => self.postpone(delivery, &reason, None, false).await,
        }
    }

    /// The delivery as sent: secrets redacted, hooks applied. A hook sees the whole text of a channel.
    async fn prepare(&self, delivery: &Delivery, run: Option<&Run>) -> Result<Delivery, Withheld> {
        let clean = |text: &str| self.safety.redacted(text).unwrap_or_else(|| text.to_owned());
        let text = delivery.text.as_deref().map(clean);
        let (title, body) = (clean(&delivery.title), clean(&delivery.body));
        let workspace = self.settings.borrow().workspace.clone();
        let context = run.map(|run| HookContext::of(&run.id, run.job_id.as_ref(), &workspace));
        let event = DeliveryEvent {
            delivery_id: delivery.id.to_string(),
            channel: delivery.route.channel.to_string(),
            to: delivery.route.to.clone(),
            title: title.clone(),
            body: text.clone().unwrap_or_else(|| body.clone()),
            context,
        };
        match self.hooks.before_delivery(event).await {
            Ok(DeliveryDecision::Allow) => Ok(Delivery { title, body, text, ..delivery.clone() }),
            Ok(DeliveryDecision::Rewrite { title, body }) => {
                let headline = first_sentence(&body, MAX_HEADLINE);
                let (body, text) = match text {
                    Some(_) => (headline, Some(body)),
                    None => (body, None),
                };
                Ok(Delivery { title, body, text, ..delivery.clone() })
            }
            Ok(DeliveryDecision::Suppress(reason)) => Err(Withheld::Suppressed(reason)),
            Err(error) => Err(Withheld::Later(error.to_string())),
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
}

fn delivery_span(delivery: &Delivery, run: Option<&Run>) -> tracing::Span {
    let job_id = run.and_then(|run| run.job_id.as_ref()).map(tracing::field::display);
    let run_id = run.map(|run| tracing::field::display(&run.id));
    let name = run.map(Run::name_for_log);
    let channel = &delivery.route.channel;
    // Error level keeps the span under every log filter.
    tracing::error_span!("delivery", delivery_id = %delivery.id, %channel, job_id, run_id, name)
}
