//! Reading a call's arguments into a tool's own type.
//!
//! The gate has already held them against the schema. This reads them a second time, as strictly, so that a tool never
//! works on a guess when the two disagree: every argument type denies unknown fields.

use rouse_core::tool::{Fault, ToolOutput};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The arguments, or what to answer instead, in words.
pub(crate) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    T::deserialize(arguments).map_err(|error| format!("The arguments do not fit: {error}."))
}

/// What a call comes to whose arguments do not fit.
pub(crate) fn misfit(words: String) -> ToolOutput {
    ToolOutput::faulty(Fault::InvalidParameters, words)
}
