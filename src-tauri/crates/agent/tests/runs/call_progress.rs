//! The progress of calls: one redacted line for those who watch the run, nothing in the journal.

use std::sync::{Arc, Mutex};

use rouse_core::run::Run;
use rouse_core::tool::{Tool, ToolOutput};
use rouse_testkit::scripted_model::calls;
use serde_json::json;

use super::fixtures::{VALUE, done, secret};
use super::run_fixture::{RunFixture, TestTool, agent_job, tools, turn_of};

/// Run, step, tool and text of each message.
type Messages = Arc<Mutex<Vec<(String, u32, String, String)>>>;

/// A run that calls a tool with this progress message.
async fn run_with_progress(text: &str) -> (RunFixture, Run, Messages) {
    let text = text.to_owned();
    let slow = TestTool::new("slow", move |_, context| {
        context.progress.report(&text);
        Box::pin(std::future::ready(ToolOutput::ok("done")))
    });
    let mut all = tools();
    all.push(Arc::new(slow) as Arc<dyn Tool>);
    let script = [calls([("c1", "slow", json!({}))]), done()];
    let fixture = RunFixture::guarded(script, all, vec![secret("mail", VALUE)], Vec::new()).await;
    let messages = Messages::default();
    let driver = fixture.driver().with_progress({
        let messages = Arc::clone(&messages);
        Arc::new(move |run, progress| {
            let (tool, text) = (progress.tool.to_owned(), progress.text.to_owned());
            let message = (run.to_string(), progress.step, tool, text);
            messages.lock().expect("not poisoned").push(message);
        })
    });
    let job = agent_job(json!({ "message": "Go." }), json!({}));
    let run = fixture.run_of(Some(&job)).await;
    driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel).await;
    (fixture, run, messages)
}

#[tokio::test]
async fn progress_names_run_step_and_tool() {
    let (fixture, run, messages) = run_with_progress("3 of 10").await;
    let steps = fixture.steps(&run).await;
    let step = steps.iter().find(|step| step.name == "slow").expect("journalled");
    let expected = (run.id.to_string(), step.seq, "slow".to_owned(), "3 of 10".to_owned());
    assert_eq!(*messages.lock().expect("not poisoned"), [expected]);
    assert!(!format!("{steps:?}").contains("3 of 10"), "nothing is stored");
}

#[tokio::test]
async fn progress_is_one_short_line_without_secrets() {
    let text = format!("a\u{200b} {VALUE} {}\nb", "x".repeat(500));
    let (_, _, messages) = run_with_progress(&text).await;
    let messages = messages.lock().expect("not poisoned");
    let (_, _, _, text) = &messages[0];
    assert!(text.starts_with("a ") && text.ends_with('…'), "{text}");
    assert!(!text.contains(VALUE) && !text.contains('\n'), "{text}");
    assert!(text.chars().count() <= 200, "{text}");
}
