//! The tokens of one server, for its connection.
//!
//! Owns the reading of rejections. A connection asks for the token of each request, so a refresh is seen at once.
//! Pitfall: a 403 that has nothing to do with scopes; only `insufficient_scope` leads to a sign-in.

use rouse_core::extension::ExtensionName;

use super::error::SignInError;
use super::sign_ins::ServerSignIns;

/// The tokens of one server.
#[derive(Clone)]
pub(crate) struct ServerTokens {
    sign_ins: ServerSignIns,
    server: ExtensionName,
    url: String,
}

impl ServerTokens {
    /// The tokens for the server at `url`.
    pub(crate) fn new(sign_ins: ServerSignIns, server: ExtensionName, url: String) -> Self {
        Self { sign_ins, server, url }
    }

    /// The token of the next request; none if nobody is signed in.
    pub(crate) async fn token(&self) -> Result<Option<String>, SignInError> {
        self.sign_ins.access_token(&self.server, &self.url, None).await
    }

    /// Another token after the server rejected this one.
    pub(crate) async fn renew(&self, rejected: &str) -> Result<Option<String>, SignInError> {
        self.sign_ins.access_token(&self.server, &self.url, Some(rejected)).await
    }

    /// Remembers what the server asked for.
    pub(crate) async fn note_rejection(&self, status: u16, challenge: &str) {
        let lacks_scope = parameter(challenge, "error").as_deref() == Some("insufficient_scope");
        if status == 401 || lacks_scope {
            self.sign_ins.note_challenge(&self.server, challenge);
        }
        if status == 401 || !lacks_scope {
            return;
        }
        let scope = parameter(challenge, "scope").unwrap_or_default();
        let scopes: Vec<String> = scope.split_whitespace().map(str::to_owned).collect();
        let noted = self.sign_ins.note_missing_scopes(&self.server, &self.url, &scopes).await;
        if let Err(error) = noted {
            tracing::warn!(server = %self.server, %error, "missing scopes were not stored");
        }
    }
}

/// A parameter of a challenge.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    loop {
        let start = rest.find(&format!("{name}="))?;
        let is_whole = rest[..start].ends_with([' ', ',', '\t']);
        rest = &rest[start + name.len() + 1..];
        if is_whole {
            break;
        }
    }
    let value = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split([',', ' ']).next(),
    };
    value.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_of_a_challenge_is_a_whole_word() {
        let challenge = r#"Bearer realm="x", error_description="a, b", error="insufficient_scope", scope="a b""#;
        assert_eq!(parameter(challenge, "error").as_deref(), Some("insufficient_scope"));
        assert_eq!(parameter(challenge, "scope").as_deref(), Some("a b"));
        assert_eq!(parameter(challenge, "description"), None);
        assert_eq!(parameter("Bearer scope=a,error=b", "error").as_deref(), Some("b"));
        assert_eq!(parameter("HTTP 403", "scope"), None);
    }
}
