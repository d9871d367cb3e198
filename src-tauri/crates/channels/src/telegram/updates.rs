//! Updates of Telegram: what a person wrote or pressed.
//!
//! Owns the difference between a command, a text, and content that Rouse cannot read. Never refuses an unknown field:
//! the Bot API grows every month. Messages of groups, channels and bots are ignored.
//! Pitfall: taking a forwarded text for a command; only text that the person typed in the private chat is one.

use rouse_core::text::{escape_line, first_line};
use serde_json::Value;

use super::api::ChatAddress;
use super::pairing::is_pairing_code;

/// The most characters of a name.
const MAX_NAME: usize = 64;

/// The sender of a private message, and the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateSender {
    /// The id of the update; each one takes effect once.
    pub update_id: i64,
    /// The id of the person. A username is never an identity.
    pub from_id: i64,
    /// First and last name, with invisible characters escaped.
    pub from_name: String,
    /// The username without `@`, if there is one.
    pub username: Option<String>,
    /// The id of the private chat.
    pub chat_id: i64,
    /// The topic in the private chat.
    pub thread_id: Option<i64>,
    /// The id of the message.
    pub message_id: i64,
}

impl PrivateSender {
    /// The name for people, such as `Anna (@anna)`.
    #[must_use]
    pub fn label(&self) -> String {
        match &self.username {
            Some(username) => format!("{} (@{username})", self.from_name),
            None => self.from_name.clone(),
        }
    }

    /// The chat and topic for an answer.
    #[must_use]
    pub const fn address(&self) -> ChatAddress {
        ChatAddress { chat: self.chat_id, thread: self.thread_id }
    }
}

/// A command of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TelegramCommand {
    /// `/stop`: cancels the current turn.
    Stop,
    /// `/status`: the state of Rouse.
    Status,
    /// `/runs`: the latest runs.
    Runs,
    /// Another command, without its slash. Rouse knows none of these.
    Unknown(String),
}

/// An update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TelegramUpdate {
    /// A text in a private chat. The text that a reply quotes is left out.
    PrivateText {
        /// The sender.
        sender: PrivateSender,
        /// The text.
        text: String,
        /// Whether somebody else may have written the text.
        is_forwarded: bool,
        /// Whether the text was edited before it arrived. A later edit is no message.
        is_edited: bool,
        /// Whether a bot inserted the text.
        via_bot: bool,
    },
    /// `/start CODE`, which a pairing link sends.
    StartCode {
        /// The sender.
        sender: PrivateSender,
        /// The code, in a valid form.
        code: String,
    },
    /// A command.
    Command {
        /// The sender.
        sender: PrivateSender,
        /// The command.
        command: TelegramCommand,
    },
    /// A press of a button below a message of the bot.
    ButtonPress {
        /// The id of the update.
        update_id: i64,
        /// The id for the answer to the press.
        callback_id: String,
        /// The id of the person.
        from_id: i64,
        /// The chat of the message.
        chat_id: i64,
        /// The message.
        message_id: i64,
        /// The data of the button.
        data: String,
        /// Whether the chat is the private chat with the person.
        is_private: bool,
    },
    /// A private message that Rouse cannot read.
    Unreadable {
        /// The sender.
        sender: PrivateSender,
        /// The content for people, such as `voice messages`.
        content: &'static str,
    },
    /// An update without an effect.
    Ignored {
        /// The id of the update.
        update_id: i64,
    },
}

impl TelegramUpdate {
    /// Reads an update; none without an id.
    #[must_use]
    pub fn read(update: &Value) -> Option<Self> {
        let update_id = update["update_id"].as_i64()?;
        let known = match (&update["message"], &update["callback_query"]) {
            (message @ Value::Object(_), _) => read_message(update_id, message),
            (_, press @ Value::Object(_)) => read_press(update_id, press),
            _ => None,
        };
        Some(known.unwrap_or(Self::Ignored { update_id }))
    }

    /// The id of the update.
    #[must_use]
    pub const fn id(&self) -> i64 {
        match self {
            Self::PrivateText { sender, .. }
            | Self::StartCode { sender, .. }
            | Self::Command { sender, .. }
            | Self::Unreadable { sender, .. } => sender.update_id,
            Self::ButtonPress { update_id, .. } | Self::Ignored { update_id } => *update_id,
        }
    }
}

/// The offset that confirms `updates`; `offset` if there are none.
#[must_use]
pub fn next_offset(offset: Option<i64>, updates: &[TelegramUpdate]) -> Option<i64> {
    let newest = updates.iter().map(|update| update.id().saturating_add(1)).max();
    newest.max(offset)
}

fn read_message(update_id: i64, message: &Value) -> Option<TelegramUpdate> {
    let sender = read_sender(update_id, message)?;
    let Some(text) = message["text"].as_str() else {
        let content = content_of(message)?;
        return Some(TelegramUpdate::Unreadable { sender, content });
    };
    let has = |field: &str| !message[field].is_null();
    let is_forwarded = has("forward_origin") || has("forward_date") || has("forward_from");
    let is_edited = has("edit_date");
    let via_bot = has("via_bot");
    if !is_forwarded
        && !is_edited
        && !via_bot
        && let Some((command, argument)) = split_command(text)
    {
        let command = match command {
            "start" if is_pairing_code(argument) => {
                return Some(TelegramUpdate::StartCode { sender, code: argument.to_owned() });
            }
            "stop" => TelegramCommand::Stop,
            "status" => TelegramCommand::Status,
            "runs" => TelegramCommand::Runs,
            other => TelegramCommand::Unknown(other.to_owned()),
        };
        return Some(TelegramUpdate::Command { sender, command });
    }
    let text = text.to_owned();
    Some(TelegramUpdate::PrivateText { sender, text, is_forwarded, is_edited, via_bot })
}

/// The sender of a message in a private chat with a person; none elsewhere.
fn read_sender(update_id: i64, message: &Value) -> Option<PrivateSender> {
    let (from, chat) = (&message["from"], &message["chat"]);
    let (from_id, chat_id) = (from["id"].as_i64()?, chat["id"].as_i64()?);
    let is_person = from["is_bot"] != true && chat["type"] == "private" && from_id == chat_id;
    if !is_person {
        return None;
    }
    let names = [&from["first_name"], &from["last_name"]];
    let names: Vec<&str> = names.into_iter().filter_map(Value::as_str).collect();
    let username = from["username"].as_str();
    Some(PrivateSender {
        update_id,
        from_id,
        from_name: first_line(&names.join(" "), MAX_NAME, escape_line),
        username: username.map(|name| first_line(name, MAX_NAME, escape_line)),
        chat_id,
        thread_id: message["message_thread_id"].as_i64(),
        message_id: message["message_id"].as_i64()?,
    })
}

/// A press; none for a button of an inline message, which is in no chat of the bot.
fn read_press(update_id: i64, press: &Value) -> Option<TelegramUpdate> {
    let (from_id, chat) = (press["from"]["id"].as_i64()?, &press["message"]["chat"]);
    let chat_id = chat["id"].as_i64()?;
    Some(TelegramUpdate::ButtonPress {
        update_id,
        callback_id: press["id"].as_str()?.to_owned(),
        from_id,
        chat_id,
        message_id: press["message"]["message_id"].as_i64()?,
        data: press["data"].as_str()?.to_owned(),
        is_private: chat["type"] == "private" && from_id == chat_id,
    })
}

/// The name of a command and its argument: `/name argument` or `/name@bot argument`.
fn split_command(text: &str) -> Option<(&str, &str)> {
    let text = text.trim().strip_prefix('/')?;
    let (command, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = command.split_once('@').map_or(command, |(name, _)| name);
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_command = (1..=32).contains(&name.len()) && name.chars().all(is_name);
    is_command.then_some((name, argument.trim()))
}

/// Contents by their fields. An animation and a document share a field, so the order counts.
const CONTENTS: &[(&str, &str)] = &[
    ("photo", "photos"),
    ("voice", "voice messages"),
    ("sticker", "stickers"),
    ("animation", "animations"),
    ("document", "files"),
    ("video", "videos"),
    ("video_note", "video messages"),
    ("audio", "audio files"),
    ("location", "locations"),
    ("contact", "contacts"),
    ("poll", "polls"),
    ("checklist", "checklists"),
    ("story", "stories"),
    ("dice", "dice"),
    ("paid_media", "paid media"),
];

/// Fields of messages that the service writes about a chat, and of messages without a content.
const NOTICES: &[&str] = &[
    "pinned_message",
    "message_auto_delete_timer_changed",
    "write_access_allowed",
    "chat_background_set",
    "connected_website",
    "users_shared",
    "chat_shared",
    "delete_chat_photo",
    "new_chat_photo",
    "new_chat_title",
    "forum_topic_created",
    "forum_topic_edited",
    "forum_topic_closed",
    "forum_topic_reopened",
    "web_app_data",
    "successful_payment",
    "refunded_payment",
];

/// The unreadable content of a message; none for a notice of the service.
fn content_of(message: &Value) -> Option<&'static str> {
    let has = |field: &str| !message[field].is_null();
    if NOTICES.iter().any(|field| has(field)) {
        return None;
    }
    let known = CONTENTS.iter().find(|(field, _)| has(field));
    Some(known.map_or("messages of this kind", |(_, content)| *content))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CODE: &str = "AAAAAAAAAAAAAAAAAAAAA-";

    /// A private message of Anna with additional fields.
    fn message(fields: &Value) -> Value {
        let mut message = json!({
            "message_id": 3, "date": 1,
            "from": { "id": 7, "is_bot": false, "first_name": "Anna", "username": "anna" },
            "chat": { "id": 7, "type": "private", "first_name": "Anna" },
        });
        for (name, value) in fields.as_object().expect("fields") {
            message[name] = value.clone();
        }
        message
    }

    fn read(fields: &Value) -> TelegramUpdate {
        let update = json!({ "update_id": 5, "message": message(fields) });
        TelegramUpdate::read(&update).expect("an update")
    }

    fn ignored() -> TelegramUpdate {
        TelegramUpdate::Ignored { update_id: 5 }
    }

    #[test]
    fn private_text_has_its_sender() {
        let update = read(&json!({ "text": "hello", "future_field": [1] }));
        let TelegramUpdate::PrivateText { sender, text, is_forwarded, is_edited, via_bot } = update
        else {
            panic!("{update:?}")
        };
        assert_eq!((sender.update_id, sender.from_id, sender.chat_id), (5, 7, 7));
        assert_eq!((sender.message_id, sender.label().as_str()), (3, "Anna (@anna)"));
        assert_eq!(sender.address(), ChatAddress { chat: 7, thread: None });
        assert_eq!(text, "hello");
        assert!(!is_forwarded && !is_edited && !via_bot);
    }

    #[test]
    fn text_of_others_is_marked_and_no_command() {
        for (fields, expected) in [
            (json!({ "forward_origin": { "type": "user" } }), (true, false, false)),
            (json!({ "forward_date": 1 }), (true, false, false)),
            (json!({ "edit_date": 2 }), (false, true, false)),
            (json!({ "via_bot": { "id": 9 } }), (false, false, true)),
        ] {
            for text in ["/stop".to_owned(), format!("/start {CODE}")] {
                let mut fields = fields.clone();
                fields["text"] = json!(text);
                let update = read(&fields);
                let TelegramUpdate::PrivateText { is_forwarded, is_edited, via_bot, .. } = update
                else {
                    panic!("{update:?}")
                };
                assert_eq!((is_forwarded, is_edited, via_bot), expected, "{fields}");
            }
        }
        let update = json!({ "update_id": 5, "edited_message": message(&json!({ "text": "x" })) });
        assert_eq!(TelegramUpdate::read(&update), Some(ignored()), "an edit of an older message");
    }

    #[test]
    fn commands_are_read_by_name() {
        let unknown = |name: &str| Some(TelegramCommand::Unknown(name.to_owned()));
        for (text, expected) in [
            ("/stop", Some(TelegramCommand::Stop)),
            ("/status@anna_rouse_bot now", Some(TelegramCommand::Status)),
            (" /runs\n", Some(TelegramCommand::Runs)),
            ("/start", unknown("start")),
            ("/start short", unknown("start")),
            ("/allow all", unknown("allow")),
            ("/etc/hosts is broken", None),
            ("/", None),
            ("stop", None),
        ] {
            let found = match read(&json!({ "text": text })) {
                TelegramUpdate::Command { command, .. } => Some(command),
                _ => None,
            };
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn pairing_link_sends_its_code() {
        let update = read(&json!({ "text": format!("/start {CODE}") }));
        assert!(
            matches!(&update, TelegramUpdate::StartCode { code, .. } if code == CODE),
            "{update:?}"
        );
    }

    #[test]
    fn unreadable_content_is_named() {
        for (fields, expected) in [
            (json!({ "photo": [], "caption": "x" }), "photos"),
            (json!({ "voice": {} }), "voice messages"),
            (json!({ "animation": {}, "document": {} }), "animations"),
            (json!({ "hologram": {} }), "messages of this kind"),
        ] {
            let update = read(&fields);
            assert!(
                matches!(update, TelegramUpdate::Unreadable { content, .. } if content == expected),
                "{fields}: {update:?}"
            );
        }
        assert_eq!(read(&json!({ "pinned_message": {} })), ignored());
    }

    #[test]
    fn groups_channels_and_bots_are_ignored() {
        let group = json!({ "id": -100, "type": "supergroup" });
        for fields in [
            json!({ "text": "/stop", "chat": group }),
            json!({ "text": "x", "from": { "id": 7, "is_bot": true, "first_name": "B" } }),
            json!({ "text": "x", "from": { "id": 8, "first_name": "Bob" } }),
            json!({ "text": "x", "from": null }),
            json!({ "text": "x", "message_id": "3" }),
        ] {
            assert_eq!(read(&fields), ignored(), "{fields}");
        }
        for update in [
            json!({ "update_id": 5, "channel_post": { "text": "x" } }),
            json!({ "update_id": 5, "message": 1 }),
            json!({ "update_id": 5 }),
        ] {
            assert_eq!(TelegramUpdate::read(&update), Some(ignored()), "{update}");
        }
        assert_eq!(TelegramUpdate::read(&json!({ "message": {} })), None);
    }

    #[test]
    fn button_press_has_chat_message_and_person() {
        let press = |chat: Value| {
            let press = json!({
                "id": "cb", "from": { "id": 7 }, "data": "one",
                "message": { "message_id": 12, "date": 0, "chat": chat },
            });
            TelegramUpdate::read(&json!({ "update_id": 5, "callback_query": press }))
        };
        let expected = |chat_id: i64, is_private: bool| {
            Some(TelegramUpdate::ButtonPress {
                update_id: 5,
                callback_id: "cb".to_owned(),
                from_id: 7,
                chat_id,
                message_id: 12,
                data: "one".to_owned(),
                is_private,
            })
        };
        assert_eq!(press(json!({ "id": 7, "type": "private" })), expected(7, true));
        assert_eq!(press(json!({ "id": 8, "type": "private" })), expected(8, false));
        assert_eq!(press(json!({ "id": -100, "type": "group" })), expected(-100, false));
        let inline =
            json!({ "id": "cb", "from": { "id": 7 }, "inline_message_id": "x", "data": "one" });
        let update = json!({ "update_id": 5, "callback_query": inline });
        assert_eq!(TelegramUpdate::read(&update), Some(ignored()));
    }

    #[test]
    fn deceptive_name_is_escaped_and_short() {
        let name = format!("Anna\u{202e}\n{}", "x".repeat(200));
        let from = json!({ "id": 7, "first_name": name, "last_name": "B" });
        let TelegramUpdate::PrivateText { sender, .. } =
            read(&json!({ "text": "x", "from": from }))
        else {
            panic!("no text")
        };
        assert!(sender.label().starts_with("Anna⟨U+202E⟩"), "{}", sender.label());
        assert!(sender.label().chars().count() <= MAX_NAME && !sender.label().contains('\n'));
    }

    #[test]
    fn next_offset_confirms_the_newest_update() {
        let update = |update_id| TelegramUpdate::Ignored { update_id };
        assert_eq!(next_offset(None, &[]), None);
        assert_eq!(next_offset(Some(4), &[]), Some(4));
        assert_eq!(next_offset(Some(4), &[update(9), update(7)]), Some(10));
        assert_eq!(next_offset(Some(40), &[update(9)]), Some(40), "an offset never goes back");
    }
}
