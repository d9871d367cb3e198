//! What is kept of a stream: its beginning and its end.

use std::collections::VecDeque;

use super::system;

/// Bytes kept of each.
const HALF: usize = 32 << 10;

/// The beginning and the end of what was written.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: usize,
    is_held_open: bool,
}

impl Kept {
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

    /// Bytes written in all.
    pub(crate) const fn total(&self) -> usize {
        self.total
    }

    /// Says that there may be more: somebody holds the stream open.
    pub(crate) const fn leave_open(&mut self) {
        self.is_held_open = true;
    }

    /// Whether something was left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_held_open || self.total > self.head.len() + self.tail.len()
    }

    /// As text; what is none is replaced, and what was left out is said.
    pub(crate) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let mut text = match self.total - self.head.len() - tail.len() {
            0 => system::text(&[self.head.as_slice(), &tail].concat()),
            _ => {
                let (head, tail) = (without_half_at_end(&self.head), without_half_at_start(&tail));
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

/// Without a letter of UTF-8 whose rest is not there.
fn without_half_at_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        Ok(_) | Err(_) => bytes,
    }
}

/// Without what is left of a letter of UTF-8 whose beginning is not there, three bytes at most (RFC 3629, section 3).
fn without_half_at_start(bytes: &[u8]) -> &[u8] {
    let is_rest = |byte: &&u8| (0x80..0xC0).contains(*byte);
    &bytes[bytes.iter().take(3).take_while(is_rest).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pieces: &[&[u8]]) -> Kept {
        let mut kept = Kept::default();
        for piece in pieces {
            kept.push(piece);
        }
        kept
    }

    #[test]
    fn little_is_kept_whole() {
        let kept = kept(&["Grü".as_bytes(), &[0xC3], &[0x9F], b"e"]);
        assert_eq!((kept.text().as_str(), kept.is_cut()), ("Grüße", false));
        assert_eq!(Kept::default().text(), "");
    }

    #[test]
    fn much_is_kept_at_both_ends() {
        for size in [1, 7, 4_096, HALF, 3 * HALF] {
            let written: Vec<u8> = (0..5 * HALF).map(|i| b'a' + (i % 26) as u8).collect();
            let kept = kept(&written.chunks(size).collect::<Vec<_>>());
            let text = kept.text();
            assert_eq!(kept.total(), 5 * HALF);
            assert!(kept.is_cut());
            assert!(text.as_bytes().starts_with(&written[..HALF]), "{size}");
            assert!(text.as_bytes().ends_with(&written[4 * HALF..]), "{size}");
            assert!(text.contains(&format!("({} bytes left out)", 3 * HALF)), "{size}");
        }
    }

    #[test]
    fn no_letter_is_cut_in_two() {
        for before in 0..4 {
            let text = kept(&[&b"a".repeat(before), "🦀".repeat(HALF).as_bytes()]).text();
            assert!(!text.contains('\u{FFFD}'), "{before}");
            let parts: Vec<_> = text.split(" bytes left out").collect();
            let left_out =
                parts[0].rsplit('(').next().and_then(|count| count.parse::<usize>().ok());
            let crabs = text.matches('🦀').count() * 4;
            assert_eq!(left_out, Some(4 * HALF - crabs), "{before}");
        }
    }

    #[test]
    fn what_came_from_a_stream_that_is_held_open_is_kept() {
        let mut kept = kept(&[b"all of it\n"]);
        kept.leave_open();
        assert!(kept.is_cut());
        assert!(kept.text().starts_with("all of it\n"), "{}", kept.text());
        assert!(kept.text().ends_with("kept its output open)"), "{}", kept.text());
    }

    #[test]
    fn nothing_is_cut_at_the_bound() {
        let kept = kept(&[&vec![b'x'; 2 * HALF]]);
        assert!(!kept.is_cut());
        assert_eq!(kept.text().len(), 2 * HALF);
    }
}
