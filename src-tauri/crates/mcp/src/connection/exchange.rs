//! The transport over guarded HTTP, for the protocol library.
//!
//! Owns the size limits of answers and the reading of rejections. Each request carries the present token of the sign-in;
//! a rejected token is renewed once. A token that the server echoes is redacted. Never follows a redirect and never
//! starts a sign-in. A 401 or 403 is an error of its own. Pitfall: a legacy server rejects the modern first request in
//! its own words; such a rejection becomes an error answer, which leads to the legacy start.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpClient,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use rouse_core::http_exchange::{
    HttpBody, HttpExchange, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use sse_stream::{Error as SseError, Sse};

use super::error::ConnectionError;
use super::sse;
use super::token_redaction::without_token;
use crate::sign_in::{ServerTokens, SignInError, SignInErrorKind};

/// The most bytes of a JSON answer.
const MAX_JSON: usize = 4 << 20;

/// The most bytes that are read of a rejection.
const MAX_REJECTION: usize = 64 << 10;

/// The most characters of a rejection in an error.
const MAX_SHOWN: usize = 300;

const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION_HEADER: &str = "mcp-session-id";

/// Headers of the protocol, which a definition cannot set.
const RESERVED_HEADERS: &[&str] =
    &["accept", "content-type", "last-event-id", "mcp-method", "mcp-name", SESSION_HEADER];

type ExchangeError = StreamableHttpError<HttpExchangeError>;

/// The configuration of the transport to `url`.
pub(super) fn transport_config(
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransportConfig, ConnectionError> {
    let headers = request_headers(headers)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers);
    config.retry_config = Arc::new(StreamRetry);
    Ok(config)
}

/// Delays before a broken event stream is opened again: 1, 2, 4, 8, 16 s, then never.
#[derive(Debug)]
struct StreamRetry;

impl SseRetryPolicy for StreamRetry {
    fn retry(&self, attempts: usize) -> Option<Duration> {
        (attempts < 5).then(|| Duration::from_secs(1 << attempts))
    }
}

/// The headers of a definition, for every request.
fn request_headers(
    headers: &BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, ConnectionError> {
    let mut checked = HashMap::new();
    for (name, value) in headers {
        let invalid = |why: &str| {
            ConnectionError::Unreached(format!("The header `{name}` of the server {why}."))
        };
        let name =
            HeaderName::try_from(name.as_str()).map_err(|_| invalid("has an invalid name"))?;
        if RESERVED_HEADERS.contains(&name.as_str()) {
            return Err(invalid("belongs to the protocol and cannot be set"));
        }
        let mut value =
            HeaderValue::from_str(value).map_err(|_| invalid("has an invalid value"))?;
        value.set_sensitive(true);
        checked.insert(name, value);
    }
    Ok(checked)
}

/// The port to guarded HTTP as the protocol library's client.
#[derive(Clone)]
pub(super) struct ExchangeClient {
    exchange: Arc<dyn HttpExchange>,
    /// The tokens of a server that a person can sign in at.
    tokens: Option<ServerTokens>,
}

impl ExchangeClient {
    pub(super) fn new(exchange: Arc<dyn HttpExchange>, tokens: Option<ServerTokens>) -> Self {
        Self { exchange, tokens }
    }

    /// Sends a request with the present token; a 401 or 403 is an error.
    async fn send(
        &self,
        request: HttpExchangeRequest,
    ) -> Result<HttpExchangeResponse, ExchangeError> {
        let response = match &self.tokens {
            Some(tokens) => self.send_signed_in(request, tokens).await?,
            None => self.send_with(request, None).await?,
        };
        let named = header(&response, "www-authenticate").map(str::to_owned);
        if let (401 | 403, Some(tokens), Some(challenge)) = (response.status, &self.tokens, &named)
        {
            tokens.note_rejection(response.status, challenge).await;
        }
        let status = response.status;
        let challenge = named.unwrap_or_else(|| format!("HTTP {status}"));
        match status {
            401 => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))),
            403 => Err(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(
                challenge, None,
            ))),
            _ => Ok(response),
        }
    }

    /// Sends a request with the token of the sign-in. A rejected token is renewed once: the server did nothing with the
    /// first request.
    async fn send_signed_in(
        &self,
        request: HttpExchangeRequest,
        tokens: &ServerTokens,
    ) -> Result<HttpExchangeResponse, ExchangeError> {
        let Some(token) = tokens.token().await.map_err(sign_in_error)? else {
            return self.send_with(request, None).await;
        };
        let response = self.send_with(request.clone(), Some(&token)).await?;
        if response.status != 401 {
            return Ok(response);
        }
        // A failed renewal hides this answer, but the next sign-in needs its challenge.
        if let Some(challenge) = header(&response, "www-authenticate").map(str::to_owned) {
            tokens.note_rejection(response.status, &challenge).await;
        }
        match tokens.renew(&token).await.map_err(sign_in_error)? {
            Some(renewed) => self.send_with(request, Some(&renewed)).await,
            None => Ok(response),
        }
    }

    async fn send_with(
        &self,
        mut request: HttpExchangeRequest,
        token: Option<&str>,
    ) -> Result<HttpExchangeResponse, ExchangeError> {
        let header = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
        request.headers.extend(header);
        let response = self.exchange.exchange(request).await;
        let response = response.map_err(StreamableHttpError::Client)?;
        Ok(match token {
            Some(token) => without_token(response, token),
            None => response,
        })
    }
}

/// The error of a request that was not sent.
fn sign_in_error(error: SignInError) -> ExchangeError {
    match error.kind {
        SignInErrorKind::NeedsSignIn => {
            StreamableHttpError::AuthRequired(AuthRequiredError::new(error.text))
        }
        SignInErrorKind::Transient | SignInErrorKind::Refused => {
            StreamableHttpError::Client(HttpExchangeError::Unreached(error.text))
        }
    }
}

impl StreamableHttpClient for ExchangeClient {
    type Error = HttpExchangeError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, ExchangeError> {
        let mut headers = exchange_headers(session_id.as_deref(), &custom_headers);
        headers.push(("accept".to_owned(), format!("{JSON}, {EVENT_STREAM}")));
        headers.push(("content-type".to_owned(), JSON.to_owned()));
        let body = serde_json::to_vec(&message)?;
        let request = HttpExchangeRequest { method: "POST", url: uri.to_string(), headers, body };
        let response = self.send(request).await?;
        match (response.status, request_id(&message)) {
            (404, _) if session_id.is_some() => Err(StreamableHttpError::SessionExpired),
            (202 | 204, _) | (200..=299, None) => Ok(StreamableHttpPostResponse::Accepted),
            (200..=299, Some(id)) => read_answer(response, id).await,
            _ => read_rejection(response, &message).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), ExchangeError> {
        let headers = exchange_headers(Some(&session_id), &custom_headers);
        let request = HttpExchangeRequest {
            method: "DELETE",
            url: uri.to_string(),
            headers,
            body: Vec::new(),
        };
        // A server may refuse the deletion; the session then ends by itself.
        self.send(request).await.map(|_| ())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, ExchangeError> {
        let mut headers = exchange_headers(session_id.as_deref(), &custom_headers);
        headers.push(("accept".to_owned(), EVENT_STREAM.to_owned()));
        if let Some(id) = last_event_id {
            headers.push(("last-event-id".to_owned(), id));
        }
        let request =
            HttpExchangeRequest { method: "GET", url: uri.to_string(), headers, body: Vec::new() };
        let response = self.send(request).await?;
        match response.status {
            200..=299 if media_type(&response) == EVENT_STREAM => {
                Ok(sse::events(response.body, None))
            }
            // Without such a stream the server answers 405; many answer another error.
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }
}

fn exchange_headers(
    session_id: Option<&str>,
    custom: &HashMap<HeaderName, HeaderValue>,
) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut headers: Vec<_> =
        custom.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    headers.extend(session_id.map(|id| (SESSION_HEADER.to_owned(), id.to_owned())));
    headers
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

async fn read_answer(
    mut response: HttpExchangeResponse,
    request: RequestId,
) -> Result<StreamableHttpPostResponse, ExchangeError> {
    let session = header(&response, SESSION_HEADER).map(str::to_owned);
    let kind = media_type(&response);
    if kind == EVENT_STREAM {
        let events = sse::events(response.body, Some(request));
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    if kind != JSON {
        return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
    }
    let body = read_up_to(response.body.as_mut(), MAX_JSON + 1).await?;
    if body.len() > MAX_JSON {
        return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: MAX_JSON });
    }
    let message = serde_json::from_slice(&body).map_err(|error| {
        let sentence =
            format!("The answer of the server is no message ({error}): {}", shown(&body));
        StreamableHttpError::UnexpectedServerResponse(sentence.into())
    })?;
    Ok(StreamableHttpPostResponse::Json(message, session))
}

/// Reads an answer that is no success. The server's own error belongs to the request of this exchange, whatever id
/// the error carries.
async fn read_rejection(
    mut response: HttpExchangeResponse,
    message: &ClientJsonRpcMessage,
) -> Result<StreamableHttpPostResponse, ExchangeError> {
    let body = read_up_to(response.body.as_mut(), MAX_REJECTION).await?;
    let status = response.status;
    let sentence = format!("The server answered with HTTP {status}: {}", shown(&body));
    let unexpected = || StreamableHttpError::UnexpectedServerResponse(sentence.clone().into());
    let ClientJsonRpcMessage::Request(request) = message else { return Err(unexpected()) };
    let error = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(ServerJsonRpcMessage::Error(rejection)) => rejection.error,
        _ if matches!(request.request, ClientRequest::DiscoverRequest(_))
            && is_unknown_request(status) =>
        {
            ErrorData::invalid_request(sentence, None)
        }
        _ => return Err(unexpected()),
    };
    let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
    Ok(StreamableHttpPostResponse::Json(answer, None))
}

/// Whether a server may answer a request that it does not know with this status.
const fn is_unknown_request(status: u16) -> bool {
    matches!(status, 400..=501) && status != 429
}

async fn read_up_to(body: &mut dyn HttpBody, limit: usize) -> Result<Vec<u8>, ExchangeError> {
    let mut read = Vec::new();
    while read.len() < limit {
        let Some(piece) = body.next().await.map_err(StreamableHttpError::Client)? else { break };
        let room = limit - read.len();
        read.extend_from_slice(&piece[..piece.len().min(room)]);
    }
    Ok(read)
}

fn header<'r>(response: &'r HttpExchangeResponse, name: &str) -> Option<&'r str> {
    response.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The media type without parameters, in lowercase.
fn media_type(response: &HttpExchangeResponse) -> String {
    let value = header(response, "content-type").unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if text.trim().is_empty() {
        "(no text)".to_owned()
    } else {
        text.chars().take(MAX_SHOWN).collect()
    }
}
