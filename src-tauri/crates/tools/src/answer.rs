//! The shape of what file and command tools answer: `{success, …, error?}`.
//!
//! A model sees at a glance whether a call has worked, and a fault has its kind, so that whoever reads it can act on it
//! without reading words. One could get it wrong by two shapes for the same failure.

use std::fmt;

use rouse_core::attachment::Attachment;
use rouse_core::tool::{Fault, ToolOutput};
use rouse_core::visible::visible;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::arguments;

/// An error that knows its kind.
pub(crate) trait Faulty: fmt::Display {
    fn fault(&self) -> Fault;
}

/// A result, with `success` before all else.
pub(crate) fn done(value: Value) -> ToolOutput {
    let mut fields = Map::from_iter([("success".to_owned(), Value::Bool(true))]);
    match value {
        Value::Object(more) => fields.extend(more),
        other => drop(fields.insert("result".to_owned(), other)),
    }
    ToolOutput::ok(Value::Object(fields))
}

/// A failure of this kind. A person reads the words alone.
pub(crate) fn failed(fault: Fault, message: impl Into<String>) -> ToolOutput {
    let message = message.into();
    let value = json!({ "success": false, "error": message });
    ToolOutput { fault: Some(fault), ..ToolOutput::ok(value).in_words(&message) }
}

/// What an error comes to.
pub(crate) fn refused(error: &impl Faulty) -> ToolOutput {
    failed(error.fault(), error.to_string())
}

/// A result, its text for people, and its file for the model.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) value: Value,
    pub(crate) words: String,
    pub(crate) attachment: Option<Attachment>,
}

/// What `work` on files comes to.
pub(crate) async fn of<A, E>(
    arguments: &Value,
    work: impl FnOnce(A) -> Result<Told, E> + Send + 'static,
) -> ToolOutput
where
    A: DeserializeOwned + Send + 'static,
    E: Faulty + Send + 'static,
{
    match aside(arguments, work).await {
        Ok(Told { value, words, attachment }) => {
            let attachments = attachment.into_iter().collect();
            ToolOutput { attachments, ..done(value).in_words(&words) }
        }
        Err(output) => output,
    }
}

/// Does `work` where waiting for a disk holds up nobody else.
pub(crate) async fn aside<A, T, E>(
    arguments: &Value,
    work: impl FnOnce(A) -> Result<T, E> + Send + 'static,
) -> Result<T, ToolOutput>
where
    A: DeserializeOwned + Send + 'static,
    T: Send + 'static,
    E: Faulty + Send + 'static,
{
    let arguments =
        arguments::read(arguments).map_err(|error| failed(Fault::InvalidParameters, error))?;
    blocking(move || work(arguments)).await
}

/// What a person is shown of a call: what `compare` says of it, or, where that cannot be said, the call itself.
pub(crate) async fn compared<A, E>(
    arguments: &Value,
    compare: impl FnOnce(A) -> Result<String, E> + Send + 'static,
) -> String
where
    A: DeserializeOwned + Send + 'static,
    E: Faulty + Send + 'static,
{
    aside(arguments, compare).await.unwrap_or_else(|output| {
        visible(&format!("{}\n\n{arguments:#}", output.words.unwrap_or_default()))
    })
}

/// As `aside`, for work that has read its arguments.
pub(crate) async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ToolOutput>
where
    T: Send + 'static,
    E: Faulty + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| refused(&error)),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(failed(Fault::Execution, "Rouse is closing.")),
    }
}
