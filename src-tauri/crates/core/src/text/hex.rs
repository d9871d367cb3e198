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
