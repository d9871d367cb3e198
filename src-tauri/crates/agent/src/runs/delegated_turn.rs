//! The agent turn of a job whose task goes to a coding agent.
//!
//! Owns the single call of `delegate` that is the whole run, and the outcome of the agent's report. The call is the
//! person's own if the person wrote the message and no event fired the run; otherwise it needs an approval or a grant.
//! Pitfall: a success without a report; a report that is empty or a question fails.

use std::time::Duration;

use rouse_core::extension::{DELEGATE, ExtensionName};
use rouse_core::job::AgentTurn;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run, Usage};
use rouse_core::turn::outcome_of_report;
use rouse_core::{Cause, Job};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::AgentDriver;
use super::call_outcome::call_outcome;
use super::single_call::call_request;
use crate::budget::CallEstimate;
use crate::context::prompt::{approval_time_limit, event_part, sandbox_of};
use crate::gate::RunPolicy;
use crate::turn::end::{TurnEnd, cancelled};

impl AgentDriver {
    /// Gives the message of `turn` to a coding agent.
    pub async fn run_delegated_turn(
        &self,
        run: &Run,
        job: &Job,
        turn: &AgentTurn,
        agent: &ExtensionName,
        cancel: &CancellationToken,
    ) -> Outcome {
        if cancel.is_cancelled() {
            return cancelled();
        }
        let outcome = self.delegated_turn(run, job, turn, agent, cancel).await;
        outcome.unwrap_or_else(TurnEnd::into_outcome)
    }

    async fn delegated_turn(
        &self,
        run: &Run,
        job: &Job,
        turn: &AgentTurn,
        agent: &ExtensionName,
        cancel: &CancellationToken,
    ) -> Result<Outcome, TurnEnd> {
        if !self.has_coding_agent(agent) {
            return Err(TurnEnd::with(Outcome::failed(format!(
                "The coding agent {agent} is not installed, or switched off. Install it with `rouse agents add {agent}`, or switch it on with `rouse extensions enable {agent}`."
            ))));
        }
        let cause = self.runtime.store.cause(&run.id).await?;
        let arguments = self.task_of(turn, agent, cause.as_ref());
        let account = self.account(run, Some(job));
        // The cost of the task is unknown before its end; an exhausted budget refuses the start.
        account.admit(CallEstimate::of_cost(0), cancel).await?;
        let is_written = job.is_message_by_person() && cause.is_none();
        let tools = if is_written {
            ToolPolicy::for_written_call(DELEGATE, &arguments)
        } else {
            ToolPolicy::for_tools(Some(vec![DELEGATE.to_owned()]))
        };
        let policy = RunPolicy {
            budgets: Some(account),
            tools: tools.with_approvals(job.policies.approvals),
            approval_timeout: approval_time_limit(Some(job)),
            is_tainted: !is_written,
            rate_limit_wait: Duration::ZERO,
        };
        let context = self.tool_context(run, Some(job), sandbox_of(job));
        let request = call_request(DELEGATE, &arguments);
        let called = self.single_call(run, &policy, request, &context, cancel).await?;
        if called.output.is_error() {
            return Ok(call_outcome(called));
        }
        let cost_micro_usd = called.output.cost_micro_usd;
        let report = called.output.value["result"].as_str().unwrap_or_default();
        let usage = Usage { cost_micro_usd, ..Usage::default() };
        Ok(Outcome { usage, ..outcome_of_report(agent.as_str(), report) })
    }

    fn has_coding_agent(&self, agent: &ExtensionName) -> bool {
        let tool = self.runtime.gate.tools().get(DELEGATE);
        tool.is_some_and(|tool| {
            let agents = &tool.spec().parameters["properties"]["agent"]["enum"];
            agents.as_array().is_some_and(|agents| agents.iter().any(|name| name == agent.as_str()))
        })
    }

    /// The arguments of the call: the message, the names of the context files and the event.
    fn task_of(&self, turn: &AgentTurn, agent: &ExtensionName, cause: Option<&Cause>) -> Value {
        let mut parts = vec![turn.message.clone()];
        if !turn.context_paths.is_empty() {
            parts.push(format!("Read these files first: {}", turn.context_paths.join(", ")));
        }
        parts.extend(cause.map(|cause| event_part(&self.runtime.gate, cause)));
        let mut arguments = json!({ "agent": agent, "task": parts.join("\n\n") });
        if let Some(cwd) = &turn.cwd {
            arguments["cwd"] = cwd.as_str().into();
        }
        arguments
    }
}
