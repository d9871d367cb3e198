//! The classification of a provider's errors: kind, message for the person, and retry delay.
//!
//! Owns the reading of rig's errors. The HTTP status decides first: a 4xx stays a 4xx for any `type` in the body. Three
//! facts in the body are more exact than the status: no credit, an overlong conversation, a content filter. Never shows
//! the key (`transport` removes it) or stored secrets (redacted here, before a text is cut: half of a value is not
//! recognised). Pitfall: providers use 429 for "too fast" and for "no credit left", and only the latter is permanent.

use std::time::Duration;

use chrono::DateTime;
use reqwest::Url;
use rig_core::ProviderError as RigError;
use rig_core::http_client::{Error as HttpError, HeaderMap};
use rouse_core::model::{ProviderError, ProviderErrorKind as Kind};
use rouse_core::text::QUOTE_MARK;
use serde_json::Value;

use super::transport::TransportError;
use crate::safety::Safety;

/// The text of a refused connection.
const NO_CONNECTION: &str = "no connection";

/// The advice for a transient error.
const LATER: &str = "Try again later.";

/// Codes of a refused key.
const KEY_CODES: [&str; 3] = ["authentication_error", "permission_error", "invalid_api_key"];

/// Codes of an account without credit.
const CREDIT_CODES: [&str; 4] =
    ["insufficient_quota", "billing_error", "insufficient_credits", "billing_hard_limit_reached"];

/// Words of an account without credit.
const CREDIT_WORDS: [&str; 4] = [
    "credit balance is too low",
    "insufficient credits",
    "insufficient balance",
    "exceeded your current quota",
];

/// Codes of a content filter.
const FILTER_CODES: [&str; 2] = ["content_filter", "content_policy_violation"];

/// Codes and words of a conversation beyond the context window.
const OVERLONG_CODES: [&str; 2] = ["context_length_exceeded", "exceed_context_size_error"];
const OVERLONG_WORDS: [&str; 6] = [
    "prompt is too long",
    "maximum context length",
    "exceeds the available context size",
    "exceeds the context window",
    "exceed context limit",
    "greater than the context length",
];

/// Words of a model that cannot call tools.
const NO_TOOLS_WORDS: [&str; 3] = [
    "does not support tools",
    "does not support function",
    "no endpoints found that support tool use",
];

/// Words of an endpoint that refuses tools for a reasoning model.
const RESPONSES_WORDS: &str = "use /v1/responses";

/// The most characters quoted from a provider.
const QUOTED: usize = 300;

/// The call that failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProviderContext<'c> {
    pub(super) name: &'c str,
    pub(super) model: &'c str,
    /// Host and port of a local server.
    pub(super) address: Option<&'c str>,
    /// Whether the server is local.
    pub(super) is_local: bool,
    /// Whether a part of the answer has arrived.
    pub(super) has_answered: bool,
    /// Redacts the provider's words.
    pub(super) safety: &'c Safety,
}

/// Classifies `error`. A local server without a connection or without a loaded model is not running.
pub(super) fn classify(context: ProviderContext<'_>, error: &RigError) -> ProviderError {
    let error = classify_anywhere(context, error);
    let is_absent = context.is_local && (is_unreachable(&error) || has_none_loaded(&error));
    if is_absent { ProviderError { kind: Kind::NotRunning, ..error } } else { error }
}

/// The error of an answer beyond the size limit.
pub(super) fn too_large(name: &str, cause: &TransportError) -> ProviderError {
    ProviderError::new(Kind::TooLarge, format!("{name} sent too much: {cause}."))
}

fn is_unreachable(error: &ProviderError) -> bool {
    error.kind == Kind::Network && error.message.contains(NO_CONNECTION)
}

/// The words of LM Studio without a loaded model. An unknown model is another error: a misspelt name.
fn has_none_loaded(error: &ProviderError) -> bool {
    matches!(error.kind, Kind::BadRequest | Kind::Server)
        && error.message.to_lowercase().contains("no models loaded")
}

fn classify_anywhere(context: ProviderContext<'_>, error: &RigError) -> ProviderError {
    let name = context.name;
    match error {
        RigError::Truncated => cut_off(context),
        RigError::Http(error) => of_transport(context, error),
        RigError::Request(_) | RigError::Url(_) | RigError::UnsupportedOption(_) => {
            let text = format!("The request to {name} could not be made: {error}");
            ProviderError::new(Kind::BadRequest, text)
        }
        other => match other.provider_response() {
            Some(response) => of_reply(
                context,
                response.status.map(|status| status.as_u16()),
                &response.body,
                response.headers.as_ref(),
            ),
            None => {
                let words = quoted(&other.to_string(), context.safety);
                let text = format!("{name} sent an answer that cannot be read.{QUOTE_MARK}{words}");
                ProviderError::new(Kind::Server, text)
            }
        },
    }
}

fn cut_off(context: ProviderContext<'_>) -> ProviderError {
    let ProviderContext { name, model, has_answered, .. } = context;
    let text = if has_answered {
        format!("The answer of {name} was cut off.")
    } else {
        format!(
            "{name} sent an empty answer for {model}. If this repeats, check the address and the model in the settings."
        )
    };
    ProviderError::new(Kind::Truncated, text)
}

fn of_transport(context: ProviderContext<'_>, error: &HttpError) -> ProviderError {
    let ProviderContext { name, model, address, .. } = context;
    if let HttpError::InvalidContentType(kind) = error {
        let what = match kind.to_str().unwrap_or_default() {
            page if page.starts_with("text/html") => "a web page",
            _ => "something that is no model's answer",
        };
        let text = format!(
            "{name} answered the request for {model} with {what}. Check the address in the settings: the address may be wrong, or require a sign-in."
        );
        return ProviderError::new(Kind::BadRequest, text);
    }
    let unreachable = || match address {
        Some(address) => format!("{name} could not be reached at {address}"),
        None => format!("{name} could not be reached"),
    };
    let HttpError::Instance(inner) = error else {
        let text = format!("The request to {name} could not be made: {error}");
        return ProviderError::new(Kind::BadRequest, text);
    };
    match inner.downcast_ref::<TransportError>() {
        Some(TransportError::CutOff) => cut_off(context),
        Some(TransportError::Silent) => {
            ProviderError::new(Kind::Unanswered, format!("{name} did not answer in time."))
        }
        Some(cause @ TransportError::Broken(_)) => {
            ProviderError::new(Kind::Unanswered, format!("{name} did not answer: {cause}."))
        }
        Some(
            cause @ (TransportError::EventTooLarge { .. } | TransportError::AnswerTooLarge { .. }),
        ) => too_large(name, cause),
        Some(cause) => ProviderError::new(Kind::Network, format!("{}: {cause}.", unreachable())),
        None => ProviderError::new(Kind::Network, format!("{}.", unreachable())),
    }
}

/// Classifies an error reply: by status, or within a stream by status and codes in the body.
fn of_reply(
    context: ProviderContext<'_>,
    status: Option<u16>,
    body: &str,
    headers: Option<&HeaderMap>,
) -> ProviderError {
    let report = ErrorReport::read(body);
    // An error within a stream has status 200 or none; some gateways put the upstream's status into the body.
    let status = status.filter(|status| *status != 200).or(report.status);
    let fault = ReplyFault::of(&report, status);
    let kind = fault.kind(&report, status);
    let (mut message, remediation) = fault.sentence(context, kind, status, headers);
    if let Some(quote) = report.quote(body, context.safety) {
        let end = if quote.ends_with(['.', '!', '?', '…']) { "" } else { "." };
        message = format!("{message}{QUOTE_MARK}{quote}{end}");
    }
    let retry_after = headers.and_then(retry_after);
    if let Some(wait) = retry_after {
        message = format!("{message} Retry after {} seconds.", wait.as_secs());
    }
    if let Some(remediation) = remediation {
        message = format!("{message} {remediation}");
    }
    ProviderError { kind, message, retry_after, status }
}

/// Classifies an error object within an answer.
pub(super) fn of_reported(context: ProviderContext<'_>, error: &Value) -> ProviderError {
    of_reply(context, None, &error.to_string(), None)
}

/// Faults that a body names more exactly than the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyFault {
    Overlong,
    NoCredit,
    UnknownModel,
    NoTools,
    NeedsResponses,
    Moved,
    Other,
}

impl ReplyFault {
    fn of(report: &ErrorReport, status: Option<u16>) -> Self {
        if report.has_code(&OVERLONG_CODES) || report.says_any(&OVERLONG_WORDS) {
            Self::Overlong
        } else if status == Some(402)
            || report.has_code(&CREDIT_CODES)
            || report.says_any(&CREDIT_WORDS)
        {
            Self::NoCredit
        } else if report.says_any(&NO_TOOLS_WORDS) {
            Self::NoTools
        } else if report.says_any(&[RESPONSES_WORDS]) {
            Self::NeedsResponses
        } else if report.names_unknown_model(status) {
            Self::UnknownModel
        } else if matches!(status, Some(300..=399)) {
            Self::Moved
        } else {
            Self::Other
        }
    }

    fn kind(self, report: &ErrorReport, status: Option<u16>) -> Kind {
        match self {
            Self::Overlong => Kind::Overlong,
            Self::NoCredit
            | Self::UnknownModel
            | Self::NoTools
            | Self::NeedsResponses
            | Self::Moved => Kind::BadRequest,
            Self::Other => kind_of(report, status),
        }
    }

    /// The message for the person, with advice.
    fn sentence(
        self,
        context: ProviderContext<'_>,
        kind: Kind,
        status: Option<u16>,
        headers: Option<&HeaderMap>,
    ) -> (String, Option<String>) {
        let ProviderContext { name, model, .. } = context;
        let code = status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        let (what, remediation) = match self {
            Self::NoCredit => (
                format!("The account at {name} has no credit left{code}."),
                "Add credit on the provider's billing page, or choose another model.".to_owned(),
            ),
            Self::UnknownModel => (
                format!("{name} does not have the model {model}{code}."),
                unknown_model_remediation(context),
            ),
            Self::NoTools => (
                format!("{model} at {name} cannot call tools{code}."),
                "Choose a model that supports tools, or turn tools off in the job.".to_owned(),
            ),
            Self::NeedsResponses => (
                format!("{name} takes tools for {model} only on the Responses API{code}."),
                "Set the provider's kind to `openai-responses` in the settings.".to_owned(),
            ),
            Self::Moved => {
                let target = headers.and_then(redirect_target);
                let target = target.map_or_else(String::new, |target| format!(" to {target}"));
                (
                    format!(
                        "{name} redirects{target}{code}. Redirects are not followed, because the key would travel along."
                    ),
                    "Set the provider's address to the target, if you trust the target.".to_owned(),
                )
            }
            Self::Overlong | Self::Other => {
                return plain_sentence(context, kind, &code, status);
            }
        };
        (what, Some(remediation))
    }
}

fn unknown_model_remediation(context: ProviderContext<'_>) -> String {
    if context.is_local {
        let model = context.model;
        return format!(
            "Load the model there first (Ollama: `ollama pull {model}`), or choose another model in the job or the settings."
        );
    }
    "Choose another model in the job or the settings.".to_owned()
}

fn plain_sentence(
    context: ProviderContext<'_>,
    kind: Kind,
    code: &str,
    status: Option<u16>,
) -> (String, Option<String>) {
    let ProviderContext { name, model, .. } = context;
    let (what, remediation) = match kind {
        Kind::Auth if status == Some(403) => (
            format!("{name} does not allow this request for {model}{code}."),
            Some("Check what the key's account may use."),
        ),
        Kind::Auth => (
            format!("{name} does not accept the key{code}."),
            Some("Check the key in the settings."),
        ),
        Kind::RateLimited => (format!("{name} limits the rate of requests{code}."), Some(LATER)),
        Kind::Overloaded => (format!("{name} is overloaded{code}."), Some(LATER)),
        Kind::BadRequest if status == Some(404) => (
            format!("{name} has no such address for {model}{code}."),
            Some("Check the provider's address in the settings."),
        ),
        Kind::BadRequest => {
            (format!("{name} does not accept the request for {model}{code}."), None)
        }
        Kind::Refused => (format!("{name} declines to answer{code}."), None),
        Kind::Overlong => (
            format!(
                "The conversation is longer than the context window of {model} at {name}{code}."
            ),
            Some("Shorten the input, or choose a model with a larger context window."),
        ),
        Kind::Server
        | Kind::Network
        | Kind::Unanswered
        | Kind::Truncated
        | Kind::TooLarge
        | Kind::NotRunning => (format!("{name} failed{code}."), Some(LATER)),
    };
    (what, remediation.map(str::to_owned))
}

/// The kind by status; by code where there is no status.
fn kind_of(report: &ErrorReport, status: Option<u16>) -> Kind {
    match status {
        Some(401 | 403) => Kind::Auth,
        Some(400..=499) if report.has_code(&KEY_CODES) => Kind::Auth,
        Some(408) => Kind::Network,
        Some(409 | 425) => Kind::Server,
        Some(429) => Kind::RateLimited,
        Some(400..=499) if report.has_code(&FILTER_CODES) => Kind::Refused,
        Some(400..=499) => Kind::BadRequest,
        Some(503 | 529) => Kind::Overloaded,
        Some(_) if report.has_code(&["overloaded_error"]) => Kind::Overloaded,
        Some(_) => Kind::Server,
        None => kind_of_codes(report),
    }
}

fn kind_of_codes(report: &ErrorReport) -> Kind {
    let codes: [(&[&str], Kind); 5] = [
        (&KEY_CODES, Kind::Auth),
        (&FILTER_CODES, Kind::Refused),
        (&["overloaded_error"], Kind::Overloaded),
        (&["rate_limit_error", "rate_limit_exceeded"], Kind::RateLimited),
        (&["invalid_request_error", "not_found_error", "request_too_large"], Kind::BadRequest),
    ];
    let known = codes.into_iter().find(|(codes, _)| report.has_code(codes));
    known.map_or(Kind::Server, |(_, kind)| kind)
}

/// The target of a redirect, without query and credentials.
fn redirect_target(headers: &HeaderMap) -> Option<String> {
    let location = headers.get("location")?.to_str().ok()?;
    let url = Url::parse(location).ok()?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{}{port}{}", url.scheme(), url.host_str()?, url.path()))
}

/// The body of an error, in any provider's shape.
struct ErrorReport {
    codes: Vec<String>,
    message: Option<String>,
    status: Option<u16>,
}

impl ErrorReport {
    /// Google sends a list with a single error object; some servers send the error as a text, FastAPI as `detail`.
    fn read(body: &str) -> Self {
        let mut body: Value = serde_json::from_str(body).unwrap_or(Value::Null);
        if let Some(first) = body.as_array_mut().filter(|items| !items.is_empty()) {
            body = first.swap_remove(0);
        }
        let error = body.get("error").or_else(|| body.get("detail")).unwrap_or(&body);
        let error = error.get(0).unwrap_or(error);
        let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
        let status = error.get("code").and_then(Value::as_u64);
        Self {
            codes: ["code", "type", "status"].into_iter().filter_map(text).collect(),
            message: text("message")
                .or_else(|| text("msg"))
                .or_else(|| error.as_str().map(str::to_owned)),
            status: status.and_then(|code| u16::try_from(code).ok()),
        }
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }

    fn says_any(&self, words: &[&str]) -> bool {
        let message = self.message.as_deref().unwrap_or_default().to_lowercase();
        words.iter().any(|words| message.contains(words))
    }

    fn names_unknown_model(&self, status: Option<u16>) -> bool {
        self.has_code(&["model_not_found"])
            || self.says_any(&["not a valid model"])
            || status == Some(404) && self.says_any(&["model"])
    }

    /// The provider's own words, redacted; the start of a body of unknown shape that is no web page.
    fn quote(&self, body: &str, safety: &Safety) -> Option<String> {
        let raw = Some(body.trim()).filter(|body| !body.starts_with('<') && *body != "{}");
        let words =
            self.message.as_deref().or(raw).map(str::trim).filter(|words| !words.is_empty())?;
        Some(quoted(words, safety))
    }
}

/// Words of a provider on a single line, redacted, at most [`QUOTED`] characters.
pub(super) fn quoted(words: &str, safety: &Safety) -> String {
    let one_line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let one_line = safety.redacted(&one_line).unwrap_or(one_line);
    if one_line.chars().count() <= QUOTED {
        return one_line;
    }
    one_line.chars().take(QUOTED).chain(['…']).collect()
}

/// The provider's retry delay: in milliseconds, in seconds, or until a date, relative to the reply's own date, which
/// needs no clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<u32>().ok()) {
        return Some(Duration::from_millis(ms.into()));
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let until = DateTime::parse_from_rfc2822(after).ok()?;
    let now = DateTime::parse_from_rfc2822(text("date")?).ok()?;
    Some((until - now).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests;
