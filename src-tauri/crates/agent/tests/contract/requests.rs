//! Request bodies and headers.

use rouse_agent::connect;
use rouse_core::message::Message;
use rouse_testkit::fake_model::FakeModel;
use serde_json::{Value, json};

use super::formats::{ALL, Format, KEY, ask, exchange, safety_without_secrets, task};

#[tokio::test]
async fn request_streams_with_tools_and_no_temperature() {
    for format in ALL {
        let exchange = exchange(format, format.reply("words")).await;
        let body = &exchange.server.bodies()[0];
        assert_eq!(exchange.server.requests()[0].path, format.path());
        assert_eq!(body["stream"], true, "{format:?}");
        for setting in ["temperature", "top_p", "top_k"] {
            assert_eq!(body.get(setting), None, "{format:?} sends {setting}");
        }
        let schema = match format {
            Format::Chat => &body["tools"][0]["function"]["parameters"],
            Format::Responses => &body["tools"][0]["parameters"],
            Format::Messages => &body["tools"][0]["input_schema"],
        };
        assert_eq!(schema["required"], json!(["path"]), "{format:?}");
    }
}

#[tokio::test]
async fn key_is_in_the_header_of_the_format() {
    let chat = exchange(Format::Chat, Format::Chat.reply("words")).await;
    let bearer = format!("Bearer {KEY}");
    assert_eq!(chat.server.requests()[0].header("authorization"), Some(bearer.as_str()));
    let messages = exchange(Format::Messages, Format::Messages.reply("words")).await;
    assert_eq!(messages.server.requests()[0].header("x-api-key"), Some(KEY));
    assert!(messages.server.requests()[0].header("anthropic-version").is_some());
}

#[tokio::test]
async fn local_server_gets_no_key() {
    let server = FakeModel::replying([Format::Chat.reply("words")]);
    let mut config = Format::Chat.config(&server);
    (config.name, config.api_key) = ("ollama".to_owned(), None);
    let (_, ended) = ask(
        &connect(&config, &safety_without_secrets()).expect("an address"),
        Format::Chat.request(vec![task()]),
    )
    .await;
    ended.expect("an answer");
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn system_prompt_is_first() {
    let chat = exchange(Format::Chat, Format::Chat.reply("words")).await;
    assert_eq!(chat.server.bodies()[0]["messages"][0]["role"], "system");
    let messages = exchange(Format::Messages, Format::Messages.reply("words")).await;
    assert_eq!(messages.server.bodies()[0]["system"][0]["text"], "You work unattended.");
}

#[tokio::test]
async fn output_limit_is_sent_where_set_or_required() {
    for (format, field) in [
        (Format::Chat, "max_completion_tokens"),
        (Format::Responses, "max_output_tokens"),
        (Format::Messages, "max_tokens"),
    ] {
        let server = FakeModel::replying([format.reply("words")]);
        let mut request = format.request(vec![task()]);
        request.max_tokens = Some(321);
        let (_, ended) = ask(
            &connect(&format.config(&server), &safety_without_secrets()).expect("an address"),
            request,
        )
        .await;
        ended.expect("an answer");
        assert_eq!(server.bodies()[0][field], 321, "{format:?}");
    }
    let unknown = FakeModel::replying([Format::Messages.reply("words")]);
    let mut request = Format::Messages.request(vec![task()]);
    request.model = "somebody-s-model".to_owned();
    let (_, ended) = ask(
        &connect(&Format::Messages.config(&unknown), &safety_without_secrets())
            .expect("an address"),
        request,
    )
    .await;
    ended.expect("an answer");
    assert!(unknown.bodies()[0]["max_tokens"].as_u64().is_some_and(|most| most > 0));
}

#[tokio::test]
async fn claude_prefix_is_marked_for_caching() {
    let exchange = exchange(Format::Messages, Format::Messages.reply("words")).await;
    let body = &exchange.server.bodies()[0];
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    let last =
        body["messages"][0]["content"].as_array().and_then(|content| content.last().cloned());
    assert_eq!(last.unwrap_or(Value::Null)["cache_control"]["type"], "ephemeral");
}

#[tokio::test]
async fn messages_gateway_gets_no_anthropic_only_field() {
    let server = FakeModel::replying([Format::Messages.reply("words")]);
    let mut config = Format::Messages.config(&server);
    config.name = "office".to_owned();
    let mut request = Format::Messages.request(vec![task()]);
    request.model = "glm-5".to_owned();
    ask(&connect(&config, &safety_without_secrets()).expect("an address"), request)
        .await
        .1
        .expect("an answer");
    let body = server.bodies()[0].to_string();
    for own in ["cache_control", "eager_input_streaming", "block_binding"] {
        assert!(!body.contains(own), "{own}: {body}");
    }
    assert_eq!(server.requests()[0].header("anthropic-beta"), None);
}

#[tokio::test]
async fn consecutive_user_messages_are_joined() {
    // Chat templates of local models refuse two messages of the same role in a row.
    for format in [Format::Chat, Format::Messages] {
        let server = FakeModel::replying([format.reply("words")]);
        let twice = vec![
            Message::User { text: "One.".to_owned() },
            Message::User { text: "Two.".to_owned() },
        ];
        let (_, ended) = ask(
            &connect(&format.config(&server), &safety_without_secrets()).expect("an address"),
            format.request(twice),
        )
        .await;
        ended.expect("an answer");
        let body = &server.bodies()[0];
        let users = body["messages"]
            .as_array()
            .expect("messages")
            .iter()
            .filter(|message| message["role"] == "user");
        assert_eq!(users.count(), 1, "{format:?}");
    }
}

#[tokio::test]
async fn invalid_address_is_refused_before_any_request() {
    let server = FakeModel::replying([]);
    for address in ["", "api.openai.com", "ftp://example.org", "http://"] {
        let mut config = Format::Chat.config(&server);
        config.base_url = address.to_owned();
        let refused = connect(&config, &safety_without_secrets())
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(refused.contains("openai"), "{address}: {refused}");
    }
}
