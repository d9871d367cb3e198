//! Authorization of a call: schema, policy, and the decision about an approval.
//!
//! Owns the input of `core::policy`: the tool's rule for these arguments, the run's taint, and approvals that hooks
//! require. `approval_check` continues if an approval is needed. Pitfall: using the tool's general rule; the rule for this
//! call may differ.

use std::sync::Arc;

use rouse_core::approval::{Approval, Authorization, Refusal};
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::{ApprovedCall, PolicyVerdict};
use rouse_core::tool::{ApprovalRule, Tool, ToolContext, ToolSpec};
use rouse_store::StoreError;

use super::approval_check::{ApprovalCheck, is_unused_for};
use super::approval_reason::{ApprovalReason, Taint};
use super::hook_check::PendingCall;
use super::refusal::CallRefusal;
use super::types::{Gate, GateStop, RunPolicy};

impl Gate {
    /// The tool of a call with valid arguments.
    pub(super) fn validate(
        &self,
        policy: &RunPolicy,
        request: &ToolCallRequest,
    ) -> Result<Arc<dyn Tool>, GateStop> {
        let name = &request.tool;
        let tools = self.tools();
        let Some(entry) = tools.entry(name) else {
            let offered = tools.offered(&policy.tools).into_iter().map(|spec| spec.name);
            let offered = offered.collect::<Vec<_>>().join(", ");
            let text =
                format!("There is no tool called {name}. The tools of this run are: {offered}.");
            return Err(CallRefusal::new(Refusal::UnknownTool, text).into());
        };
        if let Some(complaints) = entry.schema_errors(&request.arguments) {
            let schema = &entry.tool.spec().parameters;
            let text = format!(
                "The arguments of {name} do not match its schema.\n{complaints}\nRepeat the call with a JSON object of this schema: {schema}"
            );
            return Err(CallRefusal::new(Refusal::InvalidArguments, text).into());
        }
        Ok(Arc::clone(&entry.tool))
    }

    /// The approved call with its permit; no permit if no approval is needed.
    pub(super) async fn authorize(
        &self,
        policy: &RunPolicy,
        pending: &mut PendingCall,
        tool: &Arc<dyn Tool>,
        suspicion: Option<String>,
        context: &ToolContext,
    ) -> Result<(ApprovedCall, Option<Authorization>), GateStop> {
        let request = &pending.request;
        let rule = tool.approval(&request.arguments, context);
        let is_free_egress =
            rule == ApprovalRule::Never && tool.has_egress(&request.arguments, context);
        let taint = if is_free_egress { self.taint(policy, context).await? } else { None };
        let reason = match (&pending.required_approval, taint, &pending.rewritten_by) {
            (Some(reason), ..) => ApprovalReason::Hook(reason),
            (None, Some(taint), _) => ApprovalReason::Taint(taint),
            (None, None, Some(hook)) => ApprovalReason::RewrittenBy(hook),
            (None, None, None) => ApprovalReason::Tool,
        };
        let needs_person = reason.is_hook() || taint.is_some() || suspicion.is_some();
        let approval = if needs_person { rule.max(ApprovalRule::UnlessGranted) } else { rule };
        let spec = ToolSpec { approval, ..tool.spec().clone() };
        let arguments = request.arguments.clone();
        let verdict = if reason.is_hook() {
            policy.tools.judge_for_hook(&spec, arguments)
        } else {
            policy.tools.judge(&spec, arguments)
        };
        let (call, permit) = match verdict {
            PolicyVerdict::Denied(denial) => return Err(CallRefusal::from(denial).into()),
            PolicyVerdict::NeedsApproval(needed) => {
                let check =
                    ApprovalCheck { gate: self, policy, request, context, reason, suspicion };
                let (call, permit) = check.decide(tool.as_ref(), needed).await?;
                (call, Some(permit))
            }
            PolicyVerdict::Allowed(call) => (call, None),
        };
        if permit.is_none() && pending.required_approval.is_none() {
            pending.required_approval = self.decided_reason(&pending.request, context).await?;
            if pending.required_approval.is_some() {
                return Err(GateStop::Restart);
            }
        }
        pending.is_approved = matches!(permit, Some(Authorization::Approval(_)));
        Ok((call, permit))
    }

    /// The reason of this run's decided and unused approval for exactly this call. The decision holds even if no hook
    /// requires an approval any more.
    async fn decided_reason(
        &self,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<Option<String>, StoreError> {
        let approvals = self.store.approvals_of_run(&context.run_id).await?;
        let is_decided =
            |approval: &Approval| is_unused_for(approval, request) && approval.state.is_decided();
        Ok(approvals.into_iter().rev().find(is_decided).map(|approval| approval.reason))
    }

    /// The taint of the run, if any. A written call counts as untainted.
    pub(crate) async fn taint(
        &self,
        policy: &RunPolicy,
        context: &ToolContext,
    ) -> Result<Option<Taint>, StoreError> {
        if policy.tools.has_written_call() {
            return Ok(None);
        }
        let tools = self.tools();
        let has_read =
            self.store.has_read_untrusted(&context.run_id, &tools.trusted_tools()).await?;
        let earlier_taint = policy.is_tainted.then_some(Taint::BeforeRun);
        Ok(if has_read { Some(Taint::Read) } else { earlier_taint })
    }
}
