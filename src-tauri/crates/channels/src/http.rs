//! One HTTP exchange of a channel, with a time limit, and the class of its answer.
//!
//! Owns the difference between a request that did not leave and a lost answer. Never retries.
//! Pitfall: an address in an error; the addresses of some channels are passwords. They use [`exchange_secret_url`].

use std::time::Duration;

use rouse_core::channel::SendOutcome;
use rouse_core::http_exchange::{HttpExchange, HttpExchangeError, HttpExchangeRequest};

/// Time limit of an exchange.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of an answer that are read: ten long messages in a poll, with the messages that they quote.
const MAX_ANSWER: usize = 8 << 20;

/// The longest pause that a service can ask for, in seconds: one day.
const MAX_RETRY_AFTER: f64 = 86_400.0;

/// An answer. Its body ends early if the connection broke or the time was over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The pause that the service asks for in the header `retry-after`, in seconds. A date has no effect.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let (_, value) = self.headers.iter().find(|(name, _)| name == "retry-after")?;
        value.trim().parse().ok().and_then(pause_of)
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
            // A gateway or a crash in the middle: the service may have taken the message.
            500 | 502 | 504 => SendOutcome::ServerError {
                reason: format!("{service} reports an error of its own ({status})."),
            },
            408 | 425 | 429 | 501..=599 => SendOutcome::Later {
                reason: format!("{service} asks for a later attempt ({status})."),
                after: self.retry_after(),
            },
            _ => SendOutcome::Refused {
                reason: format!("{service} refuses the message ({status})."),
            },
        }
    }
}

/// The outcome of a message to a service that gives each message an id. A success without an id is not from the service,
/// but for example the sign-in page of a network.
pub(crate) fn confirmed(service: &str, outcome: SendOutcome) -> SendOutcome {
    match outcome {
        SendOutcome::Accepted { message_id: None } => SendOutcome::Unknown {
            reason: format!("{service} did not confirm the message: its answer has no id."),
        },
        other => other,
    }
}

/// A pause of `seconds`, at most one day; none for a number that is no pause.
pub(crate) fn pause_of(seconds: f64) -> Option<Duration> {
    let is_pause = seconds.is_finite() && seconds >= 0.0;
    is_pause.then(|| Duration::from_secs_f64(seconds.min(MAX_RETRY_AFTER)))
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
    let mut answer = None;
    let ended = tokio::time::timeout(timeout, read_answer(http, request, &mut answer)).await;
    if let Some(answer) = answer {
        return Ok(answer);
    }
    Err(match ended {
        Ok(Err(HttpExchangeError::Refused(reason))) => SendOutcome::Broken { reason },
        Ok(Err(HttpExchangeError::Unreached(reason))) => SendOutcome::Later { reason, after: None },
        Ok(Err(HttpExchangeError::Broken(reason))) => SendOutcome::Unknown { reason },
        Ok(Ok(())) | Err(_) => {
            let seconds = timeout.as_secs();
            SendOutcome::Unknown { reason: format!("No answer within {seconds} seconds.") }
        }
    })
}

/// As [`exchange`] with the usual time limit, for a URL that is a password: the reasons name only `service`.
///
/// # Errors
/// The outcome without an answer: not sent, unknown, or refused by the guard.
pub(crate) async fn exchange_secret_url(
    http: &dyn HttpExchange,
    request: HttpExchangeRequest,
    service: &str,
) -> Result<Answer, SendOutcome> {
    exchange(http, request, SEND_TIMEOUT).await.map_err(|outcome| match outcome {
        SendOutcome::Later { after, .. } => SendOutcome::Later {
            reason: format!("{service} could not be reached. Check the network connection."),
            after,
        },
        SendOutcome::Unknown { .. } => SendOutcome::Unknown {
            reason: format!("{service} did not answer. The message may have arrived."),
        },
        SendOutcome::Broken { .. } => SendOutcome::Broken {
            reason: format!(
                "{service} has an invalid address, or one that is not allowed. Store its address again."
            ),
        },
        other => other,
    })
}

/// The result of a check whose request has this outcome. `service` begins a sentence.
///
/// # Errors
/// Any outcome but an accepted request: cause and remedy as sentences.
pub(crate) fn check_result(outcome: SendOutcome, service: &str) -> Result<(), String> {
    match outcome {
        SendOutcome::Accepted { .. } => Ok(()),
        // The sentences of an unknown outcome speak of a message, and a check sends none.
        SendOutcome::Unknown { .. } => Err(format!(
            "{service} gave no usable answer. Check the address of the channel and try again."
        )),
        SendOutcome::Later { reason, .. }
        | SendOutcome::ServerError { reason }
        | SendOutcome::Refused { reason }
        | SendOutcome::Broken { reason } => Err(reason),
    }
}

/// Reads the head into `answer`, then the body.
async fn read_answer(
    http: &dyn HttpExchange,
    request: HttpExchangeRequest,
    answer: &mut Option<Answer>,
) -> Result<(), HttpExchangeError> {
    let response = http.exchange(request).await?;
    let (status, headers, mut body) = (response.status, response.headers, response.body);
    let read = answer.insert(Answer { status, headers, body: Vec::new() });
    // The status alone tells what became of the message, so the rest of a broken or endless body is left out.
    while let Ok(Some(piece)) = body.next().await {
        read.body.extend(piece);
        if read.body.len() > MAX_ANSWER {
            break;
        }
    }
    Ok(())
}

/// A request without headers and body.
pub(crate) fn bare_request(method: &'static str, url: &str) -> HttpExchangeRequest {
    HttpExchangeRequest { method, url: url.to_owned(), headers: Vec::new(), body: Vec::new() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubles::{FakeExchange, FakeReply};

    async fn exchanged(reply: FakeReply) -> Result<Answer, SendOutcome> {
        let http = FakeExchange::new([reply]);
        let request = post_json("https://example.org/CANARY", &serde_json::json!({}));
        exchange(&*http, request, Duration::ZERO).await
    }

    async fn answer_of(reply: FakeReply) -> Answer {
        exchanged(reply).await.expect("an answer")
    }

    #[tokio::test]
    async fn port_errors_have_a_class_each() {
        let failed = exchanged(FakeReply::Refused).await.expect_err("no answer");
        assert!(matches!(failed, SendOutcome::Broken { .. }), "{failed:?}");
        let failed = exchanged(FakeReply::Unreached).await.expect_err("no answer");
        assert!(matches!(failed, SendOutcome::Later { after: None, .. }), "{failed:?}");
        let failed = exchanged(FakeReply::Broken).await.expect_err("no answer");
        assert!(matches!(failed, SendOutcome::Unknown { .. }), "{failed:?}");
        let failed = exchanged(FakeReply::Never).await.expect_err("no answer");
        assert!(matches!(failed, SendOutcome::Unknown { .. }), "{failed:?}");
    }

    #[tokio::test]
    async fn lost_body_keeps_the_status() {
        for reply in [FakeReply::StalledBody(429), FakeReply::BrokenBody(429)] {
            let answer = answer_of(reply).await;
            assert_eq!((answer.status, answer.text().as_str()), (429, "begin"));
        }
    }

    #[tokio::test]
    async fn status_has_a_class() {
        for (status, class) in [
            (200, "Accepted"),
            (302, "Broken"),
            (400, "Refused"),
            (401, "Broken"),
            (404, "Broken"),
            (410, "Broken"),
            (413, "Refused"),
            (429, "Later"),
            (503, "Later"),
        ] {
            let outcome = answer_of(FakeReply::answer(status, "")).await.outcome("It");
            assert!(format!("{outcome:?}").starts_with(class), "{status}: {outcome:?}");
        }
    }

    #[tokio::test]
    async fn retry_after_is_a_pause_of_at_most_a_day() {
        for (value, seconds) in [
            ("2", Some(2)),
            (" 120 ", Some(120)),
            ("1e300", Some(86_400)),
            ("-1", None),
            ("inf", None),
            ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ] {
            let reply = FakeReply::answer_with(503, "", [("retry-after", value)]);
            let pause = answer_of(reply).await.retry_after();
            assert_eq!(pause, seconds.map(Duration::from_secs), "{value}");
        }
    }

    #[tokio::test]
    async fn secret_url_is_in_no_reason() {
        for reply in [FakeReply::Refused, FakeReply::Unreached, FakeReply::Broken] {
            let http = FakeExchange::new([reply]);
            let request = post_json("https://example.org/CANARY", &serde_json::json!({}));
            let failed = exchange_secret_url(&*http, request, "Slack").await;
            let failed = format!("{:?}", failed.expect_err("no answer"));
            assert!(failed.contains("Slack") && !failed.contains("CANARY"), "{failed}");
        }
    }
}
