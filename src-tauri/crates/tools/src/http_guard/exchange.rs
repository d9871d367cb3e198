//! One guarded HTTP exchange with a streamed answer, for the clients of accepted servers.
//!
//! Owns the limit of the connection's time. The rules are those of `fetch`: each exchange looks the name up once, checks
//! every address and connects to just those addresses. Never follows a redirect, retries, keeps a connection, or limits
//! the body: the caller does. Pitfall: a value of a header in an error; headers hold secrets.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use rouse_core::http_exchange::{
    HttpBody, HttpExchange, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use rouse_core::tool::BoxFuture;

use super::error::{FetchError, innermost_cause};
use super::fetch::{Fetcher, pinned_builder};
use super::rules::{AcceptedServerUrls, HttpConfig};
use super::target::UrlTarget;

/// Time limit of the lookup, and of the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Guarded HTTP for extensions.
pub struct GuardedHttp {
    fetcher: Fetcher,
    accepted: AcceptedServerUrls,
}

impl GuardedHttp {
    /// Uses the hosts and the gateway's ports of `config`; its limits of a whole fetch do not apply. The hosts in
    /// `accepted` may have a local address.
    #[must_use]
    pub fn new(config: &HttpConfig, accepted: AcceptedServerUrls) -> Self {
        Self { fetcher: Fetcher::new(config), accepted }
    }

    async fn send(
        &self,
        request: HttpExchangeRequest,
    ) -> Result<HttpExchangeResponse, HttpExchangeError> {
        let target = UrlTarget::parse(&request.url).map_err(refused)?;
        let method = Method::from_bytes(request.method.as_bytes()).map_err(refused)?;
        let headers = header_map(&request.headers)?;
        let host = target.host().to_string();
        let builder = pinned_builder(&target, &self.resolve(&target).await?)
            .connect_timeout(CONNECT_TIMEOUT)
            .retry(reqwest::retry::never());
        let client = builder.build().map_err(|error| failed_send(&host, error))?;
        let sending = client.request(method, target.url().clone()).headers(headers);
        let sent = sending.body(request.body).send().await;
        let response = sent.map_err(|error| failed_send(&host, error))?;
        let visible = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        Ok(HttpExchangeResponse {
            status: response.status().as_u16(),
            headers: response.headers().iter().filter_map(visible).collect(),
            body: Box::new(StreamedBody { response, host }),
        })
    }

    /// Checks the port and resolves the host to checked addresses.
    async fn resolve(&self, target: &UrlTarget) -> Result<Vec<IpAddr>, HttpExchangeError> {
        let rules = self.fetcher.rules.with_accepted(&self.accepted);
        rules.check_port(target).map_err(rejected)?;
        let resolver = Arc::clone(&self.fetcher.resolver);
        let fetcher = Fetcher { rules, resolver, timeout: self.fetcher.timeout };
        match tokio::time::timeout(CONNECT_TIMEOUT, fetcher.resolve_checked(target)).await {
            Ok(resolved) => resolved.map_err(rejected),
            Err(_) => Err(HttpExchangeError::Unreached(format!(
                "The address of {} was not found within {} seconds. Check the network connection.",
                target.host(),
                CONNECT_TIMEOUT.as_secs()
            ))),
        }
    }
}

impl HttpExchange for GuardedHttp {
    fn exchange(
        &self,
        request: HttpExchangeRequest,
    ) -> BoxFuture<'_, Result<HttpExchangeResponse, HttpExchangeError>> {
        Box::pin(self.send(request))
    }
}

/// The body of an answer, in pieces as they arrive.
struct StreamedBody {
    response: Response,
    host: String,
}

impl HttpBody for StreamedBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
        Box::pin(async move {
            match self.response.chunk().await {
                Ok(piece) => Ok(piece.map(|piece| piece.to_vec())),
                Err(error) => Err(broken(&self.host, &error.without_url())),
            }
        })
    }
}

/// The headers of a request. An error names the header, never its value.
fn header_map(headers: &[(String, String)]) -> Result<HeaderMap, HttpExchangeError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let invalid = || {
            HttpExchangeError::Refused(format!(
                "The header {name:?} has an invalid name or value. Remove line breaks and other control characters from it."
            ))
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}

fn refused(error: impl std::error::Error) -> HttpExchangeError {
    HttpExchangeError::Refused(error.to_string())
}

/// The error of a check or a lookup.
fn rejected(error: FetchError) -> HttpExchangeError {
    match error {
        FetchError::Lookup { .. } | FetchError::NoAddress { .. } => {
            HttpExchangeError::Unreached(error.to_string())
        }
        error => HttpExchangeError::Refused(error.to_string()),
    }
}

/// The error of a request. Without a connection, the request had no effect.
fn failed_send(host: &str, error: reqwest::Error) -> HttpExchangeError {
    let error = error.without_url();
    if error.is_connect() || error.is_builder() {
        return HttpExchangeError::Unreached(format!(
            "{host} could not be reached ({}). Check the address and the network connection.",
            innermost_cause(&error)
        ));
    }
    broken(host, &error)
}

fn broken(host: &str, error: &reqwest::Error) -> HttpExchangeError {
    HttpExchangeError::Broken(format!(
        "The connection to {host} broke ({}).",
        innermost_cause(error)
    ))
}
