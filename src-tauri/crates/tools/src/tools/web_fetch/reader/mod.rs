//! The page reader: converts a response's bytes to text, in the child process.
//!
//! Owns the content types: HTML, PDF, JSON, text. Reads two files of the folder and writes a third. Never uses the
//! network or the engine's state. Pitfall: deep nesting can overflow a parser's stack; that ends this process, and the
//! engine reports the end.

mod html;
mod page_text;
mod pdf;
#[cfg(test)]
pub(super) mod tests;

use std::process::ExitCode;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::charset;
use crate::http_guard::{Body, decode_body};
use crate::text::{plain_line, truncate};

pub(super) use page_text::{PageText, ReadFailure};

/// The argument that starts the program as a reader.
pub(super) const READ_PAGE_ARGUMENT: &str = "__read-page";

/// The variable with the program's path, set for readers only.
pub(super) const PROGRAM_VARIABLE: &str = "ROUSE_READER";

/// File with the `ReaderRequest`.
pub(super) const REQUEST_FILE: &str = "request.json";
/// File with the body as received.
pub(super) const PAGE_FILE: &str = "page";
/// File with the result.
pub(super) const RESULT_FILE: &str = "result.json";

/// Limit of the decoded body.
const MAX_DECODED_BYTES: usize = 32 << 20;

/// Limit of the text.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Stack of the parsers, which recurse once per level of nesting.
const STACK_BYTES: usize = 128 << 20;

/// A page to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReaderRequest {
    /// Base of relative links.
    pub(super) url: String,
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
    pub(super) is_truncated: bool,
}

/// Runs the page reader in a process started as page reader; the program then exits with the returned code.
#[must_use]
pub fn run_page_reader() -> Option<ExitCode> {
    let is_reader = std::env::var_os(PROGRAM_VARIABLE).is_some()
        && std::env::args_os().any(|argument| argument == READ_PAGE_ARGUMENT);
    is_reader.then(|| match read_current_folder() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

/// Reads the page in the current folder and writes the result there.
pub(super) fn read_current_folder() -> io::Result<()> {
    let request: ReaderRequest = serde_json::from_slice(&fs::read(REQUEST_FILE)?)?;
    let page = fs::read(PAGE_FILE)?;
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(move || read(&request, page))?;
    let damaged = |_| Err(ReadFailure("The page is damaged and could not be read.".to_owned()));
    let result = thread.join().unwrap_or_else(damaged);
    fs::write(RESULT_FILE, serde_json::to_vec(&result)?)
}

/// Reads a page as text.
fn read(request: &ReaderRequest, page: Vec<u8>) -> Result<PageText, ReadFailure> {
    let encoded = Body { bytes: page, is_truncated: request.is_truncated };
    let decoded = decode_body(encoded, request.content_encoding.as_deref(), MAX_DECODED_BYTES);
    let Body { bytes, is_truncated } = decoded
        .map_err(|error| ReadFailure(format!("The response could not be read: {error}.")))?;
    let content_type = request.content_type.as_deref();
    let page = match ContentKind::detect(&bytes, content_type) {
        ContentKind::Pdf if is_truncated => {
            return Err(ReadFailure("The PDF is larger than 10 MB and was not read.".to_owned()));
        }
        ContentKind::Pdf => pdf::read(&bytes)?,
        ContentKind::Html => html::read(&decode_text(&bytes, content_type)?, &request.url),
        ContentKind::Text => {
            PageText { title: None, text: decode_text(&bytes, content_type)?, note: None }
        }
    };
    Ok(limit_text(page, is_truncated))
}

fn decode_text(bytes: &[u8], content_type: Option<&str>) -> Result<String, ReadFailure> {
    charset::decode_text(bytes, content_type).ok_or_else(|| {
        let kind = content_type.map_or_else(|| "unknown type".to_owned(), plain_line);
        ReadFailure(format!(
            "The response is neither text nor a PDF ({kind}, {} bytes).",
            bytes.len()
        ))
    })
}

fn limit_text(mut page: PageText, is_truncated: bool) -> PageText {
    let is_longer = page.text.len() > MAX_TEXT_BYTES;
    page.text.truncate(page.text.floor_char_boundary(MAX_TEXT_BYTES));
    page.title = page.title.map(|title| truncate(&plain_line(&title), 300));
    if is_truncated || is_longer {
        let cut = "The page is too long: only its beginning was read.";
        page.note = Some(page.note.map_or(cut.to_owned(), |note| format!("{cut} {note}")));
    }
    page
}

/// Kind of a page's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentKind {
    Html,
    Pdf,
    Text,
}

impl ContentKind {
    /// Recognises a PDF by its bytes, because servers often send another content type.
    fn detect(bytes: &[u8], content_type: Option<&str>) -> Self {
        let essence = content_type.and_then(|kind| kind.split(';').next()).unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        if bytes.starts_with(b"%PDF-") {
            return Self::Pdf;
        }
        match essence.as_str() {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "" | "application/octet-stream" if looks_like_html(bytes) => Self::Html,
            _ => Self::Text,
        }
    }
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let begin = bytes.trim_ascii_start();
    let begin = begin[..begin.len().min(15)].to_ascii_lowercase();
    [&b"<!doctype html"[..], b"<html", b"<head", b"<body"].iter().any(|tag| begin.starts_with(tag))
}
