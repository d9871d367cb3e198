//! Simple HTML of a message.
//!
//! Owns the HTML of each Markdown element. HTML in the text is shown as text, an image becomes its alternative text,
//! and a link becomes text with its address. Never refers to anything outside of the e-mail.
//! Pitfall: a remote image, whose server learns when the e-mail is read.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use rouse_core::channel::{ChannelMessage, REPEAT_NOTICE};
use rouse_core::text::strip_invisible;

/// The page of `message`: the notice of a repeat, the title and the text.
pub(super) fn html_page(message: &ChannelMessage) -> String {
    let mut body = HtmlBody::default();
    if message.is_repeat {
        body.html.push_str(&format!("<p>{REPEAT_NOTICE}</p>\n"));
    }
    let title = strip_invisible(&message.title);
    if !title.trim().is_empty() {
        body.html.push_str(&format!("<p><strong>{}</strong></p>\n", escape(title.trim())));
    }
    body.add_markdown(&message.text);
    let html = body.html;
    format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{html}</body></html>\n"
    )
}

/// The HTML so far, and the open elements that decide about the next part.
#[derive(Default)]
struct HtmlBody {
    html: String,
    /// For each open link: the address, and the length of the HTML at its start.
    links: Vec<(String, usize)>,
    is_table_head: bool,
}

impl HtmlBody {
    fn add_markdown(&mut self, markdown: &str) {
        let source = strip_invisible(markdown);
        let options =
            Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES;
        for event in Parser::new_ext(&source, options) {
            self.add(event);
        }
    }

    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) | Event::InlineHtml(text) => self.html.push_str(&escape(&text)),
            Event::Html(text) => self.html.push_str(&escape(&text).replace('\n', "<br>\n")),
            Event::Code(text) => self.html.push_str(&format!("<code>{}</code>", escape(&text))),
            Event::SoftBreak | Event::HardBreak => self.html.push_str("<br>\n"),
            Event::Rule => self.html.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => {
                self.html.push_str(if is_done { "☑ " } else { "☐ " });
            }
            _ => {}
        }
    }

    fn open(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.html.len()));
            }
            Tag::List(Some(first)) => self.html.push_str(&format!("<ol start=\"{first}\">\n")),
            tag => {
                self.is_table_head |= matches!(tag, Tag::TableHead);
                if let Some(element) = self.element(tag.to_end()) {
                    self.html.push_str(&format!("<{element}>"));
                }
            }
        }
    }

    fn close(&mut self, tag: TagEnd) {
        if tag == TagEnd::Link {
            self.close_link();
        }
        if let Some(element) = self.element(tag) {
            self.html.push_str(&format!("</{element}>"));
            if is_block(tag) {
                self.html.push('\n');
            }
        }
        self.is_table_head &= tag != TagEnd::TableHead;
    }

    /// Adds the address behind the text of a link, unless the text is the address.
    fn close_link(&mut self) {
        let (address, start) = self.links.pop().expect("BUG: the parser closes what it opened");
        let address = escape(&address);
        let text = self.html[start..].trim();
        if text.is_empty() {
            self.html.push_str(&address);
        } else if text != address {
            self.html.push_str(&format!(" ({address})"));
        }
    }

    /// The name of the HTML element.
    fn element(&self, tag: TagEnd) -> Option<&'static str> {
        Some(match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => "p",
            TagEnd::Heading(level) => {
                ["h1", "h2", "h3", "h4", "h5", "h6"][(level as usize).clamp(1, 6) - 1]
            }
            TagEnd::BlockQuote(_) => "blockquote",
            TagEnd::CodeBlock => "pre",
            TagEnd::List(true) => "ol",
            TagEnd::List(false) => "ul",
            TagEnd::Item => "li",
            TagEnd::Table => "table",
            TagEnd::TableHead | TagEnd::TableRow => "tr",
            TagEnd::TableCell if self.is_table_head => "th",
            TagEnd::TableCell => "td",
            TagEnd::Emphasis => "em",
            TagEnd::Strong => "strong",
            TagEnd::Strikethrough => "del",
            _ => return None,
        })
    }
}

const fn is_block(tag: TagEnd) -> bool {
    !matches!(tag, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::TableCell)
}

/// `text` without characters of the HTML syntax.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(markdown: &str) -> String {
        let mut body = HtmlBody::default();
        body.add_markdown(markdown);
        body.html.trim_end().to_owned()
    }

    #[test]
    fn markdown_becomes_simple_html() {
        for (written, seen) in [
            (
                "It **rains**.\nTake a *coat*.",
                "<p>It <strong>rains</strong>.<br>\nTake a <em>coat</em>.</p>",
            ),
            ("## Two ##", "<h2>Two</h2>"),
            ("3. c\n4. d", "<ol start=\"3\">\n<li>c</li>\n<li>d</li>\n</ol>"),
            ("- [x] milk", "<ul><li>☑ milk</li>\n</ul>"),
            ("run `a<b`", "<p>run <code>a&lt;b</code></p>"),
            ("```sh\n<x>\n```", "<pre>&lt;x&gt;\n</pre>"),
            ("|a|\n|-|\n|1|", "<table><tr><th>a</th></tr>\n<tr><td>1</td></tr>\n</table>"),
        ] {
            assert_eq!(html(written), seen, "{written:?}");
        }
    }

    #[test]
    fn html_in_the_text_is_shown_as_text() {
        let seen = html("<script>alert(1)</script>\n\na <img src=x onerror=y> b");
        assert!(seen.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{seen}");
        assert!(seen.contains("a &lt;img src=x onerror=y&gt; b"), "{seen}");
    }

    #[test]
    fn images_become_their_alternative_text() {
        let seen = html("![A graph](https://example.org/pixel.png?data=secret)");
        assert_eq!(seen, "<p>A graph</p>");
    }

    #[test]
    fn links_show_their_address() {
        for (written, seen) in [
            ("[bank](https://evil.example)", "<p>bank (https://evil.example)</p>"),
            ("<https://example.org/a>", "<p>https://example.org/a</p>"),
            ("[](https://example.org)", "<p>https://example.org</p>"),
            ("[a](x\">y)", "<p>a (x&quot;&gt;y)</p>"),
        ] {
            assert_eq!(html(written), seen, "{written:?}");
        }
    }
}
