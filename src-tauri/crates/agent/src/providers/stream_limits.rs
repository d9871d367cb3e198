//! Size limits and key redaction of an event stream, between the socket and rig.
//!
//! Owns two limits (one event, the whole answer), because neither rig nor the HTTP client has any and a broken server
//! can send for ever. Both work on whole lines: a key never spans two lines of an event stream, but may span two reads.
//! So a line passes at the end of the line; the reader could not use an incomplete line.

use super::transport::TransportError;
use crate::secrets::ApiKey;

/// The most bytes of an event. Encrypted reasoning is one large event, but below four megabytes.
const EVENT_BYTES: usize = 4 << 20;

/// The most bytes of an answer: the longest answers of today, with room for an envelope around every token.
const ANSWER_BYTES: usize = 64 << 20;

/// Limits and redacts a single answer.
pub(super) struct StreamLimits {
    key: Option<ApiKey>,
    event_cap: usize,
    answer_cap: usize,
    line: Vec<u8>,
    event: usize,
    answer: usize,
}

impl StreamLimits {
    pub(super) const fn new(key: Option<ApiKey>) -> Self {
        Self::with_caps(key, EVENT_BYTES, ANSWER_BYTES)
    }

    const fn with_caps(key: Option<ApiKey>, event_cap: usize, answer_cap: usize) -> Self {
        Self { key, event_cap, answer_cap, line: Vec::new(), event: 0, answer: 0 }
    }

    /// Adds bytes and returns the completed lines.
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
    fn key_split_over_two_reads_is_redacted() {
        let mut meter = StreamLimits::new(key());
        assert_eq!(meter.push(b"data: sk-0123").expect("small"), b"");
        assert_eq!(meter.push(b"456789!\n\n").expect("small"), b"data: [key]!\n\n");
    }

    #[test]
    fn bytes_without_a_key_pass_unchanged() {
        let mut meter = StreamLimits::new(None);
        let mut passed = Vec::new();
        for piece in b"data: {\"a\":1}\r\n\r\ndata: \xff\n\n".chunks(3) {
            passed.extend(meter.push(piece).expect("small"));
        }
        assert_eq!(passed, b"data: {\"a\":1}\r\n\r\ndata: \xff\n\n");
    }

    #[test]
    fn one_event_has_a_cap_that_starts_again_with_each_event() {
        let mut meter = StreamLimits::with_caps(None, 20, 1_000);
        for _ in 0..10 {
            meter.push(b"data: 0123456789\n\n").expect("each event is small");
        }
        meter.push(b"data: 0123456789\n").expect("still small");
        let error =
            meter.push(b"data: 0123456789\n").expect_err("one event of two lines is too large");
        assert!(matches!(error, TransportError::EventTooLarge { most: 20 }));
    }

    #[test]
    fn endless_line_is_capped() {
        let mut meter = StreamLimits::with_caps(None, 20, 1_000);
        meter.push(b"data: 0123456789").expect("still small");
        assert!(meter.push(b"0123456789").is_err());
    }

    #[test]
    fn answer_has_a_cap() {
        let mut meter = StreamLimits::with_caps(None, 20, 30);
        meter.push(b"data: 0123456789\n\n").expect("still small");
        let error = meter.push(b"data: 0123456789\n\n").expect_err("too much in all");
        assert!(matches!(error, TransportError::AnswerTooLarge { most: 30 }));
    }
}
