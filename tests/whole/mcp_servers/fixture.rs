//! The server double as a real process.

use rouse_tests::built_program;
use serde_json::{Value, json};

/// The definition of the double with these arguments, outside the sandbox.
pub(crate) fn double(arguments: &[&str]) -> Value {
    let program = built_program("ROUSE_MCP_DOUBLE", "mcp-double", "rouse-testkit");
    let arguments: Vec<&str> = ["--stdio"].into_iter().chain(arguments.iter().copied()).collect();
    json!({ "transport": {
        "kind": "stdio", "command": program, "arguments": arguments, "isUnconfined": true,
    } })
}
