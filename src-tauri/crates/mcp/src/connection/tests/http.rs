//! Connections over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::connection::doubles::{FakeAnswer, FakeExchange, Reaction, legacy_server, listed_tool};
use crate::connection::{CallResult, Connection, ConnectionError, ContentPart};

const URL: &str = "https://mcp.example/mcp";

async fn open(exchange: &Arc<FakeExchange>) -> Result<Connection, ConnectionError> {
    let headers = BTreeMap::from([("X-Key".to_owned(), "k".to_owned())]);
    let exchange: Arc<FakeExchange> = Arc::clone(exchange);
    Connection::open_http(exchange, URL, &headers, None).await
}

async fn call(connection: &Connection) -> Result<CallResult, ConnectionError> {
    let limit = Duration::from_secs(60);
    connection.call_tool("work", Map::new(), None, limit, Box::new(|_| {})).await
}

fn modern_server(message: &Value) -> FakeAnswer {
    match message["method"].as_str() {
        Some("server/discover") => FakeAnswer::result(
            message,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo":
                    {"name": "modern", "version": "2"}}}),
        ),
        Some("tools/list") => FakeAnswer::result(
            message,
            &json!({"resultType": "complete", "tools": [listed_tool("work")], "ttlMs": 0,
                "cacheScope": "private"}),
        ),
        Some("tools/call") => FakeAnswer::result(
            message,
            &json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]}),
        ),
        _ => FakeAnswer::empty(202),
    }
}

/// A legacy server that rejects the modern first request with `rejection`.
fn legacy_http(message: &Value, rejection: FakeAnswer) -> FakeAnswer {
    if message["method"] == "server/discover" {
        return rejection;
    }
    match legacy_server(message, &["work"]).pop() {
        Some(Reaction::Say(answer)) => {
            FakeAnswer::body(200, "application/json", &answer.to_string())
        }
        _ => FakeAnswer::empty(202),
    }
}

#[tokio::test]
async fn modern_server_gets_no_initialize() {
    let exchange = FakeExchange::new(|_, message| modern_server(message));
    let connection = open(&exchange).await.expect("a connection");
    assert_eq!(connection.server_version().as_deref(), Some("modern 2"));
    assert_eq!(connection.list_tools().await.expect("a list").len(), 1);
    let result = call(&connection).await.expect("a result");
    assert_eq!(result.content, [ContentPart::Text("done".to_owned())]);
    let header = |name| exchange.last_header("tools/call", name);
    assert_eq!(header("mcp-protocol-version").as_deref(), Some("2026-07-28"));
    assert_eq!(header("mcp-method").as_deref(), Some("tools/call"));
    assert_eq!(header("x-key").as_deref(), Some("k"));
    let bodies: Vec<Vec<u8>> = {
        let requests = exchange.requests.lock().expect("a lock");
        requests.iter().map(|request| request.body.clone()).collect()
    };
    assert!(bodies.iter().all(|body| !String::from_utf8_lossy(body).contains("initialize")));
}

#[tokio::test]
async fn legacy_server_is_reached_after_a_rejection() {
    let with_error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"No."}}"#;
    for status in [400, 404, 405] {
        for body in ["Bad Request", with_error] {
            let exchange = FakeExchange::new(move |_, message| {
                legacy_http(message, FakeAnswer::body(status, "application/json", body))
            });
            let connection = open(&exchange).await.expect("a connection");
            let version = exchange.last_header("notifications/initialized", "mcp-protocol-version");
            assert_eq!(version.as_deref(), Some("2025-11-25"), "{status} {body}");
            let result = call(&connection).await.expect("a result");
            assert_eq!(result.content, [ContentPart::Text("done".to_owned())]);
        }
    }
}

#[tokio::test]
async fn modern_rejection_is_no_reason_to_initialize() {
    let body = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32020,"message":"Header mismatch"}}"#;
    let exchange = FakeExchange::new(move |_, _| FakeAnswer::body(400, "application/json", body));
    let error = open(&exchange).await.err().expect("no connection");
    let expected =
        ConnectionError::Rejected { code: -32020, message: "Header mismatch".to_owned() };
    assert_eq!(error, expected);
    assert_eq!(exchange.requests.lock().expect("a lock").len(), 1);
}

#[tokio::test]
async fn missing_sign_in_has_the_challenge() {
    let challenge = r#"Bearer resource_metadata="https://mcp.example/meta""#;
    for status in [401, 403] {
        let exchange = FakeExchange::new(move |_, _| FakeAnswer {
            status,
            headers: vec![("www-authenticate", challenge)],
            pieces: Vec::new(),
        });
        let error = open(&exchange).await.err().expect("no connection");
        assert_eq!(error, ConnectionError::NeedsSignIn(challenge.to_owned()));
    }
}

#[tokio::test]
async fn sign_in_that_expires_fails_the_call() {
    let exchange = FakeExchange::new(|_, message| {
        if message["method"] == "tools/call" {
            return FakeAnswer::empty(401);
        }
        modern_server(message)
    });
    let connection = open(&exchange).await.expect("a connection");
    assert_eq!(call(&connection).await, Err(ConnectionError::NeedsSignIn("HTTP 401".to_owned())));
}

#[tokio::test]
async fn answer_in_an_event_stream_is_read() {
    let exchange = FakeExchange::new(|_, message| {
        if message["method"] != "tools/call" {
            return modern_server(message);
        }
        let result = json!({"jsonrpc": "2.0", "id": message["id"],
            "result": {"content": [{"type": "text", "text": "streamed"}]}});
        FakeAnswer::body(200, "text/event-stream; charset=utf-8", &format!("data: {result}\n\n"))
    });
    let connection = open(&exchange).await.expect("a connection");
    let result = call(&connection).await.expect("a result");
    assert_eq!(result.content, [ContentPart::Text("streamed".to_owned())]);
}

#[tokio::test]
async fn stream_that_ends_early_ends_the_call() {
    let exchange = FakeExchange::new(|_, message| match message["method"].as_str() {
        Some("tools/call") => FakeAnswer::body(200, "text/event-stream", ": hello\n\n"),
        _ => modern_server(message),
    });
    let connection = open(&exchange).await.expect("a connection");
    let error = call(&connection).await.expect_err("no result");
    assert!(matches!(error, ConnectionError::Ended(_)), "{error:?}");
}

#[tokio::test]
async fn answer_over_four_megabytes_is_too_large() {
    let large = "x".repeat(5 << 20);
    for media_type in ["application/json", "text/event-stream"] {
        let large = large.clone();
        let exchange = FakeExchange::new(move |_, message| match message["method"].as_str() {
            Some("tools/call") => FakeAnswer::body(200, media_type, &format!("data: {large}")),
            _ => modern_server(message),
        });
        let connection = open(&exchange).await.expect("a connection");
        let error = call(&connection).await.expect_err("no result");
        assert!(matches!(error, ConnectionError::TooLarge(_)), "{media_type}: {error:?}");
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let exchange = FakeExchange::new(|_, _| FakeAnswer {
        status: 307,
        headers: vec![("location", "https://elsewhere.example/")],
        pieces: Vec::new(),
    });
    let error = open(&exchange).await.err().expect("no connection");
    assert!(matches!(&error, ConnectionError::Protocol(text) if text.contains("HTTP 307")));
    let requests = exchange.requests.lock().expect("a lock");
    assert!(requests.iter().all(|request| request.url == URL));
}

#[tokio::test]
async fn header_of_the_protocol_cannot_be_set() {
    let exchange = FakeExchange::new(|_, message| modern_server(message));
    let headers = BTreeMap::from([("Accept".to_owned(), "text/html".to_owned())]);
    let server: Arc<FakeExchange> = Arc::clone(&exchange);
    let error =
        Connection::open_http(server, URL, &headers, None).await.err().expect("no connection");
    assert!(matches!(&error, ConnectionError::Unreached(text) if text.contains("`Accept`")));
    assert!(exchange.requests.lock().expect("a lock").is_empty());
}

/// The key of the subscription in the metadata of its messages.
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// A modern server that announces changes of its list. A subscription gets these messages; then its stream ends.
fn announcing_server(message: &Value, stream: &[&str]) -> FakeAnswer {
    let meta = json!({ SUBSCRIPTION_KEY: message["id"] });
    let event = |kind: &&str| {
        let message = match *kind {
            "acknowledged" => json!({"jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": meta, "notifications": {"toolsListChanged": true}}}),
            "changed" => json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                "params": {"_meta": meta}}),
            "refused" => json!({"jsonrpc": "2.0", "id": message["id"],
                "error": {"code": -32601, "message": "Method not found"}}),
            _ => json!({"jsonrpc": "2.0", "id": message["id"],
                "result": {"resultType": "complete", "_meta": meta}}),
        };
        format!("data: {message}\n\n")
    };
    match message["method"].as_str() {
        Some("server/discover") => FakeAnswer::result(
            message,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {"listChanged": true}}, "ttlMs": 0,
                "cacheScope": "private"}),
        ),
        Some("subscriptions/listen") => {
            let events: String = stream.iter().map(event).collect();
            FakeAnswer::body(200, "text/event-stream", &events)
        }
        _ => modern_server(message),
    }
}

/// Whether a connection notes a change after a subscription with this stream.
async fn is_change_noted(stream: &'static [&'static str]) -> bool {
    let exchange = FakeExchange::new(move |_, message| announcing_server(message, stream));
    let connection = open(&exchange).await.expect("a connection");
    connection.subscribe_to_list();
    connection.subscription_ended().await;
    let is_noted = connection.take_list_changed();
    assert!(!connection.take_list_changed(), "a change is noted once");
    is_noted
}

#[tokio::test]
async fn change_on_a_subscription_is_noted() {
    assert!(is_change_noted(&["acknowledged", "changed", "ended"]).await);
    assert!(!is_change_noted(&["acknowledged", "ended"]).await);
}

#[tokio::test]
async fn broken_subscription_counts_as_a_change() {
    assert!(is_change_noted(&["acknowledged"]).await);
}

#[tokio::test]
async fn refused_subscription_is_no_change() {
    assert!(!is_change_noted(&["refused"]).await);
}

#[tokio::test]
async fn list_without_changes_gets_no_subscription() {
    let exchange = FakeExchange::new(|_, message| modern_server(message));
    let connection = open(&exchange).await.expect("a connection");
    connection.subscribe_to_list();
    connection.subscription_ended().await;
    let requests = exchange.requests.lock().expect("a lock");
    let is_subscription = |body: &[u8]| String::from_utf8_lossy(body).contains("subscriptions/");
    assert!(!requests.iter().any(|request| is_subscription(&request.body)));
}
