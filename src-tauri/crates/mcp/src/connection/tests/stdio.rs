//! Connections over the lines of a process.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rouse_core::extension::ServerCommand;
use rouse_core::input_request::{InputAnswer, InputReply};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::connection::doubles::{
    FakeProcesses, Reaction, answer, legacy_server, listed_tool, rejection,
};
use crate::connection::events::ProgressSink;
use crate::connection::{CallResult, Connection, ConnectionError, ContentPart, StartAttempt};

const LIMIT: Duration = Duration::from_secs(60);

fn command() -> ServerCommand {
    ServerCommand {
        extension: "double".parse().expect("a name"),
        program: "/usr/bin/double".to_owned(),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
        folder: None,
        task_folder: None,
        folders: Vec::new(),
        hosts: Vec::new(),
        is_unconfined: false,
    }
}

async fn open(processes: &FakeProcesses) -> Result<Connection, ConnectionError> {
    Connection::open_stdio(processes, command(), &StartAttempt::default()).await
}

fn silent() -> ProgressSink {
    Box::new(|_| {})
}

async fn call(connection: &Connection) -> Result<CallResult, ConnectionError> {
    connection.call_tool("work", Map::new(), None, LIMIT, silent()).await
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text(text.to_owned())
}

fn text_answer(message: &Value, text: &str) -> Reaction {
    answer(message, &json!({"content": [{"type": "text", "text": text}]}))
}

/// The next message of the client that `matches`.
async fn next_sent(sent: &mut UnboundedReceiver<Value>, matches: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = sent.recv().await.expect("the client sends a message");
        if matches(&message) {
            return message;
        }
    }
}

/// A legacy server whose calls get these reactions.
fn server_with_calls(
    reactions: impl Fn(&Value) -> Vec<Reaction> + Send + Sync + 'static,
) -> (Arc<FakeProcesses>, UnboundedReceiver<Value>) {
    FakeProcesses::new(move |_, message| match message["method"].as_str() {
        Some("tools/call") => reactions(message),
        _ => legacy_server(message, &["work"]),
    })
}

#[tokio::test]
async fn handshake_is_initialize_then_initialized() {
    let (processes, mut sent) = FakeProcesses::new(|_, message| legacy_server(message, &[]));
    let connection = open(&processes).await.expect("a connection");
    let first = sent.recv().await.expect("a message");
    assert_eq!(first["method"], "initialize");
    assert_eq!(first["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(first["params"]["capabilities"], json!({}));
    assert_eq!(first["params"]["clientInfo"]["name"], "rouse");
    let second = sent.recv().await.expect("a message");
    assert_eq!(second["method"], "notifications/initialized");
    assert_eq!(connection.server_version().as_deref(), Some("double 1.2.3"));
    assert_eq!(connection.instructions().as_deref(), Some("Be brief."));
}

#[tokio::test]
async fn noise_lines_are_skipped_and_counted() {
    let (processes, _sent) = FakeProcesses::new(|_, message| {
        let mut reactions = vec![Reaction::Line("Server is ready!"), Reaction::Line("{\"a\":1}")];
        reactions.extend(legacy_server(message, &["work"]));
        reactions
    });
    let attempt = StartAttempt::default();
    let opened = Connection::open_stdio(processes.as_ref(), command(), &attempt).await;
    let connection = opened.expect("a connection");
    assert_eq!(connection.list_tools().await.expect("a list").len(), 1);
    assert_eq!(attempt.noise(), 6);
}

#[tokio::test]
async fn tools_of_all_pages_are_listed() {
    let (processes, _sent) = FakeProcesses::new(|_, message| {
        if message["method"] != "tools/list" {
            return legacy_server(message, &[]);
        }
        let page = match message["params"]["cursor"].as_str() {
            None => json!({"tools": [listed_tool("a")], "nextCursor": "two"}),
            Some(_) => json!({"tools": [listed_tool("b")]}),
        };
        vec![answer(message, &page)]
    });
    let connection = open(&processes).await.expect("a connection");
    let tools = connection.list_tools().await.expect("a list");
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[tokio::test]
async fn repeated_cursor_ends_the_listing() {
    let (processes, mut sent) = FakeProcesses::new(|_, message| {
        if message["method"] != "tools/list" {
            return legacy_server(message, &[]);
        }
        vec![answer(message, &json!({"tools": [], "nextCursor": "again"}))]
    });
    let connection = open(&processes).await.expect("a connection");
    let error = connection.list_tools().await.expect_err("an endless list");
    assert!(matches!(&error, ConnectionError::Protocol(text) if text.contains("repeat")));
    let mut requests = 0;
    while let Ok(message) = sent.try_recv() {
        requests += usize::from(message["method"] == "tools/list");
    }
    assert_eq!(requests, 2);
}

#[tokio::test]
async fn listing_ends_after_sixty_four_pages() {
    let (processes, _sent) = FakeProcesses::new(|_, message| {
        if message["method"] != "tools/list" {
            return legacy_server(message, &[]);
        }
        let next = message["id"].to_string();
        vec![answer(message, &json!({"tools": [], "nextCursor": next}))]
    });
    let connection = open(&processes).await.expect("a connection");
    let error = connection.list_tools().await.expect_err("too many pages");
    assert!(matches!(&error, ConnectionError::Protocol(text) if text.contains("64 pages")));
}

#[tokio::test]
async fn call_reports_progress_and_result() {
    let (processes, _sent) = server_with_calls(|message| {
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": message["params"]["_meta"]["progressToken"],
            "progress": 1, "total": 2, "message": "halfway"}});
        vec![Reaction::Say(progress)]
    });
    let connection = open(&processes).await.expect("a connection");
    let (reports, mut reported) = tokio::sync::mpsc::unbounded_channel();
    let sink: ProgressSink = Box::new(move |text| drop(reports.send(text.to_owned())));
    let call = connection.call_tool("work", Map::new(), None, LIMIT, sink);
    let finish = async {
        assert_eq!(reported.recv().await.as_deref(), Some("halfway"));
        // The handshake has the id 0, the call the id 1.
        let result = json!({"content": [{"type": "text", "text": "done"}]});
        processes.react(answer(&json!({"id": 1}), &result));
    };
    let (result, ()) = tokio::join!(call, finish);
    let result = result.expect("a result");
    assert_eq!(result.content, [ContentPart::Text("done".to_owned())]);
    assert!(!result.is_error);
}

#[tokio::test]
async fn dropped_call_is_cancelled_at_the_server() {
    let (processes, mut sent) = server_with_calls(|_| Vec::new());
    let connection = open(&processes).await.expect("a connection");
    let request = {
        let waiting = call(&connection);
        tokio::pin!(waiting);
        tokio::select! {
            _ = &mut waiting => panic!("the server does not answer"),
            request = next_sent(&mut sent, |message| message["method"] == "tools/call") => request,
        }
    };
    let cancelled =
        next_sent(&mut sent, |message| message["method"] == "notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn call_without_progress_times_out() {
    let (processes, mut sent) = server_with_calls(|_| Vec::new());
    let connection = open(&processes).await.expect("a connection");
    let result = connection.call_tool("work", Map::new(), None, Duration::ZERO, silent()).await;
    assert_eq!(result, Err(ConnectionError::TimedOut));
    next_sent(&mut sent, |message| message["method"] == "notifications/cancelled").await;
}

/// The cancellation of the call waits behind the input that the server does not read.
#[tokio::test]
async fn call_of_a_server_that_does_not_read_times_out() {
    let (processes, _sent) = server_with_calls(|_| Vec::new());
    let connection = open(&processes).await.expect("a connection");
    processes.is_deaf.store(true, Ordering::SeqCst);
    let result = connection.call_tool("work", Map::new(), None, Duration::ZERO, silent()).await;
    assert_eq!(result, Err(ConnectionError::TimedOut));
}

/// Each ping wants an answer, and none is read.
#[tokio::test]
async fn server_that_pings_without_reading_is_ended() {
    let (processes, _sent) = server_with_calls(|_| Vec::new());
    let connection = open(&processes).await.expect("a connection");
    processes.is_deaf.store(true, Ordering::SeqCst);
    for id in 0..100 {
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        processes.react(Reaction::Say(ping));
    }
    processes.stopped.notified().await;
    assert!(connection.is_closed());
    assert!(connection.closed_reason().contains("does not read its input"));
}

/// The answer has no id after its line was dropped.
#[tokio::test]
async fn line_over_the_limit_fails_the_waiting_call_only() {
    let calls = AtomicUsize::new(0);
    let (processes, _sent) =
        server_with_calls(move |message| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => vec![Reaction::LongLine],
            _ => vec![text_answer(message, "small")],
        });
    let connection = open(&processes).await.expect("a connection");
    let error = call(&connection).await.expect_err("no result");
    assert!(matches!(error, ConnectionError::TooLarge(_)), "{error:?}");
    assert_eq!(call(&connection).await.expect("a result").content, [text("small")]);
}

/// The first call is given up; the server answers it during the second call.
#[tokio::test]
async fn late_repeated_and_foreign_answers_are_ignored() {
    let first = Mutex::new(None);
    let (processes, _sent) = server_with_calls(move |message| {
        let Some(given_up) = first.lock().expect("one caller").replace(message.clone()) else {
            return Vec::new();
        };
        let foreign = json!({"id": 4_711});
        vec![
            text_answer(&given_up, "late"),
            text_answer(&foreign, "foreign"),
            text_answer(message, "right"),
            text_answer(message, "again"),
        ]
    });
    let connection = open(&processes).await.expect("a connection");
    let result = connection.call_tool("work", Map::new(), None, Duration::ZERO, silent()).await;
    assert_eq!(result, Err(ConnectionError::TimedOut));
    for _ in 0..2 {
        assert_eq!(call(&connection).await.expect("a result").content, [text("right")]);
    }
}

#[tokio::test]
async fn server_end_fails_the_call_with_stderr() {
    let (processes, _sent) =
        server_with_calls(|_| vec![Reaction::Exit("The server exited with status 3.")]);
    let connection = open(&processes).await.expect("a connection");
    let error = call(&connection).await.expect_err("no result");
    let expected = "The server exited with status 3. Last error output: two | three | four";
    assert_eq!(error, ConnectionError::Ended(expected.to_owned()));
    assert!(connection.is_closed());
}

#[tokio::test]
async fn call_after_the_end_is_unreached() {
    let (processes, _sent) = server_with_calls(|_| Vec::new());
    let connection = open(&processes).await.expect("a connection");
    connection.close().await;
    let error = call(&connection).await.expect_err("no result");
    assert!(matches!(error, ConnectionError::Unreached(_)), "{error:?}");
}

#[tokio::test]
async fn rejected_call_has_code_and_message() {
    let (processes, _sent) = server_with_calls(|message| {
        vec![rejection(message, &json!({"code": -32602, "message": "No such city."}))]
    });
    let connection = open(&processes).await.expect("a connection");
    let expected = ConnectionError::Rejected { code: -32602, message: "No such city.".to_owned() };
    assert_eq!(call(&connection).await, Err(expected));
}

/// The client's answer to a request that the server makes unasked.
async fn answer_to(request: Value) -> Value {
    let (processes, mut sent) = server_with_calls(|_| Vec::new());
    let _connection = open(&processes).await.expect("a connection");
    processes.react(Reaction::Say(request));
    next_sent(&mut sent, |message| message["id"] == "from-server").await
}

#[tokio::test]
async fn sampling_roots_and_unknown_are_no_methods() {
    for method in ["sampling/createMessage", "roots/list", "surprise/me"] {
        let request = json!({"jsonrpc": "2.0", "id": "from-server", "method": method,
            "params": {"messages": [], "maxTokens": 16}});
        assert_eq!(answer_to(request).await["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn elicitation_is_cancelled() {
    let form = json!({"message": "Which one?", "requestedSchema":
        {"type": "object", "properties": {"city": {"type": "string"}}}});
    for params in [form, json!({"odd": true})] {
        let request = json!({"jsonrpc": "2.0", "id": "from-server",
            "method": "elicitation/create", "params": params});
        assert_eq!(answer_to(request).await["result"]["action"], "cancel", "{params}");
    }
}

#[tokio::test]
async fn ping_is_answered() {
    let request = json!({"jsonrpc": "2.0", "id": "from-server", "method": "ping"});
    assert_eq!(answer_to(request).await["result"], json!({}));
}

#[tokio::test]
async fn modern_only_server_is_started_anew() {
    let (processes, mut sent) = FakeProcesses::new(|start, message| {
        let method = message["method"].as_str();
        match (start, method) {
            (1, Some("initialize")) => vec![rejection(
                message,
                &json!({"code": -32022, "message": "Unsupported protocol version",
                    "data": {"supported": ["2026-07-28"]}}),
            )],
            (2, Some("server/discover")) => vec![answer(
                message,
                &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
            )],
            _ => Vec::new(),
        }
    });
    open(&processes).await.expect("a connection");
    assert_eq!(processes.starts(), 2);
    let discover = next_sent(&mut sent, |message| message["method"] == "server/discover").await;
    let version = &discover["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    assert_eq!(version, "2026-07-28");
}

/// A server of the modern lifecycle that asks for input before it answers a call.
fn asking_server(message: &Value) -> Vec<Reaction> {
    let method = message["method"].as_str();
    let result = match method {
        Some("initialize") => {
            let data = json!({"supported": ["2026-07-28"]});
            let refusal = json!({"code": -32022, "message": "Unsupported", "data": data});
            return vec![rejection(message, &refusal)];
        }
        Some("server/discover") => json!({"resultType": "complete", "ttlMs": 0,
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "cacheScope": "private"}),
        Some("tools/call") if message["params"].get("inputResponses").is_none() => json!({
            "resultType": "input_required", "requestState": "st.ate",
            "inputRequests": {"q": {"method": "elicitation/create", "params": {
                "message": "Who?", "requestedSchema": {"type": "object",
                    "properties": {"name": {"type": "string"}, "odd": {"type": "object"}}},
            }}},
        }),
        Some("tools/call") => {
            json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]})
        }
        _ => return Vec::new(),
    };
    vec![answer(message, &result)]
}

#[tokio::test]
async fn input_request_is_answered_by_a_second_call() {
    let (processes, mut sent) = FakeProcesses::new(|_, message| asking_server(message));
    let connection = open(&processes).await.expect("a connection");
    let discover = next_sent(&mut sent, |message| message["method"] == "server/discover").await;
    let declared = &discover["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(declared["elicitation"], json!({"form": {}, "url": {}}), "{discover}");

    let error = call(&connection).await.expect_err("a question");
    let ConnectionError::InputRequired(requested) = error else { panic!("{error:?}") };
    let requested = *requested;
    assert_eq!(requested.params["requestedSchema"]["properties"]["odd"]["type"], "object");
    let reply = InputReply {
        key: requested.key,
        request_state: requested.request_state,
        answer: InputAnswer::Decline,
        is_for_run: false,
    };
    next_sent(&mut sent, |message| message["method"] == "tools/call").await;
    let again = connection.call_tool("work", Map::new(), Some(&reply), LIMIT, silent()).await;
    assert_eq!(again.expect("a result").content, [ContentPart::Text("done".to_owned())]);
    let second = next_sent(&mut sent, |message| message["method"] == "tools/call").await;
    assert_eq!(second["params"]["inputResponses"], json!({"q": {"action": "decline"}}));
    assert_eq!(second["params"]["requestState"], "st.ate");
}

#[tokio::test]
async fn failed_start_has_exit_status_and_stderr() {
    let (processes, _sent) =
        FakeProcesses::new(|_, _| vec![Reaction::Exit("The server exited with status 1.")]);
    let error = open(&processes).await.err().expect("no connection");
    let expected = "The server exited with status 1. Last error output: two | three | four";
    assert_eq!(error, ConnectionError::Ended(expected.to_owned()));
    assert_eq!(processes.starts(), 1);
}

#[tokio::test]
async fn change_of_the_list_is_reported_once() {
    let (processes, mut sent) = server_with_calls(|_| Vec::new());
    let connection = open(&processes).await.expect("a connection");
    assert!(!connection.take_list_changed());
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    processes.react(Reaction::Say(changed));
    // The notification is handled before the ping behind it is answered.
    processes.react(Reaction::Say(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"})));
    next_sent(&mut sent, |message| message["id"] == "p").await;
    assert!(connection.take_list_changed());
    assert!(!connection.take_list_changed());
}

#[tokio::test]
async fn calls_run_side_by_side() {
    let asked = Mutex::new(Vec::<Value>::new());
    let (processes, _sent) = server_with_calls(move |message| {
        let mut asked = asked.lock().expect("a lock");
        asked.push(message.clone());
        let [first, second] = asked.as_slice() else { return Vec::new() };
        let result = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        // The second call is answered first.
        vec![answer(second, &result("second")), answer(first, &result("first"))]
    });
    let connection = open(&processes).await.expect("a connection");
    let (first, second) = tokio::join!(call(&connection), call(&connection));
    let text = |result: Result<CallResult, ConnectionError>| result.expect("a result").content;
    assert_eq!(text(first), [ContentPart::Text("first".to_owned())]);
    assert_eq!(text(second), [ContentPart::Text("second".to_owned())]);
}
