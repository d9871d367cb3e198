//! Hooks at the gate: they can deny a call, require an approval, or rewrite the call.
//!
//! Owns a pending call during the checks. A rewritten call starts at the first check again. Pitfall: obeying a hook that
//! requires an approval for a call that was just approved; the checks would never end.

use rouse_core::approval::{HookDenial, Refusal};
use rouse_core::message::ToolCallRequest;
use rouse_core::tool::{ToolContext, ToolOutput};
use rouse_core::turn::COMPLETE_RUN;
use serde_json::Value;

use super::refusal::CallRefusal;
use super::types::{Gate, GateStop};
use crate::hooks::{HookContext, HookVerdict, ToolCallEnded, ToolCallEvent};

/// Maximum rewrites of a call by hooks.
const MAX_REWRITES: usize = 4;

/// A call during the checks.
pub(super) struct PendingCall {
    /// The call, as rewritten by hooks.
    pub(super) request: ToolCallRequest,
    rewrites: usize,
    /// The reason of an approval that only a hook requires.
    pub(super) required_approval: Option<String>,
    /// Whether a person has approved the call.
    pub(super) is_approved: bool,
    /// The hook that rewrote the call last.
    pub(super) rewritten_by: Option<String>,
}

impl PendingCall {
    pub(super) fn new(request: &ToolCallRequest) -> Self {
        Self {
            request: request.clone(),
            rewrites: 0,
            required_approval: None,
            is_approved: false,
            rewritten_by: None,
        }
    }

    /// Applies the arguments of a hook. An approval of the original call does not cover the rewritten call.
    fn rewrite(&mut self, arguments: Value, hook: String) {
        self.rewrites += 1;
        self.request.arguments = arguments;
        let had_approval = self.required_approval.is_some() || self.is_approved;
        self.is_approved = false;
        self.required_approval = had_approval.then(|| {
            format!("The hook {hook} rewrote a call for which an approval was requested.")
        });
        self.rewritten_by = Some(hook);
    }
}

impl Gate {
    /// Consults the hooks. Hooks cannot deny the end of a run; `before_delivery` consults the hooks about the report.
    pub(super) async fn consult_hooks(
        &self,
        pending: &mut PendingCall,
        context: &ToolContext,
    ) -> Result<(), GateStop> {
        if pending.request.tool == COMPLETE_RUN || self.hooks.are_none() {
            return Ok(());
        }
        let call = ToolCallEvent {
            tool: pending.request.tool.clone(),
            arguments: pending.request.arguments.clone(),
            context: hook_context(context),
        };
        match self.hooks.before_tool_call(&call).await {
            HookVerdict::Allow => Ok(()),
            HookVerdict::Deny { text, hook, kind } => {
                Err(CallRefusal::new(Refusal::Hook { hook, how: kind }, text).into())
            }
            // A person has approved exactly this call already.
            HookVerdict::RequireApproval(_) if pending.required_approval.is_some() => Ok(()),
            HookVerdict::RequireApproval(reason) => {
                pending.required_approval = Some(reason);
                Err(GateStop::Restart)
            }
            HookVerdict::Rewritten { hook, .. } if pending.rewrites == MAX_REWRITES => {
                let kind = Refusal::Hook { hook, how: HookDenial::RewriteLimit };
                let text = format!("Hooks rewrote this call more than {MAX_REWRITES} times.");
                Err(CallRefusal::new(kind, text).into())
            }
            HookVerdict::Rewritten { arguments, hook } => {
                pending.rewrite(arguments, hook);
                Err(GateStop::Restart)
            }
        }
    }

    /// Notifies the hooks of a call that has ended.
    pub(super) fn notify_hooks(
        &self,
        tool: &str,
        arguments: Value,
        output: &ToolOutput,
        duration_ms: i64,
        context: &ToolContext,
    ) {
        self.hooks.after_tool_call(ToolCallEnded {
            tool: tool.to_owned(),
            arguments,
            output: output.value.clone(),
            is_error: output.is_error(),
            duration_ms,
            context: hook_context(context),
        });
    }
}

/// The run's context, for hooks.
pub(crate) fn hook_context(context: &ToolContext) -> HookContext {
    HookContext::of(&context.run_id, context.job_id.as_ref(), &context.workspace)
}
