//! What a model says, while it says it.
//!
//! Owns what of the words so far may be shown: all but the end that could be the beginning of a stored secret, with the
//! secrets before it replaced. What was shown is not changed any more, so the end waits until more of it has come: a long word
//! or an odd one that is not over, letters and digits that a value begins with, and words that look like pieces of an encoding. An answer
//! that breaks off shows no more, one that has ended shows the rest. Where nothing is stored everything is shown at once.
//!
//! One could get it wrong by looking through each piece alone: providers cut where they like.

use std::sync::Arc;

use rouse_core::model::Delta;

use super::leak::{Finding, find_within, mark};
use super::{Known, SHORTEST, Safety};

/// Of an end of so many bytes the first half waits no longer, unless a value may have begun in it.
const LONGEST: usize = 16 << 10;
/// A word of so many bytes may be a piece of an encoding.
const LIKE_CODE: usize = 20;
/// A word of fewer bytes, all small letters but the first, is shown before it is over.
const PLAIN: usize = 8;
/// So many letters and digits tell something of a value that begins with them.
const TELLING: usize = 3;

/// The words of one answer on their way to whoever looks on.
pub(crate) struct Live {
    safety: Safety,
    known: Arc<Known>,
    /// What has come and may be a part of something that more would make of it.
    held: String,
    /// How many bytes of that were shown.
    shown: usize,
    /// Whether something was shown.
    is_begun: bool,
}

impl Live {
    /// Of an answer that begins.
    pub(crate) fn new(safety: &Safety) -> Self {
        let (safety, known) = (safety.clone(), safety.secrets().known());
        Self { safety, known, held: String::new(), shown: 0, is_begun: false }
    }

    /// Takes more of the answer; answers what may be shown now.
    pub(crate) fn take(&mut self, delta: Delta) -> Option<Delta> {
        match delta {
            Delta::Text(text) => self.words(text).map(Delta::Text),
            Delta::ToolCall(tool) => Some(Delta::ToolCall(self.safety.words(&tool))),
            Delta::Arguments(_) => Some(delta),
            // Nobody is shown it.
            Delta::Reasoning(_) => None,
        }
    }

    /// What is left of an answer that has come to its end.
    pub(crate) fn rest(self) -> Option<Delta> {
        let whole = self.safety.text_without_stored(&self.held).filter(|_| !self.is_begun);
        let found = find_within(&self.held, &self.known);
        let rest = whole.unwrap_or_else(|| self.between(self.held.len(), &found));
        (!rest.is_empty()).then_some(Delta::Text(rest))
    }

    fn words(&mut self, text: String) -> Option<String> {
        if self.known.is_empty() && !self.known.has_short() {
            return Some(text);
        }
        self.held.push_str(&text);
        let found = find_within(&self.held, &self.known);
        let settled = self.settled(&found);
        let upto = if self.is_plain_from(settled, &found) { self.held.len() } else { settled };
        let upto = upto.max(self.shown);
        let words = self.between(upto, &found);
        self.is_begun |= upto > 0;
        self.held.drain(..settled);
        self.shown = upto - settled;
        (!words.is_empty()).then_some(words)
    }

    /// What is held and was not shown, up to there.
    fn between(&self, upto: usize, found: &[Finding]) -> String {
        let (mut words, mut at) = (String::new(), self.shown);
        for finding in found.iter().filter(|finding| finding.at.end <= upto) {
            if finding.at.end > at {
                words.push_str(self.held.get(at..finding.at.start).unwrap_or_default());
                words.push_str(&mark(&finding.what));
                at = finding.at.end;
            }
        }
        words.push_str(&self.held[at..upto]);
        words
    }

    /// How many bytes of what is held are the beginning of nothing.
    fn settled(&self, found: &[Finding]) -> usize {
        // A short value is one only where it is the whole answer.
        if self.is_all_so_far() {
            return 0;
        }
        let begun = self.known.begun_at(&self.held, 1);
        let upto = match self.held.len() > LONGEST {
            true => self.held.floor_char_boundary(self.held.len() - LONGEST / 2).min(begun),
            false => code_before(&self.held, last_word(&self.held).min(begun)),
        };
        let across = found.iter().find(|finding| finding.at.contains(&upto));
        across.map_or(upto, |finding| finding.at.start)
    }

    fn is_all_so_far(&self) -> bool {
        !self.is_begun && self.known.has_short() && self.held.trim().len() < SHORTEST
    }

    /// Whether no more than a plain word is held from there on: it is shown, and stays at hand should more letters make
    /// something else of it.
    fn is_plain_from(&self, settled: usize, found: &[Finding]) -> bool {
        let word = &self.held[settled..];
        let is_small = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_punctuation();
        word.len() < PLAIN
            && word.chars().skip(1).all(is_small)
            && !word.starts_with(|first: char| first.is_ascii_digit())
            && self.known.begun_at(&self.held, TELLING) == self.held.len()
            && found.iter().all(|finding| finding.at.end <= settled)
            && !self.is_all_so_far()
    }
}

/// Where the last word begins, which may not be over.
fn last_word(text: &str) -> usize {
    let ends = |letter: char| letter.is_whitespace() || !letter.is_ascii();
    let end = text.char_indices().rev().find(|(_, letter)| ends(*letter));
    end.map_or(0, |(at, letter)| at + letter.len_utf8())
}

/// Where the words before `upto` begin that look like pieces of an encoding, without another one between.
fn code_before(text: &str, upto: usize) -> usize {
    let is_code =
        |word: &str| word.len() >= LIKE_CODE || word.bytes().any(|byte| byte.is_ascii_digit());
    let mut start = upto;
    loop {
        let before = text[..start].trim_end();
        let word = last_word(before);
        if word == before.len() || !is_code(&before[word..]) {
            return start;
        }
        start = word;
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::safety::testing::{VALUE, knowing, safety};

    /// What is shown of `said` when it comes in pieces of so many characters.
    fn shown(safety: &Safety, said: &str, length: usize) -> String {
        let mut live = Live::new(safety);
        let letters: Vec<char> = said.chars().collect();
        let pieces = letters.chunks(length).map(|piece| piece.iter().collect());
        let mut shown: Vec<Delta> =
            pieces.filter_map(|piece| live.take(Delta::Text(piece))).collect();
        shown.extend(live.rest());
        let texts = shown.iter().map(|delta| match delta {
            Delta::Text(text) => text.as_str(),
            other => panic!("{other:?}"),
        });
        texts.collect()
    }

    #[test]
    fn however_an_answer_is_cut_no_spelling_of_a_secret_is_shown() {
        let decimal: Vec<String> = VALUE.bytes().map(|byte| byte.to_string()).collect();
        for spelled in [
            VALUE.to_owned(),
            "Sunflower 42\nTango".to_owned(),
            "s u n f l o w e r 4 2 t a n g o".to_owned(),
            VALUE.chars().rev().collect(),
            STANDARD.encode(VALUE),
            decimal.join(" "),
        ] {
            let said = format!("It costs 12 euros, und für 3 die Äpfel: {spelled} That is it.");
            for length in [1, 2, 5, 17, 400] {
                let shown = shown(&safety(), &said, length);
                let (before, after) = shown.split_once("[redacted: secret:mail]").expect("a mark");
                let begun = before.strip_prefix("It costs 12 euros, und für 3 die Äpfel: ");
                assert!(begun.expect("the words").len() < TELLING, "{length}: {shown}");
                assert_eq!(after, " That is it.", "{length}: {shown}");
            }
        }
    }

    #[test]
    fn what_holds_none_is_shown_as_it_is_said() {
        let said = "Sunflowers, 42 of them, are sun-loving.\n\nTangos too: 日本語も。";
        for length in [1, 3, 1_000] {
            assert_eq!(shown(&safety(), said, length), said);
            assert_eq!(shown(&knowing("1234"), said, length), said);
        }
        let mut live = Live::new(&safety());
        let mut take = |text: &str| live.take(Delta::Text(text.to_owned()));
        let text = |text: &str| Some(Delta::Text(text.to_owned()));
        assert_eq!(take("Half a sen"), text("Half a sen"));
        assert_eq!(take("tence, sunf"), text("tence, "));
        assert_eq!(take("lour. "), text("sunflour. "));
    }

    #[test]
    fn no_word_is_so_long_that_a_secret_behind_it_is_shown() {
        for spelled in [VALUE.to_owned(), STANDARD.encode(VALUE)] {
            for before in [LONGEST - 12, LONGEST - 3, LONGEST, 3 * LONGEST] {
                let said = format!("{}{spelled} and more", "x".repeat(before));
                for length in [1_000, 4_093] {
                    let shown = shown(&safety(), &said, length);
                    let around = shown.starts_with("xxx") && shown.ends_with(" and more");
                    assert!(around, "{before}, {length}");
                    assert!(shown.contains("[redacted: secret:mail]"), "{before}, {length}");
                }
            }
        }
    }

    #[test]
    fn a_short_value_is_one_where_it_is_all_that_is_said() {
        let pin = knowing("1234");
        for length in [1, 9] {
            assert_eq!(shown(&pin, "1234", length), "[redacted: secret:mail]");
            assert_eq!(shown(&pin, "It is 1234 today", length), "It is 1234 today");
        }
    }
}
