//! A run with a single tool call: a job's `toolCall`, or a trial call of a person.
//!
//! Owns how such a run waits for its approval and resumes. There is no transcript; the newest approval request names
//! the current call. A denied or expired request ends the run. An allowed request is for exactly its own call, so that
//! call is made, even if a hook would rewrite the written call to another by now. An answered input request repeats its
//! call with the answer; an expired one ends the run, because nobody would see that no person answered. The server of a
//! tool is opened as for an agent turn, after the end of a denied run. Pitfall: a resumed run must not begin with the
//! written call again; a hook with a changed ruling would then let the call pass after the denial.

use rouse_core::RunState;
use rouse_core::approval::{Approval, ApprovalState, Refusal};
use rouse_core::input_request::PermissionPrompt;
use rouse_core::message::ToolCallRequest;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::AgentDriver;
use crate::gate::{CallRefusal, GateOutcome, GatedCall, RunPolicy};
use crate::turn::end::{MAX_APPROVALS, TurnEnd};

impl AgentDriver {
    /// Makes the single call of `run`: the approved call, or `tool` with `arguments`.
    pub(super) async fn single_call(
        &self,
        run: &Run,
        policy: &RunPolicy,
        written: ToolCallRequest,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> Result<GatedCall, TurnEnd> {
        let newest = self.runtime.store.approvals_of_run(&run.id).await?.pop();
        if let Some(approval) = &newest
            && let Some((why, outcome)) = outcome_without_approval(run, approval)
        {
            let words = outcome.reason.as_ref().or(outcome.error.as_ref()).cloned();
            let refused = CallRefusal::new(why, words.unwrap_or_default());
            let call = call_request(&approval.tool, &approval.arguments);
            self.runtime.gate.refuse(&call, context, refused).await?;
            return Err(TurnEnd::with(outcome));
        }
        let call = match newest.filter(Approval::permits_call) {
            None => written,
            Some(approval) => call_request(&approval.tool, &approval.arguments),
        };
        // Held until the call ends.
        let _lease = self.open_server_of(&call.tool, cancel).await?;
        // The server may have changed the current tools.
        let driver = self.for_run();
        match driver.runtime.gate.call(policy, &call, context, cancel).await? {
            GateOutcome::NeedsApproval(request) if request.prior_requests >= MAX_APPROVALS => {
                Err(TurnEnd::TooManyApprovals(request))
            }
            GateOutcome::NeedsApproval(request) => {
                Err(TurnEnd::AwaitingApproval(vec![request.approval]))
            }
            GateOutcome::Called(called) if called.refusal == Some(Refusal::EarlierApprovals) => {
                Err(TurnEnd::with(Outcome::skipped(called.output.text())))
            }
            GateOutcome::Called(mut called) => match called.input_approval.take() {
                Some(approval) => Err(TurnEnd::AwaitingApproval(vec![*approval])),
                None => Ok(*called),
            },
        }
    }
}

pub(super) fn call_request(tool: &str, arguments: &Value) -> ToolCallRequest {
    let (tool, arguments) = (tool.to_owned(), arguments.clone());
    ToolCallRequest { id: "call".to_owned(), tool, arguments }
}

/// The outcome of a run with a denied or expired request. An expired request fails a scheduled run, so that the person
/// is notified; the person at a trial call is there already.
fn outcome_without_approval(run: &Run, approval: &Approval) -> Option<(Refusal, Outcome)> {
    let tool = &approval.tool;
    match &approval.state {
        ApprovalState::Denied { reason, .. } if approval.input.is_none() => {
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let outcome = cancelled(format!("You denied the call of {tool}{why}"));
            Some((Refusal::Denied { reason: reason.clone() }, outcome))
        }
        ApprovalState::Expired { .. } => {
            let words = match (approval.permission(), &approval.input) {
                (Some(permission), _) => expired_permission(permission),
                (None, Some(_)) => {
                    format!("The request expired without an answer, so {tool} did not finish")
                }
                (None, None) => format!("The approval expired, so {tool} was not called"),
            };
            let outcome = if run.is_trial() { cancelled(words) } else { Outcome::failed(words) };
            Some((Refusal::Expired, outcome))
        }
        ApprovalState::Denied { .. }
        | ApprovalState::Pending
        | ApprovalState::Approved { .. }
        | ApprovalState::Withdrawn { .. }
        | ApprovalState::Covered { .. } => None,
    }
}

fn expired_permission(permission: &PermissionPrompt) -> String {
    let action = permission.details.lines().next().unwrap_or_default();
    format!(
        "Nobody answered {} in time about “{action}”, so its task was cancelled. What it did until then remains",
        permission.agent
    )
}

fn cancelled(reason: String) -> Outcome {
    Outcome { reason: Some(reason), ..Outcome::of(RunState::Cancelled) }
}
