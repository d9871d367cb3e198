//! Calls of one answer that only read go on at the same time; a call that changes something waits, and is waited for.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use rouse_core::message::Message;
use rouse_core::tool::{Annotations, ApprovalRule, Tool, ToolOutput};
use rouse_core::{RunState, SessionKey};
use rouse_store::{StepKind, StepStatus};
use rouse_testkit::scripted_model::{calls, says};
use serde_json::json;
use tokio::sync::{Barrier, Notify};

use super::house::{House, TestTool, agent_job, tools, turn_of};

fn with(extra: Vec<TestTool>) -> Vec<Arc<dyn Tool>> {
    let extra = extra.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>);
    tools().into_iter().chain(extra).collect()
}

/// Answers its text once `count` calls of it are at work.
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

async fn told(house: &House) -> Vec<String> {
    let said = house.transcript(&SessionKey::new("cron:j1")).await;
    let told = said.into_iter().filter_map(|message| match message {
        Message::ToolResult { text, .. } => Some(text),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn reading_calls_are_at_work_together_and_are_told_in_order() {
    let three = ["a", "b", "c"].map(|text| (text, "meets", json!({ "text": text })));
    let house = House::with_tools([calls(three), says("Done.")], with(vec![meets(3)])).await;
    let (run, outcome) = house.turn(json!({ "message": "x" })).await;
    assert_eq!(outcome.state, RunState::Succeeded);
    assert_eq!(told(&house).await, ["a", "b", "c"]);
    let steps = house.steps(&run).await;
    let called: Vec<_> = steps
        .iter()
        .filter(|step| step.kind == StepKind::ToolCall)
        .map(|step| (step.call_id.as_deref().unwrap_or_default(), step.status))
        .collect();
    assert_eq!(called, ["a", "b", "c"].map(|id| (id, StepStatus::Finished)));
}

#[tokio::test]
async fn the_first_call_is_told_first_though_it_ends_last() {
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
    let house = House::with_tools([answer, says("Done.")], with(vec![waits, frees])).await;
    house.turn(json!({ "message": "x" })).await;
    assert_eq!(told(&house).await, ["first", "second"]);
}

#[tokio::test]
async fn no_more_than_a_few_are_at_work_at_once() {
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
    let house = House::with_tools([calls(twenty), says("Done.")], with(vec![counts])).await;
    house.turn(json!({ "message": "x" })).await;
    assert_eq!(told(&house).await.len(), 20);
    assert_eq!(most.load(Ordering::SeqCst), 8);
}

/// Which of the calls began and ended, in which order.
type Log = Arc<Mutex<Vec<String>>>;

fn logging(name: &str, log: &Log, does: Annotations) -> TestTool {
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
async fn a_call_that_changes_something_is_alone() {
    let log = Log::default();
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
    let house = House::with_tools([answer, says("Done.")], all).await;
    house.turn(json!({ "message": "x" })).await;
    let expected = [
        "begins a", "begins a", "ends a", "ends a", "begins b", "ends b", "begins c", "ends c",
        "begins d", "begins d", "ends d", "ends d",
    ];
    assert_eq!(*log.lock().expect("not poisoned"), expected);
}

#[tokio::test]
async fn calls_that_reach_other_machines_unasked_wait_for_what_is_read_before() {
    let log = Log::default();
    let reaches = Annotations { open_world: true, ..Annotations::READS };
    let all = with(vec![logging("looks", &log, reaches)]);
    let answer = calls([
        ("1", "looks", json!({ "text": "1" })),
        ("2", "outside", json!({})),
        ("3", "looks", json!({ "text": "3" })),
    ]);
    let house = House::with_tools([answer, says("Done.")], all).await;
    let job = agent_job(json!({ "message": "x" }), json!({ "approvals": "ask" }));
    let run = house.run_of(Some(&job)).await;
    let driver = house.driver();
    let outcome = driver.run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel).await;
    // What came from outside in the same answer counts already.
    assert_eq!(outcome.state, RunState::AwaitingApproval);
    assert_eq!(*log.lock().expect("not poisoned"), ["begins 1", "ends 1"]);
}

#[tokio::test]
async fn what_stands_before_a_question_is_done_once_and_what_stands_behind_it_waits() {
    let log = Log::default();
    let asks = TestTool::answering("wants", ToolOutput::ok("yes"))
        .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
    let all = with(vec![logging("looks", &log, Annotations::READS), asks]);
    let answer = calls([
        ("1", "looks", json!({ "text": "a" })),
        ("2", "looks", json!({ "text": "a" })),
        ("3", "wants", json!({})),
        ("4", "looks", json!({ "text": "4" })),
    ]);
    let house = House::with_tools([answer, says("Done.")], all).await;
    let job = agent_job(json!({ "message": "x" }), json!({ "approvals": "ask" }));
    let run = house.run_of(Some(&job)).await;
    let driver = house.driver();
    let outcome = driver.run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel).await;
    assert_eq!((outcome.state, outcome.asks.len()), (RunState::AwaitingApproval, 1));
    let expected = ["begins a", "begins a", "ends a", "ends a"];
    assert_eq!(*log.lock().expect("not poisoned"), expected);
}

#[tokio::test]
async fn a_run_that_is_cancelled_ends_all_that_is_at_work_and_the_journal_knows() {
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
    let house = House::with_tools([calls(two)], all).await;
    let stops = async {
        began.wait().await;
        house.cancel.cancel();
    };
    let ((run, outcome), ()) = tokio::join!(house.turn(json!({ "message": "x" })), stops);
    assert_eq!(outcome.state, RunState::Cancelled);
    let steps = house.steps(&run).await;
    let left = steps.iter().filter(|step| step.status == StepStatus::Started).count();
    assert_eq!(left, 0, "{steps:?}");
}
