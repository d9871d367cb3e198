//! The history of a run's session, compacted if too long.
//!
//! Owns the time of a summary: before a new run's first model call, once the messages since the last summary exceed
//! their share of the context window. A resumed run takes the summary from its journal and never pays twice. A failed
//! summary call costs tokens too, so the next call waits until the session has grown by half the history limit. Never
//! fails a run: without a summary, the run receives the messages that fit.

use rouse_core::message::Message;
use rouse_core::run::Usage;
use rouse_core::{RunId, RunState, RunTrigger};
use rouse_store::{RunStep, SkillText, StepStatus, StoreError, TranscriptSummary};

use super::journal::Journal;
use super::output_limit::missing_price;
use super::scope::RunScope;
use super::summary_call::SummaryCall;
use crate::context::compaction::{CompactionLimits, SummaryInput};
use crate::context::history::SessionMessages;
use crate::context::window::first_context_tokens;
use crate::providers::model_choice::{ChosenModel, RunModels};

/// A session's history for a run.
pub(crate) struct SessionHistory {
    pub(crate) messages: Vec<Message>,
    /// The usage of a summary call.
    pub(crate) usage: Usage,
    /// Whether untrusted input has gone into the history.
    pub(crate) is_tainted: bool,
    /// The untrusted skills that the session has read.
    pub(crate) untrusted_skills: Vec<String>,
    /// The texts of those skills that the session has read.
    pub(crate) skill_texts: Vec<SkillText>,
}

/// Loads the history of a run.
pub(super) struct HistoryLoader<'c> {
    pub(super) scope: &'c RunScope<'c>,
    pub(super) models: &'c RunModels,
    pub(super) journal: &'c Journal,
    /// The untrusted skills of the run.
    pub(super) untrusted_skills: &'c [String],
    pub(super) summary_time_limit: std::time::Duration,
}

impl HistoryLoader<'_> {
    /// Loads the messages before this run. Summarises the older part first, if `may_compact` and the history is too long.
    pub(super) async fn load(&self, may_compact: bool) -> Result<SessionHistory, StoreError> {
        let limits = self.limits();
        let mut session = self.session_messages().await?;
        let mut usage = Usage::NONE;
        if may_compact && let Some(spent) = self.compact(&session, limits).await? {
            usage = spent;
            session = self.session_messages().await?;
        }
        let has_tainted_summary = session.summary().is_some_and(|summary| summary.is_tainted);
        // Checked after the messages were read, because a parallel run may have tainted the session meanwhile.
        let is_tainted = self.is_session_tainted().await? || has_tainted_summary;
        let remembered = match &self.scope.runtime.skills {
            Some(library) => library.session_skills(self.scope.session).await?,
            None => Default::default(),
        };
        Ok(SessionHistory {
            messages: session.history(limits.history, self.scope.safety()),
            usage,
            is_tainted,
            untrusted_skills: remembered.names,
            skill_texts: remembered.texts,
        })
    }

    fn limits(&self) -> CompactionLimits {
        let context = first_context_tokens(self.models) as usize;
        CompactionLimits::new(context, self.scope.is_job_run())
    }

    async fn session_messages(&self) -> Result<SessionMessages, StoreError> {
        let RunScope { session, tool_context, .. } = self.scope;
        let (store, zone) = (self.scope.store(), tool_context.zone);
        SessionMessages::load(store, session, self.scope.run_id(), zone).await
    }

    async fn is_session_tainted(&self) -> Result<bool, StoreError> {
        self.scope.runtime.is_session_tainted(self.scope.session).await
    }

    /// Summarises the older part of a long history. Returns the usage of a new or restored summary.
    async fn compact(
        &self,
        session: &SessionMessages,
        limits: CompactionLimits,
    ) -> Result<Option<Usage>, StoreError> {
        let limit = limits.history.newest_run;
        let Some(input) = SummaryInput::select(session, limit) else { return Ok(None) };
        if let Some(step) = self.journal.summary() {
            return self.restore_summary(session, step).await;
        }
        let Some(model) = self.summary_model() else { return Ok(None) };
        if self.has_failed_recently(session, limit).await? {
            return Ok(None);
        }
        let Some(input) = self.without_open_runs(input).await? else { return Ok(None) };
        let is_tainted = self.is_input_tainted(&input).await?;
        let made_by = self.scope.run_id().clone();
        let skills = self.untrusted_skills.to_vec();
        let Some(row) = input.summary_row(made_by, is_tainted, skills) else { return Ok(None) };
        let call =
            SummaryCall { scope: self.scope, model, limits, time_limit: self.summary_time_limit };
        call.make(&input, row).await
    }

    /// Stores the journalled summary of a run that was interrupted. A failed summary call is not repeated.
    async fn restore_summary(
        &self,
        session: &SessionMessages,
        step: &RunStep,
    ) -> Result<Option<Usage>, StoreError> {
        let text = step.output.as_ref().and_then(|output| output.get("text")?.as_str());
        let text = text.filter(|_| step.status == StepStatus::Finished);
        let row = serde_json::from_value::<TranscriptSummary>(step.input.clone()).ok();
        let is_new = |row: &TranscriptSummary| {
            session.summary().is_none_or(|stored| stored.until < row.until)
        };
        let (Some(text), Some(row)) = (text, row.filter(is_new)) else { return Ok(None) };
        let summary = TranscriptSummary { text: text.to_owned(), ..row };
        self.scope.store().add_summary(self.scope.session, summary, self.scope.now()).await?;
        Ok(Some(Usage::NONE))
    }

    fn summary_model(&self) -> Option<&ChosenModel> {
        self.models.first().filter(|model| missing_price(&self.scope.account, model).is_none())
    }

    /// Whether a summary call has failed, and the session has not grown by half of `limit` tokens since.
    async fn has_failed_recently(
        &self,
        session: &SessionMessages,
        limit: usize,
    ) -> Result<bool, StoreError> {
        self.scope.store().has_unfinished_summary(&session.newest_runs(limit / 2)).await
    }

    async fn without_open_runs<'s>(
        &self,
        input: SummaryInput<'s>,
    ) -> Result<Option<SummaryInput<'s>>, StoreError> {
        let states = self.scope.store().run_states(&input.run_ids()).await?;
        let is_open = |(_, (_, state)): &(RunId, (RunTrigger, RunState))| !state.is_final();
        let open: Vec<RunId> = states.into_iter().filter(is_open).map(|(run, _)| run).collect();
        Ok(input.before(&open))
    }

    async fn is_input_tainted(&self, input: &SummaryInput<'_>) -> Result<bool, StoreError> {
        let tools = self.scope.gate().tools();
        let trusted_tools = tools.trusted_tools();
        Ok(self.is_session_tainted().await?
            || self.scope.store().is_any_run_tainted(&input.run_ids(), &trusted_tools).await?)
    }
}
