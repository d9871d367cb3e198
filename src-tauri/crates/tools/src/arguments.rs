//! Parsing of a call's arguments into a tool's own type.
//!
//! The gate has validated the arguments against the schema already. Every argument type denies unknown fields, so that a tool never
//! works on a guess if the two disagree.

use rouse_core::tool::{Fault, ToolOutput};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parses the arguments; an error is a message for the caller.
pub(crate) fn parse<T: DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    T::deserialize(arguments).map_err(|error| format!("Invalid arguments: {error}."))
}

/// The output of a call with invalid arguments.
pub(crate) fn invalid_arguments(message: String) -> ToolOutput {
    ToolOutput::faulty(Fault::InvalidParameters, message)
}
