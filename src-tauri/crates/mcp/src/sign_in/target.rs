//! The servers that a person can sign in at.
//!
//! Owns the reading of a definition: address, client, redirect address. Pitfall: a server with an `Authorization` header;
//! two proofs in one request would be sent.

use rouse_core::extension::{ExtensionBook, ExtensionName, OAuthClientSettings, ServerTransport};

use super::error::SignInError;

/// The header that takes the place of a sign-in.
const AUTHORIZATION: &str = "authorization";

/// A server that a person can sign in at.
pub(super) struct SignInTarget {
    pub(super) url: String,
    pub(super) settings: OAuthClientSettings,
}

/// The server of this name; an error if there is no sign-in.
pub(super) fn target(
    book: &dyn ExtensionBook,
    server: &ExtensionName,
) -> Result<SignInTarget, SignInError> {
    let refused = |cause: &str| Err(SignInError::refused(cause));
    let Some(extension) = book.get(server) else {
        return refused(&format!("There is no extension {server}."));
    };
    match extension.server.transport {
        ServerTransport::Stdio { .. } => refused(&format!(
            "{server} runs on this computer and has no sign-in. Give it a key with `rouse mcp add {server} --env`."
        )),
        ServerTransport::Wasm { .. } => {
            refused(&format!("{server} is a tool in Rouse's own sandbox and has no sign-in."))
        }
        ServerTransport::Http { headers, .. } if has_authorization(headers.keys()) => {
            refused(&format!(
                "{server} has an Authorization header, so it needs no sign-in. To sign in, install it without the header."
            ))
        }
        ServerTransport::Http { url, oauth, .. } => {
            Ok(SignInTarget { url, settings: oauth.unwrap_or_default() })
        }
    }
}

/// Whether a definition signs in by a header of its own.
pub(crate) fn has_authorization<'h>(mut names: impl Iterator<Item = &'h String>) -> bool {
    names.any(|name| name.eq_ignore_ascii_case(AUTHORIZATION))
}

/// The redirect address; `port` is the port without one in the settings.
pub(super) fn redirect_uri(settings: &OAuthClientSettings, port: u16) -> String {
    let host = settings.redirect_host.as_deref().unwrap_or("127.0.0.1");
    let port = settings.redirect_port.unwrap_or(port);
    format!("http://{host}:{port}/oauth/callback")
}
