//! Incoming webhooks of Slack.
//!
//! Owns the text in Slack's mrkdwn, and the meaning of Slack's error words. Never names the address, which is a password.
//! Pitfall: `<` and `>`, which Slack reads as links and mentions of everybody.

use std::sync::Arc;

use rouse_core::channel::{Channel, ChannelMessage, SendOutcome};
use rouse_core::http_exchange::HttpExchange;
use rouse_core::tool::BoxFuture;
use serde_json::json;

use crate::http::{Answer, check_result, exchange_secret_url, post_json};
use crate::marks::Markup;
use crate::text::char_length;

const SERVICE: &str = "Slack";

/// The most characters of a part.
const MAX_TEXT: usize = 3_000;

const MRKDWN: Markup = Markup { bold: "*", italic: "_", escape, escape_code: escape };

/// The settings of an incoming webhook of Slack.
pub struct SlackSettings {
    /// The address of the webhook, which is a password.
    pub url: String,
    /// The name of the stored secret with the address, for the remedies in reasons.
    pub url_secret: String,
}

/// An incoming webhook of Slack.
pub struct SlackChannel {
    http: Arc<dyn HttpExchange>,
    settings: SlackSettings,
}

impl SlackChannel {
    /// A channel with these settings.
    #[must_use]
    pub fn new(http: Arc<dyn HttpExchange>, settings: SlackSettings) -> Self {
        Self { http, settings }
    }

    async fn send_text(&self, text: &str) -> SendOutcome {
        let body = json!({ "text": text, "unfurl_links": false, "unfurl_media": false });
        let request = post_json(self.settings.url.trim(), &body);
        match exchange_secret_url(&*self.http, request, SERVICE).await {
            Ok(answer) => outcome(&answer, &self.settings.url_secret),
            Err(outcome) => outcome,
        }
    }

    /// Sends a message without text. A webhook that works refuses it with `no_text` or `invalid_payload`.
    async fn check_webhook(&self) -> Result<(), String> {
        let request = post_json(self.settings.url.trim(), &json!({}));
        let outcome = match exchange_secret_url(&*self.http, request, SERVICE).await {
            Ok(answer) => match outcome(&answer, &self.settings.url_secret) {
                SendOutcome::Refused { .. } if answer.status == 400 => return Ok(()),
                outcome => outcome,
            },
            Err(outcome) => outcome,
        };
        check_result(outcome, SERVICE)
    }
}

impl Channel for SlackChannel {
    fn render(&self, message: &ChannelMessage) -> Vec<String> {
        MRKDWN.parts(message, MAX_TEXT, |text| char_length(&MRKDWN.render(text)))
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

/// The class of an answer. Slack confirms a message with the word `ok` and names an error with a word. `secret` is the
/// name of the stored secret with the address.
fn outcome(answer: &Answer, secret: &str) -> SendOutcome {
    let broken = |reason: &str| SendOutcome::Broken { reason: reason.to_owned() };
    let with_store = |remedy: &str| broken(&format!("{remedy} with `rouse secrets set {secret}`."));
    match answer.text().trim() {
        "ok" if answer.status == 200 => SendOutcome::Accepted { message_id: None },
        "no_service" | "no_team" | "invalid_token" | "channel_not_found" => with_store(
            "Slack does not know the webhook any more. Create an incoming webhook and store its address",
        ),
        "channel_is_archived" => with_store(
            "The Slack channel of the webhook is archived. Restore the channel, or store the address of another webhook",
        ),
        "action_prohibited" | "posting_to_general_channel_denied" | "team_disabled" => broken(
            "Slack does not allow the webhook to write. Ask an administrator of the workspace.",
        ),
        _ if (200..300).contains(&answer.status) => SendOutcome::Unknown {
            reason: format!(
                "Slack did not confirm the message ({}). It may have arrived.",
                answer.status
            ),
        },
        _ => answer.outcome(SERVICE),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use rouse_core::channel::REPEAT_NOTICE;

    use super::*;
    use crate::doubles::{
        FakeExchange, FakeReply, assert_check_errors, assert_failures_hide, class, sample_message,
        send_first,
    };

    fn slack(http: Arc<FakeExchange>) -> SlackChannel {
        let url = "https://hooks.slack.com/services/T0/B0/CANARY\n".to_owned();
        let url_secret = "channel-team-address".to_owned();
        SlackChannel::new(http, SlackSettings { url, url_secret })
    }

    fn rendered(message: &ChannelMessage) -> Vec<String> {
        slack(FakeExchange::new([])).render(message)
    }

    #[test]
    fn markdown_becomes_mrkdwn() {
        let text = "It **rains** *now*, see [the map](https://example.org) and `a < b`.";
        let expected = "*Weather*\nIt *rains* _now_, see the map and `a &lt; b`.";
        assert_eq!(rendered(&sample_message(text)), [expected]);
    }

    #[test]
    fn mentions_and_links_of_the_text_are_escaped() {
        let mut message = sample_message("<!channel> & <https://example.org|click>");
        message.title = "<!here>\n<@U1>".to_owned();
        let expected =
            "*&lt;!here&gt; &lt;@U1&gt;*\n&lt;!channel&gt; &amp; &lt;https://example.org|click&gt;";
        assert_eq!(rendered(&message), [expected]);
    }

    #[test]
    fn repeat_begins_with_its_notice() {
        let mut message = sample_message("x");
        message.is_repeat = true;
        assert_eq!(rendered(&message), [format!("{REPEAT_NOTICE}\n*Weather*\nx")]);
    }

    #[test]
    fn parts_have_at_most_3000_characters() {
        let parts = rendered(&sample_message(&"a && b\n".repeat(600)));
        assert!((2..=5).contains(&parts.len()), "{}", parts.len());
        for part in parts {
            assert!(part.chars().count() <= MAX_TEXT);
            assert_eq!(part.matches('&').count(), part.matches("&amp;").count());
        }
    }

    #[tokio::test]
    async fn request_has_no_previews() {
        let http = FakeExchange::new([FakeReply::answer(200, "ok")]);
        let outcome = send_first(&slack(Arc::clone(&http)), &sample_message("x")).await;
        assert_eq!(outcome, SendOutcome::Accepted { message_id: None });
        let expected =
            json!({ "text": "*Weather*\nx", "unfurl_links": false, "unfurl_media": false });
        assert_eq!(http.last_json(), expected);
        let request = http.last_request();
        assert_eq!(request.url, "https://hooks.slack.com/services/T0/B0/CANARY");
    }

    #[tokio::test]
    async fn words_of_slack_have_a_class() {
        for (status, word, expected) in [
            (200, "<html>", "unknown"),
            (200, "", "unknown"),
            (400, "invalid_payload", "refused"),
            (403, "action_prohibited", "broken"),
            (404, "no_service", "broken"),
            (410, "channel_is_archived", "broken"),
            (500, "rollup_error", "server error"),
        ] {
            let http = FakeExchange::new([FakeReply::answer(status, word)]);
            let outcome = send_first(&slack(http), &sample_message("x")).await;
            assert_eq!(class(&outcome), expected, "{word}: {outcome:?}");
        }
    }

    #[tokio::test]
    async fn lost_webhook_has_the_command_as_remedy() {
        for (status, word) in [(404, "no_service"), (410, "channel_is_archived")] {
            let http = FakeExchange::new([FakeReply::answer(status, word)]);
            let outcome = send_first(&slack(http), &sample_message("x")).await;
            let SendOutcome::Broken { reason } = outcome else { panic!("{outcome:?}") };
            assert!(reason.ends_with("with `rouse secrets set channel-team-address`."), "{reason}");
        }
    }

    #[tokio::test]
    async fn failures_have_their_class_and_no_secret() {
        assert_failures_hide("CANARY", &sample_message("x"), slack).await;
    }

    #[tokio::test]
    async fn check_sends_no_text() {
        for word in ["no_text", "invalid_payload"] {
            let http = FakeExchange::new([FakeReply::answer(400, word)]);
            assert_eq!(slack(Arc::clone(&http)).check().await, Ok(()), "{word}");
            assert_eq!((http.last_request().method, http.last_json()), ("POST", json!({})));
        }
    }

    #[tokio::test]
    async fn failed_check_has_a_cause_and_no_secret() {
        let replies = [
            (FakeReply::answer(404, "no_service"), "does not know the webhook any more."),
            (FakeReply::answer(400, "invalid_token"), "does not know the webhook any more."),
            (FakeReply::answer(410, "channel_is_archived"), "is archived."),
            (FakeReply::answer(405, "CANARY"), "refuses the message (405)"),
            (FakeReply::answer(200, "<html>CANARY"), "gave no usable answer."),
            (FakeReply::Unreached, "Slack could not be reached. Check the network connection."),
        ];
        assert_check_errors("CANARY", slack, replies).await;
    }
}
