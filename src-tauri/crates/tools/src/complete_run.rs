//! `complete_run`: how a model ends its run, in one of three ways, with a summary for the person.
//!
//! It changes nothing itself; the turn logic decides what the ending means. A report or a failure without words is
//! refused, because the person would see a finished run that says nothing.

use std::future::ready;

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    BoxFuture, Completion, RateLimit, Tool, ToolContext, ToolEffect, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::json;

use crate::text::plain_text;
use crate::{arguments, spec};

/// The tool.
pub(crate) struct CompleteRun {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    outcome: Outcome,
    summary: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Report,
    NothingToReport,
    Failed,
}

impl From<Outcome> for Completion {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Report => Self::Report,
            Outcome::NothingToReport => Self::NothingToReport,
            Outcome::Failed => Self::Failed,
        }
    }
}

impl CompleteRun {
    pub(crate) fn new() -> Self {
        let description = "Ends the run. Call it once.";
        let outcome = "report: there is something to tell. nothing_to_report: all is well. failed: it could not be done.";
        let summary = "The result, or why it failed. Its first sentence is the notification.";
        let parameters = spec::object(
            &["outcome", "summary"],
            json!({
                "outcome": { "type": "string", "enum": ["report", "nothing_to_report", "failed"], "description": outcome },
                "summary": { "type": "string", "maxLength": 20_000, "description": summary },
            }),
        );
        // Whoever could not say that it is done would go on for nothing.
        let rate = RateLimit::NONE;
        Self {
            spec: ToolSpec {
                rate,
                ..spec::harmless(("complete_run", "End the run"), description, parameters)
            },
        }
    }
}

impl Tool for CompleteRun {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        let asked = arguments::read(call.arguments()).and_then(ending);
        Box::pin(ready(asked.unwrap_or_else(arguments::misfit)))
    }
}

fn ending(arguments: Arguments) -> Result<ToolOutput, String> {
    let outcome = Completion::from(arguments.outcome);
    let summary = plain_text(&arguments.summary).trim().to_owned();
    if summary.is_empty() && outcome != Completion::NothingToReport {
        let words = "The summary is empty. Say what the person should know, then call this again.";
        return Err(words.to_owned());
    }
    let effect = ToolEffect::Complete { outcome, summary };
    Ok(ToolOutput::ok("The run is complete.").with_effect(effect))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    #[tokio::test]
    async fn every_outcome_has_its_ending() {
        let cases = [
            ("report", Completion::Report),
            ("nothing_to_report", Completion::NothingToReport),
            ("failed", Completion::Failed),
        ];
        for (word, outcome) in cases {
            let output = call(
                &CompleteRun::new(),
                json!({ "outcome": word, "summary": " Three\nfiles.\u{7} " }),
            )
            .await;
            let effect = ToolEffect::Complete { outcome, summary: "Three\nfiles.".to_owned() };
            assert_eq!(output.effect, Some(effect), "{word}");
        }
    }

    #[tokio::test]
    async fn only_nothing_to_report_may_say_nothing() {
        for (word, refused) in [("report", true), ("failed", true), ("nothing_to_report", false)] {
            let output =
                call(&CompleteRun::new(), json!({ "outcome": word, "summary": "\n" })).await;
            assert_eq!((output.is_error(), output.effect.is_none()), (refused, refused), "{word}");
        }
    }

    #[tokio::test]
    async fn another_word_is_refused() {
        let output =
            call(&CompleteRun::new(), json!({ "outcome": "Report", "summary": "x" })).await;
        assert!(output.is_error() && output.effect.is_none());
    }
}
