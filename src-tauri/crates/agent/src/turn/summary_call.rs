//! The model call that summarises the older part of a session.
//!
//! Uses the run's first model, without tools, at most once per run, on the run's budgets and in its journal. No hook
//! and no client sees the answer.

use std::time::Duration;

use rouse_core::message::ModelAnswer;
use rouse_core::model::{ModelRequest, ProviderError, ProviderErrorKind};
use rouse_core::run::Usage;
use rouse_store::{
    NewStep, StepEnd, StepKind, StepStatus, StoreError, TranscriptSummary, USAGE_IF_INTERRUPTED,
};
use serde_json::json;
use tokio::time::timeout;

use super::end::TurnEnd;
use super::output_limit::CallBudget;
use super::scope::RunScope;
use super::usage::{CallUsage, ReceivedAnswer};
use crate::budget::{BudgetError, BudgetReservation};
use crate::context::compaction::{CompactionLimits, SummaryInput};
use crate::providers::model_choice::ChosenModel;

/// Maximum time of a summary call. The run's own time limit may be shorter.
pub(crate) const SUMMARY_TIME_LIMIT: Duration = Duration::from_secs(120);

/// A summary call.
pub(super) struct SummaryCall<'c> {
    pub(super) scope: &'c RunScope<'c>,
    pub(super) model: &'c ChosenModel,
    pub(super) limits: CompactionLimits,
    pub(super) time_limit: Duration,
}

impl SummaryCall<'_> {
    /// Summarises `input` and stores `row` with the text. Returns the usage, also of a failed call; none if there was not
    /// enough budget for a call.
    pub(super) async fn make(
        &self,
        input: &SummaryInput<'_>,
        row: TranscriptSummary,
    ) -> Result<Option<Usage>, StoreError> {
        let scope = self.scope;
        let request = self.limits.summary_request(&self.model.model, input, scope.safety());
        let budget = CallBudget::new(&scope.account, self.model, &request);
        let Some(reservation) = self.reserve(&budget, request.max_tokens).await? else {
            return Ok(None);
        };
        let seq = scope.store().begin_step(&self.new_step(&row, &budget), scope.now()).await?;
        let began = scope.runtime.clock.monotonic();
        let received = ReceivedAnswer::default();
        let answer = self.stream(request, &received).await;
        let took = scope.runtime.clock.monotonic().saturating_sub(began).as_millis();
        let (answer, usage) = budget.settle(answer, &received);
        let text = answer
            .map_err(|end| end.to_string())
            .and_then(|answer| self.limits.summary_in(&answer, scope.safety()));
        let end = StepEnd { duration_ms: i64::try_from(took).ok(), ..self.step_end(&text, usage) };
        scope.store().end_step(scope.run_id(), seq, &end, scope.now()).await?;
        drop(reservation);
        match text {
            Ok(text) => {
                let summary = TranscriptSummary { text, ..row };
                scope.store().add_summary(scope.session, summary, scope.now()).await?;
            }
            Err(why) => {
                tracing::info!(run_id = %scope.run_id(), why, "no summary of the session was made");
            }
        }
        Ok(Some(usage.usage))
    }

    /// Reserves budget, if all budgets have room for this call and as much again for the run itself.
    async fn reserve(
        &self,
        budget: &CallBudget<'_>,
        max_tokens: Option<u32>,
    ) -> Result<Option<BudgetReservation>, StoreError> {
        let account = &self.scope.account;
        let once = budget.maximum_use();
        if !account.has_room_for(once.plus(once)).await? {
            return Ok(None);
        }
        match account.admit(budget.reservation(), self.scope.cancel).await {
            // Calls that ended meanwhile may have used the room.
            Ok((reservation, remaining)) => {
                let limit = budget.output_limit(&remaining);
                Ok((limit.max_tokens == max_tokens).then_some(reservation))
            }
            Err(BudgetError::Budget(_) | BudgetError::Cancelled) => Ok(None),
            Err(BudgetError::Store(error)) => Err(error),
        }
    }

    /// The journal entry holds the whole row but the text, so that the summary can be stored after a break.
    fn new_step(&self, row: &TranscriptSummary, budget: &CallBudget<'_>) -> NewStep {
        let mut input = json!(row);
        input["provider"] = self.model.provider.name().into();
        input[USAGE_IF_INTERRUPTED] = budget.usage_if_interrupted();
        NewStep {
            gate: None,
            call_id: None,
            run_id: self.scope.run_id().clone(),
            kind: StepKind::Summary,
            name: self.model.model.clone(),
            repeatable: true,
            input,
        }
    }

    fn step_end(&self, text: &Result<String, String>, usage: CallUsage) -> StepEnd {
        let (status, output) = match text {
            Ok(text) => (StepStatus::Finished, json!({ "text": text, "model": self.model.model })),
            Err(why) => (StepStatus::Failed, json!({ "error": why })),
        };
        StepEnd {
            status,
            output: Some(usage.mark(output)),
            is_error: false,
            usage: usage.usage,
            duration_ms: None,
        }
    }

    async fn stream(
        &self,
        request: ModelRequest,
        received: &ReceivedAnswer,
    ) -> Result<ModelAnswer, TurnEnd> {
        let on_delta = |delta| received.add(&delta);
        let streaming = timeout(self.time_limit, self.model.provider.stream(request, &on_delta));
        match self.scope.cancel.run_until_cancelled(streaming).await {
            None => Err(TurnEnd::Cancelled),
            Some(Err(_)) => {
                let kind = ProviderErrorKind::Unanswered;
                Err(TurnEnd::Provider(ProviderError::new(kind, "Timed out.")))
            }
            Some(Ok(answer)) => Ok(answer?),
        }
    }
}
