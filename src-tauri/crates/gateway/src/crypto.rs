//! Random secrets and constant-time comparison.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// 244 random bits of the operating system, as hexadecimal text.
pub(crate) fn random_secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// 128 random bits as 22 characters of base64url, for a link or a button.
pub fn random_code() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(&Sha256::digest(random_secret())[..16])
}

/// Equality in a time that depends on the lengths only.
pub(crate) fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0_u8, |bits, (x, y)| bits | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_22_characters_of_base64url_and_is_new() {
        let (first, second) = (random_code(), random_code());
        let is_base64url = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(first.len() == 22 && first.chars().all(is_base64url), "{first}");
        assert_ne!(first, second);
    }
}
