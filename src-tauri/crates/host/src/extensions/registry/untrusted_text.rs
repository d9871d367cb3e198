//! Text of an answer, for people.

use rouse_core::text::{escape_line, first_line};

/// The text on one line of at most `max` characters, with invisible characters escaped.
pub(super) fn shown(text: &str, max: usize) -> String {
    // Escapes and spaces make a text longer or shorter; the bound keeps the work small.
    let start: String = text.chars().take(4 * max).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    first_line(&line, max, escape_line)
}
