//! A hash that is stable over versions, machines and restarts, unlike the standard hasher.
//!
//! For jitter, ids and change detection; never for secrets.

/// FNV-1a, 64 bits.
#[must_use]
pub fn stable_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
