//! JSON as CEL values, and the function `json(text)`.
//!
//! A whole number becomes an `int` if it fits, so that `result.level - 20` has matching types. Tools that fetch or read
//! return text, which `json(text)` parses.

use cel::{Context, ExecutionError, Value};

/// `json` as a CEL value.
pub(super) fn from_json(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(yes) => Value::Bool(*yes),
        serde_json::Value::Number(number) => number_value(number),
        serde_json::Value::String(text) => Value::String(text.as_str().to_owned().into()),
        serde_json::Value::Array(items) => {
            Value::List(items.iter().map(from_json).collect::<Vec<_>>().into())
        }
        serde_json::Value::Object(fields) => {
            let fields: std::collections::HashMap<String, Value> =
                fields.iter().map(|(key, value)| (key.clone(), from_json(value))).collect();
            Value::Map(fields.into())
        }
    }
}

fn number_value(number: &serde_json::Number) -> Value {
    let whole = number.as_i64().map(Value::Int).or_else(|| number.as_u64().map(Value::UInt));
    whole.unwrap_or_else(|| Value::Float(number.as_f64().unwrap_or(f64::NAN)))
}

/// Adds `json(text)`.
pub(super) fn add_functions(context: &mut Context<'_, '_>) {
    let json = |text: std::sync::Arc<String>| -> Result<Value, ExecutionError> {
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(value) => Ok(from_json(&value)),
            Err(error) => Err(ExecutionError::function_error(
                "json",
                format!("the text is not JSON: {error}"),
            )),
        }
    };
    context.add_function("json", json).expect("BUG: the name is unique");
}

/// The type of a value, with the article.
pub(super) const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::List(_) => "a list",
        Value::Map(_) => "an object",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "a number",
        Value::String(_) => "a text",
        Value::Bool(_) => "true or false",
        Value::Null => "nothing",
        _ => "a value",
    }
}
