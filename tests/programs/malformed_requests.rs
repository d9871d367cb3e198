//! Malformed requests with valid credentials: refused with JSON-RPC errors, and without effect.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::engine::TestHome;
use crate::http::Request;
use crate::probes::{ProbeEngine, echo, rpc};
use crate::sign_in::socket_with;

/// Malformed requests and their error codes.
fn malformed() -> Vec<(&'static str, Vec<u8>, i64)> {
    let add = rpc("cron.add", &echo("Garbage"));
    let nested = |levels: usize| {
        let arguments = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        add.to_string().replace(r#"{"text":"hello"}"#, &arguments).into_bytes()
    };
    let with = |key: &str, value: Value| {
        let mut changed = add.clone();
        changed[key] = value;
        changed.to_string().into_bytes()
    };
    let mut cut = add.to_string().into_bytes();
    cut.pop();
    vec![
        ("nothing", Vec::new(), -32700),
        ("no JSON", b"let me in".to_vec(), -32700),
        ("half of it", cut, -32700),
        ("something behind it", [add.to_string().as_bytes(), b"{}"].concat(), -32700),
        ("no text", b"\xff\xfe{}".to_vec(), -32700),
        (
            "half a letter",
            br#"{"jsonrpc":"2.0","id":1,"method":"cron.add","params":{"name":"\ud800"}}"#.to_vec(),
            -32700,
        ),
        ("a hundred thousand brackets", vec![b'['; 100_000], -32700),
        ("too many levels to parse", nested(200), -32700),
        ("too many levels to keep", nested(100), -32600),
        ("a batch", json!([add]).to_string().into_bytes(), -32600),
        ("an empty batch", b"[]".to_vec(), -32600),
        ("a text", br#""cron.add""#.to_vec(), -32600),
        ("null", b"null".to_vec(), -32600),
        ("no version", with("jsonrpc", Value::Null), -32600),
        ("another version", with("jsonrpc", json!("1.0")), -32600),
        ("no method", with("method", Value::Null), -32600),
        ("a method that is a list", with("method", json!(["cron.add"])), -32600),
        ("a method that is not there", with("method", json!("cron.nothing")), -32601),
        ("a method in other letters", with("method", json!("CRON.ADD")), -32601),
        ("a method with something behind it", with("method", json!("cron.add\u{0}")), -32601),
        ("parameters that are a text", with("params", json!("x")), -32602),
        ("parameters that are a number", with("params", json!(1)), -32602),
        ("no parameters", with("params", Value::Null), -32602),
    ]
}

#[tokio::test]
async fn malformed_request_is_refused_over_http() {
    let home = TestHome::new();
    let probe = ProbeEngine::start(&home).await;
    let before = probe.state().await;
    for (name, body, code) in malformed() {
        let call = Request::post(&probe.engine.address, "/rpc", &json!({}))
            .token(&probe.engine.token())
            .body(body);
        let reply = call.send();
        assert_eq!(
            (reply.status, reply.json()["error"]["code"].as_i64()),
            (200, Some(code)),
            "{name}: {reply:#?}"
        );
    }
    assert_eq!(probe.state().await, before, "garbage did something");
}

#[tokio::test]
async fn malformed_request_is_refused_over_open_socket() {
    let home = TestHome::new();
    let probe = ProbeEngine::start(&home).await;
    let before = probe.state().await;
    let token = probe.engine.token();
    let mut socket =
        socket_with(&probe.engine, "", ("authorization", &format!("Bearer {token}"))).await;
    for (name, body, code) in malformed() {
        // Invalid UTF-8 cannot be sent as a text message.
        let Ok(text) = String::from_utf8(body) else { continue };
        socket.send(Message::text(text)).await.expect("sent");
        let answer = socket.next().await.expect("an answer").expect("a message");
        let answer: Value = serde_json::from_str(answer.to_text().expect("text")).expect("JSON");
        assert_eq!(answer["error"]["code"], code, "{name}: {answer:#}");
    }
    socket.send(Message::binary(rpc("cron.add", &echo("Binary")).to_string())).await.expect("sent");
    socket.send(Message::text(rpc("cron.status", &json!({})).to_string())).await.expect("sent");
    let answer = socket.next().await.expect("an answer").expect("a message");
    assert!(answer.to_text().expect("text").contains("result"), "{answer:?}");
    assert_eq!(probe.state().await, before, "garbage did something");
}

#[tokio::test]
async fn invalid_parameters_are_named_and_change_nothing() {
    let home = TestHome::new();
    let probe = ProbeEngine::start(&home).await;
    let before = probe.state().await;
    let long = "x".repeat(201);
    let cases = [
        ("cron.add", json!({}), "name"),
        (
            "cron.add",
            json!({ "name": "  ", "schedule": { "kind": "manual" }, "payload": { "kind": "toolCall", "tool": "time" } }),
            "name",
        ),
        (
            "cron.add",
            json!({ "name": long, "schedule": { "kind": "manual" }, "payload": { "kind": "toolCall", "tool": "time" } }),
            "name",
        ),
        (
            "cron.add",
            json!({ "name": "x", "schedule": { "kind": "cron", "expr": "61 * * * *" }, "payload": { "kind": "toolCall", "tool": "time" } }),
            "schedule.expr",
        ),
        (
            "cron.add",
            json!({ "name": "x", "schedule": { "kind": "cron", "expr": "0 0 30 2 *" }, "payload": { "kind": "toolCall", "tool": "time" } }),
            "schedule.expr",
        ),
        (
            "cron.add",
            json!({ "name": "x", "schedule": { "kind": "cron", "expr": "@daily", "tz": "Mars/Base" }, "payload": { "kind": "toolCall", "tool": "time" } }),
            "schedule.tz",
        ),
        (
            "cron.add",
            json!({ "name": "x", "schedule": { "kind": "every", "everyMs": 1 }, "payload": { "kind": "toolCall", "tool": "time" } }),
            "schedule.everyMs",
        ),
        (
            "cron.add",
            json!({ "name": "x", "schedule": { "kind": "at", "atMs": 1 }, "payload": { "kind": "toolCall", "tool": "time" } }),
            "schedule.atMs",
        ),
        (
            "cron.add",
            json!({ "name": "x", "schedule": { "kind": "at", "atMs": 1e300 }, "payload": { "kind": "toolCall", "tool": "time" } }),
            "schedule.atMs",
        ),
        (
            "cron.add",
            json!({ "name": "x", "schedule": { "kind": "manual" }, "payload": { "kind": "toolCall", "tool": "time", "arguments": [] } }),
            "payload.arguments",
        ),
        (
            "cron.add",
            json!({ "name": "x", "schedule": { "kind": "manual" }, "payload": { "kind": "toolCall", "tool": "nothing" } }),
            "payload.tool",
        ),
        (
            "cron.add",
            json!({ "name": "x", "schedule": { "kind": "manual" }, "payload": { "kind": "toolCall", "tool": "echo" } }),
            "payload.arguments",
        ),
        ("cron.pause", json!({ "untilMs": 1 }), "untilMs"),
        ("cron.run", json!({ "id": 7 }), "id"),
        ("runs.list", json!({ "limit": -1 }), "limit"),
        ("runs.list", json!({ "states": ["finished"] }), "states[0]"),
        ("wake", json!({ "text": " " }), "text"),
        ("wake", json!({ "text": "x".repeat(10_001) }), "text"),
        ("set-heartbeats", json!({}), "enabled"),
        ("config.patch", json!({ "patch": { "gateway": { "port": 1 } } }), "gateway.port"),
        (
            "config.patch",
            json!({ "patch": { "providers": { "a b": { "kind": "openai" } } } }),
            "providers.a b.kind",
        ),
        ("config.patch", json!({ "patch": [] }), "patch"),
    ];
    for (method, params, path) in cases {
        let reply = Request::post(&probe.engine.address, "/rpc", &rpc(method, &params))
            .token(&probe.engine.token())
            .send();
        let error = &reply.json()["error"];
        assert_eq!(error["code"], -32602, "{method} {params}: {reply:#?}");
        let paths: Vec<&str> = error["data"]["fields"]
            .as_array()
            .expect("fields")
            .iter()
            .filter_map(|field| field["path"].as_str())
            .collect();
        assert!(paths.contains(&path), "{method} {params}: {path} is not in {paths:?}");
    }
    assert_eq!(probe.state().await, before);
}

/// Operators of the database search are plain text here.
#[tokio::test]
async fn search_treats_query_operators_as_text() {
    let home = TestHome::new();
    let engine = home.serve().await;
    engine.add_job(echo("100 % \"sure\"")).await;
    engine.add_job(echo("back\\slash")).await;
    let found = async |text: &str| {
        let jobs = engine.call("cron.list", json!({ "search": text })).await;
        engine.call("runs.list", json!({ "search": text })).await;
        jobs["jobs"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(found("%").await, 1, "a sign, not everything");
    assert_eq!(found("_").await, 0);
    assert_eq!(found("\"sure\"").await, 1);
    assert_eq!(found("back\\s").await, 1);
    for text in ["' OR 1=1 --", "\"\"", "* NEAR(", "a OR b", "-", "(", "\u{0}", "\u{1f600}"] {
        assert_eq!(found(text).await, 0, "{text:?}");
    }
}
