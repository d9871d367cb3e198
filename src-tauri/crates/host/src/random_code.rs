//! Random texts for links and buttons.

use aws_lc_rs::rand;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// 128 random bits in base64url: 22 characters.
///
/// # Panics
/// If the operating system has no random bytes.
pub(crate) fn random_code() -> String {
    let mut bytes = [0_u8; 16];
    rand::fill(&mut bytes).expect("BUG: the operating system has no random bytes");
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
