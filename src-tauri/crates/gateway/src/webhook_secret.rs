//! Webhook secrets: created here, shown once, stored as a hash.
//!
//! A secret has 256 bits, so a plain hash resists guessing. The comparison takes constant time, also for a job without a
//! webhook.

use rouse_store::WebhookSecret;

use rouse_core::text::sha256_hex;

use crate::crypto::constant_time_eq;

/// Creates a secret.
pub(crate) fn create_secret() -> String {
    let random: String = (0..3).map(|_| uuid::Uuid::new_v4().simple().to_string()).collect();
    sha256_hex(&random)
}

/// Whether `secret` matches the hash of the job's webhook; false for a job without a webhook.
pub(crate) fn matches_secret(secret: &str, stored: Option<&WebhookSecret>) -> bool {
    let dummy_hash = "0".repeat(64);
    let hash = stored.map_or(dummy_hash.as_str(), |stored| stored.hash.as_str());
    constant_time_eq(sha256_hex(secret).as_bytes(), hash.as_bytes()) & stored.is_some()
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;

    use super::*;

    #[test]
    fn only_the_secret_matches_its_hash() {
        let secret = create_secret();
        assert_eq!((secret.len(), secret == create_secret()), (64, false));
        let stored = WebhookSecret { hash: sha256_hex(&secret), made_at: UnixMs(0) };
        assert!(matches_secret(&secret, Some(&stored)));
        for wrong in ["", "x", &secret[1..], &stored.hash, &secret.to_uppercase()] {
            assert!(!matches_secret(wrong, Some(&stored)) || wrong == secret, "{wrong}");
        }
        assert!(!matches_secret(&secret, None) && !matches_secret("", None));
    }
}
