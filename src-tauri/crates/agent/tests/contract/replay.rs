//! The second request of a run returns the provider's own blocks, unchanged and in order.

use rouse_agent::{ProviderKind, connect};
use rouse_core::message::{Message, ModelAnswer, Part};
use rouse_testkit::fake_model::FakeModel;
use serde_json::{Value, json};

use super::formats::{Format, ask, safety_without_secrets, task};

/// Plays `transcript`, answers the calls and returns the second request. The transcript is written as JSON and read
/// back, as in the store.
async fn second_request(
    format: Format,
    kind: ProviderKind,
    transcript: &str,
    model: &str,
) -> Value {
    let server = FakeModel::replying([format.reply(transcript), format.reply("words")]);
    let mut config = format.config(&server);
    config.kind = kind;
    let provider = connect(&config, &safety_without_secrets()).expect("an address");
    let mut first = format.request(vec![task()]);
    first.model = model.to_owned();
    let (_, ended) = ask(&provider, first.clone()).await;
    let messages = stored(&continued(&ended.expect("an answer")));
    let (_, ended) = ask(&provider, rouse_core::model::ModelRequest { messages, ..first }).await;
    ended.expect("a second answer");
    server.bodies().remove(1)
}

fn continued(answer: &ModelAnswer) -> Vec<Message> {
    let results = answer.calls().map(|call| Message::ToolResult {
        call_id: call.id.clone(),
        tool: call.tool.clone(),
        text: format!("content of {}", call.arguments["path"].as_str().unwrap_or("nothing")),
        is_error: !call.arguments.is_object(),
    });
    [task(), Message::Assistant { parts: answer.parts.clone() }]
        .into_iter()
        .chain(results)
        .collect()
}

fn stored(messages: &[Message]) -> Vec<Message> {
    serde_json::from_str(&serde_json::to_string(messages).expect("writes")).expect("reads")
}

#[tokio::test]
async fn provider_blocks_are_replayed_verbatim_and_in_order() {
    let body =
        second_request(Format::Messages, ProviderKind::Anthropic, "thinking", "claude-sonnet-5-5")
            .await;
    let expected = json!([
        {"type": "thinking", "thinking": "The file comes first.", "signature": "RXFNQkNrZ0lCUkFC"},
        {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"},
        {"type": "text", "text": "First the file."},
        {"type": "thinking", "thinking": "Then the rest.", "signature": "c2Vjb25k"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rain"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result",
            "title": "Rain", "url": "https://example.org/rain", "encrypted_content": "RW5j", "page_age": null}]},
        {"type": "tool_use", "id": "toolu_a", "name": "read_file", "input": {"path": "a.md"},
            "caller": {"type": "direct"}},
    ]);
    assert_eq!(body["messages"][1]["content"], expected);
}

#[tokio::test]
async fn reasoning_details_go_back_with_their_signature() {
    let body = second_request(
        Format::Chat,
        ProviderKind::OpenRouter,
        "reasoning_details",
        "anthropic/claude-sonnet-5.5",
    )
    .await;
    let assistant = &body["messages"][2];
    let expected = json!([
        {"type": "reasoning.text", "text": "The file comes first.", "format": "anthropic-claude-v1", "index": 0,
            "signature": "c2lnbmVk"},
        {"type": "reasoning.encrypted", "data": "ZW5jcnlwdGVk", "format": "anthropic-claude-v1", "index": 1},
    ]);
    assert_eq!(assistant["reasoning_details"], expected);
    assert_eq!(assistant["tool_calls"][0]["id"], "toolu_1");
}

#[tokio::test]
async fn extra_fields_of_a_call_go_back() {
    let body =
        second_request(Format::Chat, ProviderKind::OpenAiChat, "extra_content", "gemini-3-pro")
            .await;
    let call = &body["messages"][2]["tool_calls"][0];
    assert_eq!(call["extra_content"], json!({"google": {"thought_signature": "c2ln"}}));
    assert_eq!(call["function"]["arguments"], r#"{"path":"a.md"}"#);
}

#[tokio::test]
async fn blocks_of_one_model_are_not_sent_to_another() {
    let server =
        FakeModel::replying([Format::Messages.reply("thinking"), Format::Messages.reply("words")]);
    let provider =
        connect(&Format::Messages.config(&server), &safety_without_secrets()).expect("an address");
    let first = Format::Messages.request(vec![task()]);
    let (_, ended) = ask(&provider, first.clone()).await;
    let messages = continued(&ended.expect("an answer"));
    let other =
        rouse_core::model::ModelRequest { messages, model: "claude-opus-5-5".to_owned(), ..first };
    ask(&provider, other).await.1.expect("a second answer");
    let sent = server.bodies()[1]["messages"].to_string();
    assert!(!sent.contains("RXFNQkNrZ0lCUkFC") && !sent.contains("ZW5jcnlwdGVk"), "{sent}");
    assert!(sent.contains("First the file."), "{sent}");
}

#[tokio::test]
async fn results_of_a_turn_are_one_message() {
    let chat =
        second_request(Format::Chat, ProviderKind::OpenAiChat, "tools", "gpt-5.6-terra").await;
    let answers: Vec<_> = chat["messages"].as_array().expect("messages")[3..]
        .iter()
        .map(|message| (message["tool_call_id"].clone(), message["content"].clone()))
        .collect();
    assert_eq!(
        answers,
        [(json!("call_a"), json!("content of a.md")), (json!("call_b"), json!("content of b.md"))]
    );

    let messages =
        second_request(Format::Messages, ProviderKind::Anthropic, "tools", "claude-sonnet-5-5")
            .await;
    let answers = &messages["messages"][2]["content"];
    assert_eq!(answers[0]["tool_use_id"], "toolu_a");
    assert_eq!(answers[1]["tool_use_id"], "toolu_b");
    assert_eq!(answers[1]["content"][0]["text"], "content of b.md");
}

#[tokio::test]
async fn malformed_arguments_go_back_as_an_object() {
    for (format, kind, model) in [
        (Format::Chat, ProviderKind::OpenAiChat, "gpt-5.6-terra"),
        (Format::Responses, ProviderKind::OpenAiResponses, "gpt-5.6-terra"),
        (Format::Messages, ProviderKind::Anthropic, "claude-sonnet-5-5"),
    ] {
        let body = second_request(format, kind, "malformed", model).await;
        match format {
            Format::Chat => {
                let arguments =
                    body["messages"][2]["tool_calls"][0]["function"]["arguments"].as_str();
                let arguments: Value =
                    serde_json::from_str(arguments.expect("a text")).expect("valid JSON");
                assert!(arguments.is_object());
            }
            Format::Responses => {
                assert!(body["input"][1]["arguments"].is_string(), "any text is taken");
            }
            Format::Messages => {
                assert!(body["messages"][1]["content"][0]["input"].is_object());
                assert_eq!(body["messages"][2]["content"][0]["is_error"], true);
            }
        }
    }
}

#[tokio::test]
async fn sealed_reasoning_goes_back_on_responses() {
    let kind = ProviderKind::OpenAiResponses;
    let body = second_request(Format::Responses, kind, "tools", "gpt-5.6-terra").await;
    let input = body["input"].as_array().expect("input");
    let kinds: Vec<&str> =
        input.iter().map(|item| item["type"].as_str().unwrap_or("message")).collect();
    assert_eq!(
        kinds,
        [
            "message",
            "reasoning",
            "message",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output"
        ]
    );
    assert_eq!(input[1]["encrypted_content"], "gAAAA-sealed");
    assert_eq!(body["store"], false);
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
}

#[tokio::test]
async fn trailing_thinking_is_dropped_from_replayed_message() {
    let thinking = json!({"kind": "reasoning", "text": "Hm.", "redacted": false,
        "item": {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}});
    let opaque = Part::Opaque {
        provider: "anthropic.messages/compatible/claude-sonnet-5-5".to_owned(),
        block: thinking,
    };
    let words = Part::Text { text: "Hello.".to_owned() };
    let server =
        FakeModel::replying([Format::Messages.reply("words"), Format::Messages.reply("words")]);
    let provider =
        connect(&Format::Messages.config(&server), &safety_without_secrets()).expect("an address");
    for parts in [vec![opaque.clone()], vec![opaque.clone(), words, opaque]] {
        let messages = vec![task(), Message::Assistant { parts }, task()];
        ask(&provider, Format::Messages.request(messages)).await.1.expect("an answer");
    }
    let sent = server.bodies();
    assert_eq!(sent[0]["messages"].as_array().map(Vec::len), Some(1), "{}", sent[0]);
    let blocks = sent[1]["messages"][1]["content"].as_array().expect("content");
    assert_eq!(blocks.last().map(|block| block["type"].clone()), Some(json!("text")));
}
