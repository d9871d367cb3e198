//! Sealing of texts with a data key (AES-256-GCM).
//!
//! Owns the form of a key in the keyring: base64 of 32 bytes, which every keyring can hold. The context is
//! authenticated, so a text of another file does not open. Pitfall: a nonce that is used twice; the library draws each.

use aws_lc_rs::aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// The bytes of a key.
const KEY_BYTES: usize = 32;

/// A key that seals texts.
pub(super) struct DataKey([u8; KEY_BYTES]);

/// A sealed text, in base64.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SealedText {
    nonce: String,
    text: String,
}

impl DataKey {
    /// A new random key.
    pub(super) fn random() -> Self {
        let mut bytes = [0; KEY_BYTES];
        aws_lc_rs::rand::fill(&mut bytes).expect("BUG: the system has random numbers");
        Self(bytes)
    }

    /// Reads the form of the keyring; none if it is no key.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        // silent-ok: the caller reports that the entry is no key.
        let bytes = STANDARD.decode(text).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// The form of the keyring.
    pub(super) fn to_text(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Seals a text for a context.
    pub(super) fn seal(&self, text: &str, context: &str) -> SealedText {
        let mut sealed = text.as_bytes().to_vec();
        let nonce = self.cipher().seal_in_place_append_tag(Aad::from(context), &mut sealed);
        let nonce = nonce.expect("BUG: a text in memory can be sealed");
        SealedText { nonce: STANDARD.encode(nonce.as_ref()), text: STANDARD.encode(sealed) }
    }

    /// Opens a text of a context; none if the key, the context or the text is another one.
    pub(super) fn open(&self, sealed: &SealedText, context: &str) -> Option<String> {
        // silent-ok: the caller reports that the text does not open.
        let nonce = STANDARD.decode(&sealed.nonce).ok()?;
        let nonce = Nonce::try_assume_unique_for_key(&nonce).ok()?;
        let mut text = STANDARD.decode(&sealed.text).ok()?;
        let opened = self.cipher().open_in_place(nonce, Aad::from(context), &mut text).ok()?;
        String::from_utf8(opened.to_vec()).ok()
    }

    fn cipher(&self) -> RandomizedNonceKey {
        RandomizedNonceKey::new(&AES_256_GCM, &self.0).expect("BUG: the key has 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_opens_with_its_key_and_context_only() {
        let key = DataKey::from_text(&DataKey::random().to_text()).expect("a key");
        let sealed = key.seal("a secret", "here");
        assert_eq!(key.open(&sealed, "here").as_deref(), Some("a secret"));
        assert_eq!(key.open(&sealed, "there"), None);
        assert_eq!(DataKey::random().open(&sealed, "here"), None);
        let mut changed = sealed.clone();
        changed.text.replace_range(..1, if sealed.text.starts_with('A') { "B" } else { "A" });
        assert_eq!(key.open(&changed, "here"), None);
        assert_ne!(key.seal("a secret", "here").text, sealed.text);
    }

    #[test]
    fn entry_that_is_no_key_is_refused() {
        for text in ["", "?", "AAAA"] {
            assert!(DataKey::from_text(text).is_none(), "{text}");
        }
    }
}
