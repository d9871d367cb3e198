//! Asking a model: which of a run's models, how often, and whether a budget lets the call begin.
//!
//! Owns the order of the models. The first is asked until asking again is no use; then the next, before a person has
//! read a part of the answer, and a run that has gone on to another model stays with it, over a question too: the first
//! would only fail it again, step by step.
//! Before each call stands the run's account, before one that is made again too, so that no call begins on a budget that
//! is used up or has too little left for it. A model whose price nobody knows is passed over where a budget is in dollars
//! alone. One could get it wrong by giving the seat back before the journal has the cost: for a moment the call would be in
//! no sum.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rouse_core::message::{ModelAnswer, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ModelRequest, ProviderError, ProviderErrorKind};
use rouse_core::money::BudgetStop;
use rouse_core::run::Usage;
use rouse_core::tool::ToolSpec;
use rouse_core::turn::{COMPLETE_RUN, Turn};
use rouse_store::{IF_CUT_OFF, NewStep, Note, RunStep, StepEnd, StepKind, StepStatus};
use serde_json::{Value, json};

use super::Heard;
use super::answer_room::BoundBy;
use super::bound::Sent;
use super::conversation::{Conversation, End};
use super::resume::{FELL_BACK, HELD_SECRETS, Journal};
use super::used::{Question, Received, Used, bytes_of};
use crate::models::{ChosenModel, Lineup};
use crate::retry::{pause, pause_before_retry};
use crate::safety::{Live, Written};

/// Where a run is in the order of its models.
#[derive(Default)]
pub(super) struct Asked(Mutex<Progress>);

#[derive(Default, Clone)]
struct Progress {
    /// Which model is asked.
    at: usize,
    /// Why those before it are not.
    failures: Vec<ProviderError>,
    /// What the questions have used that no answer came to.
    spoiled: Usage,
    /// What has cut the newest answer off.
    cut_by: Option<BoundBy>,
}

impl Asked {
    /// Where a run is that goes on after a question: with the model that has answered last.
    pub(super) fn of(journal: &Journal, models: &Lineup) -> Self {
        let place =
            |step: &RunStep| models.place_of(step.input["provider"].as_str()?, step.name.as_str());
        let at = journal.answered().and_then(place).unwrap_or(0);
        let notes = journal.fell_back();
        let newest = &notes[notes.len().saturating_sub(at)..];
        let failures = newest.iter().filter_map(noted_failure).collect();
        Self(Mutex::new(Progress { at, failures, ..Progress::default() }))
    }

    /// The place of the model that is asked, from 0.
    pub(super) fn place(&self) -> usize {
        self.lock().at
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spoil(&self, usage: Usage) {
        let mut progress = self.lock();
        progress.spoiled = progress.spoiled.plus(usage);
    }

    /// What the questions of the run have used that no answer came to.
    pub(super) fn spoiled(&self) -> Usage {
        self.lock().spoiled
    }

    fn cut(&self, answered: &Result<ModelAnswer, End>, bound_by: Option<BoundBy>) {
        // What has called something goes on.
        let is_end = |answer: &ModelAnswer| {
            answer.stop == StopReason::Length && answer.calls().next().is_none()
        };
        let is_cut = answered.as_ref().is_ok_and(is_end);
        self.lock().cut_by = bound_by.filter(|_| is_cut);
    }

    /// What has cut the newest answer off, where neither its job nor its model has.
    pub(super) fn cut_by(&self) -> Option<BoundBy> {
        self.lock().cut_by.clone()
    }

    /// Why another model than the first is asked.
    pub(super) fn fell_back(&self) -> Option<String> {
        let progress = self.lock();
        (!progress.failures.is_empty()).then(|| in_one(&progress.failures))
    }
}

/// A failed question, and whether a part of the answer was shown before.
struct Unanswered {
    end: End,
    shown: bool,
}

impl Conversation<'_> {
    /// One turn of a model, by the first of the run's models that answers.
    pub(super) async fn ask(
        &self,
        turn: &Turn,
        task: usize,
        sent: &mut Sent,
    ) -> Result<(ModelAnswer, Written), End> {
        loop {
            let at = self.asked.place();
            let Some(model) = self.models.at(at) else { return Err(self.nobody_answered()) };
            let (error, stop, shown) = match self.refused_for_its_price(model) {
                Some(stop) => {
                    let kind = ProviderErrorKind::BadRequest;
                    (ProviderError::new(kind, stop.words.clone()), Some(stop), false)
                }
                None => match self.ask_one(model, turn, sent).await {
                    Ok(answer) => return Ok(answer),
                    Err(Unanswered { end: End::Provider(error), shown })
                        if error.lets_another_answer() =>
                    {
                        (error, None, shown)
                    }
                    Err(unanswered) => return Err(unanswered.end),
                },
            };
            let Some(next) = self.models.at(at + 1).filter(|_| !shown) else {
                return Err(match stop {
                    Some(stop) => End::Budget(stop),
                    None if at == 0 => End::Provider(error),
                    None => {
                        self.asked.lock().failures.push(error);
                        self.nobody_answered()
                    }
                });
            };
            self.go_on_to(next, model, error).await?;
            *sent = self.sent_to(next, task);
        }
    }

    /// What of the conversation, whose task is the message at `task`, a model is sent.
    pub(super) fn sent_to(&self, model: &ChosenModel, task: usize) -> Sent {
        let fixed = (self.system.as_str(), self.offered.as_slice());
        Sent::new(task, model.provider.context_tokens(&model.model), fixed, self.max_tokens)
    }

    async fn go_on_to(
        &self,
        next: &ChosenModel,
        instead_of: &ChosenModel,
        error: ProviderError,
    ) -> Result<(), End> {
        let called = |it: &ChosenModel| format!("{} ({})", it.model, it.provider.name());
        let words = format!("{} is asked instead of {}: {error}", called(next), called(instead_of));
        tracing::info!(
            model = next.model,
            instead_of = instead_of.model,
            error = error.for_log(),
            "a run falls back"
        );
        let note = Note {
            run_id: &self.context.run_id,
            name: FELL_BACK,
            input: json!({
                "model": next.model,
                "insteadOf": instead_of.model,
                "error": error.message,
                "kind": error.kind,
            }),
            output: Some(Value::String(words)),
            is_error: false,
        };
        self.driver.store.note(note, self.driver.clock.now()).await?;
        let mut progress = self.asked.lock();
        progress.at += 1;
        progress.failures.push(error);
        Ok(())
    }

    /// All of them failed; what may pass for one of them may pass for the run.
    fn nobody_answered(&self) -> End {
        let failures = self.asked.lock().failures.clone();
        let is_running = |error: &&ProviderError| error.kind != ProviderErrorKind::NotRunning;
        let telling = failures
            .iter()
            .find(|error| is_running(error) && error.may_pass())
            .or_else(|| failures.iter().find(is_running))
            .or(failures.last());
        let kind = telling.map_or(ProviderErrorKind::BadRequest, |error| error.kind);
        let words = format!("No model answered. {}", in_one(&failures));
        let retry_after = telling.and_then(|error| error.retry_after);
        let status = telling.and_then(|error| error.status);
        End::Provider(ProviderError { retry_after, status, ..ProviderError::new(kind, words) })
    }

    pub(super) fn refused_for_its_price(&self, model: &ChosenModel) -> Option<BudgetStop> {
        let is_known = self.account.ledger().prices().knows(model);
        self.account.needs_price_of(&model.model).filter(|_| !is_known)
    }

    /// One turn of `model`. An answer that broke off is asked for again, unless a person has read a part of it.
    async fn ask_one(
        &self,
        model: &ChosenModel,
        turn: &Turn,
        sent: &mut Sent,
    ) -> Result<(ModelAnswer, Written), Unanswered> {
        let mut calls = 0;
        loop {
            calls += 1;
            let request = self.request(model, turn, sent);
            let unanswered = match self.ask_once(model, turn, request, sent.is_shortened()).await {
                Ok(answer) => return Ok(answer),
                Err(unanswered) => unanswered,
            };
            let End::Provider(error) = &unanswered.end else { return Err(unanswered) };
            if error.kind == ProviderErrorKind::Overlong && sent.halve(turn) {
                tracing::info!(error = error.for_log(), "sending less of the conversation");
                calls -= 1;
                continue;
            }
            let Some(wait) = pause_before_retry(calls, error, unanswered.shown) else {
                return Err(unanswered);
            };
            tracing::info!(calls, ?wait, error = error.for_log(), "calling the model again");
            if self.cancel.run_until_cancelled(pause(wait)).await.is_none() {
                return Err(Unanswered { end: End::Cancelled, shown: unanswered.shown });
            }
        }
    }

    /// One question, on the run's account and in the journal from its beginning to its end.
    async fn ask_once(
        &self,
        model: &ChosenModel,
        turn: &Turn,
        request: ModelRequest,
        is_shortened: bool,
    ) -> Result<(ModelAnswer, Written), Unanswered> {
        let silent = |end: End| Unanswered { end, shown: false };
        let asked = Question::of(&request);
        let wanted = self.wanted(model, asked, request.max_tokens);
        let admitted = self.account.admit(wanted, self.cancel).await;
        let (seat, rests) = admitted.map_err(|refusal| silent(refusal.into()))?;
        let room = self.answer_room(model, asked, request.max_tokens, &rests);
        let request = ModelRequest { max_tokens: room.max_tokens, ..request };
        let driver = self.driver;
        let step = self.step_of(model, &request, is_shortened, asked);
        let seq = driver.store.begin_step(&step, driver.clock.now()).await;
        let seq = seq.map_err(|error| silent(error.into()))?;
        if self.journal.asks_first() {
            self.tell_tools(model);
        }
        let began = driver.clock.monotonic();
        let received = Received::default();
        let answered = self.answer_of(model, request, &received).await;
        let (answered, used) = self.used(model, asked, answered, &received);
        if answered.is_err() {
            self.asked.spoil(used.usage);
        }
        self.asked.cut(&answered, room.by);
        let safety = driver.gate.safety();
        let answered = match answered {
            Ok(answer) => {
                let answer = turn.as_kept(answer);
                Ok(safety.apart(move |safety| safety.kept_answer(answer)).await)
            }
            Err(end) => Err(end),
        };
        // A part of an answer stands only where a person has read it.
        let is_read = self.limits.is_attended && received.is_begun();
        let answered =
            answered.map_err(|end| Unanswered { end: broken_if(is_read, end), shown: is_read });
        let took = driver.clock.monotonic().saturating_sub(began).as_millis();
        let shown =
            |call: &ToolCallRequest| driver.gate.shown_arguments(&call.tool, &call.arguments);
        let duration_ms = i64::try_from(took).ok();
        let words = match received.words() {
            Some(words) => Some(safety.apart(move |safety| safety.words(&words)).await),
            None => None,
        };
        let end = StepEnd { duration_ms, ..end_of(&answered, words, used, shown) };
        let ended =
            driver.store.end_step(&self.context.run_id, seq, &end, driver.clock.now()).await;
        ended.map_err(|error| silent(error.into()))?;
        drop(seat);
        answered
    }

    /// What the model says, shown while it comes as far as it may be.
    async fn answer_of(
        &self,
        model: &ChosenModel,
        request: ModelRequest,
        received: &Received,
    ) -> Result<ModelAnswer, End> {
        let live = Mutex::new(Live::new(self.driver.gate.safety()));
        let tell = |heard: Heard<'_>| (self.driver.observer)(&self.context.run_id, heard);
        let show = |delta: &Delta| {
            received.show(delta);
            tell(Heard::Piece(delta));
        };
        let on_delta = |delta: Delta| {
            received.add(&delta);
            let shown = live.lock().unwrap_or_else(PoisonError::into_inner).take(delta);
            shown.iter().for_each(show);
        };
        let asking = model.provider.stream(request, &on_delta);
        let answer = match self.cancel.run_until_cancelled(asking).await {
            None => Err(End::Cancelled),
            Some(answer) => answer.map_err(End::Provider),
        };
        if answer.is_err() {
            tell(Heard::Lost);
            return answer;
        }
        let rest = live.into_inner().unwrap_or_else(PoisonError::into_inner).rest();
        rest.iter().for_each(show);
        tell(Heard::Whole);
        answer
    }

    /// How a question stands in the journal before it is answered.
    fn step_of(
        &self,
        model: &ChosenModel,
        request: &ModelRequest,
        is_shortened: bool,
        asked: Question,
    ) -> NewStep {
        NewStep {
            gate: None,
            call_id: None,
            run_id: self.context.run_id.clone(),
            kind: StepKind::ModelTurn,
            name: model.model.clone(),
            repeatable: true,
            input: json!({
                "provider": model.provider.name(),
                "messages": request.messages.len(),
                "shortened": is_shortened,
                "attempt": self.journal.attempt(),
                IF_CUT_OFF: self.if_cut_off(model, asked),
            }),
        }
    }

    fn request(&self, model: &ChosenModel, turn: &Turn, sent: &mut Sent) -> ModelRequest {
        ModelRequest {
            model: model.model.clone(),
            system: self.system.clone(),
            messages: sent.messages(turn),
            tools: self.offered_in(turn),
            max_tokens: self.max_tokens,
            effort: self.effort,
        }
    }

    /// In its last turn a model is offered what ends the run. Where there is no such tool it is offered what it was: some
    /// providers refuse a conversation with calls and without tools.
    fn offered_in(&self, turn: &Turn) -> Vec<ToolSpec> {
        let ends = |tool: &&ToolSpec| tool.name == COMPLETE_RUN;
        match self.offered.iter().find(ends) {
            Some(ending) if turn.is_closing() => vec![ending.clone()],
            _ => self.offered.clone(),
        }
    }

    /// The usage of a call, and its answer with that. What the provider does not report is estimated, also of an answer
    /// that broke off. A call that failed before the first byte of an answer used nothing.
    pub(super) fn used(
        &self,
        model: &ChosenModel,
        asked: Question,
        answered: Result<ModelAnswer, End>,
        received: &Received,
    ) -> (Result<ModelAnswer, End>, Used) {
        let (told, got) = match &answered {
            Ok(answer) => (answer.usage, bytes_of(&answer.parts)),
            Err(End::Provider(_)) if !received.is_begun() => return (answered, Used::default()),
            Err(_) => (Usage::default(), received.bytes()),
        };
        let used = asked.completed(told, got);
        let cost = self.account.ledger().prices().cost(model, used.usage);
        let usage = Usage { cost_micro_usd: cost.map(|cost| cost.0), ..used.usage };
        (answered.map(|answer| ModelAnswer { usage, ..answer }), Used { usage, ..used })
    }

    /// What the question has cost if nobody is left to hear the answer: it was sent.
    pub(super) fn if_cut_off(&self, model: &ChosenModel, asked: Question) -> Value {
        let usage = Usage { input_tokens: asked.tokens, ..Usage::default() };
        let cost = self.account.ledger().prices().estimate(model, usage);
        json!({ "inputTokens": asked.tokens, "costMicroUsd": cost.map(|cost| cost.0) })
    }
}

/// An outage behind words that a person has read has broken the answer off: no wait can continue that answer.
fn broken_if(is_read: bool, end: End) -> End {
    match end {
        End::Provider(error) if is_read && error.is_outage() => {
            End::Provider(ProviderError { kind: ProviderErrorKind::Truncated, ..error })
        }
        end => end,
    }
}

/// Why a model was not asked any more, as it was noted.
fn noted_failure(note: &RunStep) -> Option<ProviderError> {
    let kind = serde_json::from_value(note.input["kind"].clone()).ok()?;
    Some(ProviderError::new(kind, note.input["error"].as_str()?))
}

/// What several models have said, each apart from the next; none ends in a full stop but the last.
fn in_one(failures: &[ProviderError]) -> String {
    let words = failures.iter().map(|error| error.message.trim().trim_end_matches('.'));
    words.collect::<Vec<_>>().join("; ") + "."
}

/// How a model's turn stands in the journal: of an answer that broke off, the words that were shown stay there.
fn end_of(
    answered: &Result<(ModelAnswer, Written), Unanswered>,
    words: Option<String>,
    used: Used,
    shown: impl Fn(&ToolCallRequest) -> Value,
) -> StepEnd {
    let (status, output) = match answered {
        Ok((answer, written)) => (StepStatus::Finished, said(answer, written, shown)),
        Err(unanswered) => {
            let mut failed = json!({ "error": unanswered.end.to_string() });
            if let Some(words) = words {
                failed["text"] = Value::String(words);
            }
            (StepStatus::Failed, failed)
        }
    };
    let output = Some(used.marked(output));
    StepEnd { status, output, is_error: false, usage: used.usage, duration_ms: None }
}

/// What was said, and which calls held stored secrets: that is written down before the transcript has the calls, or after a
/// break they would be made with the marks that stand there.
fn said(
    answer: &ModelAnswer,
    written: &Written,
    shown: impl Fn(&ToolCallRequest) -> Value,
) -> Value {
    let calls: Vec<Value> =
        answer.calls().map(|call| json!({"tool": call.tool, "arguments": shown(call)})).collect();
    let mut said = json!({"text": answer.text(), "calls": calls, "model": answer.model});
    if !written.is_empty() {
        said[HELD_SECRETS] = written.keys().cloned().collect();
    }
    said
}
