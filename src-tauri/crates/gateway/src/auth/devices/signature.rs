//! Signatures of devices: ECDSA with P-256 and SHA-256, the form that WebCrypto gives.
//!
//! Owns the signed text. It names the origin of the page, so a signature for another origin signs in nowhere else.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ParsedPublicKey};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// The text that a device signs.
pub(super) fn signed_text(origin: &str, device_id: &str, nonce: &str) -> String {
    format!("Rouse device sign-in\n{origin}\n{device_id}\n{nonce}")
}

/// Whether `text` is a point of P-256, uncompressed, in base64url.
pub(super) fn is_public_key(text: &str) -> bool {
    parse_key(text).is_some()
}

/// Whether `signature` is the signature of `text` with the private key of `public_key`.
pub(super) fn is_signed(text: &str, public_key: &str, signature: &str) -> bool {
    let key = parse_key(public_key);
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature);
    let (Some(key), Ok(signature)) = (key, signature) else { return false };
    key.verify_sig(text.as_bytes(), &signature).is_ok()
}

fn parse_key(text: &str) -> Option<ParsedPublicKey> {
    // silent-ok: any error means an invalid key.
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    let is_uncompressed = bytes.len() == 65 && bytes[0] == 4;
    if !is_uncompressed {
        return None;
    }
    // silent-ok: any error means an invalid key.
    ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes).ok()
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

    use super::*;

    #[test]
    fn signature_is_bound_to_origin_device_and_nonce() {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let key = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let text = signed_text("https://box.example.org", "d1", "n1");
        let signature = pair.sign(&SystemRandom::new(), text.as_bytes()).expect("a signature");
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref());
        assert!(is_public_key(&key));
        assert!(is_signed(&text, &key, &signature));
        for (origin, device, nonce) in [
            ("https://evil.example.org", "d1", "n1"),
            ("https://box.example.org", "d2", "n1"),
            ("https://box.example.org", "d1", "n2"),
        ] {
            let other = signed_text(origin, device, nonce);
            assert!(!is_signed(&other, &key, &signature), "{other}");
        }
        let other = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let other = BASE64_URL_SAFE_NO_PAD.encode(other.public_key().as_ref());
        assert!(!is_signed(&text, &other, &signature));
    }

    #[test]
    fn invalid_key_or_signature_is_refused() {
        let off_curve = BASE64_URL_SAFE_NO_PAD.encode([4_u8; 65]);
        let compressed = BASE64_URL_SAFE_NO_PAD.encode([2_u8; 33]);
        for key in ["", "a b", "AAAA", &off_curve, &compressed] {
            assert!(!is_public_key(key), "{key}");
            assert!(!is_signed("text", key, ""), "{key}");
        }
    }
}
