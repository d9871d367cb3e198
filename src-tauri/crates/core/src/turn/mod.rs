//! The agent's turn logic: a pure state machine that returns what to do next.
//!
//! context → model → tool calls → results → … → `complete_run`. The driver in `agent` carries the steps out and comes
//! back with what happened. Here live the rules about how a run may end: never "succeeded" after doing nothing, after
//! an answer that was cut off, or with a question that nobody is there to answer.

mod progress;
mod question;
mod reply_text;
pub mod window;
mod written_call;

#[cfg(test)]
mod tests;

use crate::RunState;
use crate::attachment::bound_attachments;
use crate::message::{Message, ModelAnswer, Part, StopReason, ToolCallRequest};
use crate::run::{Outcome, Usage};
use crate::tool::{Completion, ToolEffect, ToolOutput};
use crate::words::grouped;
use progress::{Progress, Ruling, Told};
use question::ends_in_question;
pub use reply_text::{REASONING_TAGS, answer_in};
use reply_text::{Sentinel, plain_words, sentinel_in};
use written_call::is_written_call;

/// Limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Most model turns that may call tools. When they are used up without an outcome, one more is left to say what came
    /// of them: with 1, no call builds on what another has answered.
    pub max_steps: u32,
    /// Whether the person is there: what ends in a question is an answer then.
    pub is_attended: bool,
}

/// What the driver does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Send the messages to the model.
    AskModel,
    /// Call these tools, in order, and come back with every result.
    CallTools(Vec<ToolCallRequest>),
    /// The run is over.
    Finish(Box<Outcome>),
}

/// One run's conversation in progress.
#[derive(Debug, Clone)]
pub struct Turn {
    messages: Vec<Message>,
    /// Where what this run has said begins.
    own_from: usize,
    limits: TurnLimits,
    /// The names of the offered tools.
    tools: Vec<String>,
    steps: u32,
    usage: Usage,
    model: Option<String>,
    /// What the newest answer came to when the token limit cut it off.
    cut_at: Option<u64>,
    /// The last turn, and whether it was answered.
    closing: Option<Closing>,
    progress: Progress,
}

/// The turn after the last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// It is asked for.
    Asked,
    /// The model has had it.
    Answered,
}

/// Said once to a model that ends an unattended run without an outcome.
const REMINDER: &str = include_str!("reminder.md");

/// Said once to a model whose reply holds a sentinel beside other text.
const CHOOSE: &str = include_str!("choose.md");

/// Said once to a model that writes a tool call as text.
const WRITTEN_CALL: &str = include_str!("written_call.md");

/// Said when the steps are used up.
const LAST: &str = include_str!("last.md");

/// Told of a call in the last turn.
const TOO_LATE: &str = "Not carried out: the steps of this run are used up.";

/// The most calls of one answer that are carried out. The steps of a run bound its answers and not what is in one, and more
/// calls than this that were all made without a look at any result are a model that runs away.
pub const MOST_CALLS: usize = 20;

/// The one tool of the last turn.
pub const COMPLETE_RUN: &str = "complete_run";

impl Turn {
    /// Starts with the messages that are already there: transcript, context and task. `tools` are the names of the offered
    /// tools.
    #[must_use]
    pub fn new(messages: Vec<Message>, limits: TurnLimits, tools: Vec<String>) -> Self {
        let usage = Usage::NONE;
        let progress = Progress::default();
        let (own_from, model, cut_at, closing) = (messages.len(), None, None, None);
        let steps = 0;
        Self { messages, own_from, limits, tools, steps, usage, model, cut_at, closing, progress }
    }

    /// Goes on after a break with what the run had `said` by then, its task first, after `history`.
    #[must_use]
    pub fn resumed(
        mut history: Vec<Message>,
        mut said: Vec<Message>,
        limits: TurnLimits,
        tools: Vec<String>,
    ) -> (Self, Next) {
        let asked = said.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
        let pending = asked.map_or_else(Vec::new, |asked| still_to_do(&mut said, asked));
        let words = match said.last() {
            Some(Message::Assistant { parts }) if pending.is_empty() => Some(text_of(parts)),
            _ => None,
        };
        let is_step = |message: &&Message| matches!(message, Message::Assistant { .. });
        let steps = u32::try_from(said.iter().filter(is_step).count()).unwrap_or(u32::MAX);
        let closing = closing_of(&said);
        let progress = Progress::of(&said);
        let own_from = history.len();
        history.append(&mut said);
        let begun = Self::new(history, limits, tools);
        let mut turn = Self { own_from, steps, closing, progress, ..begun };
        let next = match words {
            _ if !pending.is_empty() => Next::CallTools(pending),
            Some(words) => turn.ended_in_words(&words),
            None => turn.ask_again(),
        };
        (turn, next)
    }

    /// Everything said so far.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Whether the steps are used up, and only [`COMPLETE_RUN`] is called any more.
    #[must_use]
    pub const fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// What the run has cost so far.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// Counts what was spent beside its own answers.
    pub fn spend(&mut self, usage: Usage) {
        self.usage = self.usage.plus(usage);
    }

    /// What a model said last in words in this run.
    #[must_use]
    pub fn last_words(&self) -> Option<String> {
        let said =
            self.messages[self.own_from..].iter().rev().filter_map(|message| match message {
                Message::Assistant { parts } => Some(text_of(parts)),
                _ => None,
            });
        said.map(|text| text.trim().to_owned()).find(|text| !text.is_empty())
    }

    /// The model that answered last.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The model answered.
    #[must_use]
    pub fn answered(&mut self, answer: ModelAnswer) -> Next {
        self.steps += 1;
        self.usage = self.usage.plus(answer.usage);
        self.model = Some(answer.model.clone());
        let calls: Vec<ToolCallRequest> = answer.calls().cloned().collect();
        let text = answer.text();
        let stop = answer.stop;
        self.messages.push(Message::Assistant { parts: answer.parts });
        self.closing = self.closing.map(|_| Closing::Answered);
        self.cut_at = (stop == StopReason::Length).then_some(answer.usage.output_tokens);
        if stop == StopReason::Refusal {
            return self.refused(text.trim());
        }
        if !calls.is_empty() {
            return self.asks_for(calls);
        }
        if let Some(cut) = self.cut_words() {
            return self.fail(&format!("The model's {cut}."));
        }
        self.ended_in_words(&text)
    }

    fn refused(&self, words: &str) -> Next {
        let what = "The model refused to answer";
        match words {
            "" => self.fail(&format!("{what}.")),
            words => self.fail_in_its_words(format!("{what}: {words}"), what),
        }
    }

    /// That the newest answer was cut off, and where.
    fn cut_words(&self) -> Option<String> {
        Some(match self.cut_at? {
            0 => "answer was cut at its token limit".to_owned(),
            tokens => format!("answer was cut at {} tokens", grouped(tokens)),
        })
    }

    /// An answer as far as it is kept: of a model that runs away, with the first call that is not carried out and none
    /// behind it, so that nobody has to look at thousands. What only a provider can read goes with the call behind it.
    #[must_use]
    pub fn as_kept(&self, answer: ModelAnswer) -> ModelAnswer {
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

    /// In the last turn nothing is called but what ends the run, and in none more than so much; no call stays without a
    /// result.
    fn asks_for(&mut self, calls: Vec<ToolCallRequest>) -> Next {
        let is_closing = self.is_closing();
        let (mut calls, late): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| !is_closing || call.tool == COMPLETE_RUN);
        let beyond = calls.split_off(calls.len().min(MOST_CALLS));
        let too_many = format!(
            "Not carried out, and nothing that was asked for behind it: at most {MOST_CALLS} calls of one answer are. Look at what those have answered, and make the others again that are still needed."
        );
        let late = late.into_iter().map(|call| (call, TOO_LATE.to_owned()));
        let beyond = beyond.into_iter().map(|call| (call, too_many.clone()));
        let cut = self.split_off_cut(&mut calls);
        for (ToolCallRequest { id: call_id, tool, .. }, text) in late.chain(beyond).chain(cut) {
            self.messages.push(Message::ToolResult { call_id, tool, text, is_error: true });
        }
        match calls.is_empty() {
            true => self.ask_again(),
            false => Next::CallTools(calls),
        }
    }

    /// Takes the calls out whose arguments the token limit cut off, with what the model is told of them.
    fn split_off_cut(&self, calls: &mut Vec<ToolCallRequest>) -> Vec<(ToolCallRequest, String)> {
        let Some(cut) = self.cut_words() else { return Vec::new() };
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

    /// The tools answered, in the order of the calls.
    #[must_use]
    pub fn called(&mut self, results: Vec<(ToolCallRequest, ToolOutput)>) -> Next {
        let told: Vec<String> = results.iter().map(|(_, output)| output.text()).collect();
        let seen = results.iter().zip(&told).map(|((call, output), text)| Told {
            call,
            text,
            is_error: output.is_error(),
        });
        let ruling = self.progress.after(&seen.collect::<Vec<_>>());
        let (mut completion, mut files) = (None, Vec::new());
        for ((call, output), text) in results.into_iter().zip(told) {
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
            bound_attachments(&mut self.messages);
        }
        match (completion, ruling) {
            (Some((outcome, summary)), _) => self.complete(outcome, summary),
            (None, Ruling::GoOn) => self.ask_again(),
            (None, Ruling::Tell(words)) => {
                self.messages.push(Message::User { text: words.to_owned() });
                self.ask_again()
            }
            (None, Ruling::End(reason)) => self.fail(&reason),
        }
    }

    /// A reply in words: nothing to report, a report, or a mistake that the model is told once.
    fn ended_in_words(&mut self, text: &str) -> Next {
        let text = answer_in(text);
        if is_written_call(text, &self.tools) {
            let failure = "The model wrote a tool call as text instead of calling the tool. Choose a model that supports tools.";
            return self.nudge(WRITTEN_CALL).unwrap_or_else(|| self.fail(failure));
        }
        match sentinel_in(text) {
            Sentinel::Alone => match self.unchosen_report() {
                Some(report) => self.report(&report),
                None => self.finish(RunState::NothingToReport, None, None),
            },
            Sentinel::Beside(rest) if !self.limits.is_attended => {
                self.nudge(CHOOSE).unwrap_or_else(|| self.report(&rest))
            }
            Sentinel::Beside(_) | Sentinel::Absent => self.report(text),
        }
    }

    /// The report that stood beside a sentinel when the model was asked to choose. A bare sentinel withdraws no report: only
    /// `complete_run` does.
    fn unchosen_report(&self) -> Option<String> {
        let own = &self.messages[self.own_from..];
        let is_choice =
            |message: &Message| matches!(message, Message::User { text } if text == CHOOSE.trim());
        let asked = own.iter().position(is_choice)?;
        match own[..asked].last()? {
            Message::Assistant { parts } => match sentinel_in(answer_in(&text_of(parts))) {
                Sentinel::Beside(report) => Some(report),
                Sentinel::Alone | Sentinel::Absent => None,
            },
            _ => None,
        }
    }

    /// Tells the model something once in a run; none where it was told before, or has its last turn.
    fn nudge(&mut self, words: &'static str) -> Option<Next> {
        let words = words.trim();
        let is_told =
            |message: &Message| matches!(message, Message::User { text } if text == words);
        if self.is_closing() || self.messages[self.own_from..].iter().any(is_told) {
            return None;
        }
        self.messages.push(Message::User { text: words.to_owned() });
        Some(self.ask_again())
    }

    /// Words are a result, unless they are none or ask somebody who is not there: then the model is reminded once of that.
    fn report(&mut self, text: &str) -> Next {
        let text = text.trim();
        let is_attended = self.limits.is_attended;
        if !text.is_empty() && (is_attended || !ends_in_question(text)) {
            return self.finish(RunState::Succeeded, Some(text.to_owned()), None);
        }
        if !is_attended && let Some(next) = self.nudge(REMINDER) {
            return next;
        }
        if text.is_empty() {
            self.fail("The model ended without an answer.")
        } else {
            let what = "The model ended with a question that nobody was there to answer";
            self.fail_in_its_words(format!("{what}: {text}"), what)
        }
    }

    fn complete(&mut self, outcome: Completion, summary: String) -> Next {
        match outcome {
            Completion::Report => self.chose_report(&summary),
            Completion::NothingToReport => {
                let summary = Some(plain_words(&summary)).filter(|summary| !summary.is_empty());
                self.finish(RunState::NothingToReport, summary, None)
            }
            Completion::Failed => {
                let what = "The model reported a failure";
                match plain_words(&summary) {
                    words if words.is_empty() => self.fail(&format!("{what}.")),
                    words => self.fail_in_its_words(words, what),
                }
            }
        }
    }

    /// The model has chosen already, so a sentinel beside its report is only removed.
    fn chose_report(&mut self, summary: &str) -> Next {
        match plain_words(summary) {
            words if words.is_empty() && !answer_in(summary).trim().is_empty() => {
                self.finish(RunState::NothingToReport, None, None)
            }
            words => self.report(&words),
        }
    }

    fn ask_again(&mut self) -> Next {
        match self.closing {
            None if self.steps < self.limits.max_steps => {}
            None => {
                self.closing = Some(Closing::Asked);
                self.messages.push(Message::User { text: LAST.trim().to_owned() });
            }
            Some(Closing::Asked) => {}
            Some(Closing::Answered) => {
                let steps = self.limits.max_steps;
                let steps = if steps == 1 {
                    "its one step".to_owned()
                } else {
                    format!("its {steps} steps")
                };
                let cut = self.cut_words();
                let cut = cut.map_or_else(String::new, |cut| format!(" Its last {cut}."));
                return self.fail(&format!(
                    "Stopped because {steps} (maxSteps) had been used and it did not say what came of them.{cut}"
                ));
            }
        }
        Next::AskModel
    }

    fn fail(&self, error: &str) -> Next {
        self.finish(RunState::Failed, None, Some(error.to_owned()))
    }

    /// A failure in the model's own words, of which the log says only what kind it is.
    fn fail_in_its_words(&self, error: String, kind: &str) -> Next {
        let outcome = self.outcome(RunState::Failed, None, Some(error));
        Next::Finish(Box::new(Outcome { error_for_log: Some(kind.to_owned()), ..outcome }))
    }

    fn finish(&self, state: RunState, summary: Option<String>, error: Option<String>) -> Next {
        Next::Finish(Box::new(self.outcome(state, summary, error)))
    }

    fn outcome(&self, state: RunState, summary: Option<String>, error: Option<String>) -> Outcome {
        let usage = self.usage;
        let model = self.model.clone();
        Outcome { summary, error, usage, model, ..Outcome::of(state) }
    }
}

/// The calls of the message at `asked` that have no result yet. One that ended the run has to end it again: its result
/// says nothing of how.
fn still_to_do(said: &mut Vec<Message>, asked: usize) -> Vec<ToolCallRequest> {
    let Message::Assistant { parts } = &said[asked] else { return Vec::new() };
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.clone()),
        _ => None,
    });
    let calls: Vec<ToolCallRequest> = calls.collect();
    let mut results = said.split_off(asked + 1);
    let ends = |result: &Message| matches!(result, Message::ToolResult { tool, is_error: false, .. } if tool == COMPLETE_RUN);
    results.retain(|result| !ends(result));
    let has_result = |call: &ToolCallRequest| {
        results.iter().any(
            |result| matches!(result, Message::ToolResult { call_id, .. } if *call_id == call.id),
        )
    };
    let pending = calls.into_iter().filter(|call| !has_result(call)).collect();
    said.append(&mut results);
    pending
}

fn text_of(parts: &[Part]) -> String {
    let text = |part: &Part| match part {
        Part::Text { text } => Some(text.clone()),
        _ => None,
    };
    parts.iter().filter_map(text).collect()
}

/// How far a run that had said this is with its last turn.
fn closing_of(said: &[Message]) -> Option<Closing> {
    let is_told =
        |message: &Message| matches!(message, Message::User { text } if text == LAST.trim());
    let told = said.iter().rposition(is_told)?;
    let is_answered =
        said[told..].iter().any(|message| matches!(message, Message::Assistant { .. }));
    Some(if is_answered { Closing::Answered } else { Closing::Asked })
}
