//! What runs in the child: from the bytes of an answer to text.
//!
//! Owns the kinds of content: HTML, PDF, JSON, text. Reads two files of its folder and writes a third. Never uses the
//! network, and holds nothing of the engine. Pitfall: a page may be nested so deep that a parser overflows its stack; that
//! ends this process, and the engine reports it.

mod html;
mod pdf;
#[cfg(test)]
pub(super) mod tests;

use std::process::ExitCode;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::charset;
use crate::http::{Unpacked, unpack};
use crate::text::plain_line;

/// The argument by which the program is started as a reader.
pub(crate) const READ_PAGE: &str = "__read-page";

/// The variable that names the program inside the sandbox; nothing else sets it.
pub(super) const PROGRAM: &str = "ROUSE_READER";

/// The file that says what there is to read.
pub(super) const ORDER: &str = "order.json";
/// The file with the page, as it came over the network.
pub(super) const PAGE: &str = "page";
/// The file with the result.
pub(super) const RESULT: &str = "result.json";

/// The most bytes that a page unpacks to.
const MOST_UNPACKED: usize = 32 << 20;

/// The most bytes of a text.
const MOST_TEXT: usize = 4 << 20;

/// Room for parsers that call themselves once for each level of a page.
const STACK: usize = 128 << 20;

/// What there is to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    /// Where the page is, for its links.
    pub(super) url: String,
    /// What the server says it is.
    pub(super) content_type: Option<String>,
    /// How it is packed.
    pub(super) packing: Option<String>,
    /// Whether only the beginning of it is there.
    pub(super) is_cut: bool,
}

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// Its title.
    pub(crate) title: Option<String>,
    /// Its text: Markdown for HTML.
    pub(crate) text: String,
    /// What a reader of the text should know.
    pub(crate) note: Option<String>,
}

/// Why there is no text. The words are for the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unread(pub(crate) String);

/// Reads a page if this process was started for that; then the program ends with the code.
#[must_use]
pub fn read_page_if_asked() -> Option<ExitCode> {
    let is_asked = std::env::var_os(PROGRAM).is_some()
        && std::env::args_os().any(|argument| argument == READ_PAGE);
    is_asked.then(|| match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

/// Reads the page in the current folder.
pub(super) fn work() -> io::Result<()> {
    let order: Order = serde_json::from_slice(&fs::read(ORDER)?)?;
    let page = fs::read(PAGE)?;
    let reading =
        std::thread::Builder::new().stack_size(STACK).spawn(move || read(&order, page))?;
    let broken = |_| Err(Unread("The page is broken: its reader could not read it.".to_owned()));
    let result = reading.join().unwrap_or_else(broken);
    fs::write(RESULT, serde_json::to_vec(&result)?)
}

/// The text of a page.
fn read(order: &Order, page: Vec<u8>) -> Result<Reading, Unread> {
    let packed = Unpacked { bytes: page, is_cut: order.is_cut };
    let unpacked = unpack(packed, order.packing.as_deref(), MOST_UNPACKED);
    let Unpacked { bytes, is_cut } =
        unpacked.map_err(|error| Unread(format!("The answer could not be read: {error}.")))?;
    let content_type = order.content_type.as_deref();
    let reading = match Kind::of(&bytes, content_type) {
        Kind::Pdf if is_cut => {
            return Err(Unread("The PDF file is larger than 10 MB, so it is not read.".to_owned()));
        }
        Kind::Pdf => pdf::read(&bytes)?,
        Kind::Html => html::read(&text(&bytes, content_type)?, &order.url),
        Kind::Text => Reading { title: None, text: text(&bytes, content_type)?, note: None },
    };
    Ok(bounded(reading, is_cut))
}

fn text(bytes: &[u8], content_type: Option<&str>) -> Result<String, Unread> {
    charset::text_of(bytes, content_type).ok_or_else(|| {
        let kind = content_type.map_or_else(|| "of an unknown type".to_owned(), plain_line);
        Unread(format!("The answer is no text and no PDF file ({kind}, {} bytes).", bytes.len()))
    })
}

fn bounded(mut reading: Reading, is_cut: bool) -> Reading {
    let is_longer = reading.text.len() > MOST_TEXT;
    reading.text.truncate(reading.text.floor_char_boundary(MOST_TEXT));
    reading.title = reading.title.map(|title| crate::text::shortened(&plain_line(&title), 300));
    if is_cut || is_longer {
        let cut = "The page is too long: only its beginning was read.";
        reading.note = Some(reading.note.map_or(cut.to_owned(), |note| format!("{cut} {note}")));
    }
    reading
}

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Pdf,
    Text,
}

impl Kind {
    /// The bytes of a PDF file speak for themselves; servers often send them as something else.
    fn of(bytes: &[u8], content_type: Option<&str>) -> Self {
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
