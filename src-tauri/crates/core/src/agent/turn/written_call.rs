//! Tool calls in the text of a model's reply.
//!
//! Owns the marks of chat templates and the shapes of a written call. Never decides how a run continues.
//! Pitfall: a report may quote JSON or a tool's name, so text beside a call needs a call of an offered tool.

use serde_json::{Deserializer, Value};

/// Tokens that only a chat template writes.
const CALL_TOKENS: [&str; 8] = [
    "<|tool_call",
    "<|python_tag|>",
    "<|START_ACTION|>",
    "<|channel|>commentary to=",
    "<｜tool▁call",
    "<｜DSML｜",
    "[TOOL_CALLS]",
    "<start_function_call>",
];

/// Beginnings of a line with a call in common chat templates.
const CALL_TAGS: [&str; 12] = [
    "<tool_call>",
    "<tool_calls>",
    "<tool_use>",
    "<tool_code>",
    "<function_call>",
    "<function_calls>",
    "<function=",
    "<invoke name=",
    "<minimax:tool_call>",
    "```tool_code",
    "```tool_call",
    "Action Input:",
];

/// Possible prefixes of a called tool's name.
const CALL_PREFIXES: [&str; 5] = ["[", "print(", "default_api.", "functions.", "tools."];

/// The keys of a call written as JSON.
const NAME_KEYS: [&str; 3] = ["name", "tool", "function"];
const ARGUMENT_KEYS: [&str; 4] = ["arguments", "parameters", "args", "input"];
const OTHER_KEYS: [&str; 2] = ["id", "type"];

/// Whether `text` holds a tool call as text. `tools` are the names of the offered tools.
pub(super) fn is_written_call(text: &str, tools: &[String]) -> bool {
    let text = text.trim();
    has_call_token(text)
        || text.lines().map(str::trim).any(|line| begins_call(line, tools))
        || is_call_json(text)
        || last_block(text).is_some_and(is_call_json)
        || has_json_call_of(text, tools)
}

/// A token behind a backtick is quoted.
fn has_call_token(text: &str) -> bool {
    CALL_TOKENS
        .iter()
        .any(|token| text.match_indices(token).any(|(at, _)| !text[..at].ends_with('`')))
}

fn begins_call(line: &str, tools: &[String]) -> bool {
    let mut rest = line;
    while let Some(bare) = CALL_PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = bare;
    }
    let has_tag = CALL_TAGS.iter().any(|tag| line.starts_with(tag));
    has_tag
        || tools.iter().any(|tool| rest.strip_prefix(tool.as_str()).is_some_and(is_argument_list))
}

/// Whether `text` behind a tool's name is an argument list: `(…)` or `{"…"`.
fn is_argument_list(text: &str) -> bool {
    if text.starts_with("{\"") || text == "{}" {
        return true;
    }
    let Some(inside) = text.strip_prefix('(') else { return false };
    let inside = inside.trim_end_matches([')', ']', ';', ' ']);
    let is_closed = text.ends_with([')', ']', ';']);
    inside.is_empty() || is_closed && inside.contains(['=', '"', '{', '\''])
}

/// Whether an object in `text` is a call to a listed tool.
fn has_json_call_of(text: &str, tools: &[String]) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        let mut objects = Deserializer::from_str(rest).into_iter::<Value>();
        let end = match objects.next() {
            Some(Ok(value)) if calls_one_of(&value, tools) => return true,
            Some(Ok(_)) => objects.byte_offset(),
            _ => 1,
        };
        rest = &rest[end..];
    }
    false
}

fn calls_one_of(value: &Value, tools: &[String]) -> bool {
    let is_offered = |name: &str| {
        let bare = name.rsplit('.').next().unwrap_or(name);
        tools.iter().any(|tool| tool == bare)
    };
    let inner = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value);
    let name = NAME_KEYS.iter().find_map(|key| inner.get(*key).and_then(Value::as_str));
    is_call(value) && name.is_some_and(is_offered)
}

/// The fenced block at the end of `text`, without the fence.
fn last_block(text: &str) -> Option<&str> {
    let inside = text.strip_suffix("```")?;
    let block = &inside[inside.rfind("```")? + 3..];
    Some(block.split_once('\n').map_or(block, |(_, body)| body))
}

fn is_call_json(text: &str) -> bool {
    match serde_json::from_str(text.trim()) {
        Ok(Value::Array(items)) => !items.is_empty() && items.iter().all(is_call),
        Ok(value) => is_call(&value),
        Err(_) => false,
    }
}

/// Whether `value` has a tool's name, arguments, and only fields of a call.
fn is_call(value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return false };
    if let Some(inner) = fields.get("function").filter(|inner| inner.is_object()) {
        return is_call(inner);
    }
    let is_name = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    let has_name =
        NAME_KEYS.iter().any(|key| fields.get(*key).and_then(Value::as_str).is_some_and(is_name));
    let has_arguments = ARGUMENT_KEYS
        .iter()
        .any(|key| fields.get(*key).is_some_and(|value| value.is_object() || value.is_string()));
    let known = [&NAME_KEYS[..], &ARGUMENT_KEYS, &OTHER_KEYS].concat();
    has_name && has_arguments && fields.keys().all(|key| known.contains(&key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_call_is_found_in_every_form() {
        let tools = ["http".to_owned(), "read_file".to_owned()];
        for call in [
            r#"<tool_call>{"name": "http", "arguments": {"url": "x"}}</tool_call>"#,
            "I look.\n<tool_call>\n{\"name\": \"http\"}",
            r#"{"name": "http", "parameters": {"url": "x"}}"#,
            r#"{"name": "unknown", "parameters": {"url": "x"}}"#,
            "```json\n{\"name\": \"http\", \"arguments\": \"{}\"}\n```",
            "I call it now:\n```\n{\"tool\": \"other\", \"args\": {}}\n```",
            r#"[{"type": "function", "function": {"name": "http", "arguments": {}}}]"#,
            r#"[TOOL_CALLS][{"name": "http"}]"#,
            "I look: {\"name\": \"http\", \"arguments\": {\"url\": \"x\"}} and tell you then.",
            "{\"name\": \"functions.http\", \"arguments\": {}}\n{\"name\": \"read_file\", \"arguments\": {}}",
            "[http(url=\"x\")]",
            "http{\"url\": \"x\"}",
            "I look.\nread_file(path='a.md')",
            "read_file(\n  path='a.md'\n)",
            "```tool_code\nprint(default_api.http(url='x'))\n```",
            "<invoke name=\"http\">\n<parameter name=\"url\">x</parameter>\n</invoke>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>http",
            "<|channel|>commentary to=functions.http <|constrain|>json<|message|>{}",
            "Thought: look\nAction: http\nAction Input: {\"url\": \"x\"}",
        ] {
            assert!(is_written_call(call, &tools), "{call}");
        }
        for text in [
            "All is well.",
            r#"{"name": "Ada", "age": 36}"#,
            r#"{"name": "Ada Lovelace", "input": {}}"#,
            r#"{"name": "x", "parameters": {}, "result": 3}"#,
            "The tag <tool_call> was in the log.",
            "The token `<|tool_call|>` was in the log.",
            "The API takes {\"name\": \"lookup\", \"arguments\": {}} since May.",
            "http(s) is on.\nhttp://example.com (200)\nhttp{s}",
            "{{{{ {\"a\": {\"b\": [",
            "[]",
        ] {
            assert!(!is_written_call(text, &tools), "{text}");
        }
    }
}
