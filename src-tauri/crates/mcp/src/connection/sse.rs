//! The events of an answer that is an event stream.
//!
//! Owns the size limit of an event. Parsing belongs to `sse-stream`. An event over the limit becomes an error answer to
//! the request of the stream, so its caller does not wait for the time limit. Pitfall: the protocol library reconnects
//! at once after a stream error, so an oversized event without a request ends the stream instead.

use std::future::ready;
use std::io::Cursor;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rouse_core::http_exchange::{HttpBody, HttpExchangeError};
use serde_json::json;
use sse_stream::{Error as SseError, Sse, SseStream};

use super::error::OVERSIZE_KEY;

/// The most bytes of an event.
pub(super) const MAX_EVENT: usize = 4 << 20;

/// Why a piece of a stream is not used.
#[derive(Debug, thiserror::Error)]
enum PieceError {
    #[error("an event is larger than {} MB", MAX_EVENT >> 20)]
    Oversize,
    #[error(transparent)]
    Exchange(#[from] HttpExchangeError),
}

/// The events of a body. `request` is the request that the stream answers.
pub(super) fn events(
    body: Box<dyn HttpBody>,
    request: Option<RequestId>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let start = Some(LimitedBody { body, size: EventSize::default() });
    let pieces = stream::unfold(start, |state| async move {
        let mut state = state?;
        match state.next().await {
            Ok(Some(piece)) => Some((Ok(Cursor::new(piece)), Some(state))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    let limited = move |event: Result<Sse, SseError>| {
        ready(match event {
            Err(SseError::Body(error)) if is_oversize(error.as_ref()) => {
                request.as_ref().map(|id| Ok(oversize_event(id)))
            }
            event => Some(event),
        })
    };
    SseStream::from_bytes_stream(pieces).filter_map(limited).boxed()
}

fn is_oversize(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(error.downcast_ref::<PieceError>(), Some(PieceError::Oversize))
}

/// An error answer to a request whose real answer is over the limit.
fn oversize_event(request: &RequestId) -> Sse {
    let message = format!("The answer of the server is larger than {} MB.", MAX_EVENT >> 20);
    let data = Some(json!({ OVERSIZE_KEY: true }));
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, message, data);
    let answer = ServerJsonRpcMessage::error(error, Some(request.clone()));
    Sse::default().data(serde_json::to_string(&answer).expect("BUG: a message is JSON"))
}

struct LimitedBody {
    body: Box<dyn HttpBody>,
    size: EventSize,
}

impl LimitedBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, PieceError> {
        let piece = self.body.next().await?;
        if piece.as_ref().is_some_and(|piece| self.size.exceeds_limit(piece)) {
            return Err(PieceError::Oversize);
        }
        Ok(piece)
    }
}

/// Counts the bytes since the last empty line.
#[derive(Default)]
struct EventSize {
    event: usize,
    line: usize,
    is_after_carriage_return: bool,
}

impl EventSize {
    fn exceeds_limit(&mut self, piece: &[u8]) -> bool {
        for &byte in piece {
            let is_second_half = self.is_after_carriage_return && byte == b'\n';
            self.is_after_carriage_return = byte == b'\r';
            if is_second_half {
                continue;
            }
            if byte == b'\n' || byte == b'\r' {
                if self.line == 0 {
                    self.event = 0;
                }
                self.line = 0;
            } else {
                self.line += 1;
                self.event += 1;
            }
            if self.event > MAX_EVENT {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::tool::BoxFuture;

    use super::*;

    struct Pieces(Vec<Vec<u8>>);

    impl HttpBody for Pieces {
        fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
            let piece = (!self.0.is_empty()).then(|| self.0.remove(0));
            Box::pin(ready(Ok(piece)))
        }
    }

    fn body(pieces: &[&[u8]]) -> Box<dyn HttpBody> {
        Box::new(Pieces(pieces.iter().map(|piece| piece.to_vec()).collect()))
    }

    #[tokio::test]
    async fn event_in_pieces_is_joined() {
        let mut events = events(body(&[b"id: 1\r\nda", b"ta: {}\r\n\r", b"\ndata: 2\n\n"]), None);
        let event = events.next().await.expect("an event").expect("a valid event");
        assert_eq!((event.id.as_deref(), event.data.as_deref()), (Some("1"), Some("{}")));
        let event = events.next().await.expect("an event").expect("a valid event");
        assert_eq!(event.data.as_deref(), Some("2"));
        assert!(events.next().await.is_none());
    }

    #[tokio::test]
    async fn oversized_event_answers_its_request() {
        let large = vec![b'x'; MAX_EVENT + 1];
        let mut events = events(body(&[b"data: ", &large]), Some(RequestId::Number(7)));
        let event = events.next().await.expect("an event").expect("a valid event");
        let data = event.data.expect("data");
        assert!(data.contains(r#""id":7"#) && data.contains(OVERSIZE_KEY), "{data}");
        assert!(events.next().await.is_none());
    }

    #[test]
    fn empty_line_begins_a_new_event() {
        let mut size = EventSize::default();
        let half = vec![b'x'; MAX_EVENT / 2 + 1];
        for ending in [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"] {
            assert!(!size.exceeds_limit(&half) && !size.exceeds_limit(ending));
        }
        assert!(!size.exceeds_limit(&half) && !size.exceeds_limit(b"\r\n"));
        assert!(size.exceeds_limit(&half));
    }
}
