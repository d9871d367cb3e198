//! The methods of the Bot API that Rouse calls.
//!
//! Owns the token, the URL of a method and the reading of an answer. Never retries and never chooses a chat.
//! Pitfall: the token is a part of every URL; an error names Telegram and the method instead.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::channel::{ChannelName, MessageButton, SendOutcome};
use rouse_core::http_exchange::HttpExchange;
use rouse_core::text::{escape_line, first_line};
use serde_json::{Value, json};

use super::error::{TelegramError, TelegramRejection};
use crate::http::{SEND_TIMEOUT, exchange, pause_of, post_json};

/// The address of Telegram's own server.
pub const TELEGRAM_ROOT: &str = "https://api.telegram.org";

/// How long Telegram holds a poll without an update, in seconds.
const POLL_SECONDS: u64 = 50;

/// Time limit of a poll. The limit is longer than the hold, so Telegram ends a quiet poll.
const POLL_TIMEOUT: Duration = Duration::from_secs(65);

/// The most updates of one poll. Ten long messages stay below the size limit of an answer.
const POLL_LIMIT: u64 = 10;

/// The most characters of a description in an error.
const MAX_DESCRIPTION: usize = 200;

/// The most characters of a notice for a pressed button.
const MAX_PRESS_NOTICE: usize = 200;

/// The settings of a Telegram channel, with its token. Never printed.
#[derive(Clone)]
pub struct TelegramSettings {
    /// The name of the channel, for the remedies in reasons.
    pub name: ChannelName,
    /// The token of the bot.
    pub token: String,
    /// The name of the stored secret with the token, for the remedies in reasons.
    pub token_secret: String,
    /// The address of the server; none for [`TELEGRAM_ROOT`].
    pub root: Option<String>,
}

impl TelegramSettings {
    /// The id of the bot, which is the first half of the token and no secret.
    #[must_use]
    pub fn bot_id(&self) -> &str {
        self.token.trim().split(':').next().unwrap_or_default()
    }

    /// Whether both settings lead to the same bot on the same server.
    #[must_use]
    pub fn has_same_account(&self, other: &Self) -> bool {
        self.token == other.token && self.root == other.root
    }
}

/// A chat, and a topic in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatAddress {
    /// The id of the chat.
    pub chat: i64,
    /// The id of the topic; none outside of topics and for the topic General.
    pub thread: Option<i64>,
}

/// A text for a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TelegramText<'a> {
    /// The text.
    pub text: &'a str,
    /// Whether the text is HTML; otherwise plain text.
    pub is_html: bool,
    /// The buttons, in one row.
    pub buttons: &'a [MessageButton],
}

/// The account of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotAccount {
    /// The id.
    pub id: i64,
    /// The username, without `@`.
    pub username: String,
}

/// The methods of the Bot API for one bot.
#[derive(Clone)]
pub struct TelegramApi {
    http: Arc<dyn HttpExchange>,
    root: String,
    token: String,
    token_secret: String,
}

impl TelegramApi {
    /// The methods for the bot of `settings`.
    #[must_use]
    pub fn new(http: Arc<dyn HttpExchange>, settings: &TelegramSettings) -> Self {
        let root = settings.root.as_deref().unwrap_or(TELEGRAM_ROOT);
        let root = root.trim_end_matches('/').to_owned();
        let token_secret = settings.token_secret.clone();
        Self { http, root, token: settings.token.trim().to_owned(), token_secret }
    }

    /// Sends a text without a link preview. Returns the id of the message.
    ///
    /// # Errors
    /// No connection, no answer, or a rejection.
    pub async fn send_message(
        &self,
        to: ChatAddress,
        message: TelegramText<'_>,
    ) -> Result<Option<i64>, TelegramError> {
        let mut body = text_fields(to.chat, message);
        if let Some(thread) = to.thread {
            body["message_thread_id"] = json!(thread);
        }
        if !message.buttons.is_empty() {
            body["reply_markup"] = keyboard(message.buttons);
        }
        let sent = self.call("sendMessage", &body, SEND_TIMEOUT).await?;
        Ok(sent["message_id"].as_i64())
    }

    /// Replaces the text and the buttons of a sent message.
    ///
    /// # Errors
    /// No connection, no answer, or a rejection.
    pub async fn edit_message_text(
        &self,
        chat: i64,
        message_id: i64,
        message: TelegramText<'_>,
    ) -> Result<(), TelegramError> {
        let mut body = text_fields(chat, message);
        body["message_id"] = json!(message_id);
        body["reply_markup"] = keyboard(message.buttons);
        self.call("editMessageText", &body, SEND_TIMEOUT).await.map(drop)
    }

    /// Replaces the buttons of a sent message; no buttons remove them.
    ///
    /// # Errors
    /// No connection, no answer, or a rejection.
    pub async fn edit_message_reply_markup(
        &self,
        chat: i64,
        message_id: i64,
        buttons: &[MessageButton],
    ) -> Result<(), TelegramError> {
        let markup = keyboard(buttons);
        let body = json!({ "chat_id": chat, "message_id": message_id, "reply_markup": markup });
        self.call("editMessageReplyMarkup", &body, SEND_TIMEOUT).await.map(drop)
    }

    /// Ends the waiting sign of a pressed button and shows a short notice.
    ///
    /// # Errors
    /// No connection, no answer, or a rejection.
    pub async fn answer_callback_query(
        &self,
        callback_id: &str,
        notice: &str,
    ) -> Result<(), TelegramError> {
        let notice: String = notice.chars().take(MAX_PRESS_NOTICE).collect();
        let body = json!({ "callback_query_id": callback_id, "text": notice });
        self.call("answerCallbackQuery", &body, SEND_TIMEOUT).await.map(drop)
    }

    /// Shows in the chat for five seconds that the bot is typing.
    ///
    /// # Errors
    /// No connection, no answer, or a rejection.
    pub async fn send_chat_action(&self, to: ChatAddress) -> Result<(), TelegramError> {
        let mut body = json!({ "chat_id": to.chat, "action": "typing" });
        if let Some(thread) = to.thread {
            body["message_thread_id"] = json!(thread);
        }
        self.call("sendChatAction", &body, SEND_TIMEOUT).await.map(drop)
    }

    /// The account of the bot. Needs a valid token, so it also tests the token.
    ///
    /// # Errors
    /// No connection, no answer, or a rejection.
    pub async fn get_me(&self) -> Result<BotAccount, TelegramError> {
        let bot = self.call("getMe", &json!({}), SEND_TIMEOUT).await?;
        match (bot["id"].as_i64(), bot["username"].as_str()) {
            (Some(id), Some(username)) => Ok(BotAccount { id, username: username.to_owned() }),
            _ => Err(unreadable("getMe")),
        }
    }

    /// Removes the webhook of the bot, because polling needs that. Keeps pending updates.
    ///
    /// # Errors
    /// No connection, no answer, or a rejection.
    pub async fn delete_webhook(&self) -> Result<(), TelegramError> {
        let body = json!({ "drop_pending_updates": false });
        self.call("deleteWebhook", &body, SEND_TIMEOUT).await.map(drop)
    }

    /// Waits for updates from `offset` on, which confirms all earlier updates.
    ///
    /// # Errors
    /// No connection, no answer, or a rejection.
    pub async fn get_updates(&self, offset: Option<i64>) -> Result<Vec<Value>, TelegramError> {
        let mut body = json!({
            "timeout": POLL_SECONDS,
            "limit": POLL_LIMIT,
            "allowed_updates": ["message", "callback_query"],
        });
        if let Some(offset) = offset {
            body["offset"] = json!(offset);
        }
        match self.call("getUpdates", &body, POLL_TIMEOUT).await? {
            Value::Array(updates) => Ok(updates),
            _ => Err(unreadable("getUpdates")),
        }
    }

    async fn call(
        &self,
        method: &'static str,
        body: &Value,
        timeout: Duration,
    ) -> Result<Value, TelegramError> {
        if !is_token(&self.token) {
            return Err(TelegramError::BadToken { secret: self.token_secret.clone() });
        }
        let url = format!("{}/bot{}/{method}", self.root, self.token);
        let sent = exchange(self.http.as_ref(), post_json(&url, body), timeout).await;
        let answer = sent.map_err(|outcome| self.unanswered(method, outcome))?;
        let mut json = answer.json();
        if json["ok"] == true {
            return Ok(json["result"].take());
        }
        // A success without its body may be a success: only Telegram's own yes counts.
        if (200..300).contains(&answer.status) && json["ok"] != false {
            return Err(unreadable(method));
        }
        let code = json["error_code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let description = json["description"].as_str().unwrap_or("no description");
        let asked = json["parameters"]["retry_after"].as_f64().and_then(pause_of);
        Err(TelegramError::Rejected(TelegramRejection {
            method,
            code: code.unwrap_or(answer.status),
            description: first_line(&self.without_token(description), MAX_DESCRIPTION, escape_line),
            retry_after: asked.or_else(|| answer.retry_after()),
            migrate_to: json["parameters"]["migrate_to_chat_id"].as_i64(),
        }))
    }

    /// The error of an exchange without an answer.
    fn unanswered(&self, method: &str, outcome: SendOutcome) -> TelegramError {
        match outcome {
            SendOutcome::Later { reason, .. } => TelegramError::Unreached(format!(
                "Telegram did not get {method}. {}",
                self.without_token(&reason)
            )),
            SendOutcome::Broken { reason } => TelegramError::Blocked(format!(
                "Rouse could not send {method} to Telegram. {}",
                self.without_token(&reason)
            )),
            SendOutcome::Unknown { reason }
            | SendOutcome::ServerError { reason }
            | SendOutcome::Refused { reason } => TelegramError::NoAnswer(format!(
                "Telegram did not answer {method}. {}",
                self.without_token(&reason)
            )),
            SendOutcome::Accepted { .. } => unreadable(method),
        }
    }

    /// `text`, or a general sentence if the text quotes the token.
    fn without_token(&self, text: &str) -> String {
        let secret = self.token.split_once(':').map_or(self.token.as_str(), |(_, secret)| secret);
        if text.contains(secret) {
            "The details contain the token and are left out.".to_owned()
        } else {
            text.to_owned()
        }
    }
}

fn unreadable(method: &str) -> TelegramError {
    TelegramError::NoAnswer(format!("Telegram's answer to {method} is not readable."))
}

/// Whether a text has the form of a bot's token: an id, `:`, and a secret that a URL does not change.
fn is_token(token: &str) -> bool {
    let is_secret = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    token.split_once(':').is_some_and(|(id, secret)| {
        !id.is_empty()
            && id.chars().all(|c| c.is_ascii_digit())
            && secret.len() >= 16
            && secret.chars().all(is_secret)
    })
}

/// The fields of a text without a link preview: a preview makes Telegram fetch an address that a model wrote.
fn text_fields(chat: i64, message: TelegramText<'_>) -> Value {
    let mut fields = json!({
        "chat_id": chat,
        "text": message.text,
        "link_preview_options": { "is_disabled": true },
    });
    if message.is_html {
        fields["parse_mode"] = json!("HTML");
    }
    fields
}

fn keyboard(buttons: &[MessageButton]) -> Value {
    let row: Vec<Value> = buttons
        .iter()
        .map(|button| json!({ "text": button.label, "callback_data": button.data }))
        .collect();
    let rows = if row.is_empty() { Vec::new() } else { vec![row] };
    json!({ "inline_keyboard": rows })
}

#[cfg(test)]
mod tests {
    use rouse_core::http_exchange::HttpExchangeError;

    use super::super::doubles::{FakeTelegramHttp, TOKEN, rejected, settings, succeeded};
    use super::*;

    fn api(http: &Arc<FakeTelegramHttp>) -> TelegramApi {
        TelegramApi::new(Arc::clone(http) as Arc<dyn HttpExchange>, &settings())
    }

    fn html(text: &str) -> TelegramText<'_> {
        TelegramText { text, is_html: true, buttons: &[] }
    }

    const ANNA: ChatAddress = ChatAddress { chat: 7, thread: Some(43) };

    #[tokio::test]
    async fn message_has_topic_format_and_no_preview() {
        let http = FakeTelegramHttp::answering([succeeded(&json!({ "message_id": 12 }))]);
        let buttons = [MessageButton { label: "Deny".to_owned(), data: "d".to_owned() }];
        let text = TelegramText { text: "<b>x</b>", is_html: true, buttons: &buttons };
        assert_eq!(api(&http).send_message(ANNA, text).await, Ok(Some(12)));
        let (method, body) = http.only_call();
        assert_eq!(method, "sendMessage");
        assert_eq!(
            body,
            json!({
                "chat_id": 7, "text": "<b>x</b>", "link_preview_options": { "is_disabled": true },
                "parse_mode": "HTML", "message_thread_id": 43,
                "reply_markup": { "inline_keyboard": [[{ "text": "Deny", "callback_data": "d" }]] },
            })
        );
    }

    #[tokio::test]
    async fn each_method_sends_its_own_fields() {
        let http = FakeTelegramHttp::answering([
            succeeded(&json!({})),
            succeeded(&json!(true)),
            succeeded(&json!(true)),
            succeeded(&json!(true)),
            succeeded(&json!(true)),
            succeeded(&json!([{ "update_id": 5 }])),
            succeeded(&json!({ "id": 9, "username": "anna_rouse_bot" })),
        ]);
        let api = api(&http);
        let plain = TelegramText { text: "x", is_html: false, buttons: &[] };
        api.edit_message_text(7, 12, plain).await.unwrap();
        api.edit_message_reply_markup(7, 12, &[]).await.unwrap();
        api.answer_callback_query("cb", &"x".repeat(300)).await.unwrap();
        api.send_chat_action(ANNA).await.unwrap();
        api.delete_webhook().await.unwrap();
        assert_eq!(api.get_updates(Some(6)).await.unwrap(), [json!({ "update_id": 5 })]);
        assert_eq!(api.get_me().await.unwrap().username, "anna_rouse_bot");
        let calls = http.calls();
        let no_buttons = json!({ "inline_keyboard": [] });
        assert_eq!(calls[0].1["reply_markup"], no_buttons);
        assert_eq!(calls[0].1.get("parse_mode"), None);
        assert_eq!(calls[1].1["reply_markup"], no_buttons);
        assert_eq!(calls[2].1["text"].as_str().map(str::len), Some(200));
        assert_eq!(calls[3].1["action"], "typing");
        assert_eq!(calls[4].1, json!({ "drop_pending_updates": false }));
        assert_eq!(calls[5].1["offset"], 6);
        assert_eq!(calls[5].1["timeout"], 50);
        assert_eq!(calls[5].1["allowed_updates"], json!(["message", "callback_query"]));
    }

    #[tokio::test]
    async fn rejection_has_code_pause_and_new_chat() {
        let parameters = json!({ "retry_after": 5, "migrate_to_chat_id": -100_123 });
        let http = FakeTelegramHttp::answering([rejected(429, "Too Many\nRequests", &parameters)]);
        let error = api(&http).send_message(ANNA, html("x")).await.unwrap_err();
        let TelegramError::Rejected(rejection) = error else { panic!("{error:?}") };
        assert_eq!(rejection.code, 429);
        assert_eq!(rejection.retry_after, Some(Duration::from_secs(5)));
        assert_eq!(rejection.migrate_to, Some(-100_123));
        assert!(!rejection.description.contains('\n'), "{rejection}");
    }

    #[tokio::test]
    async fn answer_of_a_proxy_keeps_its_status() {
        let http = FakeTelegramHttp::answering([Ok((502, "<html>".to_owned()))]);
        let error = api(&http).get_me().await.unwrap_err();
        assert!(matches!(&error, TelegramError::Rejected(r) if r.code == 502), "{error:?}");
    }

    #[tokio::test]
    async fn success_without_body_is_no_answer() {
        let http = FakeTelegramHttp::answering([Ok((200, r#"{"ok":tr"#.to_owned()))]);
        let error = api(&http).send_message(ANNA, html("x")).await.unwrap_err();
        assert!(matches!(error, TelegramError::NoAnswer(_)), "{error:?}");
    }

    #[tokio::test]
    async fn token_never_enters_an_error() {
        let url = format!("https://api.telegram.org/bot{TOKEN}/getMe failed.");
        let escaped = url.replace(':', "%3A");
        for failure in [
            Err(HttpExchangeError::Unreached(url.clone())),
            Err(HttpExchangeError::Broken(escaped.clone())),
            Err(HttpExchangeError::Refused(url.clone())),
            rejected(400, &escaped, &Value::Null),
        ] {
            let http = FakeTelegramHttp::answering([failure.clone()]);
            let error = api(&http).get_me().await.unwrap_err();
            let secret = TOKEN.split_once(':').unwrap().1;
            assert!(!format!("{error} {error:?}").contains(secret), "{failure:?}");
            assert!(error.to_string().contains("getMe"), "{error}");
        }
    }

    #[tokio::test]
    async fn invalid_token_sends_nothing() {
        for token in ["", "12", "12:../../x", "12:short", "x:AAAAAAAAAAAAAAAAAAAA"] {
            let http = FakeTelegramHttp::answering([]);
            let settings = TelegramSettings { token: token.to_owned(), ..settings() };
            let api = TelegramApi::new(Arc::clone(&http) as Arc<dyn HttpExchange>, &settings);
            let problem = api.get_me().await.expect_err("no token").to_string();
            assert!(problem.ends_with("with `rouse secrets set channel-phone-token`."), "{token}");
            assert_eq!(http.calls().len(), 0, "{token}");
        }
    }

    #[tokio::test]
    async fn own_server_replaces_the_root() {
        let http = FakeTelegramHttp::answering([succeeded(&json!(true))]);
        let root = Some("http://127.0.0.1:8081/".to_owned());
        let settings = TelegramSettings { root, ..settings() };
        let api = TelegramApi::new(Arc::clone(&http) as Arc<dyn HttpExchange>, &settings);
        api.delete_webhook().await.unwrap();
        assert_eq!(http.urls(), [format!("http://127.0.0.1:8081/bot{TOKEN}/deleteWebhook")]);
    }
}
