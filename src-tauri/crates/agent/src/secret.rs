//! The key of a provider.
//!
//! Owns the one type that holds a credential in this room. It has no `Display` and no `Serialize`, its `Debug` shows
//! nothing, and `expose` is private to the crate: whoever wants to leak it must do so here.

use std::fmt;

/// What stands where a key stood.
const REDACTED: &str = "[key]";

/// Texts shorter than this are no keys; replacing them would only garble answers.
const SHORTEST: usize = 8;

/// A provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key; none when `text` is blank. Keys are often pasted with a line break.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// `bytes` without the key; unchanged bytes are not copied.
    pub(crate) fn scrub(&self, bytes: Vec<u8>) -> Vec<u8> {
        let key = self.0.as_bytes();
        if key.len() < SHORTEST || !bytes.windows(key.len()).any(|window| window == key) {
            return bytes;
        }
        String::from_utf8_lossy(&bytes).replace(&self.0, REDACTED).into_bytes()
    }
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
    fn takes_every_occurrence_out() {
        let text = scrubbed("sk-0123456789\n", "wrong key sk-0123456789 (sk-0123456789)");
        assert_eq!(text, "wrong key [key] ([key])");
    }

    #[test]
    fn a_placeholder_key_does_not_garble_answers() {
        assert_eq!(scrubbed("none", "there is none"), "there is none");
    }

    #[test]
    fn is_never_shown() {
        assert_eq!(format!("{:?}", ApiKey::new("sk-0123456789")), "Some([key])");
        assert_eq!(ApiKey::new(" \n"), None);
    }
}
