//! The check of a job's fixed tool call.

use rouse_agent::ToolCallError;
use rouse_core::job::{Job, Payload};

use super::condition::check_condition;
use crate::context::Context;
use crate::error::RpcError;

/// Refuses a fixed call that can only fail.
pub(super) async fn check_call(context: &Context, job: &Job) -> Result<(), RpcError> {
    let Payload::ToolCall(call) = &job.payload else { return Ok(()) };
    match context.gate.tools().call_error(&call.tool, &call.arguments) {
        None => check_condition(context, job).await,
        Some(ToolCallError::Tool(message)) => Err(RpcError::field("payload.tool", &message)),
        Some(ToolCallError::Arguments(message)) => {
            Err(RpcError::field("payload.arguments", &message))
        }
    }
}
