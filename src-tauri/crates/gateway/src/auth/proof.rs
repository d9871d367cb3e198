//! The engine's proof of the token, before a program sends the token.
//!
//! The endpoint file of a killed engine names a port that another program may use now. So a program first sends a nonce. Only the
//! engine can hash the nonce with the token, and the hash reveals nothing about the token's 244 random bits.
//! Pitfall: a hash without the port; a program at the old port could relay the nonce to the engine at its new port.

use rouse_core::text::sha256_hex;

use crate::crypto::{constant_time_eq, random_secret};

/// A challenge with a random nonce.
pub(crate) struct Challenge(String);

impl Challenge {
    /// Creates a challenge.
    pub(crate) fn new() -> Self {
        Self(random_secret())
    }

    /// The nonce to send.
    pub(crate) fn nonce(&self) -> &str {
        &self.0
    }

    /// Whether `proof` is the proof of a holder of `token` at `port`.
    pub(crate) fn accepts(&self, proof: &[u8], token: &str, port: u16) -> bool {
        prove(&self.0, token, port)
            .is_some_and(|expected| constant_time_eq(proof, expected.as_bytes()))
    }
}

/// The proof for a nonce; none for an invalid nonce.
pub(super) fn prove(nonce: &str, token: &str, port: u16) -> Option<String> {
    let is_nonce = nonce.len() == 64 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_nonce.then(|| sha256_hex(&format!("Rouse listens at {port}\n{nonce}\n{token}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proof_needs_nonce_token_and_port() {
        let (challenge, other) = (Challenge::new(), Challenge::new());
        let proof = prove(challenge.nonce(), "token", 7717).expect("a proof");
        assert!(challenge.accepts(proof.as_bytes(), "token", 7717));
        assert!(!challenge.accepts(proof.as_bytes(), "another", 7717));
        assert!(!challenge.accepts(proof.as_bytes(), "token", 7718), "relayed from another port");
        assert!(!other.accepts(proof.as_bytes(), "token", 7717), "an old proof");
        assert!(!challenge.accepts(b"", "token", 7717));
        assert!(!challenge.accepts(challenge.nonce().as_bytes(), "token", 7717));
    }

    #[test]
    fn invalid_nonce_gets_no_proof() {
        for text in ["", "x", &"g".repeat(64), &"a".repeat(63), &"a".repeat(65)] {
            assert_eq!(prove(text, "token", 7717), None, "{text}");
        }
    }
}
