//! The tokens of one answer of a sign-in server.
//!
//! Owns the conversion between the library's answer and the record. Pitfall: an answer without a scope grants what was
//! requested.

use rmcp::transport::auth::OAuthTokenResponse;
use rouse_core::UnixMs;
use rouse_core::extension::SignInRecord;
use serde::Deserialize;
use serde_json::json;

/// The tokens of an answer.
#[derive(Deserialize)]
pub(super) struct IssuedTokens {
    pub(super) access_token: String,
    token_type: String,
    pub(super) refresh_token: Option<String>,
    /// Seconds.
    expires_in: Option<u64>,
    scope: Option<String>,
}

impl IssuedTokens {
    /// Reads an answer.
    ///
    /// # Errors
    /// The tokens are of an unknown kind, as a sentence.
    pub(super) fn read(answer: &OAuthTokenResponse) -> Result<Self, String> {
        let value = serde_json::to_value(answer).expect("BUG: an answer is JSON");
        let issued: Self = serde_json::from_value(value).expect("BUG: an answer has tokens");
        if issued.token_type.eq_ignore_ascii_case("bearer") {
            Ok(issued)
        } else {
            Err("The sign-in server issued tokens of a kind that Rouse does not know.".to_owned())
        }
    }

    /// The end of the access token.
    pub(super) fn expires_at(&self, now: UnixMs) -> Option<UnixMs> {
        let seconds = i64::try_from(self.expires_in?).unwrap_or(i64::MAX);
        Some(now.plus_ms(seconds.saturating_mul(1_000)))
    }

    /// The granted scopes of a request for `requested`.
    pub(super) fn scopes(&self, requested: &[String]) -> Vec<String> {
        match &self.scope {
            Some(scope) => scope.split_whitespace().map(str::to_owned).collect(),
            None => requested.to_vec(),
        }
    }
}

/// The tokens of a record as an answer of its sign-in server.
pub(super) fn as_answer(record: &SignInRecord) -> OAuthTokenResponse {
    let answer = json!({
        "access_token": record.access_token,
        "token_type": "bearer",
        "refresh_token": record.refresh_token,
    });
    serde_json::from_value(answer).expect("BUG: a record has tokens")
}
