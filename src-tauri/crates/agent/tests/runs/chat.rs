//! Answers to a person in the main session.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rouse_core::approval::Answer;
use rouse_core::message::Message;
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind};
use rouse_core::run::{Outcome, Run, WaitsFor};
use rouse_core::tool::{Annotations, ApprovalRule, Tool, ToolOutput};
use rouse_core::{RunId, RunState, RunTrigger, SessionKey};
use rouse_testkit::scripted_model::{Scripted, calls, fails, says};
use serde_json::{Value, json};

use super::house::{House, NOW, TestTool, tools};

async fn message(house: &House, id: &str, text: &str) -> Run {
    let run = Run {
        state: RunState::Running,
        started_at: Some(NOW),
        attempt: 1,
        job_name: "Chat".to_owned(),
        payload: json!({ "kind": "chat", "text": text }),
        ..Run::queued(RunId::new(id), RunTrigger::Chat, NOW)
    };
    house.store.insert_run(&run, NOW).await.expect("inserted");
    run
}

async fn answer(house: &House, run: &Run) -> Outcome {
    let text = run.payload["text"].as_str().expect("words");
    house.driver().run_chat_turn(run, text, house.chosen(), &house.cancel).await
}

async fn queue(house: &House, line: &str) {
    house.store.queue_system_event(line, "wake", &[], NOW).await.expect("queued");
}

async fn waiting(house: &House) -> usize {
    house.store.pending_system_events(1_000).await.expect("read").len()
}

fn task(house: &House, request: usize) -> String {
    match house.model.requests()[request].messages.last() {
        Some(Message::User { text }) => text.clone(),
        other => panic!("expected a task, found {other:?}"),
    }
}

/// A tool that asks and adds, and counts how often it was called.
fn asking(calls: &Arc<Mutex<u32>>) -> Arc<dyn Tool> {
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
async fn what_happened_stands_before_the_persons_words_and_is_dealt_with() {
    let house = House::new([says("Which plants do you mean?")]).await;
    queue(&house, "Cron Weather: Rain.").await;
    let run = message(&house, "m1", "Water them").await;
    let outcome = answer(&house, &run).await;
    assert_eq!(
        (outcome.state, outcome.summary.as_deref()),
        (RunState::Succeeded, Some("Which plants do you mean?"))
    );
    let task = task(&house, 0);
    assert!(task.starts_with("System: Cron Weather: Rain.\n\nIt is "), "{task}");
    assert!(task.ends_with("\n\nWater them"), "{task}");
    assert_eq!(waiting(&house).await, 0);
    assert_eq!(house.transcript(&SessionKey::main()).await.len(), 2);
    let request = &house.model.requests()[0];
    assert!(request.system.contains("has just written to you"), "{}", request.system);
    assert!(request.tools.iter().all(|tool| tool.name != "complete_run"));
}

#[tokio::test]
async fn an_answer_that_fails_leaves_the_queue_and_the_next_one_remembers_what_was_said() {
    let house = House::new([
        fails(ProviderErrorKind::Auth, "no key"),
        says("Rain."),
        says("You asked for the weather."),
    ])
    .await;
    queue(&house, "Cron Weather: Rain.").await;
    let first = message(&house, "m1", "How is it?").await;
    assert_eq!(answer(&house, &first).await.state, RunState::Failed);
    assert_eq!(waiting(&house).await, 1);
    let second = message(&house, "m2", "How is the weather?").await;
    assert_eq!(answer(&house, &second).await.state, RunState::Succeeded);
    assert_eq!(waiting(&house).await, 0);
    let third = message(&house, "m3", "What did I ask?").await;
    answer(&house, &third).await;
    let told = format!("{:?}", house.model.requests()[2].messages);
    assert!(told.contains("How is the weather?") && told.contains("Rain."), "{told}");
}

/// What a model was told before its task, message by message.
fn remembered(house: &House, request: usize) -> Vec<String> {
    let mut messages = house.model.requests()[request].messages.clone();
    messages.pop();
    messages.iter().map(|message| json!(message).to_string()).collect()
}

#[tokio::test]
async fn a_message_behind_an_open_question_knows_what_was_written_before_and_what_it_waits_for() {
    let mut all = tools();
    all.push(asking(&Arc::default()));
    let script = [
        calls([("c1", "echo", json!({ "text": "one" })), ("c2", "adds", json!({ "text": "two" }))]),
        says("I wait for your yes."),
        says("Added."),
        says("It is done."),
    ];
    let house = House::with_tools(script, all).await;
    let first = message(&house, "m1", "Add one and two").await;
    let asked = answer(&house, &first).await;
    house.park(&first, &asked).await;
    let second = message(&house, "m2", "What do you wait for?").await;
    let outcome = answer(&house, &second).await;
    assert_eq!(outcome.summary.as_deref(), Some("I wait for your yes."));
    house.ended(&second, &outcome).await;
    let told = remembered(&house, 1);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains(r#""role":"user""#) && told[0].contains("Add one and two"),
        "{told:?}"
    );
    assert!(told[1].contains(r#""role":"assistant""#), "{told:?}");
    assert!(told[1].contains("(I asked for the person's yes to adds"), "{told:?}");
    assert!(!told[1].contains("echo") && !told[1].contains("two"), "{told:?}");

    house.decide(&asked.asks[0], &Answer::Once).await;
    house.start_again(&first).await;
    let outcome = answer(&house, &first).await;
    assert_eq!(outcome.summary.as_deref(), Some("Added."));
    house.ended(&first, &outcome).await;
    let third = message(&house, "m3", "And now?").await;
    answer(&house, &third).await;
    let told = remembered(&house, 3);
    let roles: Vec<bool> = told.iter().map(|told| told.contains(r#""role":"user""#)).collect();
    assert_eq!(roles, [true, false, true, false], "nobody speaks twice in a row: {told:?}");
    assert!(told[0].contains("Add one and two"), "{told:?}");
    assert!(told[1].contains("(I went on with this later"), "{told:?}");
    assert!(told[3].contains("I wait for your yes.") && told[3].contains("Added."), "{told:?}");
}

#[tokio::test]
async fn a_message_that_no_answer_came_of_is_told_and_a_beat_that_failed_is_not() {
    let house = House::new([
        fails(ProviderErrorKind::Auth, "no key"),
        fails(ProviderErrorKind::Auth, "no key"),
        says("Yes, that the weather."),
    ])
    .await;
    queue(&house, "Cron Weather: Rain.").await;
    let beat = house.run_of(None).await;
    let outcome = house.driver().run_main_turn(&beat, house.chosen(), None, &house.cancel).await;
    house.ended(&beat, &outcome).await;
    let first = message(&house, "m1", "How is the weather?").await;
    let outcome = answer(&house, &first).await;
    house.ended(&first, &outcome).await;
    let second = message(&house, "m2", "Did I ask you something?").await;
    assert_eq!(answer(&house, &second).await.state, RunState::Succeeded);
    let told = remembered(&house, 2);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("How is the weather?"), "{told:?}");
    assert!(told[1].contains(r#""role":"assistant""#), "{told:?}");
    assert!(told[1].contains("(No answer of mine came of this.)"), "{told:?}");
}

#[tokio::test]
async fn nobody_goes_on_with_an_answer_that_the_person_has_begun_to_read() {
    let error = ProviderError {
        retry_after: Some(Duration::ZERO),
        ..ProviderError::new(ProviderErrorKind::Truncated, "It broke off.")
    };
    let broken = Scripted::Failure(vec![Delta::Text("The".into())], error);
    let house = House::new([broken, says("Done.")]).await;
    let run = message(&house, "m1", "Look").await;
    assert_eq!(answer(&house, &run).await.state, RunState::Failed);
    assert_eq!(house.model.requests().len(), 1);
}

#[tokio::test]
async fn chat_waits_for_an_outage_unless_a_part_was_read() {
    for (read, waits_for) in
        [(vec![], Some(WaitsFor::Model)), (vec![Delta::Text("The".into())], None)]
    {
        let error = ProviderError::new(ProviderErrorKind::Overloaded, "Busy.");
        let house = House::new([Scripted::Failure(read, error)]).await;
        let run = message(&house, "m1", "Look").await;
        assert_eq!(answer(&house, &run).await.waits_for, waits_for);
    }
}

#[tokio::test]
async fn without_a_model_it_says_so() {
    let house = House::new([]).await;
    let run = message(&house, "m1", "Hello").await;
    let outcome = house.driver().run_chat_turn(&run, "Hello", None, &house.cancel).await;
    assert!(outcome.error.is_some_and(|error| error.contains("No model is set up")));
}

#[tokio::test]
async fn tools_for_a_person_who_is_there_are_offered_here_and_not_to_a_heartbeat() {
    let count = Arc::default();
    let mut all = tools();
    all.push(asking(&count));
    let house = House::with_tools([says("Hello."), says("HEARTBEAT_OK")], all).await;
    let run = message(&house, "m1", "Hello").await;
    answer(&house, &run).await;
    queue(&house, "Look").await;
    let beat = house.run_of(None).await;
    house.driver().run_main_turn(&beat, house.chosen(), None, &house.cancel).await;
    let offered: Vec<bool> = house
        .model
        .requests()
        .iter()
        .map(|request| request.tools.iter().any(|tool| tool.name == "adds"))
        .collect();
    assert_eq!(offered, [true, false]);
}

#[tokio::test]
async fn a_call_that_needs_a_yes_waits_for_it_and_the_answer_goes_on() {
    let count = Arc::default();
    let mut all = tools();
    all.push(asking(&count));
    let script = [calls([("c1", "adds", json!({ "text": "one" }))]), says("Added.")];
    let house = House::with_tools(script, all).await;
    queue(&house, "Cron Weather: Rain.").await;
    let run = message(&house, "m1", "Add one").await;
    let outcome = answer(&house, &run).await;
    assert_eq!((outcome.state, outcome.asks.len()), (RunState::AwaitingApproval, 1));
    assert_eq!(waiting(&house).await, 1);
    assert_eq!(*count.lock().expect("not poisoned"), 0);
    house.say_yes(&run, &outcome).await;
    // It is shown what it was shown before, and what came since waits for the next turn.
    queue(&house, "Something else").await;
    let run = house.store.run(&run.id).await.expect("read").expect("a run");
    let outcome = answer(&house, &run).await;
    assert_eq!((outcome.state, outcome.summary.as_deref()), (RunState::Succeeded, Some("Added.")));
    assert_eq!(waiting(&house).await, 1);
    assert_eq!(*count.lock().expect("not poisoned"), 1);
    let people = |messages: &[Message]| {
        messages.iter().filter(|m| matches!(m, Message::User { .. })).count()
    };
    assert_eq!(people(&house.transcript(&SessionKey::main()).await), 1);
}

#[tokio::test]
async fn an_answer_that_was_cut_off_goes_on_and_does_nothing_twice() {
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
    let house = House::with_tools(script, all).await;
    queue(&house, "Cron Weather: Rain.").await;
    let run = message(&house, "m1", "Add one").await;
    // What the second request meets stands for the end of the process: all before it is on the disk.
    assert_eq!(answer(&house, &run).await.state, RunState::Failed);
    let run = house.store.put_back(&run.id, house.now()).await.expect("written").expect("a run");
    house.start_again(&run).await;
    assert_eq!(answer(&house, &run).await.summary.as_deref(), Some("Added."));
    assert_eq!(waiting(&house).await, 0);
    assert_eq!(*count.lock().expect("not poisoned"), 1);
    let told: Vec<Value> = house
        .transcript(&SessionKey::main())
        .await
        .iter()
        .map(|m| json!(m)["role"].clone())
        .collect();
    assert_eq!(told, ["user", "assistant", "toolResult", "assistant"]);
}

#[tokio::test]
async fn who_is_there_is_asked_however_many_questions_wait() {
    let made = Arc::default();
    let adds = || calls([("c1", "adds", json!({}))]);
    let house = House::with_tools((0..4).map(|_| adds()), vec![asking(&made)]).await;
    for number in 1..=4 {
        let run = message(&house, &format!("m{number}"), "Add it").await;
        let outcome = answer(&house, &run).await;
        assert_eq!(outcome.state, RunState::AwaitingApproval, "{number}: {outcome:?}");
        house.park(&run, &outcome).await;
    }
}

#[tokio::test]
async fn an_answer_that_asks_too_often_speaks_of_no_grant() {
    let made = Arc::default();
    let mut all = tools();
    all.push(asking(&made));
    let adds = |text: &str| calls([("c1", "adds", json!({ "text": text }))]);
    let house = House::with_tools(["a", "b", "c", "d"].map(adds).to_vec(), all).await;
    let run = message(&house, "m1", "Add them").await;
    let mut outcome = answer(&house, &run).await;
    for _ in 0..3 {
        house.say_yes(&run, &outcome).await;
        outcome = answer(&house, &run).await;
    }
    let error = outcome.error.expect("words");
    assert!(error.contains("asked 3 times") && !error.contains("rant"), "{error}");
    assert_eq!(*made.lock().expect("not poisoned"), 3);
}

/// The journal of a run without a job is kept for less long than what it said.
#[tokio::test]
async fn what_a_turn_reads_from_outside_its_session_knows_at_once() {
    let reads = calls([("c0", "outside", json!({}))]);
    let house =
        House::new([calls([("c0", "echo", json!({}))]), says("Hi."), reads, says("Read.")]).await;
    let knows = async || house.store.inherited(&SessionKey::main()).await.unwrap().from_outside;
    let first = message(&house, "r1", "Hello").await;
    answer(&house, &first).await;
    assert!(!knows().await, "nothing has come in");
    let second = message(&house, "r2", "Read it").await;
    answer(&house, &second).await;
    assert!(knows().await);
}
