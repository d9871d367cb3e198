//! Signed calls of webhooks: the message, the errors, and the signing key of a job.
//!
//! Owns the creation and the name of signing keys. Never holds a key: the port `Secrets` stores them in the system keyring and
//! checks signatures. Pitfall: a name with the job id itself; ids of imported jobs may contain any character.

use axum::body::Bytes;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rouse_core::text::sha256_hex;
use rouse_core::{JobId, UnixMs};
use uuid::Uuid;

/// A received webhook with a signature as in Standard Webhooks.
#[derive(Debug, Clone)]
pub struct SignedMessage {
    /// The header `webhook-id`.
    pub id: String,
    /// The header `webhook-timestamp`.
    pub timestamp: String,
    /// The header `webhook-signature`, a list.
    pub signatures: String,
    /// The body, byte for byte.
    pub body: Bytes,
    /// Time of arrival.
    pub received_at: UnixMs,
}

/// Why a signed message is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The id or the timestamp is invalid. Equal for every key, also for a missing one.
    #[error("{0}")]
    Header(String),
    /// The key is missing, or no signature is valid.
    #[error("Unknown webhook or wrong signature.")]
    Mismatch,
    /// The stored key cannot be used.
    #[error("The signing key cannot be used: {0}")]
    KeyUnavailable(String),
}

/// First part of the names of signing keys among the secrets.
const NAME_PREFIX: &str = "webhook-";
/// Digits of the hash of the job id in a name.
const NAME_DIGITS: usize = 32;

/// A signing key: `whsec_` and the base64 of 32 bytes, of which 244 bits are random.
#[must_use]
pub fn create_signing_key() -> String {
    let bytes = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes).concat();
    format!("whsec_{}", BASE64_STANDARD.encode(bytes))
}

/// The name of the secret with the signing key of a job.
pub(crate) fn signing_key_name(job: &JobId) -> String {
    format!("{NAME_PREFIX}{}", &sha256_hex(job.as_str())[..NAME_DIGITS])
}

/// Whether a secret has a name of [`signing_key_name`].
pub(crate) fn is_signing_key_name(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = name.strip_prefix(NAME_PREFIX);
    digits.is_some_and(|digits| digits.len() == NAME_DIGITS && digits.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use rouse_core::settings::is_secret_name;

    use super::*;

    #[test]
    fn signing_key_has_32_random_bytes() {
        let key = create_signing_key();
        let bytes = BASE64_STANDARD.decode(key.strip_prefix("whsec_").expect("the prefix"));
        assert_eq!(bytes.expect("base64").len(), 32);
        assert_ne!(key, create_signing_key());
    }

    #[test]
    fn name_of_any_job_is_a_secret_name() {
        let ids = ["a-1", "ä /?", "", &"x".repeat(500)].map(JobId::new);
        let names = ids.each_ref().map(signing_key_name);
        for name in &names {
            assert!(is_secret_name(name) && is_signing_key_name(name), "{name}");
        }
        assert_ne!(names[0], names[1]);
        for other in ["webhook-", "webhook-abc", "mail", &names[0][1..], &names[0].to_uppercase()] {
            assert!(!is_signing_key_name(other), "{other}");
        }
    }
}
