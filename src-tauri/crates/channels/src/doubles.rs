//! Doubles for the tests of this crate: an HTTP service in memory, a message, and checks that hold for each channel.
//!
//! Replies come from a script, one for each request. Never opens a connection and never waits.
//! Pitfall: a port error without the URL; the real port may quote it, so the double always does.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex};

use rouse_core::channel::{Channel, ChannelMessage, MessageKind, SendOutcome};
use rouse_core::http_exchange::{
    HttpBody, HttpExchange, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use rouse_core::tool::BoxFuture;
use rouse_core::{DeliveryId, RunId, UnixMs};
use serde_json::Value;

/// The reply to one request.
pub(crate) enum FakeReply {
    /// A complete answer.
    Answer {
        /// The status code.
        status: u16,
        /// The headers; names in lowercase.
        headers: Vec<(&'static str, &'static str)>,
        /// The body.
        body: String,
    },
    /// An answer with this status whose body stops after the word `begin` and never ends.
    StalledBody(u16),
    /// An answer with this status whose body breaks after the word `begin`.
    BrokenBody(u16),
    /// The port refuses the address.
    Refused,
    /// No connection.
    Unreached,
    /// The connection breaks after the request.
    Broken,
    /// No answer comes.
    Never,
}

impl FakeReply {
    /// An answer without headers.
    pub(crate) fn answer(status: u16, body: impl ToString) -> Self {
        Self::answer_with(status, body, [])
    }

    /// An answer with headers.
    pub(crate) fn answer_with<const N: usize>(
        status: u16,
        body: impl ToString,
        headers: [(&'static str, &'static str); N],
    ) -> Self {
        Self::Answer { status, headers: headers.into(), body: body.to_string() }
    }
}

/// An HTTP service in memory.
pub(crate) struct FakeExchange {
    replies: Mutex<VecDeque<FakeReply>>,
    requests: Mutex<Vec<HttpExchangeRequest>>,
}

impl FakeExchange {
    /// A service with these replies.
    pub(crate) fn new(replies: impl IntoIterator<Item = FakeReply>) -> Arc<Self> {
        let replies = Mutex::new(replies.into_iter().collect());
        Arc::new(Self { replies, requests: Mutex::default() })
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<HttpExchangeRequest> {
        self.requests.lock().expect("a lock").clone()
    }

    /// The newest request.
    pub(crate) fn last_request(&self) -> HttpExchangeRequest {
        self.requests().pop().expect("a request")
    }

    /// The body of the newest request as JSON.
    pub(crate) fn last_json(&self) -> Value {
        serde_json::from_slice(&self.last_request().body).expect("a body of JSON")
    }

    /// The value of a header of the newest request.
    pub(crate) fn last_header(&self, name: &str) -> Option<String> {
        let headers = self.last_request().headers;
        headers.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl HttpExchange for FakeExchange {
    fn exchange(
        &self,
        request: HttpExchangeRequest,
    ) -> BoxFuture<'_, Result<HttpExchangeResponse, HttpExchangeError>> {
        let reply = self.replies.lock().expect("a lock").pop_front().expect("a scripted reply");
        let reason = format!("The exchange with {} failed.", request.url);
        self.requests.lock().expect("a lock").push(request);
        let (status, headers, body) = match reply {
            FakeReply::Answer { status, headers, body } => (
                status,
                headers,
                FakeBody { piece: Some(body.into_bytes()), end: BodyEnd::Complete },
            ),
            FakeReply::StalledBody(status) => (status, Vec::new(), FakeBody::cut(BodyEnd::Stalled)),
            FakeReply::BrokenBody(status) => (status, Vec::new(), FakeBody::cut(BodyEnd::Broken)),
            FakeReply::Refused => return failed(HttpExchangeError::Refused(reason)),
            FakeReply::Unreached => return failed(HttpExchangeError::Unreached(reason)),
            FakeReply::Broken => return failed(HttpExchangeError::Broken(reason)),
            FakeReply::Never => return Box::pin(pending()),
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let headers = headers.into_iter().map(owned).collect();
        Box::pin(async move { Ok(HttpExchangeResponse { status, headers, body: Box::new(body) }) })
    }
}

fn failed(
    error: HttpExchangeError,
) -> BoxFuture<'static, Result<HttpExchangeResponse, HttpExchangeError>> {
    Box::pin(async move { Err(error) })
}

/// The body of a reply: one piece, then its end.
struct FakeBody {
    piece: Option<Vec<u8>>,
    end: BodyEnd,
}

#[derive(Clone, Copy)]
enum BodyEnd {
    Complete,
    Stalled,
    Broken,
}

impl FakeBody {
    fn cut(end: BodyEnd) -> Self {
        Self { piece: Some(b"begin".to_vec()), end }
    }
}

impl HttpBody for FakeBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
        let (piece, end) = (self.piece.take(), self.end);
        Box::pin(async move {
            match end {
                _ if piece.is_some() => Ok(piece),
                BodyEnd::Complete => Ok(None),
                BodyEnd::Stalled => pending().await,
                BodyEnd::Broken => Err(HttpExchangeError::Broken("The connection broke.".into())),
            }
        })
    }
}

/// A report with the title `Weather` and this text.
pub(crate) fn sample_message(text: &str) -> ChannelMessage {
    ChannelMessage {
        delivery: DeliveryId::new("delivery-1"),
        kind: MessageKind::Report,
        run: Some(RunId::new("run-1")),
        created_at: UnixMs(1_760_000_000_000),
        to: None,
        thread: None,
        title: "Weather".to_owned(),
        headline: "A headline".to_owned(),
        text: text.to_owned(),
        buttons: Vec::new(),
        is_repeat: false,
    }
}

/// Sends the first part of a message.
pub(crate) async fn send_first(channel: &dyn Channel, message: &ChannelMessage) -> SendOutcome {
    channel.send(message, &channel.render(message), 0).await
}

/// The name of the outcome's class.
pub(crate) fn class(outcome: &SendOutcome) -> &'static str {
    match outcome {
        SendOutcome::Accepted { .. } => "accepted",
        SendOutcome::Later { .. } => "later",
        SendOutcome::ServerError { .. } => "server error",
        SendOutcome::Unknown { .. } => "unknown",
        SendOutcome::Refused { .. } => "refused",
        SendOutcome::Broken { .. } => "broken",
    }
}

/// Checks the class of each failure that is equal for all channels, and that no outcome has `canary`, a part of a secret.
pub(crate) async fn assert_failures_hide<C: Channel>(
    canary: &str,
    message: &ChannelMessage,
    channel: impl Fn(Arc<FakeExchange>) -> C,
) {
    let echo = |status| FakeReply::answer(status, format!("{{\"error\":\"{canary}\"}}"));
    for (reply, expected) in [
        (FakeReply::Refused, "broken"),
        (FakeReply::Unreached, "later"),
        (FakeReply::Broken, "unknown"),
        (echo(302), "broken"),
        (echo(400), "refused"),
        (echo(401), "broken"),
        (echo(403), "broken"),
        (echo(404), "broken"),
        (echo(410), "broken"),
        (echo(413), "refused"),
        (echo(429), "later"),
        (echo(500), "server error"),
        (echo(502), "server error"),
        (echo(504), "server error"),
        (echo(503), "later"),
    ] {
        let http = FakeExchange::new([reply]);
        let outcome = send_first(&channel(Arc::clone(&http)), message).await;
        assert_eq!(class(&outcome), expected, "{outcome:?}");
        assert!(!format!("{outcome:?}").contains(canary), "{outcome:?}");
    }
}

/// Checks that a check whose request gets one of `replies` has the words beside the reply in its error. No error has
/// `canary`, a part of a secret.
pub(crate) async fn assert_check_errors<C: Channel, const N: usize>(
    canary: &str,
    channel: impl Fn(Arc<FakeExchange>) -> C,
    replies: [(FakeReply, &str); N],
) {
    let unanswered = [
        (FakeReply::Refused, "."),
        (FakeReply::Unreached, "."),
        (FakeReply::Broken, "gave no usable answer. Check the address of the channel"),
    ];
    for (reply, words) in unanswered.into_iter().chain(replies) {
        let error = channel(FakeExchange::new([reply])).check().await.expect_err("an error");
        assert!(error.contains(words) && error.ends_with('.'), "{words}: {error}");
        assert!(!error.contains(canary), "{error}");
    }
}
