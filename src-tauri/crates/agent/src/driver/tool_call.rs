//! A `toolCall` job: one call through the gate, without a model.
//!
//! Owns the result as data (the next run is compared with it) and as words (the person reads it). A notification that
//! the tool asks for becomes the run's own result, so that it is announced once and by the job's policy. The person has
//! written the call, which is as good as a yes to it; where a hook wants it asked all the same, or makes another call of
//! it, the job's own setting says whether anybody is asked.

use std::borrow::Cow;

use rouse_core::Job;
use rouse_core::RunState;
use rouse_core::approval::Refusal;
use rouse_core::job::ToolCall;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run, Usage};
use rouse_core::tool::{Completion, Fault, SandboxMode, ToolContext, ToolEffect, ToolOutput};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::context::question_for;
use super::conversation::ended_early;
use super::one_call::OneCall;
use super::{AgentDriver, cancelled, not_written};
use crate::gate::fit::{Cut, fitted};
use crate::gate::{Called, Terms};
use crate::money::{Account, Wanted};

/// The most characters of a summary.
const SUMMARY: usize = 2_000;

/// The most bytes of a result that are kept as they are.
const RESULT_BYTES: usize = 64 << 10;

impl AgentDriver {
    /// Carries out the `toolCall` of `job`.
    pub async fn run_tool_call(
        &self,
        run: &Run,
        job: &Job,
        call: &ToolCall,
        cancel: &CancellationToken,
    ) -> Outcome {
        if cancel.is_cancelled() {
            return cancelled();
        }
        // The person has written the whole call, and it has the person's rights, like a line in a crontab.
        let cause = match self.store.cause(&run.id).await {
            Ok(cause) => cause,
            Err(error) => return not_written(&error),
        };
        let by_person = SandboxMode::ByPersonUnsandboxed { hosts: job.policies.hosts.clone() };
        let context = ToolContext {
            event: cause.map(|cause| cause.told()),
            ..self.tool_context(run, Some(job), by_person)
        };
        let policy = ToolPolicy::of_a_persons_call(&call.tool, &call.arguments)
            .asking(job.policies.approvals);
        let account = self.account(run, Some(job));
        if let Some(stop) = self.is_too_dear(&account, call, cancel).await {
            return stop;
        }
        let terms = Terms {
            rate_limit_wait: std::time::Duration::ZERO,
            account: Some(account),
            policy,
            question_for: question_for(Some(job)),
            knows_outside: false,
        };
        match self.one_call(run, &terms, (&call.tool, &call.arguments), &context, cancel).await {
            OneCall::Called(called) => {
                // A condition is asked of the whole result; what is kept of it may be less.
                kept(self.judged(run, job, call, outcome_of(*called)).await)
            }
            OneCall::Ended(outcome) => *outcome,
        }
    }

    /// The end of a run that has only one call to make, when no budget is left for it.
    async fn is_too_dear(
        &self,
        account: &Account,
        call: &ToolCall,
        cancel: &CancellationToken,
    ) -> Option<Outcome> {
        let tool = self.gate.tools().get(&call.tool)?;
        let cost = tool.estimated_cost_micro_usd(&call.arguments)?;
        let refusal = account.admit(Wanted::of_cost(cost), cancel).await.err()?;
        Some(ended_early(&refusal.into()))
    }
}

/// What the end of a run is whose one call was made, or refused.
pub(super) fn outcome_of(called: Called) -> Outcome {
    let cost_micro_usd = called.output.cost_micro_usd;
    let usage = Usage { cost_micro_usd, ..Usage::default() };
    Outcome { usage, ..fate_of(called) }
}

fn fate_of(called: Called) -> Outcome {
    if called.output.is_error() {
        let words = called.output.words.clone().unwrap_or_else(|| in_words(&called.output.value));
        let is_futile = called.output.fault.is_some_and(|fault| !fault.may_pass());
        let is_harmless = called.is_repeatable || may_be_made_again(&called.output);
        let may_pass = called.reached_tool && is_harmless && !is_futile;
        let error_for_log = Some(for_log(&called).into_owned());
        return Outcome { may_pass, error_for_log, ..Outcome::failed(shortened(&words)) };
    }
    let outcome = match called.output.effect {
        Some(ToolEffect::Complete { outcome: Completion::Failed, summary }) => {
            let error_for_log = Some("It reported a failure".to_owned());
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
        None => {
            let words = called.output.words.unwrap_or_else(|| in_words(&called.output.value));
            Outcome::succeeded(shortened(&words))
        }
    };
    Outcome { result: Some(called.output.value), ..outcome }
}

/// Whether a call that changes something may be made once more after this failure, when the person wants further attempts:
/// nobody has heard of it, or it is a command of theirs that has ended by itself. One that could not be found or carried
/// out (POSIX `sh`, exit status 127 and 126) will not be at the next attempt either.
fn may_be_made_again(output: &ToolOutput) -> bool {
    let has_ended = |code: i64| ![126, 127].contains(&code);
    output.fault == Some(Fault::Unreached)
        || output.value["exitCode"].as_i64().is_some_and(has_ended)
}

/// What the log says of a call that failed: of which kind the refusal was, how its command ended, or what kind of failure
/// it was. The words may hold what the job is told and what came of it.
fn for_log(called: &Called) -> Cow<'static, str> {
    if let Some(why) = &called.refusal {
        return refused_for_log(why).into();
    }
    let output = &called.output;
    if let Some(code) = output.value["exitCode"].as_i64() {
        return format!("Exit code {code}").into();
    }
    if let Some(status) = output.value["status"].as_u64()
        && matches!(output.fault, Some(Fault::ExternalService | Fault::Refused))
    {
        return format!("It was answered with {status}").into();
    }
    Cow::Borrowed(match output.fault {
        Some(Fault::InvalidParameters) => "The arguments of the call do not fit",
        Some(Fault::Timeout) => "The call took too long",
        Some(Fault::NotAuthorised) => "The call was not allowed",
        Some(Fault::RateLimited { .. }) => "The tool was called too often",
        Some(Fault::ExternalService) => "What the call went to failed",
        Some(Fault::Unreached) => "What the call was to go to was not reached",
        Some(Fault::Refused) => "What the call went to refused it",
        Some(Fault::Sandbox) => "There was no safe place for the call",
        Some(Fault::Execution) | None => "The call failed",
    })
}

const fn refused_for_log(why: &Refusal) -> &'static str {
    match why {
        Refusal::UnknownTool => "There is no such tool",
        Refusal::Misfit => "The arguments of the call do not fit",
        Refusal::RateLimited { .. } => "The tool was called too often",
        Refusal::NotListed => "The tool is not among those of the run",
        Refusal::Ceiling { .. } => "The run may only look",
        Refusal::Unattended => "The tool is for turns that a person has started",
        Refusal::Unasked { .. } => "The call needs a yes, and its job asks nobody",
        Refusal::Hook { .. } => "A hook stood against the call",
        Refusal::Denied { .. } => "The person said no to the call",
        Refusal::Expired => "Nobody answered in time whether the call may be made",
        Refusal::JobGone => "The call needs a yes, and its job was deleted",
        Refusal::EarlierAsks => "The call needs a yes, and earlier runs wait for theirs",
        Refusal::Leak { .. } => "The call would have carried a secret away",
        Refusal::Secret { .. } => "A secret could not be put into the call",
        Refusal::Unkept => "The call held a stored secret that must not be written down",
        Refusal::Budget => "No budget had room for the call",
        Refusal::NoSandbox => "There was no safe place for the call",
        Refusal::Impossible => "The call could not have been carried out",
    }
}

/// A result for people: a text as it is, an object line by line.
fn in_words(value: &Value) -> String {
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
    match text.char_indices().nth(SUMMARY) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None if text.is_empty() => "Done.".to_owned(),
        None => text.to_owned(),
    }
}

/// The outcome with a result to compare the next one with. A large one is shortened, and fingerprints stand for what was
/// left out, so that a change anywhere in it is still a change.
pub(super) fn kept(outcome: Outcome) -> Outcome {
    let result = outcome.result.map(|result| fitted(&result, RESULT_BYTES, Cut::Known));
    Outcome { result, ..outcome }
}

#[cfg(test)]
mod tests {
    use rouse_core::approval::HookNo;
    use serde_json::json;

    use super::*;

    #[test]
    fn results_read_well() {
        assert_eq!(in_words(&json!("Hello.")), "Hello.");
        assert_eq!(
            in_words(&json!({"status": 200, "body": "ok", "note": null})),
            "status: 200\nbody: ok\nnote: nothing"
        );
        assert_eq!(in_words(&json!(["a", {"b": 1}])), "a\n{\"b\":1}");
        assert_eq!(shortened("  "), "Done.");
        assert_eq!(shortened(&"é".repeat(3_000)).chars().count(), SUMMARY + 2);
    }

    fn fate(output: ToolOutput, reached_tool: bool, is_repeatable: bool) -> Outcome {
        let (told, refusal) = (output.clone(), (!reached_tool).then_some(Refusal::NotListed));
        fate_of(Called { step: 1, output, told, reached_tool, is_repeatable, refusal })
    }

    #[test]
    fn what_a_server_refuses_is_told_in_words_and_by_its_status() {
        let output = ToolOutput {
            fault: Some(Fault::Refused),
            ..ToolOutput::ok(json!({ "status": 401, "body": "No." }))
        };
        let plain = fate(output.clone(), true, true);
        assert_eq!(plain.error.as_deref(), Some("status: 401\nbody: No."));
        let told = fate(output.in_words("The server answered 401 (Unauthorized): No."), true, true);
        assert_eq!(told.error.as_deref(), Some("The server answered 401 (Unauthorized): No."));
        assert_eq!(told.error_for_log.as_deref(), Some("It was answered with 401"));
    }

    #[test]
    fn a_call_that_changes_something_is_made_again_where_that_doubles_nothing() {
        let exited = |code: Option<i64>| {
            let mut output = ToolOutput::faulty(Fault::Execution, "Ended.");
            output.value = json!({ "error": "Ended.", "exitCode": code });
            fate(output, true, false).may_pass
        };
        assert!(exited(Some(1)) && exited(Some(255)));
        assert!(!exited(Some(126)) && !exited(Some(127)), "there is no such command");
        assert!(!exited(None), "a signal has ended it");
        let after = |fault| fate(ToolOutput::faulty(fault, "No."), true, false).may_pass;
        assert!(after(Fault::Unreached));
        for fault in [Fault::Execution, Fault::Timeout, Fault::ExternalService, Fault::Refused] {
            assert!(!after(fault), "it may have been done: {fault:?}");
        }
    }

    #[test]
    fn the_log_tells_a_refusal_of_the_gate_from_one_of_the_tool_and_of_which_kind_it_was() {
        let output = || ToolOutput::faulty(Fault::NotAuthorised, "The secret words.");
        let said = |refusal: Option<Refusal>| {
            let (told, reached_tool, is_repeatable) = (output(), refusal.is_none(), true);
            let called =
                Called { step: 1, output: output(), told, reached_tool, is_repeatable, refusal };
            fate_of(called).error_for_log
        };
        assert_eq!(said(None).as_deref(), Some("The call was not allowed"));
        let hook = Refusal::Hook { hook: "guard".to_owned(), how: HookNo::SaidNo };
        assert_eq!(said(Some(hook)).as_deref(), Some("A hook stood against the call"));
        let leak = Refusal::Leak { found: vec!["secret:mail".to_owned()] };
        assert_eq!(said(Some(leak)).as_deref(), Some("The call would have carried a secret away"));
    }

    #[test]
    fn what_would_fail_again_is_not_tried_again() {
        let after = |fault, reached_tool| {
            fate(ToolOutput::faulty(fault, "It did not work."), reached_tool, true)
        };
        for fault in [Fault::Execution, Fault::Timeout, Fault::ExternalService] {
            assert!(after(fault, true).may_pass, "{fault:?}");
            assert!(!after(fault, false).may_pass, "refused: {fault:?}");
        }
        for fault in
            [Fault::InvalidParameters, Fault::NotAuthorised, Fault::Refused, Fault::Sandbox]
        {
            assert!(!after(fault, true).may_pass, "{fault:?}");
        }
    }

    #[test]
    fn a_change_far_inside_a_large_result_is_still_a_change() {
        let keep = |result: Value| {
            kept(Outcome { result: Some(result), ..Outcome::succeeded("Done.") }).result
        };
        let half = "x".repeat(50_000);
        let large = |letter: &str| keep(format!("{half}{letter}{half}").into());
        assert_eq!(large("a"), large("a"));
        assert_ne!(large("a"), large("b"));
        assert!(large("a").expect("a result").to_string().len() <= RESULT_BYTES);
        assert_eq!(keep(json!({"a": 1})), Some(json!({"a": 1})));
    }
}
