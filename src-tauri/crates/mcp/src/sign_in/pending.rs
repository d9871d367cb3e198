//! A sign-in that waits for the browser: from the link to the tokens.
//!
//! Owns the choice of the client (the entered one, else a registered one) and the state of the link. The state has more
//! than 256 random bits and is the only proof of the callback. Never keeps a code. Pitfall: the library's own state has
//! 128 bits; the link carries it with random text behind it.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{AuthorizationManager, OAuthClientConfig};
use rouse_core::UnixMs;
use rouse_core::extension::{ExtensionName, OAuthClientSettings, SignInCallback, SignInRecord};
use rouse_core::http_exchange::HttpExchange;
use uuid::Uuid;

use super::discovery::{DiscoveredSignIn, discover};
use super::error::{SignInError, bounded, client_id_remedy, discovery_error};
use super::issued_tokens::IssuedTokens;
use super::oauth_http::is_secure_address;
use super::redaction::redact;

/// The name that a person reads at the sign-in server.
const CLIENT_NAME: &str = "Rouse";

/// What a sign-in needs.
pub(super) struct SignInRequest {
    pub(super) exchange: Arc<dyn HttpExchange>,
    pub(super) server: ExtensionName,
    pub(super) server_url: String,
    /// The server's last rejection.
    pub(super) challenge: Option<String>,
    pub(super) settings: OAuthClientSettings,
    /// The secret of an entered client.
    pub(super) client_secret: Option<String>,
    pub(super) redirect_uri: String,
    /// Scopes beside the usual ones.
    pub(super) more_scopes: Vec<String>,
    /// The monotonic time.
    pub(super) started_at: Duration,
}

/// A sign-in that waits for the browser.
pub(super) struct PendingSignIn {
    pub(super) server: ExtensionName,
    /// The address that a person opens.
    pub(super) link: String,
    pub(super) state: String,
    /// The monotonic time.
    pub(super) started_at: Duration,
    manager: AuthorizationManager,
    /// The library's part of the state.
    library_state: String,
    server_url: String,
    issuer: String,
    client: OAuthClientConfig,
    scopes: Vec<String>,
}

impl PendingSignIn {
    /// Discovers the sign-in server, registers a client if none was entered, and makes the link.
    pub(super) async fn begin(request: SignInRequest) -> Result<Self, SignInError> {
        let SignInRequest { exchange, server, server_url, settings, redirect_uri, .. } = request;
        let refused = |error| discovery_error(&server, &error);
        let challenge = request.challenge.as_deref();
        let discovered = discover(exchange, &server_url, challenge).await.map_err(refused)?;
        let DiscoveredSignIn { mut manager, issuer, can_register } = discovered;
        let scopes = select_scopes(&manager, settings.scopes, request.more_scopes).await;
        let requested: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = match settings.client_id {
            Some(id) => {
                let client = client_config(&id, &redirect_uri, request.client_secret);
                manager.configure_client(client.clone()).map_err(refused)?;
                client
            }
            None if can_register => {
                let registered =
                    manager.register_client(CLIENT_NAME, &redirect_uri, &requested).await;
                registered.map_err(refused)?
            }
            None => {
                let remedy = client_id_remedy(&server);
                return Err(SignInError::refused(format!(
                    "The sign-in server of {server} registers no clients. {remedy}"
                )));
            }
        };
        let link = manager.get_authorization_url(&requested).await.map_err(refused)?;
        let library_state = state_of(&link).expect("BUG: the link has a state").to_owned();
        let state =
            format!("{library_state}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let link = link.replace(&format!("state={library_state}"), &format!("state={state}"));
        if !is_secure_address(&link) {
            return Err(SignInError::refused(format!(
                "The sign-in address of {server} does not begin with https://, so Rouse does not open it."
            )));
        }
        let started_at = request.started_at;
        Ok(Self {
            server,
            link,
            state,
            started_at,
            manager,
            library_state,
            server_url,
            issuer,
            client,
            scopes,
        })
    }

    /// Exchanges the code of the callback for tokens.
    pub(super) async fn complete(
        self,
        callback: SignInCallback,
        now: UnixMs,
    ) -> Result<SignInRecord, SignInError> {
        let server = &self.server;
        let failed = |cause: &str| {
            SignInError::refused(format!(
                "The sign-in of {server} failed: {cause}. Start it again with `rouse mcp login {server}`."
            ))
        };
        if let Some(error) = callback.error {
            return Err(failed(&refusal(&error)));
        }
        let code = callback.code.ok_or_else(|| failed("the sign-in server sent no code"))?;
        let issuer = callback.iss.as_deref();
        let exchange =
            self.manager.exchange_code_for_token_with_issuer(&code, &self.library_state, issuer);
        let secrets = [Some(code.as_str()), self.client.client_secret.as_deref()];
        let answer = exchange
            .await
            .map_err(|error| failed(&bounded(&redact(&error.to_string(), &secrets))))?;
        let issued = IssuedTokens::read(&answer).map_err(SignInError::refused)?;
        Ok(SignInRecord {
            server_url: self.server_url,
            issuer: self.issuer,
            client_id: self.client.client_id,
            client_secret: self.client.client_secret,
            redirect_uri: self.client.redirect_uri,
            expires_at_ms: issued.expires_at(now),
            scopes: issued.scopes(&self.scopes),
            access_token: issued.access_token,
            refresh_token: issued.refresh_token,
            missing_scopes: Vec::new(),
            is_rejected: false,
            signed_in_at_ms: now,
            refreshed_at_ms: now,
        })
    }
}

/// The configuration of a known client.
pub(super) fn client_config(
    id: &str,
    redirect_uri: &str,
    secret: Option<String>,
) -> OAuthClientConfig {
    let client = OAuthClientConfig::new(id, redirect_uri);
    match secret {
        Some(secret) => client.with_client_secret(secret),
        None => client,
    }
}

/// The chosen scopes, else those that the server names, and `more`.
async fn select_scopes(
    manager: &AuthorizationManager,
    chosen: Option<Vec<String>>,
    more: Vec<String>,
) -> Vec<String> {
    let mut scopes = match chosen {
        Some(chosen) => chosen,
        None => manager.select_initial_scopes(&[]).await,
    };
    for scope in more {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes
}

/// The state in a link. The library's parameters follow those of the endpoint.
fn state_of(link: &str) -> Option<&str> {
    link.rsplit(['?', '&']).find_map(|parameter| parameter.strip_prefix("state="))
}

/// The refusal of a sign-in server. Its code is shown if it is a plain word.
fn refusal(error: &str) -> String {
    let is_plain = error.len() <= 40 && error.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    match error {
        "access_denied" => "the access was denied".to_owned(),
        error if is_plain => format!("the sign-in server answered {error}"),
        _ => "the sign-in server answered with an error".to_owned(),
    }
}
