//! A person writes to the main session, and is answered.

use std::time::Duration;

use rouse_core::Clock as _;
use rouse_core::message::{Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind};
use rouse_gateway::Subscription;
use rouse_testkit::scripted_model::{Scripted, answer, calls, says};
use serde_json::{Value, json};

use crate::house::{House, MINUTE, Plan, ask};

async fn send(house: &House, text: &str) -> String {
    let sent = house.call("chat.send", json!({ "text": text })).await;
    sent["runId"].as_str().expect("a run").to_owned()
}

/// Waits until the run is in one of these states; answers it.
async fn run_in(house: &House, id: &str, states: &[&str]) -> Value {
    house
        .until(async |house| {
            let run = house.call("runs.get", json!({ "id": id })).await["run"].clone();
            states.contains(&run["state"].as_str()?).then_some(run)
        })
        .await
}

async fn main_session(house: &House) -> Value {
    house.call("sessions.get", json!({ "key": "main" })).await
}

#[tokio::test]
async fn a_message_is_answered_in_words_as_they_come_and_stands_in_the_transcript() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("Hello to you.")]).build().await;
    let mut events = house.events();
    let id = send(&house, "  Hello  ").await;
    let run = run_in(&house, &id, &["succeeded"]).await;
    assert_eq!(
        (&run["trigger"], &run["summary"], &run["jobId"]),
        (&json!("chat"), &json!("Hello to you."), &Value::Null)
    );
    let session = main_session(&house).await;
    let said: Vec<_> = session["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|m| (m["from"].clone(), m["text"].clone(), m["runId"].clone()))
        .collect();
    let expected = [("person", "Hello"), ("model", "Hello to you.")];
    assert_eq!(said, expected.map(|(from, text)| (json!(from), json!(text), json!(id))));
    assert_eq!((&session["open"], &session["nextCursor"]), (&json!([]), &Value::Null));
    assert_eq!(session["session"]["messages"], 2);
    let live = loop {
        let event = json!(events.next().await.expect("an event"));
        if event["kind"] == "runText" {
            break event["data"].clone();
        }
    };
    assert_eq!(live, json!({ "runId": id, "turn": 1, "text": "Hello to you." }));
    let listed = house.call("sessions.list", json!({})).await;
    assert_eq!(
        (&listed["sessions"][0]["key"], &listed["sessions"][0]["jobName"]),
        (&json!("main"), &Value::Null)
    );
    let deliveries = house.call("runs.get", json!({ "id": id })).await["deliveries"].clone();
    assert_eq!(deliveries, json!([]), "whoever writes reads the answer there");
    house.host.stop().await;
}

/// An answer whose words come in these pieces, with a call behind them.
fn in_pieces(pieces: &[&str], call: Option<(&str, Value)>) -> Scripted {
    let words = pieces.iter().map(|piece| Part::Text { text: (*piece).to_owned() });
    let stop = if call.is_some() { StopReason::ToolCalls } else { StopReason::End };
    let call = call.map(|(tool, arguments)| {
        Part::ToolCall(ToolCallRequest { id: "c1".to_owned(), tool: tool.to_owned(), arguments })
    });
    Scripted::Answer(answer(words.chain(call).collect(), stop))
}

/// The events from now on; what was before is read.
async fn from_now_on(house: &House) -> Subscription {
    let mut events = house.events();
    events.next().await.expect("the first start");
    events
}

/// The words that come before an event that is `last`, each with the number of its turn.
async fn words_until(
    events: &mut Subscription,
    last: impl Fn(&Value) -> bool,
) -> Vec<(u64, String)> {
    let mut words = Vec::new();
    loop {
        let event = json!(events.next().await.expect("the host goes on"));
        let data = &event["data"];
        if event["kind"] == "runText" {
            let text = data["text"].as_str().expect("words").to_owned();
            words.push((data["turn"].as_u64().expect("a number"), text));
        } else if last(&event) {
            return words;
        }
    }
}

/// What the model has said in the main session, and what it is saying there.
async fn said_by_model(house: &House) -> (Vec<String>, Value) {
    let session = main_session(house).await;
    let messages = session["messages"].as_array().expect("messages").iter();
    let texts = messages
        .filter(|message| message["from"] == "model")
        // Each piece is a block of its own, and blocks stand on lines of their own.
        .map(|message| message["text"].as_str().expect("words").replace('\n', ""));
    (texts.collect(), session["open"][0]["liveText"].clone())
}

#[tokio::test]
async fn the_words_of_each_turn_come_whole_before_its_question_and_stand_in_one_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let wish = json!({ "name": "Tea", "schedule": { "kind": "manual" }, "reminder": "Tea" });
    let script = [
        in_pieces(&["I will ", "first look."], Some(("echo", json!({ "text": "x" })))),
        in_pieces(&["I will ", "make it."], Some(("routine_create", wish))),
        in_pieces(&["I will ", "remind you."], None),
    ];
    let house = Plan::new(folder.path()).model(script).build().await;
    let mut events = from_now_on(&house).await;
    let id = send(&house, "Remind me of the tea").await;
    let of = |words: Vec<(u64, String)>| -> Vec<(u64, String)> {
        let first = words.first().map_or(0, |(turn, _)| *turn);
        words.into_iter().map(|(turn, text)| (turn - first, text)).collect()
    };
    let words = words_until(&mut events, |event| event["kind"] == "approval").await;
    let expected: [(u64, &str); 4] =
        [(0, "I will "), (0, "I will first look."), (1, "I will "), (1, "I will make it.")];
    assert_eq!(of(words), expected.map(|(turn, text)| (turn, text.to_owned())));
    run_in(&house, &id, &["awaitingApproval"]).await;
    let said = ["I will first look.", "I will make it."].map(str::to_owned).to_vec();
    assert_eq!(said_by_model(&house).await, (said, Value::Null));

    house.answer(&house.question().await, "once").await;
    let words = words_until(&mut events, |event| event["data"]["state"] == "succeeded").await;
    let expected: [(u64, &str); 2] = [(0, "I will "), (0, "I will remind you.")];
    assert_eq!(of(words), expected.map(|(turn, text)| (turn, text.to_owned())));
    house.host.stop().await;
}

#[tokio::test]
async fn a_turn_that_was_kept_is_not_being_said_while_the_run_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = ("echo", json!({ "text": "x" }));
    let script = [in_pieces(&["I will ", "look."], Some(call)), Scripted::Silence];
    let house = Plan::new(folder.path()).model(script).build().await;
    send(&house, "Look").await;
    house.model.asked(2).await;
    assert_eq!(said_by_model(&house).await, (vec!["I will look.".to_owned()], Value::Null));
    house.host.stop().await;
}

#[tokio::test]
async fn nothing_stays_of_an_answer_that_broke_off_and_is_asked_for_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = ProviderError {
        retry_after: Some(Duration::ZERO),
        ..ProviderError::new(ProviderErrorKind::Truncated, "It broke off.")
    };
    let broken = Scripted::Failure(vec![Delta::Text("Half a sen".into())], error);
    let house = Plan::new(folder.path()).model([broken, Scripted::Silence]).build().await;
    let mut events = from_now_on(&house).await;
    let id = house.add(ask("Say a sentence.")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.model.asked(2).await;
    let run = house.run_in(&id, "running").await;
    assert_eq!(house.detail(&run).await["liveText"], Value::Null);
    house.call("runs.cancel", json!({ "id": run["id"] })).await;
    let words = words_until(&mut events, |event| event["data"]["state"] == "cancelled").await;
    let texts: Vec<&str> = words.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["Half a sen", ""]);
    house.host.stop().await;
}

#[tokio::test]
async fn a_reminder_that_is_asked_for_is_made_when_the_person_has_said_yes_and_comes_in_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let wish = json!({ "name": "Tea", "schedule": { "kind": "at", "at": "20m" }, "reminder": "The tea is ready." });
    let script =
        [calls([("c1", "routine_create", wish)]), says("I will remind you in 20 minutes.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let id = send(&house, "Remind me of the tea in 20 minutes").await;
    run_in(&house, &id, &["awaitingApproval"]).await;
    let open = main_session(&house).await["open"].clone();
    assert_eq!((&open[0]["runId"], &open[0]["state"]), (&json!(id), &json!("awaitingApproval")));
    let asked = house.question().await;
    let preview = asked["preview"].as_str().expect("words");
    for words in ["New job: Tea", "21 Nov 2026 at 12:20", "The tea is ready."] {
        assert!(preview.contains(words), "{words}: {preview}");
    }
    assert_eq!(house.call("cron.list", json!({})).await["jobs"], json!([]), "nothing is made yet");
    let shown = house.clock.now().plus_ms(20 * 60_000);
    house.clock.advance(3 * MINUTE);
    house.answer(&asked, "once").await;
    let run = run_in(&house, &id, &["succeeded"]).await;
    assert_eq!(run["summary"], "I will remind you in 20 minutes.");
    let jobs = house.call("cron.list", json!({})).await["jobs"].clone();
    let job = &jobs[0]["job"];
    assert_eq!(
        (&job["name"], &job["createdBy"]),
        (&json!("Tea"), &json!({ "kind": "agent", "runId": id }))
    );
    assert_eq!(job["state"]["nextRunAtMs"], shown.0, "what was shown is what is made");
    house.clock.advance(17 * MINUTE);
    let job_id = job["id"].as_str().expect("an id").to_owned();
    assert_eq!(house.ended(&job_id, 1).await[0]["state"], "succeeded");
    house.host.stop().await;
}

#[tokio::test]
async fn a_yes_that_comes_after_the_time_of_a_reminder_makes_none_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let wish =
        json!({ "name": "Tea", "schedule": { "kind": "at", "at": "2m" }, "reminder": "Tea" });
    let script = [calls([("c1", "routine_create", wish)]), says("It is too late for that.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let id = send(&house, "Remind me of the tea in 2 minutes").await;
    run_in(&house, &id, &["awaitingApproval"]).await;
    let asked = house.question().await;
    house.clock.advance(2 * MINUTE);
    house.answer(&asked, "once").await;
    run_in(&house, &id, &["succeeded"]).await;
    let told = format!("{:?}", house.model.requests()[1].messages);
    assert!(told.contains("2026-11-21T12:02"), "{told}");
    assert!(told.contains("passed before the person answered"), "{told}");
    assert_eq!(house.call("cron.list", json!({})).await["jobs"], json!([]), "nothing is made");
    house.host.stop().await;
}

#[tokio::test]
async fn no_said_once_is_told_to_the_model_and_nothing_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let wish = json!({ "name": "Tea", "schedule": { "kind": "manual" }, "reminder": "Tea" });
    let script = [calls([("c1", "routine_create", wish)]), says("Then not.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let id = send(&house, "Remind me").await;
    run_in(&house, &id, &["awaitingApproval"]).await;
    let asked = house.call("approvals.list", json!({})).await["approvals"][0]["id"].clone();
    let no = json!({ "id": asked, "answer": { "kind": "deny", "reason": "Too much tea." }, "from": "page" });
    house.call("approvals.decide", no).await;
    assert_eq!(run_in(&house, &id, &["succeeded"]).await["summary"], "Then not.");
    let told = format!("{:?}", house.model.requests()[1].messages);
    assert!(told.contains("Too much tea."), "{told}");
    assert_eq!(house.call("cron.list", json!({})).await["jobs"], json!([]));
    house.host.stop().await;
}

#[tokio::test]
async fn what_is_written_while_a_question_is_open_is_answered_by_who_knows_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let wish = json!({ "name": "Tea", "schedule": { "kind": "at", "at": "20m" }, "reminder": "The pot is hot." });
    let script = [
        calls([("c1", "routine_create", wish)]),
        says("For your yes to the reminder."),
        says("I will remind you in 20 minutes."),
        says("Of the tea."),
    ];
    let house = Plan::new(folder.path()).model(script).build().await;
    let first = send(&house, "Remind me of the tea in 20 minutes").await;
    run_in(&house, &first, &["awaitingApproval"]).await;
    let second = send(&house, "What do you wait for?").await;
    run_in(&house, &second, &["succeeded"]).await;
    let told = json!(house.model.requests()[1].messages);
    let of = |told: &Value, role: &str| -> Vec<String> {
        let messages = told.as_array().expect("messages").iter();
        messages.filter(|one| one["role"] == role).map(Value::to_string).collect()
    };
    assert!(of(&told, "user")[0].contains("Remind me of the tea in 20 minutes"), "{told}");
    let note = &of(&told, "assistant")[0];
    assert!(note.contains("yes to routine_create"), "{told}");
    assert!(!told.to_string().contains("The pot is hot."), "{told}");
    assert!(!main_session(&house).await["messages"].to_string().contains("the person's yes"));

    house.answer(&house.question().await, "once").await;
    run_in(&house, &first, &["succeeded"]).await;
    let third = send(&house, "Of what?").await;
    run_in(&house, &third, &["succeeded"]).await;
    let told = json!(house.model.requests()[3].messages);
    let answered = of(&told, "assistant").concat();
    assert!(answered.contains("I will remind you in 20 minutes."), "{told}");
    assert!(!answered.contains("yes to routine_create"), "it waits no more: {told}");
    house.host.stop().await;
}

#[tokio::test]
async fn messages_wait_for_each_other_and_can_be_stopped_one_or_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [Scripted::Silence, says("Three.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let first = send(&house, "One").await;
    run_in(&house, &first, &["running"]).await;
    let second = send(&house, "Two").await;
    let third = send(&house, "Three").await;
    let open = main_session(&house).await["open"].clone();
    let texts: Vec<&Value> =
        open.as_array().expect("a list").iter().map(|one| &one["text"]).collect();
    assert_eq!(texts, ["One", "Two", "Three"]);
    for id in [&second, &first] {
        assert_eq!(house.call("chat.abort", json!({ "runId": id })).await["changed"], true);
    }
    run_in(&house, &first, &["cancelled"]).await;
    assert_eq!(run_in(&house, &third, &["succeeded"]).await["summary"], "Three.");
    run_in(&house, &second, &["cancelled"]).await;
    assert_eq!(house.call("chat.abort", json!({})).await["changed"], false);
    let unknown = house.try_call("chat.abort", json!({ "runId": "none" })).await.expect_err("none");
    assert_eq!(unknown.message, "There is no message none.");
    house.host.stop().await;
}

#[tokio::test]
async fn what_cannot_be_answered_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let refused = async |text: &str| {
        house.try_call("chat.send", json!({ "text": text })).await.expect_err("a refusal").message
    };
    assert!(refused(" \n").await.contains("must not be empty"));
    assert!(refused(&"x".repeat(50_001)).await.contains("50,000"));
    assert!(refused("Hello").await.contains("No model is set up"));
    house.host.stop().await;

    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([Scripted::Silence]).build().await;
    for number in 0..20 {
        send(&house, &number.to_string()).await;
    }
    let crowded = house.try_call("chat.send", json!({ "text": "more" })).await.expect_err("full");
    assert!(crowded.message.contains("20 messages wait"), "{}", crowded.message);
    assert_eq!(house.call("chat.abort", json!({})).await["changed"], true);
    house.host.stop().await;
}

#[tokio::test]
async fn a_message_survives_the_end_of_the_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([Scripted::Silence]).build().await;
    let going = send(&house, "One").await;
    run_in(&house, &going, &["running"]).await;
    let waiting = send(&house, "Two").await;
    let clock = house.clock.clone();
    house.host.stop().await;

    let script = [says("First."), says("Second.")];
    let house = Plan::new(folder.path()).clock(&clock).model(script).build().await;
    assert_eq!(run_in(&house, &going, &["succeeded"]).await["summary"], "First.");
    assert_eq!(run_in(&house, &waiting, &["succeeded"]).await["summary"], "Second.");
    house.host.stop().await;
}

#[tokio::test]
async fn a_long_transcript_is_read_page_by_page_and_says_who_speaks() {
    let folder = tempfile::tempdir().expect("a folder");
    let script =
        [calls([("c1", "echo", json!({ "text": "42" }))]), says("It is 42."), says("Dealt with.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let id = send(&house, "What is it?").await;
    run_in(&house, &id, &["succeeded"]).await;
    house.call("wake", json!({ "text": "Look", "mode": "now" })).await;
    house.clock.advance(1_000);
    let all = house
        .until(async |house| {
            let messages = main_session(house).await["messages"].as_array().cloned()?;
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
        let page = house
            .call("sessions.get", json!({ "key": "main", "limit": 4, "cursor": cursor }))
            .await;
        pages.splice(0..0, page["messages"].as_array().cloned().expect("messages"));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(pages, all);
    let none = house.call("sessions.get", json!({ "key": "cron:none" })).await;
    assert_eq!((&none["session"], &none["messages"]), (&Value::Null, &json!([])));
    house.host.stop().await;
}

#[tokio::test]
async fn a_message_that_a_client_sends_again_is_answered_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("Hello to you.")]).build().await;
    let params = json!({ "text": "Hello", "key": "5e1f-0001" });
    let sent = house.call("chat.send", params.clone()).await;
    assert_eq!(sent, house.call("chat.send", params.clone()).await);
    let id = sent["runId"].as_str().expect("a run");
    run_in(&house, id, &["succeeded"]).await;
    assert_eq!(sent, house.call("chat.send", params).await, "also when it was answered");
    assert_eq!(main_session(&house).await["session"]["messages"], 2);
    let refused = async |key: &str| {
        let params = json!({ "text": "Bye", "key": key });
        house.try_call("chat.send", params).await.expect_err("a refusal")
    };
    let other = refused("5e1f-0001").await;
    assert!(other.message.contains("with this key before"), "{other:?}");
    let wrong = refused("a b").await;
    assert!(format!("{wrong:?}").contains("8 to 64"), "{wrong:?}");
}

#[tokio::test]
async fn what_a_long_conversation_began_with_is_summed_up_once_and_outlives_a_restart() {
    const SUM: &str = "The person likes tea.";
    let folder = tempfile::tempdir().expect("a folder");
    let long = |number: usize| says(&format!("Answer {number}. {}", "tea ".repeat(1_000)));
    let script = (0..8).map(long).chain([says(SUM), says("Tea, then.")]);
    // A quarter of the window, 8,000 tokens, is for what was said before.
    let house = Plan::new(folder.path()).model(script).reading(32_000).build().await;
    for number in 0..9 {
        let id = send(&house, &format!("Question {number}")).await;
        let run = run_in(&house, &id, &["succeeded"]).await;
        // The ninth has paid for the summary as well: ten tokens sent and five received, each time.
        assert_eq!(run["usage"]["outputTokens"], if number == 8 { 10 } else { 5 });
    }
    let all = main_session(&house).await["messages"].as_array().cloned().expect("messages");
    let from: Vec<&Value> = all.iter().map(|message| &message["from"]).collect();
    let (before, after) = from.split_at(16);
    assert!(before.chunks(2).all(|said| said == ["person", "model"]), "{from:?}");
    assert_eq!(after, ["summary", "person", "model"]);
    assert_eq!((&all[16]["text"], &all[16]["standsFor"]), (&json!(SUM), &json!(10)));
    let detail = house.call("runs.get", json!({ "id": all[16]["runId"] })).await;
    let kinds: Vec<&Value> =
        detail["steps"].as_array().expect("steps").iter().map(|step| &step["kind"]).collect();
    assert_eq!(kinds, ["summary", "modelTurn"]);
    house.host.stop().await;

    let still = Plan::new(folder.path()).model([says("Still tea.")]);
    let house = still.reading(32_000).build().await;
    let id = send(&house, "And now?").await;
    run_in(&house, &id, &["succeeded"]).await;
    let request = house.model.requests().pop().expect("asked");
    let told = json!(request.messages).to_string();
    assert!(told.contains(SUM) && told.contains("Answer 7.") && !told.contains("Answer 0."));
    house.host.stop().await;
}
