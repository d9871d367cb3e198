//! Conversion of an unstreamed answer to the event stream that rig reads.
//!
//! Some gateways ignore `stream: true` and send one JSON document with status 200. Owns the conversion of the three
//! formats, with usage. Never invents an end: a document without a finish reason stays without, and counts as
//! truncated. Pitfall: an error document with status 200 is no answer; `error_in` finds it first.

use serde_json::{Value, json};

/// The error in a document: an object with `error` or `detail`, or a list that begins with an error.
pub(super) fn error_in(document: &Value) -> Option<&Value> {
    let document = document.as_array().map_or(Some(document), |items| items.first())?;
    let reported = |key| document.get(key).filter(|error| !error.is_null());
    let error = reported("error").or_else(|| reported("detail"))?;
    let has_answer =
        document.get("choices").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    (!has_answer && document.get("output").is_none_or(Value::is_null)).then_some(error)
}

/// The stream of the same content as `document`; none for an unknown format.
pub(super) fn as_stream(document: &Value) -> Option<String> {
    let events = match document {
        _ if document["choices"][0]["message"].is_object() => chat(document),
        _ if document["object"] == "response" => responses(document),
        _ if document["type"] == "message" => messages(document),
        _ => return None,
    };
    Some(events.concat())
}

fn chat(document: &Value) -> Vec<String> {
    let choice = &document["choices"][0];
    let mut delta = choice["message"].clone();
    for (index, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
        call["index"] = json!(index);
    }
    let chunk = |choices: Value, usage: &Value| {
        let chunk = json!({
            "id": document["id"], "object": "chat.completion.chunk", "created": document["created"],
            "model": document["model"], "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let end = json!([{ "index": 0, "delta": {}, "finish_reason": choice["finish_reason"] }]);
    vec![
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), &Value::Null),
        chunk(end, &Value::Null),
        chunk(json!([]), &document["usage"]),
        "data: [DONE]\n\n".to_owned(),
    ]
}

fn messages(document: &Value) -> Vec<String> {
    let mut start = document.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![event(&json!({ "type": "message_start", "message": start }))];
    for (index, block) in document["content"].as_array().into_iter().flatten().enumerate() {
        let (start, deltas) = opened(block);
        events.push(event(
            &json!({ "type": "content_block_start", "index": index, "content_block": start }),
        ));
        for delta in deltas {
            events.push(event(
                &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
        }
        events.push(event(&json!({ "type": "content_block_stop", "index": index })));
    }
    let delta = json!({ "stop_reason": document["stop_reason"] });
    events.push(event(
        &json!({ "type": "message_delta", "delta": delta, "usage": document["usage"] }),
    ));
    events.push(event(&json!({ "type": "message_stop" })));
    events
}

/// The start event of a block, and the events with the content.
fn opened(block: &Value) -> (Value, Vec<Value>) {
    let mut start = block.clone();
    match block["type"].as_str() {
        Some("text") => {
            start["text"] = json!("");
            (start, vec![json!({ "type": "text_delta", "text": block["text"] })])
        }
        Some("tool_use") => {
            start["input"] = json!({});
            let input = block["input"].to_string();
            (start, vec![json!({ "type": "input_json_delta", "partial_json": input })])
        }
        Some("thinking") => {
            start["thinking"] = json!("");
            start["signature"] = json!("");
            let thinking = json!({ "type": "thinking_delta", "thinking": block["thinking"] });
            let signature = json!({ "type": "signature_delta", "signature": block["signature"] });
            (start, vec![thinking, signature])
        }
        _ => (start, Vec::new()),
    }
}

fn responses(document: &Value) -> Vec<String> {
    let mut created = document.clone();
    created["output"] = json!([]);
    created["status"] = json!("in_progress");
    let mut events = vec![event(&json!({ "type": "response.created", "response": created }))];
    for (index, item) in document["output"].as_array().into_iter().flatten().enumerate() {
        let at = |kind: &str| json!({ "type": kind, "output_index": index, "item": item });
        events.push(event(&at("response.output_item.added")));
        events.push(event(&at("response.output_item.done")));
    }
    let status = document["status"].as_str().unwrap_or("completed");
    events.push(event(&json!({ "type": format!("response.{status}"), "response": document })));
    events
}

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_document_is_found_in_object_and_list() {
        let error = json!({ "error": { "message": "No." } });
        assert_eq!(error_in(&error), Some(&error["error"]));
        assert_eq!(error_in(&json!([error])), Some(&error["error"]));
        for other in [
            json!({}),
            json!([]),
            json!({ "error": null }),
            json!({ "choices": [{}], "error": {} }),
        ] {
            assert_eq!(error_in(&other), None, "{other}");
        }
    }

    #[test]
    fn unknown_document_is_no_stream() {
        assert_eq!(as_stream(&json!({ "hello": "world" })), None);
    }
}
