//! A call is judged by what it does itself, and not by what its tool does in general.

use std::sync::Arc;

use rouse_core::RunState;
use rouse_core::policy::{ApprovedCall, ToolPolicy};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec,
};
use rouse_store::StepStatus;
use serde_json::{Value, json};

use super::house::{House, SOON, TestTool, call_of, job};

/// Looks, unless its text says `change`: then it asks, and may not be done twice.
struct Finer(TestTool);

fn changes(arguments: &Value) -> bool {
    arguments["text"] == "change"
}

impl Tool for Finer {
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

async fn house() -> House {
    let hanging = TestTool::new("finer", |_, _| Box::pin(std::future::pending()))
        .with(|spec| spec.call_for = SOON);
    House::with_tools([], vec![Arc::new(Finer(hanging))]).await
}

#[tokio::test]
async fn a_call_that_asks_is_not_made_though_its_tool_asks_for_nothing() {
    let house = house().await;
    let (_, looked) = house.pass(&ToolPolicy::default(), "finer", json!({"text": "look"})).await;
    assert!(looked.reached_tool, "{looked:?}");
    assert_eq!(looked.output.fault, Some(Fault::Timeout), "it hangs");
    let (_, changed) = house.pass(&ToolPolicy::default(), "finer", json!({"text": "change"})).await;
    assert!(changed.output.is_error() && !changed.reached_tool, "{changed:?}");
    let written = json!({"text": "change"});
    let policy = ToolPolicy::of_a_persons_call("finer", &written);
    let (_, changed) = house.pass(&policy, "finer", written).await;
    assert!(changed.reached_tool, "a person has written it: {changed:?}");
}

#[tokio::test]
async fn what_may_not_be_done_twice_is_not_tried_again() {
    let house = house().await;
    for (text, status, may_pass) in
        [("look", StepStatus::Failed, true), ("change", StepStatus::Unknown, false)]
    {
        let payload = json!({"kind": "toolCall", "tool": "finer", "arguments": {"text": text}});
        let written = job(payload, json!({}));
        let run = house.run_of(Some(&written)).await;
        let call = call_of(&written);
        let outcome = house.driver().run_tool_call(&run, &written, call, &house.cancel).await;
        assert_eq!((outcome.state, outcome.may_pass), (RunState::Failed, may_pass), "{text}");
        assert_eq!(house.steps(&run).await[0].status, status, "{text}");
    }
}
