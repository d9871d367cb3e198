//! `notify`: puts a notification into the outbox, through the run.
//!
//! It shows nothing itself: the run commits the delivery, the outbox hands it over. Because a notification can be read
//! on a lock screen and stands beside those of other programs, its text is short, plain and in one reading direction.

use std::future::ready;

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, BoxFuture, RateLimit, Tool, ToolContext, ToolEffect, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::json;

use crate::text::{plain_line, shortened};
use crate::{arguments, spec};

const MOST_TITLE: usize = 80;
const MOST_BODY: usize = 400;
/// Many jobs fire at the full hour, and all of them may have something to say.
const RATE: RateLimit = RateLimit { per_minute: 20, per_hour: 200 };

/// The tool.
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
        let parameters = spec::object(
            &["body"],
            json!({
                "title": { "type": "string", "description": "Default: the job's name." },
                "body": { "type": "string", "minLength": 1 },
            }),
        );
        let harmless = spec::harmless(("notify", "Send a notification"), description, parameters);
        // A repeated notification is a second one.
        Self { spec: ToolSpec { annotations: Annotations::ADDS, rate: RATE, ..harmless } }
    }
}

impl Tool for Notify {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        let asked = arguments::read(call.arguments()).and_then(notification);
        Box::pin(ready(asked.unwrap_or_else(arguments::misfit)))
    }
}

fn notification(arguments: Arguments) -> Result<ToolOutput, String> {
    let title = plain_line(&arguments.title.unwrap_or_default());
    let body = plain_line(&arguments.body);
    if body.is_empty() {
        return Err("The body is empty. Say in a sentence what the person should know.".to_owned());
    }
    let is_cut = title.chars().count() > MOST_TITLE || body.chars().count() > MOST_BODY;
    let how = if is_cut { ", cut to its longest length" } else { "" };
    let said = format!("The notification is queued{how}.");
    let title = (!title.is_empty()).then(|| shortened(&title, MOST_TITLE));
    let body = shortened(&body, MOST_BODY);
    Ok(ToolOutput::ok(said).with_effect(ToolEffect::Notify { title, body }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;
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
    async fn asks_the_run_for_a_notification() {
        let (title, body) = effect(json!({ "title": "Backup", "body": "Done." })).await;
        assert_eq!((title.as_deref(), body.as_str()), (Some("Backup"), "Done."));
    }

    #[tokio::test]
    async fn its_text_is_plain_and_on_one_line() {
        let (title, body) =
            effect(json!({ "title": "\u{202e}A\nB\u{1b}", "body": "one\r\ntwo\u{7}" })).await;
        assert_eq!((title.as_deref(), body.as_str()), (Some("A B"), "one two"));
    }

    #[tokio::test]
    async fn a_title_of_nothing_is_no_title() {
        assert_eq!(effect(json!({ "title": " \n", "body": "x" })).await.0, None);
    }

    #[tokio::test]
    async fn long_texts_are_cut_and_it_says_so() {
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
    async fn an_empty_body_is_an_error_without_a_notification() {
        let output = call(&Notify::new(), json!({ "body": "\u{1b}\n" })).await;
        assert!(output.is_error() && output.effect.is_none());
    }
}
