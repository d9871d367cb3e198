//! One attempt of a delivery, and what follows its outcome.
//!
//! A message to a channel is marked as being sent before the first byte leaves. A lost answer leads to one more attempt,
//! marked as a repeat; after a second lost answer the delivery has failed as not confirmed. A failed delivery hands its
//! message over to the next default channel, with the reason in the text. A notification needs no mark: its id replaces an
//! earlier one. Pitfall: retrying a lost answer like a refused connection; the person would get the message many times.

use std::time::Duration;

use rouse_core::ApprovalId;
use rouse_core::approval::ApprovalState;
use rouse_core::channel::{
    Channel, ChannelDetails, ChannelMessage, ChannelName, MessageButton, SendOutcome,
};
use rouse_core::decide::has_decision_buttons;
use rouse_core::delivery::{Delivery, DeliveryState, NewDelivery};
use rouse_core::text::strip_quote;
use rouse_core::time::QuietPolicy;
use rouse_gateway::random_code;
use rouse_store::{NewReplyButton, Postponement, StoreError};

use super::{OutboxParts, pause};
use crate::notifier::NotifyError;

/// The pause before the one repeat of a message without an answer, in milliseconds.
const REPEAT_PAUSE_MS: i64 = 60_000;

/// The pause between two messages or parts: chat services allow about one message per second.
const MESSAGE_PAUSE: Duration = Duration::from_secs(1);

impl OutboxParts {
    /// Attempts a prepared delivery.
    pub(super) async fn attempt(&self, delivery: &Delivery) -> Result<(), StoreError> {
        if delivery.route.channel.is_notification() {
            return self.attempt_notification(delivery).await;
        }
        match self.senders.sender(&delivery.route.channel).await {
            Ok(channel) => self.attempt_channel(delivery, channel.as_ref()).await,
            Err(reason) => self.fail(delivery, &reason).await,
        }
    }

    async fn attempt_notification(&self, delivery: &Delivery) -> Result<(), StoreError> {
        let shown = self.notifier.show(delivery).await;
        let why_not = shown.as_ref().err().map(ToString::to_string);
        self.notification_error.send_if_modified(|reason| {
            let is_changed = *reason != why_not;
            *reason = why_not;
            is_changed
        });
        let (id, now) = (&delivery.id, self.clock.now());
        match shown {
            Ok(()) => self.store.settle_delivery(id, DeliveryState::Delivered, None, now).await,
            Err(NotifyError::Never(reason)) => {
                let state = DeliveryState::Suppressed;
                self.store.settle_delivery(id, state, Some(&reason), now).await
            }
            Err(NotifyError::Later(reason)) => self.postpone(delivery, &reason, None, false).await,
        }
    }

    async fn attempt_channel(
        &self,
        delivery: &Delivery,
        channel: &dyn Channel,
    ) -> Result<(), StoreError> {
        if delivery.unconfirmed > 1 {
            let reason = delivery.reason.as_deref().unwrap_or("No answer");
            return self.fail(delivery, &format!("Not confirmed. {reason}")).await;
        }
        if let Some(problem) = self.channels.now().delivery_problem(&delivery.route) {
            return self.fail(delivery, &format!("Not sent: {problem}.")).await;
        }
        if self.is_decided(delivery).await? {
            let (state, reason) =
                (DeliveryState::Suppressed, "The approval was decided meanwhile.");
            return self
                .store
                .settle_delivery(&delivery.id, state, Some(reason), self.clock.now())
                .await;
        }
        if !self.store.begin_send(&delivery.id, self.clock.now()).await? {
            return Ok(());
        }
        let details = self.details_of(&delivery.route.channel);
        let buttons = self.new_buttons(delivery, details).await?;
        let message = channel_message(delivery, details, buttons);
        let parts = channel.render(&message);
        let sent = usize::try_from(delivery.sent_parts).unwrap_or(usize::MAX);
        for index in sent..parts.len() {
            if index > 0 {
                pause(MESSAGE_PAUSE, &self.closing).await;
            }
            match channel.send(&message, &parts, index).await {
                SendOutcome::Accepted { message_id } => {
                    let accepted = u32::try_from(index + 1).unwrap_or(u32::MAX);
                    let (id, now) = (&delivery.id, self.clock.now());
                    self.store.accept_part(id, accepted, message_id.as_deref(), now).await?;
                }
                outcome => return self.settle_outcome(delivery, outcome).await,
            }
        }
        let (state, now) = (DeliveryState::Delivered, self.clock.now());
        self.store.settle_delivery(&delivery.id, state, None, now).await?;
        pause(MESSAGE_PAUSE, &self.closing).await;
        Ok(())
    }

    /// Whether the message requests an approval that has ended.
    async fn is_decided(&self, delivery: &Delivery) -> Result<bool, StoreError> {
        let Some(approval) = &delivery.approval else { return Ok(false) };
        let approval = self.store.approval(approval).await?;
        Ok(approval.is_none_or(|approval| approval.state != ApprovalState::Pending))
    }

    /// New buttons for a request to a paired person, whose message shows the whole call.
    async fn new_buttons(
        &self,
        delivery: &Delivery,
        details: ChannelDetails,
    ) -> Result<Vec<MessageButton>, StoreError> {
        let directory = self.channels.now();
        let recipient = directory.recipient(&delivery.route);
        let shows_call = details == ChannelDetails::Full && delivery.text.is_some();
        let Some(approval) = delivery
            .approval
            .as_ref()
            .filter(|_| shows_call && recipient.is_some_and(|recipient| recipient.is_paired))
        else {
            return Ok(Vec::new());
        };
        let approval = self.store.approval(approval).await?;
        if !approval.is_some_and(|approval| has_decision_buttons(&approval)) {
            return Ok(Vec::new());
        }
        let [allow, deny] =
            [true, false].map(|is_allow| NewReplyButton { data: random_code(), is_allow });
        let buttons = [("Allow once", &allow), ("Deny", &deny)].map(|(label, button)| {
            MessageButton { label: label.to_owned(), data: button.data.clone() }
        });
        self.store.add_reply_buttons(&delivery.id, &[allow, deny], self.clock.now()).await?;
        Ok(buttons.into())
    }

    fn details_of(&self, channel: &ChannelName) -> ChannelDetails {
        let channels = self.channels.now();
        channels.channels.get(channel).map(|entry| entry.details).unwrap_or_default()
    }

    /// Records what follows an outcome that is not an acceptance.
    async fn settle_outcome(
        &self,
        delivery: &Delivery,
        outcome: SendOutcome,
    ) -> Result<(), StoreError> {
        let (id, now) = (&delivery.id, self.clock.now());
        match outcome {
            SendOutcome::Accepted { .. } => Ok(()),
            SendOutcome::Later { reason, after } => {
                if let Some(after) = after {
                    let (channel, until) = (&delivery.route.channel, now.plus_ms(millis_of(after)));
                    self.store.delay_channel(channel, until, now).await?;
                }
                self.postpone(delivery, &reason, after, false).await
            }
            SendOutcome::ServerError { reason } => {
                self.postpone(delivery, &reason, None, true).await
            }
            SendOutcome::Unknown { reason } => {
                tracing::warn!(reason = strip_quote(&reason), "a delivery has no answer");
                let again_at = now.plus_ms(REPEAT_PAUSE_MS);
                self.store.mark_unconfirmed(id, &reason, again_at, now).await
            }
            SendOutcome::Refused { reason } | SendOutcome::Broken { reason } => {
                self.fail(delivery, &reason).await
            }
        }
    }

    /// Postpones a delivery that did not reach its recipient, or gives it up a day after its first attempt.
    pub(super) async fn postpone(
        &self,
        delivery: &Delivery,
        reason: &str,
        after: Option<Duration>,
        may_have_arrived: bool,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        tracing::warn!(reason = strip_quote(reason), "a delivery attempt failed");
        let counted = Delivery { attempts: delivery.attempts + 1, ..delivery.clone() };
        match counted.next_attempt(now, after.map(millis_of)) {
            Some(next_attempt_at) => {
                let attempts_began_at = delivery.attempts_began_at(now);
                let postponement =
                    Postponement { reason, next_attempt_at, attempts_began_at, may_have_arrived };
                self.store.postpone_delivery(&delivery.id, &postponement, now).await
            }
            None => self.fail(delivery, &format!("Given up after a day. {reason}")).await,
        }
    }

    /// Fails a delivery and hands its message over to the next default channel that does not have it.
    async fn fail(&self, delivery: &Delivery, reason: &str) -> Result<(), StoreError> {
        tracing::warn!(reason = strip_quote(reason), "a delivery failed");
        let fallback = self.fallback_of(delivery, reason).await?;
        self.store.fail_delivery(&delivery.id, reason, fallback.as_ref(), self.clock.now()).await
    }

    async fn fallback_of(
        &self,
        delivery: &Delivery,
        reason: &str,
    ) -> Result<Option<NewDelivery>, StoreError> {
        let channel = &delivery.route.channel;
        let rows = self.store.routes_of_message(&delivery.id).await?;
        // A row without an approval announces all of the run.
        let has_message = |approval: &Option<ApprovalId>| {
            approval.is_none() || delivery.approval.is_none() || *approval == delivery.approval
        };
        let used = rows.iter().filter(|(_, approval)| has_message(approval));
        let used: Vec<ChannelName> = used.map(|(channel, _)| channel.clone()).collect();
        let Some(route) = self.channels.now().fallback(delivery.kind, channel, &used) else {
            return Ok(None);
        };
        let note = format!("{channel} did not deliver this: {reason}");
        let text = delivery.text.as_deref().unwrap_or(&delivery.body);
        let is_notification = route.channel.is_notification();
        Ok(Some(NewDelivery {
            id: delivery.id.of_route(rows.len()),
            kind: delivery.kind,
            approval: delivery.approval.clone(),
            route,
            title: match delivery.title.as_str() {
                "" => "Rouse".to_owned(),
                title => title.to_owned(),
            },
            body: format!("{} ({note})", delivery.body),
            text: (!is_notification).then(|| format!("{text}\n\n{note}")),
            quiet_hours: QuietPolicy::IGNORE,
        }))
    }
}

fn millis_of(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The message of a prepared delivery.
fn channel_message(
    delivery: &Delivery,
    details: ChannelDetails,
    buttons: Vec<MessageButton>,
) -> ChannelMessage {
    let text = match (details, &delivery.text) {
        (ChannelDetails::Full, Some(text)) => text,
        (ChannelDetails::Full, None) | (ChannelDetails::Headline, _) => &delivery.body,
    };
    ChannelMessage {
        delivery: delivery.id.clone(),
        kind: delivery.kind,
        run: delivery.run_id.clone(),
        created_at: delivery.created_at,
        to: delivery.route.to.clone(),
        thread: delivery.route.thread.clone(),
        title: delivery.title.clone(),
        headline: delivery.body.clone(),
        text: text.clone(),
        buttons,
        is_repeat: delivery.is_repeat(),
    }
}
