//! Webhooks of the person, signed as in Standard Webhooks.
//!
//! Owns the body and the headers of a message. The body is the part itself, so each attempt sends the same bytes; only
//! the timestamp and the signature belong to the attempt. Never follows a redirect.
//! Pitfall: a body of 20 kB or more, which receivers may refuse; the text is cut inside of the JSON.

use std::sync::Arc;

use rouse_core::Clock;
use rouse_core::channel::{Channel, ChannelMessage, REPEAT_NOTICE, SendOutcome};
use rouse_core::http_exchange::{HttpExchange, HttpExchangeRequest};
use rouse_core::tool::BoxFuture;
use serde_json::{Value, json};

use crate::http::{bare_request, check_result, exchange_secret_url};
use crate::signature::{SignatureProblem, SigningKey};
use crate::text::{shorten, title_line};

const SERVICE: &str = "The webhook";

/// The most bytes of a body.
const MAX_BODY: usize = 19_999;

/// The settings of a webhook. Both values are secrets.
pub struct WebhookSettings {
    /// The address of the receiver.
    pub url: String,
    /// The signing key, `whsec_` followed by the base64 of 24 to 64 bytes.
    pub signing_key: String,
}

/// A webhook.
pub struct WebhookChannel {
    http: Arc<dyn HttpExchange>,
    clock: Arc<dyn Clock>,
    url: String,
    key: Result<SigningKey, SignatureProblem>,
}

impl WebhookChannel {
    /// A channel with these settings. The clock gives the timestamp of an attempt.
    #[must_use]
    pub fn new(
        http: Arc<dyn HttpExchange>,
        settings: WebhookSettings,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let WebhookSettings { url, signing_key } = settings;
        Self { http, clock, url: url.trim().to_owned(), key: SigningKey::parse(&signing_key) }
    }

    async fn send_body(&self, message: &ChannelMessage, body: &str) -> SendOutcome {
        let key = match &self.key {
            Ok(key) => key,
            Err(problem) => return SendOutcome::Broken { reason: problem.to_string() },
        };
        let id = message.delivery.as_str();
        let timestamp = self.clock.now().0.div_euclid(1_000).to_string();
        let signature = key.sign(id, &timestamp, body.as_bytes());
        let headers = [
            ("content-type", "application/json"),
            ("webhook-id", id),
            ("webhook-timestamp", timestamp.as_str()),
            ("webhook-signature", signature.as_str()),
        ];
        let request = HttpExchangeRequest {
            method: "POST",
            url: self.url.clone(),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            body: body.as_bytes().to_vec(),
        };
        match exchange_secret_url(&*self.http, request, SERVICE).await {
            Ok(answer) if answer.status == 410 => SendOutcome::Broken {
                reason: "The receiver of the webhook is gone (410) and wants no more messages. Remove the channel, or store a new address.".to_owned(),
            },
            Ok(answer) => answer.outcome(SERVICE),
            Err(outcome) => outcome,
        }
    }

    /// Reaches the receiver. Any answer is good: a receiver need not know `HEAD`.
    async fn check_receiver(&self) -> Result<(), String> {
        if let Err(problem) = &self.key {
            return Err(problem.to_string());
        }
        let request = bare_request("HEAD", &self.url);
        match exchange_secret_url(&*self.http, request, SERVICE).await {
            Ok(_) => Ok(()),
            Err(outcome) => check_result(outcome, SERVICE),
        }
    }
}

impl Channel for WebhookChannel {
    fn render(&self, message: &ChannelMessage) -> Vec<String> {
        let text = if message.is_repeat {
            format!("{REPEAT_NOTICE}\n\n{}", message.text)
        } else {
            message.text.clone()
        };
        let most = MAX_BODY.saturating_sub(body(message, "").to_string().len());
        vec![body(message, &shorten(&text, most, json_length)).to_string()]
    }

    fn send<'a>(
        &'a self,
        message: &'a ChannelMessage,
        parts: &'a [String],
        index: usize,
    ) -> BoxFuture<'a, SendOutcome> {
        Box::pin(self.send_body(message, &parts[index]))
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.check_receiver())
    }
}

fn body(message: &ChannelMessage, text: &str) -> Value {
    let mut data = json!({ "title": title_line(message), "text": text });
    if let Some(run) = &message.run {
        data["runId"] = run.as_str().into();
    }
    data["repeat"] = message.is_repeat.into();
    let timestamp = message.created_at.to_utc().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    json!({ "type": message.kind.name(), "timestamp": timestamp, "data": data })
}

/// The length of a text inside of JSON, in bytes.
fn json_length(text: &str) -> usize {
    Value::from(text).to_string().len() - 2
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rouse_core::UnixMs;
    use rouse_core::channel::MessageKind;
    use rouse_testkit::ManualClock;

    use super::*;
    use crate::doubles::{
        FakeExchange, FakeReply, assert_check_errors, assert_failures_hide, sample_message,
        send_first,
    };
    use crate::signature::verify_signature;

    const KEY: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn webhook(http: Arc<FakeExchange>, clock: &ManualClock, key: &str) -> WebhookChannel {
        let url = "https://example.org/hooks/CANARY".to_owned();
        let settings = WebhookSettings { url, signing_key: key.to_owned() };
        WebhookChannel::new(http, settings, Arc::new(clock.clone()))
    }

    fn rendered(message: &ChannelMessage) -> String {
        let channel = webhook(FakeExchange::new([]), &ManualClock::new(UnixMs(0)), KEY);
        let parts = channel.render(message);
        assert_eq!(parts.len(), 1);
        parts.into_iter().next().expect("a part")
    }

    #[test]
    fn body_has_type_timestamp_and_data() {
        let mut message = sample_message("It **rains**. \"<b>\"");
        let body: Value = serde_json::from_str(&rendered(&message)).expect("JSON");
        let expected = json!({
            "type": "report",
            "timestamp": "2025-10-09T08:53:20.000Z",
            "data": {
                "title": "Weather",
                "text": "It **rains**. \"<b>\"",
                "runId": "run-1",
                "repeat": false,
            },
        });
        assert_eq!(body, expected);
        message.run = None;
        message.kind = MessageKind::Failure;
        let body: Value = serde_json::from_str(&rendered(&message)).expect("JSON");
        assert_eq!((&body["type"], &body["data"]["runId"]), (&json!("failure"), &Value::Null));
    }

    #[test]
    fn repeat_is_marked_in_text_and_data() {
        let mut message = sample_message("x");
        message.is_repeat = true;
        let body: Value = serde_json::from_str(&rendered(&message)).expect("JSON");
        assert_eq!(body["data"]["text"], format!("{REPEAT_NOTICE}\n\nx"));
        assert_eq!(body["data"]["repeat"], true);
    }

    #[test]
    fn long_text_is_cut_below_20_kb() {
        for text in ["a\n", "\"\\", "😀 ", "\u{1}x"] {
            let body = rendered(&sample_message(&text.repeat(20_000)));
            assert!((19_000..20_000).contains(&body.len()), "{text:?}: {}", body.len());
            let body: Value = serde_json::from_str(&body).expect("JSON");
            let text = body["data"]["text"].as_str().expect("a text");
            assert!(text.ends_with("The rest is in the run."));
        }
    }

    #[tokio::test]
    async fn attempts_share_id_and_bytes_but_not_the_time() {
        let http = FakeExchange::new([FakeReply::answer(503, ""), FakeReply::answer(204, "")]);
        let clock = ManualClock::new(UnixMs(1_760_000_000_999));
        let channel = webhook(Arc::clone(&http), &clock, KEY);
        let message = sample_message("x");
        for timestamp in ["1760000000", "1760000060"] {
            let outcome = send_first(&channel, &message).await;
            let is_accepted = outcome == SendOutcome::Accepted { message_id: None };
            assert_eq!(is_accepted, timestamp == "1760000060", "{outcome:?}");
            assert_eq!(http.last_header("webhook-id").as_deref(), Some("delivery-1"));
            assert_eq!(http.last_header("webhook-timestamp").as_deref(), Some(timestamp));
            let signature = http.last_header("webhook-signature").expect("a signature");
            let body = http.last_request().body;
            let verified =
                verify_signature(KEY, "delivery-1", timestamp, &body, &signature, clock.now());
            assert_eq!(verified, Ok(()));
            clock.advance(60_000);
        }
        let requests = http.requests();
        assert_eq!(requests[0].body, requests[1].body);
    }

    #[tokio::test]
    async fn invalid_key_sends_nothing() {
        let http = FakeExchange::new([]);
        let channel = webhook(Arc::clone(&http), &ManualClock::new(UnixMs(0)), "CANARY");
        let outcome = send_first(&channel, &sample_message("x")).await;
        let reason = SignatureProblem::Key.to_string();
        assert_eq!(outcome, SendOutcome::Broken { reason });
        assert!(http.requests().is_empty());
    }

    #[tokio::test]
    async fn pause_of_the_receiver_is_kept() {
        let reply = FakeReply::answer_with(429, "", [("retry-after", "120")]);
        let channel = webhook(FakeExchange::new([reply]), &ManualClock::new(UnixMs(0)), KEY);
        let outcome = send_first(&channel, &sample_message("x")).await;
        let pause = Some(Duration::from_secs(120));
        assert!(matches!(outcome, SendOutcome::Later { after, .. } if after == pause));
    }

    #[tokio::test]
    async fn failures_have_their_class_and_no_secret() {
        let clock = ManualClock::new(UnixMs(0));
        let message = sample_message("x");
        assert_failures_hide("CANARY", &message, |http| webhook(http, &clock, KEY)).await;
        assert_failures_hide("AAECAwQF", &message, |http| webhook(http, &clock, KEY)).await;
    }

    #[tokio::test]
    async fn check_takes_any_answer_of_the_receiver() {
        for status in [204, 404, 405] {
            let http = FakeExchange::new([FakeReply::answer(status, "")]);
            let channel = webhook(Arc::clone(&http), &ManualClock::new(UnixMs(0)), KEY);
            assert_eq!(channel.check().await, Ok(()), "{status}");
            let request = http.last_request();
            assert_eq!((request.method, request.headers.len()), ("HEAD", 0));
        }
    }

    #[tokio::test]
    async fn failed_check_has_a_cause_and_no_secret() {
        let clock = ManualClock::new(UnixMs(0));
        let unreached = "The webhook could not be reached. Check the network connection.";
        let replies = [(FakeReply::Unreached, unreached)];
        assert_check_errors("CANARY", |http| webhook(http, &clock, KEY), replies).await;
        let channel = webhook(FakeExchange::new([]), &clock, "CANARY");
        assert_eq!(channel.check().await, Err(SignatureProblem::Key.to_string()));
    }
}
