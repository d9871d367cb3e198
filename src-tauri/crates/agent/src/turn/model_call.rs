//! The model calls of a run: choice of the model, retries and budget.
//!
//! Owns the retries of a model and the change to the next. A fallback model takes over only before a person has read
//! a part of the answer. The budgets admit each call and each retry, so no call begins without budget. A model without a
//! known price is skipped if a budget is in dollars alone. Pitfall: releasing the reservation before the journal has the
//! cost; the call would be missing from every sum for a moment.

use std::sync::{Mutex, PoisonError};

use rouse_core::budget::BudgetStop;
use rouse_core::message::ModelAnswer;
use rouse_core::model::{Delta, ModelRequest, ProviderError, ProviderErrorKind};
use rouse_core::run::Usage;
use rouse_core::tool::ToolSpec;
use rouse_core::turn::{COMPLETE_RUN, Turn};
use rouse_store::{JournalNote, NewStep, StepEnd, StepKind, USAGE_IF_INTERRUPTED};
use serde_json::{Value, json};

use super::end::TurnEnd;
use super::journal::{FALLBACK_NOTE, Journal};
use super::model_sequence::ModelSequence;
use super::model_step;
use super::output_limit::{CallBudget, LimitCause, is_cut_off, missing_price};
use super::scope::{AnswerEvent, RunScope};
use super::usage::{CallUsage, ReceivedAnswer};
use crate::context::offered_tools::tool_tokens;
use crate::context::prompt::ModelPrompt;
use crate::context::window::RequestWindow;
use crate::gate::hook_check::hook_context;
use crate::hooks::{ToolMetadata, ToolsResolved};
use crate::providers::model_choice::{ChosenModel, RunModels};
use crate::providers::truncated_answer_retry::{pause, pause_before_retry};
use crate::safety::{RedactedCalls, Safety, StreamRedactor};

/// The model calls of a run.
pub(crate) struct ModelCaller<'r> {
    scope: &'r RunScope<'r>,
    prompt: &'r ModelPrompt,
    models: ModelSequence<'r>,
    window: Option<RequestWindow>,
    /// The index of the task among the messages.
    task_index: usize,
    is_attended: bool,
    attempt: u32,
    has_called_model: bool,
    /// The usage of calls without an answer.
    failed_usage: Usage,
    /// The cause of the limit that cut off the newest answer.
    cut_by: Option<LimitCause>,
}

/// An answer, and the ids of the calls that held stored secrets.
pub(crate) struct RedactedAnswer {
    pub(crate) answer: ModelAnswer,
    pub(crate) redacted_calls: RedactedCalls,
}

/// A failed call.
struct CallFailure {
    end: TurnEnd,
    /// Whether a person has read a part of the answer.
    is_read: bool,
}

impl<E: Into<TurnEnd>> From<E> for CallFailure {
    fn from(error: E) -> Self {
        Self { end: error.into(), is_read: false }
    }
}

/// The failure of a model that is given up.
struct ModelFailure {
    error: ProviderError,
    /// The budget that forbids the model.
    stop: Option<BudgetStop>,
    is_read: bool,
}

impl<'r> ModelCaller<'r> {
    pub(crate) fn new(
        scope: &'r RunScope<'r>,
        prompt: &'r ModelPrompt,
        models: &'r RunModels,
        journal: &Journal,
        task_index: usize,
        is_attended: bool,
    ) -> Self {
        let models = ModelSequence::resume(models, journal);
        let mut caller = Self {
            scope,
            prompt,
            models,
            window: None,
            task_index,
            is_attended,
            attempt: journal.attempt(),
            has_called_model: journal.has_called_model(),
            failed_usage: Usage::NONE,
            cut_by: None,
        };
        caller.open_window();
        caller
    }

    /// The name of the current model.
    pub(crate) fn model_name(&self) -> Option<&'r str> {
        self.models.current().map(|model| model.model.as_str())
    }

    pub(crate) const fn failed_usage(&self) -> Usage {
        self.failed_usage
    }

    /// The cause of the limit that cut off the newest answer, if neither the job nor the model sets the limit.
    pub(crate) const fn cut_by(&self) -> Option<&LimitCause> {
        self.cut_by.as_ref()
    }

    /// Why a fallback model is in use.
    pub(crate) fn fallback_reason(&self) -> Option<String> {
        self.models.fallback_reason()
    }

    /// Calls the run's models in order until an answer.
    pub(crate) async fn call(&mut self, turn: &Turn) -> Result<RedactedAnswer, TurnEnd> {
        loop {
            let Some(model) = self.models.current() else {
                return Err(TurnEnd::no_model(self.models.run_models()));
            };
            let failure = match missing_price(&self.scope.account, model) {
                Some(stop) => ModelFailure {
                    error: ProviderError::new(ProviderErrorKind::BadRequest, stop.words.clone()),
                    stop: Some(stop),
                    is_read: false,
                },
                None => match self.call_model(model, turn).await {
                    Ok(answer) => return Ok(answer),
                    Err(CallFailure { end: TurnEnd::Provider(error), is_read })
                        if error.allows_fallback() =>
                    {
                        ModelFailure { error, stop: None, is_read }
                    }
                    Err(failure) => return Err(failure.end),
                },
            };
            self.fall_back(failure).await?;
        }
    }

    /// Changes to the next model, unless there is none or a person has read a part of the answer.
    async fn fall_back(&mut self, failure: ModelFailure) -> Result<(), TurnEnd> {
        let ModelFailure { error, stop, is_read } = failure;
        let Some(next) = self.models.next().filter(|_| !is_read) else {
            return Err(match stop {
                Some(stop) => TurnEnd::Budget(stop),
                None => self.models.exhausted(error),
            });
        };
        if let Some(failed) = self.models.current() {
            self.note_fallback(next, failed, &error).await?;
        }
        self.models.advance(error);
        self.open_window();
        Ok(())
    }

    async fn note_fallback(
        &self,
        next: &ChosenModel,
        failed: &ChosenModel,
        error: &ProviderError,
    ) -> Result<(), TurnEnd> {
        let title = |it: &ChosenModel| format!("{} ({})", it.model, it.provider.name());
        let words = format!("{} replaces {}: {error}", title(next), title(failed));
        let (model, instead_of) = (next.model.as_str(), failed.model.as_str());
        tracing::info!(model, instead_of, error = error.for_log(), "a run falls back");
        let note = JournalNote {
            run_id: self.scope.run_id(),
            name: FALLBACK_NOTE,
            input: json!({
                "model": model,
                "insteadOf": instead_of,
                "error": error.message,
                "kind": error.kind,
            }),
            output: Some(Value::String(words)),
            is_error: false,
        };
        Ok(self.scope.store().add_note(note, self.scope.now()).await?)
    }

    fn open_window(&mut self) {
        self.window = self.models.current().map(|model| {
            let context = model.provider.context_tokens(&model.model);
            RequestWindow::new(self.task_index, context, self.prompt)
        });
    }

    /// Calls a model. Retries an answer that broke off, unless a person has read a part, and halves the context window
    /// after an overlong request.
    async fn call_model(
        &mut self,
        model: &ChosenModel,
        turn: &Turn,
    ) -> Result<RedactedAnswer, CallFailure> {
        let mut calls = 0;
        loop {
            calls += 1;
            let failure = match self.call_once(model, turn).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let TurnEnd::Provider(error) = &failure.end else { return Err(failure) };
            if error.kind == ProviderErrorKind::Overlong && self.halve_window(turn) {
                tracing::info!(error = error.for_log(), "sending less of the conversation");
                calls -= 1;
                continue;
            }
            let Some(wait) = pause_before_retry(calls, error, failure.is_read) else {
                return Err(failure);
            };
            tracing::info!(calls, ?wait, error = error.for_log(), "calling the model again");
            if self.scope.cancel.run_until_cancelled(pause(wait)).await.is_none() {
                return Err(CallFailure { end: TurnEnd::Cancelled, is_read: failure.is_read });
            }
        }
    }

    fn halve_window(&mut self, turn: &Turn) -> bool {
        let found_tokens: usize = self.found_tools(turn).into_iter().map(tool_tokens).sum();
        self.window.as_mut().is_some_and(|window| window.halve(turn, found_tokens))
    }

    /// A call within the budgets, journalled from beginning to end.
    async fn call_once(
        &mut self,
        model: &ChosenModel,
        turn: &Turn,
    ) -> Result<RedactedAnswer, CallFailure> {
        let scope = self.scope;
        let request = self.request(model, turn);
        let budget = CallBudget::new(&scope.account, model, &request);
        let (reservation, remaining) =
            scope.account.admit(budget.reservation(), scope.cancel).await?;
        let limit = budget.output_limit(&remaining);
        let request = ModelRequest { max_tokens: limit.max_tokens, ..request };
        let step = self.new_step(model, &request, &budget);
        let seq = scope.store().begin_step(&step, scope.now()).await?;
        self.report_tools(model);
        let began = scope.runtime.clock.monotonic();
        let received = ReceivedAnswer::default();
        let answer = self.stream(model, request, &received).await;
        let (answer, usage) = budget.settle(answer, &received);
        let is_read = self.is_attended && received.has_begun();
        self.record(&answer, limit.cause, usage);
        let answer = match answer {
            Ok(answer) => Ok(self.redact(turn, answer).await),
            Err(end) => Err(CallFailure { end: truncated_if_read(is_read, end), is_read }),
        };
        let took = scope.runtime.clock.monotonic().saturating_sub(began).as_millis();
        let end = self.step_end(&answer, received, usage).await;
        let end = StepEnd { duration_ms: i64::try_from(took).ok(), ..end };
        scope.store().end_step(scope.run_id(), seq, &end, scope.now()).await?;
        drop(reservation);
        answer
    }

    fn request(&mut self, model: &ChosenModel, turn: &Turn) -> ModelRequest {
        let found_tokens: usize = self.found_tools(turn).into_iter().map(tool_tokens).sum();
        let messages = self.window.as_mut().map(|window| window.messages(turn, found_tokens));
        ModelRequest {
            model: model.model.clone(),
            system: self.prompt.system.clone(),
            messages: messages.unwrap_or_default(),
            tools: self.tools_in(turn),
            max_tokens: self.prompt.max_tokens,
            effort: self.prompt.effort,
        }
    }

    /// The closing turn offers `complete_run` alone. Without that tool it offers all tools: some providers refuse a
    /// conversation with calls and without tools.
    fn tools_in(&self, turn: &Turn) -> Vec<ToolSpec> {
        let tools = self.prompt.tools.fixed();
        match tools.iter().find(|tool| tool.name == COMPLETE_RUN) {
            Some(complete_run) if turn.is_closing() => vec![complete_run.clone()],
            _ => tools.iter().chain(self.found_tools(turn)).cloned().collect(),
        }
    }

    /// The tools that the searches of this run have found.
    fn found_tools(&self, turn: &Turn) -> Vec<&'r ToolSpec> {
        let messages = turn.messages().get(self.task_index..).unwrap_or_default();
        self.prompt.tools.found(messages)
    }

    fn new_step(
        &self,
        model: &ChosenModel,
        request: &ModelRequest,
        budget: &CallBudget<'_>,
    ) -> NewStep {
        let is_shortened = self.window.as_ref().is_some_and(RequestWindow::is_shortened);
        NewStep {
            gate: None,
            call_id: None,
            run_id: self.scope.run_id().clone(),
            kind: StepKind::ModelTurn,
            name: model.model.clone(),
            repeatable: true,
            input: json!({
                "provider": model.provider.name(),
                "messages": request.messages.len(),
                "shortened": is_shortened,
                "attempt": self.attempt,
                USAGE_IF_INTERRUPTED: budget.usage_if_interrupted(),
            }),
        }
    }

    /// Reports the offered tools to the hooks, once per attempt and without waiting. A run that resumes from an approval
    /// is the same attempt; a retry after a failure is another attempt.
    fn report_tools(&mut self, model: &ChosenModel) {
        if std::mem::replace(&mut self.has_called_model, true) {
            return;
        }
        self.scope.gate().hooks().after_tools_resolved(ToolsResolved {
            tools: ToolMetadata::of_all(self.prompt.tools.all()),
            provider: model.provider.name().to_owned(),
            model: model.model.clone(),
            context: hook_context(self.scope.tool_context),
        });
    }

    /// Streams the answer to the observer, redacted.
    async fn stream(
        &self,
        model: &ChosenModel,
        request: ModelRequest,
        received: &ReceivedAnswer,
    ) -> Result<ModelAnswer, TurnEnd> {
        let redactor = Mutex::new(StreamRedactor::new(self.scope.safety()));
        let notify = |event: AnswerEvent<'_>| {
            (self.scope.runtime.observer)(self.scope.run_id(), event);
        };
        let show = |delta: &Delta| {
            received.add_shown(delta);
            notify(AnswerEvent::Delta(delta));
        };
        let on_delta = |delta: Delta| {
            received.add(&delta);
            let shown = redactor.lock().unwrap_or_else(PoisonError::into_inner).push(delta);
            shown.iter().for_each(show);
        };
        let streaming = model.provider.stream(request, &on_delta);
        let answer = match self.scope.cancel.run_until_cancelled(streaming).await {
            None => Err(TurnEnd::Cancelled),
            Some(answer) => answer.map_err(TurnEnd::Provider),
        };
        if answer.is_err() {
            notify(AnswerEvent::Discarded);
            return answer;
        }
        let rest = redactor.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        rest.iter().for_each(show);
        notify(AnswerEvent::Complete);
        answer
    }

    fn record(
        &mut self,
        answer: &Result<ModelAnswer, TurnEnd>,
        limit_cause: Option<LimitCause>,
        usage: CallUsage,
    ) {
        if answer.is_err() {
            self.failed_usage = self.failed_usage.plus(usage.usage);
        }
        self.cut_by = limit_cause.filter(|_| answer.as_ref().is_ok_and(is_cut_off));
    }

    async fn redact(&self, turn: &Turn, answer: ModelAnswer) -> RedactedAnswer {
        let answer = turn.drop_excess_calls(answer);
        let redact = move |safety: &Safety| safety.redact_answer(answer);
        let (answer, redacted_calls) = self.scope.safety().off_thread(redact).await;
        RedactedAnswer { answer, redacted_calls }
    }

    async fn step_end(
        &self,
        answer: &Result<RedactedAnswer, CallFailure>,
        received: ReceivedAnswer,
        usage: CallUsage,
    ) -> StepEnd {
        match answer {
            Ok(RedactedAnswer { answer, redacted_calls }) => {
                model_step::answered(self.scope.gate(), answer, redacted_calls, usage)
            }
            Err(failure) => {
                let safety = self.scope.safety();
                let shown_text = match received.into_shown_text() {
                    Some(text) => {
                        Some(safety.off_thread(move |safety| safety.redact_stored(&text)).await)
                    }
                    None => None,
                };
                model_step::failed(&failure.end, shown_text, usage)
            }
        }
    }
}

/// An outage after a person has read a part of the answer counts as a truncated answer, because no wait can continue
/// the answer.
fn truncated_if_read(is_read: bool, end: TurnEnd) -> TurnEnd {
    match end {
        TurnEnd::Provider(error) if is_read && error.is_outage() => {
            TurnEnd::Provider(ProviderError { kind: ProviderErrorKind::Truncated, ..error })
        }
        end => end,
    }
}
