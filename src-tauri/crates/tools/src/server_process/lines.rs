//! The output of a server, in lines.
//!
//! Owns the limit of a line. Reports a longer line, drops its text and continues with the next one. Never interprets a line. Stops
//! reading while nobody takes the lines. Pitfall: a process that left the group may hold the pipe open for ever.

use std::time::Duration;

use rouse_core::extension::{MAX_LINE_BYTES, ServerLine};
use tokio::io::AsyncReadExt as _;
use tokio::sync::{mpsc, watch};

use super::life::{ServerLife, exited};
use crate::process::OutputPipe;

/// Silence of an exited server's pipe after which the pipe counts as closed.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
const PIECE_BYTES: usize = 16 << 10;

/// Reads a pipe to its end; sends its lines.
pub(super) async fn read_lines(
    mut pipe: OutputPipe,
    lines: mpsc::Sender<ServerLine>,
    mut life: watch::Receiver<ServerLife>,
) {
    let (mut splitter, mut buffer) = (LineSplitter::default(), vec![0; PIECE_BYTES]);
    loop {
        let count = read_piece(&mut pipe, &mut buffer, &mut life).await;
        let found = match count {
            0 => splitter.end_line().into_iter().collect(),
            count => splitter.push(&buffer[..count]),
        };
        for line in found {
            if lines.send(line).await.is_err() {
                return;
            }
        }
        if count == 0 {
            return;
        }
    }
}

/// Reads a piece; 0 at the end. A failed read counts as the end.
async fn read_piece(
    pipe: &mut OutputPipe,
    buffer: &mut [u8],
    life: &mut watch::Receiver<ServerLife>,
) -> usize {
    tokio::select! {
        read = pipe.read(buffer) => return read.unwrap_or_default(),
        () = exited(life) => {}
    }
    let read = tokio::time::timeout(DRAIN_TIMEOUT, pipe.read(buffer)).await;
    read.map_or(0, Result::unwrap_or_default)
}

/// Splits pieces of a stream into lines.
#[derive(Debug, Default)]
struct LineSplitter {
    line: Vec<u8>,
    is_too_long: bool,
}

impl LineSplitter {
    /// Adds a piece; returns the lines that end in it.
    fn push(&mut self, piece: &[u8]) -> Vec<ServerLine> {
        let mut lines = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_end) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            if self.is_too_long || self.line.len() + text.len() > MAX_LINE_BYTES {
                self.is_too_long = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(text);
            }
            if is_end {
                lines.extend(self.end_line());
            }
        }
        lines
    }

    /// Ends the current line; none for an empty line.
    fn end_line(&mut self) -> Option<ServerLine> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            tracing::warn!("dropped a line of a server over {MAX_LINE_BYTES} bytes");
            return Some(ServerLine::TooLong);
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        (!line.is_empty()).then_some(ServerLine::Text(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<ServerLine> {
        let mut splitter = LineSplitter::default();
        let mut lines: Vec<_> = pieces.iter().flat_map(|piece| splitter.push(piece)).collect();
        lines.extend(splitter.end_line());
        lines
    }

    fn text(line: &[u8]) -> ServerLine {
        ServerLine::Text(line.to_vec())
    }

    #[test]
    fn lines_do_not_depend_on_the_pieces() {
        let text = b"one\ntwo\r\n\n\r\nthree\nrest";
        let expected = [&b"one"[..], b"two", b"three", b"rest"].map(super::tests::text);
        for size in 1..=text.len() {
            assert_eq!(split(&text.chunks(size).collect::<Vec<_>>()), expected, "{size}");
        }
    }

    #[test]
    fn only_a_line_over_the_limit_is_dropped() {
        let (at_limit, over) = (vec![b'x'; MAX_LINE_BYTES], vec![b'y'; MAX_LINE_BYTES + 1]);
        let lines = split(&[&at_limit, b"\n", &over, b"yy\nnext\n"]);
        assert!(lines == [text(&at_limit), ServerLine::TooLong, text(b"next")]);
    }
}
