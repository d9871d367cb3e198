//! The port to guarded HTTP: one request, one answer, no redirects.
//!
//! An implementation checks the address of each host (no private addresses unless allowed), verifies TLS, and limits
//! connection time. Pitfall: a redirect that leads to another host; the caller sees the answer and decides.

use crate::future::BoxFuture;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpExchangeRequest {
    /// The method in capitals.
    pub method: &'static str,
    /// The URL.
    pub url: String,
    /// The headers; names in lowercase.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The head of an answer; the body follows in pieces.
pub struct HttpExchangeResponse {
    /// The status code.
    pub status: u16,
    /// The headers; names in lowercase. Values that are not visible ASCII are left out.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Box<dyn HttpBody>,
}

/// The body of an answer. Dropping closes the connection.
pub trait HttpBody: Send {
    /// The next piece; none at the end.
    ///
    /// # Errors
    /// The connection broke.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>>;
}

/// Why an exchange failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpExchangeError {
    /// The address is not allowed or the URL is invalid: cause and remedy as sentences.
    #[error("{0}")]
    Refused(String),
    /// No connection, so the request had no effect: the cause as a sentence.
    #[error("{0}")]
    Unreached(String),
    /// The connection broke after the request was sent: the cause as a sentence.
    #[error("{0}")]
    Broken(String),
}

/// Guarded HTTP.
pub trait HttpExchange: Send + Sync {
    /// Sends one request. There is no time limit for the body.
    fn exchange(
        &self,
        request: HttpExchangeRequest,
    ) -> BoxFuture<'_, Result<HttpExchangeResponse, HttpExchangeError>>;
}
