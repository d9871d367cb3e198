//! What a provider's failure means: its kind, a sentence for the person, and how long to wait.
//!
//! Owns the reading of rig's errors. rig calls an overload that is reported in the middle of a stream final and every
//! 429 passing; here the machine code inside the body decides, because providers use one status for "too fast" and
//! for "no credit left". The texts quoted from bodies are already without the key (see `transport`); the values of
//! stored secrets are taken out here, before a text is cut, because half of one is not recognised.

use std::time::Duration;

use chrono::DateTime;
use rig_core::ProviderError as RigError;
use rig_core::http_client::{Error as HttpError, HeaderMap};
use rouse_core::model::{ProviderError, ProviderErrorKind as Kind};
use rouse_core::said::SAID;
use serde_json::Value;

use super::transport::TransportError;
use crate::safety::Safety;

/// What a connection that nobody took is called.
const NO_CONNECTION: &str = "no connection";

/// What can be done about what may pass.
const LATER: &str = "It may pass: try again later.";

/// Codes that say that the key is not accepted.
const KEY_REFUSED: [&str; 3] = ["authentication_error", "permission_error", "invalid_api_key"];

/// The code of any bad request.
const INVALID_REQUEST: &str = "invalid_request_error";

/// The most characters quoted from a provider.
const QUOTED: usize = 300;

/// Where a provider is, as far as that says why it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Somewhere else.
    Elsewhere,
    /// On this computer, in front of a vendor: it may be away, and what it says is the vendor's.
    Proxy,
    /// On this computer, with models of its own.
    Here,
}

/// Who was asked, and for which model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whom<'w> {
    pub(super) name: &'w str,
    pub(super) model: &'w str,
    pub(super) place: Place,
    /// Whether any of the answer has come.
    pub(super) has_answered: bool,
    /// What takes secrets out of their words.
    pub(super) safety: &'w Safety,
}

/// What `error` means of whom was asked; one on this computer may just not be running.
pub(super) fn classify(whom: Whom<'_>, error: &RigError) -> ProviderError {
    let error = classify_anywhere(whom, error);
    let is_absent = match whom.place {
        Place::Elsewhere => false,
        Place::Proxy => is_away(&error),
        Place::Here => is_away(&error) || has_none_loaded(&error),
    };
    if is_absent { ProviderError { kind: Kind::NotRunning, ..error } } else { error }
}

/// What is said of an answer that is larger than any honest one.
pub(super) fn too_large(name: &str, cause: &TransportError) -> ProviderError {
    ProviderError::new(Kind::TooLarge, format!("{name} sent too much: {cause}."))
}

fn is_away(error: &ProviderError) -> bool {
    error.kind == Kind::Network && error.message.contains(NO_CONNECTION)
}

/// LM Studio says so, which is not to be used yet. A server that does not know the model runs: who has misspelt it has to hear.
fn has_none_loaded(error: &ProviderError) -> bool {
    matches!(error.kind, Kind::BadRequest | Kind::Server)
        && error.message.to_lowercase().contains("no models loaded")
}

fn classify_anywhere(whom: Whom<'_>, error: &RigError) -> ProviderError {
    let name = whom.name;
    match error {
        RigError::Truncated => cut_off(whom),
        RigError::Http(error) => of_transport(whom, error),
        RigError::Request(_) | RigError::Url(_) | RigError::UnsupportedOption(_) => {
            ProviderError::new(
                Kind::BadRequest,
                format!("The request to {name} could not be made: {error}"),
            )
        }
        other => match other.provider_response() {
            Some(response) => of_reply(
                whom,
                response.status.map(|status| status.as_u16()),
                &response.body,
                response.headers.as_ref(),
            ),
            None => ProviderError::new(
                Kind::Server,
                format!(
                    "{name} sent an answer that cannot be read.{SAID}{}",
                    quoted(&other.to_string(), whom.safety)
                ),
            ),
        },
    }
}

fn cut_off(whom: Whom<'_>) -> ProviderError {
    let Whom { name, model, .. } = whom;
    let text = match whom.has_answered {
        true => format!("The answer of {name} broke off before its end."),
        false => format!(
            "{name} answered the question for {model} with nothing. If that goes on, look under Settings at its address and at the model."
        ),
    };
    ProviderError::new(Kind::Truncated, text)
}

fn of_transport(whom: Whom<'_>, error: &HttpError) -> ProviderError {
    let Whom { name, model, .. } = whom;
    if let HttpError::InvalidContentType(kind) = error {
        let what = match kind.to_str().unwrap_or_default() {
            page if page.starts_with("text/html") => "a web page",
            _ => "something that no model says",
        };
        let text = format!(
            "{name} answered the question for {model} with {what}. Look at its address under Settings: it may be another one, or want somebody to sign in first."
        );
        return ProviderError::new(Kind::BadRequest, text);
    }
    let HttpError::Instance(inner) = error else {
        return ProviderError::new(
            Kind::BadRequest,
            format!("The request to {name} could not be made: {error}"),
        );
    };
    match inner.downcast_ref::<TransportError>() {
        Some(TransportError::CutOff) => cut_off(whom),
        Some(TransportError::Silent) => {
            ProviderError::new(Kind::Unanswered, format!("{name} did not answer in time."))
        }
        Some(cause @ TransportError::Broken(_)) => {
            ProviderError::new(Kind::Unanswered, format!("{name} did not answer: {cause}."))
        }
        Some(
            cause @ (TransportError::EventTooLarge { .. } | TransportError::AnswerTooLarge { .. }),
        ) => too_large(name, cause),
        Some(cause) => {
            ProviderError::new(Kind::Network, format!("{name} could not be reached: {cause}."))
        }
        None => ProviderError::new(Kind::Network, format!("{name} could not be reached.")),
    }
}

/// What a reply means that is an error, by its status or, within a stream, by the code in its body.
fn of_reply(
    whom: Whom<'_>,
    status: Option<u16>,
    body: &str,
    headers: Option<&HeaderMap>,
) -> ProviderError {
    let told = Told::read(body);
    // An error within a stream travels under status 200 or none; some gateways put the upstream's status into it.
    let status = status.filter(|status| *status != 200).or(told.status);
    let kind = told.kind(status).unwrap_or_else(|| kind_of_status(status));
    let (mut message, to_do) = sentence(whom, kind, status, told.names_no_model(status));
    if let Some(quote) = told.quote(body, whom.safety) {
        let end = if quote.ends_with(['.', '!', '?', '…']) { "" } else { "." };
        message = format!("{message}{SAID}{quote}{end}");
    }
    let retry_after = headers.and_then(retry_after);
    if let Some(wait) = retry_after {
        message = format!("{message} It asks to wait {} seconds.", wait.as_secs());
    }
    if let Some(to_do) = to_do {
        message = format!("{message} {to_do}");
    }
    ProviderError { kind, message, retry_after, status }
}

const fn kind_of_status(status: Option<u16>) -> Kind {
    match status {
        Some(401 | 403) => Kind::Auth,
        Some(408) => Kind::Network,
        Some(429) => Kind::RateLimited,
        Some(503 | 529) => Kind::Overloaded,
        Some(400..=499) => Kind::BadRequest,
        _ => Kind::Server,
    }
}

/// What has happened, and what a person can do about it.
fn sentence(
    whom: Whom<'_>,
    kind: Kind,
    status: Option<u16>,
    is_unknown_model: bool,
) -> (String, Option<&'static str>) {
    let Whom { name, model, .. } = whom;
    let is_nowhere = status == Some(404);
    let status = status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    match kind {
        Kind::Auth => {
            (format!("{name} does not accept the key{status}."), Some("Look at it under Settings."))
        }
        Kind::RateLimited => {
            (format!("{name} limits how often it may be asked{status}."), Some(LATER))
        }
        Kind::Overloaded => (format!("{name} is too busy{status}."), Some(LATER)),
        Kind::BadRequest if is_unknown_model => (
            format!("{name} does not have the model {model}{status}."),
            Some("Choose another one in the job or under Settings."),
        ),
        Kind::BadRequest if is_nowhere => (
            format!("{name} does not know where {model} is asked{status}."),
            Some("Look at its address under Settings."),
        ),
        Kind::BadRequest => {
            (format!("{name} does not accept the request for {model}{status}."), None)
        }
        Kind::Refused => (format!("{name} declines to answer{status}."), None),
        Kind::Overlong => (
            format!("The conversation is longer than what {model} of {name} reads{status}."),
            Some("Give it less to read, or choose a model that reads more."),
        ),
        Kind::Server
        | Kind::Network
        | Kind::Unanswered
        | Kind::Truncated
        | Kind::TooLarge
        | Kind::NotRunning => (format!("{name} failed{status}."), Some(LATER)),
    }
}

/// What the body of an error says, in either provider's shape.
struct Told {
    codes: Vec<String>,
    message: Option<String>,
    status: Option<u16>,
}

impl Told {
    fn read(body: &str) -> Self {
        let body: Value = serde_json::from_str(body).unwrap_or(Value::Null);
        let error = body.get("error").unwrap_or(&body);
        let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
        Self {
            codes: ["code", "type"].into_iter().filter_map(text).collect(),
            message: text("message").or_else(|| error.as_str().map(str::to_owned)),
            status: error
                .get("code")
                .and_then(Value::as_u64)
                .and_then(|code| u16::try_from(code).ok()),
        }
    }

    /// What the codes say; none where the status says it better. A refused key is an invalid request as well to some
    /// providers, and that code may stand first.
    fn kind(&self, status: Option<u16>) -> Option<Kind> {
        if self.is_overlong() {
            return Some(Kind::Overlong);
        }
        let codes = || self.codes.iter().map(String::as_str);
        if codes().any(|code| KEY_REFUSED.contains(&code)) {
            return Some(Kind::Auth);
        }
        let is_refusal = matches!(status, Some(401 | 403));
        codes().filter(|code| !(is_refusal && *code == INVALID_REQUEST)).find_map(|code| match code
        {
            "insufficient_quota" | "billing_error" => Some(Kind::BadRequest),
            "overloaded_error" => Some(Kind::Overloaded),
            "rate_limit_error" | "rate_limit_exceeded" => Some(Kind::RateLimited),
            INVALID_REQUEST | "not_found_error" | "request_too_large" => Some(Kind::BadRequest),
            "api_error" | "server_error" | "timeout_error" => Some(Kind::Server),
            "content_filter" | "content_policy_violation" => Some(Kind::Refused),
            _ => None,
        })
    }

    /// Whether the model that was asked for is not there.
    fn names_no_model(&self, status: Option<u16>) -> bool {
        let message = self.message.as_deref().unwrap_or_default().to_lowercase();
        self.codes.iter().any(|code| code == "model_not_found")
            || message.contains("not a valid model")
            || status == Some(404) && message.contains("model")
    }

    /// Most servers say it in words alone, under the code of any bad request.
    fn is_overlong(&self) -> bool {
        let codes = ["context_length_exceeded", "exceed_context_size_error"];
        let words = [
            "prompt is too long",
            "maximum context length",
            "exceeds the available context size",
            "exceeds the context window",
            "exceed context limit",
            "greater than the context length",
        ];
        let message = self.message.as_deref().unwrap_or_default().to_lowercase();
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
            || words.iter().any(|words| message.contains(words))
    }

    /// The provider's own words without secrets; the start of the body when it has no known shape and is no web page.
    fn quote(&self, body: &str, safety: &Safety) -> Option<String> {
        let raw = Some(body.trim()).filter(|body| !body.starts_with('<'));
        let words =
            self.message.as_deref().or(raw).map(str::trim).filter(|words| !words.is_empty())?;
        Some(quoted(words, safety))
    }
}

/// Words of a provider on one line, without secrets and not too many.
pub(super) fn quoted(words: &str, safety: &Safety) -> String {
    let one_line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let one_line = safety.redacted(&one_line).unwrap_or(one_line);
    if one_line.chars().count() <= QUOTED {
        return one_line;
    }
    one_line.chars().take(QUOTED).chain(['…']).collect()
}

/// How long the provider asks to be left alone: in milliseconds, in seconds, or until a date, which is read against
/// the reply's own date because nobody's clock is needed for that.
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

    fn acme() -> Whom<'static> {
        static NOBODY: LazyLock<Safety> = LazyLock::new(|| Safety::new(Arc::default()));
        let (name, model, safety) = ("acme", "m-1", &*NOBODY);
        Whom { name, model, place: Place::Elsewhere, has_answered: false, safety }
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
            (
                Some(403),
                r#"{"error":{"message":"Not yours","type":"invalid_request_error","code":null}}"#,
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
