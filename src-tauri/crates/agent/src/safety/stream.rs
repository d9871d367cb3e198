//! Redaction of stored secrets in a streaming answer.
//!
//! Owns the tail of the text that could be the start of a value. The tail waits for more text; everything before it is
//! redacted and shown. A truncated answer never shows its tail. Pitfall: scanning a delta by itself; providers split a
//! text anywhere.

use std::sync::Arc;

use rouse_core::model::Delta;

use super::layer::Safety;
use super::leak::{self, SHORTEST_VALUE, StoredValues};
use super::redaction::redacted;

/// The redactor of an answer.
pub(crate) struct StreamRedactor {
    safety: Safety,
    stored: Arc<StoredValues>,
    /// Text that was received and not shown.
    pending: String,
    has_shown: bool,
}

impl StreamRedactor {
    pub(crate) fn new(safety: &Safety) -> Self {
        let (safety, stored) = (safety.clone(), safety.secrets().stored_values());
        Self { safety, stored, pending: String::new(), has_shown: false }
    }

    /// Takes the next delta; returns the delta to show now.
    pub(crate) fn push(&mut self, delta: Delta) -> Option<Delta> {
        match delta {
            Delta::Text(text) => self.push_text(text).map(Delta::Text),
            Delta::ToolCall(tool) => Some(Delta::ToolCall(self.safety.redact_stored(&tool))),
            Delta::Arguments(_) => Some(delta),
            Delta::Reasoning(_) => None,
        }
    }

    /// The rest of an answer that is complete.
    pub(crate) fn finish(self) -> Option<Delta> {
        let rest = if self.has_shown {
            self.redact(&self.pending)
        } else {
            self.safety.redact_stored(&self.pending)
        };
        (!rest.is_empty()).then_some(Delta::Text(rest))
    }

    fn push_text(&mut self, text: String) -> Option<String> {
        if self.stored.is_empty() && !self.stored.has_short() {
            return Some(text);
        }
        self.pending.push_str(&text);
        let may_be_short = self.stored.has_short() && self.pending.trim().len() < SHORTEST_VALUE;
        if may_be_short && !self.has_shown {
            return None;
        }
        let mut end = self.stored.partial_start(&self.pending);
        let found = leak::find_stored(&self.pending, &self.stored);
        if let Some(finding) = found.iter().find(|found| found.at.contains(&end)) {
            end = finding.at.start;
        }
        let rest = self.pending.split_off(end);
        let settled = std::mem::replace(&mut self.pending, rest);
        self.has_shown |= !settled.is_empty();
        (!settled.is_empty()).then(|| self.redact(&settled))
    }

    /// A part of the answer with redacted values.
    fn redact(&self, part: &str) -> String {
        redacted(part, &self.stored.find(part)).unwrap_or_else(|| part.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::safety::testing::{VALUE, safety, safety_with};

    /// The text that is shown of `answer` when deltas have `length` characters each.
    fn shown(safety: &Safety, answer: &str, length: usize) -> String {
        let mut stream = StreamRedactor::new(safety);
        let letters: Vec<char> = answer.chars().collect();
        let deltas = letters.chunks(length).map(|delta| Delta::Text(delta.iter().collect()));
        let mut shown: Vec<Delta> = deltas.filter_map(|delta| stream.push(delta)).collect();
        shown.extend(stream.finish());
        let texts = shown.iter().map(|delta| match delta {
            Delta::Text(text) => text.as_str(),
            other => panic!("{other:?}"),
        });
        texts.collect()
    }

    #[test]
    fn value_cut_anywhere_is_redacted() {
        let hex: String = VALUE.bytes().map(|byte| format!("{byte:02X}")).collect();
        for encoding in [VALUE.to_owned(), VALUE.to_uppercase(), STANDARD.encode(VALUE), hex] {
            let answer = format!("It costs 12 euros, und für 3 die Äpfel: {encoding} That is it.");
            for length in [1, 2, 5, 17, 400] {
                assert_eq!(
                    shown(&safety(), &answer, length),
                    "It costs 12 euros, und für 3 die Äpfel: [redacted: secret:mail] That is it.",
                    "{length}: {encoding}"
                );
            }
        }
    }

    #[test]
    fn text_without_a_value_is_shown_unchanged() {
        let answer = "Sunflowers, 42 of them, are sun-loving.\n\nTangos too: 日本語も。";
        for length in [1, 3, 1_000] {
            assert_eq!(shown(&safety(), answer, length), answer);
            assert_eq!(shown(&safety_with("1234"), answer, length), answer);
        }
    }

    #[test]
    fn only_the_open_end_waits() {
        let mut stream = StreamRedactor::new(&safety());
        let mut push = |text: &str| stream.push(Delta::Text(text.to_owned()));
        let text = |text: &str| Some(Delta::Text(text.to_owned()));
        assert_eq!(push("Half a sent"), text("Half a sent"));
        assert_eq!(push("ence, sunf"), text("ence, "));
        assert_eq!(push("lour. "), text("sunflour. "));
    }

    #[test]
    fn broken_off_answer_shows_no_open_end() {
        let mut stream = StreamRedactor::new(&safety());
        assert_eq!(stream.push(Delta::Text("sunflower-42-Tang".to_owned())), None);
    }

    #[test]
    fn short_value_is_redacted_as_a_whole_answer() {
        let pin = safety_with("1234");
        for length in [1, 9] {
            assert_eq!(shown(&pin, "1234", length), "[redacted: secret:mail]");
            assert_eq!(shown(&pin, "It is 1234 today", length), "It is 1234 today");
        }
    }
}
