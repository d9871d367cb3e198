//! The protocol: requests, notifications and calls.
//!
//! Reads one message after the other; only a slow call has a thread. Pitfall: a request of the server waits for its
//! answer, and other messages may come before that answer.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, Lines, StdinLock, Write as _};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::catalogue::listed_tools;
use crate::options::{DoubleFault, DoubleOptions};
use crate::wire::DoubleWire;

const LEGACY_VERSION: &str = "2025-11-25";
const MODERN_VERSION: &str = "2026-07-28";

/// The keys of a modern request's and result's metadata.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Codes of JSON-RPC and MCP.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMETERS: i64 = -32602;
const UNSUPPORTED_VERSION: i64 = -32022;

/// The name and the state of the input request of `ask-input`.
const INPUT_KEY: &str = "order";
const INPUT_STATE: &str = "st.ate \"1\"";

/// The tools of a page.
const PAGE_SIZE: usize = 500;

/// The time between two progress messages.
const PROGRESS_EVERY: Duration = Duration::from_millis(20);

/// The bytes of the result of `big`.
const BIG_BYTES: usize = 30_000_000;

/// A PNG of 1 × 1 pixels, in base64.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The server of one process.
pub(crate) struct DoubleServer {
    options: DoubleOptions,
    input: Lines<StdinLock<'static>>,
    wire: DoubleWire,
    /// The ends of the slow calls, by request id.
    slow_calls: HashMap<String, Sender<()>>,
    /// Whether a request came before.
    has_begun: bool,
    /// Whether `initialize` was refused.
    has_refused: bool,
    /// Whether a call came before.
    has_called: bool,
}

impl DoubleServer {
    pub(crate) fn new(options: DoubleOptions) -> Self {
        Self {
            wire: DoubleWire::new(&options),
            options,
            input: io::stdin().lines(),
            slow_calls: HashMap::new(),
            has_begun: false,
            has_refused: false,
            has_called: false,
        }
    }

    /// Answers until the end of the input.
    pub(crate) fn run(mut self) -> io::Result<ExitCode> {
        while let Some(line) = self.input.next() {
            let line = line?;
            if self.options.has(DoubleFault::Silent) {
                continue;
            }
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                self.refuse(&Value::Null, PARSE_ERROR, "The line is not JSON.")?;
                continue;
            };
            let is_first_request = !self.has_begun && message.get("id").is_some();
            self.has_begun |= is_first_request;
            let is_modern = self.options.has(DoubleFault::ModernOnly);
            if is_first_request && !is_modern && message["method"] != "initialize" {
                eprintln!("the first request is not initialize");
                return Ok(ExitCode::from(2));
            }
            self.handle(&message)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn handle(&mut self, message: &Value) -> io::Result<()> {
        let Some(method) = message["method"].as_str() else { return Ok(()) };
        let params = &message["params"];
        let Some(id) = message.get("id") else {
            if method == "notifications/cancelled" {
                self.cancel(&params["requestId"]);
            }
            return Ok(());
        };
        if self.options.has(DoubleFault::ModernOnly) {
            return self.handle_modern(id, method, params);
        }
        match method {
            "initialize" => self.initialize(id),
            "ping" => self.answer(id, json!({})),
            _ => self.handle_shared(id, method, params),
        }
    }

    fn handle_modern(&mut self, id: &Value, method: &str, params: &Value) -> io::Result<()> {
        if self.has_refused {
            return self.refuse(id, INVALID_REQUEST, "This process refused initialize.");
        }
        let requested = &params["_meta"][VERSION_KEY];
        if method == "initialize" || requested != MODERN_VERSION {
            self.has_refused = method == "initialize";
            let data = json!({ "supported": [MODERN_VERSION], "requested": requested });
            let message = "Unsupported protocol version";
            let error = json!({ "code": UNSUPPORTED_VERSION, "message": message, "data": data });
            return self.wire.refuse(id, error);
        }
        if method != "server/discover" {
            return self.handle_shared(id, method, params);
        }
        let server = json!({ "name": "mcp-double", "version": self.options.version });
        let result = json!({
            "supportedVersions": [MODERN_VERSION],
            "capabilities": { "tools": {} },
            "instructions": "Use echo.",
            "_meta": { SERVER_INFO_KEY: server },
        });
        self.answer_list(id, result)
    }

    fn handle_shared(&mut self, id: &Value, method: &str, params: &Value) -> io::Result<()> {
        match method {
            "tools/list" => self.list(id, params),
            "tools/call" => self.call(id, params),
            _ => self.refuse(id, UNKNOWN_METHOD, "The method is unknown."),
        }
    }

    fn initialize(&self, id: &Value) -> io::Result<()> {
        let result = json!({
            "protocolVersion": LEGACY_VERSION,
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "mcp-double", "version": self.options.version },
            "instructions": "Use echo.",
        });
        self.answer(id, result)
    }

    fn list(&self, id: &Value, params: &Value) -> io::Result<()> {
        let has_changed = self.has_called && self.options.has(DoubleFault::ListChanged);
        let tools = listed_tools(&self.options, has_changed);
        let cursor = params["cursor"].as_str();
        let start: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let end = tools.len().min(start + PAGE_SIZE);
        let page = tools.get(start..end).unwrap_or_default();
        let mut result = json!({ "tools": page });
        if self.options.has(DoubleFault::RepeatCursor) {
            result["nextCursor"] = "0".into();
        } else if end < tools.len() {
            result["nextCursor"] = end.to_string().into();
        }
        self.answer_list(id, result)
    }

    fn call(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        if !self.has_called && self.options.has(DoubleFault::ListChanged) {
            self.wire.send(None, "notifications/tools/list_changed", json!({}))?;
        }
        self.has_called = true;
        let arguments = &params["arguments"];
        let text_of = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        match params["name"].as_str().unwrap_or_default() {
            "echo" if self.options.has(DoubleFault::AskInput) => {
                let fields = json!({
                    "name": { "type": "string", "title": "Name", "minLength": 1 },
                    "count": { "type": "integer", "minimum": 1, "maximum": 9 },
                });
                self.echo_with_input(id, params, &text_of("text"), &fields)
            }
            "echo" if self.options.has(DoubleFault::AskPassword) => {
                let fields = json!({ "password": { "type": "string", "title": "Password" } });
                self.echo_with_input(id, params, &text_of("text"), &fields)
            }
            "echo" => {
                let text = self.question_client(text_of("text"))?;
                self.answer_text(id, &text, false)
            }
            "add" => {
                let number = |name: &str| arguments[name].as_f64().unwrap_or_default();
                let sum = number("a") + number("b");
                let content = json!([{ "type": "text", "text": sum.to_string() }]);
                self.answer(id, json!({ "content": content, "structuredContent": { "sum": sum } }))
            }
            "write_note" => match self.write_note(&text_of("path"), &text_of("text")) {
                Ok(()) => self.answer_text(id, "The note is written.", false),
                Err(error) => self.answer_text(id, &error.to_string(), true),
            },
            "secret_env" => match std::env::var(text_of("name")) {
                Ok(value) => self.answer_text(id, &value, false),
                Err(error) => self.answer_text(id, &error.to_string(), true),
            },
            "crash" => {
                eprintln!("the server crashes");
                std::process::exit(3)
            }
            "slow" => {
                self.start_slow_call(id, &params["_meta"]["progressToken"]);
                Ok(())
            }
            "image" => {
                let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
                self.answer(id, json!({ "content": [image] }))
            }
            "big" => self.answer_text(id, &"x".repeat(BIG_BYTES), false),
            "fail" => self.answer_text(id, "The tool failed on purpose.", true),
            other => self.call_further_tool(id, other),
        }
    }

    /// A tool that only a fault lists.
    fn call_further_tool(&self, id: &Value, name: &str) -> io::Result<()> {
        if listed_tools(&self.options, false).iter().any(|tool| tool["name"] == name) {
            self.answer_text(id, &format!("Called {name}."), false)
        } else {
            self.refuse(id, INVALID_PARAMETERS, "The tool is unknown.")
        }
    }

    /// The text, with the answers of the client to the requests of the faults.
    fn question_client(&mut self, mut text: String) -> io::Result<String> {
        if self.options.has(DoubleFault::Elicit) {
            let schema = json!({ "type": "object", "properties": { "day": { "type": "string" } } });
            let params = json!({ "message": "Which day?", "requestedSchema": schema });
            let answer = self.request("elicitation/create", params)?;
            let action = answer["result"]["action"].as_str().unwrap_or("no action");
            text.push_str(&format!(" (elicitation/create: {action})"));
        }
        if self.options.has(DoubleFault::Sample) {
            let content = json!({ "type": "text", "text": "Hello" });
            let messages = json!([{ "role": "user", "content": content }]);
            let params = json!({ "messages": messages, "maxTokens": 10 });
            for (method, params) in [("sampling/createMessage", params), ("roots/list", json!({}))]
            {
                let answer = self.request(method, params)?;
                text.push_str(&format!(" ({method}: {})", answer["error"]["code"]));
            }
        }
        Ok(text)
    }

    /// Asks for input in the place of a result; a call with an answer adds the answer to the text.
    fn echo_with_input(
        &self,
        id: &Value,
        params: &Value,
        text: &str,
        fields: &Value,
    ) -> io::Result<()> {
        let answer = &params["inputResponses"][INPUT_KEY];
        if !answer.is_null() && params["requestState"] == INPUT_STATE {
            return self.answer_text(id, &format!("{text} {answer}"), false);
        }
        let required: Vec<&String> =
            fields.as_object().into_iter().flat_map(|all| all.keys()).collect();
        let schema = json!({ "type": "object", "required": required, "properties": fields });
        let params = json!({ "message": "Who, and how many?", "requestedSchema": schema });
        let request = json!({ "method": "elicitation/create", "params": params });
        let result = json!({
            "resultType": "input_required",
            "inputRequests": { INPUT_KEY: request },
            "requestState": INPUT_STATE,
        });
        self.wire.answer(id, result)
    }

    /// Sends a request to the client and handles other messages until the answer.
    fn request(&mut self, method: &str, params: Value) -> io::Result<Value> {
        self.wire.send(Some(method), method, params)?;
        while let Some(line) = self.input.next() {
            let message: Value = serde_json::from_str(&line?)?;
            if message.get("method").is_none() && message["id"] == method {
                return Ok(message);
            }
            self.handle(&message)?;
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    fn write_note(&self, path: &str, text: &str) -> io::Result<()> {
        let Some(notes) = &self.options.notes else {
            return Err(io::Error::other("The server was started without --notes."));
        };
        let mut file = OpenOptions::new().create(true).append(true).open(notes)?;
        writeln!(file, "{path}: {text}")
    }

    fn start_slow_call(&mut self, id: &Value, token: &Value) {
        let (end, ended) = channel();
        self.slow_calls.insert(id.to_string(), end);
        let (wire, token) = (self.wire.clone(), token.clone());
        std::thread::spawn(move || {
            let mut progress = 0;
            while ended.recv_timeout(PROGRESS_EVERY) == Err(RecvTimeoutError::Timeout) {
                progress += 1;
                let params = json!({ "progressToken": token, "progress": progress });
                let is_wanted = !token.is_null();
                if is_wanted && wire.send(None, "notifications/progress", params).is_err() {
                    break;
                }
            }
        });
    }

    fn cancel(&mut self, id: &Value) {
        if self.slow_calls.remove(&id.to_string()).is_some() {
            eprintln!("cancelled");
        }
    }

    fn answer_text(&self, id: &Value, text: &str, is_error: bool) -> io::Result<()> {
        let content = json!([{ "type": "text", "text": text }]);
        self.answer(id, json!({ "content": content, "isError": is_error }))
    }

    /// Answers with a result that a modern client may keep.
    fn answer_list(&self, id: &Value, mut result: Value) -> io::Result<()> {
        if self.options.has(DoubleFault::ModernOnly) {
            result["ttlMs"] = 0.into();
            result["cacheScope"] = "private".into();
        }
        self.answer(id, result)
    }

    fn answer(&self, id: &Value, mut result: Value) -> io::Result<()> {
        if self.options.has(DoubleFault::ModernOnly) {
            result["resultType"] = "complete".into();
        }
        self.wire.answer(id, result)
    }

    fn refuse(&self, id: &Value, code: i64, message: &str) -> io::Result<()> {
        self.wire.refuse(id, json!({ "code": code, "message": message }))
    }
}
