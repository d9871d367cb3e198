//! The key of a provider in memory.
//!
//! Owns the removal from answers. Has no `Display` and no `Serialize`, and `Debug` hides the key.

use std::fmt;

/// Replaces a key.
const REDACTED: &str = "[key]";

/// The shortest key that is removed. A shorter key is a placeholder, and removing it would garble answers.
const MIN_LENGTH: usize = 8;

/// Bytes of the longest escape of a byte, `\u002f`.
const LONGEST_ESCAPE: usize = 6;

/// A provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A trimmed key; none if `text` is blank. Keys are often pasted with a line break.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key itself, for a request.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Removes the key from `bytes`, plain or with escapes of JSON or of a URL.
    pub(crate) fn scrub(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.0.len() < MIN_LENGTH || self.find_in(&bytes).is_none() {
            return bytes;
        }
        let mut clean = Vec::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        while let Some((at, length)) = self.find_in(rest) {
            clean.extend_from_slice(&rest[..at]);
            clean.extend_from_slice(REDACTED.as_bytes());
            rest = &rest[at + length..];
        }
        clean.extend_from_slice(rest);
        clean
    }

    /// Removes the key from `bytes` that were truncated, and the possible beginning of a key at their end.
    pub(crate) fn scrub_cut(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        bytes = self.scrub(bytes);
        let longest = self.0.len() * LONGEST_ESCAPE;
        bytes.truncate(bytes.len().saturating_sub(longest));
        bytes
    }

    /// The position and length of the first occurrence.
    fn find_in(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        (0..bytes.len()).find_map(|at| Some((at, escaped_length(self.0.as_bytes(), &bytes[at..])?)))
    }
}

/// How many bytes of `text` spell `key`, with or without escapes; none if `text` does not begin with the key.
fn escaped_length(key: &[u8], text: &[u8]) -> Option<usize> {
    let mut length = 0;
    for byte in key {
        length += match &text[length..] {
            [first, ..] if first == byte => 1,
            [b'\\', second, ..] if second == byte => 2,
            [b'\\', b'u', b'0', b'0', hex @ ..] if hex_byte(hex) == Some(*byte) => LONGEST_ESCAPE,
            [b'%', hex @ ..] if hex_byte(hex) == Some(*byte) => 3,
            _ => return None,
        };
    }
    Some(length)
}

/// The byte of two hexadecimal digits.
fn hex_byte(text: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (high, low) = (digit(text.first()?)?, digit(text.get(1)?)?);
    u8::try_from(high * 16 + low).ok()
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubbed(key: &str, text: &str) -> String {
        let key = ApiKey::new(key).expect("a key");
        String::from_utf8(key.scrub(text.as_bytes().to_vec())).expect("text")
    }

    #[test]
    fn escaped_key_is_removed() {
        let key = "a/b+0123456789==";
        for spelled in
            [r"a\/b+0123456789==", r"a\u002Fb\u002b0123456789=\u003d", "a%2Fb%2b0123456789%3D%3D"]
        {
            assert_eq!(scrubbed(key, &format!("wrong {spelled}.")), "wrong [key].", "{spelled}");
        }
        assert_eq!(
            scrubbed(key, r"a\/b+01234\u00"),
            r"a\/b+01234\u00",
            "only the beginning of a key"
        );
    }

    #[test]
    fn beginning_of_a_key_at_a_cut_is_removed() {
        let key = ApiKey::new("sk-0123456789").expect("a key");
        let body = format!("{}sk-01234", "x".repeat(100));
        let kept = String::from_utf8(key.scrub_cut(body.into_bytes())).expect("text");
        assert_eq!(kept, "x".repeat(30));
    }

    #[test]
    fn every_occurrence_is_removed() {
        let text = scrubbed("sk-0123456789\n", "wrong key sk-0123456789 (sk-0123456789)");
        assert_eq!(text, "wrong key [key] ([key])");
    }

    #[test]
    fn placeholder_key_is_not_removed() {
        assert_eq!(scrubbed("none", "there is none"), "there is none");
    }

    #[test]
    fn debug_hides_the_key() {
        assert_eq!(format!("{:?}", ApiKey::new("sk-0123456789")), "Some([key])");
        assert_eq!(ApiKey::new(" \n"), None);
    }
}
