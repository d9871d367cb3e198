//! Secrets: the key of a provider, and the stored ones that a call can name.
//!
//! Owns the one type that holds a provider's key. It has no `Display` and no `Serialize`, its `Debug` shows
//! nothing, and `expose` is private to the crate: whoever wants to leak it must do so here.

mod stored;
mod book;
mod absent;
mod handle;
mod host;
mod kept;
mod provider_key;

use std::fmt;

pub use absent::SecretSource;
pub use book::SecretBook;
pub use handle::HandleError;
use host::BoundHost;
pub(crate) use kept::{ByHandles, Gone};
pub use provider_key::{KeyError, ProviderKey, StoredKey};
pub use stored::{Secret, SecretError, SecretValue, is_secret_name};

/// What stands where a key stood.
const REDACTED: &str = "[key]";

/// Texts shorter than this are no keys; replacing them would only garble answers.
const SHORTEST: usize = 8;

/// `\u002f`.
const LONGEST_ESCAPE: usize = 6;

/// A provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key; none when `text` is blank. Keys are often pasted with a line break.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key itself, for the one request that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `bytes` without the key, also where JSON or an address spells it with escapes; unchanged bytes are not copied.
    pub(crate) fn scrub(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.0.len() < SHORTEST || self.next_in(&bytes).is_none() {
            return bytes;
        }
        let mut kept = Vec::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        while let Some((at, length)) = self.next_in(rest) {
            kept.extend_from_slice(&rest[..at]);
            kept.extend_from_slice(REDACTED.as_bytes());
            rest = &rest[at + length..];
        }
        kept.extend_from_slice(rest);
        kept
    }

    /// `bytes`, which were cut off at their end, without the key and without a beginning of it at the cut.
    pub(crate) fn scrub_cut(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        bytes = self.scrub(bytes);
        let longest = self.0.len() * LONGEST_ESCAPE;
        bytes.truncate(bytes.len().saturating_sub(longest));
        bytes
    }

    /// Where the key stands first, and how many bytes it takes there.
    fn next_in(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        (0..bytes.len()).find_map(|at| Some((at, spelled_length(self.0.as_bytes(), &bytes[at..])?)))
    }
}

/// How many bytes of `text` spell `key`; none when it does not begin with it.
fn spelled_length(key: &[u8], text: &[u8]) -> Option<usize> {
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

/// The byte that two hexadecimal digits name.
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
    fn an_escaped_key_is_a_key() {
        let key = "a/b+0123456789==";
        for spelled in
            [r"a\/b+0123456789==", r"a\u002Fb\u002b0123456789=\u003d", "a%2Fb%2b0123456789%3D%3D"]
        {
            assert_eq!(scrubbed(key, &format!("wrong {spelled}.")), "wrong [key].", "{spelled}");
        }
        assert_eq!(
            scrubbed(key, r"a\/b+01234\u00"),
            r"a\/b+01234\u00",
            "the beginning of one is none"
        );
    }

    #[test]
    fn the_beginning_of_a_key_at_a_cut_goes_away() {
        let key = ApiKey::new("sk-0123456789").expect("a key");
        let body = format!("{}sk-01234", "x".repeat(100));
        let kept = String::from_utf8(key.scrub_cut(body.into_bytes())).expect("text");
        assert_eq!(kept, "x".repeat(30));
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
