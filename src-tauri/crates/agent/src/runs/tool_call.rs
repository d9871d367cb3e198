//! A job's `toolCall`: a single call through the gate, without a model.
//!
//! The call is the person's own: written by the person, with the person's rights. If a hook asks for an approval or
//! rewrites the call, the job's approval policy decides. A notification of the tool becomes the run's result, so the
//! run is announced once.

use std::time::Duration;

use rouse_core::Job;
use rouse_core::job::ToolCall;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{SandboxMode, ToolContext};
use tokio_util::sync::CancellationToken;

use super::AgentDriver;
use super::call_outcome::{call_outcome, with_bounded_result};
use super::single_call::call_request;
use crate::budget::{CallEstimate, RunBudgets};
use crate::context::prompt::approval_time_limit;
use crate::gate::RunPolicy;
use crate::turn::end::{TurnEnd, cancelled};

impl AgentDriver {
    /// Carries out the `toolCall` of `job`.
    pub async fn run_tool_call(
        &self,
        run: &Run,
        job: &Job,
        call: &ToolCall,
        cancel: &CancellationToken,
    ) -> Outcome {
        if cancel.is_cancelled() {
            return cancelled();
        }
        let outcome = self.job_tool_call(run, job, call, cancel).await;
        outcome.unwrap_or_else(TurnEnd::into_outcome)
    }

    async fn job_tool_call(
        &self,
        run: &Run,
        job: &Job,
        call: &ToolCall,
        cancel: &CancellationToken,
    ) -> Result<Outcome, TurnEnd> {
        let cause = self.runtime.store.cause(&run.id).await?;
        let by_person = SandboxMode::ByPersonUnsandboxed { hosts: job.policies.hosts.clone() };
        let context = ToolContext {
            event: cause.map(|cause| cause.to_bounded_json()),
            ..self.tool_context(run, Some(job), by_person)
        };
        let account = self.account(run, Some(job));
        self.check_budget(&account, call, cancel).await?;
        let policy = RunPolicy {
            budgets: Some(account),
            tools: ToolPolicy::for_written_call(&call.tool, &call.arguments)
                .with_approvals(job.policies.approvals),
            approval_timeout: approval_time_limit(Some(job)),
            is_tainted: false,
            rate_limit_wait: Duration::ZERO,
        };
        let request = call_request(&call.tool, &call.arguments);
        let called = self.single_call(run, &policy, request, &context, cancel).await?;
        // The condition sees the whole, unbounded result.
        let outcome = self.with_verdict(run, job, call, call_outcome(called)).await?;
        Ok(with_bounded_result(outcome))
    }

    /// Ends the run if no budget has room for the call.
    async fn check_budget(
        &self,
        account: &RunBudgets,
        call: &ToolCall,
        cancel: &CancellationToken,
    ) -> Result<(), TurnEnd> {
        let tool = self.runtime.gate.tools().get(&call.tool);
        let cost = tool.and_then(|tool| tool.estimated_cost_micro_usd(&call.arguments));
        if let Some(cost) = cost {
            account.admit(CallEstimate::of_cost(cost), cancel).await?;
        }
        Ok(())
    }
}
