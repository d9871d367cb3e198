//! Answers from complete streams.

use rouse_core::message::{ModelAnswer, Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ProviderErrorKind};
use rouse_testkit::fake_model::{Reply, sse};
use serde_json::json;

use super::formats::{ALL, Format, exchange, safety_without_secrets};

/// The text and call parts.
fn text_and_calls(answer: &ModelAnswer) -> Vec<Part> {
    let is_spoken = |part: &&Part| !matches!(part, Part::Opaque { .. });
    answer.parts.iter().filter(is_spoken).cloned().collect()
}

fn call(id: &str, path: &str) -> Part {
    Part::ToolCall(ToolCallRequest {
        id: id.to_owned(),
        tool: "read_file".to_owned(),
        arguments: json!({ "path": path }),
    })
}

#[tokio::test]
async fn interleaved_tool_call_pieces_are_joined() {
    for format in ALL {
        let ids =
            if format == Format::Messages { ["toolu_a", "toolu_b"] } else { ["call_a", "call_b"] };
        let exchange = exchange(format, format.reply("tools")).await;
        let words = Part::Text { text: "I look at both.".to_owned() };
        let expected = vec![words, call(ids[0], "a.md"), call(ids[1], "b.md")];
        assert_eq!(text_and_calls(exchange.answer()), expected, "{format:?}");
        assert_eq!(exchange.answer().stop, StopReason::ToolCalls, "{format:?}");
        let begun = exchange
            .shown
            .iter()
            .filter(|delta| matches!(delta, Delta::ToolCall(tool) if tool == "read_file"));
        assert_eq!(begun.count(), 2, "{format:?}");
        let bytes = exchange.shown.iter().map(|delta| match delta {
            Delta::Arguments(bytes) => *bytes,
            Delta::Text(_) | Delta::Reasoning(_) | Delta::ToolCall(_) => 0,
        });
        let arguments = r#"{"path":"a.md"}{"path":"b.md"}"#;
        assert!(bytes.sum::<usize>() >= arguments.len(), "{format:?}: {:?}", exchange.shown);
    }
}

#[tokio::test]
async fn stream_in_small_pieces_gives_the_same_answer() {
    for format in ALL {
        let whole = exchange(format, format.reply("tools")).await;
        for piece in [1, 7] {
            let dripped = exchange(format, format.reply("tools").dripped(piece)).await;
            assert_eq!(dripped.answer(), whole.answer(), "{format:?} in pieces of {piece}");
        }
    }
}

#[tokio::test]
async fn text_is_streamed() {
    for format in ALL {
        let exchange = exchange(format, format.reply("words")).await;
        assert!(exchange.shown.len() >= 2, "{format:?}: {:?}", exchange.shown);
        assert_eq!(exchange.words_shown(), "Two files, all is well.", "{format:?}");
        assert_eq!(exchange.answer().text(), "Two files, all is well.", "{format:?}");
        assert_eq!(exchange.answer().stop, StopReason::End, "{format:?}");
    }
}

#[tokio::test]
async fn cached_tokens_count_as_input() {
    for format in ALL {
        let exchange = exchange(format, format.reply("words")).await;
        let usage = exchange.answer().usage;
        assert_eq!(
            (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens),
            (1200, 1024, 80),
            "{format:?}"
        );
    }
}

#[tokio::test]
async fn implausible_usage_is_dropped() {
    for absurd in ["1000000001", "9223372036854775807", "18446744073709551615"] {
        let transcript = Format::Chat.transcript("words");
        let transcript =
            transcript.replace("\"prompt_tokens\":1200", &format!("\"prompt_tokens\":{absurd}"));
        assert!(transcript.contains(absurd));
        let usage = exchange(Format::Chat, Reply::events(transcript)).await.answer().usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (0, 80), "{absurd}");
        assert_eq!(usage.cost_micro_usd, None, "{absurd}");
        let transcript = Format::Chat.transcript("reasoning_details");
        let transcript = transcript.replace("\"cost\":0.00125", &format!("\"cost\":{absurd}"));
        assert!(transcript.contains(absurd));
        let usage = exchange(Format::Chat, Reply::events(transcript)).await.answer().usage;
        assert_eq!(usage.cost_micro_usd, None, "{absurd}");
    }
}

#[tokio::test]
async fn unknown_model_has_no_price() {
    let transcript = Format::Chat.transcript("words");
    let server = rouse_testkit::fake_model::FakeModel::replying([Reply::events(transcript)]);
    let mut config = Format::Chat.config(&server);
    config.name = "ollama".to_owned();
    let provider = rouse_agent::connect(&config, &safety_without_secrets()).expect("an address");
    let mut request = Format::Chat.request(vec![super::formats::task()]);
    request.model = "llama3.2:3b".to_owned();
    let (_, ended) = super::formats::ask(&provider, request).await;
    assert_eq!(ended.expect("an answer").usage.cost_micro_usd, None);
}

#[tokio::test]
async fn reported_cost_wins() {
    let exchange = exchange(Format::Chat, Format::Chat.reply("reasoning_details")).await;
    assert_eq!(exchange.answer().usage.cost_micro_usd, Some(1_250));
}

#[tokio::test]
async fn answer_names_its_model() {
    let chat = exchange(Format::Chat, Format::Chat.reply("words")).await;
    assert_eq!(chat.answer().model, "gpt-5.6-terra-2026-07-02");
    let messages = exchange(Format::Messages, Format::Messages.reply("words")).await;
    assert_eq!(messages.answer().model, "claude-sonnet-5-5");
}

#[tokio::test]
async fn malformed_arguments_stay_text() {
    for format in ALL {
        let exchange = exchange(format, format.reply("malformed")).await;
        let arguments: Vec<_> =
            exchange.answer().calls().map(|call| call.arguments.clone()).collect();
        assert_eq!(arguments, [json!(r#"{"path": "a.md"#)], "{format:?}");
    }
}

/// A call of both formats with these arguments as text.
fn calls_with(arguments: &str) -> [(Format, String); 2] {
    let mark = json!({ "put": "here" });
    let written = |stream: String| {
        let encoded = serde_json::to_string(&mark.to_string()).expect("text");
        let inside = serde_json::to_string(arguments).expect("text");
        let (encoded, inside) = (&encoded[1..encoded.len() - 1], &inside[1..inside.len() - 1]);
        assert!(stream.contains(encoded), "{stream}");
        stream.replace(encoded, inside)
    };
    [
        (Format::Chat, written(sse::chat_calls("c", "read_file", &mark))),
        (Format::Messages, written(sse::messages_calls("c", "read_file", &mark))),
    ]
}

fn nested(levels: usize) -> String {
    format!("{{\"path\": {}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1))
}

#[tokio::test]
async fn deeply_nested_arguments_stay_text() {
    for (levels, is_kept) in [(40, true), (41, false), (64, false)] {
        for (format, stream) in calls_with(&nested(levels)) {
            let exchange = exchange(format, Reply::events(stream)).await;
            let call = exchange.answer().calls().next().expect("a call");
            assert_eq!(call.arguments.is_object(), is_kept, "{format:?}, {levels}");
        }
    }
}

/// rig searches invalid JSON for an object, with memory in proportion to the square of the depth.
#[tokio::test]
async fn extremely_nested_arguments_fail_the_answer() {
    let mut unclosed = nested(66);
    unclosed.truncate(80);
    for deep in [nested(65), unclosed, "[".repeat(1_000_000)] {
        for (format, stream) in calls_with(&deep) {
            let exchange = exchange(format, Reply::events(stream)).await;
            let error = exchange.error();
            assert_eq!(error.kind, ProviderErrorKind::TooLarge, "{format:?}: {error:?}");
            assert!(error.message.contains("nested more than 64 levels"), "{error:?}");
        }
    }
    let brackets = format!(r#"{{"path": "{}\\\"["}}"#, "[".repeat(100));
    for (format, stream) in calls_with(&brackets) {
        let exchange = exchange(format, Reply::events(stream)).await;
        assert!(exchange.answer().calls().next().is_some_and(|call| call.arguments.is_object()));
    }
}

#[tokio::test]
async fn empty_answer_is_empty() {
    for format in ALL {
        let exchange = exchange(format, format.reply("empty")).await;
        assert_eq!(exchange.answer().parts, [], "{format:?}");
        assert_eq!(exchange.answer().stop, StopReason::End, "{format:?}");
    }
}

#[tokio::test]
async fn token_limit_and_refusal_are_stop_reasons() {
    for format in ALL {
        let length = exchange(format, format.reply("length")).await;
        assert_eq!(length.answer().stop, StopReason::Length, "{format:?}");
        let refusal = exchange(format, format.reply("refusal")).await;
        assert_eq!(refusal.answer().stop, StopReason::Refusal, "{format:?}");
    }
}

#[tokio::test]
async fn stream_with_finish_reason_needs_no_done_mark() {
    let exchange = exchange(Format::Chat, Format::Chat.reply("no_done")).await;
    assert_eq!(exchange.answer().text(), "Two files, all is well.");
}

#[tokio::test]
async fn testkit_streams_are_valid_answers() {
    let path = json!({"path": "a.md"});
    let words = [
        (Format::Chat, sse::chat_says("Hello.")),
        (Format::Messages, sse::messages_says("Hello.")),
    ];
    for (format, stream) in words {
        let exchange = exchange(format, Reply::events(stream)).await;
        assert_eq!(
            (exchange.answer().text().as_str(), exchange.answer().stop),
            ("Hello.", StopReason::End)
        );
        assert_eq!(exchange.answer().usage.tokens(), 120, "{format:?}");
    }
    let calls = [
        (Format::Chat, sse::chat_calls("c1", "read_file", &path)),
        (Format::Messages, sse::messages_calls("c1", "read_file", &path)),
    ];
    for (format, stream) in calls {
        let exchange = exchange(format, Reply::events(stream)).await;
        assert_eq!(exchange.answer().parts, [call("c1", "a.md")], "{format:?}");
    }
}
