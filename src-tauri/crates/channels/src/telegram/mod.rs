//! Telegram: reports, approval requests with buttons, and chat in a private chat with a bot.
//!
//! Owns the methods of the Bot API, the HTML of a message, the class of each answer, and the reading of updates. Never
//! answers an update by itself and never stores an offset: the host commits an update before the offset moves.
//! Pitfall: the token is a part of every URL, so no error quotes a URL.

mod api;
mod error;
mod styled_text;
mod render;
mod channel;
mod updates;
mod poll;
mod pairing;

#[cfg(test)]
mod doubles;

pub use api::{
    BotAccount, ChatAddress, TELEGRAM_ROOT, TelegramApi, TelegramSettings, TelegramText,
};
pub use channel::TelegramChannel;
pub use error::{TelegramError, TelegramRejection};
pub use pairing::{is_pairing_code, pairing_link};
pub use poll::{PollProblem, TelegramPoll};
pub use updates::{PrivateSender, TelegramCommand, TelegramUpdate, next_offset};
