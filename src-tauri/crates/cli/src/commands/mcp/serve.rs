//! `rouse mcp serve`: Rouse as an MCP server over standard input and output.
//!
//! Owns the forwarding of lines to the engine: one task per message, so that a wait delays no other call. Sends the token of the
//! person, because this program runs with the person's rights. Works without an engine: each tool call then says how to start
//! Rouse. A program that a run of Rouse started may only read; the engine enforces this by the run's id.
//! Pitfall: printing anything but answers to standard output.

use std::collections::HashMap;
use std::io::{self, BufRead as _, Read as _, Write as _, stdin, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rouse_gateway::{Client, ClientError, McpOrigin, answer_mcp_offline};
use rouse_host::PROCESS_MARKER;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinError, JoinSet};

use crate::resolve::engine::EngineConnection;
use crate::resolve::error::{CliError, join_sources};
use crate::resolve::runs::current_run_id;

/// Maximum bytes of a message.
const MAX_LINE: u64 = 4 << 20;
/// Time limit of a call; `run_wait` takes up to 45 s.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for the last answers after the end of the input.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(5);

const NOT_RUNNING: &str = "Rouse is not running, so nothing was done. Ask the person to open the Rouse app or to run \
     `rouse serve`, then try again.";

pub(super) async fn run(engine: &EngineConnection) -> Result<(), CliError> {
    let mut lines = read_lines();
    let mut bridge = StdioBridge::new(engine.home.root(), run_of_this_process());
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => bridge.accept(line?),
                None => break,
            },
            Some(ended) = bridge.requests.join_next() => bridge.finish(ended)?,
        }
    }
    let last_answers = async {
        while let Some(ended) = bridge.requests.join_next().await {
            bridge.finish(ended)?;
        }
        Ok::<(), CliError>(())
    };
    // After the time limit nobody reads the answers.
    tokio::time::timeout(LAST_ANSWERS_TIMEOUT, last_answers).await.unwrap_or(Ok(()))
}

/// The lines of standard input, from a thread of its own.
fn read_lines() -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (send, lines) = mpsc::channel(64);
    std::thread::spawn(move || {
        let mut input = stdin().lock();
        loop {
            let line = read_line(&mut input);
            if matches!(&line, Ok(line) if line.is_empty()) {
                return;
            }
            let is_last = line.is_err();
            if send.blocking_send(line).is_err() || is_last {
                return;
            }
        }
    });
    lines
}

/// Reads a line with its line break; empty at the end of the input.
fn read_line(input: &mut impl io::BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    input.take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") {
        return Err(io::Error::other("a message is longer than 4 MiB"));
    }
    Ok(line)
}

/// The run of Rouse that started this process.
fn run_of_this_process() -> Option<String> {
    // silent-ok: a run id is text.
    let marker = std::env::var(PROCESS_MARKER).ok();
    marker.as_deref().map(run_of_marker).or_else(current_run_id)
}

/// The run in `<instance>:<run>:<call>`.
fn run_of_marker(marker: &str) -> String {
    marker.split(':').nth(1).unwrap_or(marker).to_owned()
}

/// The messages under way.
struct StdioBridge {
    home: PathBuf,
    origin: McpOrigin,
    requests: JoinSet<FinishedRequest>,
    /// By the id of the request, for a cancellation.
    under_way: HashMap<String, AbortHandle>,
}

#[derive(Debug)]
struct FinishedRequest {
    id: String,
    answer: Option<Value>,
}

impl StdioBridge {
    fn new(home: &Path, run_id: Option<String>) -> Self {
        Self {
            home: home.to_owned(),
            origin: McpOrigin { client: None, run_id },
            requests: JoinSet::new(),
            under_way: HashMap::new(),
        }
    }

    /// Forwards a line, unless it expects no answer.
    fn accept(&mut self, line: Vec<u8>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        // An invalid line is null here; the answer names the error.
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        match message["method"].as_str() {
            Some("initialize") => {
                let name = message["params"]["clientInfo"]["name"].as_str();
                self.origin.client = name.map(str::to_owned);
            }
            Some("notifications/cancelled") => {
                let id = message["params"]["requestId"].to_string();
                if let Some(request) = self.under_way.remove(&id) {
                    request.abort();
                }
            }
            Some(_) | None => {}
        }
        if message.is_object() && message.get("id").is_none() {
            return;
        }
        let id = message["id"].to_string();
        let (home, origin, request_id) = (self.home.clone(), self.origin.clone(), id.clone());
        let request = self.requests.spawn(async move {
            let answer = answer(&home, &origin, &line, &message).await;
            FinishedRequest { id: request_id, answer }
        });
        self.under_way.insert(id, request);
    }

    /// Prints the answer of a request. A cancelled request has none.
    fn finish(&mut self, ended: Result<FinishedRequest, JoinError>) -> Result<(), CliError> {
        let FinishedRequest { id, answer } = match ended {
            Ok(finished) => finished,
            Err(error) if error.is_cancelled() => return Ok(()),
            Err(error) => return Err(anyhow::Error::from(error).into()),
        };
        self.under_way.remove(&id);
        if let Some(answer) = answer {
            let mut output = stdout().lock();
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
        Ok(())
    }
}

/// The answer of the engine, or the answer without an engine.
async fn answer(home: &Path, origin: &McpOrigin, line: &[u8], message: &Value) -> Option<Value> {
    if message.is_null() {
        return answer_mcp_offline(line, NOT_RUNNING).await;
    }
    match forward(home, origin, message).await {
        Ok(answer) => answer,
        Err(ClientError::NotRunning) => answer_mcp_offline(line, NOT_RUNNING).await,
        Err(error) => answer_mcp_offline(line, &join_sources(&error)).await,
    }
}

/// Sends a message to the engine, which may have been started since the last message.
async fn forward(
    home: &Path,
    origin: &McpOrigin,
    message: &Value,
) -> Result<Option<Value>, ClientError> {
    let client = Client::find(home)?.with_response_timeout(ANSWER_TIMEOUT);
    client.forward_mcp(message, origin).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn answer_to(bridge: &mut StdioBridge, message: &Value) -> Option<Value> {
        bridge.accept(message.to_string().into_bytes());
        let ended = bridge.requests.join_next().await?;
        ended.expect("no panic").answer
    }

    #[tokio::test]
    async fn protocol_works_without_engine() {
        let home = tempfile::tempdir().expect("a folder");
        let mut bridge = StdioBridge::new(home.path(), None);
        let initialize = json!({
            "jsonrpc": "2.0", "id": "a", "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "clientInfo": { "name": "codex" } },
        });
        let answer = answer_to(&mut bridge, &initialize).await.expect("an answer");
        assert_eq!(answer["id"], "a");
        assert_eq!(answer["result"]["serverInfo"]["name"], "rouse");
        assert_eq!(bridge.origin.client.as_deref(), Some("codex"));
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        let answer = answer_to(&mut bridge, &list).await.expect("an answer");
        assert_eq!(answer["result"]["tools"].as_array().map(Vec::len), Some(12));
        let params = json!({ "name": "jobs_list", "arguments": {} });
        let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params });
        let answer = answer_to(&mut bridge, &call).await.expect("an answer");
        assert_eq!(answer["result"]["isError"], true);
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains("`rouse serve`"), "{text}");
    }

    #[tokio::test]
    async fn invalid_line_gets_an_error_and_notification_nothing() {
        let home = tempfile::tempdir().expect("a folder");
        let mut bridge = StdioBridge::new(home.path(), None);
        bridge.accept(b"{\"half\n".to_vec());
        let ended = bridge.requests.join_next().await.expect("a task").expect("no panic");
        assert_eq!(ended.answer.expect("an answer")["error"]["code"], -32700);
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(answer_to(&mut bridge, &initialized).await, None);
        bridge.accept(b"  \r\n".to_vec());
        assert!(bridge.requests.is_empty());
    }

    #[tokio::test]
    async fn cancelled_request_has_no_answer() {
        let home = tempfile::tempdir().expect("a folder");
        let mut bridge = StdioBridge::new(home.path(), None);
        let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" });
        bridge.accept(ping.to_string().into_bytes());
        let params = json!({ "requestId": 7 });
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        bridge.accept(cancel.to_string().into_bytes());
        let ended = bridge.requests.join_next().await.expect("a task");
        assert!(ended.expect_err("cancelled").is_cancelled());
        assert!(bridge.under_way.is_empty());
    }

    #[test]
    fn marker_names_the_run() {
        assert_eq!(run_of_marker("instance-1:run-2:c3"), "run-2");
        assert_eq!(run_of_marker("odd"), "odd");
    }

    #[test]
    fn lines_end_at_breaks_and_at_the_end() {
        let mut input: &[u8] = b"{}\r\n\nlast";
        for expected in ["{}\r\n", "\n", "last", ""] {
            assert_eq!(read_line(&mut input).expect("read"), expected.as_bytes());
        }
    }
}
