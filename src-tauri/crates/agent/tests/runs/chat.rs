//! Chat turns of the main session.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rouse_core::approval::ApprovalDecision;
use rouse_core::message::Message;
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind};
use rouse_core::run::{Outcome, Run, WaitsFor};
use rouse_core::tool::{Annotations, ApprovalRule, Tool, ToolOutput};
use rouse_core::{RunId, RunState, RunTrigger, SessionKey};
use rouse_testkit::scripted_model::{Scripted, calls, fails, says};
use serde_json::{Value, json};

use super::run_fixture::{NOW, RunFixture, TestTool, tools};

async fn message(fixture: &RunFixture, id: &str, text: &str) -> Run {
    let run = Run {
        state: RunState::Running,
        started_at: Some(NOW),
        attempt: 1,
        job_name: "Chat".to_owned(),
        payload: json!({ "kind": "chat", "text": text }),
        ..Run::queued(RunId::new(id), RunTrigger::Chat, NOW)
    };
    fixture.store.insert_run(&run, NOW).await.expect("inserted");
    run
}

async fn answer(fixture: &RunFixture, run: &Run) -> Outcome {
    let text = run.payload["text"].as_str().expect("words");
    fixture.driver().run_chat_turn(run, text, fixture.chosen(), &fixture.cancel).await
}

async fn queue(fixture: &RunFixture, line: &str) {
    fixture.store.queue_system_event(line, "wake", &[], NOW).await.expect("queued");
}

async fn waiting(fixture: &RunFixture) -> usize {
    fixture.store.pending_system_events(1_000).await.expect("read").len()
}

fn task(fixture: &RunFixture, request: usize) -> String {
    match fixture.model.requests()[request].messages.last() {
        Some(Message::User { text }) => text.clone(),
        other => panic!("expected a task, found {other:?}"),
    }
}

/// A tool that needs an approval and counts the calls.
fn counted_tool(calls: &Arc<Mutex<u32>>) -> Arc<dyn Tool> {
    let calls = Arc::clone(calls);
    let tool = TestTool::new("adds", move |_, _| {
        *calls.lock().expect("not poisoned") += 1;
        Box::pin(std::future::ready(ToolOutput::ok("added")))
    });
    Arc::new(tool.with(|spec| {
        spec.annotations = Annotations::ADDS;
        spec.approval = ApprovalRule::UnlessGranted;
        spec.attended_only = true;
    }))
}

#[tokio::test]
async fn queued_events_precede_the_message_and_are_drained() {
    let fixture = RunFixture::new([says("Which plants do you mean?")]).await;
    queue(&fixture, "Cron Weather: Rain.").await;
    let run = message(&fixture, "m1", "Water them").await;
    let outcome = answer(&fixture, &run).await;
    assert_eq!(
        (outcome.state, outcome.summary.as_deref()),
        (RunState::Succeeded, Some("Which plants do you mean?"))
    );
    let task = task(&fixture, 0);
    assert!(task.starts_with("System: Cron Weather: Rain.\n\nIt is "), "{task}");
    assert!(task.ends_with("\n\nWater them"), "{task}");
    assert_eq!(waiting(&fixture).await, 0);
    assert_eq!(fixture.transcript(&SessionKey::main()).await.len(), 2);
    let request = &fixture.model.requests()[0];
    assert!(request.system.contains("has just written to you"), "{}", request.system);
    assert!(request.tools.iter().all(|tool| tool.name != "complete_run"));
}

#[tokio::test]
async fn failed_chat_keeps_queue_and_message_for_the_next() {
    let fixture = RunFixture::new([
        fails(ProviderErrorKind::Auth, "no key"),
        says("Rain."),
        says("You asked for the weather."),
    ])
    .await;
    queue(&fixture, "Cron Weather: Rain.").await;
    let first = message(&fixture, "m1", "How is it?").await;
    assert_eq!(answer(&fixture, &first).await.state, RunState::Failed);
    assert_eq!(waiting(&fixture).await, 1);
    let second = message(&fixture, "m2", "How is the weather?").await;
    assert_eq!(answer(&fixture, &second).await.state, RunState::Succeeded);
    assert_eq!(waiting(&fixture).await, 0);
    let third = message(&fixture, "m3", "What did I ask?").await;
    answer(&fixture, &third).await;
    let messages = format!("{:?}", fixture.model.requests()[2].messages);
    assert!(messages.contains("How is the weather?") && messages.contains("Rain."), "{messages}");
}

/// The history in a request, message by message.
fn history(fixture: &RunFixture, request: usize) -> Vec<String> {
    let mut messages = fixture.model.requests()[request].messages.clone();
    messages.pop();
    messages.iter().map(|message| json!(message).to_string()).collect()
}

#[tokio::test]
async fn message_during_pending_approval_has_a_note() {
    let mut all = tools();
    all.push(counted_tool(&Arc::default()));
    let script = [
        calls([("c1", "echo", json!({ "text": "one" })), ("c2", "adds", json!({ "text": "two" }))]),
        says("I wait for your yes."),
        says("Added."),
        says("It is done."),
    ];
    let fixture = RunFixture::with_tools(script, all).await;
    let first = message(&fixture, "m1", "Add one and two").await;
    let parked = answer(&fixture, &first).await;
    fixture.park(&first, &parked).await;
    let second = message(&fixture, "m2", "What do you wait for?").await;
    let outcome = answer(&fixture, &second).await;
    assert_eq!(outcome.summary.as_deref(), Some("I wait for your yes."));
    fixture.ended(&second, &outcome).await;
    let messages = history(&fixture, 1);
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(
        messages[0].contains(r#""role":"user""#) && messages[0].contains("Add one and two"),
        "{messages:?}"
    );
    assert!(messages[1].contains(r#""role":"assistant""#), "{messages:?}");
    assert!(messages[1].contains("(I requested approval for adds"), "{messages:?}");
    assert!(!messages[1].contains("echo") && !messages[1].contains("two"), "{messages:?}");

    fixture.decide(&parked.approvals[0], &ApprovalDecision::Once).await;
    fixture.start_again(&first).await;
    let outcome = answer(&fixture, &first).await;
    assert_eq!(outcome.summary.as_deref(), Some("Added."));
    fixture.ended(&first, &outcome).await;
    let third = message(&fixture, "m3", "And now?").await;
    answer(&fixture, &third).await;
    let messages = history(&fixture, 3);
    let roles: Vec<bool> = messages.iter().map(|text| text.contains(r#""role":"user""#)).collect();
    assert_eq!(roles, [true, false, true, false], "roles alternate: {messages:?}");
    assert!(messages[0].contains("Add one and two"), "{messages:?}");
    assert!(messages[1].contains("(I continued this later"), "{messages:?}");
    assert!(
        messages[3].contains("I wait for your yes.") && messages[3].contains("Added."),
        "{messages:?}"
    );
}

#[tokio::test]
async fn unanswered_message_stays_and_failed_heartbeat_does_not() {
    let fixture = RunFixture::new([
        fails(ProviderErrorKind::Auth, "no key"),
        fails(ProviderErrorKind::Auth, "no key"),
        says("Yes, that the weather."),
    ])
    .await;
    queue(&fixture, "Cron Weather: Rain.").await;
    let heartbeat_run = fixture.run_of(None).await;
    let outcome = fixture
        .driver()
        .run_heartbeat(&heartbeat_run, fixture.chosen(), None, &fixture.cancel)
        .await;
    fixture.ended(&heartbeat_run, &outcome).await;
    let first = message(&fixture, "m1", "How is the weather?").await;
    let outcome = answer(&fixture, &first).await;
    fixture.ended(&first, &outcome).await;
    let second = message(&fixture, "m2", "Did I ask you something?").await;
    assert_eq!(answer(&fixture, &second).await.state, RunState::Succeeded);
    let messages = history(&fixture, 2);
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].contains("How is the weather?"), "{messages:?}");
    assert!(messages[1].contains(r#""role":"assistant""#), "{messages:?}");
    assert!(messages[1].contains("(I gave no answer to this.)"), "{messages:?}");
}

#[tokio::test]
async fn partly_read_answer_is_not_retried() {
    let error = ProviderError {
        retry_after: Some(Duration::ZERO),
        ..ProviderError::new(ProviderErrorKind::Truncated, "It broke off.")
    };
    let broken = Scripted::Failure(vec![Delta::Text("The".into())], error);
    let fixture = RunFixture::new([broken, says("Done.")]).await;
    let run = message(&fixture, "m1", "Look").await;
    assert_eq!(answer(&fixture, &run).await.state, RunState::Failed);
    assert_eq!(fixture.model.requests().len(), 1);
}

#[tokio::test]
async fn chat_waits_for_an_outage_unless_a_part_was_read() {
    for (read, waits_for) in
        [(vec![], Some(WaitsFor::Model)), (vec![Delta::Text("The".into())], None)]
    {
        let error = ProviderError::new(ProviderErrorKind::Overloaded, "Busy.");
        let fixture = RunFixture::new([Scripted::Failure(read, error)]).await;
        let run = message(&fixture, "m1", "Look").await;
        assert_eq!(answer(&fixture, &run).await.waits_for, waits_for);
    }
}

#[tokio::test]
async fn chat_without_a_model_fails_with_advice() {
    let fixture = RunFixture::new([]).await;
    let run = message(&fixture, "m1", "Hello").await;
    let outcome = fixture.driver().run_chat_turn(&run, "Hello", None, &fixture.cancel).await;
    assert!(outcome.error.is_some_and(|error| error.contains("No model is set up")));
}

#[tokio::test]
async fn attended_tools_are_offered_in_chat_only() {
    let count = Arc::default();
    let mut all = tools();
    all.push(counted_tool(&count));
    let fixture = RunFixture::with_tools([says("Hello."), says("HEARTBEAT_OK")], all).await;
    let run = message(&fixture, "m1", "Hello").await;
    answer(&fixture, &run).await;
    queue(&fixture, "Look").await;
    let heartbeat_run = fixture.run_of(None).await;
    fixture.driver().run_heartbeat(&heartbeat_run, fixture.chosen(), None, &fixture.cancel).await;
    let offered: Vec<bool> = fixture
        .model
        .requests()
        .iter()
        .map(|request| request.tools.iter().any(|tool| tool.name == "adds"))
        .collect();
    assert_eq!(offered, [true, false]);
}

#[tokio::test]
async fn chat_resumes_after_approval() {
    let count = Arc::default();
    let mut all = tools();
    all.push(counted_tool(&count));
    let script = [calls([("c1", "adds", json!({ "text": "one" }))]), says("Added.")];
    let fixture = RunFixture::with_tools(script, all).await;
    queue(&fixture, "Cron Weather: Rain.").await;
    let run = message(&fixture, "m1", "Add one").await;
    let outcome = answer(&fixture, &run).await;
    assert_eq!((outcome.state, outcome.approvals.len()), (RunState::AwaitingApproval, 1));
    assert_eq!(waiting(&fixture).await, 1);
    assert_eq!(*count.lock().expect("not poisoned"), 0);
    fixture.say_yes(&run, &outcome).await;
    // The same events as before; later events wait for the next turn.
    queue(&fixture, "Something else").await;
    let run = fixture.store.run(&run.id).await.expect("read").expect("a run");
    let outcome = answer(&fixture, &run).await;
    assert_eq!((outcome.state, outcome.summary.as_deref()), (RunState::Succeeded, Some("Added.")));
    assert_eq!(waiting(&fixture).await, 1);
    assert_eq!(*count.lock().expect("not poisoned"), 1);
    let people = |messages: &[Message]| {
        messages.iter().filter(|m| matches!(m, Message::User { .. })).count()
    };
    assert_eq!(people(&fixture.transcript(&SessionKey::main()).await), 1);
}

#[tokio::test]
async fn interrupted_chat_resumes_without_repeating_calls() {
    let count: Arc<Mutex<u32>> = Arc::default();
    let counted = Arc::clone(&count);
    let adds = TestTool::new("adds", move |_, _| {
        *counted.lock().expect("not poisoned") += 1;
        Box::pin(std::future::ready(ToolOutput::ok("added")))
    });
    let mut all = tools();
    all.push(Arc::new(adds.with(|spec| spec.annotations = Annotations::ADDS)));
    let script = [
        calls([("c1", "adds", json!({ "text": "one" }))]),
        fails(ProviderErrorKind::Auth, "no key"),
        says("Added."),
    ];
    let fixture = RunFixture::with_tools(script, all).await;
    queue(&fixture, "Cron Weather: Rain.").await;
    let run = message(&fixture, "m1", "Add one").await;
    // The cancelled second request stands for the end of the process: everything before is stored.
    assert_eq!(answer(&fixture, &run).await.state, RunState::Failed);
    let run =
        fixture.store.requeue_run(&run.id, fixture.now()).await.expect("written").expect("a run");
    fixture.start_again(&run).await;
    assert_eq!(answer(&fixture, &run).await.summary.as_deref(), Some("Added."));
    assert_eq!(waiting(&fixture).await, 0);
    assert_eq!(*count.lock().expect("not poisoned"), 1);
    let roles: Vec<Value> = fixture
        .transcript(&SessionKey::main())
        .await
        .iter()
        .map(|m| json!(m)["role"].clone())
        .collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
}

#[tokio::test]
async fn chat_asks_despite_other_pending_approvals() {
    let made = Arc::default();
    let adds = || calls([("c1", "adds", json!({}))]);
    let fixture = RunFixture::with_tools((0..4).map(|_| adds()), vec![counted_tool(&made)]).await;
    for number in 1..=4 {
        let run = message(&fixture, &format!("m{number}"), "Add it").await;
        let outcome = answer(&fixture, &run).await;
        assert_eq!(outcome.state, RunState::AwaitingApproval, "{number}: {outcome:?}");
        fixture.park(&run, &outcome).await;
    }
}

#[tokio::test]
async fn too_many_approvals_in_chat_advise_no_grant() {
    let made = Arc::default();
    let mut all = tools();
    all.push(counted_tool(&made));
    let adds = |text: &str| calls([("c1", "adds", json!({ "text": text }))]);
    let fixture = RunFixture::with_tools(["a", "b", "c", "d"].map(adds).to_vec(), all).await;
    let run = message(&fixture, "m1", "Add them").await;
    let mut outcome = answer(&fixture, &run).await;
    for _ in 0..3 {
        fixture.say_yes(&run, &outcome).await;
        outcome = answer(&fixture, &run).await;
    }
    let error = outcome.error.expect("words");
    assert!(error.contains("requested 3 approvals") && !error.contains("rant"), "{error}");
    assert_eq!(*made.lock().expect("not poisoned"), 3);
}

/// The journal of a run without a job is deleted before the messages.
#[tokio::test]
async fn untrusted_result_taints_the_session_at_once() {
    let reads = calls([("c0", "outside", json!({}))]);
    let fixture =
        RunFixture::new([calls([("c0", "echo", json!({}))]), says("Hi."), reads, says("Read.")])
            .await;
    let knows = async || fixture.store.session_taint(&SessionKey::main()).await.unwrap().is_tainted;
    let first = message(&fixture, "r1", "Hello").await;
    answer(&fixture, &first).await;
    assert!(!knows().await, "nothing has come in");
    let second = message(&fixture, "r2", "Read it").await;
    answer(&fixture, &second).await;
    assert!(knows().await);
}
