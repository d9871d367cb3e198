//! Chat turns of the main session: streaming, approvals, queueing, paging and compaction.

use std::time::Duration;

use rouse_core::Clock as _;
use rouse_core::message::{Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind};
use rouse_gateway::Subscription;
use rouse_testkit::scripted_model::{Scripted, answer, calls, says};
use rouse_tests::{EngineBuilder, MINUTE, TestEngine, agent_job};
use serde_json::{Value, json};

async fn send(engine: &TestEngine, text: &str) -> String {
    let sent = engine.call("chat.send", json!({ "text": text })).await;
    sent["runId"].as_str().expect("a run").to_owned()
}

/// Returns the run as soon as the state is among these.
async fn wait_for_state(engine: &TestEngine, id: &str, states: &[&str]) -> Value {
    engine
        .wait_until(async |engine| {
            let run = engine.call("runs.get", json!({ "id": id })).await["run"].clone();
            states.contains(&run["state"].as_str()?).then_some(run)
        })
        .await
}

async fn main_session(engine: &TestEngine) -> Value {
    engine.call("sessions.get", json!({ "key": "main" })).await
}

#[tokio::test]
async fn chat_answer_is_streamed_and_stored_in_transcript() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("Hello to you.")]).build().await;
    let mut events = engine.events();
    let id = send(&engine, "  Hello  ").await;
    let run = wait_for_state(&engine, &id, &["succeeded"]).await;
    assert_eq!(
        (&run["trigger"], &run["summary"], &run["jobId"]),
        (&json!("chat"), &json!("Hello to you."), &Value::Null)
    );
    let session = main_session(&engine).await;
    let messages: Vec<_> = session["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| (message["from"].clone(), message["text"].clone(), message["runId"].clone()))
        .collect();
    let expected = [("person", "Hello"), ("model", "Hello to you.")];
    assert_eq!(messages, expected.map(|(from, text)| (json!(from), json!(text), json!(id))));
    assert_eq!((&session["open"], &session["nextCursor"]), (&json!([]), &Value::Null));
    assert_eq!(session["session"]["messages"], 2);
    let live = loop {
        let event = json!(events.next().await.expect("an event"));
        if event["kind"] == "runText" {
            break event["data"].clone();
        }
    };
    assert_eq!(live, json!({ "runId": id, "turn": 1, "text": "Hello to you." }));
    let listed = engine.call("sessions.list", json!({})).await;
    assert_eq!(
        (&listed["sessions"][0]["key"], &listed["sessions"][0]["jobName"]),
        (&json!("main"), &Value::Null)
    );
    let deliveries = engine.call("runs.get", json!({ "id": id })).await["deliveries"].clone();
    assert_eq!(deliveries, json!([]));
    engine.host.stop().await;
}

/// An answer that streams these pieces, with an optional tool call at the end.
fn streamed(pieces: &[&str], call: Option<(&str, Value)>) -> Scripted {
    let texts = pieces.iter().map(|piece| Part::Text { text: (*piece).to_owned() });
    let stop = if call.is_some() { StopReason::ToolCalls } else { StopReason::End };
    let call = call.map(|(tool, arguments)| {
        Part::ToolCall(ToolCallRequest { id: "c1".to_owned(), tool: tool.to_owned(), arguments })
    });
    Scripted::Answer(answer(texts.chain(call).collect(), stop))
}

/// A subscription without the events of the first start.
async fn new_events(engine: &TestEngine) -> Subscription {
    let mut events = engine.events();
    events.next().await.expect("the first start");
    events
}

/// The live texts up to an event that matches `is_last`, each with a turn number.
async fn live_texts_until(
    events: &mut Subscription,
    is_last: impl Fn(&Value) -> bool,
) -> Vec<(u64, String)> {
    let mut texts = Vec::new();
    loop {
        let event = json!(events.next().await.expect("the host goes on"));
        let data = &event["data"];
        if event["kind"] == "runText" {
            let text = data["text"].as_str().expect("words").to_owned();
            texts.push((data["turn"].as_u64().expect("a number"), text));
        } else if is_last(&event) {
            return texts;
        }
    }
}

/// The texts of the model in the transcript, and the live text of the open run.
async fn model_texts(engine: &TestEngine) -> (Vec<String>, Value) {
    let session = main_session(engine).await;
    let messages = session["messages"].as_array().expect("messages").iter();
    let texts = messages
        .filter(|message| message["from"] == "model")
        // The transcript puts each streamed piece on a separate line.
        .map(|message| message["text"].as_str().expect("words").replace('\n', ""));
    (texts.collect(), session["open"][0]["liveText"].clone())
}

#[tokio::test]
async fn live_text_is_complete_before_each_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let reminder = json!({ "name": "Tea", "schedule": { "kind": "manual" }, "reminder": "Tea" });
    let script = [
        streamed(&["I will ", "first look."], Some(("echo", json!({ "text": "x" })))),
        streamed(&["I will ", "make it."], Some(("routine_create", reminder))),
        streamed(&["I will ", "remind you."], None),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let mut events = new_events(&engine).await;
    let id = send(&engine, "Remind me of the tea").await;
    let relative = |live_texts: Vec<(u64, String)>| -> Vec<(u64, String)> {
        let first = live_texts.first().map_or(0, |(turn, _)| *turn);
        live_texts.into_iter().map(|(turn, text)| (turn - first, text)).collect()
    };
    let live_texts = live_texts_until(&mut events, |event| event["kind"] == "approval").await;
    let expected: [(u64, &str); 4] =
        [(0, "I will "), (0, "I will first look."), (1, "I will "), (1, "I will make it.")];
    assert_eq!(relative(live_texts), expected.map(|(turn, text)| (turn, text.to_owned())));
    wait_for_state(&engine, &id, &["awaitingApproval"]).await;
    let texts = ["I will first look.", "I will make it."].map(str::to_owned).to_vec();
    assert_eq!(model_texts(&engine).await, (texts, Value::Null));

    engine.decide(&engine.pending_approval().await, "once").await;
    let live_texts =
        live_texts_until(&mut events, |event| event["data"]["state"] == "succeeded").await;
    let expected: [(u64, &str); 2] = [(0, "I will "), (0, "I will remind you.")];
    assert_eq!(relative(live_texts), expected.map(|(turn, text)| (turn, text.to_owned())));
    engine.host.stop().await;
}

#[tokio::test]
async fn stored_turn_is_not_repeated_as_live_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = ("echo", json!({ "text": "x" }));
    let script = [streamed(&["I will ", "look."], Some(call)), Scripted::Silence];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    send(&engine, "Look").await;
    engine.model.asked(2).await;
    assert_eq!(model_texts(&engine).await, (vec!["I will look.".to_owned()], Value::Null));
    engine.host.stop().await;
}

#[tokio::test]
async fn live_text_of_truncated_answer_is_cleared_on_retry() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = ProviderError {
        retry_after: Some(Duration::ZERO),
        ..ProviderError::new(ProviderErrorKind::Truncated, "It broke off.")
    };
    let broken = Scripted::Failure(vec![Delta::Text("Half a sen".into())], error);
    let engine = EngineBuilder::new(folder.path()).model([broken, Scripted::Silence]).build().await;
    let mut events = new_events(&engine).await;
    let id = engine.add_job(agent_job("Say a sentence.")).await;
    engine.start_run(&id).await;
    engine.model.asked(2).await;
    let run = engine.wait_for_run(&id, "running").await;
    assert_eq!(engine.run_detail(&run).await["liveText"], Value::Null);
    engine.call("runs.cancel", json!({ "id": run["id"] })).await;
    let live_texts =
        live_texts_until(&mut events, |event| event["data"]["state"] == "cancelled").await;
    let texts: Vec<&str> = live_texts.iter().map(|(_, text)| text.as_str()).collect();
    // Redaction holds back an end that may begin a stored secret.
    assert!(texts.len() == 2 && !texts[0].is_empty(), "{texts:?}");
    assert!("Half a sen".starts_with(texts[0]) && texts[1].is_empty(), "{texts:?}");
    engine.host.stop().await;
}

#[tokio::test]
async fn approved_reminder_is_created_and_fires_on_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let reminder = json!({ "name": "Tea", "schedule": { "kind": "at", "at": "20m" }, "reminder": "The tea is ready." });
    let script =
        [calls([("c1", "routine_create", reminder)]), says("I will remind you in 20 minutes.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let id = send(&engine, "Remind me of the tea in 20 minutes").await;
    wait_for_state(&engine, &id, &["awaitingApproval"]).await;
    let open = main_session(&engine).await["open"].clone();
    assert_eq!((&open[0]["runId"], &open[0]["state"]), (&json!(id), &json!("awaitingApproval")));
    let approval = engine.pending_approval().await;
    let preview = approval["preview"].as_str().expect("words");
    for text in ["New job: Tea", "21 Nov 2026 at 12:20", "The tea is ready."] {
        assert!(preview.contains(text), "{text}: {preview}");
    }
    assert_eq!(engine.call("cron.list", json!({})).await["jobs"], json!([]), "nothing is made yet");
    let due = engine.clock.now().plus_ms(20 * 60_000);
    engine.clock.advance(3 * MINUTE);
    engine.decide(&approval, "once").await;
    let run = wait_for_state(&engine, &id, &["succeeded"]).await;
    assert_eq!(run["summary"], "I will remind you in 20 minutes.");
    let jobs = engine.call("cron.list", json!({})).await["jobs"].clone();
    let job = &jobs[0]["job"];
    assert_eq!(
        (&job["name"], &job["createdBy"]),
        (&json!("Tea"), &json!({ "kind": "agent", "runId": id }))
    );
    assert_eq!(job["state"]["nextRunAtMs"], due.0);
    engine.clock.advance(17 * MINUTE);
    let job_id = job["id"].as_str().expect("an id").to_owned();
    assert_eq!(engine.finished_runs(&job_id, 1).await[0]["state"], "succeeded");
    engine.host.stop().await;
}

#[tokio::test]
async fn late_approval_creates_no_reminder() {
    let folder = tempfile::tempdir().expect("a folder");
    let reminder =
        json!({ "name": "Tea", "schedule": { "kind": "at", "at": "2m" }, "reminder": "Tea" });
    let script = [calls([("c1", "routine_create", reminder)]), says("It is too late for that.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let id = send(&engine, "Remind me of the tea in 2 minutes").await;
    wait_for_state(&engine, &id, &["awaitingApproval"]).await;
    let approval = engine.pending_approval().await;
    engine.clock.advance(2 * MINUTE);
    engine.decide(&approval, "once").await;
    wait_for_state(&engine, &id, &["succeeded"]).await;
    let messages = format!("{:?}", engine.model.requests()[1].messages);
    assert!(messages.contains("2026-11-21T12:02"), "{messages}");
    assert!(messages.contains("had passed before the approval"), "{messages}");
    assert_eq!(engine.call("cron.list", json!({})).await["jobs"], json!([]), "nothing is made");
    engine.host.stop().await;
}

#[tokio::test]
async fn denied_reminder_is_reported_to_model_and_not_created() {
    let folder = tempfile::tempdir().expect("a folder");
    let reminder = json!({ "name": "Tea", "schedule": { "kind": "manual" }, "reminder": "Tea" });
    let script = [calls([("c1", "routine_create", reminder)]), says("Then not.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let id = send(&engine, "Remind me").await;
    wait_for_state(&engine, &id, &["awaitingApproval"]).await;
    let approval = engine.call("approvals.list", json!({})).await["approvals"][0]["id"].clone();
    let denial = json!({ "id": approval, "decision": { "kind": "deny", "reason": "Too much tea." }, "from": "page" });
    engine.call("approvals.decide", denial).await;
    assert_eq!(wait_for_state(&engine, &id, &["succeeded"]).await["summary"], "Then not.");
    let messages = format!("{:?}", engine.model.requests()[1].messages);
    assert!(messages.contains("Too much tea."), "{messages}");
    assert_eq!(engine.call("cron.list", json!({})).await["jobs"], json!([]));
    engine.host.stop().await;
}

#[tokio::test]
async fn message_during_pending_approval_sees_its_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let reminder = json!({ "name": "Tea", "schedule": { "kind": "at", "at": "20m" }, "reminder": "The pot is hot." });
    let script = [
        calls([("c1", "routine_create", reminder)]),
        says("For your yes to the reminder."),
        says("I will remind you in 20 minutes."),
        says("Of the tea."),
    ];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let first = send(&engine, "Remind me of the tea in 20 minutes").await;
    wait_for_state(&engine, &first, &["awaitingApproval"]).await;
    let second = send(&engine, "What do you wait for?").await;
    wait_for_state(&engine, &second, &["succeeded"]).await;
    let messages = json!(engine.model.requests()[1].messages);
    let with_role = |messages: &Value, role: &str| -> Vec<String> {
        let messages = messages.as_array().expect("messages").iter();
        messages.filter(|message| message["role"] == role).map(Value::to_string).collect()
    };
    assert!(
        with_role(&messages, "user")[0].contains("Remind me of the tea in 20 minutes"),
        "{messages}"
    );
    let note = &with_role(&messages, "assistant")[0];
    assert!(note.contains("requested approval for routine_create"), "{messages}");
    assert!(!messages.to_string().contains("The pot is hot."), "{messages}");
    assert!(
        !main_session(&engine).await["messages"].to_string().contains("requested approval for")
    );

    engine.decide(&engine.pending_approval().await, "once").await;
    wait_for_state(&engine, &first, &["succeeded"]).await;
    let third = send(&engine, "Of what?").await;
    wait_for_state(&engine, &third, &["succeeded"]).await;
    let messages = json!(engine.model.requests()[3].messages);
    let model_texts = with_role(&messages, "assistant").concat();
    assert!(model_texts.contains("I will remind you in 20 minutes."), "{messages}");
    assert!(
        !model_texts.contains("requested approval for routine_create"),
        "the approval is decided: {messages}"
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn queued_messages_can_be_aborted() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [Scripted::Silence, says("Three.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let first = send(&engine, "One").await;
    wait_for_state(&engine, &first, &["running"]).await;
    let second = send(&engine, "Two").await;
    let third = send(&engine, "Three").await;
    let open = main_session(&engine).await["open"].clone();
    let texts: Vec<&Value> =
        open.as_array().expect("a list").iter().map(|run| &run["text"]).collect();
    assert_eq!(texts, ["One", "Two", "Three"]);
    for id in [&second, &first] {
        assert_eq!(engine.call("chat.abort", json!({ "runId": id })).await["changed"], true);
    }
    wait_for_state(&engine, &first, &["cancelled"]).await;
    assert_eq!(wait_for_state(&engine, &third, &["succeeded"]).await["summary"], "Three.");
    wait_for_state(&engine, &second, &["cancelled"]).await;
    assert_eq!(engine.call("chat.abort", json!({})).await["changed"], false);
    let unknown =
        engine.try_call("chat.abort", json!({ "runId": "none" })).await.expect_err("none");
    assert_eq!(unknown.message, "There is no message none.");
    engine.host.stop().await;
}

#[tokio::test]
async fn unanswerable_message_is_refused_with_fix() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let refused = async |text: &str| {
        engine.try_call("chat.send", json!({ "text": text })).await.expect_err("a refusal").message
    };
    assert!(refused(" \n").await.contains("must not be empty"));
    assert!(refused(&"x".repeat(50_001)).await.contains("50,000"));
    assert!(refused("Hello").await.contains("No model is set up"));
    engine.host.stop().await;

    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([Scripted::Silence]).build().await;
    for number in 0..20 {
        send(&engine, &number.to_string()).await;
    }
    let crowded = engine.try_call("chat.send", json!({ "text": "more" })).await.expect_err("full");
    assert!(crowded.message.contains("20 messages are unanswered"), "{}", crowded.message);
    assert_eq!(engine.call("chat.abort", json!({})).await["changed"], true);
    engine.host.stop().await;
}

#[tokio::test]
async fn running_and_queued_messages_survive_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([Scripted::Silence]).build().await;
    let running = send(&engine, "One").await;
    wait_for_state(&engine, &running, &["running"]).await;
    let queued = send(&engine, "Two").await;
    let clock = engine.clock.clone();
    engine.host.stop().await;

    let script = [says("First."), says("Second.")];
    let engine = EngineBuilder::new(folder.path()).clock(&clock).model(script).build().await;
    assert_eq!(wait_for_state(&engine, &running, &["succeeded"]).await["summary"], "First.");
    assert_eq!(wait_for_state(&engine, &queued, &["succeeded"]).await["summary"], "Second.");
    engine.host.stop().await;
}

#[tokio::test]
async fn transcript_pages_keep_order_and_sender() {
    let folder = tempfile::tempdir().expect("a folder");
    let script =
        [calls([("c1", "echo", json!({ "text": "42" }))]), says("It is 42."), says("Dealt with.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let id = send(&engine, "What is it?").await;
    wait_for_state(&engine, &id, &["succeeded"]).await;
    engine.call("wake", json!({ "text": "Look", "mode": "now" })).await;
    engine.clock.advance(1_000);
    let all = engine
        .wait_until(async |engine| {
            let messages = main_session(engine).await["messages"].as_array().cloned()?;
            (messages.len() == 6).then_some(messages)
        })
        .await;
    let from: Vec<&Value> = all.iter().map(|message| &message["from"]).collect();
    assert_eq!(from, ["person", "model", "tool", "model", "rouse", "model"]);
    assert_eq!(all[1]["calls"][0]["tool"], "echo");
    assert_eq!((&all[2]["callId"], &all[2]["tool"]), (&json!("c1"), &json!("echo")));
    let mut pages = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = engine
            .call("sessions.get", json!({ "key": "main", "limit": 4, "cursor": cursor }))
            .await;
        pages.splice(0..0, page["messages"].as_array().cloned().expect("messages"));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(pages, all);
    let none = engine.call("sessions.get", json!({ "key": "cron:none" })).await;
    assert_eq!((&none["session"], &none["messages"]), (&Value::Null, &json!([])));
    engine.host.stop().await;
}

#[tokio::test]
async fn message_with_same_key_is_answered_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("Hello to you.")]).build().await;
    let params = json!({ "text": "Hello", "key": "5e1f-0001" });
    let sent = engine.call("chat.send", params.clone()).await;
    assert_eq!(sent, engine.call("chat.send", params.clone()).await);
    let id = sent["runId"].as_str().expect("a run");
    wait_for_state(&engine, id, &["succeeded"]).await;
    assert_eq!(sent, engine.call("chat.send", params).await, "after its answer too");
    assert_eq!(main_session(&engine).await["session"]["messages"], 2);
    let refused = async |key: &str| {
        let params = json!({ "text": "Bye", "key": key });
        engine.try_call("chat.send", params).await.expect_err("a refusal")
    };
    let other = refused("5e1f-0001").await;
    assert!(other.message.contains("was sent with this key"), "{other:?}");
    let wrong = refused("a b").await;
    assert!(format!("{wrong:?}").contains("8 to 64"), "{wrong:?}");
}

#[tokio::test]
async fn long_conversation_is_compacted_once_across_restart() {
    const SUMMARY: &str = "The person likes tea.";
    let folder = tempfile::tempdir().expect("a folder");
    let long = |number: usize| says(&format!("Answer {number}. {}", "tea ".repeat(1_000)));
    let script = (0..8).map(long).chain([says(SUMMARY), says("Tea, then.")]);
    // A quarter of the window, 8,000 tokens, is for earlier messages.
    let engine =
        EngineBuilder::new(folder.path()).model(script).context_tokens(32_000).build().await;
    for number in 0..9 {
        let id = send(&engine, &format!("Question {number}")).await;
        let run = wait_for_state(&engine, &id, &["succeeded"]).await;
        // The ninth run also pays for the summary: five more received tokens.
        assert_eq!(run["usage"]["outputTokens"], if number == 8 { 10 } else { 5 });
    }
    let all = main_session(&engine).await["messages"].as_array().cloned().expect("messages");
    let from: Vec<&Value> = all.iter().map(|message| &message["from"]).collect();
    let (before, after) = from.split_at(16);
    assert!(before.chunks(2).all(|pair| pair == ["person", "model"]), "{from:?}");
    assert_eq!(after, ["summary", "person", "model"]);
    assert_eq!((&all[16]["text"], &all[16]["summarizedMessages"]), (&json!(SUMMARY), &json!(10)));
    let detail = engine.call("runs.get", json!({ "id": all[16]["runId"] })).await;
    let kinds: Vec<&Value> =
        detail["steps"].as_array().expect("steps").iter().map(|step| &step["kind"]).collect();
    assert_eq!(kinds, ["summary", "modelTurn"]);
    engine.host.stop().await;

    let restarted = EngineBuilder::new(folder.path()).model([says("Still tea.")]);
    let engine = restarted.context_tokens(32_000).build().await;
    let id = send(&engine, "And now?").await;
    wait_for_state(&engine, &id, &["succeeded"]).await;
    let request = engine.model.requests().pop().expect("a request");
    let messages = json!(request.messages).to_string();
    assert!(
        messages.contains(SUMMARY)
            && messages.contains("Answer 7.")
            && !messages.contains("Answer 0.")
    );
    engine.host.stop().await;
}
