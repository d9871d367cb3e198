//! The split of a streamed answer into leading reasoning (`<think>…</think>`) and text.
//!
//! Servers without a reasoning parser pass such text on as the answer. Owns the split of a stream;
//! `core::turn::answer_in` splits a whole text by the same tags. Pitfall: a tag may arrive in two pieces, so its
//! beginning is held back.

use rouse_core::model::Delta;
use rouse_core::turn::REASONING_TAGS;

/// Splits the pieces of a streamed answer.
#[derive(Debug, Default)]
pub(super) struct ReasoningSplitter {
    state: SplitState,
    /// Text that may still be the beginning of a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum SplitState {
    /// Only white space has arrived.
    #[default]
    Start,
    /// Inside the block that ends with this tag.
    Inside(&'static str),
    /// In the answer.
    Answer,
}

impl ReasoningSplitter {
    /// Adds a piece of text and returns the pieces to show.
    pub(super) fn push(&mut self, piece: String) -> Vec<Delta> {
        if self.state == SplitState::Answer {
            return vec![Delta::Text(piece)];
        }
        self.held.push_str(&piece);
        let mut shown = Vec::new();
        while let Some(delta) = self.next() {
            shown.extend(delta);
        }
        shown
    }

    /// The held-back text at the end of the answer.
    pub(super) fn finish(&mut self) -> Option<Delta> {
        let rest = std::mem::take(&mut self.held);
        let delta =
            if let SplitState::Inside(_) = self.state { Delta::Reasoning } else { Delta::Text };
        (!rest.is_empty()).then(|| delta(rest))
    }

    /// The next piece of the held-back text; none until more arrives.
    fn next(&mut self) -> Option<Option<Delta>> {
        match self.state {
            SplitState::Answer if self.held.is_empty() => None,
            SplitState::Answer => Some(Some(Delta::Text(std::mem::take(&mut self.held)))),
            SplitState::Start => self.leave_start(),
            SplitState::Inside(close) => self.read_reasoning(close),
        }
    }

    fn leave_start(&mut self) -> Option<Option<Delta>> {
        let text = self.held.trim_start();
        if let Some((open, close)) = REASONING_TAGS.iter().find(|(open, _)| text.starts_with(open))
        {
            self.held = text[open.len()..].to_owned();
            self.state = SplitState::Inside(close);
            return Some(None);
        }
        let may_open = REASONING_TAGS.iter().any(|(open, _)| open.starts_with(text));
        if may_open {
            return None;
        }
        self.state = SplitState::Answer;
        Some(None)
    }

    fn read_reasoning(&mut self, close: &'static str) -> Option<Option<Delta>> {
        if let Some((reasoning, rest)) = self.held.split_once(close) {
            let (reasoning, rest) = (reasoning.to_owned(), rest.to_owned());
            self.held = rest;
            self.state = SplitState::Start;
            return Some((!reasoning.is_empty()).then_some(Delta::Reasoning(reasoning)));
        }
        let ready = self.held.len() - partial_end(&self.held, close);
        if ready == 0 {
            return None;
        }
        let reasoning: String = self.held.drain(..ready).collect();
        Some(Some(Delta::Reasoning(reasoning)))
    }
}

/// How many bytes at the end of `text` may be the beginning of `tag`.
fn partial_end(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|length| text.ends_with(&tag[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rouse_core::turn::answer_in;

    use super::*;

    const CASES: [(&str, &str); 9] = [
        ("Hello.", "Hello."),
        ("<think>a</think>Hello.", "Hello."),
        ("\n<think>\na\n</think>\n\nHello.", "Hello."),
        ("<think>a</think><think>b</think> Hello.", "Hello."),
        ("<thinking>a < b</thinking>Hello.", "Hello."),
        ("<think>never ends", ""),
        ("Use <think> tags: <think>x</think>", "Use <think> tags: <think>x</think>"),
        ("<thin ice>", "<thin ice>"),
        ("a < b", "a < b"),
    ];

    #[test]
    fn pieces_are_split_like_the_whole() {
        for (text, answer) in CASES {
            for size in [1, 3, 100] {
                let mut splitter = ReasoningSplitter::default();
                let chars: Vec<char> = text.chars().collect();
                let mut shown: Vec<Delta> = chars
                    .chunks(size)
                    .flat_map(|piece| splitter.push(piece.iter().collect()))
                    .collect();
                shown.extend(splitter.finish());
                let words = shown.iter().filter_map(|delta| match delta {
                    Delta::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                assert_eq!(words.collect::<String>().trim_start(), answer, "{text:?} by {size}");
                assert_eq!(answer_in(text), answer, "{text:?}");
            }
        }
    }
}
