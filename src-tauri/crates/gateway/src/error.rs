//! RPC errors: `{code, message, data}` with codes for clients to branch on.

use rouse_core::job::JobError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Error codes: those of JSON-RPC 2.0 where defined, else -320xx.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The method does not exist.
    MethodNotFound,
    /// Invalid fields, listed in `data.fields`.
    InvalidParams,
    /// An internal error; the log has the details.
    Internal,
    /// The object does not exist.
    NotFound,
    /// Stale revision; `data.revision` is the current one.
    Stale,
    /// The object exists already.
    Exists,
    /// Not possible in the current state.
    Conflict,
    /// Full or broken disk, or damaged database.
    Storage,
    /// The method is beyond the scope of the device; `data` has `device`, `scope` and `needs`.
    Forbidden,
}

impl ErrorCode {
    /// The number in JSON.
    #[must_use]
    pub const fn number(self) -> i64 {
        match self {
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::NotFound => -32004,
            Self::Stale => -32009,
            Self::Exists => -32010,
            Self::Conflict => -32011,
            Self::Storage => -32012,
            Self::Forbidden => -32013,
        }
    }
}

/// An error in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// See [`ErrorCode`].
    pub code: i64,
    /// Error and fix, for the person.
    pub message: String,
    /// Details for programs.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code: code.number(), message: message.into(), data: Value::Null }
    }

    /// Unknown method.
    #[must_use]
    pub fn method_not_found(name: &str) -> Self {
        Self::new(ErrorCode::MethodNotFound, format!("There is no method {name}."))
    }

    /// Parameters that do not match their type.
    #[must_use]
    pub fn invalid_params(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let (path, message) = (error.path().to_string(), error.inner().to_string());
        let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
        let full_path =
            |name: &str| if path == "." { name.to_owned() } else { format!("{path}.{name}") };
        match missing {
            Some((name, _)) => Self::field(&full_path(name), "is required"),
            None => Self::field(&path, &translate_serde_message(&message)),
        }
    }

    /// One invalid field.
    #[must_use]
    pub fn field(path: &str, message: &str) -> Self {
        Self {
            code: ErrorCode::InvalidParams.number(),
            message: format!("{path}: {message}"),
            data: json!({ "fields": [{ "path": path, "message": message }] }),
        }
    }

    /// An internal error, which is logged.
    pub fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = %error_chain(error), "a request failed");
        Self::new(ErrorCode::Internal, "Internal error. The log has the details.")
    }
}

/// Rewrites an error message of serde in the style of job errors.
fn translate_serde_message(message: &str) -> String {
    let split = |prefix: &str, separator: &str| {
        message.strip_prefix(prefix).and_then(|rest| rest.split_once(separator))
    };
    if let Some((found, expected)) = split("invalid type: ", ", expected ") {
        format!("expected {}, found {}", expected_kind(expected), found_kind(found))
    } else if let Some((found, expected)) = split("unknown variant ", ", expected ") {
        format!("expected {}, found {found}", expected.trim_start_matches("one of "))
    } else if let Some((name, _)) = split("unknown field ", ", ") {
        format!("{name} is unknown")
    } else {
        message.to_owned()
    }
}

/// The kind of a found value, without the value.
fn found_kind(found: &str) -> &str {
    match found.split_once(' ').unwrap_or((found, "")) {
        ("string", _) => "a text",
        ("integer" | "floating", _) => "a number",
        ("boolean", value) => value.trim_matches('`'),
        ("map", _) => "an object",
        ("sequence", _) => "a list",
        ("null" | "unit", _) => "nothing",
        _ => found,
    }
}

/// The expected kind, for the person.
fn expected_kind(expected: &str) -> &str {
    match expected {
        "a string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "i64" | "u64" | "u32" | "i32" | "usize" | "u16" => "a whole number",
        "f64" => "a number",
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
}

impl From<JobError> for RpcError {
    fn from(error: JobError) -> Self {
        let fields: Vec<Value> = error
            .0
            .iter()
            .map(|field| json!({ "path": field.path, "message": field.message }))
            .collect();
        Self {
            code: ErrorCode::InvalidParams.number(),
            message: error.to_string(),
            data: json!({ "fields": fields }),
        }
    }
}

/// The error with all sources, for the log.
fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{CronListParams, WakeParams};

    fn error_of<T: serde::de::DeserializeOwned>(params: Value) -> String {
        let parsed: Result<T, _> = serde_path_to_error::deserialize(&params);
        RpcError::invalid_params(&parsed.err().expect("invalid parameters")).message
    }

    #[test]
    fn invalid_parameter_error_names_field_and_kinds() {
        let wake_error = error_of::<WakeParams>;
        assert_eq!(wake_error(json!({ "text": 5 })), "text: expected a text, found a number");
        assert_eq!(wake_error(json!({ "text": true })), "text: expected a text, found true");
        assert_eq!(wake_error(json!({ "text": [] })), "text: expected a text, found a list");
        assert_eq!(wake_error(json!({})), "text: is required");
        let message = wake_error(json!({ "text": "a", "mode": "zz" }));
        assert!(
            message.starts_with("mode: expected `") && message.ends_with(", found `zz`"),
            "{message}"
        );
        let message = error_of::<CronListParams>(json!({ "limit": "ten" }));
        assert_eq!(message, "limit: expected a whole number, found a text");
        let message = error_of::<CronListParams>(json!({ "includeDisabled": 1 }));
        assert_eq!(message, "includeDisabled: expected true or false, found a number");
    }
}
