//! The text of a message: plain text of Markdown, the notice of a repeat, and parts of a limited length.
//!
//! Owns the split at paragraphs, lines and words. Never cuts a character. Pitfall: counting bytes or characters where a
//! service counts UTF-16 units; the caller passes its measure.

use rouse_core::channel::{ChannelMessage, REPEAT_NOTICE};
use rouse_core::text::{strip_invisible, strip_markdown};

/// The most parts of a message.
pub(crate) const MAX_PARTS: usize = 5;

/// The most characters of a title in a field of its own.
const MAX_TITLE: usize = 200;

/// The last line of a text that was cut.
pub(crate) const REST_NOTICE: &str = "… The rest is in the run.";

/// The whole message as plain text: the notice of a repeat, the title, and the text without Markdown.
pub(crate) fn plain_message(message: &ChannelMessage) -> String {
    let notice = message.is_repeat.then(|| REPEAT_NOTICE.to_owned());
    let text = strip_markdown(&message.text);
    let lines = notice.into_iter().chain([message.title.clone(), text]);
    lines.filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// The title as one line, for services with a field for the title.
pub(crate) fn title_line(message: &ChannelMessage) -> String {
    one_line(&message.title, MAX_TITLE)
}

/// The notice of a repeat and the text without Markdown, for services with a field for the title. Such services refuse
/// or replace an empty text, so the title stands in for it.
pub(crate) fn plain_body(message: &ChannelMessage) -> String {
    let text = strip_markdown(&message.text);
    let text = if text.trim().is_empty() { title_line(message) } else { text };
    if message.is_repeat { format!("{REPEAT_NOTICE}\n{text}") } else { text }
}

/// `text` in parts of at most `most` units of `length`; a text for more than [`MAX_PARTS`] parts becomes its first part
/// with a notice.
pub(crate) fn split(text: &str, most: usize, length: fn(&str) -> usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && parts.len() <= MAX_PARTS {
        let (part, after) = rest.split_at(cut(rest, most, length));
        parts.push(part.trim_end().to_owned());
        rest = after.trim_start();
    }
    if parts.len() > MAX_PARTS {
        return vec![shorten(text, most, length)];
    }
    if parts.is_empty() { vec![String::new()] } else { parts }
}

/// `text` in at most `most` units of `length`; a longer text becomes its beginning with a notice.
pub(crate) fn shorten(text: &str, most: usize, length: fn(&str) -> usize) -> String {
    let text = text.trim();
    if length(text) <= most {
        return text.to_owned();
    }
    let first = &text[..cut(text, most.saturating_sub(length(REST_NOTICE) + 1), length)];
    format!("{}\n{REST_NOTICE}", first.trim_end())
}

/// `text` as one line of at most `most` characters, without invisible characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let line = strip_invisible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if char_length(&line) <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The byte at which a part of at most `most` units ends: at a paragraph, a line, a word or a character.
pub(crate) fn cut(text: &str, most: usize, length: fn(&str) -> usize) -> usize {
    if length(text) <= most {
        return text.len();
    }
    let mut units = 0;
    let end = text.char_indices().find_map(|(at, c)| {
        units += length(c.encode_utf8(&mut [0; 4]));
        (units > most).then_some(at)
    });
    let head = &text[..end.unwrap_or(text.len())];
    // A break in the first half would make many short parts.
    let half = head.len() / 2;
    let at_break =
        ["\n\n", "\n", " "].iter().find_map(|mark| head.rfind(mark).filter(|at| *at > half));
    let first_character = text.chars().next().map_or(0, char::len_utf8);
    at_break.unwrap_or(head.len()).max(first_character)
}

/// The length in UTF-16 units.
pub(crate) fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The length in bytes.
pub(crate) fn byte_length(text: &str) -> usize {
    text.len()
}

/// The length in characters.
pub(crate) fn char_length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubles::sample_message;

    #[test]
    fn short_text_is_one_part() {
        assert_eq!(split("a b", 10, char_length), ["a b"]);
        assert_eq!(split("", 10, char_length), [""]);
    }

    #[test]
    fn parts_end_at_paragraphs_lines_and_words() {
        assert_eq!(split("aaaaaa\n\nbb cccc", 10, char_length), ["aaaaaa", "bb cccc"]);
        assert_eq!(split("aaaa bbbb cccc", 10, char_length), ["aaaa bbbb", "cccc"]);
        assert_eq!(split("aaaaaaaaaaaab", 6, char_length), ["aaaaaa", "aaaaaa", "b"]);
    }

    #[test]
    fn measure_of_the_service_decides() {
        assert_eq!(split("😀😀😀", 4, utf16_length), ["😀😀", "😀"]);
        assert_eq!(split("äää", 4, byte_length), ["ää", "ä"]);
        assert_eq!(split("😀😀", 1, byte_length), ["😀", "😀"], "a character is never cut");
    }

    #[test]
    fn endless_text_is_its_beginning() {
        let parts = split(&"word ".repeat(1_000), 100, char_length);
        assert_eq!(parts.len(), 1);
        assert!(parts[0].chars().count() <= 100 && parts[0].ends_with(REST_NOTICE), "{parts:?}");
    }

    #[test]
    fn short_text_stays_and_long_text_is_cut() {
        assert_eq!(shorten(" a b ", 3, char_length), "a b");
        let cut = shorten(&"word ".repeat(50), 100, char_length);
        assert!(cut.chars().count() <= 100 && cut.ends_with(REST_NOTICE), "{cut}");
    }

    #[test]
    fn line_has_no_breaks_and_no_hidden_text() {
        assert_eq!(one_line(" a\r\nX-Header: b\t\u{202e}c ", 100), "a X-Header: b c");
        assert_eq!(one_line("ääää", 3), "ää…");
    }

    #[test]
    fn plain_message_has_notice_title_and_text() {
        let mut message = sample_message("It **rains**.");
        assert_eq!(plain_message(&message), "Weather\nIt rains.");
        message.is_repeat = true;
        assert_eq!(plain_message(&message), format!("{REPEAT_NOTICE}\nWeather\nIt rains."));
    }

    #[test]
    fn plain_body_has_notice_and_text_or_title() {
        let mut message = sample_message("It **rains**.");
        assert_eq!(plain_body(&message), "It rains.");
        message.is_repeat = true;
        message.text = " ".to_owned();
        assert_eq!(plain_body(&message), format!("{REPEAT_NOTICE}\nWeather"));
    }
}
