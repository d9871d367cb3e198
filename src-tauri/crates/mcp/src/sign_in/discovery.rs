//! The discovery of a server's sign-in server (RFC 9728, RFC 8414, OpenID Connect).
//!
//! Owns the checks beyond those of the library: published metadata only, and endpoints that encrypt. Never guesses an
//! endpoint. Pitfall: metadata of an earlier discovery; a sign-in server may move, so each flow discovers anew.

use std::sync::Arc;

use rmcp::transport::auth::{AuthError, AuthorizationManager};
use rouse_core::http_exchange::HttpExchange;

use super::oauth_http::{OAuthExchange, is_secure_address};

/// A discovered sign-in server.
pub(super) struct DiscoveredSignIn {
    /// The library's state of one flow.
    pub(super) manager: AuthorizationManager,
    /// The issuer of its tokens; empty if it names none.
    pub(super) issuer: String,
    /// Whether it registers clients.
    pub(super) can_register: bool,
}

/// Discovers the sign-in server of the server at `url`. `challenge` is the server's last rejection.
pub(super) async fn discover(
    exchange: Arc<dyn HttpExchange>,
    url: &str,
    challenge: Option<&str>,
) -> Result<DiscoveredSignIn, AuthError> {
    let client = Arc::new(OAuthExchange::new(exchange));
    let mut manager = AuthorizationManager::new_with_oauth_http_client(url, client).await?;
    let resolution = manager.resolve_metadata_from_challenge(challenge).await?;
    if !resolution.source.is_discovered() {
        return Err(AuthError::NoAuthorizationSupport);
    }
    let metadata = resolution.metadata;
    let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    let open = endpoints
        .into_iter()
        .chain(&metadata.registration_endpoint)
        .find(|endpoint| !is_secure_address(endpoint));
    if let Some(open) = open {
        let message = format!("the endpoint {open} does not begin with https://");
        return Err(AuthError::MetadataError(message));
    }
    let issuer = metadata.issuer.clone().unwrap_or_default();
    let can_register = metadata.registration_endpoint.is_some();
    manager.set_metadata(metadata);
    Ok(DiscoveredSignIn { manager, issuer, can_register })
}
