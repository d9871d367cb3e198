//! The agent turn of a job, from task to outcome.

use std::time::Duration;

use rouse_core::approval::{GateDecision, Refusal};
use rouse_core::message::{Message, Part, StopReason, ToolCallRequest};
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind as Kind};
use rouse_core::run::WaitsFor;
use rouse_core::{RunState, SessionKey, UnixMs};
use rouse_store::{StepKind, StepStatus};
use rouse_testkit::scripted_model::{Scripted, answer, calls, fails, says};
use serde_json::json;

use super::run_fixture::{NOW, RunFixture, agent_job, turn_of};

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
async fn run_calls_tools_and_ends_with_report() {
    let fixture = RunFixture::new([
        calls([("c1", "echo", json!({"text": "sunny"}))]),
        report("It is sunny."),
    ])
    .await;
    let (run, outcome) = fixture.turn(json!({"message": "How is the weather?"})).await;
    assert_eq!(
        (outcome.state, outcome.summary.as_deref()),
        (RunState::Succeeded, Some("It is sunny."))
    );
    assert_eq!((outcome.usage.tokens(), outcome.usage.cost_micro_usd), (30, Some(2)));
    assert_eq!(outcome.model.as_deref(), Some("scripted-1"));

    let steps: Vec<_> = fixture
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
    let first = &fixture.steps(&run).await[0];
    assert_eq!(first.usage.tokens(), 15);
    assert_eq!(
        first.output.as_ref().map(|output| output["calls"][0]["tool"].clone()),
        Some(json!("echo"))
    );

    let transcript = fixture.transcript(&session()).await;
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
async fn prompt_has_task_time_and_rules() {
    let fixture = RunFixture::new([says("Done.")]).await;
    fixture.turn(json!({"message": "How is the weather?"})).await;
    let request = &fixture.model.requests()[0];
    let task = text_of(&request.messages[0]);
    assert!(task.starts_with("[cron:j1] Weather: How is the weather?"), "{task}");
    assert!(
        task.contains("Saturday, 21 November 2026, 10:00 (Europe/Berlin, UTC+01:00)"),
        "{task}"
    );
    let workspace = fixture.workspace.display().to_string();
    assert!(request.system.contains(&format!("Your workspace is the folder {workspace}.")));
    assert!(
        request.system.contains("Never ask a question") && request.system.contains("complete_run")
    );
    let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(offered.contains(&"echo") && offered.contains(&"asks"), "{offered:?}");
}

#[tokio::test]
async fn late_run_mentions_its_slot() {
    let fixture = RunFixture::new([says("Done."), says("Done.")]).await;
    let job = agent_job(json!({"message": "x"}), json!({}));
    for (late_by, is_late) in [(10_000, false), (3 * 3_600_000, true)] {
        let mut run = fixture.run_of(Some(&job)).await;
        run.slot_at = Some(NOW.plus_ms(-late_by));
        fixture.go(&run, &job).await;
        let request = fixture.model.requests().pop().expect("asked");
        let task = text_of(request.messages.last().expect("a task"));
        assert_eq!(task.contains("is late"), is_late, "{task}");
        assert_eq!(task.contains("was due Saturday, 21 November 2026, 07:00"), is_late, "{task}");
    }
}

#[tokio::test]
async fn job_tools_are_offered_or_none() {
    let fixture = RunFixture::new([says("Done."), says("Done.")]).await;
    fixture.turn(json!({"message": "x", "tools": ["echo"]})).await;
    fixture.turn(json!({"message": "x", "useTools": false})).await;
    let requests = fixture.model.requests();
    let offered: Vec<_> = requests[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(offered, ["echo", "complete_run"]);
    assert!(requests[1].tools.is_empty() && !requests[1].system.contains("complete_run"));
}

#[tokio::test]
async fn unlisted_tool_is_denied_and_run_continues() {
    let fixture =
        RunFixture::new([calls([("c1", "outside", json!({}))]), says("Without it, then.")]).await;
    let (_, outcome) = fixture.turn(json!({"message": "x", "tools": ["echo"]})).await;
    assert_eq!(outcome.state, RunState::Succeeded);
    let result = fixture.model.requests()[1].messages.last().map(text_of).unwrap_or_default();
    assert!(result.contains("not allowed"), "{result}");
}

/// A job without tools accepts no call of the model.
#[tokio::test]
async fn job_without_tools_is_denied_at_the_gate() {
    let two_calls =
        calls([("c1", "echo", json!({"text": "a"})), ("c2", "notify", json!({"body": "b"}))]);
    let fixture = RunFixture::new([two_calls, says("Without them, then.")]).await;
    let (run, outcome) = fixture.turn(json!({"message": "x", "useTools": false})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let refusal = Some(Refusal::NotListed);
    let gate = Some(GateDecision::Refused { refusal, rewritten_by: None });
    let steps = fixture.steps(&run).await;
    let made: Vec<_> = steps.iter().filter(|step| step.kind == StepKind::ToolCall).collect();
    assert_eq!(made.len(), 2, "{steps:?}");
    assert!(made.iter().all(|step| step.gate == gate), "{made:?}");
}

#[tokio::test]
async fn malformed_arguments_are_returned_to_the_model() {
    let fixture = RunFixture::new([
        calls([("c1", "echo", json!("{\"text\": \"a"))]),
        calls([("c2", "echo", json!({"text": "a"}))]),
        report("Mended."),
    ])
    .await;
    let (_, outcome) = fixture.turn(json!({"message": "x"})).await;
    assert_eq!(outcome.summary.as_deref(), Some("Mended."));
    let result = fixture.model.requests()[1].messages.last().cloned();
    assert!(
        matches!(result, Some(Message::ToolResult { is_error: true, text, .. }) if text.contains("not valid JSON"))
    );
}

#[tokio::test]
async fn calls_after_complete_run_are_not_made() {
    let both = calls([
        ("c1", "complete_run", json!({"outcome": "nothing_to_report", "summary": ""})),
        ("c2", "notify", json!({"body": "too late"})),
    ]);
    let fixture = RunFixture::new([both]).await;
    let (run, outcome) = fixture.turn(json!({"message": "x"})).await;
    assert_eq!(outcome.state, RunState::NothingToReport);
    assert!(fixture.store.deliveries_of(&run.id).await.expect("read").is_empty());
    assert_eq!(fixture.steps(&run).await.len(), 2, "a model turn and a call");
}

#[tokio::test]
async fn notification_is_enqueued_once() {
    let notify = calls([("c1", "notify", json!({"body": "The kettle boils."}))]);
    let fixture = RunFixture::new([notify, says("Done.")]).await;
    let (run, _) = fixture.turn(json!({"message": "x"})).await;
    let deliveries = fixture.store.deliveries_of(&run.id).await.expect("read");
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
    let fixture = RunFixture::new([notify, says("Done.")]).await;
    let (run, _) = fixture.turn(json!({"message": "x"})).await;
    let deliveries = fixture.store.deliveries_of(&run.id).await.expect("read");
    let sent: Vec<_> = deliveries.iter().map(|one| (&*one.title, &*one.body)).collect();
    let own = "Weather: Rouse";
    let digest = ("Weather", "This run has more notifications. Open the run to read the rest.");
    assert_eq!(sent, [(own, "1"), (own, "2"), (own, "3"), digest]);
}

#[tokio::test]
async fn history_keeps_text_of_earlier_runs() {
    let fixture = RunFixture::new([
        calls([("c1", "echo", json!({"text": "rain"}))]),
        report("Rain."),
        says("Still rain."),
    ])
    .await;
    fixture.turn(json!({"message": "Weather?"})).await;
    fixture.turn(json!({"message": "Weather?"})).await;
    let messages = fixture.model.requests()[2].messages.clone();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert_eq!(
        messages[1],
        Message::Assistant { parts: vec![Part::Text { text: "Rain.".into() }] }
    );
    assert_eq!(fixture.transcript(&session()).await.len(), 5 + 2, "the memory is not stored again");
}

#[tokio::test]
async fn context_files_pass_the_gate_and_are_fenced() {
    let fixture = RunFixture::new([says("Done.")]).await;
    let (run, _) = fixture
        .turn(json!({"message": "x", "tools": ["echo"], "contextPaths": ["a.md", "b.md"]}))
        .await;
    let task = text_of(&fixture.model.requests()[0].messages[0]);
    for path in ["a.md", "b.md"] {
        assert!(
            task.contains(&format!("\n{path}:\n⟦outside "))
                && task.contains(&format!("content of \"{path}\"")),
            "{task}"
        );
    }
    let read =
        fixture.steps(&run).await.into_iter().filter(|step| step.name == "read_file").count();
    assert_eq!(read, 2);
}

#[tokio::test]
async fn run_without_a_model_fails_with_advice() {
    let fixture = RunFixture::new([]).await;
    let job = agent_job(json!({"message": "x"}), json!({}));
    let run = fixture.run_of(Some(&job)).await;
    let outcome = fixture.driver().run_turn(&run, &job, turn_of(&job), None, &fixture.cancel).await;
    assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, false));
    let error = outcome.error.unwrap_or_default();
    assert!(error.starts_with("No model is set up.") && error.contains("Settings"), "{error}");
}

#[tokio::test]
async fn steps_are_limited_by_job_and_maximum() {
    let another = |text: u32| calls([("c", "echo", json!({"text": text.to_string()}))]);
    let fixture = RunFixture::new((0..100).map(another)).await;
    // An additional turn for the report.
    for (wanted, expected) in [(Some(2), 3), (None, 11), (Some(500), 51)] {
        let before = fixture.model.requests().len();
        let mut payload = json!({"message": "x"});
        if let Some(wanted) = wanted {
            payload["maxSteps"] = json!(wanted);
        }
        // The format allows at most fifty; an imported file may hold more.
        let mut job = agent_job(json!({"message": "x"}), json!({}));
        if let rouse_core::job::Payload::AgentTurn(turn) = &mut job.payload {
            turn.max_steps = wanted;
        }
        let run = fixture.run_of(Some(&job)).await;
        let outcome = fixture.go(&run, &job).await;
        assert_eq!(fixture.model.requests().len() - before, expected, "{wanted:?}");
        assert!(outcome.error.is_some_and(|error| error.contains("maxSteps")));
    }
}

#[tokio::test]
async fn single_step_allows_one_round_and_a_report() {
    let round = calls([("a", "echo", json!({"text": "4"})), ("b", "echo", json!({"text": "2"}))]);
    let report = json!({"outcome": "report", "summary": "It is 42."});
    for last in [says("It is 42."), calls([("c", "complete_run", report)])] {
        let fixture = RunFixture::new([round.clone(), last]).await;
        let (run, outcome) = fixture.turn(json!({"message": "x", "maxSteps": 1})).await;
        assert_eq!(
            (outcome.state, outcome.summary.as_deref()),
            (RunState::Succeeded, Some("It is 42."))
        );
        let requests = fixture.model.requests();
        let [first, second] = requests.as_slice() else { panic!("{} requests", requests.len()) };
        assert!(first.tools.len() > 1);
        assert_eq!(
            second.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["complete_run"]
        );
        let newest = text_of(second.messages.last().expect("a message"));
        assert!(newest.contains("used up"), "{newest}");
        let echoed =
            fixture.steps(&run).await.into_iter().filter(|step| step.name == "echo").count();
        assert_eq!(echoed, 2);
    }
}

#[tokio::test]
async fn repeating_run_is_warned_once_and_ended() {
    for tool in ["echo", "outside"] {
        let again = || calls([("c", tool, json!({}))]);
        let fixture = RunFixture::new((0..10).map(|_| again())).await;
        let (_, outcome) = fixture.turn(json!({"message": "x"})).await;
        assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, false));
        let error = outcome.error.unwrap_or_default();
        assert!(error.contains("without progress") && error.contains(tool), "{error}");
        let requests = fixture.model.requests();
        assert_eq!(requests.len(), 5);
        let is_warned = |request: usize| {
            let last = requests[request].messages.last().expect("a message");
            text_of(last).contains("the same call")
        };
        assert_eq!((2..5).map(is_warned).collect::<Vec<_>>(), [false, true, false], "{tool}");
    }
}

#[tokio::test]
async fn output_limit_of_the_job_is_sent() {
    let fixture = RunFixture::new([says("Done.")]).await;
    fixture.turn(json!({"message": "x", "maxTokens": 321})).await;
    assert_eq!(fixture.model.requests()[0].max_tokens, Some(321));
}

#[tokio::test]
async fn provider_error_fails_the_run_and_may_be_transient() {
    for (kind, is_transient) in
        [(Kind::Auth, false), (Kind::BadRequest, false), (Kind::TooLarge, false)]
    {
        let fixture = RunFixture::new([fails(kind, "acme does not want to.")]).await;
        let (run, outcome) = fixture.turn(json!({"message": "x"})).await;
        assert_eq!(
            (outcome.state, outcome.is_transient),
            (RunState::Failed, is_transient),
            "{kind:?}"
        );
        assert_eq!(outcome.error.as_deref(), Some("acme does not want to."));
        let step = &fixture.steps(&run).await[0];
        assert_eq!(step.status, StepStatus::Failed);
        assert_eq!(step.output, Some(json!({"error": "acme does not want to."})), "{kind:?}");
    }
}

#[tokio::test]
async fn unread_truncated_answer_is_retried() {
    let deltas = vec![Delta::Text("The".into())];
    let error = ProviderError {
        retry_after: Some(Duration::ZERO),
        ..ProviderError::new(Kind::Truncated, "It broke off.")
    };
    let fixture =
        RunFixture::new([Scripted::Failure(deltas, error), says("a second answer")]).await;
    let (_, outcome) = fixture.turn(json!({"message": "x"})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(outcome.summary.as_deref(), Some("a second answer"));
    assert_eq!(fixture.model.requests().len(), 2);
}

#[tokio::test]
async fn outage_ends_the_attempt_at_once_and_names_the_wait() {
    let error = ProviderError {
        retry_after: Some(Duration::from_secs(90)),
        ..ProviderError::new(Kind::RateLimited, "Come back later.")
    };
    let fixture = RunFixture::new([Scripted::Failure(Vec::new(), error)]).await;
    let (_, outcome) = fixture.turn(json!({"message": "x"})).await;
    assert_eq!((outcome.is_transient, outcome.retry_after_ms), (true, Some(90_000)), "{outcome:?}");
    assert_eq!(outcome.waits_for, Some(WaitsFor::Model));
    assert_eq!(fixture.model.requests().len(), 1);
}

#[tokio::test]
async fn calls_of_a_truncated_answer_are_counted() {
    let shown = vec![Delta::ToolCall("echo".into()), Delta::Arguments(40_000)];
    let error = ProviderError {
        retry_after: Some(Duration::from_secs(90)),
        ..ProviderError::new(Kind::Truncated, "It broke off.")
    };
    let fixture = RunFixture::new([Scripted::Failure(shown, error)]).await;
    let (run, _) = fixture.turn(json!({"message": "x"})).await;
    let spent = fixture.store.spent_by_run(&run.id).await.expect("read");
    assert!(spent.tokens >= 10_000, "{spent:?}");
}

#[tokio::test]
async fn twice_truncated_answer_is_retried_again() {
    let broken = || {
        let error = ProviderError {
            retry_after: Some(std::time::Duration::ZERO),
            ..ProviderError::new(Kind::Truncated, "It broke off.")
        };
        Scripted::Failure(Vec::new(), error)
    };
    let fixture = RunFixture::new([broken(), broken(), says("At last.")]).await;
    let (run, outcome) = fixture.turn(json!({"message": "x"})).await;
    assert_eq!(outcome.summary.as_deref(), Some("At last."));
    let steps = fixture.steps(&run).await;
    let ends: Vec<StepStatus> = steps.iter().map(|step| step.status).collect();
    assert_eq!(
        ends,
        [StepStatus::Failed, StepStatus::Failed, StepStatus::Finished],
        "each question"
    );
}

#[tokio::test]
async fn failed_run_keeps_its_text() {
    let fixture = RunFixture::new([
        calls([("c1", "echo", json!({"text": "a"}))]),
        fails(Kind::Auth, "no key"),
    ])
    .await;
    let (_, outcome) = fixture.turn(json!({"message": "x"})).await;
    assert_eq!((outcome.state, outcome.usage.tokens()), (RunState::Failed, 15));
    assert_eq!(fixture.transcript(&session()).await.len(), 3);
}

#[tokio::test]
async fn unrecordable_run_ends_at_once() {
    let fixture = RunFixture::new([Scripted::Silence]).await;
    let closing = async {
        fixture.model.asked(1).await;
        fixture.store.close().await;
        fixture.cancel.cancel();
    };
    let ((_, outcome), ()) = tokio::join!(fixture.turn(json!({"message": "x"})), closing);
    // A retry resumes from the journal and repeats nothing.
    assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, true));
    assert!(outcome.error.is_some_and(|error| error.starts_with("The run could not be recorded")));
}

#[tokio::test]
async fn cancelled_run_ends_anywhere_and_keeps_its_text() {
    // While the model is silent.
    let fixture =
        RunFixture::new([calls([("c1", "echo", json!({"text": "a"}))]), Scripted::Silence]).await;
    let watching = async {
        fixture.model.asked(2).await;
        fixture.cancel.cancel();
    };
    let ((run, outcome), ()) = tokio::join!(fixture.turn(json!({"message": "x"})), watching);
    let question = fixture.steps(&run).await[2].usage.tokens();
    assert!(question > 100, "the request counts: {question}");
    assert_eq!((outcome.state, outcome.usage.tokens()), (RunState::Cancelled, 15 + question));
    assert_eq!(fixture.transcript(&session()).await.len(), 3);
    assert_eq!(fixture.steps(&run).await[2].status, StepStatus::Failed);

    // During the pause before a retry.
    let broken = ProviderError {
        retry_after: Some(std::time::Duration::from_secs(50)),
        ..ProviderError::new(Kind::Truncated, "It broke off.")
    };
    let fixture = RunFixture::new([Scripted::Failure(Vec::new(), broken), says("never")]).await;
    let watching = async {
        fixture.model.asked(1).await;
        fixture.cancel.cancel();
    };
    let ((_, outcome), ()) = tokio::join!(fixture.turn(json!({"message": "x"})), watching);
    assert_eq!((outcome.state, fixture.model.requests().len()), (RunState::Cancelled, 1));

    // Before the first call.
    let fixture = RunFixture::new([says("never")]).await;
    fixture.cancel.cancel();
    let (_, outcome) = fixture.turn(json!({"message": "x"})).await;
    assert_eq!((outcome.state, fixture.model.requests().len()), (RunState::Cancelled, 0));
}

#[tokio::test]
async fn answer_is_streamed_to_observers() {
    let fixture = RunFixture::new([says("Good morning.")]).await;
    fixture.turn(json!({"message": "x"})).await;
    assert_eq!(*fixture.seen.lock().expect("not poisoned"), [Delta::Text("Good morning.".into())]);
}

#[tokio::test]
async fn step_duration_uses_monotonic_clock() {
    let fixture = RunFixture::new([says("Done.")]).await;
    fixture.clock.set(UnixMs(0));
    let (run, _) = fixture.turn(json!({"message": "x"})).await;
    assert_eq!(fixture.steps(&run).await[0].duration_ms, Some(0));
}

#[tokio::test]
async fn answer_with_thousands_of_calls_is_bounded() {
    let call = |number: usize| {
        let (id, tool, arguments) = (format!("c{number}"), "echo".into(), json!({ "text": "a" }));
        Part::ToolCall(ToolCallRequest { id, tool, arguments })
    };
    let many = answer((0..5_000).map(call).collect(), StopReason::ToolCalls);
    let fixture = RunFixture::new([Scripted::Answer(many), report("Done.")]).await;
    let (run, outcome) = fixture.turn(json!({ "message": "Do it." })).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let messages = fixture.transcript(&session()).await;
    let ids: Vec<&str> = match &messages[1] {
        Message::Assistant { parts } => parts.iter().filter_map(id_of).collect(),
        other => panic!("no answer: {other:?}"),
    };
    let of_echo =
        |message: &&Message| matches!(message, Message::ToolResult { tool, .. } if tool == "echo");
    let mut results: Vec<(&str, bool)> =
        messages.iter().filter(of_echo).filter_map(result_of).collect();
    results.sort_by_key(|(id, _)| ids.iter().position(|other| other == id));
    let expected: Vec<(&str, bool)> =
        ids.iter().enumerate().map(|(at, id)| (*id, at == 20)).collect();
    assert_eq!((ids.len(), results), (21, expected), "each call has a result");
    let journal = fixture.steps(&run).await;
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
