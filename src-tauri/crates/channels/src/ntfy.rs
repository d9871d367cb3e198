//! The push service ntfy.
//!
//! Owns the request in JSON, and the id of a part that lets a newer server replace a repeated part. Never sends Markdown,
//! because apps would load its images. The topic stands in the body only, because everybody who knows it can read it.
//! Pitfall: a text over 4,096 bytes, which the server turns into an attachment.

use std::sync::Arc;

use rouse_core::channel::{Channel, ChannelMessage, MessageKind, SendOutcome};
use rouse_core::http_exchange::{HttpExchange, HttpExchangeRequest};
use rouse_core::tool::BoxFuture;
use serde_json::json;

use crate::http::{
    Answer, SEND_TIMEOUT, bare_request, check_result, confirmed, exchange, post_json,
};
use crate::text::{byte_length, plain_body, split, title_line};

const SERVICE: &str = "ntfy";

/// The most bytes of a part.
const MAX_TEXT: usize = 4_096;

/// The settings of ntfy.
pub struct NtfySettings {
    /// The address of the server, such as `https://ntfy.example.org`.
    pub url: String,
    /// The topic. Everybody who knows a topic can read it, so it is a secret.
    pub topic: String,
    /// The access token, which is a secret.
    pub token: Option<String>,
}

/// A topic of ntfy.
pub struct NtfyChannel {
    http: Arc<dyn HttpExchange>,
    settings: NtfySettings,
}

impl NtfyChannel {
    /// A channel with these settings.
    #[must_use]
    pub fn new(http: Arc<dyn HttpExchange>, settings: NtfySettings) -> Self {
        Self { http, settings }
    }

    async fn send_part(&self, message: &ChannelMessage, part: &str, index: usize) -> SendOutcome {
        let body = json!({
            "topic": self.settings.topic.trim(),
            "title": title_line(message),
            "message": part,
            "priority": priority(message.kind),
            "sequence_id": sequence_id(message, index),
        });
        // JSON is accepted at the root of the server only.
        match self.exchange(post_json(&self.url_of("/"), &body)).await {
            Ok(answer) => confirmed(SERVICE, outcome(&answer)),
            Err(outcome) => outcome,
        }
    }

    /// Asks for the health of the server. A server refuses an invalid token there too; the topic stays untested.
    async fn check_server(&self) -> Result<(), String> {
        let request = bare_request("GET", &self.url_of("/v1/health"));
        let outcome = match self.exchange(request).await {
            Ok(answer) => match outcome(&answer) {
                SendOutcome::Accepted { .. } if answer.json()["healthy"] != true => {
                    let reason =
                        "The address is no ntfy server. Correct the key `url` of the channel.";
                    return Err(reason.to_owned());
                }
                outcome => outcome,
            },
            Err(outcome) => outcome,
        };
        check_result(outcome, "The ntfy server")
    }

    fn url_of(&self, path: &str) -> String {
        format!("{}{path}", self.settings.url.trim_end_matches('/'))
    }

    /// Sends a request with the token.
    async fn exchange(&self, mut request: HttpExchangeRequest) -> Result<Answer, SendOutcome> {
        if let Some(token) = &self.settings.token {
            let value = format!("Bearer {}", token.trim());
            request.headers.push(("authorization".to_owned(), value));
        }
        exchange(&*self.http, request, SEND_TIMEOUT).await
    }
}

impl Channel for NtfyChannel {
    fn render(&self, message: &ChannelMessage) -> Vec<String> {
        split(&plain_body(message), MAX_TEXT, byte_length)
    }

    fn send<'a>(
        &'a self,
        message: &'a ChannelMessage,
        parts: &'a [String],
        index: usize,
    ) -> BoxFuture<'a, SendOutcome> {
        Box::pin(self.send_part(message, &parts[index], index))
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.check_server())
    }
}

/// The priority from 1 to 5; 3 is the default of ntfy, and 4 makes a longer vibration.
const fn priority(kind: MessageKind) -> u8 {
    match kind {
        MessageKind::Report | MessageKind::Reply => 3,
        MessageKind::Failure | MessageKind::Approval => 4,
    }
}

/// The id of a part, equal in every attempt, of letters, digits, `_` and `-`. Parts with the same id would replace each
/// other.
fn sequence_id(message: &ChannelMessage, index: usize) -> String {
    let delivery = message.delivery.as_str().replace('@', "_");
    if index == 0 { delivery } else { format!("{delivery}-{}", index + 1) }
}

fn outcome(answer: &Answer) -> SendOutcome {
    let status = answer.status;
    match (status, answer.json()["code"].as_i64()) {
        (200..=299, _) => {
            SendOutcome::Accepted { message_id: answer.json()["id"].as_str().map(str::to_owned) }
        }
        // The codes of an invalid and of a reserved topic.
        (_, Some(40_009 | 40_010)) => SendOutcome::Broken {
            reason:
                "ntfy refuses the topic. Store a topic of 1 to 64 letters, digits, `_` and `-`."
                    .to_owned(),
        },
        (401 | 403, _) => SendOutcome::Broken {
            reason: format!(
                "ntfy refuses the access to the topic ({status}). Store a token that may write to the topic, or another topic."
            ),
        },
        _ => answer.outcome(SERVICE),
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::channel::REPEAT_NOTICE;

    use super::*;
    use crate::doubles::{
        FakeExchange, FakeReply, assert_check_errors, assert_failures_hide, class, sample_message,
        send_first,
    };

    fn ntfy(http: Arc<FakeExchange>) -> NtfyChannel {
        let settings = NtfySettings {
            url: "https://ntfy.example.org".to_owned(),
            topic: "CANARY-topic\n".to_owned(),
            token: Some("tk_CANARY\n".to_owned()),
        };
        NtfyChannel::new(http, settings)
    }

    fn rendered(message: &ChannelMessage) -> Vec<String> {
        ntfy(FakeExchange::new([])).render(message)
    }

    #[tokio::test]
    async fn request_has_topic_token_and_id() {
        let reply = FakeReply::answer(200, r#"{"id":"hwQ2YpKdmg","event":"message"}"#);
        let http = FakeExchange::new([reply]);
        let outcome = send_first(&ntfy(Arc::clone(&http)), &sample_message("It **rains**.")).await;
        assert_eq!(outcome, SendOutcome::Accepted { message_id: Some("hwQ2YpKdmg".to_owned()) });
        let expected = json!({
            "topic": "CANARY-topic",
            "title": "Weather",
            "message": "It rains.",
            "priority": 3,
            "sequence_id": "delivery-1",
        });
        assert_eq!(http.last_json(), expected);
        assert_eq!(http.last_request().url, "https://ntfy.example.org/");
        assert_eq!(http.last_header("authorization").as_deref(), Some("Bearer tk_CANARY"));
    }

    #[tokio::test]
    async fn failure_has_a_high_priority_and_no_token() {
        let http = FakeExchange::new([FakeReply::answer(200, r#"{"id":"m1"}"#)]);
        let settings = NtfySettings {
            url: "http://127.0.0.1:2586/".to_owned(),
            topic: "topic".to_owned(),
            token: None,
        };
        let channel = NtfyChannel::new(http.clone(), settings);
        let mut message = sample_message("x");
        message.kind = MessageKind::Failure;
        message.title = "a\r\nX-Priority: 5".to_owned();
        assert_eq!(class(&send_first(&channel, &message).await), "accepted");
        assert_eq!(http.last_json()["priority"], 4);
        assert_eq!(http.last_json()["title"], "a X-Priority: 5");
        assert_eq!(http.last_request().url, "http://127.0.0.1:2586/");
        assert_eq!(http.last_header("authorization"), None);
    }

    #[tokio::test]
    async fn parts_have_at_most_4096_bytes_and_own_ids() {
        let message = sample_message(&"äöü ".repeat(1_500));
        let http = FakeExchange::new([FakeReply::answer(200, "{}"), FakeReply::answer(200, "{}")]);
        let channel = ntfy(Arc::clone(&http));
        let parts = channel.render(&message);
        assert!((2..=5).contains(&parts.len()) && parts.iter().all(|part| part.len() <= MAX_TEXT));
        for (index, id) in [(0, "delivery-1"), (1, "delivery-1-2")] {
            channel.send(&message, &parts, index).await;
            assert_eq!(http.last_json()["sequence_id"], id);
        }
    }

    #[test]
    fn empty_text_is_the_title_and_repeat_has_a_notice() {
        let mut message = sample_message("");
        assert_eq!(rendered(&message), ["Weather"]);
        message.is_repeat = true;
        message.text = "x".to_owned();
        assert_eq!(rendered(&message), [format!("{REPEAT_NOTICE}\nx")]);
    }

    #[tokio::test]
    async fn invalid_topic_breaks_the_channel() {
        let body = r#"{"code":40009,"http":400,"error":"invalid request: topic invalid"}"#;
        let http = FakeExchange::new([FakeReply::answer(400, body)]);
        let outcome = send_first(&ntfy(http), &sample_message("x")).await;
        assert_eq!(class(&outcome), "broken");
    }

    #[tokio::test]
    async fn failures_have_their_class_and_no_secret() {
        assert_failures_hide("CANARY", &sample_message("x"), ntfy).await;
    }

    #[tokio::test]
    async fn check_reads_the_health_with_the_token() {
        let http = FakeExchange::new([FakeReply::answer(200, r#"{"healthy":true}"#)]);
        assert_eq!(ntfy(Arc::clone(&http)).check().await, Ok(()));
        let request = http.last_request();
        let url = "https://ntfy.example.org/v1/health";
        assert_eq!((request.method, request.url.as_str()), ("GET", url));
        assert_eq!(http.last_header("authorization").as_deref(), Some("Bearer tk_CANARY"));
    }

    #[tokio::test]
    async fn failed_check_has_a_cause_and_no_secret() {
        let replies = [
            (FakeReply::answer(401, "CANARY"), "Store a token"),
            (FakeReply::answer(200, "<html>CANARY"), "The address is no ntfy server."),
            (FakeReply::answer(404, "CANARY"), "does not know the address any more (404)"),
            (FakeReply::answer(503, "CANARY"), "asks for a later attempt (503)"),
            (FakeReply::Unreached, "The exchange with https://ntfy.example.org/v1/health failed."),
        ];
        assert_check_errors("CANARY", ntfy, replies).await;
    }
}
