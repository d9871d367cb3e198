//! The tests of a manifest, with canned HTTP.
//!
//! Owns the fields of a test. Pitfall: a test without an expectation, which passes always.

use jsonschema::Validator;
use rouse_core::text::suggest;
use serde::Serialize;
use serde_json::{Value, json};

use super::fields::{Fields, Problems, json_of};
use crate::host::HTTP_METHODS;

const MAX_NAME_BYTES: usize = 100;
const MAX_EXCHANGES: usize = 20;

const TEST_KEYS: [&str; 6] =
    ["name", "arguments", "http", "expected", "expected_json", "expected_error"];
const EXCHANGE_KEYS: [&str; 5] = ["method", "url", "status", "headers", "body"];

/// A test of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolTest {
    /// The name; unique in the manifest.
    pub name: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// The answers to HTTP requests.
    pub http: Vec<CannedHttpExchange>,
    /// What the call must give.
    pub expected: ExpectedResult,
}

/// What a call in a test must give.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ExpectedResult {
    /// Exactly this result.
    Result(Value),
    /// An error of the tool that contains this text.
    Error(String),
}

/// The answer to one HTTP request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CannedHttpExchange {
    /// The method in capitals.
    pub method: String,
    /// The URL; may hold secret handles.
    pub url: String,
    /// The status code.
    pub status: u16,
    /// The headers; names in lowercase.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// Reads the test at `path`; `schema` checks the arguments.
pub(super) fn read_test(
    value: &toml::Value,
    path: String,
    schema: Option<&Validator>,
    problems: &mut Problems,
) -> Option<ToolTest> {
    let Some(table) = value.as_table() else {
        problems.add(path, "must be a table");
        return None;
    };
    let fields = Fields::new(table, path, &TEST_KEYS, problems);
    let name = fields.required_text("name", problems)?;
    if name.trim().is_empty() || name.len() > MAX_NAME_BYTES {
        problems.add(fields.path_of("name"), format!("must have 1 to {MAX_NAME_BYTES} bytes"));
    }
    let arguments = fields.json("arguments", problems).unwrap_or_else(|| json!({}));
    if let Some(error) = schema.and_then(|schema| schema.validate(&arguments).err()) {
        let message = format!("does not match `parameters`: {error}");
        problems.add(fields.path_of("arguments"), message);
    }
    let exchanges = fields.list("http", MAX_EXCHANGES, problems).into_iter();
    let exchanges = exchanges.map(|(path, value)| read_exchange(value, path, problems));
    let http: Vec<_> = exchanges.collect();
    let expected = read_expected(&fields, problems)?;
    Some(ToolTest {
        name: name.to_owned(),
        arguments,
        http: http.into_iter().collect::<Option<_>>()?,
        expected,
    })
}

fn read_expected(fields: &Fields<'_>, problems: &mut Problems) -> Option<ExpectedResult> {
    let keys = ["expected", "expected_json", "expected_error"];
    let given: Vec<_> = keys.into_iter().filter(|key| fields.get(key).is_some()).collect();
    match given.as_slice() {
        ["expected"] => fields.json("expected", problems).map(ExpectedResult::Result),
        ["expected_json"] => {
            let text = fields.text("expected_json", problems)?;
            match serde_json::from_str(text) {
                Ok(value) => Some(ExpectedResult::Result(value)),
                Err(error) => {
                    problems.add(fields.path_of("expected_json"), format!("is not JSON: {error}"));
                    None
                }
            }
        }
        ["expected_error"] => {
            let text = fields.text("expected_error", problems)?;
            if text.trim().is_empty() {
                problems.add(fields.path_of("expected_error"), "must not be empty");
            }
            Some(ExpectedResult::Error(text.to_owned()))
        }
        _ => {
            problems.add(
                fields.path_of("expected"),
                "write exactly one of `expected`, `expected_json` and `expected_error`",
            );
            None
        }
    }
}

fn read_exchange(
    value: &toml::Value,
    path: String,
    problems: &mut Problems,
) -> Option<CannedHttpExchange> {
    let Some(table) = value.as_table() else {
        problems.add(path, "must be a table");
        return None;
    };
    let fields = Fields::new(table, path, &EXCHANGE_KEYS, problems);
    let method = match fields.get("method") {
        None => "GET",
        Some(_) => fields.text("method", problems)?,
    };
    if !HTTP_METHODS.contains(&method) {
        let message = format!("unknown method `{method}`{}", suggest(method, &HTTP_METHODS));
        problems.add(fields.path_of("method"), message);
    }
    let url = fields.required_text("url", problems)?;
    let status = fields.get("status").map_or(Some(200), |status| {
        let number = u16::try_from(status.as_integer()?).ok()?;
        (100..=599).contains(&number).then_some(number)
    });
    if status.is_none() {
        problems.add(fields.path_of("status"), "must be a number from 100 to 599");
    }
    let headers = read_headers(&fields, problems);
    let body = match fields.get("body") {
        None => String::new(),
        Some(toml::Value::String(text)) => text.clone(),
        Some(value) => json_of(value, &fields.path_of("body"), problems).to_string(),
    };
    Some(CannedHttpExchange {
        method: method.to_owned(),
        url: url.to_owned(),
        status: status?,
        headers,
        body,
    })
}

fn read_headers(fields: &Fields<'_>, problems: &mut Problems) -> Vec<(String, String)> {
    let Some(table) = fields.table("headers", problems) else { return Vec::new() };
    let path = fields.path_of("headers");
    let headers = table.iter().filter_map(|(name, value)| match value.as_str() {
        Some(value) => Some((name.to_ascii_lowercase(), value.to_owned())),
        None => {
            problems.add(format!("{path}.{name}"), "must be a text in quotes");
            None
        }
    });
    headers.collect()
}
