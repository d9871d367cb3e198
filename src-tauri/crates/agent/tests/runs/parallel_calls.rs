//! Calls of the same answer: read-only calls run in parallel, changing calls alone.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use rouse_core::message::Message;
use rouse_core::tool::{Annotations, ApprovalRule, Tool, ToolOutput};
use rouse_core::{RunState, SessionKey};
use rouse_store::{StepKind, StepStatus};
use rouse_testkit::scripted_model::{calls, says};
use serde_json::json;
use tokio::sync::{Barrier, Notify};

use super::run_fixture::{RunFixture, TestTool, agent_job, tools, turn_of};

fn with(extra: Vec<TestTool>) -> Vec<Arc<dyn Tool>> {
    let extra = extra.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>);
    tools().into_iter().chain(extra).collect()
}

/// Returns a text once `count` calls run at the same time.
fn meets(count: usize) -> TestTool {
    let barrier = Arc::new(Barrier::new(count));
    TestTool::new("meets", move |call, _| {
        let (barrier, text) = (Arc::clone(&barrier), call.arguments()["text"].clone());
        Box::pin(async move {
            barrier.wait().await;
            ToolOutput::ok(text)
        })
    })
}

async fn results(fixture: &RunFixture) -> Vec<String> {
    let said = fixture.transcript(&SessionKey::new("cron:j1")).await;
    let told = said.into_iter().filter_map(|message| match message {
        Message::ToolResult { text, .. } => Some(text),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn read_only_calls_run_in_parallel_with_ordered_results() {
    let three = ["a", "b", "c"].map(|text| (text, "meets", json!({ "text": text })));
    let fixture = RunFixture::with_tools([calls(three), says("Done.")], with(vec![meets(3)])).await;
    let (run, outcome) = fixture.turn(json!({ "message": "x" })).await;
    assert_eq!(outcome.state, RunState::Succeeded);
    assert_eq!(results(&fixture).await, ["a", "b", "c"]);
    let steps = fixture.steps(&run).await;
    let called: Vec<_> = steps
        .iter()
        .filter(|step| step.kind == StepKind::ToolCall)
        .map(|step| (step.call_id.as_deref().unwrap_or_default(), step.status))
        .collect();
    assert_eq!(called, ["a", "b", "c"].map(|id| (id, StepStatus::Finished)));
}

#[tokio::test]
async fn results_keep_the_order_of_the_calls() {
    let second_is_done = Arc::new(Notify::new());
    let waits = TestTool::new("waits", {
        let second_is_done = Arc::clone(&second_is_done);
        move |_, _| {
            let second_is_done = Arc::clone(&second_is_done);
            Box::pin(async move {
                second_is_done.notified().await;
                ToolOutput::ok("first")
            })
        }
    });
    let frees = TestTool::new("frees", move |_, _| {
        second_is_done.notify_one();
        Box::pin(std::future::ready(ToolOutput::ok("second")))
    });
    let answer = calls([("1", "waits", json!({})), ("2", "frees", json!({}))]);
    let fixture = RunFixture::with_tools([answer, says("Done.")], with(vec![waits, frees])).await;
    fixture.turn(json!({ "message": "x" })).await;
    assert_eq!(results(&fixture).await, ["first", "second"]);
}

#[tokio::test]
async fn parallel_calls_are_limited() {
    let (now, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let counts = TestTool::new("counts", {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        move |_, _| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            Box::pin(async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
                ToolOutput::ok("counted")
            })
        }
    });
    let twenty = "abcdefghijklmnopqrst".split("").filter(|id| !id.is_empty());
    let twenty = twenty.map(|id| (id, "counts", json!({ "text": id })));
    let fixture = RunFixture::with_tools([calls(twenty), says("Done.")], with(vec![counts])).await;
    fixture.turn(json!({ "message": "x" })).await;
    assert_eq!(results(&fixture).await.len(), 20);
    assert_eq!(most.load(Ordering::SeqCst), 8);
}

/// Begins and ends of calls in their order.
type EventLog = Arc<Mutex<Vec<String>>>;

fn logging(name: &str, log: &EventLog, does: Annotations) -> TestTool {
    let log = Arc::clone(log);
    let tool = TestTool::new(name, move |call, _| {
        let log = Arc::clone(&log);
        let text = call.arguments()["text"].as_str().unwrap_or_default().to_owned();
        let note = move |what: &str| {
            log.lock().expect("not poisoned").push(format!("{what} {text}"));
        };
        Box::pin(async move {
            note("begins");
            tokio::task::yield_now().await;
            note("ends");
            ToolOutput::ok("done")
        })
    });
    tool.with(|spec| spec.annotations = does)
}

#[tokio::test]
async fn changing_call_runs_alone() {
    let log = EventLog::default();
    let all = with(vec![
        logging("looks", &log, Annotations::READS),
        logging("changes", &log, Annotations::ADDS),
    ]);
    let answer = calls([
        ("1", "looks", json!({ "text": "a" })),
        ("2", "looks", json!({ "text": "a" })),
        ("3", "changes", json!({ "text": "b" })),
        ("4", "changes", json!({ "text": "c" })),
        ("5", "looks", json!({ "text": "d" })),
        ("6", "looks", json!({ "text": "d" })),
    ]);
    let fixture = RunFixture::with_tools([answer, says("Done.")], all).await;
    fixture.turn(json!({ "message": "x" })).await;
    let expected = [
        "begins a", "begins a", "ends a", "ends a", "begins b", "ends b", "begins c", "ends c",
        "begins d", "begins d", "ends d", "ends d",
    ];
    assert_eq!(*log.lock().expect("not poisoned"), expected);
}

#[tokio::test]
async fn egress_waits_for_earlier_reads() {
    let log = EventLog::default();
    let reaches = Annotations { open_world: true, ..Annotations::READS };
    let all = with(vec![logging("looks", &log, reaches)]);
    let answer = calls([
        ("1", "looks", json!({ "text": "1" })),
        ("2", "outside", json!({})),
        ("3", "looks", json!({ "text": "3" })),
    ]);
    let fixture = RunFixture::with_tools([answer, says("Done.")], all).await;
    let job = agent_job(json!({ "message": "x" }), json!({ "approvals": "ask" }));
    let run = fixture.run_of(Some(&job)).await;
    let driver = fixture.driver();
    let outcome =
        driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel).await;
    // The second call of the same answer tainted the run.
    assert_eq!(outcome.state, RunState::AwaitingApproval);
    assert_eq!(*log.lock().expect("not poisoned"), ["begins 1", "ends 1"]);
}

#[tokio::test]
async fn calls_before_an_approval_run_once_and_later_ones_wait() {
    let log = EventLog::default();
    let asks = TestTool::answering("wants", ToolOutput::ok("yes"))
        .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
    let all = with(vec![logging("looks", &log, Annotations::READS), asks]);
    let answer = calls([
        ("1", "looks", json!({ "text": "a" })),
        ("2", "looks", json!({ "text": "a" })),
        ("3", "wants", json!({})),
        ("4", "looks", json!({ "text": "4" })),
    ]);
    let fixture = RunFixture::with_tools([answer, says("Done.")], all).await;
    let job = agent_job(json!({ "message": "x" }), json!({ "approvals": "ask" }));
    let run = fixture.run_of(Some(&job)).await;
    let driver = fixture.driver();
    let outcome =
        driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel).await;
    assert_eq!((outcome.state, outcome.approvals.len()), (RunState::AwaitingApproval, 1));
    let expected = ["begins a", "begins a", "ends a", "ends a"];
    assert_eq!(*log.lock().expect("not poisoned"), expected);
}

#[tokio::test]
async fn cancelled_run_ends_parallel_calls_in_the_journal() {
    let began = Arc::new(Barrier::new(3));
    let hangs = TestTool::new("stays", {
        let began = Arc::clone(&began);
        move |_, _| {
            let began = Arc::clone(&began);
            Box::pin(async move {
                began.wait().await;
                std::future::pending().await
            })
        }
    });
    let all = with(vec![hangs.with(|spec| spec.call_for = std::time::Duration::from_secs(600))]);
    let two = ["1", "2"].map(|id| (id, "stays", json!({})));
    let fixture = RunFixture::with_tools([calls(two)], all).await;
    let stops = async {
        began.wait().await;
        fixture.cancel.cancel();
    };
    let ((run, outcome), ()) = tokio::join!(fixture.turn(json!({ "message": "x" })), stops);
    assert_eq!(outcome.state, RunState::Cancelled);
    let steps = fixture.steps(&run).await;
    let left = steps.iter().filter(|step| step.status == StepStatus::Started).count();
    assert_eq!(left, 0, "{steps:?}");
}
