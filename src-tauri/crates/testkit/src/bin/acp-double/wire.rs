//! Messages of the protocol, one a line.
//!
//! Owns the input, the output and the ids of the double's own requests.

use std::io::{self, BufRead as _, StdinLock, Write as _};

use serde_json::{Value, json};

/// The connection to the client.
pub(crate) struct AgentWire {
    input: StdinLock<'static>,
    requests: u64,
}

impl AgentWire {
    pub(crate) fn new() -> Self {
        Self { input: io::stdin().lock(), requests: 0 }
    }

    /// The next message; none at the end of the input.
    pub(crate) fn read(&mut self) -> io::Result<Option<Value>> {
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        serde_json::from_str(&line).map(Some).map_err(io::Error::other)
    }

    /// Sends a request and returns its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.requests += 1;
        let id = json!(format!("double-{}", self.requests));
        write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// Sends an update of a session.
    pub(crate) fn update(session: &str, update: &Value) -> io::Result<()> {
        let params = json!({ "sessionId": session, "update": update });
        write(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
    }

    /// Answers a request.
    pub(crate) fn answer(id: &Value, result: &Value) -> io::Result<()> {
        write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    /// Answers a request with an error.
    pub(crate) fn refuse(id: &Value, code: i32, message: &str) -> io::Result<()> {
        let error = json!({ "code": code, "message": message });
        write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }
}

fn write(message: &Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{message}")?;
    output.flush()
}
