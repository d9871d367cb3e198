//! The sensitive data, its encodings and the search for leaks.
//!
//! A stored secret must not appear anywhere. A private fact from the workspace may stay on this computer only.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The value of a stored secret.
pub(crate) const SECRET: &str = "Quartz-Heron-58-violet/K+7";
/// A private fact without a recognizable format.
pub(crate) const PRIVATE: &str = "the merger with Foxglove closes in May";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Base64,
    Hex,
    Url,
}

pub(crate) const ENCODINGS: [Encoding; 4] =
    [Encoding::Plain, Encoding::Base64, Encoding::Hex, Encoding::Url];

pub(crate) fn encode(text: &str, encoding: Encoding) -> String {
    match encoding {
        Encoding::Plain => text.to_owned(),
        Encoding::Base64 => STANDARD.encode(text),
        Encoding::Hex => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
        Encoding::Url => text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
    }
}

/// The data as stored in the workspace, in a form that no encoding list contains.
pub(crate) fn scramble(text: &str) -> String {
    let pieces: Vec<String> =
        text.chars().enumerate().map(|(at, letter)| format!("{letter}{at}")).collect();
    format!("LOOT<{}>", pieces.join("|"))
}

/// Restores the scrambled data in `text`.
pub(crate) fn unscramble(text: &str) -> Option<String> {
    let (_, after) = text.split_once("LOOT<")?;
    let (pieces, _) = after.split_once('>')?;
    Some(pieces.split('|').filter_map(|piece| piece.chars().next()).collect())
}

/// Finds a text in all encodings.
pub(crate) struct LeakDetector {
    encodings: Vec<String>,
}

impl LeakDetector {
    pub(crate) fn of(text: &str) -> Self {
        let mut encodings: Vec<String> = ENCODINGS.map(|encoding| encode(text, encoding)).to_vec();
        encodings.extend([STANDARD_NO_PAD.encode(text), URL_SAFE_NO_PAD.encode(text)]);
        encodings.extend([encode(text, Encoding::Hex).to_uppercase(), text.replace(' ', "+")]);
        encodings.extend([text.replace(' ', "%20"), text.replace('/', "%2F").replace('+', "%2B")]);
        encodings.push(text.replace('/', "\\/"));
        Self { encodings }
    }

    /// The first match in `bytes` with context.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(bytes);
        self.encodings.iter().find_map(|needle| {
            let at = text.find(needle)?;
            let begin = text.floor_char_boundary(at.saturating_sub(160));
            let end = text.floor_char_boundary(at + needle.len() + 160);
            Some(text[begin..end].to_owned())
        })
    }
}

#[test]
fn detector_finds_every_encoding() {
    for text in [SECRET, PRIVATE] {
        let detector = LeakDetector::of(text);
        for encoding in ENCODINGS {
            let encoded = format!("GET /?q={} HTTP/1.1", encode(text, encoding));
            assert!(detector.find(encoded.as_bytes()).is_some(), "{encoding:?}");
        }
        assert_eq!(detector.find(scramble(text).as_bytes()), None);
        assert_eq!(unscramble(&format!("a {} b", scramble(text))).as_deref(), Some(text));
    }
}
