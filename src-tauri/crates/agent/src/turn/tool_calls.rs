//! The tool calls of a model's answer.
//!
//! Owns the concurrency: read-only calls run in parallel, a few at a time; every other call runs alone. The calls pass the
//! gate one by one in order, so journal, approvals and rate limits are the same as for sequential calls; only the
//! execution overlaps. Results keep the order of the calls. A call after `complete_run` is not made. Nor is a call after a
//! call that awaits approval, because it may depend on that call; the gate only checks whether it needs an approval too.
//! Pitfall: returning an error before all begun calls have ended; the journal would miss their end.

use futures_util::{StreamExt as _, stream};
use rouse_core::Job;
use rouse_core::approval::Approval;
use rouse_core::message::ToolCallRequest;
use rouse_core::tool::{PendingCleanup, ToolContext, ToolEffect, ToolOutput};
use rouse_core::turn::COMPLETE_RUN;
use rouse_store::{RunStep, StepStatus};
use serde_json::Value;

use super::end::{MAX_APPROVALS, TurnEnd};
use super::journal::{EarlierCall, Journal, unknown_outcome};
use super::notifications;
use super::scope::RunScope;
use crate::gate::{
    AdmittedCall, ApprovalRequest, GateAdmission, GateOutcome, GatedCall, RunPolicy,
};
use crate::safety::RedactedCalls;

/// The most calls in parallel.
const MAX_PARALLEL: usize = 8;

/// The tool calls of a run.
pub(crate) struct ToolCaller<'r> {
    pub(crate) scope: &'r RunScope<'r>,
    pub(crate) policy: &'r RunPolicy,
    pub(crate) journal: &'r Journal,
    /// The job; none in the main session.
    pub(crate) job: Option<&'r Job>,
}

/// The approval requests of an answer and the input requests of its calls, all sent at once.
#[derive(Default)]
struct PendingApprovals(Vec<Approval>);

impl PendingApprovals {
    /// Adds a request, unless present already or the run has reached [`MAX_APPROVALS`]; then the call waits for a later round.
    fn add(&mut self, request: ApprovalRequest) {
        let ApprovalRequest { approval, prior_requests, .. } = request;
        let is_new = self.0.iter().all(|pending| pending.fingerprint != approval.fingerprint);
        if is_new && prior_requests + self.0.len() < MAX_APPROVALS {
            self.0.push(approval);
        }
    }
}

/// The progress through the calls of an answer.
#[derive(Default)]
struct CallRound {
    /// In the order of the calls; none for a running call.
    results: Vec<Option<ToolOutput>>,
    /// The calls that are begun, with their index among the results.
    begun: Vec<(usize, AdmittedCall)>,
    approvals: PendingApprovals,
    is_run_complete: bool,
}

impl CallRound {
    fn add_result(&mut self, result: ToolOutput) {
        self.results.push(Some(result));
    }

    fn awaits_approval(&self) -> bool {
        !self.approvals.0.is_empty()
    }
}

impl ToolCaller<'_> {
    /// Makes the calls and returns the results in order. Refuses the `redacted` calls, which differ from the model's
    /// text.
    pub(crate) async fn call_all(
        &self,
        calls: Vec<ToolCallRequest>,
        redacted: &RedactedCalls,
    ) -> Result<Vec<(ToolCallRequest, ToolOutput)>, TurnEnd> {
        let mut round = CallRound::default();
        for call in &calls {
            let is_redacted = redacted.contains(&call.id);
            let is_parallel = !is_redacted && self.can_run_in_parallel(call);
            if !is_parallel {
                self.finish_begun(&mut round).await?;
            }
            let taken = self.take(&mut round, call, is_redacted).await;
            if taken.is_err() || !is_parallel || round.awaits_approval() {
                self.finish_begun(&mut round).await?;
            }
            taken?;
        }
        self.finish_begun(&mut round).await?;
        if round.awaits_approval() {
            return Err(TurnEnd::AwaitingApproval(round.approvals.0));
        }
        let results = round.results.into_iter();
        let results = results.map(|result| result.expect("BUG: every call is finished"));
        Ok(calls.into_iter().zip(results).collect())
    }

    /// Makes a single call, under a separate `policy`.
    pub(crate) async fn call_one(
        &self,
        policy: &RunPolicy,
        call: &ToolCallRequest,
    ) -> Result<GateOutcome, TurnEnd> {
        let RunScope { tool_context, cancel, .. } = self.scope;
        if cancel.is_cancelled() {
            return Err(TurnEnd::Cancelled);
        }
        Ok(self.scope.gate().call(policy, call, tool_context, cancel).await?)
    }

    fn can_run_in_parallel(&self, call: &ToolCallRequest) -> bool {
        call.tool != COMPLETE_RUN && self.scope.gate().is_parallel(call, self.scope.tool_context)
    }

    /// Takes a call up to its start, or to a result without a start.
    async fn take(
        &self,
        round: &mut CallRound,
        call: &ToolCallRequest,
        is_redacted: bool,
    ) -> Result<(), TurnEnd> {
        if round.awaits_approval() {
            if !is_redacted && let Some(request) = self.approval_needed(call).await? {
                round.approvals.add(request);
            }
            return Ok(());
        }
        if round.is_run_complete {
            round.add_result(ToolOutput::error(
                "Not carried out: complete_run has already ended the run.",
            ));
            return Ok(());
        }
        match self.journal.earlier_call(call) {
            EarlierCall::Done(step) => round.add_result(self.journalled_result(&step).await?),
            EarlierCall::Unknown => round.add_result(unknown_outcome(&call.tool)),
            EarlierCall::ToDo if is_redacted => {
                let gate = self.scope.gate();
                let refused = gate.refuse_redacted(call, self.scope.tool_context).await?;
                round.add_result(refused.model_output);
            }
            EarlierCall::ToDo => self.admit(round, call).await?,
        }
        Ok(())
    }

    async fn admit(&self, round: &mut CallRound, call: &ToolCallRequest) -> Result<(), TurnEnd> {
        if self.scope.cancel.is_cancelled() {
            return Err(TurnEnd::Cancelled);
        }
        match self.scope.gate().admit(self.policy, call, self.scope.tool_context).await? {
            GateAdmission::Admitted(begun) => {
                // A hook may have rewritten a read-only call.
                if !begun.is_read_only() {
                    self.finish_begun(round).await?;
                }
                round.begun.push((round.results.len(), *begun));
                round.results.push(None);
            }
            GateAdmission::Refused(called) => round.add_result(called.model_output),
            GateAdmission::NeedsApproval(request) if request.prior_requests >= MAX_APPROVALS => {
                return Err(TurnEnd::TooManyApprovals(request));
            }
            GateAdmission::NeedsApproval(request) => round.approvals.add(*request),
            GateAdmission::RateLimited { wait, .. } => {
                return Err(TurnEnd::RateLimited { tool: call.tool.clone(), wait });
            }
        }
        Ok(())
    }

    /// Carries out the begun calls. Waits for all of them, even after an error.
    async fn finish_begun(&self, round: &mut CallRound) -> Result<(), TurnEnd> {
        let RunScope { tool_context, cancel, .. } = self.scope;
        let begun = std::mem::take(&mut round.begun);
        let work = begun.into_iter().map(|(index, begun)| async move {
            // No call waits for the cleanup of another.
            let context = ToolContext {
                pending_cleanup: PendingCleanup::default(),
                ..(*tool_context).clone()
            };
            (index, self.scope.gate().execute(begun, self.policy, &context, cancel).await)
        });
        let ended: Vec<_> = stream::iter(work).buffered(MAX_PARALLEL).collect().await;
        for (index, called) in ended {
            let called = called?;
            self.apply_effect(&called).await?;
            round.is_run_complete |=
                matches!(called.output.effect, Some(ToolEffect::Complete { .. }));
            round.approvals.0.extend(called.input_approval.map(|approval| *approval));
            round.results[index] = Some(called.model_output);
        }
        Ok(())
    }

    /// The approval request of a call that is not made now.
    async fn approval_needed(
        &self,
        call: &ToolCallRequest,
    ) -> Result<Option<ApprovalRequest>, TurnEnd> {
        if !matches!(self.journal.earlier_call(call), EarlierCall::ToDo) {
            return Ok(None);
        }
        Ok(self.scope.gate().approval_request(self.policy, call, self.scope.tool_context).await?)
    }

    async fn apply_effect(&self, called: &GatedCall) -> Result<(), TurnEnd> {
        if let Some(ToolEffect::Notify { title, body }) = &called.output.effect {
            self.notify(called.step, title.as_deref(), body).await?;
        }
        Ok(())
    }

    /// The result of a call before a break, in the form for the model.
    async fn journalled_result(&self, step: &RunStep) -> Result<ToolOutput, TurnEnd> {
        let text = |key: &str| step.input.get(key).and_then(Value::as_str);
        if let ("notify", StepStatus::Finished, Some(body)) =
            (step.name.as_str(), step.status, text("body"))
        {
            self.notify(step.seq, text("title"), body).await?;
        }
        Ok(self.scope.gate().replayed_result(step))
    }

    async fn notify(&self, step: u32, title: Option<&str>, body: &str) -> Result<(), TurnEnd> {
        Ok(notifications::send(self.scope, self.job, step, title, body).await?)
    }
}
