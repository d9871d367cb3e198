//! A call that a person tries a tool with: one call through the gate, without a model and without a job.
//!
//! Owns its terms. It is judged as a call of a model in the conversation would be: in the sandbox, within the tool's
//! rates, and asked about when it changes something, with the same card. So it shows what a run would meet, and what the
//! tool would do is seen before it is done. The hosts of the URLs that the person has written are named by the person.
//! It refuses to read a written call as a yes, as a job's own call is: there the person has saved it and looked at it.

use rouse_core::approval::ApprovalState;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run, RunState};
use rouse_core::tool::ToolContext;
use rouse_store::StoreError;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::context::{named_hosts, question_for};
use super::{AgentDriver, CONFINED, cancelled, not_written};
use crate::gate::{GateError, Passage, Terms};

impl AgentDriver {
    /// Carries out a call of `tool` that a person tries.
    pub async fn run_trial(
        &self,
        run: &Run,
        tool: &str,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Outcome {
        if cancel.is_cancelled() {
            return cancelled();
        }
        let named_hosts = hosts_in(arguments);
        let context = ToolContext { named_hosts, ..self.tool_context(run, None, CONFINED) };
        let policy = ToolPolicy::of_tools(Some(vec![tool.to_owned()]));
        let terms = Terms {
            account: Some(self.account(run, None)),
            policy,
            question_for: question_for(None),
            knows_outside: false,
        };
        let (tool, arguments) = (tool.to_owned(), arguments.clone());
        let request = ToolCallRequest { id: "call".to_owned(), tool, arguments };
        match self.gate.call(&terms, &request, &context, cancel).await {
            Ok(Passage::Asks(question)) => {
                Outcome { asks: vec![question.approval], ..Outcome::of(RunState::AwaitingApproval) }
            }
            Ok(Passage::Called(called)) if called.reached_tool => {
                self.outcome_of(&request.tool, &request.arguments, *called)
            }
            Ok(Passage::Called(called)) => match self.without_a_yes(run).await {
                Ok(Some(why)) => Outcome { reason: Some(why), ..Outcome::of(RunState::Cancelled) },
                Ok(None) => self.outcome_of(&request.tool, &request.arguments, *called),
                Err(error) => not_written(&error),
            },
            Err(GateError::Cancelled) => cancelled(),
            Err(GateError::Journal(error)) => not_written(&error),
        }
    }

    /// Why the call was not made, when the person was asked and has not said yes. What the gate says is for a model.
    async fn without_a_yes(&self, run: &Run) -> Result<Option<String>, StoreError> {
        let asked = self.store.approvals_of(&run.id).await?;
        let why = match asked.last().map(|asked| &asked.state) {
            Some(ApprovalState::Denied { .. }) => "You said no, so it was not called",
            Some(ApprovalState::Expired { .. }) => "Nobody said yes in time, so it was not called",
            _ => return Ok(None),
        };
        Ok(Some(why.to_owned()))
    }
}

/// The hosts that are named anywhere in the arguments, by the rule for a task that a person has written.
fn hosts_in(arguments: &Value) -> Vec<String> {
    match arguments {
        Value::String(text) => named_hosts(text),
        Value::Array(items) => items.iter().flat_map(hosts_in).collect(),
        Value::Object(fields) => fields.values().flat_map(hosts_in).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
