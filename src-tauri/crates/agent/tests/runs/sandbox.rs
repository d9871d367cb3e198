//! The sandbox of calls of a model and of written calls.

use std::sync::{Arc, Mutex};

use rouse_core::RunState;
use rouse_core::tool::{SandboxMode, ToolOutput};
use rouse_testkit::scripted_model::{calls, says};
use serde_json::json;

use super::run_fixture::{NOW, RunFixture, TestTool, call_of, job, tools};

type SandboxLog = Arc<Mutex<Vec<SandboxMode>>>;

/// A fixture with a tool `look` that records the sandbox of each call.
async fn fixture() -> (RunFixture, SandboxLog) {
    let seen = SandboxLog::default();
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
    (RunFixture::with_tools(script, tools).await, seen)
}

#[tokio::test]
async fn model_call_is_sandboxed_and_written_call_is_not() {
    let (fixture, seen) = fixture().await;
    let (_, outcome) = fixture.turn(json!({"message": "Look."})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    fixture.store.queue_system_event("Look.", "test", &[], NOW).await.expect("queued");
    let run = fixture.run_of(None).await;
    let outcome =
        fixture.driver().run_heartbeat(&run, fixture.chosen(), None, &fixture.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let policies = json!({"hosts": ["example.com"]});
    let written = job(json!({"kind": "toolCall", "tool": "look", "arguments": {}}), policies);
    let run = fixture.run_of(Some(&written)).await;
    let call = call_of(&written);
    let outcome = fixture.driver().run_tool_call(&run, &written, call, &fixture.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let confined = SandboxMode::Sandboxed { hosts: Vec::new() };
    let expected = [
        confined.clone(),
        confined,
        SandboxMode::ByPersonUnsandboxed { hosts: vec!["example.com".to_owned()] },
    ];
    assert_eq!(*seen.lock().expect("not poisoned"), expected);
}
