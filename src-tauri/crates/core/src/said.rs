//! What somebody else says of a failure, behind what Rouse says of it.
//!
//! A provider or a hook may repeat what it was told, so its words are for the person and not for the log. One could get it
//! wrong by a mark of one's own for each of them: whoever logs a failure has not made it.

/// What stands before the words of somebody else.
pub const SAID: &str = " It said: ";

/// `words` without those of somebody else, and without what follows them.
#[must_use]
pub fn own_words(words: &str) -> &str {
    words.split(SAID).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_somebody_else_are_left_out() {
        let failed = format!("mine does not accept the request (HTTP 400).{SAID}the whole diary.");
        assert_eq!(own_words(&failed), "mine does not accept the request (HTTP 400).");
        assert_eq!(own_words("it fell over"), "it fell over");
    }
}
