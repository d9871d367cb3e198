//! What a provider's failure means: its kind, a sentence for the person, and how long to wait.
//!
//! Owns the reading of rig's errors. The HTTP status decides first: a 4xx stays a 4xx whatever `type` the body names. Three
//! facts in the body are more exact than the status: no credit, an overlong conversation, a content filter. Never shows the
//! key (`transport` removes it) or the values of stored secrets (removed here, before a text is cut: half of a value is not
//! recognised). Pitfall: providers use 429 for "too fast" and for "no credit left", and only the latter is permanent.

use std::time::Duration;

use chrono::DateTime;
use reqwest::Url;
use rig_core::ProviderError as RigError;
use rig_core::http_client::{Error as HttpError, HeaderMap};
use rouse_core::model::{ProviderError, ProviderErrorKind as Kind};
use rouse_core::said::SAID;
use serde_json::Value;

use super::transport::TransportError;
use crate::safety::Safety;

/// How a refused connection is named.
const NO_CONNECTION: &str = "no connection";

/// The advice for a transient error.
const LATER: &str = "It may pass: try again later.";

/// Codes of a key that is not accepted.
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

/// Codes and words of a conversation that is longer than the context window.
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
    /// Host and port of a server on this computer.
    pub(super) address: Option<&'c str>,
    /// Whether the server is on this computer.
    pub(super) is_here: bool,
    /// Whether a part of the answer has arrived.
    pub(super) has_answered: bool,
    /// Removes secrets from the provider's words.
    pub(super) safety: &'c Safety,
}

/// The meaning of `error`. A server on this computer that takes no connection, or has no model loaded, is not running.
pub(super) fn classify(context: ProviderContext<'_>, error: &RigError) -> ProviderError {
    let error = classify_anywhere(context, error);
    let is_absent = context.is_here && (is_unreachable(&error) || has_none_loaded(&error));
    if is_absent { ProviderError { kind: Kind::NotRunning, ..error } } else { error }
}

/// The error of an answer that is larger than any honest one.
pub(super) fn too_large(name: &str, cause: &TransportError) -> ProviderError {
    ProviderError::new(Kind::TooLarge, format!("{name} sent too much: {cause}."))
}

fn is_unreachable(error: &ProviderError) -> bool {
    error.kind == Kind::Network && error.message.contains(NO_CONNECTION)
}

/// LM Studio's words. A server that does not know the model is running: the person has misspelt the name.
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
                let text = format!("{name} sent an answer that cannot be read.{SAID}{words}");
                ProviderError::new(Kind::Server, text)
            }
        },
    }
}

fn cut_off(context: ProviderContext<'_>) -> ProviderError {
    let ProviderContext { name, model, has_answered, .. } = context;
    let text = if has_answered {
        format!("The answer of {name} broke off before its end.")
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
            "{name} answered the request for {model} with {what}. Check its address in the settings: it may be wrong, or ask for a sign-in first."
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

/// The meaning of an error reply: by its status, or within a stream by the status and the codes in its body.
fn of_reply(
    context: ProviderContext<'_>,
    status: Option<u16>,
    body: &str,
    headers: Option<&HeaderMap>,
) -> ProviderError {
    let report = ErrorReport::read(body);
    // An error within a stream has status 200 or none; some gateways put the upstream's status into the body.
    let status = status.filter(|status| *status != 200).or(report.status);
    let fault = Fault::of(&report, status);
    let kind = fault.kind(&report, status);
    let (mut message, remediation) = fault.sentence(context, kind, status, headers);
    if let Some(quote) = report.quote(body, context.safety) {
        let end = if quote.ends_with(['.', '!', '?', '…']) { "" } else { "." };
        message = format!("{message}{SAID}{quote}{end}");
    }
    let retry_after = headers.and_then(retry_after);
    if let Some(wait) = retry_after {
        message = format!("{message} It asks to wait {} seconds.", wait.as_secs());
    }
    if let Some(remediation) = remediation {
        message = format!("{message} {remediation}");
    }
    ProviderError { kind, message, retry_after, status }
}

/// The meaning of an error object within an answer.
pub(super) fn of_reported(context: ProviderContext<'_>, error: &Value) -> ProviderError {
    of_reply(context, None, &error.to_string(), None)
}

/// What is wrong, where a reply says it more exactly than its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Overlong,
    NoCredit,
    UnknownModel,
    NoTools,
    NeedsResponses,
    Moved,
    Other,
}

impl Fault {
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

    /// The sentence for the person, and what to do.
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
                    "Set the provider's address to that one, if you trust it.".to_owned(),
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
    if context.is_here {
        let model = context.model;
        return format!(
            "Load it there first (Ollama: `ollama pull {model}`), or choose another model in the job or the settings."
        );
    }
    "Choose another one in the job or the settings.".to_owned()
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
            Some("Give it less to read, or choose a model with a larger window."),
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

/// Where a redirect leads, without query and credentials.
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
    /// Google sends a list with one error object; some servers send the error as a text, FastAPI one as `detail`.
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

    /// The provider's own words without secrets; the start of the body when it has no known shape and is no web page.
    fn quote(&self, body: &str, safety: &Safety) -> Option<String> {
        let raw = Some(body.trim()).filter(|body| !body.starts_with('<') && *body != "{}");
        let words =
            self.message.as_deref().or(raw).map(str::trim).filter(|words| !words.is_empty())?;
        Some(quoted(words, safety))
    }
}

/// Words of a provider on one line, without secrets, at most [`QUOTED`] characters.
pub(super) fn quoted(words: &str, safety: &Safety) -> String {
    let one_line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let one_line = safety.redacted(&one_line).unwrap_or(one_line);
    if one_line.chars().count() <= QUOTED {
        return one_line;
    }
    one_line.chars().take(QUOTED).chain(['…']).collect()
}

/// How long the provider asks to wait: in milliseconds, in seconds, or until a date, which is read against the reply's own
/// date because that needs no clock.
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
mod tests {
    use std::sync::{Arc, LazyLock};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().expect("name"), value.parse().expect("value")))
            .collect()
    }

    fn acme() -> ProviderContext<'static> {
        static NO_SECRETS: LazyLock<Safety> = LazyLock::new(|| Safety::new(Arc::default()));
        let (name, model, address, safety) = ("acme", "m-1", None, &*NO_SECRETS);
        ProviderContext { name, model, address, is_here: false, has_answered: false, safety }
    }

    fn kind(status: Option<u16>, body: &str) -> Kind {
        of_reply(acme(), status, body, None).kind
    }

    #[test]
    fn the_status_decides_when_the_body_says_nothing() {
        for (status, expected) in [
            (400, Kind::BadRequest),
            (401, Kind::Auth),
            (403, Kind::Auth),
            (404, Kind::BadRequest),
            (408, Kind::Network),
            (429, Kind::RateLimited),
            (500, Kind::Server),
            (502, Kind::Server),
            (503, Kind::Overloaded),
            (529, Kind::Overloaded),
        ] {
            assert_eq!(kind(Some(status), "<html>"), expected, "{status}");
        }
    }

    #[test]
    fn forbidden_request_does_not_blame_the_key_and_detail_is_quoted() {
        let message =
            of_reply(acme(), Some(403), r#"{"detail":"Region not supported"}"#, None).message;
        assert_eq!(
            message,
            "acme does not allow this request for m-1 (HTTP 403). It said: Region not supported. Check what the key's account may use."
        );
        let listed = r#"{"detail":[{"loc":["body"],"msg":"Field required","type":"missing"}]}"#;
        let message = of_reply(acme(), Some(422), listed, None).message;
        assert!(message.contains("Field required"), "{message}");
    }

    #[test]
    fn the_code_in_the_body_decides_first() {
        assert_eq!(
            kind(None, r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#),
            Kind::Overloaded
        );
        assert_eq!(kind(Some(200), r#"{"error":{"code":502,"message":"upstream"}}"#), Kind::Server);
        assert_eq!(kind(None, r#"{"error":{"code":429,"message":"upstream"}}"#), Kind::RateLimited);
        let no_credit =
            r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"x"}}"#;
        assert_eq!(kind(Some(429), no_credit), Kind::BadRequest);
        assert!(!of_reply(acme(), Some(429), no_credit, None).may_pass());
    }

    #[test]
    fn status_wins_over_the_type_in_the_body() {
        for (status, code, expected) in [
            (400, "api_error", Kind::BadRequest),
            (404, "server_error", Kind::BadRequest),
            (422, "overloaded_error", Kind::BadRequest),
            (409, "invalid_request_error", Kind::Server),
            (425, "invalid_request_error", Kind::Server),
            (429, "invalid_request_error", Kind::RateLimited),
            (500, "invalid_request_error", Kind::Server),
            (500, "overloaded_error", Kind::Overloaded),
        ] {
            let body = format!(r#"{{"error":{{"type":"{code}","message":"x"}}}}"#);
            assert_eq!(kind(Some(status), &body), expected, "{status} {code}");
        }
    }

    #[test]
    fn missing_credit_is_permanent_and_says_where_to_add_it() {
        for (status, body) in [
            (
                429,
                r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
            ),
            (403, r#"{"error":{"type":"billing_error","message":"x"}}"#),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
            ),
            (402, r#"{"error":{"code":402,"message":"Insufficient credits"}}"#),
        ] {
            let error = of_reply(acme(), Some(status), body, None);
            assert!(!error.may_pass(), "{body}");
            assert!(
                error.message.starts_with("The account at acme has no credit left"),
                "{error:?}"
            );
            assert!(
                error.message.ends_with(
                    "Add credit on the provider's billing page, or choose another model."
                )
            );
        }
    }

    #[test]
    fn known_faults_say_what_to_do() {
        let message = |status, body: &str| of_reply(acme(), Some(status), body, None).message;
        let unknown = message(404, r#"{"error":{"message":"model \"m-1\" not found"}}"#);
        assert!(unknown.starts_with("acme does not have the model m-1 (HTTP 404)."), "{unknown}");
        let tools = message(400, r#"{"error":{"message":"m-1 does not support tools"}}"#);
        assert!(
            tools.ends_with("Choose a model that supports tools, or turn tools off in the job."),
            "{tools}"
        );
        let responses = message(
            400,
            r#"{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-6 in /v1/chat/completions. Please use /v1/responses instead."}}"#,
        );
        assert!(responses.contains("openai-responses"), "{responses}");
    }

    #[test]
    fn redirect_names_its_target_without_query() {
        let headers = headers(&[("location", "https://user:pw@new.example/v1/chat?key=1")]);
        let error = of_reply(acme(), Some(301), "", Some(&headers));
        assert_eq!(error.kind, Kind::BadRequest);
        assert!(
            error.message.starts_with("acme redirects to https://new.example/v1/chat (HTTP 301)."),
            "{error:?}"
        );
    }

    #[test]
    fn list_shaped_error_is_read() {
        let body = r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#;
        assert!(
            of_reply(acme(), Some(400), body, None).message.contains("It said: API key not valid.")
        );
    }

    #[test]
    fn a_key_that_is_not_accepted_is_told_as_that_whatever_else_the_body_calls_it() {
        for (status, body) in [
            (
                Some(401),
                r#"{"error":{"message":"Authentication Fails","type":"authentication_error","param":null,"code":"invalid_request_error"}}"#,
            ),
            (
                None,
                r#"{"error":{"message":"Authentication Fails","type":"authentication_error","param":null,"code":"invalid_request_error"}}"#,
            ),
            (
                Some(401),
                r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}"#,
            ),
        ] {
            let error = of_reply(acme(), status, body, None);
            assert_eq!(error.kind, Kind::Auth, "{body}");
            assert!(error.message.starts_with("acme does not accept the key"), "{error:?}");
        }
        // What a body says more exactly than the status still counts.
        let no_credit = r#"{"error":{"type":"insufficient_quota","message":"x"}}"#;
        assert_eq!(kind(Some(403), no_credit), Kind::BadRequest);
        let no_model = r#"{"error":{"code":"model_not_found","type":"invalid_request_error"}}"#;
        assert_eq!(kind(Some(404), no_model), Kind::BadRequest);
    }

    #[test]
    fn a_conversation_that_is_too_long_is_known_in_the_words_of_every_server() {
        for (status, body) in [
            (
                400,
                r#"{"error":{"message":"x","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error"}}"#,
            ),
            (
                400,
                r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}"#,
            ),
        ] {
            assert_eq!(kind(Some(status), body), Kind::Overlong, "{body}");
        }
        let other =
            r#"{"error":{"type":"invalid_request_error","message":"max_tokens is too long"}}"#;
        assert_eq!(kind(Some(400), other), Kind::BadRequest);
    }

    #[test]
    fn quotes_the_provider_but_no_web_page_and_not_without_end() {
        let told = |body: &str| of_reply(acme(), Some(500), body, None).message;
        assert_eq!(
            told(r#"{"error":{"message":"out of\n memory"}}"#),
            "acme failed (HTTP 500). It said: out of memory. It may pass: try again later."
        );
        assert_eq!(
            told(r#"{"error":"no such model"}"#),
            "acme failed (HTTP 500). It said: no such model. It may pass: try again later."
        );
        assert_eq!(
            told("<html>sorry</html>"),
            "acme failed (HTTP 500). It may pass: try again later."
        );
        assert_eq!(
            told(&"é".repeat(1_000)).chars().count(),
            "acme failed (HTTP 500). It said:  It may pass: try again later.".len() + 301
        );
    }

    #[test]
    fn reads_every_spelling_of_retry_after() {
        for (pairs, expected) in [
            (vec![("retry-after", "7")], Some(Duration::from_secs(7))),
            (
                vec![("retry-after-ms", "250"), ("retry-after", "7")],
                Some(Duration::from_millis(250)),
            ),
            (
                vec![
                    ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"),
                    ("date", "Wed, 21 Oct 2026 07:28:00 GMT"),
                ],
                Some(Duration::from_secs(30)),
            ),
            (
                vec![
                    ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"),
                    ("date", "Wed, 21 Oct 2026 07:28:30 GMT"),
                ],
                Some(Duration::ZERO),
            ),
            (vec![("retry-after", "soon")], None),
            (vec![], None),
        ] {
            assert_eq!(retry_after(&headers(&pairs)), expected, "{pairs:?}");
        }
    }
}
