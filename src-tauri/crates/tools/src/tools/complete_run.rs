//! `complete_run`: the end of a run, with one of three outcomes and a summary for the person.
//!
//! Never ends the run itself: the turn logic does. Refuses a report or a failure without a summary.

use std::future::ready;

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    BoxFuture, Completion, RateLimit, Tool, ToolContext, ToolEffect, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::json;

use crate::arguments;
use crate::spec::{object_schema, read_only_spec};
use crate::text::plain_text;

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
        let outcome = "report: there is a result. nothing_to_report: all is well. failed: the task could not be done.";
        let summary =
            "The result, or the reason of the failure. Its first sentence is the notification.";
        let parameters = object_schema(
            &["outcome", "summary"],
            json!({
                "outcome": { "type": "string", "enum": ["report", "nothing_to_report", "failed"], "description": outcome },
                "summary": { "type": "string", "maxLength": 20_000, "description": summary },
            }),
        );
        let base = read_only_spec("complete_run", "End the run", description, parameters);
        // A model that could not end the run would continue for nothing.
        Self { spec: ToolSpec { rate: RateLimit::NONE, ..base } }
    }
}

impl Tool for CompleteRun {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        let output = arguments::parse(call.arguments()).and_then(complete);
        Box::pin(ready(output.unwrap_or_else(arguments::invalid_arguments)))
    }
}

fn complete(arguments: Arguments) -> Result<ToolOutput, String> {
    let outcome = Completion::from(arguments.outcome);
    let summary = plain_text(&arguments.summary).trim().to_owned();
    if summary.is_empty() && outcome != Completion::NothingToReport {
        let message =
            "The summary is empty. Write what the person should know, then call this again.";
        return Err(message.to_owned());
    }
    let effect = ToolEffect::Complete { outcome, summary };
    Ok(ToolOutput::ok("The run is complete.").with_effect(effect))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_context::call;

    #[tokio::test]
    async fn every_outcome_completes_the_run() {
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
    async fn only_nothing_to_report_allows_an_empty_summary() {
        for (word, refused) in [("report", true), ("failed", true), ("nothing_to_report", false)] {
            let output =
                call(&CompleteRun::new(), json!({ "outcome": word, "summary": "\n" })).await;
            assert_eq!((output.is_error(), output.effect.is_none()), (refused, refused), "{word}");
        }
    }

    #[tokio::test]
    async fn unknown_outcome_is_refused() {
        let output =
            call(&CompleteRun::new(), json!({ "outcome": "Report", "summary": "x" })).await;
        assert!(output.is_error() && output.effect.is_none());
    }
}
