//! The text of a message: plain text of Markdown, the notice of a repeat, and parts of a limited length.
//!
//! Owns the split at paragraphs, lines and words. Never cuts a character. Pitfall: counting bytes or characters where a
//! service counts UTF-16 units; the caller passes its measure.

use rouse_core::channel::{ChannelMessage, REPEAT_NOTICE};
use rouse_core::text::strip_markdown;

/// The most parts of a message.
pub(crate) const MAX_PARTS: usize = 5;

/// Ends the only part of a message that is too long even for [`MAX_PARTS`].
const REST_NOTICE: &str = "… The rest is in the run.";

/// The whole message as plain text: the notice of a repeat, the title, and the text without Markdown.
pub(crate) fn plain_message(message: &ChannelMessage) -> String {
    let notice = message.is_repeat.then(|| REPEAT_NOTICE.to_owned());
    let text = strip_markdown(&message.text);
    let lines = notice.into_iter().chain([message.title.clone(), text]);
    lines.filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
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
        let most = most.saturating_sub(length(REST_NOTICE) + 1);
        let first = &text.trim()[..cut(text.trim(), most, length)];
        return vec![format!("{}\n{REST_NOTICE}", first.trim_end())];
    }
    if parts.is_empty() { vec![String::new()] } else { parts }
}

/// The byte at which a part of at most `most` units ends: at a paragraph, a line, a word or a character.
fn cut(text: &str, most: usize, length: fn(&str) -> usize) -> usize {
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

    #[test]
    fn short_text_is_one_part() {
        assert_eq!(split("a b", 10, char_length), ["a b"]);
        assert_eq!(split("", 10, char_length), [""]);
    }

    #[test]
    fn parts_end_at_paragraphs_lines_and_words() {
        assert_eq!(split("aaaa\n\nbbbb cccc", 10, char_length), ["aaaa", "bbbb cccc"]);
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
}
