//! The redaction of tokens and other secrets of a sign-in in foreign texts.
//!
//! Owns the text in place of a secret. Never redacts a short text, which may occur by chance. Pitfall: an error of a
//! sign-in server that repeats the token of the request.

/// The text in place of a secret. Valid inside JSON.
pub(crate) const REDACTED: &str = "[redacted: sign-in token]";

/// The fewest bytes of a secret that is redacted.
pub(crate) const MIN_REDACTED_BYTES: usize = 8;

/// The text without `secrets`.
pub(super) fn redact(text: &str, secrets: &[Option<&str>]) -> String {
    let known = secrets.iter().flatten().filter(|secret| secret.len() >= MIN_REDACTED_BYTES);
    known.fold(text.to_owned(), |text, secret| text.replace(*secret, REDACTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_in_a_text_is_redacted() {
        let secrets = [Some("refresh-1"), None, Some("a")];
        let text = redact("a token refresh-1 is unknown", &secrets);
        assert_eq!(text, "a token [redacted: sign-in token] is unknown");
    }
}
