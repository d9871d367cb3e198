//! The gate: the checks that every tool call passes, whether a model or a `toolCall` job makes it.
//!
//! Owns the order of the checks, which [`Gate::check`] and [`Gate::execute`] state: schema, secrets, policy, grant or
//! approval, rate limit, budget, hooks, sandbox, journal, call, safety layer, journal. Never calls a tool without an
//! `ApprovedCall`, which only `core::policy` makes. A refused call is journalled, and the model gets the reason as an error
//! that it can correct. A call that requests input is not finished: the result has the approval for the answer, and the same
//! call is made again with it. Pitfall: using up a permit outside the transaction that journals the start of the call; a
//! crash would use it twice or never.

pub(crate) mod hook_check;
mod approval_check;
mod approval_reason;
mod authorization;
mod call_end;
mod input_request;
mod rate_limit;
mod refusal;
mod screening;
mod types;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use rouse_core::Clock;
use rouse_core::approval::{Authorization, GateDecision, Refusal};
use rouse_core::attachment::Attachment;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::ApprovedCall;
use rouse_core::text::flatten_deep;
use rouse_core::tool::{Annotations, RateLimit, Tool, ToolContext, ToolOutput};
use rouse_store::{NewStep, RunStep, StepKind, StepStatus, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::budget::{BudgetError, BudgetReservation, CallEstimate};
use crate::condition::ConditionEvaluator;
use crate::heartbeat_list::HeartbeatList;
use crate::hooks::Hooks;
use crate::safety::{Safety, ScreenedOutput};
use crate::tool_registry::{ToolRegistry, ToolSet};
use call_end::{CallEnd, step_end};
use hook_check::PendingCall;
use rate_limit::{RateLimits, RatePermit};
pub(crate) use refusal::CallRefusal;
use refusal::journal_name;
use types::GateStop;
pub(crate) use types::{AdmittedCall, GateAdmission};
pub use types::{ApprovalRequest, Gate, GateError, GateOutcome, GatedCall, RunPolicy};

/// The time limit for ending orphan processes of a call: shorter than the scheduler's limit for a cancelled run.
const CLEANUP_TIMEOUT: Duration = Duration::from_millis(1_750);

/// The longest tool name in the journal, in characters.
const TOOL_NAME_LENGTH: usize = 200;

impl Gate {
    /// A gate over `tools`, without secrets and hooks.
    #[must_use]
    pub fn new(tools: impl Into<Arc<ToolRegistry>>, store: Store, clock: Arc<dyn Clock>) -> Self {
        let limits = Arc::new(RateLimits::new(&store, &clock));
        let list = Arc::new(HeartbeatList::new(store.clone(), Arc::clone(&clock)));
        Self {
            registry: tools.into(),
            run_tools: None,
            limits,
            conditions: ConditionEvaluator::default(),
            safety: Safety::new(Arc::default()),
            hooks: Hooks::default(),
            list,
            store,
            clock,
        }
    }

    /// The same gate with these secrets and hooks.
    #[must_use]
    pub fn guarded_by(self, safety: Safety, hooks: Hooks) -> Self {
        Self { safety, hooks, ..self }
    }

    /// The safety layer.
    #[must_use]
    pub const fn safety(&self) -> &Safety {
        &self.safety
    }

    /// The hooks.
    #[must_use]
    pub const fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// The provenance of HEARTBEAT.md.
    #[must_use]
    pub fn list(&self) -> &HeartbeatList {
        &self.list
    }

    /// The evaluator of `notifyWhen` conditions.
    #[must_use]
    pub const fn conditions(&self) -> &ConditionEvaluator {
        &self.conditions
    }

    /// The tools behind the gate: of the run, or the current tools.
    #[must_use]
    pub fn tools(&self) -> Arc<ToolSet> {
        self.run_tools.clone().unwrap_or_else(|| self.registry.current())
    }

    /// The gate of a run, which keeps the current tools.
    #[must_use]
    pub fn for_run(&self) -> Self {
        Self { run_tools: Some(self.registry.current()), ..self.clone() }
    }

    /// Makes or refuses a call, or returns the required approval.
    ///
    /// # Errors
    /// When the journal cannot be written, or `cancel` is cancelled while the tool works.
    pub async fn call(
        &self,
        policy: &RunPolicy,
        request: &ToolCallRequest,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> Result<GateOutcome, GateError> {
        let call = match self.admit(policy, request, context).await? {
            GateAdmission::NeedsApproval(request) => {
                return Ok(GateOutcome::NeedsApproval(request));
            }
            GateAdmission::Refused(call) => *call,
            GateAdmission::RateLimited { refusal, .. } => {
                self.refuse(request, context, *refusal).await?
            }
            GateAdmission::Admitted(admitted) => {
                self.execute(*admitted, policy, context, cancel).await?
            }
        };
        Ok(GateOutcome::Called(Box::new(call)))
    }

    /// The first half of a call: all checks, then the start in the journal.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) async fn admit(
        &self,
        policy: &RunPolicy,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<GateAdmission, GateError> {
        let mut pending = PendingCall::new(request);
        let refusal = loop {
            match self.check(policy, &mut pending, context).await {
                Ok(admitted) => return Ok(GateAdmission::Admitted(Box::new(admitted))),
                Err(GateStop::NeedsApproval(needed)) => {
                    return Ok(GateAdmission::NeedsApproval(needed));
                }
                Err(GateStop::Failed(error)) => return Err(error),
                Err(GateStop::Restart) => {}
                Err(GateStop::Refused(refusal)) => break *refusal,
            }
        };
        if let Some(wait) = refusal.rate_limit_wait().filter(|wait| *wait <= policy.rate_limit_wait)
        {
            return Ok(GateAdmission::RateLimited { wait, refusal: Box::new(refusal) });
        }
        let refusal = CallRefusal { rewritten_by: pending.rewritten_by, ..refusal };
        let refused = self.refuse(&pending.request, context, refusal).await?;
        Ok(GateAdmission::Refused(Box::new(refused)))
    }

    /// Runs all checks in order. If a hook rewrites the pending call or requires an approval, the checks start again.
    async fn check(
        &self,
        policy: &RunPolicy,
        pending: &mut PendingCall,
        context: &ToolContext,
    ) -> Result<AdmittedCall, GateStop> {
        let tool = self.validate(policy, &pending.request)?;
        let suspicion = self.screen(policy, tool.as_ref(), &pending.request, context).await?;
        let (call, permit) = self.authorize(policy, pending, &tool, suspicion, context).await?;
        let rate = tool.spec().rate;
        let rate_permit = self.take_rate_permit(policy, &pending.request, rate, context).await?;
        let reservation = self.reserve_budget(policy, tool.as_ref(), &call).await?;
        self.consult_hooks(pending, context).await?;
        let sandbox = self.narrower_sandbox(policy, tool.as_ref(), context).await?;

        let annotations = tool.annotations(call.arguments());
        let is_written = policy.is_written_call(&pending.request);
        let hook = pending.rewritten_by.as_ref().map(|hook| journal_name(&self.safety, hook));
        let gate = GateDecision::for_made_call(permit.as_ref(), is_written, hook);
        let step = NewStep { gate, ..self.new_step(&pending.request, context, Some(annotations)) };
        let step = self.begin_step(step, permit.as_ref()).await?;
        if let Some(rate_permit) = rate_permit {
            rate_permit.consume();
        }
        let was_approved = is_written || pending.is_approved;
        let request = pending.request.clone();
        Ok(AdmittedCall {
            tool,
            request,
            call,
            step,
            annotations,
            sandbox,
            reservation,
            was_approved,
        })
    }

    /// Takes a permit of the tool's rate limit. A call that is not made releases it. A written call needs no permit: the
    /// job's schedule, cooldown and overlap policy limit the call.
    async fn take_rate_permit(
        &self,
        policy: &RunPolicy,
        request: &ToolCallRequest,
        rate: RateLimit,
        context: &ToolContext,
    ) -> Result<Option<RatePermit<'_>>, GateStop> {
        if policy.is_written_call(request) {
            return Ok(None);
        }
        let may_wait = !policy.rate_limit_wait.is_zero();
        let taken = self.limits.take(&request.tool, rate, &context.run_id, may_wait).await?;
        Ok(taken.map_err(|wait| CallRefusal::rate_limited(&request.tool, wait))?)
    }

    /// Reserves the estimated cost of a call.
    async fn reserve_budget(
        &self,
        policy: &RunPolicy,
        tool: &dyn Tool,
        call: &ApprovedCall,
    ) -> Result<Option<BudgetReservation>, GateStop> {
        let estimate = tool.estimated_cost_micro_usd(call.arguments());
        let (Some(cost), Some(budgets)) = (estimate, &policy.budgets) else { return Ok(None) };
        match budgets.admit(CallEstimate::of_cost(cost), &CancellationToken::new()).await {
            Ok((reservation, _)) => Ok(Some(reservation)),
            Err(BudgetError::Budget(stop)) => {
                Err(CallRefusal::new(Refusal::Budget, stop.words).into())
            }
            Err(BudgetError::Cancelled) => Err(GateStop::Failed(GateError::Cancelled)),
            Err(BudgetError::Store(error)) => Err(error.into()),
        }
    }

    /// Whether the call may run in parallel with others: read-only and without egress. A call with egress waits for
    /// earlier calls, because they may taint the run.
    pub(crate) fn is_parallel(&self, request: &ToolCallRequest, context: &ToolContext) -> bool {
        self.tools().get(&request.tool).is_some_and(|tool| {
            tool.annotations(&request.arguments).read_only
                && !tool.has_egress(&request.arguments, context)
        })
    }

    /// The approval that a call would need, without making the call.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn approval_request(
        &self,
        policy: &RunPolicy,
        request: &ToolCallRequest,
        context: &ToolContext,
    ) -> Result<Option<ApprovalRequest>, GateError> {
        let mut pending = PendingCall::new(request);
        let authorized = async {
            let tool = self.validate(policy, request)?;
            let suspicion = self.screen(policy, tool.as_ref(), request, context).await?;
            self.authorize(policy, &mut pending, &tool, suspicion, context).await
        };
        match authorized.await {
            Err(GateStop::NeedsApproval(needed)) => Ok(Some(*needed)),
            Err(GateStop::Failed(error)) => Err(error),
            Ok(_) | Err(GateStop::Refused(_) | GateStop::Restart) => Ok(None),
        }
    }

    /// Journals a refused call and notifies the hooks.
    pub(crate) async fn refuse(
        &self,
        request: &ToolCallRequest,
        context: &ToolContext,
        refusal: CallRefusal,
    ) -> Result<GatedCall, StoreError> {
        let gate = Some(refusal.decision(&self.safety));
        let step = NewStep { gate, ..self.new_step(request, context, None) };
        let step = self.store.begin_step(&step, self.clock.now()).await?;
        let output = self.safety.redact_output(refusal.output);
        let end = step_end(StepStatus::Failed, &output, 0);
        self.store.end_step(&context.run_id, step, &end, self.clock.now()).await?;
        let arguments = self.arguments_for_journal(&request.tool, &request.arguments);
        self.notify_hooks(&request.tool, arguments, &output, 0, context);
        Ok(GatedCall {
            step,
            model_output: output.clone(),
            output,
            reached_tool: false,
            is_repeatable: true,
            refusal: Some(refusal.kind),
            input_approval: None,
        })
    }

    /// Journals the start of a call and uses up the permit. If the permit was used or revoked meanwhile, the checks start
    /// again.
    async fn begin_step(
        &self,
        step: NewStep,
        permit: Option<&Authorization>,
    ) -> Result<u32, GateStop> {
        let now = self.clock.now();
        let Some(permit) = permit else { return Ok(self.store.begin_step(&step, now).await?) };
        let begun = self.store.begin_permitted_step(&step, permit, now).await?;
        begun.ok_or(GateStop::Restart)
    }

    /// The journalled result of a call, in the form for the model.
    pub(crate) fn replayed_result(&self, step: &RunStep) -> ToolOutput {
        let value = step.output.clone().unwrap_or_default();
        let output = if step.is_error {
            ToolOutput { value, ..ToolOutput::error("") }
        } else {
            ToolOutput::ok(value)
        };
        // The result of a tool that is no longer there is untrusted.
        let tool = self.tools().get(&step.name);
        let is_untrusted = tool.is_none_or(|tool| tool.spec().untrusted_output);
        self.safety.screen_output(&step.name, is_untrusted, output).model_output
    }

    /// The second half of a call: the execution, then the end in the journal. A call that requests input has an approval
    /// for the answer.
    ///
    /// # Errors
    /// When the journal cannot be written, or `cancel` is cancelled while the tool works.
    pub(crate) async fn execute(
        &self,
        admitted: AdmittedCall,
        policy: &RunPolicy,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> Result<GatedCall, GateError> {
        let AdmittedCall { tool, request, call, step, annotations, sandbox, .. } = admitted;
        let narrowed = sandbox.map(|sandbox| ToolContext { sandbox, ..context.clone() });
        let context = narrowed.as_ref().unwrap_or(context);
        let (tool, spec) = (tool.as_ref(), tool.spec());
        let is_repeatable = annotations.is_repeatable();
        let began = self.clock.monotonic();
        let progress = context.progress.of_call(step, &spec.name);
        let context = &ToolContext { progress, ..context.clone() };
        let arguments = self.arguments_for_journal(&spec.name, call.arguments());
        let estimate = tool.estimated_cost_micro_usd(call.arguments());
        let watched = self.watch_list(tool, annotations, context).await?;
        let (end, has_secret) = match self.fill_handles(tool, call) {
            Ok(call) => {
                let has_secret = call.has_values();
                (self.call_within_limits(tool, call, context, cancel).await, has_secret)
            }
            Err(refusal) => (CallEnd::Returned(*refusal), false),
        };
        self.unwatch_list(watched, tool, admitted.was_approved, context).await?;
        let (end, input_approval) =
            self.take_input_request(end, policy, &request, tool, context).await?;
        let took = self.clock.monotonic().saturating_sub(began);
        let duration_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        let was_cancelled = matches!(end, CallEnd::Cancelled);
        let (status, output) = end.outcome(spec, is_repeatable);
        let output = ToolOutput { value: flatten_deep(output.value), ..output };
        let (name, is_untrusted) = (spec.name.clone(), spec.untrusted_output);
        let scan = move |safety: &Safety| safety.screen_output(&name, is_untrusted, output);
        let ScreenedOutput { mut output, mut model_output, signals } =
            self.safety.off_thread(scan).await;
        let cost = output.cost_micro_usd.or(estimate);
        (output.cost_micro_usd, model_output.cost_micro_usd) = (cost, cost);
        let end = step_end(status, &output, duration_ms);
        // No redaction reads an image.
        let files: &[Attachment] = if has_secret { &[] } else { &output.attachments };
        self.store.end_call(&context.run_id, step, &end, files, self.clock.now()).await?;
        drop(admitted.reservation);
        self.note_signals(&spec.name, &signals, context).await?;
        self.notify_hooks(&spec.name, arguments, &output, duration_ms, context);
        if was_cancelled {
            return Err(GateError::Cancelled);
        }
        Ok(GatedCall {
            step,
            output,
            model_output,
            reached_tool: true,
            is_repeatable,
            refusal: None,
            input_approval,
        })
    }

    /// Calls the tool with a time limit, then ends its orphan processes, so that the next run of the job does not start
    /// beside them.
    async fn call_within_limits(
        &self,
        tool: &dyn Tool,
        call: ApprovedCall,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> CallEnd {
        let calling = AssertUnwindSafe(tool.call(call, context)).catch_unwind();
        let timed = tokio::time::timeout(tool.spec().call_for, calling);
        let end = match cancel.run_until_cancelled(timed).await {
            None => CallEnd::Cancelled,
            Some(Err(_)) => CallEnd::TimedOut,
            Some(Ok(Err(_))) => CallEnd::Panicked,
            Some(Ok(Ok(output))) => CallEnd::Returned(output),
        };
        let cleanup = join_all(context.pending_cleanup.take());
        if tokio::time::timeout(CLEANUP_TIMEOUT, cleanup).await.is_err() {
            tracing::warn!(tool = %tool.spec().name, "orphan processes of a call did not end in time");
        }
        end
    }

    fn new_step(
        &self,
        request: &ToolCallRequest,
        context: &ToolContext,
        annotations: Option<Annotations>,
    ) -> NewStep {
        NewStep {
            call_id: Some(request.id.clone()),
            run_id: context.run_id.clone(),
            kind: StepKind::ToolCall,
            repeatable: annotations.is_none_or(Annotations::is_repeatable),
            name: request.tool.chars().take(TOOL_NAME_LENGTH).collect(),
            input: self.arguments_for_journal(&request.tool, &request.arguments),
            gate: None,
        }
    }
}
