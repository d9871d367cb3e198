//! One HTTP exchange of a channel, with a time limit, and the class of its answer.
//!
//! Owns the difference between a request that did not leave and a lost answer. Never retries.
//! Pitfall: an address in an error; the addresses of some channels are passwords.

use std::time::Duration;

use rouse_core::channel::SendOutcome;
use rouse_core::http_exchange::{HttpExchange, HttpExchangeError, HttpExchangeRequest};

/// Time limit of an exchange.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 1 << 20;

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The pause that the service asks for in the header `retry-after`, in seconds.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let (_, value) = self.headers.iter().find(|(name, _)| name == "retry-after")?;
        value.trim().parse().ok().map(Duration::from_secs)
    }

    /// The body as JSON; null if the body is something else.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The class of the answer by its status alone.
    pub(crate) fn outcome(&self, service: &str) -> SendOutcome {
        let status = self.status;
        match status {
            200..=299 => SendOutcome::Accepted { message_id: None },
            300..=399 => SendOutcome::Broken {
                reason: format!(
                    "{service} answers with a redirect ({status}). Write its final address into the settings."
                ),
            },
            401 | 403 => SendOutcome::Broken {
                reason: format!(
                    "{service} refuses the access ({status}). Store a valid key or address."
                ),
            },
            404 | 410 => SendOutcome::Broken {
                reason: format!(
                    "{service} does not know the address any more ({status}). Set the channel up again."
                ),
            },
            408 | 425 | 429 | 500..=599 => SendOutcome::Later {
                reason: format!("{service} asks for a later attempt ({status})."),
                after: self.retry_after(),
            },
            _ => SendOutcome::Refused {
                reason: format!("{service} refuses the message ({status})."),
            },
        }
    }
}

/// Sends a request and reads its answer within `timeout`.
///
/// # Errors
/// The outcome without an answer: not sent, unknown, or refused by the guard.
pub(crate) async fn exchange(
    http: &dyn HttpExchange,
    request: HttpExchangeRequest,
    timeout: Duration,
) -> Result<Answer, SendOutcome> {
    match tokio::time::timeout(timeout, answer(http, request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(HttpExchangeError::Refused(reason))) => Err(SendOutcome::Broken { reason }),
        Ok(Err(HttpExchangeError::Unreached(reason))) => {
            Err(SendOutcome::Later { reason, after: None })
        }
        Ok(Err(HttpExchangeError::Broken(reason))) => Err(SendOutcome::Unknown { reason }),
        Err(_) => {
            let seconds = timeout.as_secs();
            Err(SendOutcome::Unknown { reason: format!("No answer within {seconds} seconds.") })
        }
    }
}

async fn answer(
    http: &dyn HttpExchange,
    request: HttpExchangeRequest,
) -> Result<Answer, HttpExchangeError> {
    let mut response = http.exchange(request).await?;
    let mut body = Vec::new();
    // The status alone tells what became of the message, so a broken body is an empty one.
    while let Ok(Some(piece)) = response.body.next().await {
        body.extend(piece);
        if body.len() > MAX_ANSWER {
            break;
        }
    }
    Ok(Answer { status: response.status, headers: response.headers, body })
}

/// A POST of JSON.
pub(crate) fn post_json(url: &str, body: &serde_json::Value) -> HttpExchangeRequest {
    HttpExchangeRequest {
        method: "POST",
        url: url.to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string().into_bytes(),
    }
}
