//! Random secrets, their hashes and constant-time comparison.

use rouse_core::text::hex_digits;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// 244 random bits of the operating system, as hexadecimal text.
pub(crate) fn random_secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// SHA-256 as lowercase hexadecimal text.
pub(crate) fn sha256_hex(text: &str) -> String {
    hex_digits(&Sha256::digest(text))
}

/// Equality in a time that depends on the lengths only.
pub(crate) fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0_u8, |bits, (x, y)| bits | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_hex(""), empty);
    }
}
