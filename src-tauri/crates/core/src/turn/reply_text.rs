//! What a reply in words holds beside its words: reasoning, a sentinel, a tool call written as text.
//!
//! Owns the tags of leading reasoning, the two sentinels (`HEARTBEAT_OK`, `ROUTINE_OK`) and the shapes of written calls.
//! Never decides how a run goes on (the turn does). Pitfall: a report may quote a tag or a tool's name in a sentence, so
//! reasoning counts only at the beginning, and a written call only as the whole reply or its last block.

use serde_json::Value;

/// The tags around reasoning.
pub const REASONING_TAGS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];

const SENTINELS: [&str; 2] = ["HEARTBEAT_OK", "ROUTINE_OK"];

/// How calls begin in the templates of common models.
const CALL_MARKS: [&str; 8] = [
    "<tool_call>",
    "<tool_calls>",
    "<function_call>",
    "<function_calls>",
    "<function=",
    "<|tool_call",
    "<|python_tag|>",
    "[TOOL_CALLS]",
];

/// The keys of a call written as JSON.
const NAME_KEYS: [&str; 3] = ["name", "tool", "function"];
const ARGUMENT_KEYS: [&str; 4] = ["arguments", "parameters", "args", "input"];
const OTHER_KEYS: [&str; 2] = ["id", "type"];

/// What of `text` is the answer: all of it, where it does not begin with reasoning. Reasoning that never ends leaves nothing.
#[must_use]
pub fn answer_in(text: &str) -> &str {
    let mut rest = text.trim_start();
    let mut has_reasoning = false;
    while let Some((_, close)) = REASONING_TAGS.iter().find(|(open, _)| rest.starts_with(open)) {
        rest = rest.split_once(close).map_or("", |(_, answer)| answer.trim_start());
        has_reasoning = true;
    }
    if has_reasoning { rest } else { without_unopened(text) }
}

/// The text behind a closing tag that stands alone on its line and was never opened: some chat templates write the opening
/// tag themselves.
fn without_unopened(text: &str) -> &str {
    let closing = REASONING_TAGS.iter().find_map(|(open, close)| {
        let at = text.find(close).filter(|at| !text[..*at].contains(open))?;
        let behind = &text[at + close.len()..];
        let is_alone = text[..at].ends_with('\n') && behind.starts_with(['\n', '\r']);
        is_alone.then_some(behind)
    });
    closing.map_or(text, str::trim_start)
}

/// A sentinel in a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sentinel {
    Absent,
    /// Nothing but punctuation is beside it.
    Alone,
    /// The rest of the reply, without it.
    Beside(String),
}

/// The sentinel in `text`, which holds no reasoning any more.
pub(super) fn sentinel_in(text: &str) -> Sentinel {
    let lines: Vec<Option<String>> = text.lines().map(without_sentinel).collect();
    if lines.iter().all(Option::is_none) {
        return Sentinel::Absent;
    }
    let kept =
        text.lines().zip(lines).map(|(line, without)| without.unwrap_or_else(|| line.to_owned()));
    let rest = kept.collect::<Vec<_>>().join("\n").trim().to_owned();
    match rest.contains(char::is_alphanumeric) {
        true => Sentinel::Beside(rest),
        false => Sentinel::Alone,
    }
}

/// The line without its sentinels; none where it has none.
fn without_sentinel(line: &str) -> Option<String> {
    let mut rest = line.to_owned();
    let mut is_found = false;
    while let Some((start, end)) = SENTINELS.iter().find_map(|word| position_of(&rest, word)) {
        is_found = true;
        let is_mark = |c: char| matches!(c, '*' | '_' | '`' | '"' | '.' | '!' | ',' | ';' | ':');
        let before = rest[..start].trim_end_matches(['*', '_', '`', '"']).trim_end().to_owned();
        let behind = rest[end..].trim_start_matches(is_mark).trim_start();
        let space = if before.is_empty() || behind.is_empty() { "" } else { " " };
        rest = format!("{before}{space}{behind}");
    }
    is_found.then_some(rest)
}

/// Where `word` stands as a word of its own, whatever its case.
fn position_of(line: &str, word: &str) -> Option<(usize, usize)> {
    let upper = line.to_ascii_uppercase();
    upper.match_indices(word).map(|(at, _)| (at, at + word.len())).find(|(start, end)| {
        !line[..*start].ends_with(char::is_alphanumeric)
            && !line[*end..].starts_with(char::is_alphanumeric)
    })
}

/// Whether `text` is a tool call that the model wrote instead of making it.
pub(super) fn is_written_call(text: &str) -> bool {
    let text = text.trim();
    let has_mark = text.lines().any(|line| {
        let line = line.trim_start();
        CALL_MARKS.iter().any(|mark| line.starts_with(mark))
    });
    has_mark || is_call_json(text) || last_block(text).is_some_and(is_call_json)
}

/// The fenced block that ends `text`, without its fence.
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

/// Whether `value` has a tool's name, its arguments, and nothing that is no part of a call.
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
    fn leading_reasoning_is_no_part_of_the_answer() {
        for (text, answer) in [
            ("Hello.", "Hello."),
            ("<think>a</think>Hello.", "Hello."),
            ("\n<think>\na\n</think>\n\nHello.", "Hello."),
            ("<think>a</think><think>b</think> Hello.", "Hello."),
            ("<think>never ends", ""),
            ("I think.\n</think>\n\nHello.", "Hello."),
            ("The tag </think> ends it.", "The tag </think> ends it."),
            ("Use <think>: <think>x</think>", "Use <think>: <think>x</think>"),
        ] {
            assert_eq!(answer_in(text), answer, "{text:?}");
        }
    }

    #[test]
    fn sentinel_is_told_from_text_beside_it() {
        for alone in [
            "HEARTBEAT_OK",
            " **ROUTINE_OK**.\n",
            "✅ heartbeat_ok",
            "`HEARTBEAT_OK`\nHEARTBEAT_OK",
        ] {
            assert_eq!(sentinel_in(alone), Sentinel::Alone, "{alone:?}");
        }
        for absent in ["", "HEARTBEAT_OKAY", "All is well.", "MY_HEARTBEAT_OK9"] {
            assert_eq!(sentinel_in(absent), Sentinel::Absent, "{absent:?}");
        }
        for (text, rest) in [
            ("HEARTBEAT_OK but the disk is full", "but the disk is full"),
            ("The disk is full. ROUTINE_OK", "The disk is full."),
            ("The disk is full.\n\n**HEARTBEAT_OK**", "The disk is full."),
            ("HEARTBEAT_OK: 3 mails came", "3 mails came"),
        ] {
            assert_eq!(sentinel_in(text), Sentinel::Beside(rest.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn written_call_is_known_in_every_shape() {
        for call in [
            r#"<tool_call>{"name": "http", "arguments": {"url": "x"}}</tool_call>"#,
            "I look.\n<tool_call>\n{\"name\": \"http\"}",
            r#"{"name": "http", "parameters": {"url": "x"}}"#,
            "```json\n{\"name\": \"http\", \"arguments\": \"{}\"}\n```",
            "I call it now:\n```\n{\"tool\": \"http\", \"args\": {}}\n```",
            r#"[{"type": "function", "function": {"name": "http", "arguments": {}}}]"#,
            r#"[TOOL_CALLS][{"name": "http"}]"#,
        ] {
            assert!(is_written_call(call), "{call}");
        }
        for text in [
            "All is well.",
            r#"{"name": "Ada", "age": 36}"#,
            r#"{"name": "Ada Lovelace", "input": {}}"#,
            r#"{"name": "x", "parameters": {}, "result": 3}"#,
            "The tag <tool_call> was in the log.",
            "[]",
        ] {
            assert!(!is_written_call(text), "{text}");
        }
    }
}
