//! Signing keys of webhooks: secrets that no call can receive, only used to check signatures.
//!
//! Owns the binding of a secret to receivers or to signatures, and the check of a signed message. Never returns a value.
//! Pitfall: the key for unknown names is public, so a signature with this key proves nothing.

use rouse_agent::{Secret, SecretError, SecretValue};
use rouse_channels::{SignatureProblem, verify_signature};
use rouse_core::extension::ExtensionName;
use rouse_gateway::wire::SecretSetParams;
use rouse_gateway::{RpcError, SignatureError, SignedMessage};

use super::file::SecretEntry;

/// The key that takes the place of a missing key, so that a check takes the same time.
pub(super) const PLACEHOLDER_KEY: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// The use of a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    /// Calls to at least one host or MCP server.
    Receivers,
    /// Checks of signatures only.
    Signatures,
}

impl Binding {
    /// The use of a stored secret.
    pub(super) const fn of(entry: &SecretEntry) -> Self {
        let is_bound = !entry.hosts.is_empty() || !entry.servers.is_empty();
        if is_bound { Self::Receivers } else { Self::Signatures }
    }

    /// The use after a change: a signing key may get another value without a receiver.
    pub(super) fn or_present(self, entry: &SecretEntry) -> Self {
        if Self::of(entry) == Self::Signatures { Self::Signatures } else { self }
    }

    /// The secret with these receivers.
    ///
    /// # Errors
    /// The name or a host is invalid, or a secret for receivers has none.
    pub(super) fn bind(
        self,
        name: &str,
        value: &SecretValue,
        hosts: &[String],
        servers: &[ExtensionName],
    ) -> Result<Secret, RpcError> {
        let has_receiver = !hosts.is_empty() || !servers.is_empty();
        if self == Self::Signatures && !has_receiver {
            return Ok(Secret::redacted_only(name, value.clone()));
        }
        Secret::bound(name, value.clone(), hosts, servers.to_vec()).map_err(invalid_secret)
    }
}

/// The parameters that store a signing key under a valid name, in place of a present secret.
pub(super) fn signing_key_params(name: &str, key: String) -> SecretSetParams {
    let (hosts, servers) = (Some(Vec::new()), Some(Vec::new()));
    SecretSetParams { name: name.to_owned(), value: key, hosts, servers }
}

/// Checks a signed message with the stored key. A missing key is a mismatch, found in the same time.
pub(super) fn verify_message(
    stored: Option<&SecretValue>,
    message: &SignedMessage,
) -> Result<(), SignatureError> {
    let key = stored.map_or(PLACEHOLDER_KEY, SecretValue::expose);
    let SignedMessage { id, timestamp, signatures, body, received_at } = message;
    match verify_signature(key, id, timestamp, body, signatures, *received_at) {
        Ok(()) if stored.is_some() => Ok(()),
        Ok(()) | Err(SignatureProblem::Mismatch) => Err(SignatureError::Mismatch),
        Err(problem @ SignatureProblem::Key) => {
            Err(SignatureError::KeyUnavailable(problem.to_string()))
        }
        Err(problem) => Err(SignatureError::Header(problem.to_string())),
    }
}

/// The error of an invalid secret, at its field.
pub(super) fn invalid_secret(error: SecretError) -> RpcError {
    let field = match error {
        SecretError::Name(_) => "name",
        SecretError::Short | SecretError::Long | SecretError::Control => "value",
        SecretError::NoHost | SecretError::Host(_) => "hosts",
    };
    RpcError::field(field, &error.to_string())
}
