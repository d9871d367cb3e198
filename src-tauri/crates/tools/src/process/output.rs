//! Bounded capture of a stream: head and tail.

use std::collections::VecDeque;

use super::system;

/// Captured bytes of the head and of the tail, each.
const HALF: usize = 32 << 10;

/// The captured head and tail of a stream.
#[derive(Debug, Default)]
pub(crate) struct CapturedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: usize,
    is_held_open: bool,
}

impl CapturedOutput {
    pub(crate) fn push(&mut self, mut piece: &[u8]) {
        self.total += piece.len();
        let room = HALF - self.head.len();
        let (begin, rest) = piece.split_at(room.min(piece.len()));
        self.head.extend_from_slice(begin);
        piece = &rest[rest.len().saturating_sub(HALF)..];
        let surplus = (self.tail.len() + piece.len()).saturating_sub(HALF);
        self.tail.drain(..surplus);
        self.tail.extend(piece);
    }

    /// Bytes written, captured or not.
    pub(crate) const fn total(&self) -> usize {
        self.total
    }

    /// Marks the stream as held open by another process: there may be more output.
    pub(crate) const fn mark_open(&mut self) {
        self.is_held_open = true;
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.is_held_open || self.total > self.head.len() + self.tail.len()
    }

    /// Decodes the output, with a note where something was left out.
    pub(crate) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let mut text = match self.total - self.head.len() - tail.len() {
            0 => system::text(&[self.head.as_slice(), &tail].concat()),
            _ => {
                let (head, tail) = (trim_partial_end(&self.head), trim_partial_start(&tail));
                let left_out = self.total - head.len() - tail.len();
                let (head, tail) = (system::text(head), system::text(tail));
                format!("{head}\n… ({left_out} bytes left out) …\n{tail}")
            }
        };
        if self.is_held_open {
            text.push_str("\n… (a process that outlived the command kept its output open)");
        }
        text
    }
}

/// Drops an incomplete UTF-8 character at the end.
fn trim_partial_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        Ok(_) | Err(_) => bytes,
    }
}

/// Drops the continuation bytes of a UTF-8 character at the start (at most three, RFC 3629 §3).
fn trim_partial_start(bytes: &[u8]) -> &[u8] {
    let is_rest = |byte: &&u8| (0x80..0xC0).contains(*byte);
    &bytes[bytes.iter().take(3).take_while(is_rest).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(pieces: &[&[u8]]) -> CapturedOutput {
        let mut output = CapturedOutput::default();
        for piece in pieces {
            output.push(piece);
        }
        output
    }

    #[test]
    fn short_output_is_captured_whole() {
        let output = capture(&["Grü".as_bytes(), &[0xC3], &[0x9F], b"e"]);
        assert_eq!((output.text().as_str(), output.is_truncated()), ("Grüße", false));
        assert_eq!(CapturedOutput::default().text(), "");
    }

    #[test]
    fn long_output_keeps_head_and_tail() {
        for size in [1, 7, 4_096, HALF, 3 * HALF] {
            let written: Vec<u8> = (0..5 * HALF).map(|i| b'a' + (i % 26) as u8).collect();
            let output = capture(&written.chunks(size).collect::<Vec<_>>());
            let text = output.text();
            assert_eq!(output.total(), 5 * HALF);
            assert!(output.is_truncated());
            assert!(text.as_bytes().starts_with(&written[..HALF]), "{size}");
            assert!(text.as_bytes().ends_with(&written[4 * HALF..]), "{size}");
            assert!(text.contains(&format!("({} bytes left out)", 3 * HALF)), "{size}");
        }
    }

    #[test]
    fn truncation_splits_no_character() {
        for before in 0..4 {
            let text = capture(&[&b"a".repeat(before), "🦀".repeat(HALF).as_bytes()]).text();
            assert!(!text.contains('\u{FFFD}'), "{before}");
            let parts: Vec<_> = text.split(" bytes left out").collect();
            let left_out =
                parts[0].rsplit('(').next().and_then(|count| count.parse::<usize>().ok());
            let crabs = text.matches('🦀').count() * 4;
            assert_eq!(left_out, Some(4 * HALF - crabs), "{before}");
        }
    }

    #[test]
    fn output_held_open_is_kept_and_marked() {
        let mut output = capture(&[b"all of it\n"]);
        output.mark_open();
        assert!(output.is_truncated());
        assert!(output.text().starts_with("all of it\n"), "{}", output.text());
        assert!(output.text().ends_with("kept its output open)"), "{}", output.text());
    }

    #[test]
    fn output_at_the_limit_is_not_truncated() {
        let output = capture(&[&vec![b'x'; 2 * HALF]]);
        assert!(!output.is_truncated());
        assert_eq!(output.text().len(), 2 * HALF);
    }
}
