//! The conversation of a run with its models.
//!
//! Owns the loop around the turn machine of `core` (model call, tool calls, model call, …), the transcript and the
//! session's taint. A run that fails keeps its text as the report.

use std::time::Duration;

use rouse_core::message::{Message, ToolCallRequest};
use rouse_core::run::Outcome;
use rouse_core::tool::{ToolOutput, ToolSpec};
use rouse_core::turn::{Turn, TurnLimits, TurnStep};
use rouse_core::{Job, RunState};
use rouse_store::{SessionTaint, SkillText, StoreError};

use super::end::{TurnEnd, over_budget};
use super::journal::Journal;
use super::model_call::{ModelCaller, RedactedAnswer};
use super::output_limit::LimitCause;
use super::scope::{AnswerEvent, RunScope};
use super::session_history::{HistoryLoader, SessionHistory};
use super::tool_calls::ToolCaller;
use crate::context::prompt::ModelPrompt;
use crate::gate::RunPolicy;
use crate::providers::model_choice::RunModels;
use crate::safety::RedactedCalls;

/// The parts of a conversation that stay the same during a run.
pub(crate) struct Conversation<'r> {
    pub(crate) scope: RunScope<'r>,
    pub(crate) models: &'r RunModels,
    pub(crate) prompt: ModelPrompt,
    pub(crate) policy: RunPolicy,
    pub(crate) limits: TurnLimits,
    /// The job; none in the main session.
    pub(crate) job: Option<&'r Job>,
    /// The steps before a break.
    pub(crate) journal: Journal,
    pub(crate) summary_time_limit: Duration,
}

/// The beginning of a conversation.
pub(crate) enum Opening {
    /// A new run: the task.
    Task(Message),
    /// A run after a break: the messages until then.
    Resumed(Vec<Message>),
}

impl Opening {
    pub(crate) const fn is_resumed(&self) -> bool {
        matches!(self, Self::Resumed(_))
    }

    fn has_answer(&self) -> bool {
        matches!(self, Self::Resumed(messages) if has_answer(messages))
    }
}

/// Whether a model has answered in a run. If so, the run resumes without a model as far as possible. Without an answer,
/// the messages hold only the task.
pub(crate) fn has_answer(messages: &[Message]) -> bool {
    messages.iter().any(|message| matches!(message, Message::Assistant { .. }))
}

/// The state of a running conversation.
struct ConversationState<'c> {
    turn: Turn,
    next: TurnStep,
    /// The number of messages in the transcript.
    stored_messages: usize,
    models: ModelCaller<'c>,
    tools: ToolCaller<'c>,
    /// The calls of the newest answer that held a stored secret.
    redacted_calls: RedactedCalls,
    /// Whether a model had answered before a break.
    has_earlier_answer: bool,
}

impl Conversation<'_> {
    /// Makes tool calls under the run's policy.
    pub(crate) const fn tool_caller(&self) -> ToolCaller<'_> {
        ToolCaller {
            scope: &self.scope,
            policy: &self.policy,
            journal: &self.journal,
            job: self.job,
        }
    }

    /// Loads the session's history and applies the taint to the run: untrusted skills lower the policy and the offered
    /// tools.
    pub(crate) async fn load_history(
        &mut self,
        may_compact: bool,
    ) -> Result<SessionHistory, StoreError> {
        let loader = HistoryLoader {
            scope: &self.scope,
            models: self.models,
            journal: &self.journal,
            untrusted_skills: self.policy.tools.untrusted_skills(),
            summary_time_limit: self.summary_time_limit,
        };
        let history = loader.load(may_compact).await?;
        self.policy.is_tainted |= history.is_tainted;
        if self.scope.runtime.skills.is_some() {
            let skills = history.untrusted_skills.iter().cloned();
            let policy = self.policy.tools.clone().after_reading(skills);
            let offered = self.scope.gate().tools().offered(&policy);
            let is_left = |tool: &ToolSpec| offered.iter().any(|left| left.name == tool.name);
            self.prompt.tools.retain(is_left);
            self.policy.tools = policy;
        }
        Ok(history)
    }

    /// Calls models and tools until the run ends, fails or parks.
    pub(crate) async fn run(&self, history: SessionHistory, opening: Opening) -> Outcome {
        let SessionHistory { messages, usage, skill_texts, .. } = history;
        let mut state = self.open(messages, opening);
        if let Err(end) = self.store_opening(&mut state, skill_texts).await {
            return end.into_outcome();
        }
        state.turn.add_usage(usage);
        let first_model = state.models.model_name();
        let outcome = loop {
            match self.step(&mut state).await {
                Ok(None) => {}
                Ok(Some(outcome)) => break self.explain_cut_off(&state, outcome),
                Err(end) => break failed_outcome(&state, end, first_model),
            }
        };
        Outcome {
            usage: outcome.usage.plus(state.models.failed_usage()),
            fallback_reason: state.models.fallback_reason(),
            ..outcome
        }
    }

    fn open(&self, mut history: Vec<Message>, opening: Opening) -> ConversationState<'_> {
        let task_index = history.len();
        let has_earlier_answer = opening.has_answer();
        let tools = self.prompt.tools.all().map(|tool| tool.name.clone()).collect();
        let (stored_messages, (turn, next)) = match opening {
            Opening::Task(task) => {
                history.push(task);
                (task_index, (Turn::new(history, self.limits, tools), TurnStep::CallModel))
            }
            Opening::Resumed(messages) => {
                let stored = task_index + messages.len();
                (stored, Turn::resume(history, messages, self.limits, tools))
            }
        };
        let models = ModelCaller::new(
            &self.scope,
            &self.prompt,
            self.models,
            &self.journal,
            task_index,
            self.limits.is_attended,
        );
        ConversationState {
            turn,
            next,
            stored_messages,
            models,
            tools: self.tool_caller(),
            redacted_calls: self.journal.redacted_calls().clone(),
            has_earlier_answer,
        }
    }

    async fn store_opening(
        &self,
        state: &mut ConversationState<'_>,
        skill_texts: Vec<SkillText>,
    ) -> Result<(), TurnEnd> {
        self.store_new_messages(state).await?;
        Ok(self.record_taint(skill_texts).await?)
    }

    /// Stores the new messages and carries out the next step. Returns the outcome after the last step.
    async fn step(&self, state: &mut ConversationState<'_>) -> Result<Option<Outcome>, TurnEnd> {
        self.store_new_messages(state).await?;
        match std::mem::replace(&mut state.next, TurnStep::CallModel) {
            TurnStep::Finish(outcome) => return Ok(Some(*outcome)),
            TurnStep::CallModel => {
                let RedactedAnswer { answer, redacted_calls } =
                    state.models.call(&state.turn).await?;
                state.redacted_calls = redacted_calls;
                state.next = state.turn.take_answer(answer);
            }
            TurnStep::CallTools(calls) => {
                let results = self.call_tools(state, calls).await?;
                state.next = state.turn.take_results(results);
            }
        }
        Ok(None)
    }

    /// Makes the calls. Records the taint of untrusted results before the transcript has the results: the journal of
    /// this run may be deleted before the messages.
    async fn call_tools(
        &self,
        state: &ConversationState<'_>,
        calls: Vec<ToolCallRequest>,
    ) -> Result<Vec<(ToolCallRequest, ToolOutput)>, TurnEnd> {
        let tools = self.scope.gate().tools();
        let trusted_tools = tools.trusted_tools();
        let may_taint = calls.iter().any(|call| !trusted_tools.contains(&call.tool.as_str()));
        let results = state.tools.call_all(calls, &state.redacted_calls).await?;
        if may_taint {
            let skill_texts = match &self.scope.runtime.skills {
                Some(library) => library.session_skills(self.scope.session).await?.texts,
                None => Vec::new(),
            };
            self.record_taint(skill_texts).await?;
        }
        Ok(results)
    }

    /// Records the taint of this run in the session, because the session outlives the journal of the run. `skill_texts`
    /// are the untrusted skill texts of the session.
    async fn record_taint(&self, skill_texts: Vec<SkillText>) -> Result<(), StoreError> {
        let scope = &self.scope;
        let source = scope.gate().taint(&self.policy, scope.tool_context).await?;
        let taint = SessionTaint { is_tainted: source.is_some(), skill_texts };
        scope.store().record_taint(scope.session, &taint, scope.now()).await
    }

    async fn store_new_messages(
        &self,
        state: &mut ConversationState<'_>,
    ) -> Result<(), StoreError> {
        let scope = &self.scope;
        let messages = state.turn.messages();
        let new = messages.get(state.stored_messages..).unwrap_or_default();
        if new.is_empty() {
            return Ok(());
        }
        // Notify before storing, so that no client shows the live text and the stored text at once.
        (scope.runtime.observer)(scope.run_id(), AnswerEvent::Stored);
        scope
            .store()
            .append_messages(scope.session, Some(scope.run_id()), new, scope.now())
            .await?;
        state.stored_messages = messages.len();
        Ok(())
    }

    /// Names the limit that cut off the last answer of a failed run, if Rouse has set that limit.
    fn explain_cut_off(&self, state: &ConversationState<'_>, outcome: Outcome) -> Outcome {
        match state.models.cut_by().filter(|_| outcome.state == RunState::Failed) {
            Some(LimitCause::Budget(stop)) => {
                let (usage, model) = (outcome.usage, outcome.model);
                Outcome { usage, model, ..with_partial_report(&state.turn, over_budget(stop)) }
            }
            Some(LimitCause::UnknownModel(limit)) => {
                let error = LimitCause::unknown_model_error(*limit, self.scope.is_job_run());
                Outcome { error: Some(error), ..outcome }
            }
            None => outcome,
        }
    }
}

/// The outcome of a run that stopped before the turn machine had an outcome.
fn failed_outcome(
    state: &ConversationState<'_>,
    end: TurnEnd,
    first_model: Option<&str>,
) -> Outcome {
    let turn = &state.turn;
    let has_called = turn.model().is_some() || state.models.failed_usage().tokens() > 0;
    let outcome = end.into_outcome();
    let outcome = if state.has_earlier_answer || has_called {
        with_partial_report(turn, outcome)
    } else {
        outcome
    };
    let model = turn.model().or(first_model).map(str::to_owned);
    Outcome { usage: turn.usage(), model, ..outcome }
}

/// A run that stops in the middle of the work has failed and is not skipped; the last text is the report.
fn with_partial_report(turn: &Turn, outcome: Outcome) -> Outcome {
    if !matches!(outcome.state, RunState::Skipped | RunState::Failed) {
        return outcome;
    }
    let error = outcome.reason.or(outcome.error);
    Outcome { state: RunState::Failed, error, reason: None, summary: turn.last_words(), ..outcome }
}
