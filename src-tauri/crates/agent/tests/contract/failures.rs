//! Errors of failed exchanges: a closed set of kinds, never a short answer.

use std::time::Duration;

use rouse_agent::connect;
use rouse_core::model::{Billing, ProviderErrorKind as Kind};
use rouse_testkit::fake_model::{FakeModel, Reply};

use super::formats::{ALL, Format, ask, exchange, safety_without_secrets, task};

/// The last words that arrive before a stream breaks.
const LAST_WORDS: [(Format, &str); 3] = [
    (Format::Chat, "all is well.\"}"),
    (Format::Responses, "\"delta\":\"all is well.\"}"),
    (Format::Messages, "all is well.\"}"),
];

#[tokio::test]
async fn stream_cut_anywhere_is_an_error() {
    for format in ALL {
        let transcript = format.transcript("tools");
        // Up to the event with the finish reason; later events add only usage.
        let finish_marker = match format {
            Format::Chat => "\"finish_reason\":\"tool_calls\"",
            Format::Responses => "event: response.completed",
            Format::Messages => "\"stop_reason\":\"tool_use\"",
        };
        let end = transcript.find(finish_marker).expect("an end");
        for (at, _) in transcript.match_indices('\n').filter(|(at, _)| *at < end) {
            let reply = Reply::events(transcript.clone()).cut_after(&transcript[..=at]);
            let exchange = exchange(format, reply).await;
            assert_eq!(exchange.error().kind, Kind::Truncated, "{format:?} cut after byte {at}");
            assert!(exchange.error().is_transient());
        }
    }
}

#[tokio::test]
async fn stream_without_finish_reason_is_truncated() {
    for (format, last) in LAST_WORDS {
        let transcript = format.transcript("words");
        let end = transcript.find(last).expect("the words");
        let end = end + transcript[end..].find("\n\n").expect("the event's end") + 2;
        let exchange = exchange(format, Reply::events(&transcript[..end])).await;
        assert_eq!(exchange.error().kind, Kind::Truncated, "{format:?}");
        assert_eq!(exchange.words_shown(), "Two files, all is well.", "{format:?}");
    }
}

#[tokio::test]
async fn reset_connection_is_truncated() {
    for (format, last) in LAST_WORDS {
        let exchange = exchange(format, format.reply("words").reset_after(last)).await;
        assert_eq!(exchange.error().kind, Kind::Truncated, "{format:?}: {:?}", exchange.error());
    }
}

#[tokio::test]
async fn status_gives_kind_and_retry_delay() {
    let cases = [
        (400, Kind::BadRequest, false),
        (401, Kind::Auth, false),
        (404, Kind::BadRequest, false),
        (429, Kind::RateLimited, true),
        (500, Kind::Server, true),
        (503, Kind::Overloaded, true),
        (529, Kind::Overloaded, true),
    ];
    for format in ALL {
        for (status, kind, is_transient) in cases {
            let reply = Reply::json(status, r#"{"error":{"message":"Not now."}}"#)
                .header("retry-after", "7");
            let exchange = exchange(format, reply).await;
            let error = exchange.error();
            assert_eq!(
                (error.kind, error.is_transient()),
                (kind, is_transient),
                "{format:?} {status}"
            );
            assert_eq!(error.status, Some(status), "{format:?}");
            assert_eq!(error.retry_after, Some(Duration::from_secs(7)), "{format:?} {status}");
            assert!(error.message.contains("Not now."), "{format:?}: {error}");
        }
    }
}

#[tokio::test]
async fn error_within_the_stream_fails_after_shown_text() {
    for (format, kind) in [
        (Format::Chat, Kind::Server),
        (Format::Responses, Kind::Server),
        (Format::Messages, Kind::Overloaded),
    ] {
        let exchange = exchange(format, format.reply("error_event")).await;
        assert_eq!(exchange.error().kind, kind, "{format:?}");
        assert!(exchange.error().is_transient(), "{format:?}");
        assert_eq!(exchange.words_shown(), "The first ", "{format:?}");
    }
}

#[tokio::test]
async fn unknown_finish_reason_is_an_error() {
    for format in ALL {
        let exchange = exchange(format, format.reply("unknown_finish")).await;
        assert_eq!(exchange.error().kind, Kind::Server, "{format:?}");
        assert!(exchange.error().message.contains("gave_up"), "{format:?}");
    }
}

#[tokio::test]
async fn endless_event_is_stopped() {
    for format in ALL {
        let flood = format!("data: {{\"x\":\"{}", "y".repeat(5 << 20));
        let exchange = exchange(format, Reply::events(flood)).await;
        assert_eq!(exchange.error().kind, Kind::TooLarge, "{format:?}: {:?}", exchange.error());
        assert!(!exchange.error().is_transient());
    }
}

#[tokio::test]
async fn endless_error_page_is_read_in_part() {
    for format in ALL {
        let page = "y".repeat(8 << 20);
        let without_end = Reply::json(500, page.clone()).held_after(&page);
        // The limit only keeps a failing test from hanging.
        let read =
            tokio::time::timeout(std::time::Duration::from_secs(20), exchange(format, without_end))
                .await;
        let exchange = read.unwrap_or_else(|_| panic!("{format:?} waits for the end"));
        assert_eq!(exchange.error().status, Some(500), "{format:?}");
        assert!(exchange.error().message.len() < 1_000, "{format:?}");
    }
}

#[tokio::test]
async fn reply_without_event_stream_names_the_address() {
    for format in ALL {
        let exchange = exchange(format, Reply::json(200, r#"{"hello":"world"}"#)).await;
        assert_eq!(exchange.error().kind, Kind::BadRequest, "{format:?}");
        assert!(exchange.error().message.contains("address"), "{format:?}");
    }
}

#[tokio::test]
async fn invalid_stream_is_an_error() {
    for format in ALL {
        let exchange = exchange(format, Reply::events("data: {not json\n\n")).await;
        assert!(
            matches!(exchange.error().kind, Kind::Server | Kind::Truncated),
            "{:?}",
            exchange.error()
        );
    }
}

#[tokio::test]
async fn missing_server_is_a_network_error() {
    for format in ALL {
        let server = FakeModel::replying([]);
        let config = format.config(&server);
        drop(server);
        // The port is free after the end of the accepting thread; until then the listener closes
        // connections at once, so any of these errors can occur.
        let provider = connect(&config, &safety_without_secrets()).expect("an address");
        let (_, ended) = ask(&provider, format.request(vec![task()])).await;
        let kind = ended.expect_err("no server").kind;
        assert!(
            matches!(kind, Kind::Network | Kind::Unanswered | Kind::NotRunning),
            "{format:?}: {kind:?}"
        );
    }
}

#[tokio::test]
async fn stopped_local_server_is_not_running() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    for format in ALL {
        let server = FakeModel::replying([]);
        let mut config = format.config(&server);
        config.base_url = format!("http://{address}/v1");
        let provider = connect(&config, &safety_without_secrets()).expect("an address");
        let (_, ended) = ask(&provider, format.request(vec![task()])).await;
        let error = ended.expect_err("no listener");
        assert_eq!(error.kind, Kind::NotRunning, "{format:?}: {error}");
        assert!(error.is_transient(), "the server may start later");
    }
}

#[tokio::test]
async fn only_unloaded_model_counts_as_not_running() {
    let error_body = |text: &str| format!(r#"{{"error":{{"message":"{text}","type":"x"}}}}"#);
    for (status, words, kind) in [
        (404, "model 'llama3.2:3b' not found, try pulling it first", Kind::BadRequest),
        (400, "No models loaded. Please load a model.", Kind::NotRunning),
        (400, "the context is too odd", Kind::BadRequest),
        (500, "out of memory", Kind::Server),
    ] {
        let reply = || Reply::json(status, error_body(words));
        let server = FakeModel::replying([reply()]);
        let mut config = Format::Chat.config(&server);
        config.name = "ollama".to_owned();
        let provider = connect(&config, &safety_without_secrets()).expect("an address");
        assert_eq!(provider.billing(), Billing::Free);
        let (_, ended) = ask(&provider, Format::Chat.request(vec![task()])).await;
        assert_eq!(ended.expect_err("an error").kind, kind, "{words}");
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    for format in ALL {
        let elsewhere = FakeModel::replying([format.reply("words")]);
        let reply = Reply::json(307, "{}")
            .header("location", &format!("{}{}", elsewhere.url(), format.path()));
        let exchange = exchange(format, reply).await;
        assert_eq!(exchange.error().status, Some(307), "{format:?}");
        assert!(elsewhere.requests().is_empty(), "{format:?}");
    }
}

#[tokio::test]
async fn dropped_future_closes_the_connection() {
    for (format, last) in LAST_WORDS {
        let server = FakeModel::replying([format.reply("words").held_after(last)]);
        let provider =
            connect(&format.config(&server), &safety_without_secrets()).expect("an address");
        let (first_word_sender, shown) = tokio::sync::oneshot::channel();
        let sender = std::sync::Mutex::new(Some(first_word_sender));
        let on_delta = move |_| {
            if let Some(sender) = sender.lock().expect("not poisoned").take() {
                sender.send(()).expect("the test waits");
            }
        };
        let request = format.request(vec![task()]);
        let asking = tokio::spawn(async move { provider.stream(request, &on_delta).await });
        shown.await.expect("a first word");
        asking.abort();
        assert!(asking.await.expect_err("aborted").is_cancelled());
        tokio::task::spawn_blocking(move || server.wait_until_client_gone())
            .await
            .expect("the client hangs up");
    }
}

/// About 3 MB of text, over the limit of 2,000,000 bytes.
#[tokio::test]
async fn endless_answer_is_stopped_at_the_limit() {
    let piece = "x ".repeat(50_000);
    let transcript = Format::Chat.transcript("words");
    let (line, rest) = transcript
        .split_once("\n\n")
        .and_then(|(_, rest)| rest.split_once("\n\n"))
        .expect("the transcript has a line with words");
    let long = line.replace("Two files, ", &piece);
    let endless = format!("{}{rest}", format!("{long}\n\n").repeat(30));
    let exchange = exchange(Format::Chat, Reply::events(endless)).await;
    let error = exchange.error();
    assert_eq!(error.kind, Kind::TooLarge);
    assert!(error.message.contains("2000000 bytes"), "{}", error.message);
    assert!(exchange.words_shown().len() <= 2_000_000);
}
