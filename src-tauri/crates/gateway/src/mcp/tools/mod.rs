//! The tools of the MCP server.
//!
//! Owns the check that a caller may write, and the form of answers: the same JSON as text and as structured content. The error of a
//! tool is an answer that a model can correct. Pitfall: an answer of unbounded size; each text and each list has a limit.

mod catalogue;
mod tool_call;
mod draft;
mod summary;
mod outlook;
mod jobs;
mod runs;

pub(super) use catalogue::catalogue;

use serde_json::{Value, json};

use self::catalogue::McpTool;
use self::tool_call::McpToolCall;
use super::caller::McpCaller;
use super::failure::McpFailure;
use super::message::McpRequest;
use crate::gateway::Gateway;

/// Maximum bytes of an answer, about 10,000 tokens.
const MAX_ANSWER_BYTES: usize = 40_000;

/// The tools behind the protocol.
#[derive(Clone, Copy)]
pub(crate) enum McpTools<'a> {
    /// The tools of a running engine.
    Engine {
        /// The gateway.
        gateway: &'a Gateway,
        /// The program behind the call.
        caller: &'a McpCaller,
    },
    /// No engine; the sentences say why and what to do.
    Unavailable(&'a str),
}

/// Calls a tool. An unknown tool is a protocol error.
pub(super) async fn call(request: &McpRequest, tools: McpTools<'_>) -> Result<Value, McpFailure> {
    let name = request.params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| McpFailure::invalid_params("name: is required, as a text."))?;
    let tool = McpTool::named(name)
        .ok_or_else(|| McpFailure::invalid_params(format!("There is no tool {name}.")))?;
    let arguments = request.params.get("arguments").cloned().unwrap_or_default();
    let (gateway, caller) = match tools {
        McpTools::Engine { gateway, caller } => (gateway, caller),
        McpTools::Unavailable(problem) => return Ok(error_answer(problem)),
    };
    if let Some(refusal) = caller.write_refusal().filter(|_| !tool.is_read_only()) {
        return Ok(error_answer(&refusal));
    }
    let call = McpToolCall { gateway, client: caller.label(request.client_name()) };
    tracing::info!(tool = name, client = call.client, run = caller.run_id, "an MCP client calls");
    Ok(match run(tool, &call, arguments).await {
        Ok(value) => answer(&value),
        Err(message) => error_answer(&message),
    })
}

async fn run(tool: McpTool, call: &McpToolCall<'_>, arguments: Value) -> Result<Value, String> {
    match tool {
        McpTool::JobsList => jobs::list(call, arguments).await,
        McpTool::JobGet => jobs::get(call, arguments).await,
        McpTool::JobPreview => jobs::preview(call, arguments).await,
        McpTool::JobCreate => jobs::create(call, arguments).await,
        McpTool::JobUpdate => jobs::update(call, arguments).await,
        McpTool::JobDelete => jobs::delete(call, arguments).await,
        McpTool::JobRun => jobs::run_now(call, arguments).await,
        McpTool::RunsList => runs::list(call, arguments).await,
        McpTool::RunGet => runs::get(call, arguments).await,
        McpTool::RunWait => runs::wait(call, arguments).await,
        McpTool::ApprovalsList => runs::approvals(call, arguments).await,
        McpTool::Wake => runs::wake(call, arguments).await,
    }
}

fn answer(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() > MAX_ANSWER_BYTES {
        return error_answer("The answer is too large. Ask for fewer entries with `limit`.");
    }
    json!({
        "content": [{ "type": "text", "text": text }],
        "structuredContent": value,
        "isError": false,
    })
}

fn error_answer(message: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": message }], "isError": true })
}
