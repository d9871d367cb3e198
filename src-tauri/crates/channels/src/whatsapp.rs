//! The WhatsApp Cloud API: texts within 24 hours of the person's last message, else an approved template.
//!
//! Owns the requests and the meaning of WhatsApp's error codes. `Accepted` means that WhatsApp took the message; whether
//! it arrived comes only over a public address, which Rouse does not have. Never receives messages.
//! Pitfall: a template for each part of a long message; it is sent once, and says that the rest is in the run.

use std::sync::{Arc, Mutex, PoisonError};

use rouse_core::DeliveryId;
use rouse_core::channel::{Channel, ChannelMessage, SendOutcome};
use rouse_core::http_exchange::{HttpExchange, HttpExchangeRequest};
use rouse_core::tool::BoxFuture;
use serde_json::{Value, json};

use crate::http::{
    Answer, SEND_TIMEOUT, bare_request, check_result, confirmed, exchange, post_json,
};
use crate::text::{one_line, plain_message, split, utf16_length};

const SERVICE: &str = "WhatsApp";

/// The Cloud API. A version ends about two years after its release, so the address is a setting.
const DEFAULT_URL: &str = "https://graph.facebook.com/v23.0";

/// The language of a template without a setting.
const DEFAULT_LANGUAGE: &str = "en";

/// The most UTF-16 units of a text; WhatsApp counts characters, which are never more.
const MAX_TEXT: usize = 4_096;

/// The most characters of a template's text, which is one line.
const MAX_TEMPLATE_TEXT: usize = 1_000;

/// Ends a template's text that was cut.
const REST_NOTICE: &str = " The rest is in the run.";

/// The remedy for a problem of the account.
const LOOK_INTO_MANAGER: &str = "Look into WhatsApp Manager.";

/// The error code of a text outside of the 24-hour window.
const WINDOW_CLOSED: i64 = 131_047;

/// The settings of WhatsApp.
pub struct WhatsappSettings {
    /// The address of the API [default: `https://graph.facebook.com/v23.0`].
    pub url: Option<String>,
    /// The id of the number that sends.
    pub phone_number_id: String,
    /// The access token, which is a secret.
    pub token: String,
    /// The approved template with one text parameter.
    pub template: Option<String>,
    /// The language of the template [default: en].
    pub template_language: Option<String>,
}

/// A number of the WhatsApp Cloud API.
pub struct WhatsappChannel {
    http: Arc<dyn HttpExchange>,
    settings: WhatsappSettings,
    last_template: Mutex<Option<SentTemplate>>,
}

/// The template that stands for a whole message.
struct SentTemplate {
    delivery: DeliveryId,
    message_id: Option<String>,
}

impl WhatsappChannel {
    /// A channel with these settings.
    #[must_use]
    pub fn new(http: Arc<dyn HttpExchange>, settings: WhatsappSettings) -> Self {
        Self { http, settings, last_template: Mutex::default() }
    }

    async fn send_part(&self, message: &ChannelMessage, part: &str, index: usize) -> SendOutcome {
        let Some(to) = &message.to else {
            return SendOutcome::Refused {
                reason:
                    "The message has no phone number. Write one into the key `to` of the channel."
                        .to_owned(),
            };
        };
        if index > 0
            && let Some(accepted) = self.accepted_template(&message.delivery)
        {
            return accepted;
        }
        let text = json!({ "preview_url": false, "body": part });
        let answer = match self.post(to, "text", text).await {
            Ok(answer) => answer,
            Err(outcome) => return outcome,
        };
        if code_of(&answer) == Some(WINDOW_CLOSED) {
            return self.send_template(message, to, part, index).await;
        }
        confirmed(SERVICE, outcome(&answer))
    }

    /// Sends the part as the approved template.
    async fn send_template(
        &self,
        message: &ChannelMessage,
        to: &str,
        part: &str,
        index: usize,
    ) -> SendOutcome {
        let Some(name) = &self.settings.template else {
            return SendOutcome::Refused {
                reason: "WhatsApp takes a text only within 24 hours of the person's last message (131047). Write the name of an approved template into the key `template`, or use Telegram, which has no such limit."
                    .to_owned(),
            };
        };
        let language = self.settings.template_language.as_deref().unwrap_or(DEFAULT_LANGUAGE);
        let template = json!({
            "name": name,
            "language": { "code": language },
            "components": [{
                "type": "body",
                "parameters": [{ "type": "text", "text": template_text(part) }],
            }],
        });
        let answer = match self.post(to, "template", template).await {
            Ok(answer) => answer,
            Err(outcome) => return outcome,
        };
        let outcome = confirmed(SERVICE, outcome(&answer));
        if let SendOutcome::Accepted { message_id } = &outcome
            && index == 0
        {
            let (delivery, message_id) = (message.delivery.clone(), message_id.clone());
            *self.last_template.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(SentTemplate { delivery, message_id });
        }
        outcome
    }

    /// The outcome of a later part whose message was accepted as a template.
    fn accepted_template(&self, delivery: &DeliveryId) -> Option<SendOutcome> {
        let last = self.last_template.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = last.as_ref().filter(|sent| sent.delivery == *delivery)?;
        Some(SendOutcome::Accepted { message_id: sent.message_id.clone() })
    }

    /// Posts a message whose content stands in the field `kind`.
    async fn post(&self, to: &str, kind: &str, content: Value) -> Result<Answer, SendOutcome> {
        let mut body = json!({
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": to,
            "type": kind,
        });
        body[kind] = content;
        self.exchange(post_json(&self.url_of("/messages"), &body)).await
    }

    /// Reads the number that sends.
    async fn check_number(&self) -> Result<(), String> {
        let outcome = match self.exchange(bare_request("GET", &self.url_of(""))).await {
            // Reading needs a permission that sending does not need.
            Ok(answer) if code_of(&answer).is_some_and(is_missing_permission) => return Ok(()),
            Ok(answer) => outcome(&answer),
            Err(outcome) => outcome,
        };
        check_result(outcome, SERVICE)
    }

    /// The address of the number that sends, followed by `path`.
    fn url_of(&self, path: &str) -> String {
        let WhatsappSettings { url, phone_number_id, .. } = &self.settings;
        let base = url.as_deref().unwrap_or(DEFAULT_URL).trim_end_matches('/');
        format!("{base}/{phone_number_id}{path}")
    }

    /// Sends a request with the token.
    async fn exchange(&self, mut request: HttpExchangeRequest) -> Result<Answer, SendOutcome> {
        let value = format!("Bearer {}", self.settings.token.trim());
        request.headers.push(("authorization".to_owned(), value));
        exchange(&*self.http, request, SEND_TIMEOUT).await
    }
}

impl Channel for WhatsappChannel {
    fn render(&self, message: &ChannelMessage) -> Vec<String> {
        split(&plain_message(message), MAX_TEXT, utf16_length)
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
        Box::pin(self.check_number())
    }
}

/// The text of a template: one line, because a parameter has no line breaks.
fn template_text(part: &str) -> String {
    let line = one_line(part, MAX_TEMPLATE_TEXT + 1);
    if line.chars().count() <= MAX_TEMPLATE_TEXT {
        return line;
    }
    one_line(&line, MAX_TEMPLATE_TEXT - REST_NOTICE.len()) + REST_NOTICE
}

fn code_of(answer: &Answer) -> Option<i64> {
    answer.json()["error"]["code"].as_i64()
}

const fn is_missing_permission(code: i64) -> bool {
    matches!(code, 3 | 10 | 200..=299)
}

fn outcome(answer: &Answer) -> SendOutcome {
    if (200..300).contains(&answer.status) {
        let message_id = answer.json()["messages"][0]["id"].as_str().map(str::to_owned);
        return SendOutcome::Accepted { message_id };
    }
    match code_of(answer) {
        Some(code) => outcome_of_code(code, answer),
        None => answer.outcome(SERVICE),
    }
}

/// The class of an error by its code; an unknown code is classed by the status.
fn outcome_of_code(code: i64, answer: &Answer) -> SendOutcome {
    let sentences = |cause: &str, remedy: &str| format!("{cause} ({code}). {remedy}");
    let broken = |cause, remedy| SendOutcome::Broken { reason: sentences(cause, remedy) };
    let refused = |cause, remedy| SendOutcome::Refused { reason: sentences(cause, remedy) };
    let is_unknown_object = answer.json()["error"]["error_subcode"] == 33;
    match code {
        0 | 190 => broken(
            "WhatsApp refuses the access token",
            "Store a token of a system user; other tokens end within a day.",
        ),
        _ if is_missing_permission(code) => broken(
            "The access token may not send messages",
            "Give its system user the permission whatsapp_business_messaging.",
        ),
        100 if is_unknown_object => broken(
            "WhatsApp does not know the number that sends",
            "Correct the key `phoneNumberId` of the channel.",
        ),
        133_010 => broken("The number that sends is not registered", LOOK_INTO_MANAGER),
        368 | 131_031 => broken("WhatsApp has locked the account", LOOK_INTO_MANAGER),
        131_042 => broken("The account has a problem with its payment", LOOK_INTO_MANAGER),
        2 | 4 | 80_007 | 130_429 | 131_000 | 131_016 | 131_048 | 131_056 | 133_004 => {
            SendOutcome::Later {
                reason: format!("WhatsApp asks for a later attempt ({code})."),
                after: answer.retry_after(),
            }
        }
        131_026 | 131_030 => refused(
            "WhatsApp cannot deliver to this number",
            "Check that the number uses WhatsApp and may get messages from yours.",
        ),
        132_000..=132_999 => refused(
            "WhatsApp refuses the template",
            "Check the keys `template` and `templateLanguage`, and that the template has one text parameter.",
        ),
        WINDOW_CLOSED => {
            refused("WhatsApp takes neither a text nor the template", LOOK_INTO_MANAGER)
        }
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

    fn settings() -> WhatsappSettings {
        WhatsappSettings {
            url: None,
            phone_number_id: "1001".to_owned(),
            token: "CANARY\n".to_owned(),
            template: Some("rouse_report".to_owned()),
            template_language: None,
        }
    }

    fn whatsapp(http: Arc<FakeExchange>) -> WhatsappChannel {
        WhatsappChannel::new(http, settings())
    }

    fn message(text: &str) -> ChannelMessage {
        ChannelMessage { to: Some("+4915112345678".to_owned()), ..sample_message(text) }
    }

    fn accepted(id: &str) -> FakeReply {
        let body = json!({ "messaging_product": "whatsapp", "messages": [{ "id": id }] });
        FakeReply::answer(200, body)
    }

    fn error(status: u16, code: i64) -> FakeReply {
        FakeReply::answer(status, json!({ "error": { "message": "CANARY", "code": code } }))
    }

    #[tokio::test]
    async fn text_has_no_preview() {
        let http = FakeExchange::new([accepted("wamid.1")]);
        let outcome = send_first(&whatsapp(Arc::clone(&http)), &message("It **rains**.")).await;
        assert_eq!(outcome, SendOutcome::Accepted { message_id: Some("wamid.1".to_owned()) });
        let expected = json!({
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": "+4915112345678",
            "type": "text",
            "text": { "preview_url": false, "body": "Weather\nIt rains." },
        });
        assert_eq!(http.last_json(), expected);
        let url = "https://graph.facebook.com/v23.0/1001/messages";
        assert_eq!(http.last_request().url, url);
        assert_eq!(http.last_header("authorization").as_deref(), Some("Bearer CANARY"));
    }

    #[tokio::test]
    async fn closed_window_sends_the_template_once() {
        let http = FakeExchange::new([error(400, WINDOW_CLOSED), accepted("wamid.2")]);
        let channel = whatsapp(Arc::clone(&http));
        let message = message(&"a line\n".repeat(1_000));
        let parts = channel.render(&message);
        assert_eq!(parts.len(), 2);
        let sent = SendOutcome::Accepted { message_id: Some("wamid.2".to_owned()) };
        assert_eq!(channel.send(&message, &parts, 0).await, sent);
        assert_eq!(channel.send(&message, &parts, 1).await, sent);
        assert_eq!(http.requests().len(), 2);
        let body = http.last_json();
        let template = &body["template"];
        assert_eq!(
            (&body["type"], &template["name"], &template["language"]["code"]),
            (&json!("template"), &json!("rouse_report"), &json!("en"))
        );
        let text = &template["components"][0]["parameters"][0]["text"];
        let text = text.as_str().expect("a text");
        assert!(text.chars().count() <= 1_000 && !text.contains('\n'), "{text}");
        assert!(text.starts_with("Weather a line") && text.ends_with("… The rest is in the run."));
    }

    #[tokio::test]
    async fn closed_window_without_a_template_is_refused() {
        let http = FakeExchange::new([error(400, WINDOW_CLOSED)]);
        let settings = WhatsappSettings { template: None, ..settings() };
        let channel = WhatsappChannel::new(http, settings);
        let SendOutcome::Refused { reason } = send_first(&channel, &message("x")).await else {
            panic!("expected a refusal");
        };
        assert!(reason.contains("`template`") && reason.contains("Telegram"), "{reason}");
    }

    #[tokio::test]
    async fn window_that_closes_between_parts_loses_nothing() {
        let http = FakeExchange::new([
            accepted("wamid.1"),
            error(400, WINDOW_CLOSED),
            accepted("wamid.2"),
        ]);
        let channel = whatsapp(Arc::clone(&http));
        let message = message(&"a line\n".repeat(1_000));
        let parts = channel.render(&message);
        assert_eq!(class(&channel.send(&message, &parts, 0).await), "accepted");
        assert_eq!(class(&channel.send(&message, &parts, 1).await), "accepted");
        assert_eq!(http.last_json()["type"], "template");
    }

    #[tokio::test]
    async fn codes_have_a_class_and_no_text_of_the_answer() {
        for (status, code, expected) in [
            (401, 190, "broken"),
            (400, 190, "broken"),
            (403, 10, "broken"),
            (400, 130_429, "later"),
            (400, 131_056, "later"),
            (500, 131_000, "later"),
            (400, 2, "later"),
            (400, 131_026, "refused"),
            (404, 132_001, "refused"),
            (400, 100, "refused"),
            (500, 999, "server error"),
            (503, 999, "later"),
        ] {
            let http = FakeExchange::new([error(status, code)]);
            let outcome = send_first(&whatsapp(http), &message("x")).await;
            assert_eq!(class(&outcome), expected, "{code}: {outcome:?}");
            assert!(!format!("{outcome:?}").contains("CANARY"), "{outcome:?}");
        }
    }

    #[tokio::test]
    async fn unknown_number_that_sends_breaks_the_channel() {
        let body = json!({ "error": { "code": 100, "error_subcode": 33 } });
        let http = FakeExchange::new([FakeReply::answer(400, body)]);
        let outcome = send_first(&whatsapp(http), &message("x")).await;
        assert_eq!(class(&outcome), "broken");
    }

    #[tokio::test]
    async fn message_without_a_number_is_refused() {
        let http = FakeExchange::new([]);
        let outcome = send_first(&whatsapp(Arc::clone(&http)), &sample_message("x")).await;
        assert_eq!((class(&outcome), http.requests().len()), ("refused", 0));
    }

    #[test]
    fn repeat_begins_with_its_notice() {
        let message = ChannelMessage { is_repeat: true, ..message("x") };
        let parts = whatsapp(FakeExchange::new([])).render(&message);
        assert_eq!(parts, [format!("{REPEAT_NOTICE}\nWeather\nx")]);
    }

    #[tokio::test]
    async fn failures_have_their_class_and_no_secret() {
        assert_failures_hide("CANARY", &message("x"), whatsapp).await;
    }

    #[tokio::test]
    async fn check_reads_the_number_that_sends() {
        for reply in [FakeReply::answer(200, r#"{"id":"1001"}"#), error(403, 200)] {
            let http = FakeExchange::new([reply]);
            assert_eq!(whatsapp(Arc::clone(&http)).check().await, Ok(()));
            let request = http.last_request();
            let url = "https://graph.facebook.com/v23.0/1001";
            assert_eq!((request.method, request.url.as_str()), ("GET", url));
            assert_eq!(http.last_header("authorization").as_deref(), Some("Bearer CANARY"));
        }
    }

    #[tokio::test]
    async fn failed_check_has_a_cause_and_no_secret() {
        let unknown = json!({ "error": { "code": 100, "error_subcode": 33, "message": "CANARY" } });
        let replies = [
            (error(401, 190), "WhatsApp refuses the access token (190)."),
            (FakeReply::answer(400, unknown), "does not know the number that sends (100)."),
            (error(500, 131_000), "asks for a later attempt (131000)."),
            (
                FakeReply::Unreached,
                "The exchange with https://graph.facebook.com/v23.0/1001 failed.",
            ),
        ];
        assert_check_errors("CANARY", whatsapp, replies).await;
    }
}
