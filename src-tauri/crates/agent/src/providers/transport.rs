//! The HTTP client under rig: streams only, bounded, without redirects, and clean of the key.
//!
//! Owns everything that comes from the wire, so the key is removed here before rig logs or quotes it. rig-reqwest is
//! not used because it reads the body of an error without a bound and prints the address, which may hold a password. A
//! reply without the type of an event stream is inspected: an unstreamed answer becomes a stream, an untyped stream is
//! read as a stream, an error document is an error. Never follows redirects: the header with the key would follow.
//! Pitfall: the system's proxy must not see calls to this computer.

#![expect(clippy::result_large_err, reason = "the error type is rig's")]

use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use rig_core::http_client::{
    BoxedStream, Error, HttpClientExt, LazyBody, MultipartForm, Request, Response, Result,
    StreamingResponse,
};
use serde_json::Value;

use super::address::is_loopback;
use super::config::ProviderKind;
use super::stream_limits::StreamLimits;
use super::{request_body, unstreamed_answer};
use crate::secrets::ApiKey;

/// The time limit of a connection attempt.
const CONNECT_FOR: Duration = Duration::from_secs(10);

/// The longest silence of a server. A local server that loads a model from a slow disk needs minutes.
const SILENT_FOR: Duration = Duration::from_secs(300);

/// The most bytes read of an error's body.
const ERROR_BYTES: usize = 64 << 10;

/// The most bytes of an unstreamed answer.
const WHOLE_BYTES: usize = 8 << 20;

/// Why an exchange failed below HTTP.
#[derive(Debug, thiserror::Error)]
pub(super) enum TransportError {
    #[error("no connection: {0}")]
    Connect(String),
    #[error("no answer in time")]
    Silent,
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the answer broke off")]
    CutOff,
    #[error("one event of the answer is larger than {most} bytes")]
    EventTooLarge { most: usize },
    #[error("the answer is larger than {most} bytes")]
    AnswerTooLarge { most: usize },
    #[error("only streamed answers are read")]
    OnlyStreams,
}

/// A provider's client. Created with the first request: reading the system's certificates costs an idle app time and
/// memory.
#[derive(Clone)]
pub(super) struct Transport {
    http: Arc<OnceLock<reqwest::Client>>,
    /// Whether the server is on this computer.
    here: bool,
    key: Option<ApiKey>,
    wire: ProviderKind,
}

/// The format of an undeclared body, by the first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyShape {
    Events,
    Document,
    Unknown,
}

impl Transport {
    /// A client for a server at `base_url`.
    pub(super) fn new(base_url: &str, key: Option<ApiKey>, wire: ProviderKind) -> Self {
        Self { http: Arc::default(), here: is_loopback(base_url), key, wire }
    }

    fn client(&self) -> Result<&reqwest::Client> {
        if let Some(client) = self.http.get() {
            return Ok(client);
        }
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_FOR)
            .read_timeout(SILENT_FOR)
            .redirect(Policy::none());
        if self.here {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| Error::instance(before_the_answer(&error)))?;
        Ok(self.http.get_or_init(|| client))
    }

    async fn open(&self, request: Request<Bytes>) -> Result<StreamingResponse> {
        let (parts, body) = request.into_parts();
        let body = match self.wire {
            ProviderKind::OpenAiChat => Bytes::from(request_body::reshaped(&body)),
            _ => body,
        };
        let sent = self
            .client()?
            .request(parts.method, parts.uri.to_string())
            .headers(parts.headers)
            .body(body)
            .send()
            .await;
        let response = sent.map_err(|error| Error::instance(before_the_answer(&error)))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let content_type = content_type(response.headers());
        if content_type.starts_with("text/event-stream") {
            let (status, headers) = (response.status(), response.headers().clone());
            return reply(status, headers, self.metered(response.bytes_stream()));
        }
        self.undeclared(response).await
    }

    /// The reply of a server that does not declare an event stream.
    async fn undeclared(&self, response: reqwest::Response) -> Result<StreamingResponse> {
        let (status, mut headers) = (response.status(), response.headers().clone());
        let mut pieces = response.bytes_stream();
        let mut first = Vec::new();
        while first.iter().all(u8::is_ascii_whitespace) {
            match pieces.next().await {
                Some(piece) => {
                    first.extend(piece.map_err(|error| Error::instance(within_the_answer(&error)))?)
                }
                None => break,
            }
        }
        let shape = shape_of(&first);
        let first = futures_util::stream::iter([Ok(Bytes::from(first))]);
        let pieces = first.chain(pieces);
        match shape {
            BodyShape::Document => self.whole(status, headers, pieces).await,
            BodyShape::Events => {
                declare_events(&mut headers);
                reply(status, headers, self.metered(pieces))
            }
            BodyShape::Unknown => reply(status, headers, self.metered(pieces)),
        }
    }

    /// A document in place of a stream: an answer as a stream, or an error.
    async fn whole(
        &self,
        status: StatusCode,
        mut headers: HeaderMap,
        pieces: impl Stream<Item = reqwest::Result<Bytes>>,
    ) -> Result<StreamingResponse> {
        let (body, is_cut) = read_up_to(WHOLE_BYTES, pieces).await;
        if is_cut {
            let too_large = TransportError::AnswerTooLarge { most: WHOLE_BYTES };
            return Err(Error::instance(too_large));
        }
        let body = self.without_key(body, false);
        let document: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if unstreamed_answer::error_in(&document).is_some() {
            let body = String::from_utf8_lossy(&body).into_owned();
            return Err(Error::non_success_with_details(status, headers, body));
        }
        let text = match unstreamed_answer::as_stream(&document) {
            Some(stream) => {
                declare_events(&mut headers);
                Bytes::from(stream)
            }
            None => Bytes::from(body),
        };
        reply(status, headers, Box::pin(futures_util::stream::iter([Ok(text)])))
    }

    fn metered(
        &self,
        pieces: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    ) -> BoxedStream {
        let mut meter = StreamLimits::new(self.key.clone());
        let pieces = pieces.map(move |piece| {
            let piece = piece.map_err(|error| Error::instance(within_the_answer(&error)))?;
            meter.push(&piece).map(Bytes::from).map_err(Error::instance)
        });
        Box::pin(pieces)
    }

    fn without_key(&self, body: Vec<u8>, is_cut: bool) -> Vec<u8> {
        match &self.key {
            None => body,
            Some(key) if is_cut => key.scrub_cut(body),
            Some(key) => key.scrub(body),
        }
    }

    /// The error of an unsuccessful reply, with the beginning of the body.
    async fn refusal(&self, response: reqwest::Response) -> Error {
        let (status, mut headers) = (response.status(), response.headers().clone());
        if let Some(location) = headers.get_mut(LOCATION) {
            let clean = self.without_key(location.as_bytes().to_vec(), false);
            *location = HeaderValue::from_bytes(&clean).unwrap_or(HeaderValue::from_static(""));
        }
        let (body, is_cut) = read_up_to(ERROR_BYTES, response.bytes_stream()).await;
        let body = self.without_key(body, is_cut);
        Error::non_success_with_details(
            status,
            headers,
            String::from_utf8_lossy(&body).into_owned(),
        )
    }
}

/// The first `most` bytes of a body, and whether more came.
async fn read_up_to(
    most: usize,
    pieces: impl Stream<Item = reqwest::Result<Bytes>>,
) -> (Vec<u8>, bool) {
    let mut pieces = std::pin::pin!(pieces);
    let mut body = Vec::new();
    while let Some(Ok(piece)) = pieces.next().await {
        let room = most - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if body.len() == most {
            return (body, true);
        }
    }
    (body, false)
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_ascii_lowercase()
}

fn declare_events(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
}

fn shape_of(beginning: &[u8]) -> BodyShape {
    let text = beginning.trim_ascii_start();
    let fields: [&[u8]; 4] = [b"data:", b"event:", b"id:", b":"];
    if fields.iter().any(|field| text.starts_with(field)) {
        BodyShape::Events
    } else if text.starts_with(b"{") || text.starts_with(b"[") {
        BodyShape::Document
    } else {
        BodyShape::Unknown
    }
}

fn reply(status: StatusCode, headers: HeaderMap, body: BoxedStream) -> Result<StreamingResponse> {
    let mut head = Response::builder().status(status);
    if let Some(known) = head.headers_mut() {
        *known = headers;
    }
    head.body(body).map_err(Error::Protocol)
}

impl HttpClientExt for Transport {
    fn send<T, U>(
        &self,
        _: Request<T>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        T: Into<Bytes> + Send,
        U: From<Bytes> + Send + 'static,
    {
        std::future::ready(Err(Error::instance(TransportError::OnlyStreams)))
    }

    fn send_multipart<U>(
        &self,
        _: Request<MultipartForm>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        U: From<Bytes> + Send + 'static,
    {
        std::future::ready(Err(Error::instance(TransportError::OnlyStreams)))
    }

    fn send_streaming<T>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = Result<StreamingResponse>> + Send
    where
        T: Into<Bytes> + Send,
    {
        self.open(request.map(Into::into))
    }
}

fn before_the_answer(error: &reqwest::Error) -> TransportError {
    if error.is_connect() {
        TransportError::Connect(innermost(error))
    } else if error.is_timeout() {
        TransportError::Silent
    } else {
        TransportError::Broken(innermost(error))
    }
}

fn within_the_answer(error: &reqwest::Error) -> TransportError {
    if error.is_timeout() { TransportError::Silent } else { TransportError::CutOff }
}

/// The innermost cause. The outer layers of reqwest's errors quote the address, which may hold a password.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(std::error::Error::source) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "unknown cause".to_owned(), ToString::to_string)
}
