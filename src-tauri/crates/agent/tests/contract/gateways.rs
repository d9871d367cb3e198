//! Models of a vendor behind a gateway: the dialect follows the model and the address, not the provider's name.

use rouse_agent::{ProviderConfig, ProviderKind, connect};
use rouse_core::message::StopReason;
use rouse_core::model::{Effort, ModelRequest, ProviderErrorKind};
use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use serde_json::{Value, json};

use super::formats::{ALL, Format, ask, exchange, safety_without_secrets, task};

/// The request body of a provider called `work` for `model`.
async fn sent(kind: ProviderKind, model: &str, effort: Option<Effort>) -> Value {
    let format = if kind == ProviderKind::Anthropic { Format::Messages } else { Format::Chat };
    let server = FakeModel::replying([format.reply("words")]);
    let config = ProviderConfig { name: "work".to_owned(), kind, ..format.config(&server) };
    let provider = connect(&config, &safety_without_secrets()).expect("an address");
    let request = ModelRequest { model: model.to_owned(), effort, ..format.request(vec![task()]) };
    ask(&provider, request).await.1.expect("an answer");
    server.bodies().remove(0)
}

#[tokio::test]
async fn claude_behind_any_gateway_is_cached_and_unbounded() {
    let mark = json!({ "type": "ephemeral" });
    let chat = sent(ProviderKind::OpenAiChat, "claude-sonnet-5-5", None).await;
    assert_eq!(chat["max_tokens"], 128_000);
    assert_eq!(chat["messages"][0]["content"][0]["cache_control"], mark);
    assert_eq!(chat["messages"][1]["content"][0]["cache_control"], mark);
    let router = sent(ProviderKind::OpenRouter, "anthropic/claude-sonnet-5.5", None).await;
    assert_eq!(router["max_tokens"], 128_000);
    assert_eq!(router["cache_control"], mark);
    let messages = sent(ProviderKind::Anthropic, "claude-sonnet-5-5", None).await;
    assert_eq!(messages["max_tokens"], 128_000);
    assert_eq!(messages["system"][0]["cache_control"], mark);
    for field in ["eager_input_streaming", "block_binding"] {
        assert!(!messages.to_string().contains(field), "{field}");
    }
}

#[tokio::test]
async fn gpt_behind_a_gateway_gets_the_fields_of_its_family() {
    let body = sent(ProviderKind::OpenAiChat, "gpt-5.6-terra", Some(Effort::High)).await;
    assert_eq!(body["reasoning_effort"], "none", "required for tools on Chat Completions");
    assert_eq!(body.get("max_tokens"), None);
    let body = sent(ProviderKind::OpenAiChat, "azure/o4-mini", Some(Effort::High)).await;
    assert_eq!(body["reasoning_effort"], "high");
}

#[tokio::test]
async fn unknown_model_gets_no_field_that_its_server_may_refuse() {
    let body = sent(ProviderKind::OpenAiChat, "llama3.2:3b", None).await;
    let mut fields: Vec<&str> =
        body.as_object().expect("an object").keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["messages", "model", "stream", "stream_options", "tools"]);
    assert_eq!(body["messages"][0]["content"], "You work unattended.");
}

#[tokio::test]
async fn effort_is_sent_on_wires_with_effort() {
    for (format, pointer, word) in [
        (Format::Responses, "/reasoning/effort", "max"),
        (Format::Messages, "/output_config/effort", "max"),
    ] {
        let server = FakeModel::replying([format.reply("words")]);
        let config = ProviderConfig { effort: Some(Effort::Max), ..format.config(&server) };
        let provider = connect(&config, &safety_without_secrets()).expect("an address");
        ask(&provider, format.request(vec![task()])).await.1.expect("an answer");
        assert_eq!(server.bodies()[0].pointer(pointer), Some(&json!(word)), "{format:?}");
    }
}

#[tokio::test]
async fn whole_answer_is_read_with_its_usage() {
    for (format, document) in [
        (
            Format::Chat,
            json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}),
        ),
        (
            Format::Responses,
            json!({"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed",
                "output": [{"id": "msg", "type": "message", "status": "completed", "role": "assistant",
                    "content": [{"type": "output_text", "text": "Hello.", "annotations": []}]}],
                "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}}),
        ),
        (
            Format::Messages,
            json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "Hello."}],
                "usage": {"input_tokens": 100, "output_tokens": 20}}),
        ),
    ] {
        let exchange = exchange(format, Reply::json(200, document.to_string())).await;
        let answer = exchange.answer();
        assert_eq!(
            (answer.text().as_str(), answer.stop),
            ("Hello.", StopReason::End),
            "{format:?}"
        );
        assert_eq!(answer.usage.tokens(), 120, "{format:?}");
    }
}

#[tokio::test]
async fn whole_answer_keeps_its_calls() {
    let function = json!({"name": "read_file", "arguments": "{\"path\":\"a.md\"}"});
    let chat = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}]}}]});
    let messages = json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.md"}}],
        "usage": {"input_tokens": 100, "output_tokens": 20}});
    for (format, document) in [(Format::Chat, chat), (Format::Messages, messages)] {
        let exchange = exchange(format, Reply::json(200, document.to_string())).await;
        let call = exchange.answer().calls().next().expect("a call");
        assert_eq!(call.arguments, json!({"path": "a.md"}), "{format:?}");
    }
}

#[tokio::test]
async fn untyped_stream_is_read_as_a_stream() {
    let reply = Reply::typed("text/plain", sse::chat_says("Hello."));
    assert_eq!(exchange(Format::Chat, reply).await.answer().text(), "Hello.");
}

#[tokio::test]
async fn error_document_with_status_200_is_quoted() {
    for format in ALL {
        for body in [
            r#"{"error":{"message":"The quota of this team is used up.","code":429}}"#,
            r#"[{"error":{"message":"The quota of this team is used up.","code":429}}]"#,
        ] {
            let exchange = exchange(format, Reply::json(200, body)).await;
            let error = exchange.error();
            assert_eq!(error.kind, ProviderErrorKind::RateLimited, "{format:?}");
            assert!(error.message.contains("The quota of this team is used up."), "{error:?}");
        }
    }
}

#[tokio::test]
async fn error_typed_as_a_web_page_or_named_detail_is_quoted() {
    for (kind, body) in [
        ("text/html", r#"{"error":{"message":"The team is blocked."}}"#),
        ("application/json", r#"{"detail":"The team is blocked."}"#),
    ] {
        let exchange = exchange(Format::Chat, Reply::typed(kind, body)).await;
        let error = exchange.error();
        assert!(error.message.contains("The team is blocked."), "{error:?}");
    }
}

#[tokio::test]
async fn error_beside_a_finish_reason_shows_its_message() {
    let chunk = |rest: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",{rest}}}\n\ndata: [DONE]\n\n"
        )
    };
    for rest in [
        r#""error":{"code":502,"message":"The upstream is gone."},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]"#,
        r#""choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":502,"message":"The upstream is gone."}}]"#,
    ] {
        let exchange = exchange(Format::Chat, Reply::events(chunk(rest))).await;
        let error = exchange.error();
        assert!(error.message.contains("The upstream is gone."), "{error:?}");
        assert_eq!(error.kind, ProviderErrorKind::Server, "{error:?}");
    }
}

#[tokio::test]
async fn leading_think_block_is_reasoning() {
    for (text, answer) in
        [("<think>Two files.</think>\n\nAll is well.", "All is well."), ("<think>never ends", "")]
    {
        let exchange = exchange(Format::Chat, Reply::events(sse::chat_says(text))).await;
        assert_eq!(exchange.answer().text(), answer);
        assert_eq!(exchange.words_shown().trim_start(), answer);
    }
}

#[tokio::test]
async fn refusal_is_no_answer_on_any_wire() {
    let chat = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
        {"index": 0, "delta": {"role": "assistant", "refusal": "I can't help with that."}, "finish_reason": null}]});
    let end = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let chat = Reply::events(format!("data: {chat}\n\ndata: {end}\n\ndata: [DONE]\n\n"));
    for (format, reply) in
        [(Format::Chat, chat), (Format::Responses, Format::Responses.reply("refusal"))]
    {
        let exchange = exchange(format, reply).await;
        assert_eq!(exchange.answer().stop, StopReason::Refusal, "{format:?}");
        assert_eq!(exchange.answer().text(), "I can't help with that.", "{format:?}");
    }
}
