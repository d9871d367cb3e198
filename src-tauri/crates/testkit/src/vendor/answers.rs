//! The answers of a vendor as its wire streams them, and its refusals.

use serde_json::{Value, json};

use super::definition::{ModelVendor, VendorTurn, VendorWire};
use super::prompt_cache::PromptUsage;
use crate::fake_model::Reply;

/// The tokens of an answer: four bytes each.
pub(super) fn output_tokens(turn: &VendorTurn) -> u64 {
    let bytes = match turn {
        VendorTurn::Says(text) => text.len(),
        VendorTurn::Calls(tool, arguments) => tool.len() + arguments.to_string().len(),
    };
    bytes.div_ceil(4) as u64
}

/// A refusal in the shape of the wire.
pub(super) fn refusal(wire: VendorWire, status: u16, message: &str) -> Reply {
    let error = json!({ "type": "invalid_request_error", "message": message });
    let body = match wire {
        VendorWire::Messages => json!({ "type": "error", "error": error }),
        VendorWire::Chat | VendorWire::Responses => json!({ "error": error }),
    };
    Reply::json(status, body.to_string())
}

/// The stream of answer `number`.
pub(super) fn stream(
    vendor: &ModelVendor,
    number: usize,
    turn: &VendorTurn,
    usage: PromptUsage,
) -> Reply {
    Reply::events(match vendor.wire {
        VendorWire::Chat => chat(vendor, number, turn, usage),
        VendorWire::Responses => responses(vendor, number, turn, usage),
        VendorWire::Messages => messages(vendor, number, turn, usage),
    })
}

fn chat(vendor: &ModelVendor, number: usize, turn: &VendorTurn, usage: PromptUsage) -> String {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1,
            "model": vendor.model, "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Option<&str>| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), Value::Null)
    };
    let reasoning = json!({ "role": "assistant", "content": vendor.reasoning });
    let mut events = vec![delta(reasoning, None)];
    match turn {
        VendorTurn::Says(text) => {
            events.push(delta(json!({ "content": text }), None));
            events.push(delta(json!({}), Some("stop")));
        }
        VendorTurn::Calls(tool, arguments) => {
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            let id = format!("call_{number}");
            let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
            events.push(delta(json!({ "tool_calls": [call] }), None));
            events.push(delta(json!({}), Some("tool_calls")));
        }
    }
    let mut usage_json = json!({
        "prompt_tokens": usage.input(), "completion_tokens": usage.output,
        "total_tokens": usage.input() + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.read },
        "cache_creation_input_tokens": usage.written,
    });
    if vendor.reports_cost {
        #[expect(clippy::cast_precision_loss, reason = "the bill of a test is small")]
        let usd = usage.micro_usd() as f64 / 1e6;
        usage_json["cost"] = json!(usd);
    }
    events.push(chunk(json!([]), usage_json));
    events.push("data: [DONE]\n\n".to_owned());
    events.concat()
}

fn responses(vendor: &ModelVendor, number: usize, turn: &VendorTurn, usage: PromptUsage) -> String {
    let reasoning = json!({
        "id": format!("rs_{number}"), "type": "reasoning", "summary": [], "encrypted_content": "gAAAA-sealed",
    });
    let (item, delta) = match turn {
        VendorTurn::Says(text) => {
            let part = json!({ "type": "output_text", "text": text, "annotations": [] });
            let item = json!({
                "id": format!("msg_{number}"), "type": "message", "status": "completed",
                "role": "assistant", "content": [part],
            });
            (
                item,
                json!({ "type": "response.output_text.delta", "content_index": 0, "delta": text }),
            )
        }
        VendorTurn::Calls(tool, arguments) => {
            let arguments = arguments.to_string();
            let item = json!({
                "id": format!("fc_{number}"), "type": "function_call", "status": "completed",
                "call_id": format!("call_{number}"), "name": tool, "arguments": arguments,
            });
            let delta = "response.function_call_arguments.delta";
            (item, json!({ "type": delta, "delta": arguments }))
        }
    };
    let response = |status: &str, output: Value, usage: Value| {
        json!({
            "id": format!("resp_{number}"), "object": "response", "created_at": 1, "store": false,
            "model": vendor.model, "status": status, "output": output, "usage": usage,
        })
    };
    let usage_json = json!({
        "input_tokens": usage.input(), "output_tokens": usage.output,
        "total_tokens": usage.input() + usage.output,
        "input_tokens_details": { "cached_tokens": usage.read },
        "output_tokens_details": { "reasoning_tokens": 0 },
    });
    let mut opened = item.clone();
    opened["status"] = json!("in_progress");
    let empty =
        if opened["type"] == "message" { ("content", json!([])) } else { ("arguments", json!("")) };
    opened[empty.0] = empty.1;
    let mut delta = delta;
    delta["item_id"] = item["id"].clone();
    delta["output_index"] = json!(1);
    let placed = |kind: &str, at: usize, item: &Value| json!({ "type": format!("response.output_item.{kind}"), "output_index": at, "item": item });
    let created = response("in_progress", json!([]), Value::Null);
    let completed = response("completed", json!([reasoning, item]), usage_json);
    named_events([
        json!({ "type": "response.created", "response": created }),
        placed("added", 0, &reasoning),
        placed("done", 0, &reasoning),
        placed("added", 1, &opened),
        delta,
        placed("done", 1, &item),
        json!({ "type": "response.completed", "response": completed }),
    ])
}

fn messages(vendor: &ModelVendor, number: usize, turn: &VendorTurn, usage: PromptUsage) -> String {
    let (block, delta, stop) = match turn {
        VendorTurn::Says(text) => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": text }),
            "end_turn",
        ),
        VendorTurn::Calls(tool, arguments) => (
            json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": tool, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": arguments.to_string() }),
            "tool_use",
        ),
    };
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": vendor.model,
        "content": [], "stop_reason": null,
        "usage": {
            "input_tokens": usage.fresh, "cache_creation_input_tokens": usage.written,
            "cache_read_input_tokens": usage.read, "output_tokens": 1,
        },
    });
    let end = json!({ "output_tokens": usage.output });
    named_events([
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": end }),
        json!({ "type": "message_stop" }),
    ])
}

fn named_events(events: impl IntoIterator<Item = Value>) -> String {
    let line = |(number, mut event): (usize, Value)| {
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        event["sequence_number"] = json!(number);
        format!("event: {kind}\ndata: {event}\n\n")
    };
    events.into_iter().enumerate().map(line).collect()
}
