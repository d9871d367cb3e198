//! The HTTP client under rig: streams only, bounded, without redirects, and clean of the key.
//!
//! rig-reqwest is bypassed here because it reads the body of an error without a bound and prints the address, which
//! may hold a password. Everything that comes from the wire passes this file, so this is the one place where the key
//! is taken out: rig logs and quotes what it reads, and all of that is already clean.
//!
//! One could get it wrong by following redirects: the header with the key would follow as well. And by letting the
//! system's proxy see calls to this very computer.

#![expect(clippy::result_large_err, reason = "the error type is rig's")]

use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use reqwest::redirect::Policy;
use rig_core::http_client::{
    BoxedStream, Error, HttpClientExt, LazyBody, MultipartForm, Request, Response, Result,
    StreamingResponse,
};

use super::meter::Meter;
use crate::secret::ApiKey;

/// How long a connection may take to stand.
const CONNECT_FOR: Duration = Duration::from_secs(10);

/// How long a server may say nothing. A local server that first loads its model from a slow disk needs minutes.
const SILENT_FOR: Duration = Duration::from_secs(300);

/// The most bytes read of an error's body.
const ERROR_BYTES: usize = 64 << 10;

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

/// One provider's client. It is made with the first request: reading the system's certificates costs time and memory
/// that an app which only waits should not spend.
#[derive(Clone)]
pub(super) struct Transport {
    http: Arc<OnceLock<reqwest::Client>>,
    /// Whether the server is on this computer.
    here: bool,
    key: Option<ApiKey>,
}

impl Transport {
    /// A client for a server at `base_url`.
    pub(super) fn new(base_url: &str, key: Option<ApiKey>) -> Self {
        Self { http: Arc::default(), here: is_this_computer(base_url), key }
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
        let mut head = Response::builder().status(response.status());
        if let Some(headers) = head.headers_mut() {
            headers.clone_from(response.headers());
        }
        head.body(self.metered(response)).map_err(Error::Protocol)
    }

    fn metered(&self, response: reqwest::Response) -> BoxedStream {
        let mut meter = Meter::new(self.key.clone());
        let pieces = response.bytes_stream().map(move |piece| {
            let piece = piece.map_err(|error| Error::instance(within_the_answer(&error)))?;
            meter.push(&piece).map(Bytes::from).map_err(Error::instance)
        });
        Box::pin(pieces)
    }

    /// The error of a reply that is none, with as much of its body as is worth reading.
    async fn refusal(&self, response: reqwest::Response) -> Error {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut pieces = response.bytes_stream();
        let mut body = Vec::new();
        while let Some(Ok(piece)) = pieces.next().await {
            let room = ERROR_BYTES - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if body.len() == ERROR_BYTES {
                break;
            }
        }
        if let Some(key) = &self.key {
            let was_cut = body.len() == ERROR_BYTES;
            body = if was_cut { key.scrub_cut(body) } else { key.scrub(body) };
        }
        Error::non_success_with_details(
            status,
            headers,
            String::from_utf8_lossy(&body).into_owned(),
        )
    }
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

/// The cause that says most. The outer layers of reqwest's errors quote the address, which may hold a password.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(std::error::Error::source) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "unknown cause".to_owned(), ToString::to_string)
}

/// Whether `base_url` names this computer.
pub(super) fn is_this_computer(base_url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base_url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_this_computer;

    #[test]
    fn knows_this_computer_by_all_its_names() {
        for here in [
            "http://localhost:1",
            "http://127.0.0.1:11434/v1",
            "http://127.8.0.1",
            "http://[::1]:8080",
        ] {
            assert!(is_this_computer(here), "{here}");
        }
        for away in [
            "https://api.openai.com/v1",
            "http://localhost.evil.example",
            "http://192.168.0.2:1",
            "nonsense",
        ] {
            assert!(!is_this_computer(away), "{away}");
        }
    }
}
