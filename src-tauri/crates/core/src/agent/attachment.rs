//! Files that a tool returns beside the result: images and PDFs, for models with file input.
//!
//! Owns the kinds, their detection by content and the size limits. A conversation in memory holds the bytes; a transcript
//! keeps name, kind and size, so a resumed run calls the tool again. The journal keeps the bytes for the person only.
//! Never trusts a file name or a Content-Type.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use crate::message::Message;

/// The maximum bytes of an attachment: 5 MB as base64, Anthropic's limit for an image.
pub const MAX_ATTACHMENT_BYTES: usize = 3_750_000;

/// The most bytes of all attachments that the journal of a run keeps for the person.
pub const MAX_RUN_ATTACHMENT_BYTES: usize = 20_000_000;

/// The most bytes of all attachments that a conversation holds: 20 MB as base64, below the request limits of all vendors.
const MAX_HELD_BYTES: usize = 15_000_000;

/// The longest name, in characters.
const MAX_NAME: usize = 100;

/// The maximum tokens of an image: Anthropic and OpenAI scale larger images down.
const IMAGE_TOKENS: usize = 1_600;

/// Bytes of a PDF for each token, and its minimum tokens: a page is read as text and as an image.
const PDF_BYTES_PER_TOKEN: usize = 50;
const MIN_PDF_TOKENS: usize = 3_000;

/// The kind of a file, detected by the first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MediaKind {
    /// `image/png`.
    Png,
    /// `image/jpeg`.
    Jpeg,
    /// `image/gif`.
    Gif,
    /// `image/webp`.
    Webp,
    /// `application/pdf`.
    Pdf,
}

impl MediaKind {
    /// The kind of the file that begins with `bytes`; none for any other file.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Self::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(Self::Pdf),
            _ => None,
        }
    }

    /// The name in JSON and SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The media type (IANA).
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
        }
    }

    /// Whether this is an image.
    #[must_use]
    pub const fn is_image(self) -> bool {
        !matches!(self, Self::Pdf)
    }
}

impl fmt::Display for MediaKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Png => "PNG image",
            Self::Jpeg => "JPEG image",
            Self::Gif => "GIF image",
            Self::Webp => "WebP image",
            Self::Pdf => "PDF document",
        })
    }
}

/// A file beside a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The file's name, without folder or address.
    pub name: String,
    /// The kind.
    pub kind: MediaKind,
    /// The size in bytes.
    pub size: usize,
    /// The bytes; none after the conversation was stored, or when omitted by the window.
    #[serde(skip)]
    pub data: Option<Arc<[u8]>>,
}

impl Attachment {
    /// The file `bytes` of this kind. The last segment of `path` (a path or an address) becomes the name.
    #[must_use]
    pub fn new(path: &str, kind: MediaKind, bytes: Vec<u8>) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        // A name is untrusted input, so it cannot hold a sentence in Rouse's voice.
        let is_plain = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
        let plain = name.chars().map(|letter| if is_plain(letter) { letter } else { '_' });
        let name = plain.take(MAX_NAME).collect();
        Self { name, kind, size: bytes.len(), data: Some(bytes.into()) }
    }

    /// Removes the bytes.
    pub fn drop_data(&mut self) {
        self.data = None;
    }

    /// An upper estimate of the tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        match (&self.data, self.kind) {
            (None, _) => 0,
            (Some(data), MediaKind::Pdf) => (data.len() / PDF_BYTES_PER_TOKEN).max(MIN_PDF_TOKENS),
            (Some(_), _) => IMAGE_TOKENS,
        }
    }
}

/// Drops the bytes of the oldest attachments until the newest fit into 15 MB.
pub fn drop_oldest_attachments(messages: &mut [Message]) {
    let mut room = MAX_HELD_BYTES;
    for message in messages.iter_mut().rev() {
        let Message::Attachments { files } = message else { continue };
        for file in files.iter_mut().rev() {
            let size = file.data.as_ref().map_or(0, |data| data.len());
            match room.checked_sub(size) {
                Some(rest) => room = rest,
                None => {
                    room = 0;
                    file.drop_data();
                }
            }
        }
    }
}

impl fmt::Display for Attachment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, size, .. } = self;
        write!(formatter, "“{name}” ({kind}, {} kB)", size.div_ceil(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_detected_by_content() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Some(MediaKind::Png)),
            (b"\xff\xd8\xff\xe0", Some(MediaKind::Jpeg)),
            (b"GIF89a", Some(MediaKind::Gif)),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some(MediaKind::Webp)),
            (b"%PDF-1.7", Some(MediaKind::Pdf)),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"GIF89", None),
            (b"text", None),
            (b"", None),
        ] {
            assert_eq!(MediaKind::of(bytes), kind, "{bytes:?}");
        }
    }

    #[test]
    fn kind_has_one_name_in_json_and_sql() {
        let kinds =
            [MediaKind::Png, MediaKind::Jpeg, MediaKind::Gif, MediaKind::Webp, MediaKind::Pdf];
        for kind in kinds {
            assert_eq!(serde_json::json!(kind), kind.name());
            assert_eq!(kind.name().parse::<MediaKind>(), Ok(kind));
        }
    }

    #[test]
    fn name_is_the_last_segment_in_plain_characters() {
        let named = |path| Attachment::new(path, MediaKind::Png, vec![0; 1_500]).to_string();
        assert_eq!(named("a/b\\pho”to\n.png"), "“pho_to_.png” (PNG image, 2 kB)");
        assert_eq!(Attachment::new(&"x".repeat(500), MediaKind::Pdf, Vec::new()).name.len(), 100);
    }

    #[test]
    fn oldest_attachments_are_dropped_beyond_the_bound() {
        let file = || Attachment::new("a.png", MediaKind::Png, vec![0; 4_000_000]);
        let message = |count: usize| Message::Attachments { files: vec![file(); count] };
        let mut messages = [message(2), message(3)];
        drop_oldest_attachments(&mut messages);
        let held = |message: &Message| match message {
            Message::Attachments { files } => {
                files.iter().map(|file| file.data.is_some()).collect::<Vec<_>>()
            }
            _ => Vec::new(),
        };
        assert_eq!(held(&messages[0]), [false, false]);
        assert_eq!(held(&messages[1]), [true, true, true]);
    }

    #[test]
    fn stored_attachment_has_no_bytes() {
        let attachment = Attachment::new("a.pdf", MediaKind::Pdf, vec![1; 400_000]);
        assert_eq!(attachment.tokens(), 8_000);
        let stored = serde_json::to_value(&attachment).expect("JSON");
        assert_eq!(stored, serde_json::json!({ "name": "a.pdf", "kind": "pdf", "size": 400_000 }));
        let mut dropped = attachment;
        dropped.drop_data();
        assert_eq!(dropped.tokens(), 0);
        let read: Attachment = serde_json::from_value(stored).expect("an attachment");
        assert_eq!(read, dropped);
    }
}
