//! A message as parts in the HTML of Telegram.
//!
//! Owns the tags, the escaping, the split at 4,096 visible UTF-16 units, and the notices of a long message. Only `b`,
//! `i`, `code`, `pre` and `blockquote` are written. The split precedes the tags, so each part is well-formed.
//! Pitfall: counting the tags and escapes; Telegram counts the text that the person sees.

use std::ops::Range;

use rouse_core::channel::{ChannelMessage, REPEAT_NOTICE};
use rouse_core::text::strip_invisible;

use super::styled_text::{StyledText, TextStyle};
use crate::text::{MAX_PARTS, REST_NOTICE, cut, utf16_length};

/// The most UTF-16 units of a message.
const MAX_UNITS: usize = 4_096;

/// Ends a message whose buttons are left out, because the person must see everything before a decision.
const OPEN_ROUSE: &str = "Too long for buttons here. Open Rouse to decide.";

/// Replaces an empty message, which Telegram refuses.
const NO_TEXT: &str = "(no text)";

/// The parts of a message in HTML: at least one, at most [`MAX_PARTS`].
pub(super) fn render_message(message: &ChannelMessage) -> Vec<String> {
    let page = page_of(message);
    let mut cuts = PageCuts::new(&page.text, MAX_UNITS);
    let has_notice = !message.buttons.is_empty() && !cuts.is_single_message();
    if has_notice {
        cuts = PageCuts::new(&page.text, MAX_UNITS - utf16_length(OPEN_ROUSE) - 1);
    }
    let mut parts: Vec<String> = cuts.ranges.iter().map(|range| html_of(&page, range)).collect();
    let Some(last) = parts.last_mut() else { return vec![NO_TEXT.to_owned()] };
    if !cuts.is_complete {
        last.push('\n');
        last.push_str(REST_NOTICE);
    }
    if has_notice {
        last.push('\n');
        last.push_str(OPEN_ROUSE);
    }
    parts
}

/// Whether the buttons of a message go with these parts: only if one part shows the whole message.
pub(super) fn has_room_for_buttons(parts: &[String]) -> bool {
    matches!(parts, [only] if !only.ends_with(OPEN_ROUSE))
}

/// The visible text of a rendered part.
pub(super) fn plain_text(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        rest = tag.split_once('>').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The notice of a repeat, the title in bold on one line, and the text.
fn page_of(message: &ChannelMessage) -> StyledText {
    let mut page = StyledText::default();
    if message.is_repeat {
        page.add(REPEAT_NOTICE, TextStyle::default());
        page.add("\n", TextStyle::default());
    }
    let title = strip_invisible(&message.title);
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if !title.is_empty() {
        page.add(&title, TextStyle { is_bold: true, ..TextStyle::default() });
    }
    page.add_markdown(&message.text);
    page
}

/// The ranges of a text that become parts.
struct PageCuts {
    ranges: Vec<Range<usize>>,
    /// Whether the ranges show the whole text.
    is_complete: bool,
}

impl PageCuts {
    /// Ranges of at most `most` UTF-16 units; for more than [`MAX_PARTS`], the first one with room for a notice.
    fn new(text: &str, most: usize) -> Self {
        let ranges = ranges_of(text, most, MAX_PARTS + 1);
        if ranges.len() <= MAX_PARTS {
            return Self { ranges, is_complete: true };
        }
        let most = most - utf16_length(REST_NOTICE) - 1;
        Self { ranges: ranges_of(text, most, 1), is_complete: false }
    }

    fn is_single_message(&self) -> bool {
        self.ranges.len() <= 1 && self.is_complete
    }
}

/// The first `count` ranges of at most `most` UTF-16 units, without the white space between them.
fn ranges_of(text: &str, most: usize, count: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let end = text.trim_end().len();
    let mut start = text.len() - text.trim_start().len();
    while start < end && ranges.len() < count {
        let length = cut(&text[start..end], most, utf16_length);
        let part = text[start..start + length].trim_end();
        if !part.is_empty() {
            ranges.push(start..start + part.len());
        }
        let rest = &text[start + length..end];
        // The indentation of the next line is a part of a code block.
        let rest = if rest.starts_with('\n') {
            rest.trim_start_matches('\n')
        } else {
            rest.trim_start_matches(' ')
        };
        start = end - rest.len();
    }
    ranges
}

/// A range of a text in HTML. Open tags close at the end and open again in the next range.
fn html_of(page: &StyledText, range: &Range<usize>) -> String {
    let mut html = String::new();
    let mut is_quote = false;
    let mut start = 0;
    for span in &page.spans {
        let (from, to) = (start.max(range.start), span.end.min(range.end));
        start = span.end;
        if from >= to {
            continue;
        }
        if span.style.is_quote != is_quote {
            html.push_str(if is_quote { "</blockquote>" } else { "<blockquote>" });
            is_quote = !is_quote;
        }
        let tags = tags_of(span.style);
        for tag in &tags {
            html.push_str(&format!("<{tag}>"));
        }
        html.push_str(&escape(&page.text[from..to]));
        for tag in tags.iter().rev() {
            html.push_str(&format!("</{tag}>"));
        }
    }
    if is_quote {
        html.push_str("</blockquote>");
    }
    html
}

/// The tags inside of a quote. Telegram allows no other format in code.
fn tags_of(style: TextStyle) -> Vec<&'static str> {
    if style.is_code_block {
        return vec!["pre"];
    }
    if style.is_code {
        return vec!["code"];
    }
    let bold = style.is_bold.then_some("b");
    let italic = style.is_italic.then_some("i");
    bold.into_iter().chain(italic).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::doubles::{approval, report};
    use super::*;

    /// The only part of a report, without its title.
    fn rendered(markdown: &str) -> String {
        let parts = render_message(&report(markdown));
        assert_eq!(parts.len(), 1, "{parts:?}");
        parts[0].strip_prefix("<b>Morning</b>\n").expect("a title").to_owned()
    }

    #[test]
    fn markdown_becomes_a_small_set_of_tags() {
        for (written, html) in [
            ("It **rains**. Take a *coat*.", "It <b>rains</b>. Take a <i>coat</i>."),
            ("***both***", "<b><i>both</i></b>"),
            ("# Mail\nTwo *new* ones", "<b>Mail</b>\n\nTwo <i>new</i> ones"),
            ("run `a < b`", "run <code>a &lt; b</code>"),
            ("**a `b` c**", "<b>a </b><code>b</code><b> c</b>"),
            ("one\ntwo\n\nthree", "one\ntwo\n\nthree"),
            ("above\n\n---\n\nbelow", "above\n\nbelow"),
            ("```sh\nls -l\n  x\n```\nend", "<pre>ls -l\n  x</pre>\n\nend"),
            ("~~old~~ <u>x</u>", "~~old~~ &lt;u&gt;x&lt;/u&gt;"),
            ("<div>\nx & y\n</div>", "&lt;div&gt;\nx &amp; y\n&lt;/div&gt;"),
        ] {
            assert_eq!(rendered(written), html, "{written:?}");
        }
    }

    #[test]
    fn lists_have_bullets_and_indentation() {
        for (written, html) in [
            ("- one\n- two\n\nend", "• one\n• two\n\nend"),
            ("3. three\n4. four", "3. three\n4. four"),
            ("- one\n  - inner\n- two", "• one\n  • inner\n• two"),
            ("- one\n\n  more\n\n- two", "• one\nmore\n• two"),
            ("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"),
            ("intro\n\n* one\n*\n* two", "intro\n\n• one\n• \n• two"),
        ] {
            assert_eq!(rendered(written), html, "{written:?}");
        }
    }

    #[test]
    fn quotes_stay_one_block() {
        assert_eq!(
            rendered("> one\n>\n> **two**\n\nend"),
            "<blockquote>one\n\n<b>two</b></blockquote>\n\nend"
        );
        assert_eq!(
            rendered("> a\n>\n> ```\n> code\n> ```\n>\n> b"),
            "<blockquote>a</blockquote>\n\n<pre>code</pre>\n\n<blockquote>b</blockquote>"
        );
    }

    #[test]
    fn links_show_their_address() {
        for (written, html) in [
            (
                "See [the page](https://a.org/?x=1&y=2).",
                "See the page (https://a.org/?x=1&amp;y=2).",
            ),
            ("<https://a.org> and [](https://b.org)", "https://a.org and https://b.org"),
            ("[https://bank.org](https://evil.org)", "https://bank.org (https://evil.org)"),
            ("![graph](https://a.org/g.png)", "graph (https://a.org/g.png)"),
            ("[up](#top) <anna@a.org>", "up anna@a.org"),
        ] {
            assert_eq!(rendered(written), html, "{written:?}");
        }
    }

    #[test]
    fn tables_are_aligned_code() {
        assert_eq!(
            rendered("| job | state |\n|---|---|\n| mail | **ok** |\n| a&b | `x` |\n\nend"),
            "<pre>job  | state\n-----+------\nmail | ok\na&amp;b  | x</pre>\n\nend"
        );
    }

    #[test]
    fn mentions_are_broken_outside_of_code() {
        assert_eq!(rendered("@anna, (@bob) a@b.org"), "@\u{200b}anna, (@\u{200b}bob) a@b.org");
        assert_eq!(rendered("`@anna`"), "<code>@anna</code>");
        assert_eq!(rendered("@*anna*"), "@\u{200b}<i>anna</i>");
    }

    #[test]
    fn title_is_one_bold_line_and_repeat_is_first() {
        let mut message = report("x");
        message.title = "A <b> &\nB".to_owned();
        assert_eq!(render_message(&message), ["<b>A &lt;b&gt; &amp; B</b>\nx"]);
        message.is_repeat = true;
        let repeated = &render_message(&message)[0];
        assert!(repeated.starts_with(&format!("{REPEAT_NOTICE}\n<b>A ")), "{repeated}");
    }

    #[test]
    fn empty_message_has_a_text() {
        let mut message = report(" \n");
        message.title = String::new();
        assert_eq!(render_message(&message), [NO_TEXT]);
    }

    /// Fails unless each part is within the limit and closes its tags.
    fn assert_valid(parts: &[String]) {
        for part in parts {
            assert!(utf16_length(&plain_text(part)) <= MAX_UNITS, "{}", part.len());
            for tag in ["b", "i", "code", "pre", "blockquote"] {
                let opened = part.matches(&format!("<{tag}>")).count();
                assert_eq!(opened, part.matches(&format!("</{tag}>")).count(), "{tag}");
            }
        }
    }

    #[test]
    fn long_text_is_split_on_the_visible_length() {
        let text = format!("```\n{}```", "    <&> 😀 line\n".repeat(800));
        let parts = render_message(&report(&text));
        assert_eq!(parts.len(), 4, "12,800 units and the title");
        assert_valid(&parts);
        for part in &parts[1..] {
            assert!(part.starts_with("<pre>    &lt;&amp;&gt;"), "the indentation stays");
        }
        let lines: usize = parts.iter().map(|part| part.matches("line").count()).sum();
        assert_eq!(lines, 800);
    }

    #[test]
    fn nested_formats_are_split_well_formed() {
        let text = format!("> **bold *both {}***", "word ".repeat(2_000).trim_end());
        let parts = render_message(&report(&text));
        assert_eq!(parts.len(), 3);
        assert_valid(&parts);
        assert!(parts[1].starts_with("<blockquote>"), "{}", &parts[1][..40]);
    }

    #[test]
    fn endless_text_is_its_beginning() {
        let parts = render_message(&report(&"word ".repeat(10_000)));
        assert_eq!(parts.len(), 1);
        assert!(parts[0].ends_with(REST_NOTICE));
        assert_valid(&parts);
        assert!(has_room_for_buttons(&parts), "a report has no buttons");
    }

    #[test]
    fn buttons_need_the_whole_message_in_one_part() {
        assert!(has_room_for_buttons(&render_message(&approval("Run `ls`?"))));
        for words in [1_000, 10_000] {
            let parts = render_message(&approval(&"word ".repeat(words)));
            assert!(!has_room_for_buttons(&parts), "{words}");
            assert!(parts.last().is_some_and(|last| last.ends_with(OPEN_ROUSE)));
            assert_valid(&parts);
        }
    }

    #[test]
    fn plain_text_is_what_the_person_sees() {
        let html = rendered("a < b && **c** `&lt;`");
        assert_eq!(plain_text(&html), "a < b && c &lt;");
    }

    #[test]
    fn deeply_nested_marks_keep_their_text() {
        for written in [
            format!("{}x{}", "[".repeat(5_000), "](y)".repeat(5_000)),
            format!("{}x", "> - ".repeat(2_000)),
            format!("{}x{}", "*a _b ".repeat(2_000), "_ *".repeat(2_000)),
        ] {
            assert_valid(&render_message(&report(&written)));
        }
    }
}
