//! Messages on the output, one a line, with the faults of the line form.
//!
//! Owns the output; the thread of a slow call shares it. Never reads.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::options::{DoubleFault, DoubleOptions};

/// The bytes of the fault `long-line`.
const LONG_LINE_BYTES: usize = 20 << 20;

/// The output. Clones share the state of the faults.
#[derive(Clone)]
pub(crate) struct DoubleWire {
    is_noisy: bool,
    line_end: &'static str,
    owes_long_line: Arc<AtomicBool>,
}

impl DoubleWire {
    pub(crate) fn new(options: &DoubleOptions) -> Self {
        Self {
            is_noisy: options.has(DoubleFault::Noise),
            line_end: if options.has(DoubleFault::Crlf) { "\r\n" } else { "\n" },
            owes_long_line: Arc::new(AtomicBool::new(options.has(DoubleFault::LongLine))),
        }
    }

    /// Sends a request or, without an id, a notification.
    pub(crate) fn send(&self, id: Option<&str>, method: &str, params: Value) -> io::Result<()> {
        let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if let Some(id) = id {
            message["id"] = id.into();
        }
        self.write(&message)
    }

    /// Answers a request with a result.
    pub(crate) fn answer(&self, id: &Value, result: Value) -> io::Result<()> {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    /// Answers a request with an error.
    pub(crate) fn refuse(&self, id: &Value, error: Value) -> io::Result<()> {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    fn write(&self, message: &Value) -> io::Result<()> {
        let mut output = io::stdout().lock();
        if self.owes_long_line.swap(false, Ordering::Relaxed) {
            output.write_all("x".repeat(LONG_LINE_BYTES).as_bytes())?;
            output.write_all(self.line_end.as_bytes())?;
        }
        if self.is_noisy {
            write!(output, "The server writes a message now.{}", self.line_end)?;
        }
        write!(output, "{message}{}", self.line_end)?;
        output.flush()
    }
}
