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
    ProviderContext { name, model, address, is_local: false, has_answered: false, safety }
}

fn kind(status: Option<u16>, body: &str) -> Kind {
    of_reply(acme(), status, body, None).kind
}

#[test]
fn status_decides_without_error_in_body() {
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
fn forbidden_request_quotes_detail_without_blaming_the_key() {
    let message = of_reply(acme(), Some(403), r#"{"detail":"Region not supported"}"#, None).message;
    assert_eq!(
        message,
        "acme does not allow this request for m-1 (HTTP 403). Message: Region not supported. Check what the key's account may use."
    );
    let listed = r#"{"detail":[{"loc":["body"],"msg":"Field required","type":"missing"}]}"#;
    let message = of_reply(acme(), Some(422), listed, None).message;
    assert!(message.contains("Field required"), "{message}");
}

#[test]
fn code_in_the_body_has_priority() {
    assert_eq!(
        kind(None, r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#),
        Kind::Overloaded
    );
    assert_eq!(kind(Some(200), r#"{"error":{"code":502,"message":"upstream"}}"#), Kind::Server);
    assert_eq!(kind(None, r#"{"error":{"code":429,"message":"upstream"}}"#), Kind::RateLimited);
    let no_credit =
        r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"x"}}"#;
    assert_eq!(kind(Some(429), no_credit), Kind::BadRequest);
    assert!(!of_reply(acme(), Some(429), no_credit, None).is_transient());
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
fn missing_credit_is_permanent_with_remediation() {
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
        assert!(!error.is_transient(), "{body}");
        assert!(error.message.starts_with("The account at acme has no credit left"), "{error:?}");
        assert!(
            error
                .message
                .ends_with("Add credit on the provider's billing page, or choose another model.")
        );
    }
}

#[test]
fn known_faults_give_advice() {
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
    let body =
        r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#;
    assert!(
        of_reply(acme(), Some(400), body, None).message.contains("Message: API key not valid.")
    );
}

#[test]
fn refused_key_is_reported_for_any_body() {
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
    // A more exact fault in the body still counts.
    let no_credit = r#"{"error":{"type":"insufficient_quota","message":"x"}}"#;
    assert_eq!(kind(Some(403), no_credit), Kind::BadRequest);
    let no_model = r#"{"error":{"code":"model_not_found","type":"invalid_request_error"}}"#;
    assert_eq!(kind(Some(404), no_model), Kind::BadRequest);
}

#[test]
fn overlong_conversation_is_recognised_for_every_server() {
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
    let other = r#"{"error":{"type":"invalid_request_error","message":"max_tokens is too long"}}"#;
    assert_eq!(kind(Some(400), other), Kind::BadRequest);
}

#[test]
fn quotes_the_provider_but_no_web_page_and_not_without_end() {
    let told = |body: &str| of_reply(acme(), Some(500), body, None).message;
    assert_eq!(
        told(r#"{"error":{"message":"out of\n memory"}}"#),
        "acme failed (HTTP 500). Message: out of memory. Try again later."
    );
    assert_eq!(
        told(r#"{"error":"no such model"}"#),
        "acme failed (HTTP 500). Message: no such model. Try again later."
    );
    assert_eq!(told("<html>sorry</html>"), "acme failed (HTTP 500). Try again later.");
    assert_eq!(
        told(&"é".repeat(1_000)).chars().count(),
        "acme failed (HTTP 500). Message:  Try again later.".len() + 301
    );
}

#[test]
fn reads_every_spelling_of_retry_after() {
    for (pairs, expected) in [
        (vec![("retry-after", "7")], Some(Duration::from_secs(7))),
        (vec![("retry-after-ms", "250"), ("retry-after", "7")], Some(Duration::from_millis(250))),
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
