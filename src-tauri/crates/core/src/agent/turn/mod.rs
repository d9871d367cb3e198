//! The turn machine of an agent run: a pure state machine that returns the next step.
//!
//! Owns the rules that end a run: never `succeeded` without an answer, after a truncated answer, or with an open question.
//! The driver in `agent` calls the model and the tools and reports back: context → model → tool calls → results → … →
//! `complete_run`.

mod progress;
mod reply_text;
mod transcript;
pub mod window;
mod written_call;

#[cfg(test)]
mod tests;

use crate::RunState;
use crate::attachment::drop_oldest_attachments;
use crate::message::{Message, ModelAnswer, Part, StopReason, ToolCallRequest};
use crate::run::{Outcome, Usage};
use crate::text::group_thousands;
use crate::tool::{Completion, ToolEffect, ToolOutput};
use progress::{Progress, ProgressVerdict, ToolCallResult};
pub use reply_text::{REASONING_TAGS, answer_in};
use reply_text::{Sentinel, ends_with_question_mark, plain_words, sentinel_in};
use transcript::{closing_of, pending_calls, text_of};
use written_call::is_written_call;

/// Limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// The maximum model turns with tool calls. A closing turn follows, to report the outcome.
    pub max_steps: u32,
    /// Whether a person waits for the answer, so that a question may end the run.
    pub is_attended: bool,
}

/// The driver's next step.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnStep {
    /// Call the model with the messages.
    CallModel,
    /// Call these tools in order and report every result.
    CallTools(Vec<ToolCallRequest>),
    /// End the run.
    Finish(Box<Outcome>),
}

/// The conversation of a run in progress.
#[derive(Debug, Clone)]
pub struct Turn {
    messages: Vec<Message>,
    /// The index of the first message of this run.
    run_start: usize,
    limits: TurnLimits,
    /// The names of the offered tools.
    tools: Vec<String>,
    steps: u32,
    usage: Usage,
    model: Option<String>,
    /// The tokens of the newest answer, if the token limit cut it off.
    truncated_at: Option<u64>,
    /// The closing turn, once the steps are used up.
    closing: Option<Closing>,
    progress: Progress,
}

/// The state of the closing turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// Requested.
    Requested,
    /// Answered.
    Answered,
}

/// Reminds the model of `complete_run`, once per run.
const REMINDER: &str = include_str!("reminder.md");

/// Asks for a choice between report and sentinel, once per run.
const AMBIGUOUS_SENTINEL: &str = include_str!("ambiguous_sentinel.md");

/// Asks for a real tool call, once per run.
const WRITTEN_CALL: &str = include_str!("written_call.md");

/// Announces the closing turn.
const LAST_TURN: &str = include_str!("last_turn.md");

/// The result of a call in the closing turn.
const TOO_LATE: &str = "Not carried out: the steps of this run are used up.";

/// The maximum calls of an answer. Steps bound the answers of a run, not the calls of an answer; more calls without a
/// look at any result mean a runaway model.
pub const MOST_CALLS: usize = 20;

/// The only tool of the closing turn.
pub const COMPLETE_RUN: &str = "complete_run";

/// The outcome of an unattended run whose report nobody can correct. `author` begins the error.
#[must_use]
pub fn outcome_of_report(author: &str, text: &str) -> Outcome {
    let text = match sentinel_in(answer_in(text)) {
        Sentinel::Alone => return Outcome::of(RunState::NothingToReport),
        Sentinel::Beside(rest) => rest,
        Sentinel::Absent => answer_in(text).to_owned(),
    };
    let text = text.trim();
    if text.is_empty() {
        return Outcome::failed(format!("{author} ended without a report."));
    }
    if ends_with_question_mark(text) {
        let what = format!("{author} ended with a question, but the run is unattended");
        return Outcome {
            error_for_log: Some(what.clone()),
            ..Outcome::failed(format!("{what}: {text}"))
        };
    }
    Outcome::succeeded(text)
}

impl Turn {
    /// Starts with the given messages: transcript, context and task. `tools` are the names of the offered tools.
    #[must_use]
    pub fn new(messages: Vec<Message>, limits: TurnLimits, tools: Vec<String>) -> Self {
        let usage = Usage::NONE;
        let progress = Progress::default();
        let (run_start, model, truncated_at, closing) = (messages.len(), None, None, None);
        let steps = 0;
        Self {
            messages,
            run_start,
            limits,
            tools,
            steps,
            usage,
            model,
            truncated_at,
            closing,
            progress,
        }
    }

    /// Resumes after a restart: `history` of the session, then the messages of `run`, starting with the task.
    #[must_use]
    pub fn resume(
        mut history: Vec<Message>,
        mut run: Vec<Message>,
        limits: TurnLimits,
        tools: Vec<String>,
    ) -> (Self, TurnStep) {
        let newest = run.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
        let pending = newest.map_or_else(Vec::new, |index| pending_calls(&mut run, index));
        let text = match run.last() {
            Some(Message::Assistant { parts }) if pending.is_empty() => Some(text_of(parts)),
            _ => None,
        };
        let is_step = |message: &&Message| matches!(message, Message::Assistant { .. });
        let steps = u32::try_from(run.iter().filter(is_step).count()).unwrap_or(u32::MAX);
        let closing = closing_of(&run);
        let progress = Progress::of(&run);
        let run_start = history.len();
        history.append(&mut run);
        let fresh = Self::new(history, limits, tools);
        let mut turn = Self { run_start, steps, closing, progress, ..fresh };
        let next = match text {
            _ if !pending.is_empty() => TurnStep::CallTools(pending),
            Some(text) => turn.end_with_text(&text),
            None => turn.call_model(),
        };
        (turn, next)
    }

    /// All messages.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Whether the closing turn is reached, in which only [`COMPLETE_RUN`] may be called.
    #[must_use]
    pub const fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Tokens and cost so far.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// Adds usage beside the run's own answers.
    pub fn add_usage(&mut self, usage: Usage) {
        self.usage = self.usage.plus(usage);
    }

    /// The newest non-empty text of the model in this run.
    #[must_use]
    pub fn last_words(&self) -> Option<String> {
        let texts =
            self.messages[self.run_start..].iter().rev().filter_map(|message| match message {
                Message::Assistant { parts } => Some(text_of(parts)),
                _ => None,
            });
        texts.map(|text| text.trim().to_owned()).find(|text| !text.is_empty())
    }

    /// The model of the newest answer.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Takes an answer of the model.
    #[must_use]
    pub fn take_answer(&mut self, answer: ModelAnswer) -> TurnStep {
        self.steps += 1;
        self.usage = self.usage.plus(answer.usage);
        self.model = Some(answer.model.clone());
        let calls: Vec<ToolCallRequest> = answer.calls().cloned().collect();
        let text = answer.text();
        let stop = answer.stop;
        self.messages.push(Message::Assistant { parts: answer.parts });
        self.closing = self.closing.map(|_| Closing::Answered);
        self.truncated_at = (stop == StopReason::Length).then_some(answer.usage.output_tokens);
        if stop == StopReason::Refusal {
            return self.fail_refused(text.trim());
        }
        if !calls.is_empty() {
            return self.call_tools(calls);
        }
        if let Some(cut) = self.truncation() {
            return self.fail(&format!("The model's {cut}."));
        }
        self.end_with_text(&text)
    }

    fn fail_refused(&self, words: &str) -> TurnStep {
        let what = "The model refused to answer";
        match words {
            "" => self.fail(&format!("{what}.")),
            words => self.fail_with_model_text(format!("{what}: {words}"), what),
        }
    }

    /// The truncation of the newest answer; none when complete.
    fn truncation(&self) -> Option<String> {
        Some(match self.truncated_at? {
            0 => "answer was cut at its token limit".to_owned(),
            tokens => format!("answer was cut at {} tokens", group_thousands(tokens)),
        })
    }

    /// Drops the excess calls of an answer: all calls after [`MOST_CALLS`], with their opaque blocks. In the closing
    /// turn the first `complete_run` always stays.
    #[must_use]
    pub fn drop_excess_calls(&self, answer: ModelAnswer) -> ModelAnswer {
        let ends = |call: &ToolCallRequest| self.is_closing() && call.tool == COMPLETE_RUN;
        let (mut calls, mut has_end) = (0, false);
        let mut parts: Vec<Part> = Vec::new();
        for part in answer.parts {
            if let Part::ToolCall(call) = &part {
                calls += 1;
                if calls > MOST_CALLS + 1 && (has_end || !ends(call)) {
                    while parts.pop_if(|part| matches!(part, Part::Opaque { .. })).is_some() {}
                    continue;
                }
                has_end |= ends(call);
            }
            parts.push(part);
        }
        ModelAnswer { parts, ..answer }
    }

    /// Splits the calls into calls to make and calls refused with an error result: calls in the closing turn, excess
    /// calls and truncated calls. No call stays without a result.
    fn call_tools(&mut self, calls: Vec<ToolCallRequest>) -> TurnStep {
        let is_closing = self.is_closing();
        let (mut calls, late): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| !is_closing || call.tool == COMPLETE_RUN);
        let beyond = calls.split_off(calls.len().min(MOST_CALLS));
        let too_many = format!(
            "Not carried out, like all later calls of this answer: the limit is {MOST_CALLS} calls per answer. Read the results so far, then repeat the calls that are still needed."
        );
        let late = late.into_iter().map(|call| (call, TOO_LATE.to_owned()));
        let beyond = beyond.into_iter().map(|call| (call, too_many.clone()));
        let cut = self.split_off_truncated(&mut calls);
        for (ToolCallRequest { id: call_id, tool, .. }, text) in late.chain(beyond).chain(cut) {
            self.messages.push(Message::ToolResult { call_id, tool, text, is_error: true });
        }
        if calls.is_empty() { self.call_model() } else { TurnStep::CallTools(calls) }
    }

    /// Removes the calls whose arguments the token limit cut off, each with an error result.
    fn split_off_truncated(
        &self,
        calls: &mut Vec<ToolCallRequest>,
    ) -> Vec<(ToolCallRequest, String)> {
        let Some(cut) = self.truncation() else { return Vec::new() };
        let text = format!(
            "Not carried out: your {cut}, so the arguments of this call are incomplete. Make the call again with less content, or in several parts."
        );
        let (incomplete, whole) = std::mem::take(calls)
            .into_iter()
            .partition(|call: &ToolCallRequest| call.arguments.is_string());
        *calls = whole;
        let incomplete: Vec<ToolCallRequest> = incomplete;
        incomplete.into_iter().map(|call| (call, text.clone())).collect()
    }

    /// Takes the results of the tools, in the order of the calls.
    #[must_use]
    pub fn take_results(&mut self, results: Vec<(ToolCallRequest, ToolOutput)>) -> TurnStep {
        let texts: Vec<String> = results.iter().map(|(_, output)| output.text()).collect();
        let seen = results.iter().zip(&texts).map(|((call, output), text)| ToolCallResult {
            call,
            text,
            is_error: output.is_error(),
        });
        let verdict = self.progress.count_results(&seen.collect::<Vec<_>>());
        let (mut completion, mut files) = (None, Vec::new());
        for ((call, output), text) in results.into_iter().zip(texts) {
            if output.cost_micro_usd.is_some() {
                let cost_micro_usd = output.cost_micro_usd;
                self.usage = self.usage.plus(Usage { cost_micro_usd, ..Usage::default() });
            }
            if let Some(ToolEffect::Complete { outcome, summary }) = &output.effect {
                completion.get_or_insert((*outcome, summary.clone()));
            }
            let is_error = output.is_error();
            files.extend(output.attachments);
            self.messages.push(Message::ToolResult {
                call_id: call.id,
                tool: call.tool,
                text,
                is_error,
            });
        }
        if !files.is_empty() {
            self.messages.push(Message::Attachments { files });
            drop_oldest_attachments(&mut self.messages);
        }
        match (completion, verdict) {
            (Some((outcome, summary)), _) => self.complete(outcome, summary),
            (None, ProgressVerdict::Continue) => self.call_model(),
            (None, ProgressVerdict::Warn(words)) => {
                self.messages.push(Message::User { text: words.to_owned() });
                self.call_model()
            }
            (None, ProgressVerdict::Stop(reason)) => self.fail(&reason),
        }
    }

    /// Ends with a text: a sentinel, a report, or a mistake that the model may correct once.
    fn end_with_text(&mut self, text: &str) -> TurnStep {
        let text = answer_in(text);
        if is_written_call(text, &self.tools) {
            let failure = "The model wrote a tool call as text instead of calling the tool. Choose a model that supports tools.";
            return self.correct_once(WRITTEN_CALL).unwrap_or_else(|| self.fail(failure));
        }
        match sentinel_in(text) {
            Sentinel::Alone => match self.report_before_choice() {
                Some(report) => self.report(&report),
                None => self.finish(RunState::NothingToReport, None, None),
            },
            Sentinel::Beside(rest) if !self.limits.is_attended => {
                self.correct_once(AMBIGUOUS_SENTINEL).unwrap_or_else(|| self.report(&rest))
            }
            Sentinel::Beside(_) | Sentinel::Absent => self.report(text),
        }
    }

    /// The report beside a sentinel, before the model was asked to choose. A bare sentinel afterwards does not withdraw the
    /// report; only `complete_run` does.
    fn report_before_choice(&self) -> Option<String> {
        let own = &self.messages[self.run_start..];
        let is_choice = |message: &Message| matches!(message, Message::User { text } if text == AMBIGUOUS_SENTINEL.trim());
        let choice = own.iter().position(is_choice)?;
        match own[..choice].last()? {
            Message::Assistant { parts } => match sentinel_in(answer_in(&text_of(parts))) {
                Sentinel::Beside(report) => Some(report),
                Sentinel::Alone | Sentinel::Absent => None,
            },
            _ => None,
        }
    }

    /// Sends the model a correction once per run; none after an earlier correction or in the closing turn.
    fn correct_once(&mut self, words: &'static str) -> Option<TurnStep> {
        let words = words.trim();
        let is_sent =
            |message: &Message| matches!(message, Message::User { text } if text == words);
        if self.is_closing() || self.messages[self.run_start..].iter().any(is_sent) {
            return None;
        }
        self.messages.push(Message::User { text: words.to_owned() });
        Some(self.call_model())
    }

    /// Reports a text. An empty text, or in an unattended run a question, is corrected once and then fails.
    fn report(&mut self, text: &str) -> TurnStep {
        let text = text.trim();
        let is_attended = self.limits.is_attended;
        if !text.is_empty() && (is_attended || !ends_with_question_mark(text)) {
            return self.finish(RunState::Succeeded, Some(text.to_owned()), None);
        }
        if !is_attended && let Some(next) = self.correct_once(REMINDER) {
            return next;
        }
        if text.is_empty() {
            self.fail("The model ended without an answer.")
        } else {
            let what = "The model ended with a question, but the run is unattended";
            self.fail_with_model_text(format!("{what}: {text}"), what)
        }
    }

    fn complete(&mut self, outcome: Completion, summary: String) -> TurnStep {
        match outcome {
            Completion::Report => self.complete_with_report(&summary),
            Completion::NothingToReport => {
                let summary = Some(plain_words(&summary)).filter(|summary| !summary.is_empty());
                self.finish(RunState::NothingToReport, summary, None)
            }
            Completion::Failed => {
                let what = "The model reported a failure";
                match plain_words(&summary) {
                    words if words.is_empty() => self.fail(&format!("{what}.")),
                    words => self.fail_with_model_text(words, what),
                }
            }
        }
    }

    /// Reports by `complete_run`: the choice is explicit, so a sentinel beside the report is only removed.
    fn complete_with_report(&mut self, summary: &str) -> TurnStep {
        match plain_words(summary) {
            words if words.is_empty() && !answer_in(summary).trim().is_empty() => {
                self.finish(RunState::NothingToReport, None, None)
            }
            words => self.report(&words),
        }
    }

    fn call_model(&mut self) -> TurnStep {
        match self.closing {
            None if self.steps < self.limits.max_steps => {}
            None => {
                self.closing = Some(Closing::Requested);
                self.messages.push(Message::User { text: LAST_TURN.trim().to_owned() });
            }
            Some(Closing::Requested) => {}
            Some(Closing::Answered) => {
                let steps = self.limits.max_steps;
                let steps = if steps == 1 {
                    "the only step".to_owned()
                } else {
                    format!("all {steps} steps")
                };
                let cut = self.truncation();
                let cut = cut.map_or_else(String::new, |cut| format!(" The last {cut}."));
                return self
                    .fail(&format!("Stopped: {steps} (maxSteps) used without a report.{cut}"));
            }
        }
        TurnStep::CallModel
    }

    fn fail(&self, error: &str) -> TurnStep {
        self.finish(RunState::Failed, None, Some(error.to_owned()))
    }

    /// Fails with the model's own text; the log gets only `kind`.
    fn fail_with_model_text(&self, error: String, kind: &str) -> TurnStep {
        let outcome = self.outcome(RunState::Failed, None, Some(error));
        TurnStep::Finish(Box::new(Outcome { error_for_log: Some(kind.to_owned()), ..outcome }))
    }

    fn finish(&self, state: RunState, summary: Option<String>, error: Option<String>) -> TurnStep {
        TurnStep::Finish(Box::new(self.outcome(state, summary, error)))
    }

    fn outcome(&self, state: RunState, summary: Option<String>, error: Option<String>) -> Outcome {
        let usage = self.usage;
        let model = self.model.clone();
        Outcome { summary, error, usage, model, ..Outcome::of(state) }
    }
}
