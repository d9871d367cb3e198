//! Text functions of every room: invisible characters, plain text, spelling suggestions, nesting of JSON, URLs, hashes.
//!
//! Owns functions from text to text. Never knows a job, a run or a person.

mod format;
mod visibility;
mod json_depth;
mod markdown;
mod pairing_qr;
mod percent;
mod quote;
mod shell_word;
mod hex;
mod stable_hash;
mod suggestion;

pub use format::{
    capitalize, first_line, format_bytes, group_thousands, humanize_sizes, strip_backticks,
};
pub use hex::{hex_digits, sha256_hex};
pub use json_depth::{MAX_DEPTH, flatten_deep, is_within_depth};
pub use markdown::strip_markdown;
pub use pairing_qr::PairingQr;
pub use percent::percent_encode;
pub use quote::{QUOTE_MARK, strip_quote};
pub use shell_word::quote_word;
pub use stable_hash::stable_hash;
pub use suggestion::{nearest, suggest};
pub use visibility::{
    escape_invisible, escape_line, escape_os_path, escape_path, has_hidden_text, has_visible_text,
    strip_invisible,
};
