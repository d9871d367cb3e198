//! How a listener proves that it is the engine, before a program shows it the token.
//!
//! A file that a killed engine left behind names a port that anybody may have taken since. So a program first sends a
//! nonce; only who knows the token can hash it together with that, and a hash says nothing about the token, which is 244
//! random bits. One could get this wrong by leaving the port out of the hash: whoever sits at the old port could then ask
//! the engine at its new one and hand its answer on.

use super::{random_secret, same};
use crate::webhook_secret::hash_of;

/// What a program asks with.
pub(crate) struct Challenge(String);

impl Challenge {
    /// One that was never asked before.
    pub(crate) fn new() -> Self {
        Self(random_secret())
    }

    /// What is sent of it.
    pub(crate) fn nonce(&self) -> &str {
        &self.0
    }

    /// Whether `shown` comes from who knows `token` and listens at `port`.
    pub(crate) fn is_met_by(&self, shown: &[u8], token: &str, port: u16) -> bool {
        prove(&self.0, token, port).is_some_and(|proof| same(shown, proof.as_bytes()))
    }
}

/// The proof for a nonce; none for what is no nonce of ours.
pub(super) fn prove(nonce: &str, token: &str, port: u16) -> Option<String> {
    let is_nonce = nonce.len() == 64 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_nonce.then(|| hash_of(&format!("Rouse listens at {port}\n{nonce}\n{token}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_knows_the_token_and_sits_at_the_port_proves_it() {
        let (asked, other) = (Challenge::new(), Challenge::new());
        let proof = prove(asked.nonce(), "token", 7717).expect("a proof");
        assert!(asked.is_met_by(proof.as_bytes(), "token", 7717));
        assert!(!asked.is_met_by(proof.as_bytes(), "another", 7717));
        assert!(!asked.is_met_by(proof.as_bytes(), "token", 7718), "handed on from another port");
        assert!(!other.is_met_by(proof.as_bytes(), "token", 7717), "an old answer");
        assert!(!asked.is_met_by(b"", "token", 7717));
        assert!(!asked.is_met_by(asked.nonce().as_bytes(), "token", 7717));
    }

    #[test]
    fn nothing_but_a_nonce_is_hashed_with_the_token() {
        for text in ["", "x", &"g".repeat(64), &"a".repeat(63), &"a".repeat(65)] {
            assert_eq!(prove(text, "token", 7717), None, "{text}");
        }
    }
}
