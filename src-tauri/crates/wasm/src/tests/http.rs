use std::sync::Arc;

use rouse_core::http_exchange::{HttpExchangeError, HttpExchangeRequest};
use serde_json::json;

use super::components;
use super::fixture::{FakeGuestHttp, GuestFixture, HttpAnswer};
use crate::{CallTrace, GuestError};

const VALUE: &str = "s3cret-of-api.example.com";

/// A fixture with the host `api.example.com`, the secret `key`, and this answer.
fn fixture(
    answer: impl Fn(&HttpExchangeRequest) -> HttpAnswer + Send + Sync + 'static,
) -> GuestFixture {
    let mut fixture = GuestFixture::new();
    fixture.grants.hosts = vec!["api.example.com".parse().expect("a host")];
    fixture.grants.secrets = vec!["key".to_owned()];
    fixture.http = Arc::new(FakeGuestHttp::answering(answer));
    fixture
}

async fn get(fixture: &GuestFixture, url: &str) -> CallTrace {
    fixture.call(&components::getting(), &json!(url)).await
}

/// The tool's error.
fn error_of(trace: CallTrace) -> String {
    match trace.result {
        Err(GuestError::Tool(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn secrets_are_filled_and_redacted() {
    let fixture = fixture(|request| {
        let body = json!({ "seen": request.headers, "url": request.url });
        Ok((200, vec![("x-echo".to_owned(), VALUE.to_owned())], body.to_string().into_bytes()))
    });
    let trace = get(&fixture, "https://api.example.com/a?key={{secret:key}}").await;
    let requests = fixture.http.requests.lock().expect("no panic");
    let bearer = ("authorization".to_owned(), format!("Bearer {VALUE}"));
    assert_eq!(requests[0].headers.last(), Some(&bearer));
    assert_eq!(requests[0].url, format!("https://api.example.com/a?key={VALUE}"));
    let result = trace.result.expect("a result");
    assert_eq!(result["url"], "https://api.example.com/a?key={{secret:key}}");
    assert_eq!(result["seen"][1][1], "Bearer {{secret:key}}");
    assert!(!result.to_string().contains("s3cret"));
    assert_eq!(trace.http_exchanges, 1);
}

#[tokio::test]
async fn secret_in_an_error_is_redacted() {
    let fixture = fixture(|request| {
        Err(HttpExchangeError::Broken(format!("{} sent {:?}", request.url, request.headers)))
    });
    let trace = get(&fixture, "https://api.example.com/?k={{secret:key}}").await;
    let error = error_of(trace);
    assert!(error.contains("{{secret:key}}") && !error.contains("s3cret"), "{error}");
}

#[tokio::test]
async fn request_outside_the_permissions_is_not_sent() {
    let mut fixture = fixture(|_| Ok((200, Vec::new(), b"1".to_vec())));
    for (url, cause) in [
        ("https://evil.example/?k={{secret:key}}", "may not reach evil.example"),
        ("https://api.example.com.evil.example/", "may not reach"),
        ("https://api.example.com:8443/", "may not reach api.example.com:8443"),
        ("https://api.example.com@evil.example/", "invalid host"),
        ("https://{{secret:key}}.example.com/", "invalid host"),
        ("http://api.example.com/", "must begin with https://"),
        ("https://api.example.com/?k={{secret:OTHER}}", "may not use the secret OTHER"),
    ] {
        let error = error_of(get(&fixture, url).await);
        assert!(error.contains(cause), "{url}: {error}");
    }
    fixture.grants.secrets.clear();
    let error = error_of(get(&fixture, "https://api.example.com/").await);
    assert!(error.contains("may not use the secret key"), "{error}");
    assert_eq!(fixture.http.requests.lock().expect("no panic").len(), 0);
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let location = ("location".to_owned(), "https://evil.example/".to_owned());
    let fixture = fixture(move |_| Ok((302, vec![location.clone()], b"302".to_vec())));
    let trace = get(&fixture, "https://api.example.com/").await;
    assert_eq!(trace.result, Ok(json!(302)));
    assert_eq!(fixture.http.requests.lock().expect("no panic").len(), 1);
}

#[tokio::test]
async fn large_and_compressed_responses_are_refused() {
    let large = fixture(|_| Ok((200, Vec::new(), vec![b'1'; (5 << 20) + 1])));
    let error = error_of(get(&large, "https://api.example.com/").await);
    assert!(error.contains("larger than 5242880 bytes"), "{error}");
    let gzip = ("content-encoding".to_owned(), "gzip".to_owned());
    let packed = fixture(move |_| Ok((200, vec![gzip.clone()], Vec::new())));
    let error = error_of(get(&packed, "https://api.example.com/").await);
    assert!(error.contains("compressed"), "{error}");
    let asked = &packed.http.requests.lock().expect("no panic")[0].headers[0];
    assert_eq!((asked.0.as_str(), asked.1.as_str()), ("accept-encoding", "identity"));
}

#[tokio::test]
async fn exchanges_are_counted() {
    let mut fixture = fixture(|_| Ok((200, Vec::new(), b"1".to_vec())));
    fixture.limits.http_exchanges = 0;
    let error = error_of(get(&fixture, "https://api.example.com/").await);
    assert!(error.contains("at most 0 HTTP exchanges"), "{error}");
}
