//! The channels of Rouse: one file per service.
//!
//! Owns rendering, sending, and the class of each answer. Never chooses a recipient, never reads the store, and never
//! opens a connection of its own but those of e-mail: HTTP goes through the guarded port. Only a webhook asks the clock,
//! for the timestamp of an attempt.
//! Pitfall: a token in an error text; the address of a request stays out of every error.

mod http;
mod marks;
mod text;
mod signature;
mod telegram;
mod email;
mod ntfy;
mod slack;
mod discord;
mod webhook;
mod apprise;
mod whatsapp;
mod apprise_line;

#[cfg(test)]
mod doubles;

pub use apprise::{AppriseChannel, AppriseSettings};
pub use apprise_line::{AppriseLineError, ImportedChannel, read_apprise_line};
pub use discord::{DiscordChannel, DiscordSettings};
pub use email::{EmailChannel, EmailSettings};
pub use ntfy::{NtfyChannel, NtfySettings};
pub use rouse_core::text::PairingQr;
pub use signature::{SignatureProblem, is_signing_key, sign_message, verify_signature};
pub use slack::{SlackChannel, SlackSettings};
pub use telegram::{
    BotAccount, ChatAddress, PollProblem, PrivateSender, TELEGRAM_ROOT, TelegramApi,
    TelegramChannel, TelegramCommand, TelegramError, TelegramPoll, TelegramRejection,
    TelegramSettings, TelegramText, TelegramUpdate, is_pairing_code, next_offset, pairing_link,
};
pub use webhook::{WebhookChannel, WebhookSettings};
pub use whatsapp::{WhatsappChannel, WhatsappSettings};
