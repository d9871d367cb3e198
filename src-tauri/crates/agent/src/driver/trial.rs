//! A call that a person tries a tool with: one call through the gate, without a model and without a job.
//!
//! Owns its terms. It is judged as a call of a model in the conversation would be: in the sandbox, within the tool's
//! rates, and asked about when it changes something, with the same card. So it shows what a run would meet, and what the
//! tool would do is seen before it is done. The hosts of the URLs that the person has written are named by the person.
//! It refuses to read a written call as a yes, as a job's own call is: there the person has saved it and looked at it.

use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::context::{named_hosts, question_for};
use super::one_call::OneCall;
use super::tool_call::{kept, outcome_of};
use super::{AgentDriver, CONFINED, cancelled};
use crate::gate::Terms;

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
        let policy = ToolPolicy::of_tools(Some(vec![tool.to_owned()])).attended();
        let terms = Terms {
            rate_limit_wait: std::time::Duration::ZERO,
            account: Some(self.account(run, None)),
            policy,
            question_for: question_for(None),
            knows_outside: false,
        };
        match self.one_call(run, &terms, (tool, arguments), &context, cancel).await {
            OneCall::Called(called) => kept(outcome_of(*called)),
            OneCall::Ended(outcome) => *outcome,
        }
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
