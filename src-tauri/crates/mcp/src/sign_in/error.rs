//! Why a sign-in or a refresh failed.
//!
//! Owns the sentences and the choice of the kind: only a definitive rejection needs the person; everything else may
//! pass. Pitfall: a server error that is taken for a rejection; the person would sign in again for nothing.

use rmcp::transport::auth::AuthError;
use rouse_core::extension::{ExtensionName, SignInRecord, SignInStoreError};
use rouse_core::http_exchange::HttpExchangeError;

use super::redaction::redact;

/// The most characters of a foreign text in an error.
const MAX_TEXT: usize = 300;

/// Why a sign-in or a refresh failed, as sentences with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct SignInError {
    /// The kind.
    pub kind: SignInErrorKind,
    /// Cause and remedy.
    pub text: String,
}

/// The kind of a failed sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInErrorKind {
    /// Only the person can help, by a sign-in.
    NeedsSignIn,
    /// A later attempt may succeed.
    Transient,
    /// The sign-in is not possible as things are.
    Refused,
}

impl SignInError {
    /// The person must sign in, because of `cause`.
    pub(super) fn needs_sign_in(server: &ExtensionName, cause: &str) -> Self {
        let text = format!("{cause} Sign in with `rouse mcp login {server}`.");
        Self { kind: SignInErrorKind::NeedsSignIn, text }
    }

    pub(super) fn transient(text: impl Into<String>) -> Self {
        Self { kind: SignInErrorKind::Transient, text: text.into() }
    }

    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self { kind: SignInErrorKind::Refused, text: text.into() }
    }
}

impl From<SignInStoreError> for SignInError {
    fn from(error: SignInStoreError) -> Self {
        Self::transient(error.to_string())
    }
}

/// The error of a step before the person is asked.
pub(super) fn discovery_error(server: &ExtensionName, error: &AuthError) -> SignInError {
    match error {
        AuthError::DiscoveryRequestFailed { url, source } => {
            let cause = match source.downcast_ref::<HttpExchangeError>() {
                Some(HttpExchangeError::Refused(cause)) => {
                    return SignInError::refused(format!(
                        "The sign-in metadata of the server {server} was not read. {cause}"
                    ));
                }
                Some(cause) => cause.to_string(),
                None => format!("{}.", bounded(&source.to_string())),
            };
            SignInError::transient(format!(
                "The sign-in metadata of the server {server} was not read from {url}. {cause} Try again later."
            ))
        }
        AuthError::RegistrationFailed(cause) => SignInError::refused(format!(
            "The sign-in server of {server} did not register Rouse: {}. {}",
            bounded(cause),
            client_id_remedy(server)
        )),
        AuthError::NoAuthorizationSupport => SignInError::refused(format!(
            "The server {server} publishes no sign-in. If it needs a key, add the key as a header: `rouse mcp add {server} --url … --header 'Authorization: Bearer {{{{secret:NAME}}}}'`."
        )),
        error => SignInError::refused(format!(
            "The sign-in of the server {server} is not possible: {}.",
            bounded(&error.to_string())
        )),
    }
}

/// What a person does when the sign-in server registers no clients.
pub(super) fn client_id_remedy(server: &ExtensionName) -> String {
    format!(
        "Register Rouse there by hand, then enter the client id: `rouse mcp add {server} --url … --client-id ID`."
    )
}

/// The error of a refresh of `record`. Only a rejected refresh token needs the person.
pub(super) fn refresh_error(
    server: &ExtensionName,
    record: &SignInRecord,
    error: &AuthError,
) -> SignInError {
    match error {
        AuthError::TokenRefreshRejected(_) => {
            SignInError::needs_sign_in(server, &format!("The sign-in of {server} has expired."))
        }
        AuthError::DiscoveryRequestFailed { .. } => {
            let SignInError { text, .. } = discovery_error(server, error);
            SignInError::transient(text)
        }
        error => {
            let secrets = [
                record.refresh_token.as_deref(),
                Some(record.access_token.as_str()),
                record.client_secret.as_deref(),
            ];
            SignInError::transient(format!(
                "The sign-in of {server} was not refreshed: {}. Rouse tries again after a short pause; if this continues, sign in with `rouse mcp login {server}`.",
                bounded(&redact(&error.to_string(), &secrets))
            ))
        }
    }
}

/// The beginning of a foreign text on one line.
pub(super) fn bounded(text: &str) -> String {
    let line: String = text.chars().filter(|c| !c.is_control()).take(MAX_TEXT).collect();
    line.trim_end_matches('.').to_owned()
}
