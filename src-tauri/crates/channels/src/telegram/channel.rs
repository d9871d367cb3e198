//! The Telegram channel: one part of a message, and the class of Telegram's answer.
//!
//! Owns the sentences for a blocked bot, a missing chat and a lost token, and the edit of a decided approval request.
//! Never waits between two messages: Telegram asks for a pause, and the outbox obeys. Pitfall: sending to General
//! after a topic is gone; other people may read General.

use std::sync::Arc;

use rouse_core::channel::{Channel, ChannelMessage, ChannelName, MessageButton, SendOutcome};
use rouse_core::http_exchange::HttpExchange;
use rouse_core::tool::BoxFuture;

use super::api::{ChatAddress, TelegramApi, TelegramSettings, TelegramText};
use super::error::{TelegramError, TelegramRejection, token_remedy};
use super::render::{has_room_for_buttons, plain_text, render_message};
use crate::http::check_result;

/// The id of the topic General, which a message must leave out.
const GENERAL: &str = "1";

/// A Telegram bot as a channel.
pub struct TelegramChannel {
    name: ChannelName,
    token_secret: String,
    api: TelegramApi,
}

impl TelegramChannel {
    /// The channel with these settings.
    #[must_use]
    pub fn new(http: Arc<dyn HttpExchange>, settings: TelegramSettings) -> Self {
        let api = TelegramApi::new(http, &settings);
        Self { name: settings.name, token_secret: settings.token_secret, api }
    }

    /// The methods of the Bot API, for pressed buttons and typing signs.
    #[must_use]
    pub const fn api(&self) -> &TelegramApi {
        &self.api
    }

    /// Replaces a sent approval request by `message` and removes the buttons. If the text cannot be replaced, only the
    /// buttons are removed.
    pub async fn settle(&self, message_id: i64, message: &ChannelMessage) -> SendOutcome {
        let to = match self.address_of(message) {
            Ok(to) => to,
            Err(outcome) => return outcome,
        };
        let parts = render_message(&ChannelMessage { buttons: Vec::new(), ..message.clone() });
        let edited = match parts.as_slice() {
            [only] => self.edit(to.chat, message_id, only).await,
            _ => self.api.edit_message_reply_markup(to.chat, message_id, &[]).await,
        };
        let edited = match edited {
            Err(TelegramError::Rejected(rejection))
                if rejection.code == 400 && !rejection.is_unchanged() =>
            {
                self.api.edit_message_reply_markup(to.chat, message_id, &[]).await
            }
            other => other,
        };
        match edited {
            Err(TelegramError::Rejected(rejection)) if !rejection.is_unchanged() => {
                self.rejection_outcome(&rejection)
            }
            Ok(()) | Err(TelegramError::Rejected(_)) => {
                SendOutcome::Accepted { message_id: Some(message_id.to_string()) }
            }
            Err(error) => self.outcome_of(error),
        }
    }

    async fn edit(&self, chat: i64, message_id: i64, html: &str) -> Result<(), TelegramError> {
        let text = TelegramText { text: html, is_html: true, buttons: &[] };
        match self.api.edit_message_text(chat, message_id, text).await {
            Err(TelegramError::Rejected(rejection)) if rejection.is_format_error() => {
                let plain = plain_text(html);
                let text = TelegramText { text: &plain, is_html: false, buttons: &[] };
                self.api.edit_message_text(chat, message_id, text).await
            }
            other => other,
        }
    }

    async fn send_part(
        &self,
        message: &ChannelMessage,
        parts: &[String],
        index: usize,
    ) -> SendOutcome {
        let to = match self.address_of(message) {
            Ok(to) => to,
            Err(outcome) => return outcome,
        };
        // Everybody in a group could press a button; the ids of groups are negative.
        let has_buttons = to.chat > 0 && has_room_for_buttons(parts);
        let buttons = if has_buttons { message.buttons.as_slice() } else { &[] };
        let mut sent = self.send_text(to, &parts[index], buttons).await;
        // Telegram refuses the old id of a group and names the new one.
        if let Err(TelegramError::Rejected(TelegramRejection { migrate_to: Some(chat), .. })) = sent
        {
            let channel = &self.name;
            tracing::warn!(%channel, old = to.chat, new = chat, "a Telegram group has a new id");
            sent = self.send_text(ChatAddress { chat, ..to }, &parts[index], buttons).await;
        }
        match sent {
            Ok(id) => SendOutcome::Accepted { message_id: id.map(|id| id.to_string()) },
            Err(error) => self.outcome_of(error),
        }
    }

    /// Sends HTML; once more as plain text if Telegram cannot read the HTML.
    async fn send_text(
        &self,
        to: ChatAddress,
        html: &str,
        buttons: &[MessageButton],
    ) -> Result<Option<i64>, TelegramError> {
        let text = TelegramText { text: html, is_html: true, buttons };
        match self.api.send_message(to, text).await {
            Err(TelegramError::Rejected(rejection)) if rejection.is_format_error() => {
                let plain = plain_text(html);
                let text = TelegramText { text: &plain, is_html: false, buttons };
                self.api.send_message(to, text).await
            }
            other => other,
        }
    }

    /// The chat and topic of a message.
    fn address_of(&self, message: &ChannelMessage) -> Result<ChatAddress, SendOutcome> {
        let Some(to) = message.to.as_deref() else {
            return Err(self.refused("The message names no chat."));
        };
        let Ok(chat) = to.trim().parse::<i64>() else {
            return Err(self.refused("The recipient is no id of a Telegram chat."));
        };
        let thread = message.thread.as_deref().map(str::trim);
        let thread = thread.filter(|thread| !thread.is_empty() && *thread != GENERAL);
        match thread.map(str::parse::<i64>).transpose() {
            Ok(thread) => Ok(ChatAddress { chat, thread }),
            Err(_) => Err(SendOutcome::Refused {
                reason: "The topic is no id of a Telegram topic. Correct it, such as `-100123:43`."
                    .to_owned(),
            }),
        }
    }

    /// The class of an error.
    fn outcome_of(&self, error: TelegramError) -> SendOutcome {
        match error {
            TelegramError::Unreached(reason) => SendOutcome::Later { reason, after: None },
            TelegramError::NoAnswer(reason) => SendOutcome::Unknown { reason },
            TelegramError::Blocked(reason) => SendOutcome::Broken { reason },
            TelegramError::BadToken { .. } => SendOutcome::Broken { reason: error.to_string() },
            TelegramError::Rejected(rejection) => self.rejection_outcome(&rejection),
        }
    }

    fn rejection_outcome(&self, rejection: &TelegramRejection) -> SendOutcome {
        if rejection.is_bad_token() {
            let reason = format!(
                "{rejection} The token of the bot is wrong or revoked. {}",
                token_remedy(&self.token_secret)
            );
            return SendOutcome::Broken { reason };
        }
        if matches!(rejection.code, 500 | 502 | 504) {
            return SendOutcome::ServerError { reason: rejection.to_string() };
        }
        if rejection.is_transient() {
            let reason = format!("{rejection} Rouse tries again later.");
            return SendOutcome::Later { reason, after: rejection.retry_after };
        }
        match rejection.code {
            300..=399 => SendOutcome::Broken {
                reason: format!("{rejection} Write the final address of the server into the settings."),
            },
            403 => self.forbidden(rejection),
            _ if rejection.has("thread not found") || rejection.has("topic_") => {
                SendOutcome::Refused {
                    reason: "The topic does not exist or is closed. Choose another topic for the recipient.".to_owned(),
                }
            }
            _ if rejection.has("chat not found") => {
                self.refused("Telegram does not know the chat, or nobody pressed Start there.")
            }
            _ => SendOutcome::Refused { reason: rejection.to_string() },
        }
    }

    /// A refusal of the chat.
    fn forbidden(&self, rejection: &TelegramRejection) -> SendOutcome {
        let refused = |reason: &str| SendOutcome::Refused { reason: reason.to_owned() };
        if rejection.has("blocked") {
            refused("The recipient blocked the bot. Unblock the bot in Telegram.")
        } else if rejection.has("kicked") || rejection.has("not a member") {
            refused("The bot is no member of the group any more. Add the bot to the group again.")
        } else if rejection.has("deactivated") {
            self.refused("The Telegram account of the recipient is closed.")
        } else {
            self.refused("Telegram does not let the bot write to this chat.")
        }
    }

    /// A refusal whose remedy is a new pairing.
    fn refused(&self, cause: &str) -> SendOutcome {
        let reason = format!("{cause} Pair again with `rouse channels pair {}`.", self.name);
        SendOutcome::Refused { reason }
    }
}

impl Channel for TelegramChannel {
    fn render(&self, message: &ChannelMessage) -> Vec<String> {
        render_message(message)
    }

    fn send<'a>(
        &'a self,
        message: &'a ChannelMessage,
        parts: &'a [String],
        index: usize,
    ) -> BoxFuture<'a, SendOutcome> {
        Box::pin(self.send_part(message, parts, index))
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            match self.api.get_me().await {
                Ok(_) => Ok(()),
                Err(error) => check_result(self.outcome_of(error), "Telegram"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rouse_core::http_exchange::HttpExchangeError;
    use serde_json::{Value, json};

    use super::super::doubles::{
        FakeReply, FakeTelegramHttp, TOKEN, approval, rejected, report, settings, succeeded,
    };
    use super::*;

    fn channel(http: &Arc<FakeTelegramHttp>) -> TelegramChannel {
        TelegramChannel::new(Arc::clone(http) as Arc<dyn HttpExchange>, settings())
    }

    fn sent() -> FakeReply {
        succeeded(&json!({ "message_id": 12 }))
    }

    fn accepted() -> SendOutcome {
        SendOutcome::Accepted { message_id: Some("12".to_owned()) }
    }

    /// Sends the first part of a report and answers with `reply`.
    async fn outcome(reply: FakeReply) -> SendOutcome {
        let http = FakeTelegramHttp::answering([reply]);
        let channel = channel(&http);
        let message = report("x");
        channel.send(&message, &channel.render(&message), 0).await
    }

    #[tokio::test]
    async fn accepted_message_has_its_id() {
        assert_eq!(outcome(sent()).await, accepted());
    }

    #[tokio::test]
    async fn lost_token_breaks_the_channel() {
        for (code, text) in [(401, "Unauthorized"), (404, "Not Found")] {
            let outcome = outcome(rejected(code, text, &Value::Null)).await;
            let SendOutcome::Broken { reason } = outcome else { panic!("{outcome:?}") };
            assert!(reason.ends_with("with `rouse secrets set channel-phone-token`."), "{reason}");
        }
    }

    #[tokio::test]
    async fn forbidden_chat_is_refused_with_its_remedy() {
        let pair = "Pair again with `rouse channels pair phone`.";
        for (text, cause, remedy) in [
            (
                "Forbidden: bot was blocked by the user",
                "The recipient blocked the bot.",
                "Unblock the bot in Telegram.",
            ),
            (
                "Forbidden: bot was kicked from the group chat",
                "The bot is no member of the group any more.",
                "Add the bot to the group again.",
            ),
            (
                "Forbidden: user is deactivated",
                "The Telegram account of the recipient is closed.",
                pair,
            ),
            (
                "Forbidden: bot can't initiate conversation with a user",
                "Telegram does not let the bot write to this chat.",
                pair,
            ),
        ] {
            let outcome = outcome(rejected(403, text, &Value::Null)).await;
            let reason = format!("{cause} {remedy}");
            assert_eq!(outcome, SendOutcome::Refused { reason });
        }
    }

    #[tokio::test]
    async fn missing_chat_and_topic_are_refused() {
        for text in [
            "Bad Request: chat not found",
            "Bad Request: message thread not found",
            "Bad Request: TOPIC_CLOSED",
            "Bad Request: message is too long",
        ] {
            let outcome = outcome(rejected(400, text, &Value::Null)).await;
            assert!(matches!(outcome, SendOutcome::Refused { .. }), "{text}: {outcome:?}");
        }
    }

    #[tokio::test]
    async fn message_follows_a_group_to_its_new_id() {
        let parameters = json!({ "migrate_to_chat_id": -1_001_234_567_890_i64 });
        let text = "Bad Request: group chat was upgraded to a supergroup chat";
        let moved = || rejected(400, text, &parameters);
        let http = FakeTelegramHttp::answering([moved(), sent()]);
        let (channel, message) = (channel(&http), report("hello"));
        let outcome_there = channel.send(&message, &channel.render(&message), 0).await;
        assert_eq!(outcome_there, accepted());
        assert_eq!(http.calls()[1].1["chat_id"], -1_001_234_567_890_i64);
        let http = FakeTelegramHttp::answering([moved(), moved()]);
        let again = TelegramChannel::new(http, settings());
        let outcome = again.send(&message, &again.render(&message), 0).await;
        assert!(matches!(outcome, SendOutcome::Refused { .. }), "{outcome:?}");
    }

    #[tokio::test]
    async fn busy_server_asks_for_a_later_attempt() {
        let busy = outcome(rejected(429, "Too Many Requests", &json!({ "retry_after": 7 }))).await;
        let pause = Some(Duration::from_secs(7));
        assert!(matches!(busy, SendOutcome::Later { after, .. } if after == pause));
        let down = outcome(Ok((503, "Service Unavailable".to_owned()))).await;
        assert!(matches!(down, SendOutcome::Later { after: None, .. }), "{down:?}");
        let failed = outcome(Ok((502, "Bad Gateway".to_owned()))).await;
        assert!(matches!(failed, SendOutcome::ServerError { .. }), "{failed:?}");
    }

    #[tokio::test]
    async fn failed_exchange_has_its_own_class() {
        let error = |make: fn(String) -> HttpExchangeError| Err(make("The cause.".to_owned()));
        let later = outcome(error(HttpExchangeError::Unreached)).await;
        assert!(matches!(later, SendOutcome::Later { after: None, .. }), "{later:?}");
        let unknown = outcome(error(HttpExchangeError::Broken)).await;
        assert!(matches!(unknown, SendOutcome::Unknown { .. }), "{unknown:?}");
        let unread = outcome(Ok((200, String::new()))).await;
        assert!(matches!(unread, SendOutcome::Unknown { .. }), "{unread:?}");
        let broken = outcome(error(HttpExchangeError::Refused)).await;
        assert!(matches!(broken, SendOutcome::Broken { .. }), "{broken:?}");
    }

    #[tokio::test]
    async fn token_is_in_no_outcome() {
        let url = format!("https://api.telegram.org/bot{TOKEN}/sendMessage");
        for reply in [
            rejected(400, &url, &Value::Null),
            rejected(401, &url, &Value::Null),
            Err(HttpExchangeError::Unreached(url.clone())),
            Err(HttpExchangeError::Broken(url.clone())),
            Err(HttpExchangeError::Refused(url.clone())),
        ] {
            let outcome = format!("{:?}", outcome(reply).await);
            assert!(!outcome.contains("canary"), "{outcome}");
        }
    }

    #[tokio::test]
    async fn unreadable_html_is_sent_once_as_plain_text() {
        let parse = || rejected(400, "Bad Request: can't parse entities: x", &Value::Null);
        let http = FakeTelegramHttp::answering([parse(), sent()]);
        let channel = channel(&http);
        let message = approval("Run `a < b`?");
        let parts = channel.render(&message);
        assert_eq!(channel.send(&message, &parts, 0).await, accepted());
        let plain = &http.calls()[1].1;
        assert_eq!(plain["text"], "Morning\nRun a < b?");
        assert_eq!(plain.get("parse_mode"), None);
        assert_eq!(plain["reply_markup"]["inline_keyboard"][0][1]["text"], "Deny");
        assert!(matches!(outcome_twice([parse(), parse()]).await, SendOutcome::Refused { .. }));
    }

    async fn outcome_twice(replies: [FakeReply; 2]) -> SendOutcome {
        let http = FakeTelegramHttp::answering(replies);
        let channel = channel(&http);
        let message = report("x");
        channel.send(&message, &channel.render(&message), 0).await
    }

    #[tokio::test]
    async fn buttons_need_a_whole_message_in_a_private_chat() {
        let http = FakeTelegramHttp::answering([sent(), sent(), sent(), sent()]);
        let channel = channel(&http);
        let short = approval("Run `ls`?");
        let long = approval(&"word ".repeat(1_000));
        channel.send(&short, &channel.render(&short), 0).await;
        let parts = channel.render(&long);
        assert_eq!(parts.len(), 2);
        channel.send(&long, &parts, 0).await;
        channel.send(&long, &parts, 1).await;
        let to_group = ChannelMessage { to: Some("-100123".to_owned()), ..short };
        channel.send(&to_group, &channel.render(&to_group), 0).await;
        let has_buttons: Vec<bool> =
            http.calls().iter().map(|(_, body)| body.get("reply_markup").is_some()).collect();
        assert_eq!(has_buttons, [true, false, false, false]);
    }

    #[tokio::test]
    async fn general_is_left_out_of_the_message() {
        let http = FakeTelegramHttp::answering([sent(), sent(), sent()]);
        let channel = channel(&http);
        let mut message = report("x");
        message.to = Some("-100123".to_owned());
        for thread in [None, Some("1"), Some("43")] {
            message.thread = thread.map(ToOwned::to_owned);
            channel.send(&message, &channel.render(&message), 0).await;
        }
        let threads: Vec<Value> =
            http.calls().iter().map(|(_, body)| body["message_thread_id"].clone()).collect();
        assert_eq!(threads, [Value::Null, Value::Null, json!(43)]);
        assert_eq!(http.calls()[0].1["chat_id"], -100_123);
    }

    #[tokio::test]
    async fn invalid_recipient_sends_nothing() {
        let http = FakeTelegramHttp::answering([]);
        let channel = channel(&http);
        let mut message = report("x");
        for (to, thread) in [(None, None), (Some("@anna"), None), (Some("7"), Some("news"))] {
            message.to = to.map(ToOwned::to_owned);
            message.thread = thread.map(ToOwned::to_owned);
            let outcome = channel.send(&message, &channel.render(&message), 0).await;
            assert!(matches!(outcome, SendOutcome::Refused { .. }), "{outcome:?}");
        }
        assert_eq!(http.calls().len(), 0);
    }

    #[tokio::test]
    async fn settled_approval_loses_its_buttons() {
        let http = FakeTelegramHttp::answering([sent()]);
        let outcome = channel(&http).settle(12, &approval("Allowed once.")).await;
        assert_eq!(outcome, accepted());
        let (method, body) = http.only_call();
        assert_eq!(method, "editMessageText");
        assert_eq!(body["reply_markup"], json!({ "inline_keyboard": [] }));
        assert_eq!(body["text"], "<b>Morning</b>\nAllowed once.");
    }

    #[tokio::test]
    async fn failed_edit_still_removes_the_buttons() {
        let parse = || rejected(400, "Bad Request: can't parse entities", &Value::Null);
        let http = FakeTelegramHttp::answering([parse(), parse(), sent()]);
        assert_eq!(channel(&http).settle(12, &approval("x")).await, accepted());
        let methods: Vec<String> = http.calls().into_iter().map(|(method, _)| method).collect();
        assert_eq!(methods, ["editMessageText", "editMessageText", "editMessageReplyMarkup"]);

        let http = FakeTelegramHttp::answering([sent()]);
        let long = approval(&"word ".repeat(1_000));
        assert_eq!(channel(&http).settle(12, &long).await, accepted());
        assert_eq!(http.only_call().0, "editMessageReplyMarkup");

        let unchanged = rejected(400, "Bad Request: message is not modified: x", &Value::Null);
        let http = FakeTelegramHttp::answering([unchanged]);
        assert_eq!(channel(&http).settle(12, &approval("x")).await, accepted());
    }

    #[tokio::test]
    async fn check_asks_for_the_bot() {
        let account = json!({ "id": 9, "username": "anna_rouse_bot" });
        let http = FakeTelegramHttp::answering([succeeded(&account)]);
        assert_eq!(channel(&http).check().await, Ok(()));
        assert_eq!(http.only_call().0, "getMe");
    }

    #[tokio::test]
    async fn failed_check_has_a_cause_and_no_token() {
        let url = format!("https://api.telegram.org/bot{TOKEN}/getMe");
        for (reply, words) in [
            (rejected(401, &url, &Value::Null), "Get a token from @BotFather"),
            (rejected(502, &url, &Value::Null), "Telegram refuses getMe (502"),
            (Err(HttpExchangeError::Unreached(url.clone())), "Telegram did not get getMe."),
            (Err(HttpExchangeError::Broken(url.clone())), "Telegram gave no usable answer."),
            (Err(HttpExchangeError::Refused(url.clone())), "could not send getMe"),
        ] {
            let http = FakeTelegramHttp::answering([reply]);
            let error = channel(&http).check().await.expect_err("an error");
            assert!(error.contains(words) && !error.contains("canary"), "{words}: {error}");
        }
    }
}
