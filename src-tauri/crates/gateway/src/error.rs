//! Errors on the wire: `{code, message, data}` with codes a client can branch on.

use rouse_core::job::JobError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a client can branch on. The numbers are JSON-RPC 2.0's where it defines one, else -320xx.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The method does not exist.
    MethodNotFound,
    /// A field is wrong; `data.fields` names each.
    InvalidParams,
    /// Something went wrong inside; the log has more.
    Internal,
    /// The thing does not exist.
    NotFound,
    /// It has changed since the client read it; `data.revision` is the present one.
    Stale,
    /// It exists already.
    Exists,
    /// It cannot be done in the present state.
    Conflict,
    /// The disk is full or broken, or the database damaged.
    Storage,
}

impl ErrorCode {
    /// The number on the wire.
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
        }
    }
}

/// An error as it crosses the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// See [`ErrorCode`].
    pub code: i64,
    /// What happened and what to do, for the person.
    pub message: String,
    /// What a program can use.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl RpcError {
    /// An error with nothing but words.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code: code.number(), message: message.into(), data: Value::Null }
    }

    /// No such method.
    #[must_use]
    pub fn method_not_found(name: &str) -> Self {
        Self::new(ErrorCode::MethodNotFound, format!("There is no method {name}."))
    }

    /// A parameter has the wrong shape.
    #[must_use]
    pub fn invalid_params(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let (path, message) = (error.path().to_string(), error.inner().to_string());
        let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
        let inside =
            |name: &str| if path == "." { name.to_owned() } else { format!("{path}.{name}") };
        match missing {
            Some((name, _)) => Self::field(&inside(name), "is required"),
            None => Self::field(&path, &in_our_words(&message)),
        }
    }

    /// One field is wrong.
    #[must_use]
    pub fn field(path: &str, message: &str) -> Self {
        Self {
            code: ErrorCode::InvalidParams.number(),
            message: format!("{path}: {message}"),
            data: json!({ "fields": [{ "path": path, "message": message }] }),
        }
    }

    /// Something went wrong inside.
    pub fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = %chain(error), "a request failed");
        Self::new(
            ErrorCode::Internal,
            "Something went wrong inside Rouse. The log has the details.",
        )
    }
}

/// What serde says of a wrong value, as the fields of a job say it.
fn in_our_words(message: &str) -> String {
    let of = |beginning: &str, between: &str| {
        message.strip_prefix(beginning).and_then(|rest| rest.split_once(between))
    };
    if let Some((found, expected)) = of("invalid type: ", ", expected ") {
        format!("expected {}, found {}", wanted(expected), given(found))
    } else if let Some((found, expected)) = of("unknown variant ", ", expected ") {
        format!("expected {}, found {found}", expected.trim_start_matches("one of "))
    } else if let Some((name, _)) = of("unknown field ", ", ") {
        format!("{name} is not known here")
    } else {
        message.to_owned()
    }
}

/// What somebody has sent, as serde tells it: its kind, and its value behind it. The value is not repeated.
fn given(found: &str) -> &str {
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

/// The kinds of values that parameters have, in a person's words.
fn wanted(expected: &str) -> &str {
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

/// An error with all its sources, for the log.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
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

    fn complaint<T: serde::de::DeserializeOwned>(params: Value) -> String {
        let read: Result<T, _> = serde_path_to_error::deserialize(&params);
        RpcError::invalid_params(&read.err().expect("it should be refused")).message
    }

    #[test]
    fn a_wrong_parameter_is_told_in_words_for_people() {
        let of_wake = complaint::<WakeParams>;
        assert_eq!(of_wake(json!({ "text": 5 })), "text: expected a text, found a number");
        assert_eq!(of_wake(json!({ "text": true })), "text: expected a text, found true");
        assert_eq!(of_wake(json!({ "text": [] })), "text: expected a text, found a list");
        assert_eq!(of_wake(json!({})), "text: is required");
        let wrong = of_wake(json!({ "text": "a", "mode": "zz" }));
        assert!(
            wrong.starts_with("mode: expected `") && wrong.ends_with(", found `zz`"),
            "{wrong}"
        );
        let wrong = complaint::<CronListParams>(json!({ "limit": "ten" }));
        assert_eq!(wrong, "limit: expected a whole number, found a text");
        let wrong = complaint::<CronListParams>(json!({ "includeDisabled": 1 }));
        assert_eq!(wrong, "includeDisabled: expected true or false, found a number");
    }
}
