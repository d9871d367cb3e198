//! The outcome of a run with a single tool call: result, summary, and whether a retry is safe.

use std::borrow::Cow;

use rouse_core::RunState;
use rouse_core::run::{Outcome, Usage};
use rouse_core::tool::{Completion, Fault, ToolEffect, ToolOutput};
use serde_json::Value;

use crate::gate::GatedCall;
use crate::safety::result_size::{self, CutNotice};

/// The most characters of a summary.
const MAX_SUMMARY_CHARACTERS: usize = 2_000;

/// The most bytes of a result that are kept unchanged.
const MAX_RESULT_BYTES: usize = 64 << 10;

/// The outcome of a run with a single call that was made or refused.
pub(super) fn call_outcome(called: GatedCall) -> Outcome {
    let cost_micro_usd = called.output.cost_micro_usd;
    let usage = Usage { cost_micro_usd, ..Usage::default() };
    Outcome { usage, ..outcome_without_usage(called) }
}

fn outcome_without_usage(called: GatedCall) -> Outcome {
    if called.output.is_error() {
        let words =
            called.output.words.clone().unwrap_or_else(|| result_text(&called.output.value));
        let is_futile = called.output.fault.is_some_and(|fault| !fault.is_transient());
        let is_safe = called.is_repeatable || is_retry_safe(&called.output);
        let is_transient = called.reached_tool && is_safe && !is_futile;
        let error_for_log = Some(self::error_for_log(&called).into_owned());
        return Outcome { is_transient, error_for_log, ..Outcome::failed(shortened(&words)) };
    }
    let outcome = match called.output.effect {
        Some(ToolEffect::Complete { outcome: Completion::Failed, summary }) => {
            let error_for_log = Some("The tool reported a failure".to_owned());
            Outcome { error_for_log, ..Outcome::failed(summary) }
        }
        Some(ToolEffect::Complete { outcome: Completion::NothingToReport, .. }) => {
            Outcome::of(RunState::NothingToReport)
        }
        Some(ToolEffect::Complete { outcome: Completion::Report, summary }) => {
            Outcome::succeeded(summary)
        }
        Some(ToolEffect::Notify { title, body }) => {
            Outcome::succeeded(title.map_or(body.clone(), |title| format!("{title}: {body}")))
        }
        Some(ToolEffect::RequestInput(_)) | None => {
            let words = called.output.words.unwrap_or_else(|| result_text(&called.output.value));
            Outcome::succeeded(shortened(&words))
        }
    };
    Outcome { result: Some(called.output.value), ..outcome }
}

/// Whether a call with side effects may be retried after this failure: the destination was not reached, or a command
/// has exited. A command that was not found or not executable (POSIX `sh`, exit status 127 and 126) fails again.
fn is_retry_safe(output: &ToolOutput) -> bool {
    let has_run = |code: i64| ![126, 127].contains(&code);
    output.fault == Some(Fault::Unreached) || output.value["exitCode"].as_i64().is_some_and(has_run)
}

/// The kind of a failure, for the log. The error text itself may hold the job's input or the tool's output.
fn error_for_log(called: &GatedCall) -> Cow<'static, str> {
    if let Some(refusal) = &called.refusal {
        return format!("The gate refused the call ({})", refusal.name()).into();
    }
    let output = &called.output;
    if let Some(code) = output.value["exitCode"].as_i64() {
        return format!("Exit code {code}").into();
    }
    if let Some(status) = output.value["status"].as_u64()
        && matches!(output.fault, Some(Fault::ExternalService | Fault::Refused))
    {
        return format!("Answered with {status}").into();
    }
    Cow::Borrowed(match output.fault {
        Some(Fault::InvalidParameters) => "The arguments of the call do not match the schema",
        Some(Fault::Timeout) => "The call took too long",
        Some(Fault::NotAuthorised) => "The call was not allowed",
        Some(Fault::RateLimited { .. }) => "The tool was called too often",
        Some(Fault::ExternalService) => "The destination of the call failed",
        Some(Fault::Unreached) => "The destination of the call was not reached",
        Some(Fault::Refused) => "The destination refused the call",
        Some(Fault::Sandbox) => "No sandbox was available for the call",
        Some(Fault::Execution) | None => "The call failed",
    })
}

/// A result as text: a string unchanged, an object line by line.
fn result_text(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let lines: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key}: {}", one_line(value))).collect();
            lines.join("\n")
        }
        Value::Array(items) => {
            let lines: Vec<String> = items.iter().map(one_line).collect();
            lines.join("\n")
        }
        other => one_line(other),
    }
}

fn one_line(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "nothing".to_owned(),
        other => other.to_string(),
    }
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_SUMMARY_CHARACTERS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None if text.is_empty() => "Done.".to_owned(),
        None => text.to_owned(),
    }
}

/// Bounds the result for the comparison of the next run. Fingerprints replace the parts of a large result, so that a
/// change anywhere stays a change.
pub(super) fn with_bounded_result(outcome: Outcome) -> Outcome {
    let result = outcome.result.map(|result| {
        result_size::shortened(&result, MAX_RESULT_BYTES, CutNotice::WithFingerprint)
    });
    Outcome { result, ..outcome }
}

#[cfg(test)]
mod tests {
    use rouse_core::approval::{HookDenial, Refusal};
    use serde_json::json;

    use super::*;

    #[test]
    fn result_is_readable_text() {
        assert_eq!(result_text(&json!("Hello.")), "Hello.");
        assert_eq!(
            result_text(&json!({"status": 200, "body": "ok", "note": null})),
            "status: 200\nbody: ok\nnote: nothing"
        );
        assert_eq!(result_text(&json!(["a", {"b": 1}])), "a\n{\"b\":1}");
        assert_eq!(shortened("  "), "Done.");
        assert_eq!(shortened(&"é".repeat(3_000)).chars().count(), MAX_SUMMARY_CHARACTERS + 2);
    }

    fn outcome(output: ToolOutput, reached_tool: bool, is_repeatable: bool) -> Outcome {
        let (model_output, refusal) =
            (output.clone(), (!reached_tool).then_some(Refusal::NotListed));
        outcome_without_usage(GatedCall {
            step: 1,
            output,
            model_output,
            reached_tool,
            is_repeatable,
            refusal,
            input_approval: None,
        })
    }

    #[test]
    fn refused_request_has_error_text_and_status() {
        let output = ToolOutput {
            fault: Some(Fault::Refused),
            ..ToolOutput::ok(json!({ "status": 401, "body": "No." }))
        };
        let plain = outcome(output.clone(), true, true);
        assert_eq!(plain.error.as_deref(), Some("status: 401\nbody: No."));
        let described =
            outcome(output.in_words("The server answered 401 (Unauthorized): No."), true, true);
        assert_eq!(described.error.as_deref(), Some("The server answered 401 (Unauthorized): No."));
        assert_eq!(described.error_for_log.as_deref(), Some("Answered with 401"));
    }

    #[test]
    fn call_with_side_effects_is_retried_only_when_safe() {
        let exited = |code: Option<i64>| {
            let mut output = ToolOutput::faulty(Fault::Execution, "Ended.");
            output.value = json!({ "error": "Ended.", "exitCode": code });
            outcome(output, true, false).is_transient
        };
        assert!(exited(Some(1)) && exited(Some(255)));
        assert!(!exited(Some(126)) && !exited(Some(127)), "unknown command");
        assert!(!exited(None), "ended by a signal");
        let after = |fault| outcome(ToolOutput::faulty(fault, "No."), true, false).is_transient;
        assert!(after(Fault::Unreached));
        for fault in [Fault::Execution, Fault::Timeout, Fault::ExternalService, Fault::Refused] {
            assert!(!after(fault), "the call may have succeeded: {fault:?}");
        }
    }

    #[test]
    fn log_distinguishes_refusals_of_gate_and_tool() {
        let output = || ToolOutput::faulty(Fault::NotAuthorised, "The secret words.");
        let logged = |refusal: Option<Refusal>| {
            let (model_output, reached_tool, is_repeatable) = (output(), refusal.is_none(), true);
            let called = GatedCall {
                step: 1,
                output: output(),
                model_output,
                reached_tool,
                is_repeatable,
                refusal,
                input_approval: None,
            };
            outcome_without_usage(called).error_for_log
        };
        assert_eq!(logged(None).as_deref(), Some("The call was not allowed"));
        let hook = Refusal::Hook { hook: "guard".to_owned(), how: HookDenial::Denied };
        assert_eq!(logged(Some(hook)).as_deref(), Some("The gate refused the call (hook)"));
        let leak = Refusal::Leak { found: vec!["secret:mail".to_owned()] };
        assert_eq!(logged(Some(leak)).as_deref(), Some("The gate refused the call (leak)"));
    }

    #[test]
    fn permanent_failure_is_not_retried() {
        let after = |fault, reached_tool| {
            outcome(ToolOutput::faulty(fault, "It did not work."), reached_tool, true)
        };
        for fault in [Fault::Execution, Fault::Timeout, Fault::ExternalService] {
            assert!(after(fault, true).is_transient, "{fault:?}");
            assert!(!after(fault, false).is_transient, "refused: {fault:?}");
        }
        for fault in
            [Fault::InvalidParameters, Fault::NotAuthorised, Fault::Refused, Fault::Sandbox]
        {
            assert!(!after(fault, true).is_transient, "{fault:?}");
        }
    }

    #[test]
    fn change_inside_large_result_is_detected() {
        let keep = |result: Value| {
            with_bounded_result(Outcome { result: Some(result), ..Outcome::succeeded("Done.") })
                .result
        };
        let half = "x".repeat(50_000);
        let large = |letter: &str| keep(format!("{half}{letter}{half}").into());
        assert_eq!(large("a"), large("a"));
        assert_ne!(large("a"), large("b"));
        assert!(large("a").expect("a result").to_string().len() <= MAX_RESULT_BYTES);
        assert_eq!(keep(json!({"a": 1})), Some(json!({"a": 1})));
    }
}
