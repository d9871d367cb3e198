//! A reference server over streamable HTTP.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use rouse_tests::EngineBuilder;
use rouse_tests::mcp::install_and_accept;
use serde_json::json;

use crate::fixture::{node, npm_script, succeed};

/// The line of the server when it listens.
const READY: &str = "listening on port";

/// The server `everything` on a loopback port. Dropping kills the process.
struct EverythingOverHttp {
    process: Child,
    url: String,
}

impl EverythingOverHttp {
    fn start() -> Self {
        // The server takes a port number only; the port is free again when the listener is gone.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let mut process = Command::new(node())
            .arg(npm_script("server-everything"))
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Node.js starts");
        let errors = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut lines = errors.lines().map_while(Result::ok);
        let is_ready = lines.any(|line| line.contains(READY));
        // The server must not block on its error output.
        std::thread::spawn(move || lines.count());
        let server = Self { process, url: format!("http://127.0.0.1:{port}/mcp") };
        assert!(is_ready, "the server ended before it listened");
        server
    }
}

impl Drop for EverythingOverHttp {
    fn drop(&mut self) {
        // The process may have ended.
        if self.process.kill().is_ok() {
            self.process.wait().expect("an exit status");
        }
    }
}

#[tokio::test]
async fn everything_answers_over_http_with_progress() {
    let server = EverythingOverHttp::start();
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    let transport = json!({ "kind": "http", "url": server.url });
    let definition = json!({ "transport": transport, "callTimeoutSeconds": 4 });
    install_and_accept(&engine, "all", definition).await;
    assert_eq!(succeed(&engine, "all_echo", json!({ "message": "tea" })).await, "Echo: tea");
    let operation = json!({ "duration": 6, "steps": 12 });
    let text = succeed(&engine, "all_trigger-long-running-operation", operation).await;
    assert!(text.contains("Duration: 6 seconds, Steps: 12"), "{text}");
    engine.host.stop().await;
}
