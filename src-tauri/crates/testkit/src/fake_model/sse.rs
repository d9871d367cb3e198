//! Small event streams in the two wire formats.

use serde_json::{Value, json};

/// A text answer in Chat Completions format.
#[must_use]
pub fn chat_says(text: &str) -> String {
    chat(&json!({"role": "assistant", "content": text}), "stop")
}

/// A tool call in Chat Completions format.
#[must_use]
pub fn chat_calls(id: &str, tool: &str, arguments: &Value) -> String {
    chat_calls_each(&[(id, tool, arguments)])
}

/// Tool calls in Chat Completions format: `(call id, tool, arguments)`.
#[must_use]
pub fn chat_calls_each(calls: &[(&str, &str, &Value)]) -> String {
    let call = |(index, (id, tool, arguments)): (usize, &(&str, &str, &Value))| {
        let function = json!({"name": tool, "arguments": arguments.to_string()});
        json!({"index": index, "id": id, "type": "function", "function": function})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    chat(&json!({"role": "assistant", "tool_calls": calls}), "tool_calls")
}

/// A text answer in Messages format.
#[must_use]
pub fn messages_says(text: &str) -> String {
    let delta = json!({"type": "text_delta", "text": text});
    messages(&json!({"type": "text", "text": ""}), &delta, "end_turn")
}

/// A tool call in Messages format.
#[must_use]
pub fn messages_calls(id: &str, tool: &str, arguments: &Value) -> String {
    let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
    messages(&json!({"type": "tool_use", "id": id, "name": tool, "input": {}}), &delta, "tool_use")
}

fn chat(delta: &Value, finish: &str) -> String {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake-1",
            "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    [
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), Value::Null),
        chunk(json!([]), usage),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

fn messages(block: &Value, delta: &Value, stop: &str) -> String {
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "fake-1", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 100, "output_tokens": 1}});
    [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ]
    .iter()
    .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()))
    .collect()
}
