//! Why a connection or a call failed.
//!
//! Owns the translation of the protocol library's errors into sentences for people. Pitfall: `Unreached` promises that
//! nothing happened at the server; an error after the request was sent is never `Unreached`.

use rmcp::ServiceError;
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rouse_core::extension::ProcessEnd;
use rouse_core::http_exchange::HttpExchangeError;
use serde_json::Value;

use super::requested_input::RequestedInput;

/// The most characters of a server's text in an error.
const MAX_TEXT: usize = 2_000;

/// The key in the data of an error that stands for an answer over the size limit.
pub(super) const OVERSIZE_KEY: &str = "rouseAnswerTooLarge";

/// Why a connection or a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConnectionError {
    /// The request did not reach the server, so it had no effect.
    #[error("{0}")]
    Unreached(String),
    /// The server ended or closed the connection; the effect of a call is unknown.
    #[error("{0}")]
    Ended(String),
    /// The server broke the protocol.
    #[error("{0}")]
    Protocol(String),
    /// The server neither answered nor reported progress within the time limit.
    #[error("The server neither answered nor reported progress within the time limit.")]
    TimedOut,
    /// The sign-in is missing or expired: the challenge of the server.
    #[error("The server needs a sign-in: {0}")]
    NeedsSignIn(String),
    /// The server answered with an error.
    #[error("The server rejected the request with code {code}: {message}")]
    Rejected {
        /// The code of JSON-RPC.
        code: i64,
        /// The message of the server.
        message: String,
    },
    /// The answer is over a size limit.
    #[error("{0}")]
    TooLarge(String),
    /// The call is not finished: the server asks for input first.
    #[error("The server asks for input.")]
    InputRequired(Box<RequestedInput>),
}

/// Why a start of the protocol failed.
pub(super) fn startup_error(error: &ClientInitializeError) -> ConnectionError {
    match error {
        ClientInitializeError::TransportError { error, .. } => transport_error(error),
        ClientInitializeError::JsonRpcError(rejection) => rejected(rejection),
        ClientInitializeError::ConnectionClosed(_) => ConnectionError::Ended(
            "The server closed the connection while it was starting.".to_owned(),
        ),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<&str> =
                server_supported.iter().map(ProtocolVersion::as_str).collect();
            ConnectionError::Protocol(bounded(&format!(
                "The server speaks no protocol version that Rouse knows: {}.",
                versions.join(", ")
            )))
        }
        other => ConnectionError::Protocol(bounded(&format!(
            "The server answered the start with an unexpected message: {other}."
        ))),
    }
}

/// Why a request failed.
pub(super) fn request_error(error: &ServiceError) -> ConnectionError {
    match error {
        ServiceError::McpError(rejection) => rejected(rejection),
        ServiceError::TransportSend(error) => transport_error(error),
        ServiceError::TransportClosed => ConnectionError::Ended(
            "The server closed the connection before it answered.".to_owned(),
        ),
        ServiceError::Cancelled { .. } => {
            ConnectionError::Ended("The request was cancelled.".to_owned())
        }
        ServiceError::Timeout { .. } => ConnectionError::TimedOut,
        other => ConnectionError::Protocol(bounded(&format!(
            "The server answered with an unexpected message: {other}."
        ))),
    }
}

fn rejected(rejection: &ErrorData) -> ConnectionError {
    let message = bounded(&rejection.message);
    let mark = rejection.data.as_ref().and_then(|data| data.get(OVERSIZE_KEY));
    if mark.and_then(Value::as_bool) == Some(true) {
        return ConnectionError::TooLarge(message);
    }
    ConnectionError::Rejected { code: i64::from(rejection.code.0), message }
}

fn transport_error(error: &DynamicTransportError) -> ConnectionError {
    if let Some(end) = error.error.downcast_ref::<ProcessEnd>() {
        return ConnectionError::Ended(end.0.clone());
    }
    match error.error.downcast_ref::<StreamableHttpError<HttpExchangeError>>() {
        Some(error) => http_error(error),
        None => ConnectionError::Protocol(bounded(&format!("The connection failed: {error}."))),
    }
}

fn http_error(error: &StreamableHttpError<HttpExchangeError>) -> ConnectionError {
    match error {
        StreamableHttpError::Client(
            HttpExchangeError::Unreached(reason) | HttpExchangeError::Refused(reason),
        ) => ConnectionError::Unreached(reason.clone()),
        StreamableHttpError::Client(HttpExchangeError::Broken(reason)) => {
            ConnectionError::Ended(reason.clone())
        }
        StreamableHttpError::AuthRequired(challenge) => {
            ConnectionError::NeedsSignIn(bounded(&challenge.www_authenticate_header))
        }
        StreamableHttpError::InsufficientScope(challenge) => {
            ConnectionError::NeedsSignIn(bounded(&challenge.www_authenticate_header))
        }
        StreamableHttpError::ResponseBodyTooLarge { max_size } => ConnectionError::TooLarge(
            format!("The answer of the server is larger than {} MB.", max_size >> 20),
        ),
        StreamableHttpError::UnexpectedServerResponse(text) => {
            ConnectionError::Protocol(bounded(text))
        }
        StreamableHttpError::TransportChannelClosed => {
            ConnectionError::Ended("The connection to the server is closed.".to_owned())
        }
        other => ConnectionError::Protocol(bounded(&format!("The connection failed: {other}."))),
    }
}

/// The beginning of a text.
fn bounded(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
