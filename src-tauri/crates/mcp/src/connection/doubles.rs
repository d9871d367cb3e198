//! Doubles of the ports: server processes and HTTP servers in memory, answered by a script.
//!
//! For tests of this crate only. A script sees each message of the client and returns what the server does. Every
//! message also goes to a channel, so a test waits for a message instead of a moment.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rouse_core::extension::{
    ProcessEnd, ServerCommand, ServerLine, ServerProcess, ServerProcesses, ServerStartError,
};
use rouse_core::http_exchange::{
    HttpBody, HttpExchange, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use rouse_core::tool::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

/// What a server does after a message.
pub(crate) enum Reaction {
    /// Writes a message.
    Say(Value),
    /// Writes a line as it is.
    Line(&'static str),
    /// Writes a line over the size limit.
    LongLine,
    /// Ends with this sentence.
    Exit(&'static str),
}

/// Answers a message of the client; the number counts the starts from 1.
pub(crate) type Script = Arc<dyn Fn(usize, &Value) -> Vec<Reaction> + Send + Sync>;

/// Server processes in memory.
pub(crate) struct FakeProcesses {
    script: Script,
    stderr: &'static str,
    /// The commands of all starts.
    pub(crate) commands: Mutex<Vec<ServerCommand>>,
    /// The number of stopped processes.
    pub(crate) stops: Arc<AtomicUsize>,
    /// Notified after a stop.
    pub(crate) stopped: Arc<Notify>,
    /// The sentence with which a start fails.
    pub(crate) refusal: Mutex<Option<&'static str>>,
    /// Whether the processes no longer read their input.
    pub(crate) is_deaf: Arc<AtomicBool>,
    sent: mpsc::UnboundedSender<Value>,
    last: Mutex<Option<LineSender>>,
}

/// Feeds the output of a fake process.
type LineSender = mpsc::UnboundedSender<Result<ServerLine, ProcessEnd>>;

impl FakeProcesses {
    /// Processes with this script, and the messages that clients send.
    pub(crate) fn new(
        script: impl Fn(usize, &Value) -> Vec<Reaction> + Send + Sync + 'static,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Value>) {
        let (sent, messages) = mpsc::unbounded_channel();
        let processes = Self {
            script: Arc::new(script),
            stderr: "one\ntwo\nthree\nfour\n",
            commands: Mutex::default(),
            stops: Arc::default(),
            stopped: Arc::default(),
            refusal: Mutex::default(),
            is_deaf: Arc::default(),
            sent,
            last: Mutex::default(),
        };
        (Arc::new(processes), messages)
    }

    /// The number of starts so far.
    pub(crate) fn starts(&self) -> usize {
        self.commands.lock().expect("a lock").len()
    }

    /// Lets the process that was started last do something unasked.
    pub(crate) fn react(&self, reaction: Reaction) {
        let last = self.last.lock().expect("a lock");
        push(last.as_ref().expect("a started process"), reaction);
    }
}

impl ServerProcesses for FakeProcesses {
    fn start(
        &self,
        command: ServerCommand,
    ) -> BoxFuture<'_, Result<Box<dyn ServerProcess>, ServerStartError>> {
        let mut commands = self.commands.lock().expect("a lock");
        commands.push(command);
        if let Some(refusal) = *self.refusal.lock().expect("a lock") {
            let refused = ServerStartError(refusal.to_owned());
            return Box::pin(async move { Err(refused) });
        }
        let (output, lines) = mpsc::unbounded_channel();
        *self.last.lock().expect("a lock") = Some(output.clone());
        let process = FakeProcess {
            start: commands.len(),
            script: Arc::clone(&self.script),
            stderr: self.stderr,
            is_deaf: Arc::clone(&self.is_deaf),
            sent: self.sent.clone(),
            output,
            lines: tokio::sync::Mutex::new(lines),
            end: OnceLock::new(),
            stops: Arc::clone(&self.stops),
            stopped: Arc::clone(&self.stopped),
        };
        Box::pin(async move { Ok(Box::new(process) as Box<dyn ServerProcess>) })
    }
}

struct FakeProcess {
    start: usize,
    script: Script,
    stderr: &'static str,
    is_deaf: Arc<AtomicBool>,
    sent: mpsc::UnboundedSender<Value>,
    output: mpsc::UnboundedSender<Result<ServerLine, ProcessEnd>>,
    lines: tokio::sync::Mutex<mpsc::UnboundedReceiver<Result<ServerLine, ProcessEnd>>>,
    end: OnceLock<ProcessEnd>,
    stops: Arc<AtomicUsize>,
    stopped: Arc<Notify>,
}

fn push(output: &mpsc::UnboundedSender<Result<ServerLine, ProcessEnd>>, reaction: Reaction) {
    let line = match reaction {
        Reaction::Say(message) => Ok(ServerLine::Text(message.to_string().into_bytes())),
        Reaction::Line(line) => Ok(ServerLine::Text(line.as_bytes().to_vec())),
        Reaction::LongLine => Ok(ServerLine::TooLong),
        Reaction::Exit(sentence) => Err(ProcessEnd(sentence.to_owned())),
    };
    // Nobody reads a process that was dropped.
    drop(output.send(line));
}

impl ServerProcess for FakeProcess {
    fn send(&self, line: Vec<u8>) -> BoxFuture<'_, Result<(), ProcessEnd>> {
        Box::pin(async move {
            if let Some(end) = self.end.get() {
                return Err(end.clone());
            }
            if self.is_deaf.load(Ordering::SeqCst) {
                return std::future::pending().await;
            }
            let message: Value = serde_json::from_slice(&line).expect("a message is JSON");
            for reaction in (self.script)(self.start, &message) {
                push(&self.output, reaction);
            }
            drop(self.sent.send(message));
            Ok(())
        })
    }

    fn receive(&self) -> BoxFuture<'_, Result<ServerLine, ProcessEnd>> {
        Box::pin(async move {
            let received = self.lines.lock().await.recv().await;
            let line = received.expect("the process holds a sender");
            line.inspect_err(|end| drop(self.end.set(end.clone())))
        })
    }

    fn stderr_tail(&self) -> String {
        self.stderr.to_owned()
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        self.stops.fetch_add(1, Ordering::SeqCst);
        self.stopped.notify_one();
        push(&self.output, Reaction::Exit("The server was stopped."));
        Box::pin(async {})
    }
}

/// The answer to a request.
pub(crate) fn answer(message: &Value, result: &Value) -> Reaction {
    Reaction::Say(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// An error for a request.
pub(crate) fn rejection(message: &Value, error: &Value) -> Reaction {
    Reaction::Say(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
}

/// A tool as a server lists it.
pub(crate) fn listed_tool(name: &str) -> Value {
    json!({"name": name, "description": format!("The tool {name}."),
           "inputSchema": {"type": "object", "properties": {}}})
}

/// A legacy server with these tools, whose calls answer "done".
pub(crate) fn legacy_server(message: &Value, tools: &[&str]) -> Vec<Reaction> {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "double", "version": "1.2.3"},
            "instructions": "Be brief.",
        }),
        Some("tools/list") => {
            let tools: Vec<Value> = tools.iter().map(|name| listed_tool(name)).collect();
            json!({"tools": tools})
        }
        Some("tools/call") => json!({"content": [{"type": "text", "text": "done"}]}),
        _ => return Vec::new(),
    };
    vec![answer(message, &result)]
}

/// The answer of an HTTP server.
pub(crate) struct FakeAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) pieces: Vec<Vec<u8>>,
}

impl FakeAnswer {
    /// An answer without a body.
    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), pieces: Vec::new() }
    }

    /// A body of this media type, in one piece.
    pub(crate) fn body(status: u16, media_type: &'static str, body: &str) -> Self {
        let headers = vec![("content-type", media_type)];
        Self { status, headers, pieces: vec![body.as_bytes().to_vec()] }
    }

    /// The JSON answer to a message.
    pub(crate) fn result(message: &Value, result: &Value) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        Self::body(200, "application/json", &body.to_string())
    }
}

/// Answers a request; the body is JSON or null.
type HttpScript = Box<dyn Fn(&HttpExchangeRequest, &Value) -> FakeAnswer + Send + Sync>;

/// An HTTP server in memory.
pub(crate) struct FakeExchange {
    script: HttpScript,
    /// The requests so far.
    pub(crate) requests: Mutex<Vec<HttpExchangeRequest>>,
}

impl FakeExchange {
    pub(crate) fn new(
        script: impl Fn(&HttpExchangeRequest, &Value) -> FakeAnswer + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { script: Box::new(script), requests: Mutex::default() })
    }

    /// The value of a header in the last request of a method.
    pub(crate) fn last_header(&self, method: &str, header: &str) -> Option<String> {
        let requests = self.requests.lock().expect("a lock");
        let named = |request: &&HttpExchangeRequest| {
            serde_json::from_slice::<Value>(&request.body)
                .is_ok_and(|body| body["method"] == method)
        };
        let request = requests.iter().rev().find(named).expect("a request of this method");
        let found = request.headers.iter().find(|(name, _)| name == header);
        found.map(|(_, value)| value.clone())
    }
}

impl HttpExchange for FakeExchange {
    fn exchange(
        &self,
        request: HttpExchangeRequest,
    ) -> BoxFuture<'_, Result<HttpExchangeResponse, HttpExchangeError>> {
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let answer = (self.script)(&request, &body);
        self.requests.lock().expect("a lock").push(request);
        let headers = answer
            .headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let status = answer.status;
        let body: Box<dyn HttpBody> = Box::new(FakeBody(answer.pieces));
        Box::pin(async move { Ok(HttpExchangeResponse { status, headers, body }) })
    }
}

struct FakeBody(Vec<Vec<u8>>);

impl HttpBody for FakeBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
        let piece = (!self.0.is_empty()).then(|| self.0.remove(0));
        Box::pin(async move { Ok(piece) })
    }
}
