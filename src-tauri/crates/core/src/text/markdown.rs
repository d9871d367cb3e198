//! Plain text of Markdown for surfaces that render none: notifications, tray, terminal.
//!
//! Owns the choice of the parts that remain. Parsing is CommonMark with strikethrough and task lists, by `pulldown-cmark`.
//! Struck-out text and invisible characters are removed, list numbers and line breaks stay, tables stay as typed.
//! Pitfall: treating every text as Markdown; the output of a command is not, and `__init__.py` is a name.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::text::strip_invisible;

/// Converts Markdown to the text that a reader of the rendered page sees.
#[must_use]
pub fn strip_markdown(markdown: &str) -> String {
    let source = strip_invisible(markdown);
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = PlainText::new(&source);
    for (event, range) in Parser::new_ext(&source, options).into_offset_iter() {
        page.add(event, range);
    }
    strip_invisible(page.text.trim_end())
}

/// The text so far, and the open elements that decide about the next part.
struct PlainText<'s> {
    source: &'s str,
    text: String,
    /// The end of the last text in the source.
    source_end: usize,
    starts_block: bool,
    /// Number of the next item, for each open list.
    lists: Vec<Option<u64>>,
    /// For each open link or image: the address and the text length at the start.
    links: Vec<(String, usize)>,
    strikes: u32,
    follows_strike: bool,
}

impl<'s> PlainText<'s> {
    fn new(source: &'s str) -> Self {
        let (text, lists, links) = (String::new(), Vec::new(), Vec::new());
        Self {
            source,
            text,
            source_end: 0,
            starts_block: false,
            lists,
            links,
            strikes: 0,
            follows_strike: false,
        }
    }

    fn add(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.open(tag, range.start),
            Event::End(tag) => self.close(tag),
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.push(&text, range);
            }
            Event::SoftBreak | Event::HardBreak => self.push("\n", range),
            Event::Rule => self.starts_block = true,
            _ => {}
        }
    }

    fn open(&mut self, tag: Tag<'_>, start: usize) {
        match tag {
            Tag::Item => {
                self.begin_block(start);
                if let Some(Some(number)) = self.lists.last_mut() {
                    self.text.push_str(&format!("{number}. "));
                    *number += 1;
                }
            }
            Tag::List(first) => {
                self.starts_block = true;
                self.lists.push(first);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.text.len()));
            }
            Tag::Strikethrough => self.strikes += 1,
            Tag::Heading { .. } | Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::HtmlBlock => {
                self.starts_block = true;
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Link | TagEnd::Image => {
                let (address, start) =
                    self.links.pop().expect("BUG: the parser closes what it opened");
                if self.strikes == 0 && self.text[start..].trim().is_empty() {
                    self.text.push_str(&address);
                }
            }
            TagEnd::Strikethrough => {
                self.strikes -= 1;
                self.follows_strike = true;
            }
            TagEnd::Emphasis | TagEnd::Strong => {}
            TagEnd::List(_) => {
                self.lists.pop();
                self.starts_block = true;
            }
            _ => self.starts_block = true,
        }
    }

    fn push(&mut self, text: &str, range: Range<usize>) {
        self.begin_block(range.start);
        self.source_end = range.start + self.source[range].trim_end().len();
        if self.strikes > 0 {
            return;
        }
        let text = if self.follows_strike { self.close_gap(text) } else { text };
        self.text.push_str(text);
    }

    /// Starts a new line; after a blank line in the source, a new paragraph.
    fn begin_block(&mut self, start: usize) {
        if !std::mem::take(&mut self.starts_block) {
            return;
        }
        self.text.truncate(self.text.trim_end().len());
        if self.text.is_empty() {
            return;
        }
        let between = self.source.get(self.source_end..start).unwrap_or_default();
        let is_blank = |line: &str| line.trim_matches(['>', ' ', '\t', '\r']).is_empty();
        let lines: Vec<&str> = between.split('\n').collect();
        let has_blank_line =
            lines.len() > 2 && lines[1..lines.len() - 1].iter().any(|line| is_blank(line));
        self.text.push_str(if has_blank_line { "\n\n" } else { "\n" });
    }

    /// Removes the double space, or the space before punctuation, that removed text leaves. Returns the rest of `text`.
    fn close_gap<'t>(&mut self, text: &'t str) -> &'t str {
        let follows_space = self.text.is_empty() || self.text.ends_with(char::is_whitespace);
        let text = if follows_space { text.trim_start() } else { text };
        self.follows_strike = text.is_empty();
        if follows_space && text.starts_with(['.', ',', ';', ':', '!', '?']) {
            self.text.truncate(self.text.trim_end().len());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_plain_text() {
        for (written, seen) in [
            ("It **rains**. Take a *coat*.", "It rains. Take a coat."),
            ("# Mail\n\nTwo *new* ones", "Mail\n\nTwo new ones"),
            ("## Two ##", "Two"),
            ("#1 is open, and C# is a language", "#1 is open, and C# is a language"),
            ("- [ ] buy `milk`", "buy milk"),
            ("* one\n+ two\n1. three", "one\ntwo\n1. three"),
            ("> quoted\n>> twice", "quoted\ntwice"),
            ("See [the page](https://example.org/a_(b) \"title\").", "See the page."),
            (
                "![A graph](graph.png) and [](https://example.org)",
                "A graph and https://example.org",
            ),
            ("<https://example.org/a_b_c> and <b>", "https://example.org/a_b_c and <b>"),
            ("[**bold** link](x)", "bold link"),
            ("***both*** and __under__", "both and under"),
            ("**bold with *more* in it**", "bold with more in it"),
            ("*one **two** three*", "one two three"),
            ("https://example.org/a_b_c is up", "https://example.org/a_b_c is up"),
            ("| a | b |\n|---|---|\n| 1 | *2* |", "| a | b |\n|---|---|\n| 1 | 2 |"),
            ("<div>\n&amp;\n</div>\n\n    code", "<div>\n&amp;\n</div>\n\ncode"),
            ("run `rm *.tmp` in ``a`b``", "run rm *.tmp in a`b"),
            ("```sh\nls -l *.rs\n```", "ls -l *.rs"),
            ("above\n---\nbelow", "above\nbelow"),
            (r"2 \* 3 and \_x\_", "2 * 3 and _x_"),
            // Looks like marks.
            ("2 * 3 * 4 and a ** b", "2 * 3 * 4 and a ** b"),
            ("snake_case_name and _private", "snake_case_name and _private"),
            ("one ` tick and *no end", "one ` tick and *no end"),
            ("[not a link] (x) and [a](open", "[not a link] (x) and [a](open"),
            (r"C:\temp\new", r"C:\temp\new"),
            ("Grüße an *Zoë* 🌧", "Grüße an Zoë 🌧"),
            ("", ""),
        ] {
            assert_eq!(strip_markdown(written), seen, "{written:?}");
        }
    }

    #[test]
    fn struck_out_text_is_removed() {
        for (written, seen) in [
            ("~~The database is gone.~~ All is well.", "All is well."),
            ("a ~~b~~ c, ~d~ e ~~f~~.", "a c, e."),
            ("**~~no~~ yes**", "yes"),
            ("~~The database\nis gone.~~\nAll is well.", "All is well."),
            ("~~gone~~", ""),
            ("~~open and ~/a and ~/b, ~5 or ~6", "~~open and ~/a and ~/b, ~5 or ~6"),
            ("`~~code~~` and \\~\\~x\\~\\~", "~~code~~ and ~~x~~"),
            ("```\n~~code~~ &amp; *x*\n```\n~~~\n__y__\n~~~", "~~code~~ &amp; *x*\n__y__"),
            ("- ~~one\n- two~~", "~~one\ntwo~~"),
            ("~~one\n\ntwo~~", "~~one\n\ntwo~~"),
        ] {
            assert_eq!(strip_markdown(written), seen, "{written:?}");
        }
    }

    #[test]
    fn deeply_nested_marks_keep_their_text() {
        for written in [
            format!("{}x{}", "[".repeat(50_000), "](y)".repeat(50_000)),
            format!("{}x{}", "*a _b ".repeat(20_000), "_ *".repeat(20_000)),
            format!("{}x{}", "> - ".repeat(5_000), "\n".repeat(100)),
        ] {
            assert!(strip_markdown(&written).contains('x'));
        }
    }

    #[test]
    fn entities_and_references_are_resolved() {
        for (written, seen) in [
            ("Fish &amp; chips &lt; 5 &euro;, &#39;x&#x27;", "Fish & chips < 5 €, 'x'"),
            ("&#42;no mark&#42; in *a&nbsp;b*", "*no mark* in a b"),
            (
                "`&amp;` \\&amp; &amp &nosuch; &; &#; AT&T;",
                "&amp; &amp; &amp &nosuch; &; &#; AT&T;",
            ),
            ("&#0; &#xd800;", "\u{fffd} \u{fffd}"),
            ("a&#8238;b&#x200b;c&#10;d", "abc\nd"),
            (
                "See [the *page*][1] and [it][].\n\n[1]: https://example.org \"t\"\n[it]: <x>",
                "See the page and it.",
            ),
            ("a[i][1] and [x] [1]", "a[i][1] and [x] [1]"),
            ("[note]: this is said", "[note]: this is said"),
        ] {
            assert_eq!(strip_markdown(written), seen, "{written:?}");
        }
    }
}
