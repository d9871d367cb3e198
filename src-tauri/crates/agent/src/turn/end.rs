//! Ends of a run that the turn machine of `core` does not know, and their outcomes.

use std::time::Duration;

use rouse_core::RunState;
use rouse_core::approval::Approval;
use rouse_core::budget::BudgetStop;
use rouse_core::model::{ProviderError, ProviderErrorKind};
use rouse_core::run::{Outcome, WaitsFor};
use rouse_store::StoreError;

use crate::budget::BudgetError;
use crate::context::skills::TurnSkillsError;
use crate::gate::{ApprovalRequest, GateError};
use crate::providers::model_choice::RunModels;

/// The most approval requests of a run.
pub(crate) const MAX_APPROVALS: usize = 3;

/// The error of a run without any model.
const NO_MODEL: &str = "No model is set up. Start Ollama or LM Studio on this computer, add a provider under Settings, or run `rouse models add PROVIDER`.";

/// Why a run stops.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TurnEnd {
    #[error("the run was cancelled")]
    Cancelled,
    #[error("the run waits for an approval")]
    AwaitingApproval(Vec<Approval>),
    #[error("the run requested too many approvals")]
    TooManyApprovals(Box<ApprovalRequest>),
    #[error("{tool} is over its rate limit")]
    RateLimited { tool: String, wait: Duration },
    #[error("{}", .0.words)]
    Budget(BudgetStop),
    /// A part of the task cannot be read, for this reason.
    #[error("{0}")]
    UnreadableInput(String),
    /// With an outcome, such as a skip.
    #[error("the run has ended")]
    Outcome(Box<Outcome>),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<GateError> for TurnEnd {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Cancelled => Self::Cancelled,
            GateError::Journal(error) => Self::Store(error),
        }
    }
}

impl From<BudgetError> for TurnEnd {
    fn from(refusal: BudgetError) -> Self {
        match refusal {
            BudgetError::Budget(stop) => Self::Budget(stop),
            BudgetError::Cancelled => Self::Cancelled,
            BudgetError::Store(error) => Self::Store(error),
        }
    }
}

impl From<TurnSkillsError> for TurnEnd {
    fn from(error: TurnSkillsError) -> Self {
        match error {
            TurnSkillsError::Unusable(why) => Self::UnreadableInput(why),
            TurnSkillsError::Store(error) => Self::Store(error),
        }
    }
}

impl TurnEnd {
    /// The end of a run that has no model to call.
    pub(crate) fn no_model(models: &RunModels) -> Self {
        Self::with(no_model(models))
    }

    /// An end with this outcome.
    pub(crate) fn with(outcome: Outcome) -> Self {
        Self::Outcome(Box::new(outcome))
    }

    /// The end of a run with an input that would need an approval first.
    pub(crate) fn input_needs_approval(input: &str, request: &ApprovalRequest) -> Self {
        let reason = request.approval.reason.trim_end_matches('.');
        Self::UnreadableInput(format!(
            "{input} could not be read. {reason}. A run cannot request an approval for its input."
        ))
    }

    /// The outcome of this end, without usage and text of the model.
    pub(crate) fn into_outcome(self) -> Outcome {
        match self {
            Self::Cancelled => cancelled(),
            Self::AwaitingApproval(approvals) => {
                Outcome { approvals, ..Outcome::of(RunState::AwaitingApproval) }
            }
            Self::TooManyApprovals(request) => too_many_approvals(&request),
            Self::RateLimited { tool, wait } => rate_limited(&tool, wait),
            Self::Budget(stop) => over_budget(&stop),
            Self::UnreadableInput(why) => Outcome::failed(why),
            Self::Outcome(outcome) => *outcome,
            Self::Provider(error) => provider_failed(&error),
            Self::Store(error) => not_recorded(&error),
        }
    }
}

/// The outcome of a cancelled run.
pub(crate) fn cancelled() -> Outcome {
    Outcome { reason: Some("cancelled".to_owned()), ..Outcome::of(RunState::Cancelled) }
}

/// The outcome of a run with unstored steps.
pub(crate) fn not_recorded(error: &StoreError) -> Outcome {
    tracing::error!(%error, "a run stopped because the store failed");
    let why = if error.is_full() {
        "the disk is full or cannot be written".to_owned()
    } else {
        error.to_string()
    };
    Outcome {
        is_transient: true,
        ..Outcome::failed(format!("The run could not be recorded: {why}."))
    }
}

/// The outcome of a run without a model: skipped while the model's server is not running.
fn no_model(models: &RunModels) -> Outcome {
    match models.why_not_running() {
        Some(why) => Outcome { is_transient: true, ..Outcome::skipped(why) },
        None => Outcome::failed(models.why_misconfigured().unwrap_or(NO_MODEL)),
    }
}

/// The outcome of a run without budget: skipped until the next day, or failed until a person raises the budget.
pub(crate) fn over_budget(stop: &BudgetStop) -> Outcome {
    let words = stop.words.clone();
    let outcome = if stop.resets_daily { Outcome::skipped(words) } else { Outcome::failed(words) };
    Outcome { budget: Some(stop.clone()), ..outcome }
}

fn provider_failed(error: &ProviderError) -> Outcome {
    // A local model server that is not running is no fault of the job.
    let outcome = match error.kind {
        ProviderErrorKind::NotRunning => Outcome::skipped(error.to_string()),
        _ => Outcome::failed(error.to_string()),
    };
    Outcome {
        is_transient: error.is_transient(),
        waits_for: error.is_outage().then_some(WaitsFor::Model),
        error_for_log: Some(error.for_log().to_owned()),
        retry_after_ms: error.retry_after.map(millis),
        ..outcome
    }
}

fn rate_limited(tool: &str, wait: Duration) -> Outcome {
    let wait_ms = millis(wait);
    let error = format!(
        "{tool} is over its rate limit for another {} s, and the run has no time left to wait. Give the job a longer time limit, or fewer calls to make.",
        wait_ms.div_ceil(1_000)
    );
    Outcome {
        waits_for: Some(WaitsFor::RateLimit),
        retry_after_ms: Some(wait_ms),
        is_transient: true,
        ..Outcome::failed(error)
    }
}

/// Pauses the job: a job that needs so many approvals is not ready to run unattended. Advises a grant where a grant
/// would have helped.
fn too_many_approvals(request: &ApprovalRequest) -> Outcome {
    let Approval { tool, job_id, .. } = &request.approval;
    let advice = match (job_id.is_some(), request.were_all_approved) {
        (true, true) => "Grant the needed calls permanently, or give the job less to do.",
        (true, false) => {
            "Not all requests were allowed: exclude these calls in the task, or give the job less to do."
        }
        (false, _) => "Ask for less at once.",
    };
    let error = format!(
        "The run has requested {MAX_APPROVALS} approvals and needs another for {tool}. {advice}"
    );
    let pauses = Some("Paused because a run requested too many approvals".to_owned());
    Outcome { pauses, ..Outcome::failed(error) }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
