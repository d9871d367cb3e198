//! An Apprise API server, which passes messages on to many services.
//!
//! Owns the request and the meaning of the server's status codes. The text is plain: the server converts plain text for
//! each service, but passes HTML and images of Markdown on. Never knows the services behind the server.
//! Pitfall: the status 424; some of the services may have the message.

use std::sync::Arc;

use rouse_core::channel::{Channel, ChannelMessage, MessageKind, SendOutcome};
use rouse_core::http_exchange::HttpExchange;
use rouse_core::tool::BoxFuture;
use serde_json::json;

use crate::http::{Answer, SEND_TIMEOUT, bare_request, check_result, exchange, post_json};
use crate::text::{byte_length, plain_body, shorten, title_line};

const SERVICE: &str = "Apprise";

/// The most bytes of a text. The server divides a text for each service.
const MAX_TEXT: usize = 20_000;

/// The settings of an Apprise server.
pub struct AppriseSettings {
    /// The address that takes messages, such as `http://nas.local:8000/notify/home`.
    pub url: String,
    /// The tag of the services that get messages; none for all services.
    pub tag: Option<String>,
}

/// An Apprise server.
pub struct AppriseChannel {
    http: Arc<dyn HttpExchange>,
    settings: AppriseSettings,
}

impl AppriseChannel {
    /// A channel with these settings.
    #[must_use]
    pub fn new(http: Arc<dyn HttpExchange>, settings: AppriseSettings) -> Self {
        Self { http, settings }
    }

    async fn send_text(&self, message: &ChannelMessage, text: &str) -> SendOutcome {
        let mut body = json!({
            "title": title_line(message),
            "body": text,
            "type": kind_name(message.kind),
            "format": "text",
        });
        if let Some(tag) = &self.settings.tag {
            body["tag"] = tag.as_str().into();
        }
        let request = post_json(&self.settings.url, &body);
        match exchange(&*self.http, request, SEND_TIMEOUT).await {
            Ok(answer) => outcome(&answer),
            Err(outcome) => outcome,
        }
    }

    /// Reaches the server. Any answer is good: the address takes messages only, which `HEAD` is not.
    async fn check_server(&self) -> Result<(), String> {
        let request = bare_request("HEAD", &self.settings.url);
        match exchange(&*self.http, request, SEND_TIMEOUT).await {
            Ok(_) => Ok(()),
            Err(outcome) => check_result(outcome, "The Apprise server"),
        }
    }
}

impl Channel for AppriseChannel {
    fn render(&self, message: &ChannelMessage) -> Vec<String> {
        vec![shorten(&plain_body(message), MAX_TEXT, byte_length)]
    }

    fn send<'a>(
        &'a self,
        message: &'a ChannelMessage,
        parts: &'a [String],
        index: usize,
    ) -> BoxFuture<'a, SendOutcome> {
        Box::pin(self.send_text(message, &parts[index]))
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.check_server())
    }
}

/// The kind in Apprise's words, which choose a color or a symbol.
const fn kind_name(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Report | MessageKind::Reply => "info",
        MessageKind::Failure => "failure",
        MessageKind::Approval => "warning",
    }
}

fn outcome(answer: &Answer) -> SendOutcome {
    match answer.status {
        204 => SendOutcome::Refused {
            reason: "No service of the Apprise server matches (204). Add a service to its configuration, or correct the key `tag` and the address of the channel."
                .to_owned(),
        },
        405 => SendOutcome::Broken {
            reason: "The address of the Apprise server takes no messages (405). Write the full address, such as http://nas.local:8000/notify/home."
                .to_owned(),
        },
        // The server answers only after all services, and does not say which of them failed.
        424 => SendOutcome::Unknown {
            reason: "At least one service of the Apprise server failed (424). Read the log of the server."
                .to_owned(),
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

    fn apprise(http: Arc<FakeExchange>) -> AppriseChannel {
        let settings = AppriseSettings {
            url: "http://nas.local:8000/notify/home".to_owned(),
            tag: Some("phone".to_owned()),
        };
        AppriseChannel::new(http, settings)
    }

    fn rendered(message: &ChannelMessage) -> Vec<String> {
        apprise(FakeExchange::new([])).render(message)
    }

    #[tokio::test]
    async fn request_has_title_text_type_and_tag() {
        let http = FakeExchange::new([FakeReply::answer(200, "")]);
        let mut message = sample_message("It **rains**. ![map](https://example.org/x.png)");
        message.kind = MessageKind::Failure;
        let outcome = send_first(&apprise(Arc::clone(&http)), &message).await;
        assert_eq!(outcome, SendOutcome::Accepted { message_id: None });
        let expected = json!({
            "title": "Weather",
            "body": "It rains. map",
            "type": "failure",
            "format": "text",
            "tag": "phone",
        });
        assert_eq!(http.last_json(), expected);
        assert_eq!(http.last_request().url, "http://nas.local:8000/notify/home");
    }

    #[tokio::test]
    async fn channel_without_a_tag_sends_none() {
        let http = FakeExchange::new([FakeReply::answer(200, "")]);
        let url = "http://nas.local:8000/notify/".to_owned();
        let channel = AppriseChannel::new(http.clone(), AppriseSettings { url, tag: None });
        let mut message = sample_message("x");
        message.kind = MessageKind::Approval;
        assert_eq!(class(&send_first(&channel, &message).await), "accepted");
        let body = http.last_json();
        assert_eq!((&body["type"], body.get("tag")), (&json!("warning"), None));
    }

    #[test]
    fn text_is_one_part_with_a_notice_of_a_repeat() {
        let mut message = sample_message("x");
        message.is_repeat = true;
        assert_eq!(rendered(&message), [format!("{REPEAT_NOTICE}\nx")]);
        let parts = rendered(&sample_message(&"word ".repeat(10_000)));
        assert!(parts.len() == 1 && parts[0].len() <= MAX_TEXT);
    }

    #[tokio::test]
    async fn status_codes_of_the_server_have_a_class() {
        for (status, expected) in [(204, "refused"), (405, "broken"), (424, "unknown")] {
            let http = FakeExchange::new([FakeReply::answer(status, "")]);
            let outcome = send_first(&apprise(http), &sample_message("x")).await;
            assert_eq!(class(&outcome), expected, "{status}");
        }
    }

    #[tokio::test]
    async fn failures_have_their_class() {
        let canary = "a body of the server";
        assert_failures_hide(canary, &sample_message("x"), apprise).await;
    }

    #[tokio::test]
    async fn check_takes_any_answer_of_the_server() {
        for status in [200, 405, 500] {
            let http = FakeExchange::new([FakeReply::answer(status, "")]);
            assert_eq!(apprise(Arc::clone(&http)).check().await, Ok(()), "{status}");
            let request = http.last_request();
            let url = "http://nas.local:8000/notify/home";
            assert_eq!((request.method, request.url.as_str()), ("HEAD", url));
        }
    }

    #[tokio::test]
    async fn failed_check_has_a_cause() {
        let unreached = "The exchange with http://nas.local:8000/notify/home failed.";
        let replies = [(FakeReply::Unreached, unreached)];
        assert_check_errors("a body of the server", apprise, replies).await;
    }
}
