//! The result of a tool in the form for a model.
//!
//! Owns one format: short fields as one line of JSON, then each long text unescaped under its name. A file or the output of
//! a command inside JSON costs tokens for escapes, and a model copies the escapes into its next edit. Never changes a text.
//! Pitfall: a long text can contain a line in the form of a field name; only the first line is the engine's.

use serde_json::{Map, Value};

/// The text of a result.
pub(crate) fn result_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields_text(fields),
        other => other.to_string(),
    }
}

fn fields_text(fields: &Map<String, Value>) -> String {
    let long = |value: &Value| value.as_str().filter(|text| needs_escapes(text)).map(str::to_owned);
    let (mut short, mut texts) = (Map::new(), Vec::new());
    for (name, value) in fields {
        match long(value) {
            Some(text) => texts.push(format!("{name}:\n{text}")),
            None => drop(short.insert(name.clone(), value.clone())),
        }
    }
    let has_first = !short.is_empty() || texts.is_empty();
    let first = has_first.then(|| Value::Object(short).to_string());
    first.into_iter().chain(texts).collect::<Vec<_>>().join("\n")
}

/// Whether JSON would write the text with escapes.
fn needs_escapes(text: &str) -> bool {
    text.contains(|letter: char| letter.is_control() || matches!(letter, '"' | '\\'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_text_stands_unescaped_behind_short_fields() {
        let value = json!({ "stdout": "a \"b\"\nc", "exitCode": 0, "stderr": "", "paths": ["x"] });
        assert_eq!(
            result_text(&value),
            "{\"exitCode\":0,\"stderr\":\"\",\"paths\":[\"x\"]}\nstdout:\na \"b\"\nc"
        );
        assert_eq!(result_text(&json!({ "content": "a\n" })), "content:\na\n");
    }

    #[test]
    fn result_without_long_text_is_json() {
        for value in [json!({ "a": 1, "b": "c" }), json!(["a\nb"]), json!(7), json!({})] {
            assert_eq!(result_text(&value), value.to_string());
        }
        assert_eq!(result_text(&json!("a\nb")), "a\nb");
    }
}
