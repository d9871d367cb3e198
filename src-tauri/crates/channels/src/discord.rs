//! Webhooks of Discord.
//!
//! Owns the text in Discord's Markdown, and Discord's limits. Never names the address, which is a password.
//! Pitfall: a request without `wait=true`, to which Discord answers before it stores the message.

use std::sync::Arc;

use rouse_core::channel::{Channel, ChannelMessage, SendOutcome};
use rouse_core::http_exchange::HttpExchange;
use rouse_core::tool::BoxFuture;
use serde_json::json;

use crate::http::{
    Answer, bare_request, check_result, confirmed, exchange_secret_url, pause_of, post_json,
};
use crate::marks::Markup;
use crate::text::utf16_length;

const SERVICE: &str = "Discord";

/// The most characters of a part. Discord's apps count UTF-16 units and its server characters, which are never more.
const MAX_TEXT: usize = 2_000;

/// The flag of a message without previews of its links.
const SUPPRESS_EMBEDS: u32 = 4;

const MARKDOWN: Markup = Markup { bold: "**", italic: "*", escape, escape_code: str::to_owned };

/// The settings of a webhook of Discord.
pub struct DiscordSettings {
    /// The address of the webhook, which is a password.
    pub url: String,
    /// The name of the stored secret with the address, for the remedies in reasons.
    pub url_secret: String,
}

/// A webhook of Discord.
pub struct DiscordChannel {
    http: Arc<dyn HttpExchange>,
    settings: DiscordSettings,
}

impl DiscordChannel {
    /// A channel with these settings.
    #[must_use]
    pub fn new(http: Arc<dyn HttpExchange>, settings: DiscordSettings) -> Self {
        Self { http, settings }
    }

    async fn send_text(&self, text: &str) -> SendOutcome {
        let url = self.settings.url.trim();
        let separator = if url.contains('?') { '&' } else { '?' };
        let body = json!({
            "content": text,
            "allowed_mentions": { "parse": [] },
            "flags": SUPPRESS_EMBEDS,
        });
        let request = post_json(&format!("{url}{separator}wait=true"), &body);
        match exchange_secret_url(&*self.http, request, SERVICE).await {
            Ok(answer) => confirmed(SERVICE, outcome(&answer, &self.settings.url_secret)),
            Err(outcome) => outcome,
        }
    }

    /// Reads the webhook, for which its address is enough.
    async fn check_webhook(&self) -> Result<(), String> {
        let request = bare_request("GET", self.settings.url.trim());
        let outcome = match exchange_secret_url(&*self.http, request, SERVICE).await {
            Ok(answer) => outcome(&answer, &self.settings.url_secret),
            Err(outcome) => outcome,
        };
        check_result(outcome, SERVICE)
    }
}

impl Channel for DiscordChannel {
    fn render(&self, message: &ChannelMessage) -> Vec<String> {
        MARKDOWN.parts(message, MAX_TEXT, |text| utf16_length(&MARKDOWN.render(text)))
    }

    fn send<'a>(
        &'a self,
        _message: &'a ChannelMessage,
        parts: &'a [String],
        index: usize,
    ) -> BoxFuture<'a, SendOutcome> {
        Box::pin(self.send_text(&parts[index]))
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.check_webhook())
    }
}

/// The class of an answer. `secret` is the name of the stored secret with the address.
fn outcome(answer: &Answer, secret: &str) -> SendOutcome {
    match (answer.status, answer.outcome(SERVICE)) {
        (_, SendOutcome::Accepted { .. }) => {
            SendOutcome::Accepted { message_id: answer.json()["id"].as_str().map(str::to_owned) }
        }
        (429, SendOutcome::Later { reason, after }) => {
            let pause = answer.json()["retry_after"].as_f64().and_then(pause_of);
            SendOutcome::Later { reason, after: pause.or(after) }
        }
        (401 | 403 | 404, _) => SendOutcome::Broken {
            reason: format!(
                "Discord does not know the webhook any more ({}). Create a webhook and store its address with `rouse secrets set {secret}`.",
                answer.status
            ),
        },
        (_, other) => other,
    }
}

/// Escapes Discord's markup. A web address stays as it is, because Discord would show the backslashes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut is_address = false;
    for (at, character) in text.char_indices() {
        let rest = &text[at..];
        if rest.starts_with("https://") || rest.starts_with("http://") {
            is_address = true;
        } else if character.is_whitespace() || r"\*`|<>[]()".contains(character) {
            is_address = false;
        }
        if !is_address && r"\*_~`|<>[]#".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rouse_core::channel::REPEAT_NOTICE;

    use super::*;
    use crate::doubles::{
        FakeExchange, FakeReply, assert_check_errors, assert_failures_hide, sample_message,
        send_first,
    };

    const URL: &str = "https://discord.com/api/webhooks/1/CANARY";

    fn discord(http: Arc<FakeExchange>) -> DiscordChannel {
        let url_secret = "channel-guild-address".to_owned();
        DiscordChannel::new(http, DiscordSettings { url: URL.to_owned(), url_secret })
    }

    fn rendered(message: &ChannelMessage) -> Vec<String> {
        discord(FakeExchange::new([])).render(message)
    }

    #[test]
    fn text_is_escaped_and_marks_stay() {
        for (text, expected) in [
            ("It **rains** *now*: `a_b*`", "It **rains** *now*: `a_b*`"),
            ("snake_case and ~5", "snake\\_case and \\~5"),
            ("\\# no heading", "\\# no heading"),
            ("<@1> @everyone ||x||", "\\<@1\\> @everyone \\|\\|x\\|\\|"),
            ("see https://example.org/a_b_c.", "see https://example.org/a_b_c."),
            ("[click](https://evil.example)", "click"),
            ("\\[click](https://e.org/a_b) a_b", "\\[click\\](https://e.org/a_b) a\\_b"),
        ] {
            let parts = rendered(&sample_message(text));
            assert_eq!(parts, [format!("**Weather**\n{expected}")], "{text:?}");
        }
    }

    #[test]
    fn repeat_begins_with_its_notice() {
        let mut message = sample_message("x");
        message.is_repeat = true;
        assert_eq!(rendered(&message), [format!("{REPEAT_NOTICE}\n**Weather**\nx")]);
    }

    #[test]
    fn parts_have_at_most_2000_characters() {
        let parts = rendered(&sample_message(&"snake_case 😀 ".repeat(300)));
        assert!((2..=5).contains(&parts.len()), "{}", parts.len());
        assert!(parts.iter().all(|part| utf16_length(part) <= MAX_TEXT));
    }

    #[tokio::test]
    async fn request_waits_and_mentions_nobody() {
        let http = FakeExchange::new([FakeReply::answer(200, r#"{"id":"123","type":0}"#)]);
        let outcome = send_first(&discord(Arc::clone(&http)), &sample_message("x")).await;
        assert_eq!(outcome, SendOutcome::Accepted { message_id: Some("123".to_owned()) });
        let expected = json!({
            "content": "**Weather**\nx",
            "allowed_mentions": { "parse": [] },
            "flags": 4,
        });
        assert_eq!(http.last_json(), expected);
        assert_eq!(http.last_request().url, format!("{URL}?wait=true"));
    }

    #[tokio::test]
    async fn pause_of_a_rate_limit_is_kept() {
        let body = r#"{"message":"You are being rate limited.","retry_after":1.5,"global":false}"#;
        for (body, expected) in
            [(body, Duration::from_millis(1_500)), ("error code: 1015", Duration::from_secs(7))]
        {
            let reply = FakeReply::answer_with(429, body, [("retry-after", "7")]);
            let outcome =
                send_first(&discord(FakeExchange::new([reply])), &sample_message("x")).await;
            let is_expected =
                matches!(outcome, SendOutcome::Later { after, .. } if after == Some(expected));
            assert!(is_expected, "{body}");
        }
    }

    #[tokio::test]
    async fn unknown_webhook_breaks_the_channel() {
        let reply = FakeReply::answer(404, r#"{"message":"Unknown Webhook","code":10015}"#);
        let outcome = send_first(&discord(FakeExchange::new([reply])), &sample_message("x")).await;
        let SendOutcome::Broken { reason } = outcome else { panic!("{outcome:?}") };
        assert!(reason.ends_with("with `rouse secrets set channel-guild-address`."), "{reason}");
    }

    #[tokio::test]
    async fn failures_have_their_class_and_no_secret() {
        assert_failures_hide("CANARY", &sample_message("x"), discord).await;
    }

    #[tokio::test]
    async fn check_reads_the_webhook() {
        let http = FakeExchange::new([FakeReply::answer(200, r#"{"id":"1","name":"Rouse"}"#)]);
        assert_eq!(discord(Arc::clone(&http)).check().await, Ok(()));
        let request = http.last_request();
        assert_eq!((request.method, request.url.as_str()), ("GET", URL));
        assert!(request.body.is_empty());
    }

    #[tokio::test]
    async fn failed_check_has_a_cause_and_no_secret() {
        let replies = [
            (FakeReply::answer(404, "CANARY"), "does not know the webhook any more (404)"),
            (FakeReply::answer(502, "CANARY"), "reports an error of its own (502)"),
            (FakeReply::Unreached, "Discord could not be reached. Check the network connection."),
        ];
        assert_check_errors("CANARY", discord, replies).await;
    }
}
