//! The turn of a job: from its task to its outcome, with everything it leaves behind.

use std::time::Duration;

use rouse_core::approval::{GateDecision, Refusal};
use rouse_core::message::{Message, Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind as Kind};
use rouse_core::run::WaitsFor;
use rouse_core::{RunState, SessionKey, UnixMs};
use rouse_store::{StepKind, StepStatus};
use rouse_testkit::scripted_model::{Scripted, answer, calls, fails, says};
use serde_json::json;

use super::house::{House, NOW, agent_job, turn_of};

fn report(summary: &str) -> Scripted {
    calls([("end", "complete_run", json!({"outcome": "report", "summary": summary}))])
}

fn session() -> SessionKey {
    SessionKey::new("cron:j1")
}

fn text_of(message: &Message) -> String {
    match message {
        Message::User { text } | Message::ToolResult { text, .. } => text.clone(),
        Message::Assistant { parts } => format!("{parts:?}"),
        Message::Attachments { files } => format!("{files:?}"),
    }
}

#[tokio::test]
async fn a_run_calls_tools_and_ends_with_its_report() {
    let house =
        House::new([calls([("c1", "echo", json!({"text": "sunny"}))]), report("It is sunny.")])
            .await;
    let (run, outcome) = house.turn(json!({"message": "How is the weather?"})).await;
    assert_eq!(
        (outcome.state, outcome.summary.as_deref()),
        (RunState::Succeeded, Some("It is sunny."))
    );
    assert_eq!((outcome.usage.tokens(), outcome.usage.cost_micro_usd), (30, Some(2)));
    assert_eq!(outcome.model.as_deref(), Some("scripted-1"));

    let steps: Vec<_> = house
        .steps(&run)
        .await
        .into_iter()
        .map(|step| (step.kind, step.name, step.status))
        .collect();
    let done = |kind, name: &str| (kind, name.to_owned(), StepStatus::Finished);
    assert_eq!(
        steps,
        [
            done(StepKind::ModelTurn, "scripted-1"),
            done(StepKind::ToolCall, "echo"),
            done(StepKind::ModelTurn, "scripted-1"),
            done(StepKind::ToolCall, "complete_run"),
        ]
    );
    let first = &house.steps(&run).await[0];
    assert_eq!(first.usage.tokens(), 15);
    assert_eq!(
        first.output.as_ref().map(|output| output["calls"][0]["tool"].clone()),
        Some(json!("echo"))
    );

    let transcript = house.transcript(&session()).await;
    assert_eq!(transcript.len(), 5, "{transcript:?}");
    assert_eq!(
        transcript[2],
        Message::ToolResult {
            call_id: "c1".into(),
            tool: "echo".into(),
            text: "sunny".into(),
            is_error: false,
        }
    );
}

#[tokio::test]
async fn the_model_is_told_the_task_the_time_and_the_rules() {
    let house = House::new([says("Done.")]).await;
    house.turn(json!({"message": "How is the weather?"})).await;
    let request = &house.model.requests()[0];
    let task = text_of(&request.messages[0]);
    assert!(task.starts_with("[cron:j1] Weather: How is the weather?"), "{task}");
    assert!(
        task.contains("Saturday, 21 November 2026, 10:00 (Europe/Berlin, UTC+01:00)"),
        "{task}"
    );
    let workspace = house.workspace.display().to_string();
    assert!(request.system.contains(&format!("Your workspace is the folder {workspace}.")));
    assert!(
        request.system.contains("Never ask a question") && request.system.contains("complete_run")
    );
    let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(offered.contains(&"echo") && offered.contains(&"asks"), "{offered:?}");
}

#[tokio::test]
async fn a_late_run_knows_that_it_is_late() {
    let house = House::new([says("Done."), says("Done.")]).await;
    let job = agent_job(json!({"message": "x"}), json!({}));
    for (late_by, told) in [(10_000, false), (3 * 3_600_000, true)] {
        let mut run = house.run_of(Some(&job)).await;
        run.slot_at = Some(NOW.plus_ms(-late_by));
        house.go(&run, &job).await;
        let request = house.model.requests().pop().expect("asked");
        let task = text_of(request.messages.last().expect("a task"));
        assert_eq!(task.contains("is late"), told, "{task}");
        assert_eq!(task.contains("was due Saturday, 21 November 2026, 07:00"), told, "{task}");
    }
}

#[tokio::test]
async fn a_job_lists_its_tools_or_has_none() {
    let house = House::new([says("Done."), says("Done.")]).await;
    house.turn(json!({"message": "x", "tools": ["echo"]})).await;
    house.turn(json!({"message": "x", "useTools": false})).await;
    let requests = house.model.requests();
    let offered: Vec<_> = requests[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(offered, ["echo", "complete_run"]);
    assert!(requests[1].tools.is_empty() && !requests[1].system.contains("complete_run"));
}

#[tokio::test]
async fn a_tool_that_was_not_offered_is_denied_and_the_run_goes_on() {
    let house =
        House::new([calls([("c1", "outside", json!({}))]), says("Without it, then.")]).await;
    let (_, outcome) = house.turn(json!({"message": "x", "tools": ["echo"]})).await;
    assert_eq!(outcome.state, RunState::Succeeded);
    let told = house.model.requests()[1].messages.last().map(text_of).unwrap_or_default();
    assert!(told.contains("not allowed"), "{told}");
}

/// It can only answer in words, whatever its model asks for.
#[tokio::test]
async fn a_job_without_tools_has_none_at_the_gate_either() {
    let asked =
        calls([("c1", "echo", json!({"text": "a"})), ("c2", "notify", json!({"body": "b"}))]);
    let house = House::new([asked, says("Without them, then.")]).await;
    let (run, outcome) = house.turn(json!({"message": "x", "useTools": false})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let refusal = Some(Refusal::NotListed);
    let gate = Some(GateDecision::Refused { why: refusal, rewritten_by: None });
    let steps = house.steps(&run).await;
    let made: Vec<_> = steps.iter().filter(|step| step.kind == StepKind::ToolCall).collect();
    assert_eq!(made.len(), 2, "{steps:?}");
    assert!(made.iter().all(|step| step.gate == gate), "{made:?}");
}

#[tokio::test]
async fn malformed_arguments_are_told_to_the_model_which_mends_them() {
    let house = House::new([
        calls([("c1", "echo", json!("{\"text\": \"a"))]),
        calls([("c2", "echo", json!({"text": "a"}))]),
        report("Mended."),
    ])
    .await;
    let (_, outcome) = house.turn(json!({"message": "x"})).await;
    assert_eq!(outcome.summary.as_deref(), Some("Mended."));
    let told = house.model.requests()[1].messages.last().cloned();
    assert!(
        matches!(told, Some(Message::ToolResult { is_error: true, text, .. }) if text.contains("not valid JSON"))
    );
}

#[tokio::test]
async fn nothing_after_complete_run_is_carried_out() {
    let both = calls([
        ("c1", "complete_run", json!({"outcome": "nothing_to_report", "summary": ""})),
        ("c2", "notify", json!({"body": "too late"})),
    ]);
    let house = House::new([both]).await;
    let (run, outcome) = house.turn(json!({"message": "x"})).await;
    assert_eq!(outcome.state, RunState::NothingToReport);
    assert!(house.store.deliveries_of(&run.id).await.expect("read").is_empty());
    assert_eq!(house.steps(&run).await.len(), 2, "one model turn and one call");
}

#[tokio::test]
async fn a_notification_goes_into_the_outbox_once() {
    let notify = calls([("c1", "notify", json!({"body": "The kettle boils."}))]);
    let house = House::new([notify, says("Done.")]).await;
    let (run, _) = house.turn(json!({"message": "x"})).await;
    let deliveries = house.store.deliveries_of(&run.id).await.expect("read");
    assert_eq!(deliveries.len(), 1);
    assert_eq!(
        (deliveries[0].title.as_str(), deliveries[0].body.as_str()),
        ("Weather", "The kettle boils.")
    );
    assert_eq!(
        deliveries[0].id.as_str(),
        format!("{}-2", run.id),
        "the key is the run and the step"
    );
}

#[tokio::test]
async fn run_sends_three_notifications_and_one_digest() {
    let says_it = |id, body| (id, "notify", json!({ "title": "Rouse", "body": body }));
    let notify = calls([
        says_it("c1", "1"),
        says_it("c2", "2"),
        says_it("c3", "3"),
        says_it("c4", "4"),
        says_it("c5", "5"),
    ]);
    let house = House::new([notify, says("Done.")]).await;
    let (run, _) = house.turn(json!({"message": "x"})).await;
    let deliveries = house.store.deliveries_of(&run.id).await.expect("read");
    let told: Vec<_> = deliveries.iter().map(|one| (&*one.title, &*one.body)).collect();
    let own = "Weather: Rouse";
    let digest = ("Weather", "This run has more to tell. Open it to read the rest.");
    assert_eq!(told, [(own, "1"), (own, "2"), (own, "3"), digest]);
}

#[tokio::test]
async fn earlier_runs_are_remembered_in_words() {
    let house = House::new([
        calls([("c1", "echo", json!({"text": "rain"}))]),
        report("Rain."),
        says("Still rain."),
    ])
    .await;
    house.turn(json!({"message": "Weather?"})).await;
    house.turn(json!({"message": "Weather?"})).await;
    let messages = house.model.requests()[2].messages.clone();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert_eq!(
        messages[1],
        Message::Assistant { parts: vec![Part::Text { text: "Rain.".into() }] }
    );
    assert_eq!(house.transcript(&session()).await.len(), 5 + 2, "the memory is not stored again");
}

#[tokio::test]
async fn files_of_the_context_are_read_through_the_gate_and_fenced() {
    let house = House::new([says("Done.")]).await;
    let (run, _) = house
        .turn(json!({"message": "x", "tools": ["echo"], "contextPaths": ["a.md", "b.md"]}))
        .await;
    let task = text_of(&house.model.requests()[0].messages[0]);
    for path in ["a.md", "b.md"] {
        assert!(
            task.contains(&format!("\n{path}:\n⟦outside "))
                && task.contains(&format!("content of \"{path}\"")),
            "{task}"
        );
    }
    let read = house.steps(&run).await.into_iter().filter(|step| step.name == "read_file").count();
    assert_eq!(read, 2);
}

#[tokio::test]
async fn without_a_model_the_run_fails_in_plain_words() {
    let house = House::new([]).await;
    let job = agent_job(json!({"message": "x"}), json!({}));
    let run = house.run_of(Some(&job)).await;
    let outcome = house.driver().run_turn(&run, &job, turn_of(&job), None, &house.cancel).await;
    assert_eq!((outcome.state, outcome.may_pass), (RunState::Failed, false));
    let error = outcome.error.unwrap_or_default();
    assert!(error.starts_with("No model is set up.") && error.contains("Settings"), "{error}");
}

#[tokio::test]
async fn the_steps_of_a_run_are_limited_by_the_job_and_by_fifty() {
    let another = |text: u32| calls([("c", "echo", json!({"text": text.to_string()}))]);
    let house = House::new((0..100).map(another)).await;
    // And one turn more to say what came of it.
    for (wanted, expected) in [(Some(2), 3), (None, 11), (Some(500), 51)] {
        let before = house.model.requests().len();
        let mut payload = json!({"message": "x"});
        if let Some(wanted) = wanted {
            payload["maxSteps"] = json!(wanted);
        }
        // The format allows at most fifty; a file from elsewhere may hold more.
        let mut job = agent_job(json!({"message": "x"}), json!({}));
        if let rouse_core::job::Payload::AgentTurn(turn) = &mut job.payload {
            turn.max_steps = wanted;
        }
        let run = house.run_of(Some(&job)).await;
        let outcome = house.go(&run, &job).await;
        assert_eq!(house.model.requests().len() - before, expected, "{wanted:?}");
        assert!(outcome.error.is_some_and(|error| error.contains("maxSteps")));
    }
}

#[tokio::test]
async fn one_step_is_one_round_of_calls_and_then_the_report() {
    let round = calls([("a", "echo", json!({"text": "4"})), ("b", "echo", json!({"text": "2"}))]);
    let report = json!({"outcome": "report", "summary": "It is 42."});
    for last in [says("It is 42."), calls([("c", "complete_run", report)])] {
        let house = House::new([round.clone(), last]).await;
        let (run, outcome) = house.turn(json!({"message": "x", "maxSteps": 1})).await;
        assert_eq!(
            (outcome.state, outcome.summary.as_deref()),
            (RunState::Succeeded, Some("It is 42."))
        );
        let requests = house.model.requests();
        let [first, second] = requests.as_slice() else { panic!("{} requests", requests.len()) };
        assert!(first.tools.len() > 1);
        assert_eq!(
            second.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["complete_run"]
        );
        let told = text_of(second.messages.last().expect("a message"));
        assert!(told.contains("used up"), "{told}");
        let echoed = house.steps(&run).await.into_iter().filter(|step| step.name == "echo").count();
        assert_eq!(echoed, 2);
    }
}

#[tokio::test]
async fn a_run_that_goes_in_circles_is_told_once_and_then_ended() {
    for tool in ["echo", "outside"] {
        let again = || calls([("c", tool, json!({}))]);
        let house = House::new((0..10).map(|_| again())).await;
        let (_, outcome) = house.turn(json!({"message": "x"})).await;
        assert_eq!((outcome.state, outcome.may_pass), (RunState::Failed, false));
        let error = outcome.error.unwrap_or_default();
        assert!(error.contains("made no progress") && error.contains(tool), "{error}");
        let requests = house.model.requests();
        assert_eq!(requests.len(), 5);
        let told = |request: usize| {
            let last = requests[request].messages.last().expect("a message");
            text_of(last).contains("the same call")
        };
        assert_eq!((2..5).map(told).collect::<Vec<_>>(), [false, true, false], "{tool}");
    }
}

#[tokio::test]
async fn the_answer_limit_of_the_job_reaches_the_provider() {
    let house = House::new([says("Done.")]).await;
    house.turn(json!({"message": "x", "maxTokens": 321})).await;
    assert_eq!(house.model.requests()[0].max_tokens, Some(321));
}

#[tokio::test]
async fn a_provider_s_failure_is_the_run_s_and_says_whether_it_may_pass() {
    for (kind, may_pass) in
        [(Kind::Auth, false), (Kind::BadRequest, false), (Kind::TooLarge, false)]
    {
        let house = House::new([fails(kind, "acme does not want to.")]).await;
        let (run, outcome) = house.turn(json!({"message": "x"})).await;
        assert_eq!((outcome.state, outcome.may_pass), (RunState::Failed, may_pass), "{kind:?}");
        assert_eq!(outcome.error.as_deref(), Some("acme does not want to."));
        let step = &house.steps(&run).await[0];
        assert_eq!(step.status, StepStatus::Failed);
        assert_eq!(step.output, Some(json!({"error": "acme does not want to."})), "{kind:?}");
    }
}

#[tokio::test]
async fn a_stream_that_broke_off_is_asked_again_where_nobody_has_read_it() {
    let said = vec![Delta::Text("The".into())];
    let error = ProviderError {
        retry_after: Some(Duration::ZERO),
        ..ProviderError::new(Kind::Truncated, "It broke off.")
    };
    let house = House::new([Scripted::Failure(said, error), says("a second answer")]).await;
    let (_, outcome) = house.turn(json!({"message": "x"})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(outcome.summary.as_deref(), Some("a second answer"));
    assert_eq!(house.model.requests().len(), 2);
}

#[tokio::test]
async fn outage_ends_the_attempt_at_once_and_names_the_wait() {
    let error = ProviderError {
        retry_after: Some(Duration::from_secs(90)),
        ..ProviderError::new(Kind::RateLimited, "Come back later.")
    };
    let house = House::new([Scripted::Failure(Vec::new(), error)]).await;
    let (_, outcome) = house.turn(json!({"message": "x"})).await;
    assert_eq!((outcome.may_pass, outcome.retry_after_ms), (true, Some(90_000)), "{outcome:?}");
    assert_eq!(outcome.waits_for, Some(WaitsFor::Model));
    assert_eq!(house.model.requests().len(), 1);
}

#[tokio::test]
async fn the_calls_of_an_answer_that_broke_off_are_on_the_bill() {
    let shown = vec![Delta::ToolCall("echo".into()), Delta::Arguments(40_000)];
    let error = ProviderError {
        retry_after: Some(Duration::from_secs(90)),
        ..ProviderError::new(Kind::Truncated, "It broke off.")
    };
    let house = House::new([Scripted::Failure(shown, error)]).await;
    let (run, _) = house.turn(json!({"message": "x"})).await;
    let spent = house.store.spent_by_run(&run.id).await.expect("read");
    assert!(spent.tokens >= 10_000, "{spent:?}");
}

#[tokio::test]
async fn answer_that_broke_off_twice_is_asked_for_a_third_time() {
    let broken = || {
        let error = ProviderError {
            retry_after: Some(std::time::Duration::ZERO),
            ..ProviderError::new(Kind::Truncated, "It broke off.")
        };
        Scripted::Failure(Vec::new(), error)
    };
    let house = House::new([broken(), broken(), says("At last.")]).await;
    let (run, outcome) = house.turn(json!({"message": "x"})).await;
    assert_eq!(outcome.summary.as_deref(), Some("At last."));
    let steps = house.steps(&run).await;
    let ends: Vec<StepStatus> = steps.iter().map(|step| step.status).collect();
    assert_eq!(
        ends,
        [StepStatus::Failed, StepStatus::Failed, StepStatus::Finished],
        "each question"
    );
}

#[tokio::test]
async fn what_a_failed_run_said_is_kept() {
    let house =
        House::new([calls([("c1", "echo", json!({"text": "a"}))]), fails(Kind::Auth, "no key")])
            .await;
    let (_, outcome) = house.turn(json!({"message": "x"})).await;
    assert_eq!((outcome.state, outcome.usage.tokens()), (RunState::Failed, 15));
    assert_eq!(house.transcript(&session()).await.len(), 3);
}

#[tokio::test]
async fn a_run_that_can_no_longer_be_recorded_ends_at_once() {
    let house = House::new([Scripted::Silence]).await;
    let closing = async {
        house.model.asked(1).await;
        house.store.close().await;
        house.cancel.cancel();
    };
    let ((_, outcome), ()) = tokio::join!(house.turn(json!({"message": "x"})), closing);
    // Another attempt goes on where this one was, so it repeats nothing.
    assert_eq!((outcome.state, outcome.may_pass), (RunState::Failed, true));
    assert!(outcome.error.is_some_and(|error| error.starts_with("The run could not be recorded")));
}

#[tokio::test]
async fn a_cancelled_run_ends_wherever_it_waits_and_keeps_what_was_said() {
    // While the model is silent.
    let house =
        House::new([calls([("c1", "echo", json!({"text": "a"}))]), Scripted::Silence]).await;
    let asked = async {
        house.model.asked(2).await;
        house.cancel.cancel();
    };
    let ((run, outcome), ()) = tokio::join!(house.turn(json!({"message": "x"})), asked);
    let question = house.steps(&run).await[2].usage.tokens();
    assert!(question > 100, "what was sent counts: {question}");
    assert_eq!((outcome.state, outcome.usage.tokens()), (RunState::Cancelled, 15 + question));
    assert_eq!(house.transcript(&session()).await.len(), 3);
    assert_eq!(house.steps(&run).await[2].status, StepStatus::Failed);

    // While it waits before asking again.
    let broken = ProviderError {
        retry_after: Some(std::time::Duration::from_secs(50)),
        ..ProviderError::new(Kind::Truncated, "It broke off.")
    };
    let house = House::new([Scripted::Failure(Vec::new(), broken), says("never")]).await;
    let asked = async {
        house.model.asked(1).await;
        house.cancel.cancel();
    };
    let ((_, outcome), ()) = tokio::join!(house.turn(json!({"message": "x"})), asked);
    assert_eq!((outcome.state, house.model.requests().len()), (RunState::Cancelled, 1));

    // Before anything was asked.
    let house = House::new([says("never")]).await;
    house.cancel.cancel();
    let (_, outcome) = house.turn(json!({"message": "x"})).await;
    assert_eq!((outcome.state, house.model.requests().len()), (RunState::Cancelled, 0));
}

#[tokio::test]
async fn the_answer_is_seen_while_it_comes() {
    let house = House::new([says("Good morning.")]).await;
    house.turn(json!({"message": "x"})).await;
    assert_eq!(*house.seen.lock().expect("not poisoned"), [Delta::Text("Good morning.".into())]);
}

#[tokio::test]
async fn every_step_has_its_duration_on_the_monotonic_clock() {
    let house = House::new([says("Done.")]).await;
    house.clock.set(UnixMs(0));
    let (run, _) = house.turn(json!({"message": "x"})).await;
    assert_eq!(house.steps(&run).await[0].duration_ms, Some(0));
}

#[tokio::test]
async fn of_an_answer_with_thousands_of_calls_no_more_is_kept_than_is_told_of() {
    let call = |number: usize| {
        let (id, tool, arguments) = (format!("c{number}"), "echo".into(), json!({ "text": "a" }));
        Part::ToolCall(ToolCallRequest { id, tool, arguments })
    };
    let many = answer((0..5_000).map(call).collect(), StopReason::ToolCalls);
    let house = House::new([Scripted::Answer(many), report("Done.")]).await;
    let (run, outcome) = house.turn(json!({ "message": "Do it." })).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let said = house.transcript(&session()).await;
    let asked: Vec<&str> = match &said[1] {
        Message::Assistant { parts } => parts.iter().filter_map(id_of).collect(),
        other => panic!("no answer: {other:?}"),
    };
    let of_echo =
        |message: &&Message| matches!(message, Message::ToolResult { tool, .. } if tool == "echo");
    let mut told: Vec<(&str, bool)> = said.iter().filter(of_echo).filter_map(result_of).collect();
    told.sort_by_key(|(id, _)| asked.iter().position(|asked| asked == id));
    let expected: Vec<(&str, bool)> =
        asked.iter().enumerate().map(|(at, id)| (*id, at == 20)).collect();
    assert_eq!((asked.len(), told), (21, expected), "each call has its result");
    let journal = house.steps(&run).await;
    let kept = journal[0].output.as_ref().expect("an output");
    assert_eq!(kept["calls"].as_array().map(Vec::len), Some(21));
    assert_eq!(journal.iter().filter(|step| step.name == "echo").count(), 20);
}

fn id_of(part: &Part) -> Option<&str> {
    if let Part::ToolCall(call) = part { Some(&call.id) } else { None }
}

fn result_of(message: &Message) -> Option<(&str, bool)> {
    match message {
        Message::ToolResult { call_id, is_error, .. } => Some((call_id, *is_error)),
        _ => None,
    }
}
