//! The body of a Chat Completions request for compatible servers.
//!
//! Owns two changes to rig's body. The system message becomes plain text, because text-only servers answer 422 to a
//! list of parts. For model families that cache at marks, the system message and the last message get a mark. Never
//! changes texts. Pitfall: a mark needs a list of parts, so only such families get lists.

use serde_json::{Value, json};

use super::dialect::is_marked;
use super::model_families::family_of;

/// Reshapes a JSON body; other bodies stay unchanged.
pub(super) fn reshaped(body: &[u8]) -> Vec<u8> {
    let Ok(mut request) = serde_json::from_slice::<Value>(body) else { return body.to_vec() };
    let is_marked = is_marked(request["model"].as_str().and_then(family_of));
    if let Some(messages) = request["messages"].as_array_mut() {
        messages.iter_mut().filter(|message| message["role"] == "system").for_each(flatten);
        if is_marked {
            mark_prefix(messages);
        }
    }
    request.to_string().into_bytes()
}

/// Joins a list of texts.
fn flatten(message: &mut Value) {
    let Some(parts) = message["content"].as_array() else { return };
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    if let Some(texts) = texts {
        message["content"] = Value::String(texts.join("\n\n"));
    }
}

/// Marks the instructions (which caches the tools too) and the last message (which caches the conversation).
fn mark_prefix(messages: &mut [Value]) {
    if let Some(system) = messages.first_mut().filter(|message| message["role"] == "system") {
        mark(system);
    }
    if let Some(last) = messages.last_mut().filter(|message| message["role"] != "system") {
        mark(last);
    }
}

fn mark(message: &mut Value) {
    if let Some(text) = message["content"].as_str() {
        message["content"] = json!([{ "type": "text", "text": text }]);
    }
    if let Some(last) = message["content"].as_array_mut().and_then(|parts| parts.last_mut()) {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reshape(body: &Value) -> Value {
        serde_json::from_slice(&reshaped(body.to_string().as_bytes())).expect("JSON")
    }

    fn body(model: &str) -> Value {
        let system = json!([{ "type": "text", "text": "Be brief." }]);
        json!({ "model": model, "messages": [
            { "role": "system", "content": system },
            { "role": "user", "content": "Hello." },
            { "role": "tool", "tool_call_id": "c", "content": "result" },
        ]})
    }

    #[test]
    fn system_message_is_plain_text() {
        let body = reshape(&body("llama3.2:3b"));
        assert_eq!(body["messages"][0]["content"], "Be brief.");
        assert_eq!(body["messages"][2]["content"], "result");
    }

    #[test]
    fn claude_has_its_prefix_marked() {
        let body = reshape(&body("anthropic/claude-sonnet-5.5"));
        let mark = json!({ "type": "ephemeral" });
        assert_eq!(body["messages"][0]["content"][0]["cache_control"], mark);
        assert_eq!(body["messages"][1]["content"], "Hello.");
        assert_eq!(body["messages"][2]["content"][0]["cache_control"], mark);
        assert_eq!(body["messages"][2]["content"][0]["text"], "result");
    }

    #[test]
    fn body_that_is_no_json_is_unchanged() {
        assert_eq!(reshaped(b"not json"), b"not json");
    }
}
