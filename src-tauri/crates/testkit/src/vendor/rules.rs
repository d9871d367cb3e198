//! Rejections of requests by a fake vendor, with their status codes.
//!
//! Owns the checks that all vendors of a wire share; a difference between vendors is a field of `VendorRules`. Error texts are
//! the vendors' own, so that the classification of errors meets real ones.

use serde_json::Value;

use super::definition::{ModelVendor, VENDOR_KEY, VendorWire};
use super::prompt_cache::marks_in;
use crate::fake_model::Recorded;

/// The maximum number of `cache_control` marks in a request.
const MAX_CACHE_MARKS: usize = 4;

/// Status and message.
type Rejection = (u16, String);

/// The rules of one vendor.
#[derive(Debug)]
pub(super) struct VendorRules {
    pub(super) path: &'static str,
    /// The known top-level fields.
    pub(super) fields: &'static [&'static str],
    pub(super) required: &'static [&'static str],
    /// The status of an unknown field.
    pub(super) unknown_field_status: u16,
    pub(super) content: ContentShape,
    /// The field that bounds an answer, and its maximum.
    pub(super) max_output: Option<(&'static str, u64)>,
}

/// The content of a message on Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentShape {
    /// A string.
    TextOnly,
    /// A string or a list of parts.
    Parts,
}

/// The rejection of `request`; none if accepted.
pub(super) fn rejection_of(
    vendor: &ModelVendor,
    request: &Recorded,
    body: &Value,
) -> Option<Rejection> {
    let rules = &vendor.rules;
    if request.method != "POST" || request.path != rules.path {
        return Some((404, format!("Unknown path: {} {}.", request.method, request.path)));
    }
    if !vendor.is_local && !has_key(vendor.wire, request) {
        return Some((401, "Incorrect API key provided.".to_owned()));
    }
    let Some(fields) = body.as_object() else {
        return Some((400, "The body is not a JSON object.".to_owned()));
    };
    if let Some(name) = fields.keys().find(|name| !rules.fields.contains(&name.as_str())) {
        return Some((
            rules.unknown_field_status,
            format!("{name}: Extra inputs are not permitted"),
        ));
    }
    if let Some(name) = rules.required.iter().find(|name| !fields.contains_key(**name)) {
        return Some((400, format!("{name}: Field required")));
    }
    if body["model"] != vendor.model {
        return Some((404, format!("model {} not found", body["model"])));
    }
    if let Some((name, limit)) = rules.max_output
        && body[name].as_u64().is_some_and(|wanted| wanted > limit)
    {
        return Some((400, format!("{name}: {} > {limit}", body[name])));
    }
    if marks_in(body) > MAX_CACHE_MARKS {
        let found = marks_in(body);
        let reason = format!(
            "A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {found}."
        );
        return Some((400, reason));
    }
    match vendor.wire {
        VendorWire::Chat => chat_rejection(rules, body),
        VendorWire::Responses => responses_rejection(body),
        VendorWire::Messages => messages_rejection(request, body),
    }
}

fn has_key(wire: VendorWire, request: &Recorded) -> bool {
    match wire {
        VendorWire::Messages => request.header("x-api-key") == Some(VENDOR_KEY),
        _ => request.header("authorization") == Some(&format!("Bearer {VENDOR_KEY}")),
    }
}

fn chat_rejection(rules: &VendorRules, body: &Value) -> Option<Rejection> {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in items(&body["messages"]).enumerate() {
        let (role, content) = (message["role"].as_str().unwrap_or_default(), &message["content"]);
        if rules.content == ContentShape::TextOnly && content.is_array() {
            let reason = format!("body -> messages -> {at} -> content: str type expected");
            return Some((422, reason));
        }
        if content.is_null() && message["tool_calls"].is_null() {
            return Some((400, "invalid message content type: <nil>".to_owned()));
        }
        if content.to_string().contains("<think>") {
            return Some((400, format!("messages[{at}]: reasoning is not part of a message")));
        }
        match role {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let Some(at) = open.iter().position(|open| *open == id) else {
                    return Some((400, format!("tool_call_id {id} has no tool call before it")));
                };
                open.remove(at);
            }
            "system" | "user" | "assistant" if open.is_empty() => {
                for call in items(&message["tool_calls"]) {
                    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                    if serde_json::from_str::<Value>(arguments).is_ok_and(|it| it.is_object()) {
                        open.push(call["id"].as_str().unwrap_or_default());
                    } else {
                        return Some((400, "invalid tool call arguments".to_owned()));
                    }
                }
            }
            _ if open.is_empty() => return Some((400, format!("messages[{at}]: unknown role"))),
            _ => {
                let reason = format!("No tool output found for function call {}.", open.join(", "));
                return Some((400, reason));
            }
        }
    }
    let has_tools = items(&body["tools"]).next().is_some();
    (!body["tool_choice"].is_null() && !has_tools)
        .then(|| (400, "tool_choice is only allowed when tools are specified".to_owned()))
}

/// With `store: false` the vendor stores nothing: a reasoning item must return encrypted, and a call with an id must follow its
/// reasoning item.
fn responses_rejection(body: &Value) -> Option<Rejection> {
    if body["store"] != false {
        return Some((400, "store: the organisation requires zero data retention".to_owned()));
    }
    let mut calls: Vec<&str> = Vec::new();
    let mut before = &Value::Null;
    for item in items(&body["input"]) {
        let id = item["id"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("reasoning") if !item["encrypted_content"].is_string() => {
                let reason = format!("Item with id '{id}' not found. Items are not persisted.");
                return Some((404, reason));
            }
            Some("function_call") if !id.is_empty() && before["type"] != "reasoning" => {
                let reason = format!(
                    "Item '{id}' of type 'function_call' was provided without its required 'reasoning' item."
                );
                return Some((400, reason));
            }
            Some("function_call") => calls.extend(item["call_id"].as_str()),
            Some("function_call_output") => {
                let id = item["call_id"].as_str().unwrap_or_default();
                if !calls.contains(&id) {
                    let reason =
                        format!("No tool call found for function call output with call_id {id}.");
                    return Some((400, reason));
                }
            }
            _ => {}
        }
        before = item;
    }
    None
}

fn messages_rejection(request: &Recorded, body: &Value) -> Option<Rejection> {
    if request.header("anthropic-version").is_none() {
        return Some((400, "anthropic-version: header is required".to_owned()));
    }
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in items(&body["messages"]).enumerate() {
        for block in items(&message["content"]) {
            let is_blank = block["type"] == "text"
                && block["text"].as_str().is_none_or(|it| it.trim().is_empty());
            if is_blank {
                let reason = format!("messages.{at}: text content blocks must be non-empty");
                return Some((400, reason));
            }
        }
        let results: Vec<&str> =
            items(&message["content"]).filter_map(|block| block["tool_use_id"].as_str()).collect();
        if let Some(id) = open.iter().find(|id| !results.contains(*id)) {
            let reason = format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}."
            );
            return Some((400, reason));
        }
        if let Some(id) = results.iter().find(|id| !open.contains(*id)) {
            let reason = format!("messages.{at}: unexpected `tool_use_id` found: {id}.");
            return Some((400, reason));
        }
        let uses = items(&message["content"]).filter(|block| block["type"] == "tool_use");
        open = uses.filter_map(|block| block["id"].as_str()).collect();
    }
    None
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
