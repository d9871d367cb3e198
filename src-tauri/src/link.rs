//! A `rouse://` link: a page to show, or the button of a notification that was pressed.
//!
//! Owns the one form in which both come back from outside, because on Windows a notification can only start Rouse with a
//! link. Anybody can hand over a link, a web page too; so a page is only ever shown, and a button is a word that was made
//! for one question and is good for one press. One could get it wrong by a link that names the question: ids are no secret.

use crate::place::Place;

/// The scheme of Rouse's links.
pub(crate) const SCHEME: &str = "rouse";

/// What stands before the word of a button.
const ANSWER: &str = "answer/";

/// More than any word of ours needs.
const LONGEST: usize = 64;

/// What a link asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// To see a page.
    Show(Place),
    /// To answer what the button behind this word answers.
    Press(String),
}

impl Link {
    /// Reads a link, such as `rouse://runs/1` or `rouse://answer/<word>`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(SCHEME)?.strip_prefix(':')?;
        match rest.trim_matches('/').strip_prefix(ANSWER) {
            Some(word) => is_word(word).then(|| Self::Press(word.to_owned())),
            None => Place::parse(text).map(Self::Show),
        }
    }
}

/// The link that shows `place`.
#[cfg(any(windows, test))]
pub(crate) fn of_place(place: &Place) -> String {
    format!("{SCHEME}:/{place}")
}

/// The link of the button behind `word`.
#[cfg(any(windows, test))]
pub(crate) fn of_button(word: &str) -> String {
    format!("{SCHEME}://{ANSWER}{word}")
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use rouse_core::{ApprovalId, JobId};

    use super::*;
    use crate::notifier::AnswerBook;

    #[test]
    fn the_link_of_every_page_leads_back_to_it() {
        for place in [Place::home(), Place::fixed("/settings"), Place::job(&JobId::new("a/ü"))] {
            assert_eq!(Link::parse(&of_place(&place)), Some(Link::Show(place)));
        }
    }

    #[test]
    fn the_link_of_a_button_brings_its_word_back_however_the_system_writes_it() {
        let buttons = AnswerBook::default().issue(&ApprovalId::new("a"));
        for word in [buttons.allow, buttons.deny] {
            let pressed = Some(Link::Press(word.clone()));
            assert_eq!(Link::parse(&of_button(&word)), pressed);
            assert_eq!(Link::parse(&format!("rouse:///answer/{word}/")), pressed);
        }
    }

    #[test]
    fn a_button_is_a_word_and_nothing_else() {
        let long = format!("rouse://answer/{}", "a".repeat(LONGEST + 1));
        for bad in [
            "rouse://answer/a/b",
            "rouse://answer/a?b",
            "rouse://answer/a%20b",
            "rouse://answer/../runs",
            "rouse://answer/ü",
            "rouseX://answer/a",
            "https://answer/a",
            &long,
        ] {
            assert_eq!(Link::parse(bad), None, "{bad}");
        }
        // Without a word it is an address like any other, which no page has.
        assert!(matches!(Link::parse("rouse://answer"), Some(Link::Show(_))));
    }
}
