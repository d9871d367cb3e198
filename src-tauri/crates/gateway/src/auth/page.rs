//! The page proof, which a signed-in page sends beside its cookie.
//!
//! A browser sends a cookie to every port of its host (RFC 6265, section 8.5), so a listener at another port, or at Rouse's port
//! while Rouse is stopped, can see the cookie. A page therefore also stores a key, which is never sent: the page sends a hash of
//! the key, its origin and the id of this start of the engine. A hash for another origin (another port, another name) or
//! another start is invalid.
//! Pitfall: a proof that survives a restart; a listener at the port could replay it.

use rouse_core::text::sha256_hex;

/// The page key of `session`, derived from the token.
pub(super) fn page_key(token: &str, session: &str) -> String {
    sha256_hex(&format!("Rouse's page\n{token}\n{session}"))
}

/// The proof of a page with `key` at `origin` for the engine with `start_id`.
#[must_use]
pub fn page_proof(origin: &str, start_id: &str, key: &str) -> String {
    sha256_hex(&format!("Rouse's page at {origin}\n{start_id}\n{key}"))
}
