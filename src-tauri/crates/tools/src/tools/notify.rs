//! `notify`: a notification for the person.
//!
//! Never delivers itself: the run commits the delivery, the outbox delivers. The text is short, plain and left to
//! right, because lock screens show the text beside other programs.

use std::future::ready;

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, BoxFuture, RateLimit, Tool, ToolContext, ToolEffect, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::json;

use crate::arguments;
use crate::spec::{object_schema, read_only_spec};
use crate::text::{plain_line, truncate};

const MAX_TITLE_CHARS: usize = 80;
const MAX_BODY_CHARS: usize = 400;
/// Generous: many jobs fire at the full hour.
const RATE: RateLimit = RateLimit { per_minute: 20, per_hour: 200 };

pub(crate) struct Notify {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    title: Option<String>,
    body: String,
}

impl Notify {
    pub(crate) fn new() -> Self {
        let description = "Shows the person a notification now. The outcome of the run is announced anyway. No secrets.";
        let parameters = object_schema(
            &["body"],
            json!({
                "title": { "type": "string", "description": "Default: the job's name." },
                "body": { "type": "string", "minLength": 1 },
            }),
        );
        let base = read_only_spec("notify", "Send a notification", description, parameters);
        // Not idempotent: a repeated call is a second notification.
        Self { spec: ToolSpec { annotations: Annotations::ADDS, rate: RATE, ..base } }
    }
}

impl Tool for Notify {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        let output = arguments::parse(call.arguments()).and_then(notification);
        Box::pin(ready(output.unwrap_or_else(arguments::invalid_arguments)))
    }
}

fn notification(arguments: Arguments) -> Result<ToolOutput, String> {
    let title = plain_line(&arguments.title.unwrap_or_default());
    let body = plain_line(&arguments.body);
    if body.is_empty() {
        return Err(
            "The body is empty. Write what the person should know in a sentence.".to_owned()
        );
    }
    let is_truncated =
        title.chars().count() > MAX_TITLE_CHARS || body.chars().count() > MAX_BODY_CHARS;
    let note = if is_truncated { ", cut to the maximum length" } else { "" };
    let message = format!("The notification is queued{note}.");
    let title = (!title.is_empty()).then(|| truncate(&title, MAX_TITLE_CHARS));
    let body = truncate(&body, MAX_BODY_CHARS);
    Ok(ToolOutput::ok(message).with_effect(ToolEffect::Notify { title, body }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_context::call;
    use serde_json::Value;

    async fn effect(arguments: Value) -> (Option<String>, String) {
        let output = call(&Notify::new(), arguments).await;
        assert!(!output.is_error(), "{}", output.text());
        match output.effect {
            Some(ToolEffect::Notify { title, body }) => (title, body),
            other => panic!("not a notification: {other:?}"),
        }
    }

    #[tokio::test]
    async fn call_requests_a_notification() {
        let (title, body) = effect(json!({ "title": "Backup", "body": "Done." })).await;
        assert_eq!((title.as_deref(), body.as_str()), (Some("Backup"), "Done."));
    }

    #[tokio::test]
    async fn text_is_plain_and_on_one_line() {
        let (title, body) =
            effect(json!({ "title": "\u{202e}A\nB\u{1b}", "body": "one\r\ntwo\u{7}" })).await;
        assert_eq!((title.as_deref(), body.as_str()), (Some("A B"), "one two"));
    }

    #[tokio::test]
    async fn blank_title_counts_as_absent() {
        assert_eq!(effect(json!({ "title": " \n", "body": "x" })).await.0, None);
    }

    #[tokio::test]
    async fn long_text_is_cut_with_a_note() {
        let given = json!({ "title": "t".repeat(81), "body": "b".repeat(401) });
        let (title, body) = effect(given.clone()).await;
        assert_eq!(
            (title.map(|title| title.chars().count()), body.chars().count()),
            (Some(80), 400)
        );
        assert!(body.ends_with('…'));
        assert!(call(&Notify::new(), given).await.text().contains("cut"));
    }

    #[tokio::test]
    async fn empty_body_is_an_error_without_a_notification() {
        let output = call(&Notify::new(), json!({ "body": "\u{1b}\n" })).await;
        assert!(output.is_error() && output.effect.is_none());
    }
}
