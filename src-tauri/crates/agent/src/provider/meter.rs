//! The bytes of an event stream between the socket and the library that reads it.
//!
//! Owns two caps (one event, the whole answer), because neither rig nor the HTTP client has any and a broken server
//! can send for ever, and the removal of the key from whatever a server echoes. Both need whole lines: a key never
//! spans two lines of an event stream, but it may well span two reads. So a line is handed on when it has ended; the
//! reader could not have used it earlier.

use super::transport::TransportError;
use crate::secret::ApiKey;

/// The most bytes of one event. Encrypted reasoning comes in one piece and is large; four megabytes is not honest.
const EVENT_BYTES: usize = 4 << 20;

/// The most bytes of one answer: the longest answers that are sold today, with room for the envelope of every token.
const ANSWER_BYTES: usize = 64 << 20;

/// Measures and cleans one answer.
pub(super) struct Meter {
    key: Option<ApiKey>,
    event_cap: usize,
    answer_cap: usize,
    line: Vec<u8>,
    event: usize,
    answer: usize,
}

impl Meter {
    pub(super) const fn new(key: Option<ApiKey>) -> Self {
        Self::with_caps(key, EVENT_BYTES, ANSWER_BYTES)
    }

    const fn with_caps(key: Option<ApiKey>, event_cap: usize, answer_cap: usize) -> Self {
        Self { key, event_cap, answer_cap, line: Vec::new(), event: 0, answer: 0 }
    }

    /// Takes the next bytes and hands on the lines that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<u8>, TransportError> {
        self.answer += bytes.len();
        if self.answer > self.answer_cap {
            return Err(TransportError::AnswerTooLarge { most: self.answer_cap });
        }
        let mut ready = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.event += piece.len();
            if self.event > self.event_cap {
                return Err(TransportError::EventTooLarge { most: self.event_cap });
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line(&mut ready);
            }
        }
        Ok(ready)
    }

    fn end_line(&mut self, ready: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        if matches!(line.as_slice(), b"\n" | b"\r\n") {
            self.event = 0;
        }
        match &self.key {
            Some(key) => ready.extend(key.scrub(line)),
            None => ready.extend(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Option<ApiKey> {
        ApiKey::new("sk-0123456789")
    }

    #[test]
    fn a_key_split_over_two_reads_is_taken_out() {
        let mut meter = Meter::new(key());
        assert_eq!(meter.push(b"data: sk-0123").expect("small"), b"");
        assert_eq!(meter.push(b"456789!\n\n").expect("small"), b"data: [key]!\n\n");
    }

    #[test]
    fn bytes_without_a_key_pass_unchanged() {
        let mut meter = Meter::new(None);
        let mut passed = Vec::new();
        for piece in b"data: {\"a\":1}\r\n\r\ndata: \xff\n\n".chunks(3) {
            passed.extend(meter.push(piece).expect("small"));
        }
        assert_eq!(passed, b"data: {\"a\":1}\r\n\r\ndata: \xff\n\n");
    }

    #[test]
    fn one_event_has_a_cap_that_starts_again_with_each_event() {
        let mut meter = Meter::with_caps(None, 20, 1_000);
        for _ in 0..10 {
            meter.push(b"data: 0123456789\n\n").expect("each event is small");
        }
        meter.push(b"data: 0123456789\n").expect("still small");
        let error =
            meter.push(b"data: 0123456789\n").expect_err("one event of two lines is too large");
        assert!(matches!(error, TransportError::EventTooLarge { most: 20 }));
    }

    #[test]
    fn a_line_without_an_end_is_capped() {
        let mut meter = Meter::with_caps(None, 20, 1_000);
        meter.push(b"data: 0123456789").expect("still small");
        assert!(meter.push(b"0123456789").is_err());
    }

    #[test]
    fn the_answer_has_a_cap() {
        let mut meter = Meter::with_caps(None, 20, 30);
        meter.push(b"data: 0123456789\n\n").expect("still small");
        let error = meter.push(b"data: 0123456789\n\n").expect_err("too much in all");
        assert!(matches!(error, TransportError::AnswerTooLarge { most: 30 }));
    }
}
