//! Text of an answer, for people.

use rouse_core::text::{escape_line, first_line};

/// The text on one line of at most `max` characters. Clients escape the text of a view.
pub(super) fn one_line(text: &str, max: usize) -> String {
    first_line(&joined_words(text, max), max, str::to_owned)
}

/// The text on one line of at most `max` characters, with invisible characters escaped, for a message.
pub(super) fn shown(text: &str, max: usize) -> String {
    first_line(&joined_words(text, max), max, escape_line)
}

/// The words with one space between them. Escapes and spaces change the length; the bound keeps the work small.
fn joined_words(text: &str, max: usize) -> String {
    let start: String = text.chars().take(4 * max).collect();
    start.split_whitespace().collect::<Vec<_>>().join(" ")
}
