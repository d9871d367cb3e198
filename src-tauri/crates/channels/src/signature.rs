//! Signatures of webhooks as in Standard Webhooks, version `v1`.
//!
//! Owns the signing key and both directions: signing a message, and checking a received one. Never remembers an id;
//! the caller refuses a repeated one. Pitfall: signing another text than the exact bytes of the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use rouse_core::UnixMs;
use sha2::Sha256;

/// The largest difference between the timestamp of a message and the time of its arrival.
const TOLERANCE_MS: i64 = 5 * 60 * 1_000;

/// Why a signature is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureProblem {
    /// The stored signing key is invalid.
    #[error(
        "The signing key is invalid. Store `whsec_` followed by the base64 of 24 to 64 random bytes."
    )]
    Key,
    /// The id is empty or has a dot, which separates the signed fields.
    #[error("The header webhook-id is empty or has a dot. Send an id without dots.")]
    Id,
    /// The timestamp is no number of seconds.
    #[error("The header webhook-timestamp is invalid. Send Unix time in seconds.")]
    Timestamp,
    /// The timestamp is too far from the time of arrival.
    #[error(
        "The header webhook-timestamp differs by more than 5 minutes from the time here. Check both clocks, and sign each attempt anew."
    )]
    Expired,
    /// No signature in the list is valid.
    #[error("No signature in the header webhook-signature is valid. Check the signing key.")]
    Mismatch,
}

/// Whether a text is `whsec_` followed by the base64 of 24 to 64 bytes.
#[must_use]
pub fn is_signing_key(text: &str) -> bool {
    SigningKey::parse(text).is_ok()
}

/// A signing key.
pub(crate) struct SigningKey(Vec<u8>);

impl SigningKey {
    /// Reads `whsec_` followed by the base64 of 24 to 64 bytes.
    pub(crate) fn parse(text: &str) -> Result<Self, SignatureProblem> {
        let encoded = text.trim().strip_prefix("whsec_").ok_or(SignatureProblem::Key)?;
        let key = STANDARD.decode(encoded).map_err(|_| SignatureProblem::Key)?;
        if (24..=64).contains(&key.len()) { Ok(Self(key)) } else { Err(SignatureProblem::Key) }
    }

    /// The signature of a message, such as `v1,K5oZ…=`.
    pub(crate) fn sign(&self, id: &str, timestamp: &str, body: &[u8]) -> String {
        let code = self.code(id, timestamp, body).finalize().into_bytes();
        format!("v1,{}", STANDARD.encode(code))
    }

    /// The message authentication code over `id.timestamp.body`.
    fn code(&self, id: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
        let mut code =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("BUG: HMAC takes a key of any length");
        for field in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            code.update(field);
        }
        code
    }
}

/// The signature of a message, such as `v1,K5oZ…=`.
///
/// # Errors
/// The key is invalid.
pub fn sign_message(
    key: &str,
    id: &str,
    timestamp: &str,
    body: &[u8],
) -> Result<String, SignatureProblem> {
    Ok(SigningKey::parse(key)?.sign(id, timestamp, body))
}

/// Checks a received webhook: `id`, `timestamp` and `signatures` are its headers `webhook-id`, `webhook-timestamp` and
/// `webhook-signature`, and `body` is its body byte for byte. One valid signature of the list is enough.
///
/// # Errors
/// The key, a header or all signatures are invalid, or the message is older or newer than 5 minutes.
pub fn verify_signature(
    key: &str,
    id: &str,
    timestamp: &str,
    body: &[u8],
    signatures: &str,
    now: UnixMs,
) -> Result<(), SignatureProblem> {
    let key = SigningKey::parse(key)?;
    // With a dot inside, the fields of a captured message could be divided in another way.
    if id.is_empty() || id.contains('.') {
        return Err(SignatureProblem::Id);
    }
    let is_number = !timestamp.is_empty() && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = timestamp.parse::<i64>().ok().filter(|_| is_number);
    let sent_at = UnixMs(seconds.ok_or(SignatureProblem::Timestamp)?.saturating_mul(1_000));
    if !(-TOLERANCE_MS..=TOLERANCE_MS).contains(&now.since(sent_at)) {
        return Err(SignatureProblem::Expired);
    }
    let is_valid = |signature: &str| {
        let code = signature.strip_prefix("v1,").and_then(|encoded| STANDARD.decode(encoded).ok());
        // The comparison takes the same time for each wrong signature.
        code.is_some_and(|code| key.code(id, timestamp, body).verify_slice(&code).is_ok())
    };
    if signatures.split(' ').any(is_valid) { Ok(()) } else { Err(SignatureProblem::Mismatch) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Standard Webhooks.
    const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const TIMESTAMP: &str = "1614265330";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    const SENT_AT: UnixMs = UnixMs(1_614_265_330_000);

    fn verified(signatures: &str, now: UnixMs) -> Result<(), SignatureProblem> {
        verify_signature(KEY, ID, TIMESTAMP, BODY, signatures, now)
    }

    #[test]
    fn example_of_the_specification_is_valid() {
        assert_eq!(verified(SIGNATURE, SENT_AT), Ok(()));
        let key = SigningKey::parse(KEY).expect("a valid key");
        assert_eq!(key.sign(ID, TIMESTAMP, BODY), SIGNATURE);
    }

    #[test]
    fn signature_equals_one_computed_elsewhere() {
        // The key is the bytes 0 to 31; the signature comes from Python's hmac.
        let key = SigningKey::parse("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        let signature =
            key.expect("a valid key").sign("delivery-1", "1760000000", br#"{"type":"report"}"#);
        assert_eq!(signature, "v1,AanohowyVDCn8HOmWhMQGXTY4/W1vw03+oIDUDv8+so=");
    }

    #[test]
    fn one_valid_signature_of_a_list_is_enough() {
        let list = format!("v1a,xyz v1,AAAA {SIGNATURE} v1,%%%");
        assert_eq!(verified(&list, SENT_AT), Ok(()));
        for list in ["", "v1,", "v1,AAAA", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="] {
            assert_eq!(verified(list, SENT_AT), Err(SignatureProblem::Mismatch), "{list}");
        }
    }

    #[test]
    fn changed_field_is_a_mismatch() {
        let mismatch = Err(SignatureProblem::Mismatch);
        let verify = |id, timestamp, body: &[u8]| {
            verify_signature(KEY, id, timestamp, body, SIGNATURE, SENT_AT)
        };
        assert_eq!(verify("msg_other", TIMESTAMP, BODY), mismatch);
        assert_eq!(verify(ID, "1614265331", BODY), mismatch);
        assert_eq!(verify(ID, TIMESTAMP, b"{\"test\":2432232314}"), mismatch);
        let other = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        assert_eq!(verify_signature(other, ID, TIMESTAMP, BODY, SIGNATURE, SENT_AT), mismatch);
    }

    #[test]
    fn tolerance_is_five_minutes_both_ways() {
        for (ms, expected) in [
            (300_000, Ok(())),
            (-300_000, Ok(())),
            (300_001, Err(SignatureProblem::Expired)),
            (-300_001, Err(SignatureProblem::Expired)),
        ] {
            assert_eq!(verified(SIGNATURE, SENT_AT.plus_ms(ms)), expected, "{ms}");
        }
    }

    #[test]
    fn invalid_headers_are_named() {
        let verify = |id, timestamp| verify_signature(KEY, id, timestamp, BODY, SIGNATURE, SENT_AT);
        assert_eq!(verify("", TIMESTAMP), Err(SignatureProblem::Id));
        assert_eq!(verify("msg.1", TIMESTAMP), Err(SignatureProblem::Id));
        for timestamp in ["", "+1614265330", "-1", "1614265330.5", "99999999999999999999"] {
            let problem = Err(SignatureProblem::Timestamp);
            assert_eq!(verify(ID, timestamp), problem, "{timestamp}");
        }
    }

    #[test]
    fn key_has_a_prefix_and_24_to_64_bytes() {
        let key = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        for (text, is_valid) in [
            (key(24), true),
            (key(64), true),
            (format!(" {}\n", key(32)), true),
            (key(23), false),
            (key(65), false),
            (key(32).replace("whsec_", ""), false),
            ("whsec_not base64".to_owned(), false),
        ] {
            assert_eq!(is_signing_key(&text), is_valid, "{text}");
        }
    }
}
