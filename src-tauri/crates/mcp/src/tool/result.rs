//! The result of a call, as output for the model.
//!
//! Owns the text of the parts, the attachments and the choice between content and structured content: servers send the
//! same data in both. Never shows binary data as text, and never believes a media type: the bytes decide.
//! Pitfall: a damaged image, for which a provider refuses the whole request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rouse_core::attachment::{Attachment, MAX_ATTACHMENT_BYTES, MediaKind};
use rouse_core::text::{escape_line, first_line};
use rouse_core::tool::{Fault, ToolOutput};
use serde_json::Value;

use crate::connection::{CallResult, ContentPart};

/// The most attachments of a call: an image costs up to 1,600 tokens.
const MAX_ATTACHMENTS: usize = 10;

/// The longest side of an image in pixels (Anthropic's limit).
const MAX_SIDE: usize = 8_000;

/// The most characters of an address, a name or a media type in a line.
const MAX_LABEL: usize = 300;

/// The output for a result. A call with the value of a secret returns no files, because no redaction reads an image.
pub(super) fn output_of(result: CallResult, has_secret: bool) -> ToolOutput {
    let mut content = ContentText { has_secret, ..ContentText::default() };
    for part in result.content {
        content.add(part);
    }
    let ContentText { texts, notes, attachments, .. } = content;
    let structured = result.structured.filter(|_| texts.is_empty());
    let value = match structured {
        Some(structured) if notes.is_empty() => structured,
        Some(structured) => join(&[vec![format!("{structured:#}")], notes].concat()),
        None => join(&[texts, notes].concat()),
    };
    let is_empty = value.as_str().is_some_and(str::is_empty);
    let (value, fault) = match (result.is_error, is_empty) {
        (true, true) => ("The tool failed without an explanation.".into(), Some(Fault::Execution)),
        (true, false) => (value, Some(Fault::Execution)),
        (false, true) => ("The tool returned nothing.".into(), None),
        (false, false) => (value, None),
    };
    ToolOutput { fault, attachments, ..ToolOutput::ok(value) }
}

fn join(paragraphs: &[String]) -> Value {
    paragraphs.join("\n\n").into()
}

/// The parts of a result, read one by one.
#[derive(Default)]
struct ContentText {
    has_secret: bool,
    /// Texts of the server.
    texts: Vec<String>,
    /// One line for each other part.
    notes: Vec<String>,
    attachments: Vec<Attachment>,
}

impl ContentText {
    fn add(&mut self, part: ContentPart) {
        match part {
            ContentPart::Text(text) if text.is_empty() => {}
            ContentPart::Text(text) => self.texts.push(text),
            ContentPart::Image { mime, data } => {
                let name = format!("image-{}", self.attachments.len() + 1);
                self.add_file(&name, &mime, &data);
            }
            ContentPart::Audio { mime, data } => self.add_hidden(&mime, &data),
            ContentPart::Resource { uri, text: Some(text), .. } => {
                self.texts.push(format!("{}:\n{text}", line(&uri)));
            }
            ContentPart::Resource { uri, mime, text: None, data } => {
                let mime = mime.unwrap_or_else(|| "unknown type".to_owned());
                self.notes.push(format!("Resource: {}", line(&uri)));
                if let Some(data) = data {
                    self.add_file(&uri, &mime, &data);
                }
            }
            ContentPart::Link { uri, name, description } => {
                let description = description.map(|text| format!(" – {}", line(&text)));
                let description = description.unwrap_or_default();
                self.notes.push(format!("Link: {} ({}){description}", line(&uri), line(&name)));
            }
        }
    }

    /// Attaches an image or a PDF; a line stands for any other file.
    fn add_file(&mut self, name: &str, mime: &str, data: &str) {
        let has_room = !self.has_secret && self.attachments.len() < MAX_ATTACHMENTS;
        match has_room.then(|| attachment(name, data)).flatten() {
            Some(attachment) => {
                self.notes.push(format!("Attached: {attachment}"));
                self.attachments.push(attachment);
            }
            None => self.add_hidden(mime, data),
        }
    }

    fn add_hidden(&mut self, mime: &str, data: &str) {
        // Four characters of base64 are three bytes.
        let kilobytes = (data.len() / 4 * 3).div_ceil(1_000);
        self.notes.push(format!("[{}, {kilobytes} kB, not shown]", line(mime)));
    }
}

/// The file, if models can read such a file.
fn attachment(name: &str, data: &str) -> Option<Attachment> {
    if data.len() / 4 * 3 > MAX_ATTACHMENT_BYTES {
        return None;
    }
    let Ok(bytes) = STANDARD.decode(data) else { return None };
    let kind = MediaKind::of(&bytes).filter(|_| bytes.len() <= MAX_ATTACHMENT_BYTES)?;
    if kind.is_image() {
        let Ok(size) = imagesize::blob_size(&bytes) else { return None };
        if size.width.max(size.height) > MAX_SIDE {
            return None;
        }
    }
    Some(Attachment::new(name, kind, bytes))
}

/// A text of the server as a part of a line.
fn line(text: &str) -> String {
    first_line(text, MAX_LABEL, escape_line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A PNG header with these dimensions, in base64.
    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(b"\x08\x06\0\0\0\0\0\0\0");
        STANDARD.encode(bytes)
    }

    fn output(content: Vec<ContentPart>, structured: Option<Value>) -> ToolOutput {
        output_of(CallResult { content, structured, is_error: false }, false)
    }

    fn text(text: &str) -> ContentPart {
        ContentPart::Text(text.to_owned())
    }

    fn image(data: String) -> ContentPart {
        ContentPart::Image { mime: "image/png".to_owned(), data }
    }

    fn blob(uri: &str, mime: &str, bytes: &[u8]) -> ContentPart {
        let data = Some(STANDARD.encode(bytes));
        ContentPart::Resource { uri: uri.to_owned(), mime: Some(mime.to_owned()), text: None, data }
    }

    #[test]
    fn texts_are_joined_by_blank_lines() {
        let both = output(vec![text("a\nb"), text(""), text("c")], None);
        assert_eq!(both, ToolOutput::ok("a\nb\n\nc"));
        assert_eq!(output(Vec::new(), None), ToolOutput::ok("The tool returned nothing."));
    }

    #[test]
    fn structured_content_is_used_without_text_only() {
        let sum = json!({"sum": 5});
        assert_eq!(output(vec![text("5")], Some(sum.clone())), ToolOutput::ok("5"));
        assert_eq!(output(vec![text("")], Some(sum.clone())), ToolOutput::ok(sum.clone()));
        let both = output(vec![image(png(1, 1))], Some(sum)).text();
        assert!(both.contains("\"sum\": 5") && both.contains("Attached: “image-1”"), "{both}");
    }

    #[test]
    fn failed_call_keeps_the_text_of_the_server() {
        let failed = |content| CallResult { content, structured: None, is_error: true };
        let output = output_of(failed(vec![text("no such day")]), false);
        assert_eq!(output, ToolOutput::error("no such day"));
        let output = output_of(failed(Vec::new()), false);
        assert_eq!((output.fault, output.text().is_empty()), (Some(Fault::Execution), false));
    }

    #[test]
    fn images_and_pdfs_are_attached_by_content() {
        let output =
            output(vec![image(png(1, 1)), blob("file:///a/b.pdf", "text/x", b"%PDF-1.7")], None);
        let names: Vec<_> =
            output.attachments.iter().map(|file| (file.name.as_str(), file.kind)).collect();
        assert_eq!(names, [("image-1", MediaKind::Png), ("b.pdf", MediaKind::Pdf)]);
        let text = output.text();
        for name in ["“image-1” (PNG image, 1 kB)", "Resource: file:///a/b.pdf", "“b.pdf”"]
        {
            assert!(text.contains(name), "{text}");
        }
    }

    #[test]
    fn unreadable_file_becomes_a_line() {
        let large = STANDARD.encode(vec![0; MAX_ATTACHMENT_BYTES + 3]);
        let audio = ContentPart::Audio { mime: "audio/wav\n".to_owned(), data: "A".repeat(16_000) };
        for (part, expected) in [
            (audio, "[audio/wav, 12 kB, not shown]"),
            (blob("a:b", "application/zip", b"PK"), "[application/zip, 1 kB, not shown]"),
            (image("no base64".to_owned()), "[image/png, 1 kB, not shown]"),
            (image(STANDARD.encode(b"\x89PNG\r\n\x1a\n")), "not shown]"),
            (image(png(8_001, 1)), "not shown]"),
            (image(large), "not shown]"),
        ] {
            let output = output(vec![part], None);
            assert!(output.text().contains(expected), "{}", output.text());
            assert!(output.attachments.is_empty());
        }
    }

    #[test]
    fn attachments_are_bounded_and_absent_beside_a_secret() {
        let images = || (0..12).map(|_| image(png(1, 1))).collect::<Vec<_>>();
        assert_eq!(output(images(), None).attachments.len(), 10);
        let result = CallResult { content: images(), structured: None, is_error: false };
        assert!(output_of(result, true).attachments.is_empty());
    }

    #[test]
    fn links_and_resources_are_lines_with_their_address() {
        let link = ContentPart::Link {
            uri: "https://a.example/x".to_owned(),
            name: "x\ny".to_owned(),
            description: Some("The page".to_owned()),
        };
        let note = ContentPart::Resource {
            uri: "note:1".to_owned(),
            mime: None,
            text: Some("Buy milk\nand tea".to_owned()),
            data: None,
        };
        let output = output(vec![link, note], None);
        let expected = "note:1:\nBuy milk\nand tea\n\nLink: https://a.example/x (x…) – The page";
        assert_eq!(output.text(), expected);
    }
}
