//! Fixtures of several test files: a stored secret, recorded calls, a scripted hook, runs of a job.

use std::sync::{Arc, Mutex};

use rouse_agent::{
    Hook, HookDecision, HookError, HookNotification, Secret, SecretValue, ToolCallEnded,
    ToolCallEvent, ToolsResolved,
};
use rouse_core::Job;
use rouse_core::approval::ApprovalDecision;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{Annotations, BoxFuture, ToolOutput};
use rouse_testkit::scripted_model::{Scripted, calls};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::run_fixture::{RunFixture, TestTool, agent_job};

/// The value of the stored secret `mail`.
pub(crate) const VALUE: &str = "sunflower-42-Tango";

/// The stored secret `name`, bound to `api.example.com`.
pub(crate) fn secret(name: &str, value: &str) -> Secret {
    let value = SecretValue::new(value).expect("a value");
    Secret::new(name, value, &["api.example.com".to_owned()]).expect("a secret")
}

/// A text with the shape of a Stripe key.
pub(crate) fn key_shaped() -> String {
    format!("sk_{}_{}", "live", "4eC39HqLyjWDarjtT1zdp7dc")
}

/// An answer that ends the run.
pub(crate) fn done() -> Scripted {
    calls([("c9", "complete_run", json!({"outcome": "report", "summary": "Done."}))])
}

/// Arguments of the calls of a tool.
pub(crate) type CallLog = Arc<Mutex<Vec<Value>>>;

pub(crate) fn logged(log: &CallLog) -> Vec<Value> {
    log.lock().expect("not poisoned").clone()
}

/// A tool that logs and returns the arguments.
pub(crate) fn logging_tool(name: &str, annotations: Annotations, log: &CallLog) -> TestTool {
    let log = Arc::clone(log);
    let tool = TestTool::new(name, move |call, _| {
        let arguments = call.arguments().clone();
        log.lock().expect("not poisoned").push(arguments.clone());
        Box::pin(std::future::ready(ToolOutput::ok(json!({ "echoed": arguments }))))
    });
    tool.with(|spec| {
        spec.parameters = json!({"type": "object"});
        spec.annotations = annotations;
    })
}

/// A hook with fixed decisions that forwards the events.
pub(crate) struct ScriptedHook {
    decisions: Mutex<Vec<HookDecision>>,
    events: mpsc::UnboundedSender<Value>,
}

impl ScriptedHook {
    /// Decides so in turn, and allows each later call.
    pub(crate) fn with(
        decisions: Vec<HookDecision>,
    ) -> (Arc<dyn Hook>, mpsc::UnboundedReceiver<Value>) {
        let (events, receiver) = mpsc::unbounded_channel();
        (Arc::new(Self { decisions: Mutex::new(decisions), events }), receiver)
    }

    fn pass_on(&self, name: &str, event: impl serde::Serialize) {
        let event = json!({ name: serde_json::to_value(event).expect("JSON") });
        // The receiver may be dropped.
        drop(self.events.send(event));
    }
}

impl Hook for ScriptedHook {
    fn name(&self) -> &str {
        "guard"
    }

    fn after_tools_resolved<'h>(&'h self, event: &'h ToolsResolved) -> HookNotification<'h> {
        self.pass_on("resolved", event);
        Box::pin(std::future::ready(Ok(())))
    }

    fn before_tool_call<'h>(
        &'h self,
        call: &'h ToolCallEvent,
    ) -> BoxFuture<'h, Result<HookDecision, HookError>> {
        self.pass_on("before", &call.arguments);
        let mut decisions = self.decisions.lock().expect("not poisoned");
        let decision = if decisions.is_empty() { HookDecision::Allow } else { decisions.remove(0) };
        Box::pin(std::future::ready(Ok(decision)))
    }

    fn after_tool_call<'h>(&'h self, call: &'h ToolCallEnded) -> HookNotification<'h> {
        self.pass_on("after", call);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Runs of a job.
pub(crate) struct JobRuns<'h> {
    pub(crate) fixture: &'h RunFixture,
    pub(crate) job: Job,
}

impl<'h> JobRuns<'h> {
    pub(crate) fn new(fixture: &'h RunFixture, policies: Value) -> Self {
        Self { fixture, job: agent_job(json!({ "message": "Do it." }), policies) }
    }

    pub(crate) async fn begin(&self) -> (Run, Outcome) {
        let run = self.fixture.run_of(Some(&self.job)).await;
        let outcome = self.resume(&run).await;
        (run, outcome)
    }

    pub(crate) async fn resume(&self, run: &Run) -> Outcome {
        self.fixture.go(run, &self.job).await
    }

    /// Parks the run as the scheduler does, decides each requested approval, and resumes the run.
    pub(crate) async fn decide(
        &self,
        run: &Run,
        outcome: &Outcome,
        answers: &[ApprovalDecision],
    ) -> Outcome {
        assert_eq!(outcome.approvals.len(), answers.len(), "{:?}", outcome.approvals);
        self.fixture.park(run, outcome).await;
        for (approval, answer) in outcome.approvals.iter().zip(answers) {
            self.fixture.decide(approval, answer).await;
        }
        self.fixture.start_again(run).await;
        self.resume(run).await
    }
}
