//! The end of a server's error output.
//!
//! Owns the limit of the kept bytes. Shows plain text without control characters. Pitfall: the cut may split a line,
//! so the first line is left out when anything is missing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt as _;

use crate::process::OutputPipe;

/// The kept bytes.
const MAX_BYTES: usize = 64 << 10;
const PIECE_BYTES: usize = 4 << 10;

/// The last bytes of an error output. Clones share the bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct StderrTail(Arc<Mutex<TailBytes>>);

#[derive(Debug, Default)]
struct TailBytes {
    bytes: VecDeque<u8>,
    is_cut: bool,
}

impl StderrTail {
    /// Reads a pipe to its end. A failed read counts as the end.
    pub(super) async fn read(self, mut pipe: OutputPipe) {
        let mut buffer = vec![0; PIECE_BYTES];
        while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
            self.push(&buffer[..count]);
        }
    }

    fn push(&self, piece: &[u8]) {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tail.bytes.extend(piece);
        let surplus = tail.bytes.len().saturating_sub(MAX_BYTES);
        tail.is_cut |= surplus > 0;
        tail.bytes.drain(..surplus);
    }

    /// The last lines.
    pub(super) fn text(&self) -> String {
        let tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.bytes.iter().copied().collect();
        let first_end = bytes.iter().position(|byte| *byte == b'\n').filter(|_| tail.is_cut);
        let start = first_end.map_or(0, |end| end + 1);
        crate::plain_text(&String::from_utf8_lossy(&bytes[start..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_keeps_the_last_whole_lines() {
        let tail = StderrTail::default();
        tail.push("\u{1b}[31mGrüße\n".as_bytes());
        assert_eq!(tail.text(), "[31mGrüße\n");
        for number in 0..20_000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.starts_with("line ") && text.ends_with("line 19999\n"), "{}", &text[..40]);
        assert!(text.len() <= MAX_BYTES && text.len() > MAX_BYTES - 20, "{}", text.len());
    }
}
