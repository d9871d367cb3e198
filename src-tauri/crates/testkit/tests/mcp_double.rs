//! The MCP server double as a process, line by line.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

const MODERN_VERSION: &str = "2026-07-28";

/// A running double. Dropping kills the process.
struct Session {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Session {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_mcp-double"))
            .arg("--stdio")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("an output"));
        Self { process, input, output }
    }

    /// The same after the handshake.
    fn initialized(arguments: &[&str]) -> Self {
        let mut session = Self::start(arguments);
        let answer = session.request("initialize", json!({ "protocolVersion": "2025-11-25" }));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an input");
        writeln!(input, "{message}").expect("a reader");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line
    }

    fn message(&mut self) -> Value {
        serde_json::from_str(&self.line()).expect("JSON")
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params }));
        self.message()
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    fn names(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().expect("tools").iter();
        tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Closes the input, if still open, and waits for the end: status and error output.
    fn end(mut self) -> (ExitStatus, String) {
        drop(self.input.take());
        let mut errors = String::new();
        let mut stderr = self.process.stderr.take().expect("an error output");
        stderr.read_to_string(&mut errors).expect("text");
        (self.process.wait().expect("a status"), errors)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // An error means that the process has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn calls_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let notes = folder.path().join("notes");
    let mut session =
        Session::initialized(&["--version", "9", "--notes", notes.to_str().expect("UTF-8")]);
    let text = |answer: Value| answer["result"]["content"][0]["text"].clone();
    assert_eq!(text(session.call("echo", json!({ "text": "hello" }))), "hello");
    let sum = session.call("add", json!({ "a": 2, "b": 3 }));
    assert_eq!(sum["result"]["structuredContent"], json!({ "sum": 5.0 }));
    session.call("write_note", json!({ "path": "a", "text": "b" }));
    assert_eq!(std::fs::read_to_string(&notes).expect("the notes"), "a: b\n");
    assert_eq!(session.call("fail", json!({}))["result"]["isError"], true);
    assert_eq!(session.call("gone", json!({}))["error"]["code"], -32602);
    assert_eq!(session.request("resources/list", json!({}))["error"]["code"], -32601);
    assert!(session.end().0.success());
}

#[test]
fn first_request_other_than_initialize_ends_the_server() {
    let mut session = Session::start(&[]);
    session.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover" }));
    assert_eq!(session.end().0.code(), Some(2));
}

#[test]
fn crash_and_failed_start_have_their_status() {
    let mut session = Session::initialized(&[]);
    session.send(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "crash" } }),
    );
    assert_eq!(session.end().0.code(), Some(3));
    let (status, errors) = Session::start(&["--fault", "exit-at-start"]).end();
    assert_eq!((status.code(), errors.trim()), (Some(1), "no configuration found"));
    let (status, errors) = Session::start(&["--fault", "typo"]).end();
    assert!(status.code() == Some(64) && errors.contains("typo is not a fault"), "{errors}");
}

#[test]
fn slow_call_sends_progress_until_cancelled() {
    let mut session = Session::initialized(&[]);
    let params = json!({ "name": "slow", "_meta": { "progressToken": 7 } });
    for progress in [1, 2] {
        let message = if progress == 1 {
            session.request("tools/call", params.clone())
        } else {
            session.message()
        };
        assert_eq!(message["params"], json!({ "progressToken": 7, "progress": progress }));
    }
    let cancelled = json!({ "requestId": "tools/call" });
    session.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }),
    );
    assert_eq!(session.end().1.trim(), "cancelled");
}

#[test]
fn lines_have_the_faults_of_their_form() {
    let mut session = Session::start(&["--fault", "noise", "--fault", "crlf"]);
    session.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize" }));
    assert_eq!(session.line(), "The server writes a message now.\r\n");
    assert!(session.line().ends_with("}\r\n"));
    let mut session = Session::start(&["--fault", "long-line"]);
    session.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize" }));
    assert_eq!(session.line().len(), (20 << 20) + 1);
    assert_eq!(session.message()["id"], 1);
}

#[test]
fn silent_server_reads_to_the_end() {
    let mut session = Session::start(&["--fault", "silent"]);
    session.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize" }));
    drop(session.input.take());
    assert_eq!(session.line(), "");
}

#[test]
fn list_has_the_faults_of_the_catalogue() {
    let plain = Session::initialized(&[]).names();
    assert_eq!((plain[0].as_str(), plain[1].as_str(), plain.len()), ("echo", "add", 9));
    let changed = Session::initialized(&["--fault", "new-tool", "--fault", "missing-tool"]).names();
    assert!(changed.contains(&"copy".to_owned()) && !changed.contains(&"add".to_owned()));
    let odd = Session::initialized(&["--fault", "odd-names"]).names();
    assert!(odd.iter().any(|name| name.len() == 128), "{odd:?}");
    let schemas = Session::initialized(&["--fault", "bad-schema"]).names();
    assert!(schemas.contains(&"remote_reference".to_owned()), "{schemas:?}");
}

#[test]
fn pages_follow_the_cursor() {
    let mut session = Session::initialized(&["--fault", "many-tools"]);
    let mut cursor = json!(null);
    let mut count = 0;
    loop {
        let answer = session.request("tools/list", json!({ "cursor": cursor }));
        count += answer["result"]["tools"].as_array().expect("tools").len();
        cursor = answer["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(count, 5_009);
    let mut session = Session::initialized(&["--fault", "repeat-cursor"]);
    for _ in 0..2 {
        let answer = session.request("tools/list", json!({ "cursor": "0" }));
        assert_eq!(answer["result"]["nextCursor"], "0");
    }
}

#[test]
fn description_changes_after_the_first_call() {
    let mut session = Session::initialized(&["--fault", "list-changed"]);
    let description = |session: &mut Session| {
        session.request("tools/list", json!({}))["result"]["tools"][0]["description"].clone()
    };
    let before = description(&mut session);
    let notification = session.call("echo", json!({ "text": "a" }));
    assert_eq!(notification["method"], "notifications/tools/list_changed");
    assert_eq!(session.message()["result"]["content"][0]["text"], "a");
    assert_ne!(description(&mut session), before);
}

#[test]
fn questions_wait_for_the_answers_of_the_client() {
    let mut session = Session::initialized(&["--fault", "elicit", "--fault", "sample"]);
    let mut message = session.call("echo", json!({ "text": "a" }));
    for (method, key, value) in [
        ("elicitation/create", "result", json!({ "action": "cancel" })),
        ("sampling/createMessage", "error", json!({ "code": -32601, "message": "No." })),
        ("roots/list", "error", json!({ "code": -32600, "message": "No." })),
    ] {
        assert_eq!(message["method"], method);
        session.send(&json!({ "jsonrpc": "2.0", "id": message["id"], key: value }));
        message = session.message();
    }
    let expected =
        "a (elicitation/create: cancel) (sampling/createMessage: -32601) (roots/list: -32600)";
    assert_eq!(message["result"]["content"][0]["text"], expected);
}

#[test]
fn modern_server_wants_a_new_process_after_initialize() {
    let modern = ["--fault", "modern-only"];
    let meta = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": MODERN_VERSION } });
    let mut session = Session::start(&modern);
    let refusal = session.request("initialize", json!({ "protocolVersion": "2025-11-25" }));
    assert_eq!(refusal["error"]["code"], -32022);
    assert_eq!(refusal["error"]["data"]["supported"], json!([MODERN_VERSION]));
    assert_eq!(session.request("server/discover", meta.clone())["error"]["code"], -32600);
    let mut session = Session::start(&modern);
    let discovered = session.request("server/discover", meta.clone());
    assert_eq!(discovered["result"]["supportedVersions"], json!([MODERN_VERSION]));
    let listed = session.request("tools/list", meta);
    assert_eq!(listed["result"]["resultType"], "complete");
    assert_eq!(session.request("tools/list", json!({}))["error"]["code"], -32022);
}

#[test]
fn modern_server_asks_for_input_before_it_answers() {
    let mut session = Session::start(&["--fault", "modern-only", "--fault", "ask-input"]);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": MODERN_VERSION });
    let arguments = json!({ "text": "a" });
    let call = json!({ "name": "echo", "arguments": arguments, "_meta": meta });
    let asked = session.request("tools/call", call.clone())["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let fields = &asked["inputRequests"]["order"]["params"]["requestedSchema"]["properties"];
    assert_eq!(fields["count"]["type"], "integer", "{asked}");
    let mut again = call;
    again["inputResponses"] = json!({ "order": { "action": "decline" } });
    again["requestState"] = asked["requestState"].clone();
    let answered = session.request("tools/call", again);
    let text = &answered["result"]["content"][0]["text"];
    assert_eq!(text, "a {\"action\":\"decline\"}");
}

#[cfg(unix)]
#[test]
fn stubborn_server_ignores_sigterm() {
    use std::os::unix::process::CommandExt as _;
    // A group of its own, so that the grandchild ends with the test.
    let mut process = Command::new(env!("CARGO_BIN_EXE_mcp-double"))
        .args(["--stdio", "--fault", "ignore-eof"])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let group = format!("-{}", process.id());
    let input = process.stdin.take();
    let output = BufReader::new(process.stdout.take().expect("an output"));
    let mut session = Session { process, input, output };
    let kill = |signal: &str| Command::new("kill").args([signal, "--", group.as_str()]).status();
    session.request("initialize", json!({}));
    kill("-TERM").expect("the program kill");
    let answer = session.request("ping", json!({}));
    kill("-KILL").expect("the program kill");
    assert_eq!(answer["result"], json!({}));
}
