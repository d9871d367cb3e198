//! What a failed exchange becomes: one of a closed set of kinds, never a short answer.

use std::time::Duration;

use rouse_agent::connect;
use rouse_core::model::{Billing, ProviderErrorKind as Kind};
use rouse_testkit::fake_model::{FakeModel, Reply};

use super::formats::{ALL, Format, ask, exchange, task, unguarded};

/// The last words that arrive before a stream breaks.
const LAST_WORDS: [(Format, &str); 3] = [
    (Format::Chat, "all is well.\"}"),
    (Format::Responses, "\"delta\":\"all is well.\"}"),
    (Format::Messages, "all is well.\"}"),
];

#[tokio::test]
async fn a_stream_cut_anywhere_is_an_error_and_never_a_short_answer() {
    for format in ALL {
        let transcript = format.transcript("tools");
        // Up to the event that states the end; what follows it adds nothing but usage.
        let stated = match format {
            Format::Chat => "\"finish_reason\":\"tool_calls\"",
            Format::Responses => "event: response.completed",
            Format::Messages => "\"stop_reason\":\"tool_use\"",
        };
        let end = transcript.find(stated).expect("an end");
        for (at, _) in transcript.match_indices('\n').filter(|(at, _)| *at < end) {
            let reply = Reply::events(transcript.clone()).cut_after(&transcript[..=at]);
            let exchange = exchange(format, reply).await;
            assert_eq!(exchange.error().kind, Kind::Truncated, "{format:?} cut after byte {at}");
            assert!(exchange.error().may_pass());
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_cleanly_without_its_end_is_truncated() {
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
async fn a_reset_connection_is_truncated() {
    for (format, last) in LAST_WORDS {
        let exchange = exchange(format, format.reply("words").reset_after(last)).await;
        assert_eq!(exchange.error().kind, Kind::Truncated, "{format:?}: {:?}", exchange.error());
    }
}

#[tokio::test]
async fn a_status_says_what_is_wrong_and_when_to_come_back() {
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
        for (status, kind, may_pass) in cases {
            let reply = Reply::json(status, r#"{"error":{"message":"Not now."}}"#)
                .header("retry-after", "7");
            let exchange = exchange(format, reply).await;
            let error = exchange.error();
            assert_eq!((error.kind, error.may_pass()), (kind, may_pass), "{format:?} {status}");
            assert_eq!(error.status, Some(status), "{format:?}");
            assert_eq!(error.retry_after, Some(Duration::from_secs(7)), "{format:?} {status}");
            assert!(error.message.contains("Not now."), "{format:?}: {error}");
        }
    }
}

#[tokio::test]
async fn an_error_within_the_stream_is_an_error_after_the_words_that_were_shown() {
    for (format, kind) in [
        (Format::Chat, Kind::Server),
        (Format::Responses, Kind::Server),
        (Format::Messages, Kind::Overloaded),
    ] {
        let exchange = exchange(format, format.reply("error_event")).await;
        assert_eq!(exchange.error().kind, kind, "{format:?}");
        assert!(exchange.error().may_pass(), "{format:?}");
        assert_eq!(exchange.words_shown(), "The first ", "{format:?}");
    }
}

#[tokio::test]
async fn an_end_for_an_unknown_reason_is_no_success() {
    for format in ALL {
        let exchange = exchange(format, format.reply("unknown_finish")).await;
        assert_eq!(exchange.error().kind, Kind::Server, "{format:?}");
        assert!(exchange.error().message.contains("gave_up"), "{format:?}");
    }
}

#[tokio::test]
async fn one_event_without_end_is_stopped() {
    for format in ALL {
        let flood = format!("data: {{\"x\":\"{}", "y".repeat(5 << 20));
        let exchange = exchange(format, Reply::events(flood)).await;
        assert_eq!(exchange.error().kind, Kind::TooLarge, "{format:?}: {:?}", exchange.error());
        assert!(!exchange.error().may_pass());
    }
}

#[tokio::test]
async fn an_error_page_without_end_is_read_in_part() {
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
async fn an_answer_that_is_no_event_stream_names_the_address() {
    for format in ALL {
        let exchange = exchange(format, Reply::json(200, r#"{"hello":"world"}"#)).await;
        assert_eq!(exchange.error().kind, Kind::BadRequest, "{format:?}");
        assert!(exchange.error().message.contains("address"), "{format:?}");
    }
}

#[tokio::test]
async fn garbage_in_the_stream_is_an_error() {
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
async fn a_server_that_is_not_there_is_a_network_failure() {
    for format in ALL {
        let server = FakeModel::replying([]);
        let config = format.config(&server);
        drop(server);
        // The port is free again only when the accepting thread has ended; until then it closes without a word.
        let provider = connect(&config, &unguarded()).expect("an address");
        let (_, ended) = ask(&provider, format.request(vec![task()])).await;
        let kind = ended.expect_err("nobody is there").kind;
        assert!(
            matches!(kind, Kind::Network | Kind::Unanswered | Kind::NotRunning),
            "{format:?}: {kind:?}"
        );
    }
}

#[tokio::test]
async fn a_server_on_this_computer_that_does_not_run_is_told_from_one_that_fails() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    for format in ALL {
        let server = FakeModel::replying([]);
        let mut config = format.config(&server);
        config.base_url = format!("http://{address}/v1");
        let provider = connect(&config, &unguarded()).expect("an address");
        let (_, ended) = ask(&provider, format.request(vec![task()])).await;
        let error = ended.expect_err("nobody listens");
        assert_eq!(error.kind, Kind::NotRunning, "{format:?}: {error}");
        assert!(error.may_pass(), "it may be started");
    }
}

#[tokio::test]
async fn a_server_on_this_computer_without_any_model_is_not_running_and_one_without_this_model_fails()
 {
    let said = |text: &str| format!(r#"{{"error":{{"message":"{text}","type":"x"}}}}"#);
    for (status, words, kind) in [
        (404, "model 'llama3.2:3b' not found, try pulling it first", Kind::BadRequest),
        (400, "No models loaded. Please load a model.", Kind::NotRunning),
        (400, "the context is too odd", Kind::BadRequest),
        (500, "out of memory", Kind::Server),
    ] {
        let reply = || Reply::json(status, said(words));
        let server = FakeModel::replying([reply()]);
        let mut config = Format::Chat.config(&server);
        config.name = "ollama".to_owned();
        let provider = connect(&config, &unguarded()).expect("an address");
        assert_eq!(provider.billing(), Billing::Free);
        let (_, ended) = ask(&provider, Format::Chat.request(vec![task()])).await;
        assert_eq!(ended.expect_err("an error").kind, kind, "{words}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_because_the_key_would_go_along() {
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
async fn dropping_the_future_hangs_up() {
    for (format, last) in LAST_WORDS {
        let server = FakeModel::replying([format.reply("words").held_after(last)]);
        let provider = connect(&format.config(&server), &unguarded()).expect("an address");
        let (tell, shown) = tokio::sync::oneshot::channel();
        let tell = std::sync::Mutex::new(Some(tell));
        let on_delta = move |_| {
            if let Some(tell) = tell.lock().expect("not poisoned").take() {
                tell.send(()).expect("the test waits");
            }
        };
        let request = format.request(vec![task()]);
        let asking = tokio::spawn(async move { provider.stream(request, &on_delta).await });
        shown.await.expect("a first word");
        asking.abort();
        assert!(asking.await.expect_err("it was aborted").is_cancelled());
        tokio::task::spawn_blocking(move || server.wait_until_client_gone())
            .await
            .expect("the client hangs up");
    }
}

/// Far more than any model says in one answer, and less than the envelopes of an honest one may take.
#[tokio::test]
async fn an_answer_that_does_not_end_is_left_when_it_has_said_too_much() {
    let piece = "x ".repeat(50_000);
    let told = Format::Chat.transcript("words");
    let (line, rest) = told
        .split_once("\n\n")
        .and_then(|(_, rest)| rest.split_once("\n\n"))
        .expect("the transcript has a line with words");
    let long = line.replace("Two files, ", &piece);
    let told = format!("{}{rest}", format!("{long}\n\n").repeat(30));
    let exchange = exchange(Format::Chat, Reply::events(told)).await;
    let error = exchange.error();
    assert_eq!(error.kind, Kind::TooLarge);
    assert!(error.message.contains("2000000 bytes"), "{}", error.message);
    assert!(exchange.words_shown().len() <= 2_000_000);
}
