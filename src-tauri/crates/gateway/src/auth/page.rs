//! What a signed-in page shows beside its cookie.
//!
//! A cookie goes to every port of its host (RFC 6265, section 8.5), so whoever listens at another port of this computer, or
//! at Rouse's own while it does not run, gets to see one. What a page keeps in its storage goes to no port but its own, and
//! this half of the sign-in is never sent: a page hashes it together with the port that it came from and with the life of the
//! engine, and what it shows is worth nothing at another port or to another life. One could get this wrong by a proof that
//! outlives the engine: who has listened at its port would show it to the next.

use crate::webhook_secret::hash_of;

/// The half of `session` that its page keeps, which only who knows the token can tell.
pub(super) fn key(token: &str, session: &str) -> String {
    hash_of(&format!("Rouse's page\n{token}\n{session}"))
}

/// What the page with this `key` shows at `port` to the engine of this `life`.
#[must_use]
pub fn page_proof(port: u16, life: &str, key: &str) -> String {
    hash_of(&format!("Rouse's page at {port}\n{life}\n{key}"))
}
