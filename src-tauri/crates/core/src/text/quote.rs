//! The quoted message of a provider or a hook behind Rouse's own message.
//!
//! Owns the mark between the two. A quoted message may repeat the prompt, so the quote is for the person and never for
//! the log.
//! Pitfall: a mark per source; the caller that logs does not know the source.

/// Separates Rouse's message from the quoted message.
pub const QUOTE_MARK: &str = " It said: ";

/// `message` without the quoted part.
#[must_use]
pub fn strip_quote(message: &str) -> &str {
    message.split(QUOTE_MARK).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_message_is_stripped() {
        let failed =
            format!("mine does not accept the request (HTTP 400).{QUOTE_MARK}the whole diary.");
        assert_eq!(strip_quote(&failed), "mine does not accept the request (HTTP 400).");
        assert_eq!(strip_quote("it failed"), "it failed");
    }
}
