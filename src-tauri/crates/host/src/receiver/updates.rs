//! What follows a received update.
//!
//! A text of a paired person becomes a chat message of the main session, with the update as its key. A forwarded, edited or
//! inserted text is untrusted input. A press decides an approval. A text is never a decision.
//! Pitfall: answering a stranger; an answer confirms that the bot exists.

use rouse_channels::{PrivateSender, TelegramUpdate};
use rouse_core::approval::{Approval, ApprovalDecision, ApprovalScope, ApprovalState};
use rouse_core::channel::{ChannelName, MessageKind, Recipient, Route};
use rouse_core::delivery::NewDelivery;
use rouse_core::time::QuietPolicy;
use rouse_core::{DeliveryId, RunId};
use rouse_gateway::{Gateway, RpcError};
use rouse_scheduler::ChatMessage;
use rouse_store::{DecisionResult, PressedButton, StoreError};

use serde_json::json;

use super::ReceiverParts;

/// The chat message beside a forwarded text, which arrives as an untrusted event.
const FORWARDED: &str = "I forwarded the message above.";

/// The answer to a button whose message is no longer current.
const INVALID_BUTTON: &str = "This button is no longer valid. Open Rouse to see the approvals.";

/// An update of a channel.
pub(super) struct ReceivedUpdate<'a> {
    pub(super) parts: &'a ReceiverParts,
    pub(super) name: &'a ChannelName,
    /// The bot.
    pub(super) source: &'a str,
    pub(super) update: TelegramUpdate,
}

/// A pressed button.
struct Press<'a> {
    callback_id: &'a str,
    chat_id: i64,
    data: &'a str,
    is_private: bool,
}

impl ReceivedUpdate<'_> {
    /// Handles the update. A repeated update has no further effect.
    pub(super) async fn handle(&self) -> Result<(), StoreError> {
        match &self.update {
            TelegramUpdate::Ignored { .. } => Ok(()),
            TelegramUpdate::StartCode { sender, code } => {
                self.offer(sender, code);
                Ok(())
            }
            TelegramUpdate::ButtonPress { callback_id, chat_id, data, is_private, .. } => {
                let (chat_id, is_private) = (*chat_id, *is_private);
                self.press(Press { callback_id, chat_id, data, is_private }).await
            }
            TelegramUpdate::PrivateText { sender, .. }
            | TelegramUpdate::Command { sender, .. }
            | TelegramUpdate::Unreadable { sender, .. } => {
                if self.paired(sender.chat_id).is_none() {
                    self.parts.status.count_ignored(self.name);
                    return Ok(());
                }
                self.handle_message(sender).await
            }
        }
    }

    /// Handles a message of a paired person.
    async fn handle_message(&self, sender: &PrivateSender) -> Result<(), StoreError> {
        match &self.update {
            TelegramUpdate::PrivateText { text, is_forwarded, is_edited, via_bot, .. } => {
                let is_untrusted = *is_forwarded || *is_edited || *via_bot;
                self.chat(sender, text, is_untrusted).await
            }
            TelegramUpdate::Command { command, .. } => {
                let answer = self.parts.command_answer(command).await;
                self.answer(sender, &answer).await
            }
            TelegramUpdate::Unreadable { content, .. } => {
                let answer = format!("Rouse cannot read {content} yet. Send text.");
                self.answer(sender, &answer).await
            }
            TelegramUpdate::StartCode { .. }
            | TelegramUpdate::ButtonPress { .. }
            | TelegramUpdate::Ignored { .. } => Ok(()),
        }
    }

    /// Takes the sender of a pairing code as the candidate.
    fn offer(&self, sender: &PrivateSender, code: &str) {
        let candidate = Recipient {
            channel: self.name.clone(),
            address: sender.chat_id.to_string(),
            label: sender.label(),
            is_private: true,
            is_paired: true,
        };
        if self.parts.status.pairings.offer(candidate, code, self.parts.clock.now()) {
            self.parts.status.report_change();
        } else {
            self.parts.status.count_ignored(self.name);
        }
    }

    /// Sends a text to the main session, which answers into the same chat.
    async fn chat(
        &self,
        sender: &PrivateSender,
        text: &str,
        is_untrusted: bool,
    ) -> Result<(), StoreError> {
        let key = self.key();
        let is_known = self.parts.store.run(&RunId::new(format!("chat-{key}"))).await?.is_some();
        if is_untrusted && !is_known {
            let event = json!({ "text": text, "mode": "next-heartbeat" });
            if let Err(error) = self.parts.gateway.wake_untrusted(event).await {
                return self.answer(sender, &error.message).await;
            }
        }
        let message = ChatMessage {
            text: if is_untrusted { FORWARDED } else { text }.to_owned(),
            key: Some(key),
            reply_to: Some(self.route(sender)),
        };
        match self.parts.gateway.chat_on_channel(message).await {
            Ok(run) => {
                let (parts, name) = (self.parts.clone(), self.name.clone());
                tokio::spawn(parts.show_typing(name, sender.address(), run));
                Ok(())
            }
            Err(error) => self.answer(sender, &error.message).await,
        }
    }

    /// Decides an approval by a pressed button, then ends the waiting sign of the button.
    async fn press(&self, press: Press<'_>) -> Result<(), StoreError> {
        let pressed = self.parts.store.pressed_button(press.data).await?;
        let Some(recipient) = self.paired(press.chat_id).filter(|_| press.is_private) else {
            self.parts.status.count_ignored(self.name);
            return Ok(());
        };
        let notice = match pressed.filter(|pressed| is_of(pressed, &recipient)) {
            Some(pressed) => self.decide(&pressed).await,
            None => INVALID_BUTTON.to_owned(),
        };
        self.parts.end_press(self.name, press.callback_id, &notice).await;
        Ok(())
    }

    /// Takes the decision of a button. Returns the notice for the person.
    async fn decide(&self, pressed: &PressedButton) -> String {
        let Some(approval) = &pressed.approval_id else { return INVALID_BUTTON.to_owned() };
        let decision = if pressed.is_allow {
            ApprovalDecision::Once
        } else {
            ApprovalDecision::Deny { reason: None }
        };
        let by = self.parts.channels.now().label(&pressed.route);
        let gateway: &Gateway = &self.parts.gateway;
        notice_of(gateway.decide_on_channel(approval, decision, by).await)
    }

    /// Answers in the chat of `sender`, once per update.
    async fn answer(&self, sender: &PrivateSender, text: &str) -> Result<(), StoreError> {
        let answer = NewDelivery {
            id: DeliveryId::new(format!("answer-{}", self.key())),
            kind: MessageKind::Reply,
            approval: None,
            route: self.route(sender),
            title: String::new(),
            body: text.to_owned(),
            text: Some(text.to_owned()),
            quiet_hours: QuietPolicy::IGNORE,
        };
        self.parts.store.enqueue_answer(&answer, self.parts.clock.now()).await
    }

    /// The idempotency key of the update.
    fn key(&self) -> String {
        format!("{}-{}", self.source.replace(':', "-"), self.update.id())
    }

    fn route(&self, sender: &PrivateSender) -> Route {
        Route {
            channel: self.name.clone(),
            to: Some(sender.chat_id.to_string()),
            thread: sender.thread_id.map(|thread| thread.to_string()),
        }
    }

    /// The paired recipient of a private chat. The id of the chat is the id of the person.
    fn paired(&self, chat_id: i64) -> Option<Recipient> {
        let directory = self.parts.channels.now();
        let address = chat_id.to_string();
        let recipients = &directory.channels.get(self.name)?.recipients;
        recipients
            .iter()
            .find(|recipient| recipient.is_paired && recipient.address == address)
            .cloned()
    }
}

/// Whether the message of the button was sent to this recipient.
fn is_of(pressed: &PressedButton, recipient: &Recipient) -> bool {
    pressed.route.channel == recipient.channel
        && pressed.route.to.as_ref() == Some(&recipient.address)
}

/// What a decision did, for the person.
fn notice_of(decided: Result<DecisionResult, RpcError>) -> String {
    match decided {
        Ok(DecisionResult::Counts { approval, .. }) => end_sentence(&approval),
        Ok(DecisionResult::TooLate(approval)) => {
            format!("Too late. {}", end_sentence(&approval))
        }
        Err(error) => error.message,
    }
}

/// How an approval ended, as a sentence.
pub(super) fn end_sentence(approval: &Approval) -> String {
    let by = approval.decided_from.as_ref().and_then(|source| source.name.as_deref());
    let by = by.map(|by| format!(" from {by}")).unwrap_or_default();
    match &approval.state {
        ApprovalState::Pending => "The approval is pending.".to_owned(),
        ApprovalState::Approved { scope, .. } => match scope {
            ApprovalScope::Once => format!("Allowed once{by}."),
            ApprovalScope::Run => format!("Allowed for the run{by}."),
            ApprovalScope::Always => format!("Allowed by a grant{by}."),
        },
        ApprovalState::Denied { .. } => format!("Denied{by}."),
        ApprovalState::Expired { .. } => "Expired without a decision.".to_owned(),
        ApprovalState::Withdrawn { .. } => "Withdrawn: the run ended.".to_owned(),
        ApprovalState::Covered { .. } => "Allowed by a grant.".to_owned(),
    }
}
