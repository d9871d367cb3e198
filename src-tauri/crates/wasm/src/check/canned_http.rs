//! HTTP with the canned answers of a test.
//!
//! Owns the match of a request: method and URL. Answers to the same request come in their order; the last one repeats.
//! Never opens a connection. Pitfall: a tool that hides the error of a request; the first request without an answer
//! fails the test.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rouse_core::http_exchange::{
    HttpBody, HttpExchange, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use rouse_core::text::percent_encode;
use rouse_core::tool::BoxFuture;

use super::outcome::ToolTestFailure;
use crate::host::replace_handles;
use crate::manifest::CannedHttpExchange;

/// The value of the secret `name` in tests.
pub(super) fn test_value(name: &str) -> String {
    format!("secret:{name}")
}

/// The answers of one test.
pub(super) struct CannedHttp {
    exchanges: Vec<CannedHttpExchange>,
    progress: Mutex<CannedProgress>,
}

#[derive(Default)]
struct CannedProgress {
    /// Answers that were given, by their place.
    used: Vec<usize>,
    uncovered: Option<UncoveredRequest>,
}

/// A request without a canned answer.
#[derive(Clone)]
struct UncoveredRequest {
    method: &'static str,
    url: String,
}

impl CannedHttp {
    pub(super) fn new(exchanges: Vec<CannedHttpExchange>) -> Self {
        Self { exchanges, progress: Mutex::default() }
    }

    /// The first request that no answer covers, with the handles of `secrets`.
    pub(super) fn uncovered(&self, secrets: &[String]) -> Option<ToolTestFailure> {
        let UncoveredRequest { method, url } = self.progress().uncovered.clone()?;
        let url = secrets.iter().fold(url, |url, name| {
            url.replace(&percent_encode(&test_value(name)), &format!("{{{{secret:{name}}}}}"))
        });
        Some(ToolTestFailure::UncoveredRequest { method: method.to_owned(), url })
    }

    fn progress(&self) -> MutexGuard<'_, CannedProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &HttpExchangeRequest) -> Option<&CannedHttpExchange> {
        let matching = self.exchanges.iter().enumerate().filter(|(_, canned)| {
            let filled = replace_handles(&canned.url, |name| percent_encode(&test_value(name)));
            canned.method == request.method && (filled == request.url || canned.url == request.url)
        });
        let matching: Vec<_> = matching.collect();
        let mut progress = self.progress();
        let unused = matching.iter().find(|(at, _)| !progress.used.contains(at));
        let (at, canned) = unused.or(matching.last())?;
        progress.used.push(*at);
        Some(canned)
    }
}

impl HttpExchange for CannedHttp {
    fn exchange(
        &self,
        request: HttpExchangeRequest,
    ) -> BoxFuture<'_, Result<HttpExchangeResponse, HttpExchangeError>> {
        let response = match self.answer(&request) {
            Some(canned) => Ok(HttpExchangeResponse {
                status: canned.status,
                headers: canned.headers.clone(),
                body: Box::new(CannedBody(Some(canned.body.clone().into_bytes()))),
            }),
            None => {
                let url = request.url;
                let message = format!("No canned answer covers {} {url}.", request.method);
                let uncovered = UncoveredRequest { method: request.method, url };
                self.progress().uncovered.get_or_insert(uncovered);
                Err(HttpExchangeError::Refused(message))
            }
        };
        Box::pin(async move { response })
    }
}

struct CannedBody(Option<Vec<u8>>);

impl HttpBody for CannedBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
        let body = self.0.take();
        Box::pin(async move { Ok(body) })
    }
}
