//! What the buttons of a notification mean.
//!
//! A button comes back from the desktop as a word, on a bus that every program of the session can write to. So the word
//! is random, known only to the server that shows the notification, and good for one press: then both of the question's
//! words mean nothing any more. One could get it wrong by writing the question's id into the button: ids are no secret.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rouse_core::ApprovalId;

/// The words behind the two buttons of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Buttons {
    pub(crate) allow: String,
    pub(crate) deny: String,
}

/// Questions that notifications can still answer, by the words of their buttons. Lost with the app: then a click on the
/// notification still leads to the question.
#[derive(Debug, Default)]
pub(crate) struct AnswerBook(Mutex<HashMap<String, (ApprovalId, bool)>>);

impl AnswerBook {
    /// New words for a question; the ones before mean nothing any more.
    pub(crate) fn issue(&self, approval: &ApprovalId) -> Buttons {
        let word = || uuid::Uuid::new_v4().simple().to_string();
        let buttons = Buttons { allow: word(), deny: word() };
        let mut words = self.words();
        words.retain(|_, (id, _)| id != approval);
        words.insert(buttons.allow.clone(), (approval.clone(), true));
        words.insert(buttons.deny.clone(), (approval.clone(), false));
        buttons
    }

    /// The question that a word answers, and whether with yes; once.
    pub(crate) fn take(&self, word: &str) -> Option<(ApprovalId, bool)> {
        let mut words = self.words();
        let (approval, yes) = words.get(word).cloned()?;
        words.retain(|_, (id, _)| *id != approval);
        Some((approval, yes))
    }

    fn words(&self) -> MutexGuard<'_, HashMap<String, (ApprovalId, bool)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_answers_once_and_takes_the_other_with_it() {
        let (book, id) = (AnswerBook::default(), ApprovalId::new("a"));
        let buttons = book.issue(&id);
        assert_eq!(book.take("allow"), None, "a guess");
        assert_eq!(book.take(id.as_str()), None, "the id is no word");
        assert_eq!(book.take(&buttons.deny), Some((id.clone(), false)));
        assert_eq!(book.take(&buttons.deny), None);
        assert_eq!(book.take(&buttons.allow), None);
    }

    #[test]
    fn a_question_that_is_shown_again_has_new_words() {
        let (book, id) = (AnswerBook::default(), ApprovalId::new("a"));
        let (first, second) = (book.issue(&id), book.issue(&id));
        assert_eq!(book.take(&first.allow), None);
        assert_eq!(book.take(&second.allow), Some((id, true)));
    }
}
