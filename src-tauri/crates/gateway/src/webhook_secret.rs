//! Secrets of webhooks: made here, shown once, kept as a hash.
//!
//! A secret is 256 random bits, so a plain hash is enough: there is nothing to guess. Comparing takes the same time
//! whatever was shown, and as long for a job that has no webhook as for one that has.

use rouse_store::WebhookSecret;
use sha2::{Digest as _, Sha256};

use crate::auth::same;

/// A new secret, as text.
pub(crate) fn new_secret() -> String {
    let random: String = (0..3).map(|_| uuid::Uuid::new_v4().simple().to_string()).collect();
    hash_of(&random)
}

/// What is kept of a secret.
pub(crate) fn hash_of(secret: &str) -> String {
    Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether `shown` is the secret; never when there is none.
pub(crate) fn is_secret(shown: &str, kept: Option<&WebhookSecret>) -> bool {
    let nobody_s = "0".repeat(64);
    let hash = kept.map_or(nobody_s.as_str(), |kept| kept.hash.as_str());
    same(hash_of(shown).as_bytes(), hash.as_bytes()) & kept.is_some()
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;

    use super::*;

    #[test]
    fn a_secret_is_known_by_its_hash_alone() {
        let secret = new_secret();
        assert_eq!((secret.len(), secret == new_secret()), (64, false));
        let kept = WebhookSecret { hash: hash_of(&secret), made_at: UnixMs(0) };
        assert!(is_secret(&secret, Some(&kept)));
        for wrong in ["", "x", &secret[1..], &kept.hash, &secret.to_uppercase()] {
            assert!(!is_secret(wrong, Some(&kept)) || wrong == secret, "{wrong}");
        }
        assert!(!is_secret(&secret, None) && !is_secret("", None));
    }

    #[test]
    fn the_hash_is_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash_of(""), empty);
    }
}
