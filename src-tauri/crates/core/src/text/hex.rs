//! Hexadecimal digits of hashes.

/// Two lowercase digits per byte.
#[must_use]
pub fn hex_digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
