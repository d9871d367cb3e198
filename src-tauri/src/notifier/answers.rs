//! What the buttons of a notification mean.
//!
//! A button comes back from the desktop as a word: on a bus that every program of the session can write to, or in a link
//! that every program can open. So the word is random, known only to the system that shows the notification, and good for
//! one press: then both of the question's words do nothing any more. A word that is not known at all, such as one of a
//! notification that an earlier life of the app has left behind, leads to the questions and answers none. One could get
//! it wrong by writing the question's id into the button: ids are no secret.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rouse_core::ApprovalId;

/// The words behind the two buttons of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Buttons {
    pub(crate) allow: String,
    pub(crate) deny: String,
}

/// Where a system wants fixed names for a question's two buttons.
#[cfg(any(target_os = "macos", test))]
pub(super) mod fixed {
    pub(in crate::notifier) const ALLOW: &str = "allow";
    pub(in crate::notifier) const DENY: &str = "deny";
}

#[cfg(any(target_os = "macos", test))]
impl Buttons {
    /// The word behind the button of this fixed name.
    pub(super) fn word_of(self, name: &str) -> Option<String> {
        match name {
            fixed::ALLOW => Some(self.allow),
            fixed::DENY => Some(self.deny),
            _ => None,
        }
    }
}

/// What a word means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// This question is answered, with yes or with no.
    Answers(ApprovalId, bool),
    /// Its question was answered by one of its words before: nothing is done.
    Used,
    /// Nobody knows it here.
    Unknown,
}

/// Used words remembered; a desktop tells one press twice within moments.
const MOST_USED: usize = 64;

/// Questions that notifications can still answer, by the words of their buttons. Lost with the app: then a click on the
/// notification still leads to the question.
#[derive(Debug, Default)]
pub(crate) struct AnswerBook(Mutex<Words>);

#[derive(Debug, Default)]
struct Words {
    open: HashMap<String, (ApprovalId, bool)>,
    used: VecDeque<String>,
}

impl AnswerBook {
    /// New words for a question; the ones before mean nothing any more.
    pub(crate) fn issue(&self, approval: &ApprovalId) -> Buttons {
        let word = || uuid::Uuid::new_v4().simple().to_string();
        let buttons = Buttons { allow: word(), deny: word() };
        let open = &mut self.words().open;
        open.retain(|_, (id, _)| id != approval);
        open.insert(buttons.allow.clone(), (approval.clone(), true));
        open.insert(buttons.deny.clone(), (approval.clone(), false));
        buttons
    }

    /// What a word means, once.
    pub(crate) fn take(&self, word: &str) -> Meaning {
        let mut words = self.words();
        let Some((approval, yes)) = words.open.get(word).cloned() else {
            let was_used = words.used.iter().any(|used| used == word);
            return if was_used { Meaning::Used } else { Meaning::Unknown };
        };
        let spent: Vec<String> =
            words.open.extract_if(|_, (id, _)| *id == approval).map(|(word, _)| word).collect();
        words.used.extend(spent);
        let too_many = words.used.len().saturating_sub(MOST_USED);
        words.used.drain(..too_many);
        Meaning::Answers(approval, yes)
    }

    fn words(&self) -> MutexGuard<'_, Words> {
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
        assert_eq!(book.take("allow"), Meaning::Unknown, "a guess");
        assert_eq!(book.take(id.as_str()), Meaning::Unknown, "the id is no word");
        assert_eq!(book.take(&buttons.deny), Meaning::Answers(id, false));
        assert_eq!(book.take(&buttons.deny), Meaning::Used);
        assert_eq!(book.take(&buttons.allow), Meaning::Used, "a no is not followed by a yes");
    }

    #[test]
    fn a_question_that_is_shown_again_has_new_words() {
        let (book, id) = (AnswerBook::default(), ApprovalId::new("a"));
        let (first, second) = (book.issue(&id), book.issue(&id));
        assert_eq!(book.take(&first.allow), Meaning::Unknown);
        assert_eq!(book.take(&second.allow), Meaning::Answers(id, true));
    }

    #[test]
    fn an_app_that_was_started_again_answers_nothing_by_old_words() {
        let id = ApprovalId::new("a");
        let old = AnswerBook::default().issue(&id);
        assert_eq!(AnswerBook::default().take(&old.allow), Meaning::Unknown);
    }

    #[test]
    fn used_words_are_remembered_only_for_a_while() {
        let book = AnswerBook::default();
        for number in 0..1_000 {
            let id = ApprovalId::new(number.to_string());
            let word = book.issue(&id).allow;
            assert_eq!(book.take(&word), Meaning::Answers(id, true));
        }
        assert_eq!(book.words().used.len(), MOST_USED);
        assert!(book.words().open.is_empty());
    }

    #[test]
    fn the_fixed_names_lead_to_the_words_of_this_one_question() {
        let book = AnswerBook::default();
        let buttons = book.issue(&ApprovalId::new("a"));
        assert_eq!(buttons.clone().word_of(fixed::ALLOW), Some(buttons.allow.clone()));
        assert_eq!(buttons.clone().word_of(fixed::DENY), Some(buttons.deny.clone()));
        assert_eq!(buttons.word_of("com.apple.UNNotificationDismissActionIdentifier"), None);
    }
}
