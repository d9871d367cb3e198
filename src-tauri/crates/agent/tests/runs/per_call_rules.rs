//! Rules of a call that differ from the general rules of the tool.

use std::sync::Arc;

use rouse_core::RunState;
use rouse_core::policy::{ApprovedCall, ToolPolicy};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec,
};
use rouse_store::StepStatus;
use serde_json::{Value, json};

use super::run_fixture::{RunFixture, SOON, TestTool, call_of, job};

/// Read-only, unless the text is `change`: then an approval is needed, and the call is not repeatable.
struct PerCallTool(TestTool);

fn changes(arguments: &Value) -> bool {
    arguments["text"] == "change"
}

impl Tool for PerCallTool {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn approval(&self, arguments: &Value, _: &ToolContext) -> ApprovalRule {
        if changes(arguments) { ApprovalRule::UnlessGranted } else { ApprovalRule::Never }
    }

    fn annotations(&self, arguments: &Value) -> Annotations {
        if changes(arguments) { Annotations::ANYTHING } else { Annotations::READS }
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        self.0.call(call, context)
    }
}

async fn fixture() -> RunFixture {
    let hanging = TestTool::new("finer", |_, _| Box::pin(std::future::pending()))
        .with(|spec| spec.call_for = SOON);
    RunFixture::with_tools([], vec![Arc::new(PerCallTool(hanging))]).await
}

#[tokio::test]
async fn approval_rule_of_the_call_precedes_that_of_the_tool() {
    let fixture = fixture().await;
    let (_, looked) = fixture.pass(&ToolPolicy::default(), "finer", json!({"text": "look"})).await;
    assert!(looked.reached_tool, "{looked:?}");
    assert_eq!(looked.output.fault, Some(Fault::Timeout), "it hangs");
    let (_, changed) =
        fixture.pass(&ToolPolicy::default(), "finer", json!({"text": "change"})).await;
    assert!(changed.output.is_error() && !changed.reached_tool, "{changed:?}");
    let written = json!({"text": "change"});
    let policy = ToolPolicy::for_written_call("finer", &written);
    let (_, changed) = fixture.pass(&policy, "finer", written).await;
    assert!(changed.reached_tool, "a person has written it: {changed:?}");
}

#[tokio::test]
async fn non_repeatable_call_is_not_transient() {
    let fixture = fixture().await;
    for (text, status, is_transient) in
        [("look", StepStatus::Failed, true), ("change", StepStatus::Unknown, false)]
    {
        let payload = json!({"kind": "toolCall", "tool": "finer", "arguments": {"text": text}});
        let written = job(payload, json!({}));
        let run = fixture.run_of(Some(&written)).await;
        let call = call_of(&written);
        let outcome = fixture.driver().run_tool_call(&run, &written, call, &fixture.cancel).await;
        assert_eq!(
            (outcome.state, outcome.is_transient),
            (RunState::Failed, is_transient),
            "{text}"
        );
        assert_eq!(fixture.steps(&run).await[0].status, status, "{text}");
    }
}
