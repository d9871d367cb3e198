//! Markdown as a text with styles, for a surface with a few formats and no nesting.
//!
//! Owns the choice of the formats: bold, italic, code, code block and quote. Headings are bold, lists have bullets,
//! tables are aligned code blocks, and the address of a link stands behind its text. Struck-out text and HTML stay as
//! typed. Never writes a tag. Pitfall: text of a model that mentions a person; a word break behind `@` prevents it.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use rouse_core::text::strip_invisible;

/// Breaks a mention without being visible.
const WORD_BREAK: char = '\u{200b}';

/// The most characters to which a column of a table is padded.
const MAX_COLUMN: usize = 40;

/// The most levels of lists that are indented.
const MAX_INDENT: usize = 8;

/// The formats of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TextStyle {
    pub(super) is_bold: bool,
    pub(super) is_italic: bool,
    pub(super) is_code: bool,
    pub(super) is_code_block: bool,
    pub(super) is_quote: bool,
}

/// Text of one style up to `end`, a byte of the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StyledSpan {
    pub(super) end: usize,
    pub(super) style: TextStyle,
}

/// A text with styles. The spans cover the text without gaps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct StyledText {
    pub(super) text: String,
    pub(super) spans: Vec<StyledSpan>,
}

impl StyledText {
    /// Adds a text of one style.
    pub(super) fn add(&mut self, text: &str, style: TextStyle) {
        if text.is_empty() {
            return;
        }
        for character in text.chars() {
            let follows_word = self.text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            self.text.push(character);
            if character == '@' && !follows_word && !style.is_code && !style.is_code_block {
                self.text.push(WORD_BREAK);
            }
        }
        let end = self.text.len();
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.end = end,
            _ => self.spans.push(StyledSpan { end, style }),
        }
    }

    /// Adds a text in Markdown on a new line.
    pub(super) fn add_markdown(&mut self, markdown: &str) {
        let source = strip_invisible(markdown);
        let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
        let mut reader = MarkdownReader::new(self);
        for event in Parser::new_ext(&source, options) {
            reader.read(event);
        }
    }

    fn last_style(&self) -> TextStyle {
        self.spans.last().map(|span| span.style).unwrap_or_default()
    }

    /// Removes line breaks from the end.
    fn trim_breaks(&mut self) {
        let end = self.text.trim_end_matches('\n').len();
        self.text.truncate(end);
        while self.spans.len() > 1 && self.spans[self.spans.len() - 2].end >= end {
            self.spans.pop();
        }
        if let Some(last) = self.spans.last_mut() {
            last.end = end;
        }
    }
}

/// The break before the next text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum BlockGap {
    #[default]
    None,
    Line,
    Paragraph,
}

/// An open link or image.
struct OpenLink {
    address: String,
    /// Where its text begins, in the text or in the cell of a table.
    start: usize,
}

/// A table whose end is not read yet.
#[derive(Default)]
struct TableText {
    rows: Vec<Vec<String>>,
    cell: String,
}

impl TableText {
    /// The rows with aligned columns, and a line below the head.
    fn aligned(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).min(MAX_COLUMN)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(widths.iter().copied());
            let padded: Vec<String> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
            padded.join(" | ").trim_end().to_owned()
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        lines.insert(lines.len().min(1), rule.join("-+-"));
        lines.join("\n")
    }
}

/// Adds the events of a parser to a text.
struct MarkdownReader<'t> {
    page: &'t mut StyledText,
    /// The length of the page before this text.
    begin: usize,
    bold: u32,
    italic: u32,
    quotes: u32,
    is_code_block: bool,
    /// Number of the next item, for each open list.
    lists: Vec<Option<u64>>,
    links: Vec<OpenLink>,
    table: Option<TableText>,
    gap: BlockGap,
    follows_bullet: bool,
}

impl<'t> MarkdownReader<'t> {
    fn new(page: &'t mut StyledText) -> Self {
        let begin = page.text.len();
        Self {
            page,
            begin,
            bold: 0,
            italic: 0,
            quotes: 0,
            is_code_block: false,
            lists: Vec::new(),
            links: Vec::new(),
            table: None,
            gap: BlockGap::None,
            follows_bullet: false,
        }
    }

    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.write(&text),
            Event::Code(text) => {
                let code =
                    TextStyle { is_code: true, is_quote: self.quotes > 0, ..TextStyle::default() };
                self.write_styled(&text, code);
            }
            Event::SoftBreak | Event::HardBreak => self.write("\n"),
            Event::Rule => self.begin_block(),
            Event::TaskListMarker(is_done) => self.write(if is_done { "☑ " } else { "☐ " }),
            _ => {}
        }
    }

    fn open(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { .. } => {
                self.begin_block();
                self.bold += 1;
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.quotes += 1;
            }
            Tag::CodeBlock(_) => {
                self.begin_block();
                self.is_code_block = true;
            }
            Tag::List(first) => {
                self.begin_block();
                self.lists.push(first);
            }
            Tag::Item => self.begin_item(),
            Tag::Table(_) => {
                self.begin_block();
                self.table = Some(TableText::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.italic += 1,
            Tag::Strong => self.bold += 1,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let start = self.target().len();
                self.links.push(OpenLink { address: dest_url.into_string(), start });
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.begin_block(),
            TagEnd::Heading(_) => {
                self.bold -= 1;
                self.begin_block();
            }
            TagEnd::BlockQuote(_) => {
                self.quotes -= 1;
                self.begin_block();
            }
            TagEnd::CodeBlock => {
                self.is_code_block = false;
                self.begin_block();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.begin_block();
            }
            TagEnd::Item => {
                self.follows_bullet = false;
                self.request_gap(BlockGap::Line);
            }
            TagEnd::TableCell => {
                if let Some(table) = &mut self.table {
                    let cell = std::mem::take(&mut table.cell);
                    if let Some(row) = table.rows.last_mut() {
                        row.push(cell);
                    }
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis => self.italic -= 1,
            TagEnd::Strong => self.bold -= 1,
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn begin_block(&mut self) {
        // The first block of an item stands beside the bullet.
        if self.follows_bullet {
            return;
        }
        let is_in_list = !self.lists.is_empty();
        self.request_gap(if is_in_list { BlockGap::Line } else { BlockGap::Paragraph });
    }

    fn begin_item(&mut self) {
        self.request_gap(BlockGap::Line);
        let depth = self.lists.len().saturating_sub(1).min(MAX_INDENT);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        self.write_styled(&format!("{}{mark}", "  ".repeat(depth)), self.plain_style());
        self.follows_bullet = true;
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            let block = TextStyle { is_code_block: true, ..TextStyle::default() };
            self.write_styled(&table.aligned(), block);
        }
        self.begin_block();
    }

    /// Writes the address of a link unless the text of the link is the address.
    fn end_link(&mut self) {
        let Some(OpenLink { address, start }) = self.links.pop() else { return };
        let shown = self.target().get(start..).unwrap_or_default().trim();
        let is_known = address.is_empty()
            || address.starts_with('#')
            || address.trim_start_matches("mailto:") == shown;
        let added = match (is_known, shown.is_empty()) {
            (true, _) => String::new(),
            (false, true) => address,
            (false, false) => format!(" ({address})"),
        };
        self.write(&added);
    }

    /// The text that grows: the cell of an open table, or the page.
    fn target(&self) -> &str {
        self.table.as_ref().map_or(self.page.text.as_str(), |table| table.cell.as_str())
    }

    fn request_gap(&mut self, gap: BlockGap) {
        self.page.trim_breaks();
        self.gap = self.gap.max(gap);
    }

    fn write(&mut self, text: &str) {
        let style = if self.is_code_block {
            TextStyle { is_code_block: true, ..TextStyle::default() }
        } else {
            TextStyle { is_bold: self.bold > 0, is_italic: self.italic > 0, ..self.plain_style() }
        };
        self.write_styled(text, style);
    }

    fn write_styled(&mut self, text: &str, style: TextStyle) {
        if let Some(table) = &mut self.table {
            table.cell.push_str(text);
            return;
        }
        if text.is_empty() {
            return;
        }
        let is_first = self.page.text.len() <= self.begin;
        let gap = match std::mem::take(&mut self.gap) {
            _ if is_first => "\n",
            BlockGap::None => "",
            BlockGap::Line => "\n",
            BlockGap::Paragraph => "\n\n",
        };
        if !self.page.text.is_empty() {
            // A gap between two quotes would otherwise end the first one.
            let is_quote = style.is_quote && self.page.last_style().is_quote;
            self.page.add(gap, TextStyle { is_quote, ..TextStyle::default() });
        }
        self.follows_bullet = false;
        self.page.add(text, style);
    }

    fn plain_style(&self) -> TextStyle {
        TextStyle { is_quote: self.quotes > 0, ..TextStyle::default() }
    }
}
