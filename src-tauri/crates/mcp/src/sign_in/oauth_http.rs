//! Guarded HTTP as the HTTP client of the OAuth library.
//!
//! Owns the limits of time and size. A redirect is an answer without a target, so no token and no metadata comes from
//! another address. Secrets are posted over TLS only, or to this computer. Pitfall: an event stream as the answer to a
//! probe of the server; its body never ends.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, Uri};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use rouse_core::http_exchange::{HttpExchange, HttpExchangeError, HttpExchangeRequest};

/// The time limit of a request without one.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The most bytes of an answer.
const MAX_BODY: usize = 1 << 20;

/// The HTTP client of the OAuth library.
pub(super) struct OAuthExchange {
    exchange: Arc<dyn HttpExchange>,
}

impl OAuthExchange {
    pub(super) fn new(exchange: Arc<dyn HttpExchange>) -> Self {
        Self { exchange }
    }

    async fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, HttpExchangeError> {
        let (parts, body) = request.into_parts();
        let method = if parts.method == Method::GET { "GET" } else { "POST" };
        if method == "POST" && !is_secure(&parts.uri) {
            let host = parts.uri.host().unwrap_or_default();
            return Err(HttpExchangeError::Refused(format!(
                "{host} takes secrets without encryption. Its address must begin with https://."
            )));
        }
        let headers = parts.headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        });
        let headers = headers.collect();
        let request = HttpExchangeRequest { method, url: parts.uri.to_string(), headers, body };
        let mut answer = self.exchange.exchange(request).await?;
        let is_stream = answer
            .headers
            .iter()
            .any(|(name, value)| name == "content-type" && value.starts_with("text/event-stream"));
        let mut body = Vec::new();
        while !is_stream && let Some(piece) = answer.body.next().await? {
            body.extend_from_slice(&piece);
            if body.len() > MAX_BODY {
                return Err(HttpExchangeError::Broken(format!(
                    "The answer is larger than {} MB.",
                    MAX_BODY >> 20
                )));
            }
        }
        let mut response = Response::builder().status(answer.status);
        for (name, value) in answer.headers.iter().filter(|(name, _)| name != "location") {
            response = response.header(name, value);
        }
        let invalid = |error: http::Error| {
            HttpExchangeError::Broken(format!("The answer is invalid ({error})."))
        };
        response.body(body).map_err(invalid)
    }
}

impl OAuthHttpClient for OAuthExchange {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let limit = request.timeout.unwrap_or(TIME_LIMIT);
            match tokio::time::timeout(limit, self.send(request.request)).await {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(HttpExchangeError::Broken(format!(
                    "There was no answer within {} s.",
                    limit.as_secs()
                ))
                .into()),
            }
        })
    }
}

/// Whether a secret may go to this address, and whether a browser may open it: TLS, or this computer.
pub(super) fn is_secure(address: &Uri) -> bool {
    match (address.scheme_str(), address.host()) {
        (Some("https"), Some(_)) => true,
        (Some("http"), Some(host)) => matches!(host, "localhost" | "127.0.0.1" | "[::1]"),
        _ => false,
    }
}

/// Whether this text is such an address.
pub(super) fn is_secure_address(text: &str) -> bool {
    text.parse::<Uri>().is_ok_and(|address| is_secure(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tls_and_this_computer_are_secure() {
        for secure in ["https://a.example/x", "http://127.0.0.1:8080/", "http://localhost/"] {
            assert!(is_secure_address(secure), "{secure}");
        }
        for other in ["http://a.example/", "file:///etc/passwd", "javascript:alert(1)", "/x", ""] {
            assert!(!is_secure_address(other), "{other}");
        }
    }
}
