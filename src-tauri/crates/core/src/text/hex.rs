//! Hexadecimal digits of hashes.

use sha2::{Digest as _, Sha256};

/// The SHA-256 of a text, in hexadecimal digits.
#[must_use]
pub fn sha256_hex(text: &str) -> String {
    hex_digits(&Sha256::digest(text))
}

/// Two lowercase digits per byte.
#[must_use]
pub fn hex_digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
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
