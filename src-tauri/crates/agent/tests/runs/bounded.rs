//! A conversation that grows beyond what its model reads: less is sent, nothing is lost, and the run comes to its end.

use std::sync::Arc;

use rouse_agent::ChosenModel;
use rouse_core::message::{Message, Part};
use rouse_core::model::{ModelRequest, ProviderErrorKind};
use rouse_core::run::Outcome;
use rouse_core::tool::{ApprovalRule, Tool, ToolOutput};
use rouse_core::turn::window::tokens;
use rouse_core::{RunState, SessionKey};
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, calls, fails, says};
use serde_json::json;

use super::house::{House, TestTool, agent_job, hears, tools, turn_of};

/// A page of some thirty thousand bytes that says how often it was read.
fn with_pages() -> Vec<Arc<dyn Tool>> {
    let page = TestTool::new("page", |call, _| {
        let number = call.arguments()["text"].as_str().unwrap_or_default().to_owned();
        let text = format!("page {number}: {}", "words ".repeat(5_000));
        Box::pin(std::future::ready(ToolOutput::ok(text)))
    });
    let page: Arc<dyn Tool> = Arc::new(page.with(|spec| spec.untrusted_output = true));
    tools().into_iter().chain([page]).collect()
}

async fn turn(house: &House, model: &Arc<ScriptedModel>) -> Outcome {
    let job = agent_job(json!({ "message": "Read all pages" }), json!({}));
    let run = house.run_of(Some(&job)).await;
    let chosen = ChosenModel { provider: model.clone(), model: "scripted-1".to_owned() };
    house.driver().run_turn(&run, &job, turn_of(&job), Some(chosen), &house.cancel).await
}

fn page(number: u32) -> Scripted {
    calls([("c", "page", json!({ "text": number.to_string() }))])
}

fn size(request: &ModelRequest) -> usize {
    request.messages.iter().map(tokens).sum()
}

/// Every call has its result, and every result its call.
fn is_whole(messages: &[Message]) -> bool {
    let asked = |message: &Message| match message {
        Message::Assistant { parts } => {
            parts.iter().filter(|part| matches!(part, Part::ToolCall(_))).count()
        }
        _ => 0,
    };
    let told = messages.iter().filter(|m| matches!(m, Message::ToolResult { .. })).count();
    messages.iter().map(asked).sum::<usize>() == told
}

#[tokio::test]
async fn a_run_that_reads_more_than_its_model_can_still_ends_well() {
    let (hook, mut heard) = hears();
    let house = House::guarded([], with_pages(), Vec::new(), vec![hook]).await;
    let script = (0..8).map(page).chain([says("All are read.")]);
    let model = Arc::new(ScriptedModel::new(script).reading(24_000));
    let outcome = turn(&house, &model).await;
    assert_eq!(
        (outcome.state, outcome.summary.as_deref()),
        (RunState::Succeeded, Some("All are read."))
    );
    let requests = model.requests();
    assert_eq!(requests.len(), 9);
    for request in &requests {
        assert!(size(request) <= 24_000, "{}", size(request));
        assert!(is_whole(&request.messages));
        let Message::User { text } = &request.messages[0] else { panic!("no task") };
        assert!(text.contains("Read all pages"), "{text}");
    }
    // What was read last is whole, what was read before is said to have been more.
    let last = &requests[8].messages;
    let text = |at: usize| match &last[at] {
        Message::ToolResult { text, .. } => text.as_str(),
        other => panic!("no result: {other:?}"),
    };
    assert!(text(last.len() - 1).len() > 30_000);
    assert!(text(2).contains("left out to save room"), "{}", text(2));
    // The transcript has all of it.
    let kept = house.transcript(&SessionKey::new("cron:j1")).await;
    let whole = kept
        .iter()
        .filter(|said| matches!(said, Message::ToolResult { text, .. } if text.len() > 30_000));
    assert_eq!(whole.count(), 8);
    assert_eq!(heard.recv().await, Some(()));
    assert!(heard.try_recv().is_err(), "told once, however often it was shortened");
}

#[tokio::test]
async fn the_tools_are_told_once_for_each_attempt_and_an_answer_goes_on_with_the_same() {
    let (hook, mut heard) = hears();
    let asks = TestTool::answering("wants", ToolOutput::ok("done"))
        .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
    let asks: Arc<dyn Tool> = Arc::new(asks);
    let all = tools().into_iter().chain([asks]).collect();
    let house = House::guarded([], all, Vec::new(), vec![hook]).await;
    let script = [
        calls([("c", "wants", json!({}))]),
        fails(ProviderErrorKind::Auth, "no key"),
        says("Done."),
    ];
    let model = Arc::new(ScriptedModel::new(script));
    let job = agent_job(json!({ "message": "Do it" }), json!({ "approvals": "ask" }));
    let run = house.run_of(Some(&job)).await;
    let attempt = async || {
        let run = house.store.run(&run.id).await.expect("read").expect("a run");
        let chosen = ChosenModel { provider: model.clone(), model: "scripted-1".to_owned() };
        house.driver().run_turn(&run, &job, turn_of(&job), Some(chosen), &house.cancel).await
    };
    let asked = attempt().await;
    assert_eq!((asked.state, heard.recv().await), (RunState::AwaitingApproval, Some(())));
    house.say_yes(&run, &asked).await;
    assert_eq!(attempt().await.state, RunState::Failed);
    tokio::task::yield_now().await;
    assert!(heard.try_recv().is_err(), "it is the same attempt");
    house.store.set_attempt(&run.id, 2, house.now()).await.expect("written");
    assert_eq!(attempt().await.state, RunState::Succeeded);
    assert_eq!(heard.recv().await, Some(()), "another attempt");
    assert!(heard.try_recv().is_err());
}

#[tokio::test]
async fn a_model_that_says_it_was_too_much_is_sent_less() {
    let house = House::with_tools([], with_pages()).await;
    let too_long = || fails(ProviderErrorKind::Overlong, "prompt is too long");
    let script = [page(1), page(2), too_long(), too_long(), page(3), says("Read.")];
    let model = Arc::new(ScriptedModel::new(script));
    let outcome = turn(&house, &model).await;
    assert_eq!((outcome.state, outcome.summary.as_deref()), (RunState::Succeeded, Some("Read.")));
    let sizes: Vec<usize> = model.requests().iter().map(size).collect();
    assert!(sizes[3] <= sizes[2] / 2 && sizes[4] <= sizes[3] / 2, "{sizes:?}");
    assert!(sizes[5] <= sizes[3] / 2, "it is remembered for the rest of the run: {sizes:?}");
}

#[tokio::test]
async fn a_model_that_reads_nothing_at_all_ends_the_run_with_the_reason() {
    let house = House::with_tools([], with_pages()).await;
    let too_long = || fails(ProviderErrorKind::Overlong, "prompt is too long");
    let script = [page(1)].into_iter().chain((0..20).map(|_| too_long()));
    let model = Arc::new(ScriptedModel::new(script));
    let outcome = turn(&house, &model).await;
    assert_eq!((outcome.state, outcome.may_pass), (RunState::Failed, false));
    assert!(outcome.error.is_some_and(|error| error.contains("too long")));
    assert!(model.requests().len() < 8);
}
