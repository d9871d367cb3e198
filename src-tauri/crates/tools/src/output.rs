//! Outputs of file and command tools: `{success, …, error?}`.
//!
//! Owns the shape of success and failure, so that a model sees at a glance whether a call has worked. Never leaves a
//! failure without a `Fault`.

use std::fmt;

use rouse_core::attachment::Attachment;
use rouse_core::text::escape_invisible;
use rouse_core::tool::{Fault, ToolOutput};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::arguments;

/// Bytes of an output beside the content, escapes included.
pub(crate) const OUTPUT_OVERHEAD: usize = 6 << 10;

/// An error with a fault kind.
pub(crate) trait ToolFailure: fmt::Display {
    fn fault(&self) -> Fault;
}

/// Output of a successful call; `success` is the first field.
pub(crate) fn success(value: Value) -> ToolOutput {
    let mut fields = Map::from_iter([("success".to_owned(), Value::Bool(true))]);
    match value {
        Value::Object(more) => fields.extend(more),
        other => drop(fields.insert("result".to_owned(), other)),
    }
    ToolOutput::ok(Value::Object(fields))
}

/// Output of a failed call. People see the message alone.
pub(crate) fn failure(fault: Fault, message: impl Into<String>) -> ToolOutput {
    let message = message.into();
    let value = json!({ "success": false, "error": message });
    ToolOutput { fault: Some(fault), ..ToolOutput::ok(value).in_words(&message) }
}

/// Output of a call that failed with this error.
pub(crate) fn error_output(error: &impl ToolFailure) -> ToolOutput {
    failure(error.fault(), error.to_string())
}

/// The parts of a successful output.
#[derive(Default)]
pub(crate) struct ToolResult {
    pub(crate) value: Value,
    /// Text for people.
    pub(crate) summary: String,
    /// File for the model.
    pub(crate) attachment: Option<Attachment>,
}

/// Runs a tool's blocking `work` and makes the output.
pub(crate) async fn run_tool<A, E>(
    arguments: &Value,
    work: impl FnOnce(A) -> Result<ToolResult, E> + Send + 'static,
) -> ToolOutput
where
    A: DeserializeOwned + Send + 'static,
    E: ToolFailure + Send + 'static,
{
    match run_blocking_with(arguments, work).await {
        Ok(ToolResult { value, summary, attachment }) => {
            let attachments = attachment.into_iter().collect();
            ToolOutput { attachments, ..success(value).in_words(&summary) }
        }
        Err(output) => output,
    }
}

/// Text of an approval: the result of `compare`, or on an error the error and the call itself.
pub(crate) async fn preview_or_arguments<A, E>(
    arguments: &Value,
    compare: impl FnOnce(A) -> Result<String, E> + Send + 'static,
) -> String
where
    A: DeserializeOwned + Send + 'static,
    E: ToolFailure + Send + 'static,
{
    run_blocking_with(arguments, compare).await.unwrap_or_else(|output| {
        escape_invisible(&format!("{}\n\n{arguments:#}", output.words.unwrap_or_default()))
    })
}

/// Parses the arguments and runs `work` off the async threads.
pub(crate) async fn run_blocking_with<A, T, E>(
    arguments: &Value,
    work: impl FnOnce(A) -> Result<T, E> + Send + 'static,
) -> Result<T, ToolOutput>
where
    A: DeserializeOwned + Send + 'static,
    T: Send + 'static,
    E: ToolFailure + Send + 'static,
{
    let arguments =
        arguments::parse(arguments).map_err(|error| failure(Fault::InvalidParameters, error))?;
    run_blocking(move || work(arguments)).await
}

/// Runs `work` off the async threads, because disks are slow.
pub(crate) async fn run_blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ToolOutput>
where
    T: Send + 'static,
    E: ToolFailure + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(|error| error_output(&error)),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(failure(Fault::Execution, "Rouse is shutting down.")),
    }
}
