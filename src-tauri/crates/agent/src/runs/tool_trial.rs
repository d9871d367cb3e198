//! A trial call: a person tries a tool, without a model and without a job.
//!
//! The gate judges the call like a model's call in the conversation: in the sandbox, within the tool's rate limit, and
//! with an approval where a run would need one. URLs in the arguments name hosts. Pitfall: the written call is no
//! approval, unlike a job's saved call.

use std::time::Duration;

use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::call_outcome::{call_outcome, with_bounded_result};
use super::single_call::call_request;
use super::{AgentDriver, SANDBOXED};
use crate::context::prompt::{approval_time_limit, named_hosts};
use crate::gate::RunPolicy;
use crate::turn::end::{TurnEnd, cancelled};

impl AgentDriver {
    /// Carries out a trial call of `tool`.
    pub async fn run_tool_trial(
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
        let context = ToolContext { named_hosts, ..self.tool_context(run, None, SANDBOXED) };
        let policy = RunPolicy {
            budgets: Some(self.account(run, None)),
            tools: ToolPolicy::for_tools(Some(vec![tool.to_owned()])).for_attended_turn(),
            approval_timeout: approval_time_limit(None),
            is_tainted: false,
            rate_limit_wait: Duration::ZERO,
        };
        let call = call_request(tool, arguments);
        match self.single_call(run, &policy, call, &context, cancel).await {
            Ok(called) => with_bounded_result(call_outcome(called)),
            Err(end) => TurnEnd::into_outcome(end),
        }
    }
}

fn hosts_in(arguments: &Value) -> Vec<String> {
    match arguments {
        Value::String(text) => named_hosts(text),
        Value::Array(items) => items.iter().flat_map(hosts_in).collect(),
        Value::Object(fields) => fields.values().flat_map(hosts_in).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
