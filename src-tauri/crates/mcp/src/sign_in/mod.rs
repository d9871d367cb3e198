//! Sign-ins at servers over HTTP (OAuth 2.1).
//!
//! Owns the flow of a sign-in from the link to the tokens, the refresh of tokens, and the memory of what a server asked
//! for. The protocol library does discovery, PKCE and the checks of the specification; all of its requests go through
//! guarded HTTP. Never opens a browser, never follows a redirect and never sends rejected tokens. Pitfall: two runs that
//! spend one refresh token; every refresh happens under the lock of its server, in a task that no caller cancels.

mod redaction;
mod error;
mod oauth_http;
mod discovery;
mod issued_tokens;
mod pending;
mod refresh;
mod memory;
mod memory_store;
mod target;
mod sign_ins;
mod server_tokens;

pub use error::{SignInError, SignInErrorKind};
pub(crate) use memory_store::MemorySignIns;
pub(crate) use redaction::{MIN_REDACTED_BYTES, REDACTED};
pub(crate) use server_tokens::ServerTokens;
pub use sign_ins::ServerSignIns;
pub(crate) use target::has_authorization;

#[cfg(test)]
pub(crate) mod doubles;
#[cfg(test)]
mod tests;
