//! A double of guarded HTTP that answers as the Bot API, by a list of answers.
//!
//! For tests of this folder only. Never checks a request: the tests do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rouse_core::channel::{ChannelMessage, ChannelName, MessageButton, MessageKind};
use rouse_core::http_exchange::{
    HttpBody, HttpExchange, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use rouse_core::tool::BoxFuture;
use rouse_core::{DeliveryId, UnixMs};
use serde_json::{Value, json};

use super::api::TelegramSettings;

/// The token of the tests.
pub(super) const TOKEN: &str = "123456:canary-AAF0secret0of0the0bot";

/// Status and body, or the failure of the exchange.
pub(super) type FakeReply = Result<(u16, String), HttpExchangeError>;

/// A successful answer.
pub(super) fn succeeded(result: &Value) -> FakeReply {
    Ok((200, json!({ "ok": true, "result": result }).to_string()))
}

/// An answer with an error.
pub(super) fn rejected(code: u16, description: &str, parameters: &Value) -> FakeReply {
    let answer = json!({
        "ok": false, "error_code": code, "description": description, "parameters": parameters,
    });
    Ok((code, answer.to_string()))
}

/// The settings of the tests.
pub(super) fn settings() -> TelegramSettings {
    TelegramSettings {
        name: ChannelName::new("phone"),
        token: TOKEN.to_owned(),
        token_secret: "channel-phone-token".to_owned(),
        root: None,
    }
}

/// A report for chat 7.
pub(super) fn report(text: &str) -> ChannelMessage {
    ChannelMessage {
        delivery: DeliveryId::new("delivery"),
        kind: MessageKind::Report,
        run: None,
        created_at: UnixMs(0),
        to: Some("7".to_owned()),
        thread: None,
        title: "Morning".to_owned(),
        headline: String::new(),
        text: text.to_owned(),
        buttons: Vec::new(),
        is_repeat: false,
    }
}

/// An approval request with two buttons.
pub(super) fn approval(text: &str) -> ChannelMessage {
    let button =
        |label: &str, data: &str| MessageButton { label: label.to_owned(), data: data.to_owned() };
    let buttons = vec![button("Allow once", "one"), button("Deny", "two")];
    ChannelMessage { kind: MessageKind::Approval, buttons, ..report(text) }
}

/// HTTP in memory. Answers in order; a request without an answer fails the test.
pub(super) struct FakeTelegramHttp {
    answers: Mutex<VecDeque<FakeReply>>,
    requests: Mutex<Vec<HttpExchangeRequest>>,
}

impl FakeTelegramHttp {
    pub(super) fn answering(answers: impl IntoIterator<Item = FakeReply>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, requests: Mutex::default() })
    }

    /// The URLs of all requests.
    pub(super) fn urls(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("a lock");
        requests.iter().map(|request| request.url.clone()).collect()
    }

    /// The method and the body of each request.
    pub(super) fn calls(&self) -> Vec<(String, Value)> {
        let requests = self.requests.lock().expect("a lock");
        let call = |request: &HttpExchangeRequest| {
            let method = request.url.rsplit('/').next().unwrap_or_default().to_owned();
            (method, serde_json::from_slice(&request.body).expect("a body of JSON"))
        };
        requests.iter().map(call).collect()
    }

    /// The method and the body of the only request.
    pub(super) fn only_call(&self) -> (String, Value) {
        let mut calls = self.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls.remove(0)
    }
}

impl HttpExchange for FakeTelegramHttp {
    fn exchange(
        &self,
        request: HttpExchangeRequest,
    ) -> BoxFuture<'_, Result<HttpExchangeResponse, HttpExchangeError>> {
        self.requests.lock().expect("a lock").push(request);
        let answer = self.answers.lock().expect("a lock").pop_front();
        let answer = answer.expect("an answer for the request");
        Box::pin(async move {
            let (status, body) = answer?;
            let body: Box<dyn HttpBody> = Box::new(FakeReplyBody(Some(body.into_bytes())));
            Ok(HttpExchangeResponse { status, headers: Vec::new(), body })
        })
    }
}

struct FakeReplyBody(Option<Vec<u8>>);

impl HttpBody for FakeReplyBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
        let piece = self.0.take();
        Box::pin(async move { Ok(piece) })
    }
}
