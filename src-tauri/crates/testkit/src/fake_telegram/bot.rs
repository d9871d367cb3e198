//! The state of the bot: chats, messages, updates, and the methods that change them.
//!
//! Owns Telegram's checks and the texts of its errors. Never waits and never knows a socket.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::TelegramFailure;
use super::html::visible_text;

/// The most UTF-16 units of a message.
const MAX_UNITS: usize = 4_096;

/// The result of a method.
pub(super) type BotAnswer = Result<Value, BotError>;

/// An answer with `ok: false`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BotError {
    pub(super) code: u16,
    description: String,
    parameters: Value,
}

impl BotError {
    pub(super) fn new(code: u16, description: &str) -> Self {
        Self { code, description: description.to_owned(), parameters: Value::Null }
    }

    /// A refusal of the request itself.
    pub(super) fn bad(description: &str) -> Self {
        Self::new(400, &format!("Bad Request: {description}"))
    }

    pub(super) fn with(self, parameters: Value) -> Self {
        Self { parameters, ..self }
    }

    pub(super) fn body(&self) -> Value {
        let mut body =
            json!({ "ok": false, "error_code": self.code, "description": self.description });
        if !self.parameters.is_null() {
            body["parameters"] = self.parameters.clone();
        }
        body
    }
}

/// A message of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeTelegramMessage {
    /// The id, in the order of sending.
    pub id: i64,
    /// The chat.
    pub chat: i64,
    /// The topic.
    pub thread: Option<i64>,
    /// The text that the person sees, without tags.
    pub text: String,
    /// The text as sent.
    pub source: String,
    /// The buttons, row by row.
    pub buttons: Vec<FakeTelegramButton>,
    /// Whether Telegram would fetch the first address for a preview.
    pub has_preview: bool,
    /// The number of edits.
    pub edits: u32,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeTelegramButton {
    /// The label.
    pub label: String,
    /// The data that a press returns.
    pub data: String,
}

/// An answer to a press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PressAnswer {
    /// The id of the press.
    pub callback_id: String,
    /// The notice.
    pub text: String,
}

/// A bot.
#[derive(Default)]
pub(super) struct Bot {
    chats: BTreeSet<i64>,
    topics: BTreeSet<(i64, i64)>,
    blocked: BTreeSet<i64>,
    pub(super) messages: Vec<FakeTelegramMessage>,
    pub(super) updates: Vec<Value>,
    all_updates: Vec<Value>,
    replayed: Vec<Value>,
    queued_updates: i64,
    open_presses: BTreeSet<String>,
    pub(super) press_answers: Vec<PressAnswer>,
    pub(super) typing_chats: Vec<i64>,
    pub(super) methods: Vec<String>,
    pub(super) failures: VecDeque<TelegramFailure>,
    pub(super) has_webhook: bool,
    begun_polls: u64,
    pub(super) held_polls: u32,
    pub(super) is_closed: bool,
}

impl Bot {
    pub(super) fn open_chat(&mut self, chat: i64) {
        self.chats.insert(chat);
        self.blocked.remove(&chat);
    }

    pub(super) fn open_topic(&mut self, chat: i64, thread: i64) {
        self.chats.insert(chat);
        self.topics.insert((chat, thread));
    }

    pub(super) fn block(&mut self, chat: i64) {
        self.chats.insert(chat);
        self.blocked.insert(chat);
    }

    pub(super) fn queue(&mut self, mut update: Value) -> i64 {
        self.queued_updates += 1;
        update["update_id"] = json!(self.queued_updates);
        self.all_updates.push(update.clone());
        self.updates.push(update);
        self.queued_updates
    }

    /// Sends an update once more, whatever a poll has confirmed.
    pub(super) fn replay(&mut self, update_id: i64) {
        let update = self.all_updates.iter().find(|update| update["update_id"] == update_id);
        self.replayed.extend(update.cloned());
    }

    pub(super) fn queue_text(&mut self, person: i64, name: &str, text: &str) -> i64 {
        self.open_chat(person);
        let message_id = 10_000 + self.queued_updates;
        self.queue(json!({ "message": {
            "message_id": message_id, "date": 1, "text": text,
            "from": { "id": person, "is_bot": false, "first_name": name },
            "chat": { "id": person, "type": "private", "first_name": name },
        }}))
    }

    pub(super) fn queue_press(
        &mut self,
        person: i64,
        chat: i64,
        message_id: i64,
        data: &str,
    ) -> String {
        let id = format!("press-{}", self.queued_updates + 1);
        let kind = if chat > 0 { "private" } else { "supergroup" };
        self.open_presses.insert(id.clone());
        self.queue(json!({ "callback_query": {
            "id": id, "data": data, "chat_instance": "1",
            "from": { "id": person, "is_bot": false, "first_name": "Person" },
            "message": { "message_id": message_id, "date": 1, "chat": { "id": chat, "type": kind } },
        }}));
        id
    }

    /// Answers a method that neither waits nor sends.
    pub(super) fn call(&mut self, method: &str, fields: &Value) -> BotAnswer {
        match method {
            "getMe" => Ok(json!({
                "id": 1, "is_bot": true, "first_name": "Rouse", "username": "rouse_double_bot",
            })),
            "deleteWebhook" => {
                self.has_webhook = false;
                if fields["drop_pending_updates"] == true {
                    self.updates.clear();
                }
                Ok(json!(true))
            }
            "sendChatAction" => {
                let chat = self.open_chat_of(fields)?;
                self.typing_chats.push(chat);
                Ok(json!(true))
            }
            "answerCallbackQuery" => self.answer_press(fields),
            "editMessageText" => {
                let text = checked_text(fields)?;
                let source = fields["text"].as_str().unwrap_or_default().to_owned();
                let buttons = buttons_of(fields)?;
                self.edit(fields, |message| {
                    message.text = text;
                    message.source = source;
                    message.buttons = buttons;
                })
            }
            "editMessageReplyMarkup" => {
                let buttons = buttons_of(fields)?;
                self.edit(fields, |message| message.buttons = buttons)
            }
            _ => Err(BotError::new(404, "Not Found: method not found")),
        }
    }

    /// Accepts a message after all checks.
    pub(super) fn send(&mut self, fields: &Value) -> BotAnswer {
        let chat = self.open_chat_of(fields)?;
        let thread = fields["message_thread_id"].as_i64();
        // General has the id 1 and is no topic that a message can name.
        if thread.is_some_and(|thread| !self.topics.contains(&(chat, thread))) {
            return Err(BotError::bad("message thread not found"));
        }
        let message = FakeTelegramMessage {
            id: i64::try_from(self.messages.len()).unwrap_or(i64::MAX - 1) + 1,
            chat,
            thread,
            text: checked_text(fields)?,
            source: fields["text"].as_str().unwrap_or_default().to_owned(),
            buttons: buttons_of(fields)?,
            has_preview: fields["link_preview_options"]["is_disabled"] != true,
            edits: 0,
        };
        let result = json!({ "message_id": message.id, "date": 1, "chat": { "id": chat } });
        self.messages.push(message);
        Ok(result)
    }

    /// Confirms updates and begins a poll, which ends an older one. Returns the number of the poll.
    pub(super) fn begin_poll(&mut self, fields: &Value) -> Result<u64, BotError> {
        if self.has_webhook {
            let text = "Conflict: can't use getUpdates method while webhook is active";
            return Err(BotError::new(409, text));
        }
        if let Some(offset) = fields["offset"].as_i64() {
            self.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
        }
        self.begun_polls += 1;
        self.held_polls += 1;
        Ok(self.begun_polls)
    }

    /// Whether a poll still has nothing to answer.
    pub(super) fn is_quiet(&self, poll: u64) -> bool {
        self.updates.is_empty()
            && self.replayed.is_empty()
            && self.begun_polls == poll
            && !self.is_closed
    }

    pub(super) fn end_poll(&mut self, poll: u64, fields: &Value) -> BotAnswer {
        self.held_polls -= 1;
        if self.begun_polls != poll {
            let text = "Conflict: terminated by other getUpdates request";
            return Err(BotError::new(409, text));
        }
        let limit = fields["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok());
        let replayed: Vec<Value> = self.replayed.drain(..).collect();
        let updates: Vec<&Value> =
            replayed.iter().chain(&self.updates).take(limit.unwrap_or(100)).collect();
        Ok(json!(updates))
    }

    fn open_chat_of(&self, fields: &Value) -> Result<i64, BotError> {
        let chat = fields["chat_id"].as_i64().filter(|chat| self.chats.contains(chat));
        let chat = chat.ok_or_else(|| BotError::bad("chat not found"))?;
        if self.blocked.contains(&chat) {
            return Err(BotError::new(403, "Forbidden: bot was blocked by the user"));
        }
        Ok(chat)
    }

    fn answer_press(&mut self, fields: &Value) -> BotAnswer {
        let id = fields["callback_query_id"].as_str().unwrap_or_default();
        if !self.open_presses.remove(id) {
            let text = "query is too old and response timeout expired or query ID is invalid";
            return Err(BotError::bad(text));
        }
        let text = fields["text"].as_str().unwrap_or_default().to_owned();
        self.press_answers.push(PressAnswer { callback_id: id.to_owned(), text });
        Ok(json!(true))
    }

    fn edit(&mut self, fields: &Value, change: impl FnOnce(&mut FakeTelegramMessage)) -> BotAnswer {
        let chat = self.open_chat_of(fields)?;
        let id = fields["message_id"].as_i64();
        let edited =
            self.messages.iter_mut().find(|message| message.chat == chat && Some(message.id) == id);
        let message = edited.ok_or_else(|| BotError::bad("message to edit not found"))?;
        let before = message.clone();
        change(message);
        if *message == before {
            return Err(BotError::bad("message is not modified"));
        }
        message.edits += 1;
        Ok(json!({ "message_id": message.id, "date": 1, "chat": { "id": chat } }))
    }
}

/// The visible text of a request, within the limits of Telegram.
fn checked_text(fields: &Value) -> Result<String, BotError> {
    let source = fields["text"].as_str().unwrap_or_default();
    let text = match fields["parse_mode"].as_str() {
        None => source.trim().to_owned(),
        Some("HTML") => visible_text(source)
            .map_err(|error| BotError::bad(&format!("can't parse entities: {error}")))?,
        Some(_) => return Err(BotError::bad("unsupported parse_mode")),
    };
    match text.encode_utf16().count() {
        0 => Err(BotError::bad("message text is empty")),
        1..=MAX_UNITS => Ok(text),
        _ => Err(BotError::bad("message is too long")),
    }
}

fn buttons_of(fields: &Value) -> Result<Vec<FakeTelegramButton>, BotError> {
    let rows = fields["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten();
    rows.flat_map(|row| row.as_array().into_iter().flatten()).map(button_of).collect()
}

fn button_of(button: &Value) -> Result<FakeTelegramButton, BotError> {
    let label = button["text"].as_str().unwrap_or_default();
    let data = button["callback_data"].as_str().unwrap_or_default();
    if label.is_empty() {
        return Err(BotError::bad("inline keyboard button text is empty"));
    }
    if !(1..=64).contains(&data.len()) {
        return Err(BotError::bad("BUTTON_DATA_INVALID"));
    }
    Ok(FakeTelegramButton { label: label.to_owned(), data: data.to_owned() })
}
