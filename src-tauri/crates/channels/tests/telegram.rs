//! Telegram against a Bot API on loopback: parts, a lost answer, pairing, and a decided approval.

use std::sync::Arc;

use rouse_channels::{
    PollProblem, TelegramChannel, TelegramPoll, TelegramSettings, TelegramUpdate, next_offset,
    pairing_link,
};
use rouse_core::channel::{
    Channel as _, ChannelMessage, ChannelName, MessageButton, MessageKind, SendOutcome,
};
use rouse_core::http_exchange::{
    HttpBody, HttpExchange, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use rouse_core::tool::BoxFuture;
use rouse_core::{DeliveryId, UnixMs};
use rouse_testkit::fake_telegram::{FakeTelegram, TelegramFailure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const TOKEN: &str = "1:secret-of-the-double";
const CODE: &str = "abcdefghijklmnopqrst-_";

/// Plain HTTP over a new socket for each exchange.
struct SocketHttp;

impl HttpExchange for SocketHttp {
    fn exchange(
        &self,
        request: HttpExchangeRequest,
    ) -> BoxFuture<'_, Result<HttpExchangeResponse, HttpExchangeError>> {
        Box::pin(async move {
            let address = request.url.strip_prefix("http://").expect("plain HTTP");
            let (address, path) = address.split_once('/').expect("a path");
            let connected = TcpStream::connect(address).await;
            let mut stream =
                connected.map_err(|error| HttpExchangeError::Unreached(error.to_string()))?;
            let head = format!(
                "{} /{path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
                request.method,
                request.body.len()
            );
            let broken = |error: std::io::Error| HttpExchangeError::Broken(error.to_string());
            stream.write_all(&[head.as_bytes(), &request.body].concat()).await.map_err(broken)?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.map_err(broken)?;
            read_answer(&answer)
        })
    }
}

/// Reads an answer whose body is one chunk.
fn read_answer(answer: &str) -> Result<HttpExchangeResponse, HttpExchangeError> {
    let closed = || HttpExchangeError::Broken("The connection was closed.".to_owned());
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(closed)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
    let chunk = body.split("\r\n").nth(1).unwrap_or_default();
    let body: Box<dyn HttpBody> = Box::new(WholeBody(Some(chunk.as_bytes().to_vec())));
    Ok(HttpExchangeResponse { status: status.ok_or_else(closed)?, headers: Vec::new(), body })
}

struct WholeBody(Option<Vec<u8>>);

impl HttpBody for WholeBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
        let piece = self.0.take();
        Box::pin(async move { Ok(piece) })
    }
}

fn settings(server: &FakeTelegram) -> TelegramSettings {
    let (name, token) = (ChannelName::new("phone"), TOKEN.to_owned());
    let token_secret = "channel-phone-token".to_owned();
    TelegramSettings { name, token, token_secret, root: Some(server.url()) }
}

fn channel(server: &FakeTelegram) -> TelegramChannel {
    TelegramChannel::new(Arc::new(SocketHttp), settings(server))
}

fn message(text: &str) -> ChannelMessage {
    ChannelMessage {
        delivery: DeliveryId::new("delivery"),
        kind: MessageKind::Report,
        run: None,
        created_at: UnixMs(0),
        to: Some("7".to_owned()),
        thread: None,
        title: "Morning <briefing>".to_owned(),
        headline: String::new(),
        text: text.to_owned(),
        buttons: Vec::new(),
        is_repeat: false,
    }
}

async fn send_first(server: &FakeTelegram) -> SendOutcome {
    let (channel, message) = (channel(server), message("x"));
    channel.send(&message, &channel.render(&message), 0).await
}

#[tokio::test]
async fn each_part_of_a_long_report_is_accepted() {
    let server = FakeTelegram::start(TOKEN);
    server.open_chat(7);
    let paragraph = "> **bold *both `a<b>` 😀*** [link](https://a.org/?x&y)\n\n- one\n  - two\n\n";
    let table = "| a | b |\n|---|---|\n| <1> | &amp; |\n\n";
    let code = format!("```\n{}\n```\n\n", "if a < b && c { 😀 }\n".repeat(200));
    let message = message(&format!("{code}{}{table}", paragraph.repeat(100)));
    let channel = channel(&server);
    let parts = channel.render(&message);
    assert!((2..=5).contains(&parts.len()), "{}", parts.len());
    for index in 0..parts.len() {
        let outcome = channel.send(&message, &parts, index).await;
        let expected = Some((index + 1).to_string());
        assert_eq!(outcome, SendOutcome::Accepted { message_id: expected });
    }
    let sent = server.messages();
    assert!(sent[0].text.starts_with("Morning <briefing>\nif a < b"), "{}", sent[0].text);
    assert!(sent.iter().all(|message| !message.has_preview));
}

#[tokio::test]
async fn answers_of_the_server_have_their_class() {
    let server = FakeTelegram::start(TOKEN);
    assert!(matches!(send_first(&server).await, SendOutcome::Refused { .. }), "no chat");
    server.open_chat(7);
    server.fail_next(TelegramFailure::RetryAfter(3));
    server.fail_next(TelegramFailure::ServerError(502));
    server.fail_next(TelegramFailure::Migrate(-100));
    assert!(matches!(send_first(&server).await, SendOutcome::Later { after: Some(_), .. }));
    assert!(matches!(send_first(&server).await, SendOutcome::ServerError { .. }));
    let moved = send_first(&server).await;
    assert!(matches!(moved, SendOutcome::Refused { .. }), "the new group is unknown: {moved:?}");
    server.fail_next(TelegramFailure::AcceptThenDrop);
    assert!(matches!(send_first(&server).await, SendOutcome::Unknown { .. }));
    assert_eq!(server.messages().len(), 1, "the message of the lost answer arrived");
    server.fail_next(TelegramFailure::FormatError);
    assert!(matches!(send_first(&server).await, SendOutcome::Accepted { .. }));
    assert_eq!(server.messages()[1].source, "Morning <briefing>\nx");
    server.block(7);
    assert!(matches!(send_first(&server).await, SendOutcome::Refused { .. }));
}

#[tokio::test]
async fn start_link_pairs_the_sender() {
    let server = FakeTelegram::start(TOKEN);
    server.set_webhook();
    let bot = channel(&server).api().get_me().await.expect("the bot");
    let link = pairing_link(&bot.username, CODE).expect("a link");
    assert!(link.ends_with(CODE), "{link}");
    let update_id = server.queue_text(7, "Anna", &format!("/start {CODE}"));
    let poll = TelegramPoll::new(Arc::new(SocketHttp), &settings(&server));
    let updates = poll.next_updates(None).await.expect("the webhook is removed");
    let [TelegramUpdate::StartCode { sender, code }] = &updates[..] else { panic!("{updates:?}") };
    assert_eq!((sender.from_id, sender.label().as_str(), code.as_str()), (7, "Anna", CODE));
    assert_eq!(next_offset(None, &updates), Some(update_id + 1));
}

#[tokio::test]
async fn newer_webhook_is_a_conflict_once() {
    let server = FakeTelegram::start(TOKEN);
    let poll = TelegramPoll::new(Arc::new(SocketHttp), &settings(&server));
    server.queue_text(7, "Anna", "hello");
    assert!(poll.next_updates(None).await.is_ok());
    server.set_webhook();
    assert_eq!(poll.next_updates(None).await, Err(PollProblem::Conflict));
    assert!(poll.next_updates(None).await.is_ok());
}

#[tokio::test]
async fn pressed_button_is_settled() {
    let server = FakeTelegram::start(TOKEN);
    server.open_chat(7);
    let channel = channel(&server);
    let button = MessageButton { label: "Deny".to_owned(), data: CODE.to_owned() };
    let request = ChannelMessage { buttons: vec![button], ..message("Run `rm -r <x>`?") };
    channel.send(&request, &channel.render(&request), 0).await;
    let sent = &server.messages()[0];
    let press = server.queue_press(7, 7, sent.id, &sent.buttons[0].data);
    let poll = TelegramPoll::new(Arc::new(SocketHttp), &settings(&server));
    let updates = poll.next_updates(None).await.expect("updates");
    let [TelegramUpdate::ButtonPress { callback_id, message_id, data, is_private, .. }] =
        &updates[..]
    else {
        panic!("{updates:?}")
    };
    assert_eq!((callback_id, data.as_str(), *is_private), (&press, CODE, true));
    let decided = message("Run `rm -r <x>`?\n\n**Denied.**");
    let outcome = channel.settle(*message_id, &decided).await;
    assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    channel.api().answer_callback_query(callback_id, "Denied").await.expect("an answer");
    let settled = &server.messages()[0];
    assert_eq!(settled.text, "Morning <briefing>\nRun rm -r <x>?\n\nDenied.");
    assert!(settled.buttons.is_empty());
    assert_eq!(server.press_answers()[0].text, "Denied");
}

#[tokio::test]
async fn wrong_token_breaks_the_channel() {
    let server = FakeTelegram::start("1:another-secret-of-the-double");
    assert!(matches!(send_first(&server).await, SendOutcome::Broken { .. }));
    let poll = TelegramPoll::new(Arc::new(SocketHttp), &settings(&server));
    let problem = poll.next_updates(None).await.expect_err("a problem");
    assert!(matches!(problem, PollProblem::BadToken { .. }), "{problem:?}");
}
