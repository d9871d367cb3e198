//! What is kept of a stream: its beginning and its end.

use std::collections::VecDeque;

/// Bytes kept of each.
const HALF: usize = 32 << 10;

/// The beginning and the end of what was written.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: usize,
    is_lost: bool,
}

impl Kept {
    /// A stream that could not be read to its end.
    pub(crate) fn lost() -> Self {
        Self { is_lost: true, ..Self::default() }
    }

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

    /// Whether something was left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_lost || self.total > self.head.len() + self.tail.len()
    }

    /// As text; what is not UTF-8 is replaced, and what was left out is said.
    pub(crate) fn text(&self) -> String {
        if self.is_lost {
            return "… (a process that outlived the command kept its output open)".to_owned();
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let left_out = self.total - self.head.len() - tail.len();
        if left_out == 0 {
            let whole = [self.head.as_slice(), &tail].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n… ({left_out} bytes left out) …\n{tail}")
    }
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
    fn nothing_is_cut_at_the_bound() {
        let kept = kept(&[&vec![b'x'; 2 * HALF]]);
        assert!(!kept.is_cut());
        assert_eq!(kept.text().len(), 2 * HALF);
    }
}
