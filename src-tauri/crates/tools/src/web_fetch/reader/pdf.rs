//! The text of a PDF file, page by page.

use super::{Reading, Unread};
use crate::text::plain_text;

/// The text of each page, under its number.
pub(super) fn read(bytes: &[u8]) -> Result<Reading, Unread> {
    let pages = pdf_extract::extract_text_from_mem_by_pages(bytes)
        .map_err(|error| Unread(format!("The PDF file could not be read: {error}.")))?;
    let count = pages.len();
    let texts: Vec<String> = pages.iter().map(|page| lines(&plain_text(page))).collect();
    let has_text = texts.iter().any(|text| !text.is_empty());
    let numbered = texts.iter().zip(1..);
    let numbered = numbered.map(|(text, number)| format!("[Page {number} of {count}]\n\n{text}"));
    let text = if has_text { numbered.collect::<Vec<_>>().join("\n\n") } else { String::new() };
    let note = (!has_text).then(|| {
        "The PDF file holds no text; its pages may be pictures, such as scans.".to_owned()
    });
    Ok(Reading { title: None, text: text.trim_end().to_owned(), note })
}

/// Without white space at the ends of lines, and without more than one empty line between two.
fn lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.join("\n").trim().to_owned()
}
