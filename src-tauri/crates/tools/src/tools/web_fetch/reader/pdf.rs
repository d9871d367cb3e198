//! Text extraction from PDF files, page by page.

use super::page_text::{PageText, ReadFailure};
use crate::text::plain_text;

/// Extracts the text of each page, under the page number.
pub(super) fn read(bytes: &[u8]) -> Result<PageText, ReadFailure> {
    let pages = pdf_extract::extract_text_from_mem_by_pages(bytes)
        .map_err(|error| ReadFailure(format!("The PDF could not be read: {error}.")))?;
    let count = pages.len();
    let texts: Vec<String> = pages.iter().map(|page| tidy_lines(&plain_text(page))).collect();
    let has_text = texts.iter().any(|text| !text.is_empty());
    let numbered = texts.iter().zip(1..);
    let numbered = numbered.map(|(text, number)| format!("[Page {number} of {count}]\n\n{text}"));
    let text = if has_text { numbered.collect::<Vec<_>>().join("\n\n") } else { String::new() };
    let note = (!has_text)
        .then(|| "The PDF contains no text; its pages may be images, such as scans.".to_owned());
    Ok(PageText { title: None, text: text.trim_end().to_owned(), note })
}

/// Trims line ends and merges empty lines.
fn tidy_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.join("\n").trim().to_owned()
}
