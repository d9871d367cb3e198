//! Sent approval requests after the end of their approval: the message shows how it ended, without buttons.
//!
//! A request may be decided on any surface, expire or be withdrawn. The rows of its buttons stay until the service has accepted
//! the edit, so a restart edits what is left. Pitfall: editing before the decision is stored; the message would show a decision
//! that was refused.

use std::time::Duration;

use rouse_channels::{ChatAddress, TelegramChannel};
use rouse_core::channel::{ChannelMessage, ChannelName, SendOutcome};
use rouse_core::delivery::Delivery;
use rouse_core::{RunId, RunState};
use rouse_store::{OutdatedButtons, StoreError};

use super::ReceiverParts;
use super::updates::end_sentence;
use crate::outbox::pause;

/// The pause before the next attempt of an edit that did not reach the service.
const EDIT_PAUSE: Duration = Duration::from_secs(60);

/// The age at which an edit is given up, since the end of the approval.
const MAX_EDIT_AGE_MS: i64 = 24 * 3_600_000;

/// How often the sign of a bot at work is sent again; the service shows it for five seconds.
const TYPING_PAUSE: Duration = Duration::from_millis(4_500);

impl ReceiverParts {
    /// Edits the messages of ended approvals, after each change of an approval or a delivery.
    pub(super) async fn keep_settled(self) {
        loop {
            let is_complete = match self.settle_all().await {
                Ok(is_complete) => is_complete,
                Err(error) => {
                    tracing::error!(%error, "the messages of ended approvals cannot be read");
                    false
                }
            };
            tokio::select! {
                () = self.sent_requests.notified() => {}
                () = pause(EDIT_PAUSE, &self.closing), if !is_complete => {}
            }
        }
    }

    /// Edits all messages of ended approvals. Returns false if some are left for later.
    async fn settle_all(&self) -> Result<bool, StoreError> {
        let mut is_complete = true;
        for outdated in self.store.outdated_buttons().await? {
            let now = self.clock.now();
            let is_old = outdated.ended_at.is_none_or(|ended| now.0 - ended.0 > MAX_EDIT_AGE_MS);
            if is_old || self.settle(&outdated).await? {
                self.store.remove_reply_buttons(&outdated.delivery_id, now).await?;
            } else {
                is_complete = false;
            }
        }
        Ok(is_complete)
    }

    /// Edits the sent messages of one delivery. Returns whether nothing is left to do.
    async fn settle(&self, outdated: &OutdatedButtons) -> Result<bool, StoreError> {
        let ids: Vec<String> = outdated
            .message_ids
            .as_deref()
            .and_then(|ids| serde_json::from_str(ids).ok())
            .unwrap_or_default();
        let Some(delivery) = self.store.delivery(&outdated.delivery_id).await? else {
            return Ok(true);
        };
        // An answer of the service may still bring the id of the message.
        if delivery.settled_at.is_none() {
            return Ok(false);
        }
        // The buttons of an unpaired chat decide nothing, and no text goes there any more.
        if self.channels.now().recipient(&delivery.route).is_none() {
            return Ok(true);
        }
        let Some(message) = self.settled_message(&delivery).await? else { return Ok(true) };
        let Ok(channel) = self.telegram_channel(&delivery.route.channel).await else {
            return Ok(false);
        };
        let mut is_done = true;
        for id in ids.iter().filter_map(|id| id.parse::<i64>().ok()) {
            is_done &= match channel.settle(id, &message).await {
                SendOutcome::Later { .. }
                | SendOutcome::ServerError { .. }
                | SendOutcome::Unknown { .. } => false,
                SendOutcome::Accepted { .. }
                | SendOutcome::Refused { .. }
                | SendOutcome::Broken { .. } => true,
            };
        }
        Ok(is_done)
    }

    /// The text of a sent request with the end of its approval; none if either is gone.
    async fn settled_message(
        &self,
        delivery: &Delivery,
    ) -> Result<Option<ChannelMessage>, StoreError> {
        let Some(approval) = &delivery.approval else { return Ok(None) };
        let Some(approval) = self.store.approval(approval).await? else { return Ok(None) };
        let request = delivery.text.as_deref().unwrap_or(&delivery.body);
        let text = format!("{request}\n\n**{}**", end_sentence(&approval));
        let clean = |text: &str| self.safety.redacted(text).unwrap_or_else(|| text.to_owned());
        Ok(Some(ChannelMessage {
            delivery: delivery.id.clone(),
            kind: delivery.kind,
            run: delivery.run_id.clone(),
            created_at: delivery.created_at,
            to: delivery.route.to.clone(),
            thread: delivery.route.thread.clone(),
            title: clean(&delivery.title),
            headline: clean(&delivery.body),
            text: clean(&text),
            buttons: Vec::new(),
            is_repeat: false,
        }))
    }

    /// Ends the waiting sign of a pressed button. A failure leaves a sign that ends by itself.
    pub(super) async fn end_press(&self, name: &ChannelName, callback_id: &str, notice: &str) {
        let Ok(channel) = self.telegram_channel(name).await else { return };
        if let Err(error) = channel.api().answer_callback_query(callback_id, notice).await {
            tracing::debug!(%error, channel = %name, "a pressed button got no notice");
        }
    }

    /// Shows in a chat that Rouse is at work, until the run ends or the sign fails.
    pub(super) async fn show_typing(self, name: ChannelName, to: ChatAddress, run: RunId) {
        let Ok(channel) = self.telegram_channel(&name).await else { return };
        while !self.closing.is_cancelled() && self.is_at_work(&run).await {
            if channel.api().send_chat_action(to).await.is_err() {
                return;
            }
            pause(TYPING_PAUSE, &self.closing).await;
        }
    }

    async fn is_at_work(&self, run: &RunId) -> bool {
        let run = self.store.run(run).await;
        run.is_ok_and(|run| {
            run.is_some_and(|run| matches!(run.state, RunState::Queued | RunState::Running))
        })
    }

    async fn telegram_channel(&self, name: &ChannelName) -> Result<TelegramChannel, String> {
        let (http, settings) = self.senders.telegram(name).await?;
        Ok(TelegramChannel::new(http, settings))
    }
}
