//! The refresh of an access token.
//!
//! Owns the check of the issuer: a refresh token goes only to the sign-in server that issued it. The caller holds the
//! lock of the server. Never deletes a record. Pitfall: an answer without a refresh token; the old one stays valid.

use std::sync::Arc;

use rmcp::transport::auth::{CredentialStore as _, InMemoryCredentialStore, StoredCredentials};
use rouse_core::UnixMs;
use rouse_core::extension::{ExtensionName, SignInRecord};
use rouse_core::http_exchange::HttpExchange;

use super::discovery::{DiscoveredSignIn, discover};
use super::error::{SignInError, refresh_error};
use super::issued_tokens::{IssuedTokens, as_answer};
use super::pending::client_config;

/// Spends the refresh token of `record`. Returns the record with the new tokens.
pub(super) async fn refresh(
    exchange: Arc<dyn HttpExchange>,
    server: &ExtensionName,
    record: &SignInRecord,
    client_secret: Option<String>,
    now: UnixMs,
) -> Result<SignInRecord, SignInError> {
    let failed = |error| refresh_error(server, record, &error);
    let discovered = discover(exchange, &record.server_url, None).await.map_err(failed)?;
    let DiscoveredSignIn { mut manager, issuer, .. } = discovered;
    if issuer != record.issuer {
        let cause = format!("The server {server} has another sign-in server than before.");
        return Err(SignInError::needs_sign_in(server, &cause));
    }
    let client = client_config(&record.client_id, &record.redirect_uri, client_secret);
    manager.configure_client(client).map_err(failed)?;
    let credentials = StoredCredentials::new(
        record.client_id.clone(),
        Some(as_answer(record)),
        record.scopes.clone(),
        None,
    );
    let store = InMemoryCredentialStore::new();
    store.save(credentials.with_issuer(Some(issuer))).await.map_err(failed)?;
    manager.set_credential_store(store);
    let answer = manager.refresh_token().await.map_err(failed)?;
    let issued = IssuedTokens::read(&answer).map_err(SignInError::transient)?;
    Ok(SignInRecord {
        expires_at_ms: issued.expires_at(now),
        access_token: issued.access_token,
        refresh_token: issued.refresh_token,
        refreshed_at_ms: now,
        ..record.clone()
    })
}
