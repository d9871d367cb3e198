//! Tests of the server over real sockets.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;

use super::*;

const TOKEN: &str = "1:secret-of-the-double";

/// Sends a request and returns the connection.
fn request(server: &FakeTelegram, token: &str, method: &str, fields: &Value) -> TcpStream {
    let url = server.url();
    let address = url.strip_prefix("http://").expect("a URL");
    let mut stream = TcpStream::connect(address).expect("a connection");
    let body = fields.to_string();
    let length = body.len();
    let head = format!("POST /bot{token}/{method} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).expect("a sent request");
    stream
}

/// The whole answer as text.
fn read(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The JSON of an answer whose body is one chunk.
fn json_of(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    let (_, chunk) = body.split_once("\r\n").expect("a chunk");
    let (json, _) = chunk.split_once("\r\n").expect("the end of the chunk");
    serde_json::from_str(json).expect("JSON")
}

fn call(server: &FakeTelegram, method: &str, fields: &Value) -> Value {
    json_of(&read(request(server, TOKEN, method, fields)))
}

fn send(server: &FakeTelegram, text: &str) -> Value {
    call(server, "sendMessage", &json!({ "chat_id": 7, "text": text, "parse_mode": "HTML" }))
}

/// A server with the open chat 7.
fn server() -> FakeTelegram {
    let server = FakeTelegram::start(TOKEN);
    server.open_chat(7);
    server
}

#[test]
fn message_is_recorded_without_tags() {
    let server = server();
    let buttons = json!({ "inline_keyboard": [[{ "text": "Deny", "callback_data": "d" }]] });
    let sent = call(
        &server,
        "sendMessage",
        &json!({
            "chat_id": 7, "text": "<b>a</b> &lt;", "parse_mode": "HTML", "reply_markup": buttons,
            "link_preview_options": { "is_disabled": true },
        }),
    );
    assert_eq!(sent["result"]["message_id"], 1);
    let [message] = &server.messages()[..] else { panic!("one message") };
    assert_eq!((message.text.as_str(), message.source.as_str()), ("a <", "<b>a</b> &lt;"));
    assert_eq!(message.buttons[0].data, "d");
    assert!(!message.has_preview && message.thread.is_none());
}

#[test]
fn length_is_counted_in_utf16_units() {
    let server = server();
    assert_eq!(send(&server, &format!("<b>{}</b>", "😀".repeat(2_048)))["ok"], true);
    let long = send(&server, &format!("{}x", "😀".repeat(2_048)));
    assert_eq!(long["description"], "Bad Request: message is too long");
    assert_eq!(send(&server, "<b> </b>")["description"], "Bad Request: message text is empty");
}

#[test]
fn invalid_html_and_buttons_are_refused() {
    let server = server();
    let parse = send(&server, "<b>x");
    assert!(
        parse["description"].as_str().is_some_and(|text| text.contains("can't parse entities"))
    );
    let buttons =
        json!({ "inline_keyboard": [[{ "text": "a", "callback_data": "x".repeat(65) }]] });
    let fields = json!({ "chat_id": 7, "text": "x", "reply_markup": buttons });
    assert_eq!(call(&server, "sendMessage", &fields)["error_code"], 400);
    assert!(server.messages().is_empty());
}

#[test]
fn unknown_chat_topic_and_token_are_refused() {
    let server = server();
    let unknown = call(&server, "sendMessage", &json!({ "chat_id": 8, "text": "x" }));
    assert_eq!(unknown["description"], "Bad Request: chat not found");
    let to_thread = |thread: i64| {
        let fields = json!({ "chat_id": 7, "text": "x", "message_thread_id": thread });
        call(&server, "sendMessage", &fields)["error_code"].clone()
    };
    server.open_topic(7, 43);
    assert_eq!([to_thread(1), to_thread(43), to_thread(44)], [json!(400), Value::Null, json!(400)]);
    server.block(7);
    assert_eq!(send(&server, "x")["error_code"], 403);
    for (token, code) in [("1:other", 401), ("none", 404)] {
        let answer = json_of(&read(request(&server, token, "getMe", &json!({}))));
        assert_eq!(answer["error_code"], code);
    }
}

#[test]
fn queued_failures_come_in_order() {
    let server = server();
    server.fail_next(TelegramFailure::RetryAfter(3));
    server.fail_next(TelegramFailure::ServerError(502));
    server.fail_next(TelegramFailure::Migrate(-100));
    server.fail_next(TelegramFailure::FormatError);
    assert_eq!(send(&server, "x")["parameters"]["retry_after"], 3);
    assert_eq!(send(&server, "x")["error_code"], 502);
    assert_eq!(send(&server, "x")["parameters"]["migrate_to_chat_id"], -100);
    assert_eq!(send(&server, "x")["error_code"], 400);
    assert!(server.messages().is_empty());
    assert_eq!(send(&server, "x")["ok"], true);
}

#[test]
fn accepted_message_can_lose_its_answer() {
    let server = server();
    server.fail_next(TelegramFailure::AcceptThenDrop);
    server.fail_next(TelegramFailure::AcceptThenHang);
    let fields = json!({ "chat_id": 7, "text": "x" });
    assert_eq!(read(request(&server, TOKEN, "sendMessage", &fields)), "");
    let hanging = request(&server, TOKEN, "sendMessage", &fields);
    server.wait_for_messages(2);
    drop(hanging);
    server.wait_until_client_gone();
}

#[test]
fn held_poll_ends_with_an_update() {
    let server = server();
    let fields = json!({ "timeout": 50 });
    let poll = request(&server, TOKEN, "getUpdates", &fields);
    server.wait_for_poll();
    let id = server.queue_text(7, "Anna", "hello");
    let updates = json_of(&read(poll));
    assert_eq!(updates["result"][0]["update_id"], id);
    assert_eq!(updates["result"][0]["message"]["text"], "hello");
    let again = call(&server, "getUpdates", &fields);
    assert_eq!(again["result"][0]["update_id"], id, "an update stays until it is confirmed");
    let confirmed = call(&server, "getUpdates", &json!({ "offset": id + 1, "timeout": 0 }));
    assert_eq!(confirmed["result"], json!([]));
    assert_eq!(server.unconfirmed_updates(), 0);
}

#[test]
fn second_poll_ends_the_first() {
    let server = server();
    let first = request(&server, TOKEN, "getUpdates", &json!({ "timeout": 50 }));
    server.wait_for_poll();
    let second = call(&server, "getUpdates", &json!({ "timeout": 0 }));
    assert_eq!(second["result"], json!([]));
    assert_eq!(json_of(&read(first))["error_code"], 409);
}

#[test]
fn webhook_prevents_polls_until_deleted() {
    let server = server();
    server.set_webhook();
    let poll = || call(&server, "getUpdates", &json!({ "timeout": 0 }));
    assert_eq!(poll()["error_code"], 409);
    let id = server.queue_text(7, "Anna", "kept");
    call(&server, "deleteWebhook", &json!({ "drop_pending_updates": false }));
    assert_eq!(poll()["result"][0]["update_id"], id);
    assert_eq!(server.methods(), ["getUpdates", "deleteWebhook", "getUpdates"]);
}

#[test]
fn dropped_server_ends_held_polls() {
    let server = server();
    let poll = request(&server, TOKEN, "getUpdates", &json!({ "timeout": 50 }));
    server.wait_for_poll();
    let reader = thread::spawn(move || read(poll));
    drop(server);
    assert_eq!(json_of(&reader.join().expect("an answer"))["result"], json!([]));
}

#[test]
fn press_is_answered_once_and_message_edited() {
    let server = server();
    send(&server, "Allow?");
    let press = server.queue_press(7, 7, 1, "data");
    let updates = call(&server, "getUpdates", &json!({ "timeout": 0 }));
    assert_eq!(updates["result"][0]["callback_query"]["message"]["chat"]["type"], "private");
    let answer = json!({ "callback_query_id": press, "text": "Allowed" });
    assert_eq!(call(&server, "answerCallbackQuery", &answer)["ok"], true);
    assert_eq!(call(&server, "answerCallbackQuery", &answer)["error_code"], 400);
    assert_eq!(server.press_answers()[0].text, "Allowed");

    let edit = json!({ "chat_id": 7, "message_id": 1, "text": "Allowed" });
    assert_eq!(call(&server, "editMessageText", &edit)["ok"], true);
    let again = call(&server, "editMessageText", &edit);
    assert_eq!(again["description"], "Bad Request: message is not modified");
    let other = json!({ "chat_id": 7, "message_id": 2, "reply_markup": {} });
    assert_eq!(call(&server, "editMessageReplyMarkup", &other)["error_code"], 400);
    let messages = server.messages();
    assert_eq!((messages[0].text.as_str(), messages[0].edits), ("Allowed", 1));
}

#[test]
fn typing_sign_is_recorded() {
    let server = server();
    call(&server, "sendChatAction", &json!({ "chat_id": 7, "action": "typing" }));
    assert_eq!(server.typing_chats(), [7]);
    assert_eq!(call(&server, "getMe", &json!({}))["result"]["username"], "rouse_double_bot");
}
