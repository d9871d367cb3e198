//! The outcome of a test.
//!
//! Owns the comparison of a result with the expected one. Never judges a text of the tool. Pitfall: 21 and 21.0, which
//! are one number in JSON.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::error::GuestError;
use crate::host::ToolLog;
use crate::manifest::ExpectedResult;

/// Bound of a value in a message.
const MAX_SHOWN_BYTES: usize = 2_000;

/// The outcome of one test.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolTestOutcome {
    /// The name of the test.
    pub name: String,
    /// Why the test failed; none when it passed.
    pub failure: Option<ToolTestFailure>,
    /// The log of the call.
    pub log: ToolLog,
    /// The number of HTTP exchanges.
    pub http_exchanges: usize,
}

/// Why a test failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase", tag = "kind", content = "facts")]
pub enum ToolTestFailure {
    /// A request without a canned answer.
    #[error(
        "The tool requested {method} {url}, which no canned answer covers. Add it to `http` of the test; tests have no network."
    )]
    UncoveredRequest {
        /// The method.
        method: String,
        /// The URL.
        url: String,
    },
    /// Another result.
    #[error("The result is {actual}; the test expects {expected}.")]
    OtherResult {
        /// The result, bounded.
        actual: String,
        /// The expected result, bounded.
        expected: String,
    },
    /// A result where an error is expected.
    #[error("The result is {actual}; the test expects an error with `{expected}`.")]
    NoError {
        /// The result, bounded.
        actual: String,
        /// The expected part of the error.
        expected: String,
    },
    /// An error that is not expected.
    #[error("{0}")]
    Failed(String),
    /// An error without the expected part.
    #[error("{actual} The test expects an error with `{expected}`.")]
    OtherError {
        /// The error.
        actual: String,
        /// The expected part.
        expected: String,
    },
    /// The check took too long before this test.
    #[error("The test did not run, because the tests before took too long. Make them faster.")]
    NotRun,
}

impl ToolTestFailure {
    /// Compares the end of a call with the expectation of its test.
    pub(super) fn of(ended: &Result<Value, GuestError>, expected: &ExpectedResult) -> Option<Self> {
        match (ended, expected) {
            (Ok(actual), ExpectedResult::Result(expected)) => (!is_same(actual, expected))
                .then(|| Self::OtherResult { actual: shown(actual), expected: shown(expected) }),
            (Ok(actual), ExpectedResult::Error(expected)) => {
                Some(Self::NoError { actual: shown(actual), expected: expected.clone() })
            }
            (Err(error), ExpectedResult::Result(_)) => Some(Self::Failed(error.to_string())),
            (Err(GuestError::Tool(text)), ExpectedResult::Error(expected))
                if text.contains(expected) =>
            {
                None
            }
            (Err(error), ExpectedResult::Error(expected)) => {
                Some(Self::OtherError { actual: error.to_string(), expected: expected.clone() })
            }
        }
    }
}

fn shown(value: &impl fmt::Display) -> String {
    let mut text = value.to_string();
    if text.len() > MAX_SHOWN_BYTES {
        text.truncate(text.floor_char_boundary(MAX_SHOWN_BYTES));
        text.push('…');
    }
    text
}

/// Whether both are the same JSON. A number may be written with or without a point.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in_other = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| is_same(value, other))
            };
            one.len() == other.len() && one.iter().all(is_in_other)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_compared_as_json() {
        let expected = json!({ "a": [1, 2.0], "b": null });
        let failure = |actual: Value| {
            ToolTestFailure::of(&Ok(actual), &ExpectedResult::Result(expected.clone()))
        };
        assert_eq!(failure(json!({ "b": null, "a": [1.0, 2] })), None);
        for other in [
            json!({ "a": [1, 2] }),
            json!({ "a": [2, 1], "b": null }),
            json!({ "a": [1, 2, 3], "b": null }),
            json!({ "a": [1, "2"], "b": null }),
            json!({ "a": [1, 2], "b": null, "c": 1 }),
            json!(9_007_199_254_740_993_u64),
        ] {
            assert!(failure(other.clone()).is_some(), "{other}");
        }
        let (big, near) = (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64));
        assert!(!is_same(&big, &near));
    }

    #[test]
    fn only_an_error_of_the_tool_is_expected() {
        let expected = ExpectedResult::Error("no such".to_owned());
        let failure = |error| ToolTestFailure::of(&Err(error), &expected);
        assert_eq!(failure(GuestError::Tool("no such city".to_owned())), None);
        assert!(failure(GuestError::Tool("other".to_owned())).is_some());
        assert!(failure(GuestError::Engine("no such".to_owned())).is_some());
        assert!(ToolTestFailure::of(&Ok(json!("no such")), &expected).is_some());
    }
}
