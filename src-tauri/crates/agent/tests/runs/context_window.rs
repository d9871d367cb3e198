//! A conversation longer than the model's context window.

use std::sync::Arc;

use rouse_agent::ChosenModel;
use rouse_core::message::{Message, Part};
use rouse_core::model::{ModelRequest, ProviderErrorKind};
use rouse_core::run::Outcome;
use rouse_core::tool::{ApprovalRule, Tool, ToolOutput};
use rouse_core::turn::window::estimate_tokens;
use rouse_core::{RunState, SessionKey};
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, calls, fails, says};
use serde_json::json;

use super::run_fixture::{RunFixture, TestTool, agent_job, hears, tools, turn_of};

/// A tool that returns 30,000 bytes.
fn with_pages() -> Vec<Arc<dyn Tool>> {
    let page = TestTool::new("page", |call, _| {
        let number = call.arguments()["text"].as_str().unwrap_or_default().to_owned();
        let text = format!("page {number}: {}", "words ".repeat(5_000));
        Box::pin(std::future::ready(ToolOutput::ok(text)))
    });
    let page: Arc<dyn Tool> = Arc::new(page.with(|spec| spec.untrusted_output = true));
    tools().into_iter().chain([page]).collect()
}

async fn turn(fixture: &RunFixture, model: &Arc<ScriptedModel>) -> Outcome {
    let job = agent_job(json!({ "message": "Read all pages" }), json!({}));
    let run = fixture.run_of(Some(&job)).await;
    let chosen = ChosenModel { provider: model.clone(), model: "scripted-1".to_owned() };
    fixture.driver().run_turn(&run, &job, turn_of(&job), Some(chosen), &fixture.cancel).await
}

fn page(number: u32) -> Scripted {
    calls([("c", "page", json!({ "text": number.to_string() }))])
}

fn size(request: &ModelRequest) -> usize {
    request.messages.iter().map(estimate_tokens).sum()
}

/// Whether each call has a result and vice versa.
fn is_whole(messages: &[Message]) -> bool {
    let call_count = |message: &Message| match message {
        Message::Assistant { parts } => {
            parts.iter().filter(|part| matches!(part, Part::ToolCall(_))).count()
        }
        _ => 0,
    };
    let result_count = messages.iter().filter(|m| matches!(m, Message::ToolResult { .. })).count();
    messages.iter().map(call_count).sum::<usize>() == result_count
}

#[tokio::test]
async fn run_over_the_context_window_succeeds() {
    let (hook, mut heard) = hears();
    let fixture = RunFixture::guarded([], with_pages(), Vec::new(), vec![hook]).await;
    let script = (0..8).map(page).chain([says("All are read.")]);
    let model = Arc::new(ScriptedModel::new(script).reading(24_000));
    let outcome = turn(&fixture, &model).await;
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
    // The last result is whole, earlier results have a notice of the cut.
    let last = &requests[8].messages;
    let text = |at: usize| match &last[at] {
        Message::ToolResult { text, .. } => text.as_str(),
        other => panic!("no result: {other:?}"),
    };
    assert!(text(last.len() - 1).len() > 30_000);
    assert!(text(2).contains("left out to save room"), "{}", text(2));
    // The transcript is whole.
    let kept = fixture.transcript(&SessionKey::new("cron:j1")).await;
    let whole = kept.iter().filter(
        |message| matches!(message, Message::ToolResult { text, .. } if text.len() > 30_000),
    );
    assert_eq!(whole.count(), 8);
    assert_eq!(heard.recv().await, Some(()));
    assert!(heard.try_recv().is_err(), "a single notification");
}

#[tokio::test]
async fn tools_resolved_hook_fires_once_per_attempt() {
    let (hook, mut heard) = hears();
    let asks = TestTool::answering("wants", ToolOutput::ok("done"))
        .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
    let asks: Arc<dyn Tool> = Arc::new(asks);
    let all = tools().into_iter().chain([asks]).collect();
    let fixture = RunFixture::guarded([], all, Vec::new(), vec![hook]).await;
    let script = [
        calls([("c", "wants", json!({}))]),
        fails(ProviderErrorKind::Auth, "no key"),
        says("Done."),
    ];
    let model = Arc::new(ScriptedModel::new(script));
    let job = agent_job(json!({ "message": "Do it" }), json!({ "approvals": "ask" }));
    let run = fixture.run_of(Some(&job)).await;
    let attempt = async || {
        let run = fixture.store.run(&run.id).await.expect("read").expect("a run");
        let chosen = ChosenModel { provider: model.clone(), model: "scripted-1".to_owned() };
        fixture.driver().run_turn(&run, &job, turn_of(&job), Some(chosen), &fixture.cancel).await
    };
    let parked = attempt().await;
    assert_eq!((parked.state, heard.recv().await), (RunState::AwaitingApproval, Some(())));
    fixture.say_yes(&run, &parked).await;
    assert_eq!(attempt().await.state, RunState::Failed);
    tokio::task::yield_now().await;
    assert!(heard.try_recv().is_err(), "the same attempt");
    fixture.store.begin_attempt(&run.id, 2, fixture.now()).await.expect("written");
    assert_eq!(attempt().await.state, RunState::Succeeded);
    assert_eq!(heard.recv().await, Some(()), "another attempt");
    assert!(heard.try_recv().is_err());
}

#[tokio::test]
async fn overlong_error_shortens_the_next_request() {
    let fixture = RunFixture::with_tools([], with_pages()).await;
    let too_long = || fails(ProviderErrorKind::Overlong, "prompt is too long");
    let script = [page(1), page(2), too_long(), too_long(), page(3), says("Read.")];
    let model = Arc::new(ScriptedModel::new(script));
    let outcome = turn(&fixture, &model).await;
    assert_eq!((outcome.state, outcome.summary.as_deref()), (RunState::Succeeded, Some("Read.")));
    let sizes: Vec<usize> = model.requests().iter().map(size).collect();
    assert!(sizes[3] <= sizes[2] / 2 && sizes[4] <= sizes[3] / 2, "{sizes:?}");
    assert!(
        sizes[5] <= sizes[3] / 2,
        "the smaller window stays for the rest of the run: {sizes:?}"
    );
}

#[tokio::test]
async fn repeated_overlong_errors_fail_the_run() {
    let fixture = RunFixture::with_tools([], with_pages()).await;
    let too_long = || fails(ProviderErrorKind::Overlong, "prompt is too long");
    let script = [page(1)].into_iter().chain((0..20).map(|_| too_long()));
    let model = Arc::new(ScriptedModel::new(script));
    let outcome = turn(&fixture, &model).await;
    assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, false));
    assert!(outcome.error.is_some_and(|error| error.contains("too long")));
    assert!(model.requests().len() < 8);
}
