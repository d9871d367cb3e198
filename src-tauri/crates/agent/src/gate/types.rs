//! The types of the gate: the gate itself, the policy of a run, a call during the checks, and the result.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::Clock;
use rouse_core::approval::{Approval, Refusal};
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::{ApprovedCall, ToolPolicy};
use rouse_core::tool::{Annotations, SandboxMode, Tool, ToolOutput};
use rouse_store::{Store, StoreError};

use super::rate_limit::RateLimits;
use super::refusal::CallRefusal;
use crate::budget::{BudgetReservation, RunBudgets};
use crate::condition::ConditionEvaluator;
use crate::heartbeat_list::HeartbeatList;
use crate::hooks::Hooks;
use crate::safety::Safety;
use crate::tool_registry::{ToolRegistry, ToolSet};

/// The gate for all runs: rate limits count over all runs. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    pub(super) registry: Arc<ToolRegistry>,
    /// The tools of a run; the current tools when none.
    pub(super) run_tools: Option<Arc<ToolSet>>,
    pub(super) limits: Arc<RateLimits>,
    pub(super) conditions: ConditionEvaluator,
    pub(super) safety: Safety,
    pub(super) hooks: Hooks,
    pub(super) list: Arc<HeartbeatList>,
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
}

/// A call that the gate has made or refused.
#[derive(Debug, Clone, PartialEq)]
pub struct GatedCall {
    /// The number of the step in the run's journal.
    pub step: u32,
    /// The result of the tool, or the refusal.
    pub output: ToolOutput,
    /// The result for the model: bounded, and fenced if untrusted.
    pub model_output: ToolOutput,
    /// Whether the tool was called.
    pub reached_tool: bool,
    /// Whether repeating the call has no further side effect.
    pub is_repeatable: bool,
    /// The kind of the refusal; none if the tool was called.
    pub refusal: Option<Refusal>,
    /// The approval with the input that the tool requests; none for a finished call.
    pub input_approval: Option<Box<Approval>>,
}

/// The policy for all calls of a run.
#[derive(Debug, Clone)]
pub struct RunPolicy {
    /// The budgets; none for calls that cost nothing.
    pub budgets: Option<RunBudgets>,
    /// The allowed tools, and the approval policy.
    pub tools: ToolPolicy,
    /// How long a requested approval stays pending.
    pub approval_timeout: Duration,
    /// Whether the run began with untrusted input.
    pub is_tainted: bool,
    /// The longest wait for a rate permit. A call that would wait longer is refused.
    pub rate_limit_wait: Duration,
}

/// The result of a call at the gate.
#[derive(Debug, Clone, PartialEq)]
pub enum GateOutcome {
    /// The call was made or refused.
    Called(Box<GatedCall>),
    /// The call needs an approval. Nothing was done or journalled.
    NeedsApproval(Box<ApprovalRequest>),
}

/// A request for an approval that is not stored yet.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// The approval.
    pub approval: Approval,
    /// Earlier requests of the run. A call that a crash interrupted counts once.
    pub prior_requests: usize,
    /// Whether all calls were approved.
    pub were_all_approved: bool,
}

/// The result of the checks before a call.
pub(crate) enum GateAdmission {
    /// The call is journalled, and the permit is used up.
    Admitted(Box<AdmittedCall>),
    /// The call was refused and journalled.
    Refused(Box<GatedCall>),
    /// The call needs an approval. Nothing is journalled.
    NeedsApproval(Box<ApprovalRequest>),
    /// The tool is over its rate limit, and the run may wait. Nothing is journalled.
    RateLimited { wait: Duration, refusal: Box<CallRefusal> },
}

/// A call that is journalled as started, before its execution.
pub(crate) struct AdmittedCall {
    pub(super) tool: Arc<dyn Tool>,
    /// The call as it is made: hooks may have rewritten it.
    pub(super) request: ToolCallRequest,
    pub(super) call: ApprovedCall,
    pub(super) step: u32,
    pub(super) annotations: Annotations,
    /// A sandbox narrower than the run's; none for the run's own.
    pub(super) sandbox: Option<SandboxMode>,
    pub(super) reservation: Option<BudgetReservation>,
    /// Whether a person approved or wrote exactly this call.
    pub(super) was_approved: bool,
}

impl RunPolicy {
    /// Whether a person wrote exactly this call into the job.
    pub(super) fn is_written_call(&self, request: &ToolCallRequest) -> bool {
        self.tools.is_written_call(&request.tool, &request.arguments)
    }
}

impl AdmittedCall {
    pub(crate) const fn is_read_only(&self) -> bool {
        self.annotations.read_only
    }
}

/// Why the checks of a call stop.
pub(super) enum GateStop {
    Refused(Box<CallRefusal>),
    NeedsApproval(Box<ApprovalRequest>),
    /// The call, the required approval or the permit has changed: the checks start again.
    Restart,
    Failed(GateError),
}

impl From<CallRefusal> for GateStop {
    fn from(refusal: CallRefusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<StoreError> for GateStop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Why the gate neither made nor refused a call.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The journal cannot be written.
    #[error("a tool call could not be journalled")]
    Journal(#[from] StoreError),
    /// The run was cancelled while the tool worked.
    #[error("the run was cancelled")]
    Cancelled,
}
