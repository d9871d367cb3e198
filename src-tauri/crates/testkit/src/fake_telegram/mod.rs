//! A server of Telegram's Bot API on loopback, for one bot.
//!
//! Owns the chats, the sent messages, and the updates until a poll confirms them. Checks what Telegram checks: the
//! visible length in UTF-16 units, HTML, buttons, chats and topics. Never limits the pace; a test queues a failure.
//! Pitfall: a poll that answers at once; this server holds a poll until an update is queued, as Telegram does.

mod bot;
mod html;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use self::bot::{Bot, BotAnswer, BotError};
use crate::fake_model::{FakeModel, Recorded, Reply};

pub use self::bot::{FakeTelegramButton, FakeTelegramMessage, PressAnswer};

/// What happens to a `sendMessage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TelegramFailure {
    /// 429 with this pause in seconds.
    RetryAfter(u64),
    /// A server error with this status.
    ServerError(u16),
    /// 400, because the group has this new id.
    Migrate(i64),
    /// 400, because the HTML is not readable.
    FormatError,
    /// Accepts the message and closes the connection without an answer.
    AcceptThenDrop,
    /// Accepts the message and never answers.
    AcceptThenHang,
}

/// A running server. Stops when dropped.
pub struct FakeTelegram {
    server: FakeModel,
    shared: Arc<SharedBot>,
}

struct SharedBot {
    token: String,
    bot: Mutex<Bot>,
    changed: Condvar,
}

impl FakeTelegram {
    /// A server that knows one bot, with this token (`ID:SECRET`).
    #[must_use]
    pub fn start(token: &str) -> Self {
        let shared = Arc::new(SharedBot {
            token: token.to_owned(),
            bot: Mutex::default(),
            changed: Condvar::new(),
        });
        let answering = Arc::clone(&shared);
        let server = FakeModel::start(move |request| answering.answer(request));
        Self { server, shared }
    }

    /// `http://127.0.0.1:PORT`, without a final slash.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Lets the bot write to a chat, as the button Start does.
    pub fn open_chat(&self, chat: i64) {
        self.change(|bot| bot.open_chat(chat));
    }

    /// Adds a topic to a chat.
    pub fn open_topic(&self, chat: i64, thread: i64) {
        self.change(|bot| bot.open_topic(chat, thread));
    }

    /// Blocks the bot in a chat.
    pub fn block(&self, chat: i64) {
        self.change(|bot| bot.block(chat));
    }

    /// Adds a failure. Each `sendMessage` takes the next one.
    pub fn fail_next(&self, failure: TelegramFailure) {
        self.change(|bot| bot.failures.push_back(failure));
    }

    /// Sets a webhook, so that each poll is a conflict.
    pub fn set_webhook(&self) {
        self.change(|bot| bot.has_webhook = true);
    }

    /// Queues an update; the server adds its id, which is returned.
    pub fn queue_update(&self, update: Value) -> i64 {
        self.change(|bot| bot.queue(update))
    }

    /// Queues a text of a person in the private chat. Returns the id of the update.
    pub fn queue_text(&self, person: i64, name: &str, text: &str) -> i64 {
        self.change(|bot| bot.queue_text(person, name, text))
    }

    /// Sends an update once more, as after a crash between its effect and its confirmation.
    pub fn replay_update(&self, update_id: i64) {
        self.change(|bot| bot.replay(update_id));
    }

    /// Queues a press of a button. Returns the id of the press.
    pub fn queue_press(&self, person: i64, chat: i64, message_id: i64, data: &str) -> String {
        self.change(|bot| bot.queue_press(person, chat, message_id, data))
    }

    /// The messages so far, with their newest text and buttons.
    #[must_use]
    pub fn messages(&self) -> Vec<FakeTelegramMessage> {
        self.shared.lock().messages.clone()
    }

    /// The answers to presses so far.
    #[must_use]
    pub fn press_answers(&self) -> Vec<PressAnswer> {
        self.shared.lock().press_answers.clone()
    }

    /// The chats in which the bot showed that it is typing.
    #[must_use]
    pub fn typing_chats(&self) -> Vec<i64> {
        self.shared.lock().typing_chats.clone()
    }

    /// The called methods so far.
    #[must_use]
    pub fn methods(&self) -> Vec<String> {
        self.shared.lock().methods.clone()
    }

    /// The number of updates that no poll has confirmed.
    #[must_use]
    pub fn unconfirmed_updates(&self) -> usize {
        self.shared.lock().updates.len()
    }

    /// Blocks until the bot has accepted this number of messages.
    pub fn wait_for_messages(&self, count: usize) {
        self.wait_while(|bot| bot.messages.len() < count);
    }

    /// Blocks until the message was edited this number of times.
    pub fn wait_for_edits(&self, message_id: i64, count: u32) {
        let is_edited =
            |message: &FakeTelegramMessage| message.id == message_id && message.edits >= count;
        self.wait_while(|bot| !bot.messages.iter().any(is_edited));
    }

    /// Blocks until this number of presses is answered.
    pub fn wait_for_press_answers(&self, count: usize) {
        self.wait_while(|bot| bot.press_answers.len() < count);
    }

    /// Blocks until the server holds a poll.
    pub fn wait_for_poll(&self) {
        self.wait_while(|bot| bot.held_polls == 0);
    }

    /// Blocks until all updates are confirmed.
    pub fn wait_until_confirmed(&self) {
        self.wait_while(|bot| !bot.updates.is_empty());
    }

    /// Blocks until a client disconnects from an answer that never comes.
    pub fn wait_until_client_gone(&self) {
        self.server.wait_until_client_gone();
    }

    fn change<T>(&self, change: impl FnOnce(&mut Bot) -> T) -> T {
        let result = change(&mut self.shared.lock());
        self.shared.changed.notify_all();
        result
    }

    fn wait_while(&self, is_waiting: impl Fn(&Bot) -> bool) {
        let waited = self.shared.changed.wait_while(self.shared.lock(), |bot| is_waiting(bot));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for FakeTelegram {
    fn drop(&mut self) {
        self.change(|bot| bot.is_closed = true);
    }
}

impl SharedBot {
    fn lock(&self) -> MutexGuard<'_, Bot> {
        self.bot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Recorded) -> Reply {
        let path = request.path.strip_prefix("/bot").and_then(|path| path.split_once('/'));
        let Some((token, method)) = path.filter(|(token, _)| token.contains(':')) else {
            return reply(Err(BotError::new(404, "Not Found")));
        };
        if token != self.token {
            return reply(Err(BotError::new(401, "Unauthorized")));
        }
        let fields = request.json();
        self.lock().methods.push(method.to_owned());
        let answered = match method {
            "getUpdates" => reply(self.poll(&fields)),
            "sendMessage" => self.send(&fields),
            _ => reply(self.lock().call(method, &fields)),
        };
        self.changed.notify_all();
        answered
    }

    fn send(&self, fields: &Value) -> Reply {
        let mut bot = self.lock();
        let failure = bot.failures.pop_front();
        let refusal = match failure {
            Some(TelegramFailure::RetryAfter(pause)) => Some(
                BotError::new(429, &format!("Too Many Requests: retry after {pause}"))
                    .with(json!({ "retry_after": pause })),
            ),
            Some(TelegramFailure::ServerError(status)) => {
                Some(BotError::new(status, "Bad Gateway"))
            }
            Some(TelegramFailure::Migrate(to)) => Some(
                BotError::bad("group chat was upgraded to a supergroup chat")
                    .with(json!({ "migrate_to_chat_id": to })),
            ),
            Some(TelegramFailure::FormatError) => Some(BotError::bad("can't parse entities: x")),
            Some(TelegramFailure::AcceptThenDrop | TelegramFailure::AcceptThenHang) | None => None,
        };
        if let Some(refusal) = refusal {
            return reply(Err(refusal));
        }
        match (failure, bot.send(fields)) {
            (Some(TelegramFailure::AcceptThenDrop), Ok(_)) => Reply::dropped(),
            (Some(TelegramFailure::AcceptThenHang), Ok(_)) => Reply::silent(),
            (_, sent) => reply(sent),
        }
    }

    /// Waits for an update, for a newer poll, or for the timeout of the poll.
    fn poll(&self, fields: &Value) -> BotAnswer {
        let mut bot = self.lock();
        let poll = bot.begin_poll(fields)?;
        self.changed.notify_all();
        let timeout = Duration::from_secs(fields["timeout"].as_u64().unwrap_or(0));
        let waited = self.changed.wait_timeout_while(bot, timeout, |bot| bot.is_quiet(poll));
        let (mut bot, _) = waited.unwrap_or_else(PoisonError::into_inner);
        bot.end_poll(poll, fields)
    }
}

fn reply(answer: BotAnswer) -> Reply {
    match answer {
        Ok(result) => Reply::json(200, json!({ "ok": true, "result": result }).to_string()),
        Err(error) => Reply::json(error.code, error.body().to_string()),
    }
}
