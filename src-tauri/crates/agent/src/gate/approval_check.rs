//! The decision about a call that needs an approval: earlier approvals, grants, and the request to the person.
//!
//! Owns the request, with everything that a person needs to see. Pitfall: reusing the surroundings (working directory,
//! environment, files) of an earlier decision. They are read again for each decision, even right after the approval; an
//! approval of an earlier state does not count.

use std::collections::HashSet;

use rouse_core::approval::{
    Approval, ApprovalState, Authorization, Fingerprint, GateDecision, Grant, Refusal,
    Surroundings, count_requests,
};
use rouse_core::job::Approvals;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::{
    ApprovedCall, CallRuling, NeedsApproval, PriorDecisions, denial_without_request,
};
use rouse_core::tool::{Tool, ToolContext, ToolSpec};
use rouse_core::{ApprovalId, RunId, RunTrigger, UnixMs};
use rouse_store::{RunStep, StepStatus, StoreError};

use super::approval_reason::{ApprovalReason, sentence};
use super::refusal::CallRefusal;
use super::types::{ApprovalRequest, Gate, GateStop, RunPolicy};

/// Maximum runs of a job with pending approvals.
const MAX_PENDING_RUNS: usize = 3;

const NO_GRANT_FOR_HOOK: &str =
    "A hook requires approval every time, so the call cannot be granted.";

const JOB_GONE: &str = "The call needs an approval, but the job was deleted.";

/// Whether the approval is for exactly this call and not used up.
pub(super) fn is_unused_for(approval: &Approval, request: &ToolCallRequest) -> bool {
    approval.tool == request.tool
        && approval.arguments == request.arguments
        && approval.used_at.is_none()
        && approval.concerns_call(&request.id)
}

/// A call that needs an approval.
pub(super) struct ApprovalCheck<'g> {
    pub(super) gate: &'g Gate,
    pub(super) policy: &'g RunPolicy,
    pub(super) request: &'g ToolCallRequest,
    pub(super) context: &'g ToolContext,
    pub(super) reason: ApprovalReason<'g>,
    /// Why a person must check the arguments.
    pub(super) suspicion: Option<String>,
}

impl ApprovalCheck<'_> {
    /// The approved call and the permit: an approval of this run or a grant of the job.
    pub(super) async fn decide(
        mut self,
        tool: &dyn Tool,
        needed: NeedsApproval,
    ) -> Result<(ApprovedCall, Authorization), GateStop> {
        let store = &self.gate.store;
        let mut approvals = store.approvals_of_run(&self.context.run_id).await?;
        approvals.retain(|approval| approval.concerns_call(&self.request.id));
        let now = self.gate.clock.now();
        let requested_at = self.requested_at(&approvals).unwrap_or(now);
        let surroundings = self.surroundings(tool, requested_at).await?;
        let grants = match &self.context.job_id {
            Some(job) => store.grants_of_job(job).await?,
            None => Vec::new(),
        };
        let is_named =
            |grant: &Grant| grant.names_call(&self.request.tool, &self.request.arguments, now);
        if self.reason == ApprovalReason::Tool && grants.iter().any(is_named) {
            self.reason = ApprovalReason::GrantDrifted;
        }
        let is_highest = needed.is_highest();
        let decisions = PriorDecisions { approvals: &approvals, grants: &grants, now };
        let refusal = match needed.evaluate(decisions, &surroundings) {
            CallRuling::Permitted(call, permit) => {
                return Ok((call.bound_to(surroundings), permit));
            }
            CallRuling::Denied(denial) => denial.into(),
            CallRuling::NotAsked(setting) => CallRefusal::new(
                Refusal::ApprovalDisabled { approvals: setting },
                self.policy_refusal(setting),
            ),
            CallRuling::Ask => {
                self.check_request(&surroundings).await??;
                // Relative times of a new request count from now.
                let surroundings = if requested_at == now {
                    surroundings
                } else {
                    self.surroundings(tool, now).await?
                };
                let approval = self.approval(tool, surroundings, is_highest, &approvals, now).await;
                return Err(GateStop::NeedsApproval(Box::new(ApprovalRequest {
                    prior_requests: count_requests(&approvals, &approval, &self.ended().await?),
                    were_all_approved: approvals.iter().all(is_approved),
                    approval,
                })));
            }
        };
        Err(refusal.into())
    }

    /// The approvals of the run with an ended call.
    async fn ended(&self) -> Result<Vec<ApprovalId>, StoreError> {
        let steps = self.gate.store.steps(&self.context.run_id).await?;
        let has_ended =
            |step: &RunStep| !matches!(step.status, StepStatus::Started | StepStatus::Unknown);
        let ended = steps.into_iter().filter(has_ended).filter_map(|step| match step.gate? {
            GateDecision::Approved { approval_id, .. } => Some(approval_id),
            _ => None,
        });
        Ok(ended.collect())
    }

    /// The time of this run's newest unused approval request for this call.
    fn requested_at(&self, approvals: &[Approval]) -> Option<UnixMs> {
        let of_call = |approval: &&Approval| is_unused_for(approval, self.request);
        approvals.iter().rev().find(of_call).map(|approval| approval.requested_at)
    }

    /// The present surroundings of the call. Relative times in the arguments count from `requested_at`.
    pub(super) async fn surroundings(
        &self,
        tool: &dyn Tool,
        requested_at: UnixMs,
    ) -> Result<Surroundings, CallRefusal> {
        let surroundings =
            tool.surroundings(&self.request.arguments, &self.context_at(requested_at)).await;
        surroundings.map_err(CallRefusal::by_tool)
    }

    fn context_at(&self, requested_at: UnixMs) -> ToolContext {
        ToolContext { requested_at: Some(requested_at), ..self.context.clone() }
    }

    /// Refuses a request of a deleted job, a request that is pending in another run already, and a request beyond the
    /// maximum of pending runs.
    pub(super) async fn check_request(
        &self,
        surroundings: &Surroundings,
    ) -> Result<Result<(), CallRefusal>, StoreError> {
        if let Some(job) = &self.context.job_id
            && !self.gate.store.has_job(job).await?
        {
            return Ok(Err(CallRefusal::new(Refusal::JobDeleted, JOB_GONE)));
        }
        if self.policy.tools.is_attended() {
            return Ok(Ok(()));
        }
        let tool = &self.request.tool;
        let fingerprint = Fingerprint::of(tool, &self.request.arguments, surroundings);
        let pending = self.pending_in_other_runs().await?;
        let is_pending = pending.iter().any(|approval| approval.fingerprint == fingerprint);
        let runs: HashSet<&RunId> = pending.iter().map(|approval| &approval.run_id).collect();
        let runs = runs.len();
        if !is_pending && runs < MAX_PENDING_RUNS {
            return Ok(Ok(()));
        }
        let text = if is_pending {
            format!("An approval of this exact call of {tool} is already pending in an earlier run")
        } else {
            format!("{runs} earlier runs have pending approvals, so {tool} was not called")
        };
        let text = if self.policy.tools.has_written_call() {
            text
        } else {
            format!("{text}. Go on without the call, or end the run.")
        };
        Ok(Err(CallRefusal::new(Refusal::EarlierApprovals, text)))
    }

    /// The pending approvals of other runs: for a job, of runs of the same job; for a heartbeat, of earlier heartbeats.
    /// Chats and trials have no job either, but must not block requests of the heartbeat.
    async fn pending_in_other_runs(&self) -> Result<Vec<Approval>, StoreError> {
        let Self { gate, context, .. } = self;
        let mut pending = gate.store.pending_approvals().await?;
        pending.retain(|approval| {
            approval.job_id == context.job_id && approval.run_id != context.run_id
        });
        if context.job_id.is_some() {
            return Ok(pending);
        }
        let mut of_heartbeats = Vec::new();
        for approval in pending {
            let run = gate.store.run(&approval.run_id).await?;
            if run.is_some_and(|run| run.trigger == RunTrigger::Heartbeat) {
                of_heartbeats.push(approval);
            }
        }
        Ok(of_heartbeats)
    }

    /// The refusal in a job that requests no approvals.
    fn policy_refusal(&self, setting: Approvals) -> String {
        let tool = &self.request.tool;
        let text = if self.policy.tools.has_written_call() {
            self.reason.refusal_for_person(tool, setting)
        } else if let ApprovalReason::Hook(reason) = self.reason {
            format!("{} {}", sentence(reason), denial_without_request(tool))
        } else {
            denial_without_request(tool)
        };
        self.with_suspicion(text)
    }

    fn with_suspicion(&self, text: String) -> String {
        match &self.suspicion {
            Some(suspicion) => format!("{} {suspicion}", sentence(&text)),
            None => text,
        }
    }

    /// The request that is not stored yet.
    pub(super) async fn approval(
        &self,
        tool: &dyn Tool,
        surroundings: Surroundings,
        is_highest: bool,
        approvals: &[Approval],
        now: UnixMs,
    ) -> Approval {
        let Self { gate, policy, request, context, .. } = self;
        let fingerprint = Fingerprint::of(&request.tool, &request.arguments, &surroundings);
        let ungranted = if self.reason.is_hook() {
            Some(NO_GRANT_FOR_HOOK.to_owned())
        } else {
            surroundings.ungranted.clone()
        };
        // The preview hides no parameter: a person must see all that would be sent.
        let preview = tool.preview(&request.arguments, &self.context_at(now)).await;
        let wait = i64::try_from(policy.approval_timeout.as_millis()).unwrap_or(i64::MAX);
        Approval {
            id: ApprovalId::generate(now),
            run_id: context.run_id.clone(),
            job_id: context.job_id.clone(),
            job_name: context.job_name.clone(),
            call_id: request.id.clone(),
            tool: request.tool.clone(),
            arguments: request.arguments.clone(),
            surroundings: Surroundings { ungranted, ..surroundings },
            fingerprint,
            preview: gate.safety.redact_stored(&preview),
            reason: self.request_reason(tool.spec(), is_highest, approvals),
            is_highest,
            requested_at: now,
            expires_at: now.plus_ms(wait),
            state: ApprovalState::Pending,
            decided_from: None,
            used_at: None,
            input: None,
        }
    }

    /// The reason in the request.
    fn request_reason(&self, spec: &ToolSpec, is_highest: bool, approvals: &[Approval]) -> String {
        let of_call = |approval: &&Approval| {
            is_unused_for(approval, self.request) && approval.has_unused_decision()
        };
        let newest = approvals.iter().rev().find(of_call).map(|approval| &approval.state);
        let text = if matches!(newest, Some(ApprovalState::Approved { .. })) {
            "You approved this call before, but the folder, environment or files have changed since."
                .to_owned()
        } else {
            self.reason.text(spec, is_highest, self.context.job_id.is_some())
        };
        self.with_suspicion(text)
    }
}

fn is_approved(approval: &Approval) -> bool {
    matches!(approval.state, ApprovalState::Approved { .. } | ApprovalState::Covered { .. })
}
