//! Sign-ins at MCP servers over HTTP (OAuth 2.1).
//!
//! Owns the client settings of a definition, the record of a sign-in, its state for people, and the port to the storage
//! of records. Never speaks to a server. Pitfall: a record or a callback in a log; both hold secrets, so neither prints
//! its content.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantNames};
use ts_rs::TS;

use super::name::ExtensionName;
use crate::UnixMs;
use crate::future::BoxFuture;

/// The OAuth client of a server's definition. Without a client id, Rouse registers itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[ts(optional_fields)]
pub struct OAuthClientSettings {
    /// The id of a client that is registered at the sign-in server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The handle of the client's secret: `{{secret:NAME}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The requested scopes [default: those that the server names].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// The host of the redirect address, `127.0.0.1` or `localhost` [default: 127.0.0.1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_host: Option<String>,
    /// The port of the redirect address [default: the port of Rouse].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub redirect_port: Option<u16>,
}

/// A sign-in at a server: the client, the tokens and their scopes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInRecord {
    /// The endpoint that the tokens are for.
    pub server_url: String,
    /// The issuer of the tokens; empty if the sign-in server names none.
    pub issuer: String,
    /// The id of the client.
    pub client_id: String,
    /// The secret of a client that Rouse registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The redirect address of the client.
    pub redirect_uri: String,
    /// The access token.
    pub access_token: String,
    /// The refresh token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// The end of the access token; none if the sign-in server names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<UnixMs>,
    /// The granted scopes.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Scopes that the server asked for since the sign-in; the next sign-in requests them.
    #[serde(default)]
    pub missing_scopes: Vec<String>,
    /// Whether the tokens were rejected for good. Rejected tokens are never sent again.
    #[serde(default)]
    pub is_rejected: bool,
    /// When the person signed in.
    pub signed_in_at_ms: UnixMs,
    /// When the access token was issued.
    pub refreshed_at_ms: UnixMs,
}

impl fmt::Debug for SignInRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SignInRecord")
            .field("server_url", &self.server_url)
            .field("issuer", &self.issuer)
            .field("is_rejected", &self.is_rejected)
            .finish_non_exhaustive()
    }
}

/// The answer of a sign-in server, as parameters of the redirect address.
#[derive(Clone, PartialEq, Eq, Default, Deserialize)]
pub struct SignInCallback {
    /// The proof that the answer belongs to a sign-in of Rouse.
    #[serde(default)]
    pub state: String,
    /// The authorization code.
    pub code: Option<String>,
    /// The issuer (RFC 9207).
    pub iss: Option<String>,
    /// The code of a refusal.
    pub error: Option<String>,
}

impl fmt::Debug for SignInCallback {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SignInCallback").finish_non_exhaustive()
    }
}

/// How a callback ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInEnd {
    /// The person is signed in.
    SignedIn,
    /// The sign-in failed; the status has the reason.
    Failed,
    /// No sign-in waits for this state: the state is wrong, used or expired.
    UnknownState,
}

/// The state of a sign-in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum SignInState {
    /// Nobody signed in.
    SignedOut,
    /// A sign-in waits for the browser.
    Pending,
    /// Signed in.
    SignedIn,
    /// The sign-in has expired or does not cover what the server asks for.
    NeedsSignIn,
}

/// The state of a sign-in with its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct SignInStatus {
    /// The state.
    pub state: SignInState,
    /// Why the last sign-in failed or a new one is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the person signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_in_at_ms: Option<UnixMs>,
    /// When the access token was last refreshed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refreshed_at_ms: Option<UnixMs>,
}

/// Why a sign-in is not available: cause and remedy as sentences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SignInStoreError(pub String);

/// The storage of sign-ins: one record for each server. Never prompts while the person is away.
pub trait SignInStore: Send + Sync {
    /// The record of a server.
    fn load<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<Option<SignInRecord>, SignInStoreError>>;
    /// Stores a record. A record that cannot be written stays in memory beside the error: the tokens before it may be
    /// spent.
    fn save<'a>(
        &'a self,
        server: &'a ExtensionName,
        record: SignInRecord,
    ) -> BoxFuture<'a, Result<(), SignInStoreError>>;
    /// Deletes the record of a server. False if there is none.
    fn remove<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<bool, SignInStoreError>>;
}
