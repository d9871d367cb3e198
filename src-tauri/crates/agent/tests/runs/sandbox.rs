//! Who is confined: what a model has chosen is, what a person has written word for word is not.

use std::sync::{Arc, Mutex};

use rouse_core::RunState;
use rouse_core::tool::{SandboxMode, ToolOutput};
use rouse_testkit::scripted_model::{calls, says};
use serde_json::json;

use super::house::{House, NOW, TestTool, call_of, job, tools};

type Seen = Arc<Mutex<Vec<SandboxMode>>>;

/// A house with a tool `look` that keeps the mode of every call.
async fn house() -> (House, Seen) {
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    let look = TestTool::new("look", move |_, context| {
        kept.lock().expect("not poisoned").push(context.sandbox.clone());
        Box::pin(async { ToolOutput::ok("seen") })
    });
    let mut tools = tools();
    tools.push(Arc::new(look));
    let script = [
        calls([("c1", "look", json!({}))]),
        calls([("end", "complete_run", json!({"outcome": "report", "summary": "Done."}))]),
        calls([("c2", "look", json!({}))]),
        says("Looked."),
    ];
    (House::with_tools(script, tools).await, seen)
}

#[tokio::test]
async fn what_a_model_calls_is_confined_and_what_a_person_wrote_is_not() {
    let (house, seen) = house().await;
    let (_, outcome) = house.turn(json!({"message": "Look."})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    house.store.queue_system_event("Look.", "test", &[], NOW).await.expect("queued");
    let run = house.run_of(None).await;
    let outcome = house.driver().run_main_turn(&run, house.chosen(), None, &house.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let policies = json!({"hosts": ["example.com"]});
    let written = job(json!({"kind": "toolCall", "tool": "look", "arguments": {}}), policies);
    let run = house.run_of(Some(&written)).await;
    let call = call_of(&written);
    let outcome = house.driver().run_tool_call(&run, &written, call, &house.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let confined = SandboxMode::Sandboxed { hosts: Vec::new() };
    let expected = [
        confined.clone(),
        confined,
        SandboxMode::ByPersonUnsandboxed { hosts: vec!["example.com".to_owned()] },
    ];
    assert_eq!(*seen.lock().expect("not poisoned"), expected);
}
