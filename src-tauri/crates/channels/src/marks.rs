//! Plain text of Markdown that keeps bold, italic and code, for services with a small markup of their own.
//!
//! Owns the marks between the parsed Markdown and the markup of a service: three characters that survive the conversion
//! to plain text. All other text is escaped by the service. Never keeps an address of a link, and marks no nested or
//! multi-line element. Pitfall: a part that ends inside of a mark; such a message is plain text.

use pulldown_cmark::{Event, Options, Parser, Tag};
use rouse_core::channel::{ChannelMessage, REPEAT_NOTICE};
use rouse_core::text::{strip_invisible, strip_markdown};

use crate::text::{plain_message, split, title_line};

/// Begins and ends bold text. The marks are signs of Linear A, a script that no living language uses.
const BOLD: char = '\u{10600}';

/// Begins and ends italic text.
const ITALIC: char = '\u{10601}';

/// Begins and ends code.
const CODE: char = '\u{10602}';

const MARKS: [char; 3] = [BOLD, ITALIC, CODE];

/// The markup of a service.
pub(crate) struct Markup {
    /// Begins and ends bold text.
    pub(crate) bold: &'static str,
    /// Begins and ends italic text.
    pub(crate) italic: &'static str,
    /// Escapes text.
    pub(crate) escape: fn(&str) -> String,
    /// Escapes the text inside of code, whose mark is a backtick.
    pub(crate) escape_code: fn(&str) -> String,
}

impl Markup {
    /// Escapes a marked text and writes its marks as those of the service.
    pub(crate) fn render(&self, marked: &str) -> String {
        let mut rendered = String::with_capacity(marked.len());
        let mut is_code = false;
        for piece in marked.split_inclusive(MARKS) {
            let mark = piece.chars().next_back().filter(|last| MARKS.contains(last));
            let text = mark.map_or(piece, |mark| &piece[..piece.len() - mark.len_utf8()]);
            let escape = if is_code { self.escape_code } else { self.escape };
            rendered.push_str(&escape(text));
            is_code ^= mark == Some(CODE);
            rendered.push_str(match mark {
                Some(BOLD) => self.bold,
                Some(ITALIC) => self.italic,
                Some(_) => "`",
                None => "",
            });
        }
        rendered
    }

    /// The message in parts whose rendered text has at most `most` units. `length` measures a marked text as rendered.
    pub(crate) fn parts(
        &self,
        message: &ChannelMessage,
        most: usize,
        length: fn(&str) -> usize,
    ) -> Vec<String> {
        let mut parts = split(&marked_message(message), most, length);
        if !parts.iter().all(|part| has_paired_marks(part)) {
            parts = split(&plain_message(message).replace(MARKS, ""), most, length);
        }
        parts.iter().map(|part| self.render(part)).collect()
    }
}

/// The whole message as marked text: the notice of a repeat, the title in bold, and the text.
fn marked_message(message: &ChannelMessage) -> String {
    let notice = if message.is_repeat { REPEAT_NOTICE.to_owned() } else { String::new() };
    let mut title = title_line(message).replace(MARKS, "");
    if !title.is_empty() {
        title = format!("{BOLD}{title}{BOLD}");
    }
    let lines = [notice, title, marked_text(&message.text)];
    lines.into_iter().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// The plain text of Markdown with marks around bold text, italic text and code.
fn marked_text(markdown: &str) -> String {
    let source = strip_invisible(markdown).replace(MARKS, "");
    let mut marked = String::with_capacity(source.len());
    let (mut copied, mut end_of_element) = (0, 0);
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(&source, options).into_offset_iter() {
        let element = &source[range.clone()];
        let (mark, width) = match event {
            Event::Start(Tag::Strong) => (BOLD, 2),
            Event::Start(Tag::Emphasis) => (ITALIC, 1),
            // The width is that of the backticks in the source.
            Event::Code(code) if !code.contains('`') => {
                (CODE, element.len() - element.trim_start_matches('`').len())
            }
            _ => continue,
        };
        let is_nested = range.start < end_of_element;
        if is_nested || element.contains('\n') || element.len() <= 2 * width {
            continue;
        }
        end_of_element = range.end;
        let (start, end) = (range.start + width, range.end - width);
        marked.push_str(&source[copied..start]);
        marked.push(mark);
        marked.push_str(&source[start..end]);
        marked.push(mark);
        copied = end;
    }
    marked.push_str(&source[copied..]);
    strip_markdown(&marked)
}

fn has_paired_marks(part: &str) -> bool {
    MARKS.iter().all(|mark| part.matches(*mark).count() % 2 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubles::sample_message;
    use crate::text::char_length;

    const MARKUP: Markup = Markup {
        bold: "*",
        italic: "_",
        escape: |text| text.replace('*', "\\*"),
        escape_code: str::to_owned,
    };

    fn rendered(markdown: &str) -> String {
        MARKUP.render(&marked_text(markdown))
    }

    #[test]
    fn bold_italic_and_code_are_kept() {
        for (written, expected) in [
            ("It **rains**. Take a *coat*.", "It *rains*. Take a _coat_."),
            ("__bold__ and _italic_", "*bold* and _italic_"),
            ("run `ls *.rs` and ``x``", "run `ls *.rs` and `x`"),
            ("# Mail\n\n- **two** new", "Mail\n\n*two* new"),
            ("[**bold** link](https://example.org)", "*bold* link"),
            ("2 * 3 * 4", "2 \\* 3 \\* 4"),
            ("", ""),
        ] {
            assert_eq!(rendered(written), expected, "{written:?}");
        }
    }

    #[test]
    fn elements_in_doubt_are_plain() {
        for (written, expected) in [
            ("**bold *inner* text**", "*bold inner text*"),
            ("**two\nlines**", "two\nlines"),
            ("``a`b``", "a`b"),
            ("```\n**code**\n```", "\\*\\*code\\*\\*"),
            ("~~**gone**~~ stays", "stays"),
        ] {
            assert_eq!(rendered(written), expected, "{written:?}");
        }
    }

    #[test]
    fn marks_in_the_text_are_removed() {
        let mut message = sample_message("a\u{10600}b \u{10602}**c**");
        message.title = "T\u{10601}".to_owned();
        assert_eq!(MARKUP.parts(&message, 100, char_length), ["*T*\nab *c*"]);
    }

    #[test]
    fn part_that_cuts_a_mark_is_plain() {
        let message = sample_message(&format!("**{}**", "word ".repeat(10).trim()));
        let parts = MARKUP.parts(&message, 30, char_length);
        assert_eq!(parts[0], "Weather\nword word word word");
        assert!(parts.iter().all(|part| !part.contains('*')), "{parts:?}");
    }

    #[test]
    fn repeat_begins_with_its_notice() {
        let mut message = sample_message("x");
        message.is_repeat = true;
        let expected = format!("{REPEAT_NOTICE}\n*Weather*\nx");
        assert_eq!(MARKUP.parts(&message, 100, char_length), [expected]);
    }
}
