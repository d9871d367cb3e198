//! The quoted message of a provider or a hook behind Rouse's own message.
//!
//! Owns the mark between the two. A quoted message may repeat the prompt, so the quote is for the person and never for
//! the log.
//! Pitfall: a mark per source; the caller that logs does not know the source.

/// Separates Rouse's message from the quoted message.
pub const QUOTE_MARK: &str = " Message: ";
/// [`QUOTE_MARK`] as stored by older builds.
const OLD_QUOTE_MARK: &str = " It said: ";

/// `message` without the quoted part.
#[must_use]
pub fn strip_quote(message: &str) -> &str {
    let marks = [QUOTE_MARK, OLD_QUOTE_MARK];
    let start = marks.iter().filter_map(|mark| message.find(mark)).min();
    start.map_or(message, |start| &message[..start])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_message_is_stripped() {
        for mark in [QUOTE_MARK, OLD_QUOTE_MARK] {
            let failed =
                format!("mine does not accept the request (HTTP 400).{mark}the whole diary.");
            assert_eq!(strip_quote(&failed), "mine does not accept the request (HTTP 400).");
        }
        assert_eq!(strip_quote("it failed"), "it failed");
    }
}
