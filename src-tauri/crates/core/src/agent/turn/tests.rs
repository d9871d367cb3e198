//! Tests of the turn machine: each way to end a run.

use serde_json::json;

use super::*;
use crate::attachment::{Attachment, MediaKind};
use crate::message::Part;

fn turn(max_steps: u32) -> Turn {
    Turn::new(
        vec![Message::User { text: "task".into() }],
        TurnLimits { max_steps, is_attended: false },
        Vec::new(),
    )
}

fn text_answer(text: &str) -> ModelAnswer {
    ModelAnswer {
        parts: vec![Part::Text { text: text.into() }],
        usage: Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() },
        model: "m".into(),
        stop: StopReason::End,
    }
}

fn calls(tool: &str) -> (ModelAnswer, ToolCallRequest) {
    let call = ToolCallRequest { id: "c1".into(), tool: tool.into(), arguments: json!({}) };
    let parts = vec![Part::ToolCall(call.clone())];
    (ModelAnswer { parts, stop: StopReason::ToolCalls, ..text_answer("") }, call)
}

fn outcome(next: TurnStep) -> Outcome {
    match next {
        TurnStep::Finish(outcome) => *outcome,
        other => panic!("expected the end, found {other:?}"),
    }
}

#[test]
fn text_is_a_report() {
    let ended = outcome(turn(3).take_answer(text_answer("All good, 3 mails.")));
    assert_eq!(
        (ended.state, ended.summary.as_deref()),
        (RunState::Succeeded, Some("All good, 3 mails."))
    );
    assert_eq!(ended.usage.tokens(), 15);
}

#[test]
fn sentinel_alone_is_nothing_to_report() {
    for text in [
        "ROUTINE_OK",
        " HEARTBEAT_OK.\n",
        "**HEARTBEAT_OK**",
        "`ROUTINE_OK`",
        "<think>\nNothing came.\n</think>\n\nHEARTBEAT_OK",
        "<think></think><think>So what?</think>ROUTINE_OK.",
    ] {
        assert_eq!(
            outcome(turn(3).take_answer(text_answer(text))).state,
            RunState::NothingToReport,
            "{text}"
        );
    }
}

#[test]
fn sentinel_beside_text_is_corrected_once_then_removed() {
    for text in ["HEARTBEAT_OK, the disk is full", "<think>Hm.</think>The disk is full. ROUTINE_OK"]
    {
        let mut turn = turn(5);
        assert_eq!(turn.take_answer(text_answer(text)), TurnStep::CallModel, "{text}");
        assert!(
            matches!(turn.messages().last(), Some(Message::User { text }) if text == AMBIGUOUS_SENTINEL.trim())
        );
        let ended = outcome(turn.take_answer(text_answer(text)));
        assert_eq!(ended.state, RunState::Succeeded, "{text}");
        let summary = ended.summary.unwrap_or_default();
        assert!(summary.contains("the disk is full") || summary.contains("The disk is full."));
        assert!(!summary.contains("_OK"), "{summary}");
    }
}

#[test]
fn bare_sentinel_after_the_choice_keeps_the_report() {
    let mut turn = turn(5);
    assert_eq!(
        turn.take_answer(text_answer("The disk is full. HEARTBEAT_OK")),
        TurnStep::CallModel
    );
    let ended = outcome(turn.take_answer(text_answer("HEARTBEAT_OK")));
    assert_eq!(
        (ended.state, ended.summary.as_deref()),
        (RunState::Succeeded, Some("The disk is full."))
    );
}

#[test]
fn completion_holds_neither_reasoning_nor_sentinel() {
    for (outcome_word, summary, state, words) in [
        (Completion::NothingToReport, "HEARTBEAT_OK", RunState::NothingToReport, None),
        (
            Completion::NothingToReport,
            "<think>a</think>Quiet.",
            RunState::NothingToReport,
            Some("Quiet."),
        ),
        (
            Completion::Report,
            "[THINK]a[/THINK]3 mails. ROUTINE_OK",
            RunState::Succeeded,
            Some("3 mails."),
        ),
        (Completion::Failed, "<think>a</think>No access.", RunState::Failed, Some("No access.")),
    ] {
        let mut turn = turn(5);
        let ended = outcome(turn.complete(outcome_word, summary.to_owned()));
        let report = ended.summary.or(ended.error);
        assert_eq!((ended.state, report.as_deref()), (state, words), "{summary}");
    }
}

#[test]
fn sentinel_in_an_attended_answer_is_text() {
    let limits = TurnLimits { max_steps: 3, is_attended: true };
    let mut turn = Turn::new(vec![Message::User { text: "task".into() }], limits, Vec::new());
    let ended = outcome(turn.take_answer(text_answer("HEARTBEAT_OK means that nothing happened.")));
    assert_eq!(ended.summary.as_deref(), Some("HEARTBEAT_OK means that nothing happened."));
}

#[test]
fn unclosed_reasoning_is_never_a_report() {
    let mut turn = turn(5);
    assert_eq!(turn.take_answer(text_answer("<think>HEARTBEAT_OK")), TurnStep::CallModel);
    assert_eq!(outcome(turn.take_answer(text_answer("<think>Fine"))).state, RunState::Failed);
}

#[test]
fn written_call_is_corrected_once_then_fails() {
    let call = r#"{"name": "http", "parameters": {"url": "https://example.com"}}"#;
    for is_attended in [false, true] {
        let limits = TurnLimits { max_steps: 5, is_attended };
        let mut turn = Turn::new(vec![Message::User { text: "task".into() }], limits, Vec::new());
        assert_eq!(turn.take_answer(text_answer(call)), TurnStep::CallModel);
        let ended = outcome(turn.take_answer(text_answer(&format!("```json\n{call}\n```"))));
        assert_eq!(ended.state, RunState::Failed);
        let error = ended.error.unwrap_or_default();
        assert!(error.starts_with("The model wrote a tool call as text"), "{error}");
    }
}

#[test]
fn refusal_fails_with_the_models_words() {
    let refusal =
        ModelAnswer { stop: StopReason::Refusal, ..text_answer("I can't help with that.") };
    let ended = outcome(turn(3).take_answer(refusal));
    assert_eq!(
        ended.error.as_deref(),
        Some("The model refused to answer: I can't help with that.")
    );
}

#[test]
fn truncated_call_is_refused_and_whole_ones_are_made() {
    let (mut answer, whole) = calls("write_file");
    let cut =
        ToolCallRequest { id: "c2".into(), arguments: json!("{\"path\": \"a"), ..whole.clone() };
    answer.parts.push(Part::ToolCall(cut));
    let usage = Usage { output_tokens: 4_096, ..Usage::default() };
    let mut turn = turn(3);
    let next = turn.take_answer(ModelAnswer { stop: StopReason::Length, usage, ..answer });
    assert_eq!(next, TurnStep::CallTools(vec![whole]));
    let newest = turn.messages().last().cloned();
    assert!(
        matches!(&newest, Some(Message::ToolResult { text, is_error: true, .. }) if text.contains("cut at 4,096 tokens")),
        "{newest:?}"
    );
}

#[test]
fn report_that_is_a_sentinel_is_nothing_to_report() {
    for (summary, expected) in [
        ("ROUTINE_OK", RunState::NothingToReport),
        ("<think>Nothing.</think> `HEARTBEAT_OK`", RunState::NothingToReport),
        ("ROUTINE_OK, and 3 mails came", RunState::Succeeded),
    ] {
        let mut turn = turn(5);
        let (answer, call) = calls("complete_run");
        assert_eq!(turn.take_answer(answer), TurnStep::CallTools(vec![call.clone()]));
        let effect =
            ToolEffect::Complete { outcome: Completion::Report, summary: summary.to_owned() };
        let ended =
            outcome(turn.take_results(vec![(call, ToolOutput::ok("done").with_effect(effect))]));
        assert_eq!(ended.state, expected, "{summary}");
        let is_told = expected == RunState::Succeeded;
        assert_eq!(
            ended.summary.is_some(),
            is_told,
            "{summary}: the sentinel never reaches a person"
        );
    }
}

#[test]
fn question_is_corrected_once_then_fails() {
    let mut turn = turn(5);
    assert_eq!(turn.take_answer(text_answer("Shall I go on?")), TurnStep::CallModel);
    let ended = outcome(turn.take_answer(text_answer("Really?")));
    assert_eq!(ended.state, RunState::Failed);
    assert!(ended.error.is_some_and(|error| error.contains("question")));
}

#[test]
fn question_is_found_in_bold_quotes_and_other_scripts() {
    for text in ["Shall I **go on?**", "He asked: \"Which one?\"", "続けますか？"] {
        assert_eq!(turn(5).take_answer(text_answer(text)), TurnStep::CallModel, "{text}");
    }
    assert_eq!(
        outcome(turn(5).take_answer(text_answer("Why? Because it rains."))).state,
        RunState::Succeeded
    );
}

#[test]
fn empty_answer_is_never_a_success() {
    let mut turn = turn(5);
    assert_eq!(turn.take_answer(text_answer("  ")), TurnStep::CallModel);
    assert_eq!(outcome(turn.take_answer(text_answer(""))).state, RunState::Failed);
}

#[test]
fn truncated_answer_fails() {
    let cut = ModelAnswer { stop: StopReason::Length, ..text_answer("The disk is") };
    assert_eq!(outcome(turn(5).take_answer(cut)).state, RunState::Failed);
}

#[test]
fn complete_run_ends_with_its_outcome() {
    let mut turn = turn(5);
    let (answer, call) = calls("complete_run");
    assert_eq!(turn.take_answer(answer), TurnStep::CallTools(vec![call.clone()]));
    let effect = ToolEffect::Complete { outcome: Completion::Report, summary: "Found 2".into() };
    let ended =
        outcome(turn.take_results(vec![(call, ToolOutput::ok("done").with_effect(effect))]));
    assert_eq!((ended.state, ended.summary.as_deref()), (RunState::Succeeded, Some("Found 2")));
}

#[test]
fn question_or_empty_report_is_corrected_once_then_fails() {
    for summary in ["Found 2 bills. Shall I pay them?", "  "] {
        let mut turn = turn(5);
        let mut next = TurnStep::CallModel;
        for expected in [true, false] {
            assert_eq!(next, TurnStep::CallModel, "{summary}");
            let (answer, call) = calls("complete_run");
            assert!(matches!(turn.take_answer(answer), TurnStep::CallTools(_)));
            let effect =
                ToolEffect::Complete { outcome: Completion::Report, summary: summary.into() };
            next = turn.take_results(vec![(call, ToolOutput::ok("done").with_effect(effect))]);
            assert_eq!(next == TurnStep::CallModel, expected, "{summary}");
        }
        assert_eq!(outcome(next).state, RunState::Failed, "{summary}");
    }
}

/// Uses up the steps with calls of `echo`. Returns the next step.
fn use_up_steps(turn: &mut Turn, steps: u32) -> TurnStep {
    let mut next = TurnStep::CallModel;
    for step in 0..steps {
        assert_eq!((&next, turn.is_closing()), (&TurnStep::CallModel, false), "{step}");
        let (answer, call) = calls("echo");
        assert!(matches!(turn.take_answer(answer), TurnStep::CallTools(_)));
        next = turn.take_results(vec![(call, ToolOutput::ok(step.to_string()))]);
    }
    next
}

#[test]
fn run_at_its_step_limit_gets_a_closing_turn() {
    for steps in [1, 2, 10] {
        let mut turn = turn(steps);
        assert_eq!(use_up_steps(&mut turn, steps), TurnStep::CallModel, "{steps}");
        assert!(turn.is_closing());
        let newest = turn.messages().last().expect("a message");
        assert!(matches!(newest, Message::User { text } if text == LAST_TURN.trim()), "{newest:?}");
        let ended = outcome(turn.take_answer(text_answer("Three mails.")));
        assert_eq!(
            (ended.state, ended.summary.as_deref()),
            (RunState::Succeeded, Some("Three mails."))
        );
    }
    let mut turn = turn(1);
    assert_eq!(use_up_steps(&mut turn, 1), TurnStep::CallModel);
    let (answer, call) = calls("complete_run");
    assert_eq!(turn.take_answer(answer), TurnStep::CallTools(vec![call.clone()]));
    let effect =
        ToolEffect::Complete { outcome: Completion::NothingToReport, summary: String::new() };
    let ended =
        outcome(turn.take_results(vec![(call, ToolOutput::ok("done").with_effect(effect))]));
    assert_eq!(ended.state, RunState::NothingToReport);
}

#[test]
fn closing_turn_is_the_last_turn() {
    let mut called = turn(1);
    assert_eq!(use_up_steps(&mut called, 1), TurnStep::CallModel);
    let (answer, _) = calls("echo");
    let ended = outcome(called.take_answer(answer));
    let error = ended.error.expect("a reason");
    assert!(ended.state == RunState::Failed && error.contains("maxSteps"), "{error}");
    let newest = called.messages().last().expect("a message");
    assert!(
        matches!(newest, Message::ToolResult { is_error: true, .. }),
        "no call stays without a result: {newest:?}"
    );

    for (text, words) in [("  ", "without an answer"), ("Shall I go on?", "a question")] {
        let mut turn = turn(1);
        assert_eq!(use_up_steps(&mut turn, 1), TurnStep::CallModel);
        let error = outcome(turn.take_answer(text_answer(text))).error.expect("a reason");
        assert!(error.contains(words), "{error}");
    }

    let mut wrong = turn(1);
    assert_eq!(use_up_steps(&mut wrong, 1), TurnStep::CallModel);
    let (answer, call) = calls("complete_run");
    assert!(matches!(wrong.take_answer(answer), TurnStep::CallTools(_)));
    let ended = outcome(wrong.take_results(vec![(call, ToolOutput::error("no such outcome"))]));
    assert!(ended.error.is_some_and(|error| error.contains("maxSteps")));
}

#[test]
fn resumed_closing_turn_is_the_last_turn() {
    let mut first = turn(1);
    assert_eq!(use_up_steps(&mut first, 1), TurnStep::CallModel);
    let limits = TurnLimits { max_steps: 1, is_attended: false };
    let (again, next) = Turn::resume(Vec::new(), first.messages().to_vec(), limits, Vec::new());
    assert_eq!((next, again.is_closing()), (TurnStep::CallModel, true));
    assert_eq!(again.messages(), first.messages(), "announced once");
}

#[test]
fn question_in_the_last_step_is_corrected() {
    let mut turn = turn(1);
    assert_eq!(turn.take_answer(text_answer("Shall I go on?")), TurnStep::CallModel);
    assert_eq!(outcome(turn.take_answer(text_answer("Three mails."))).state, RunState::Succeeded);
}

#[test]
fn attended_turn_may_end_with_a_question_but_not_empty() {
    let attended = || {
        let limits = TurnLimits { max_steps: 3, is_attended: true };
        Turn::new(vec![Message::User { text: "task".into() }], limits, Vec::new())
    };
    let ended = outcome(attended().take_answer(text_answer("Which of the two do you mean?")));
    assert_eq!(ended.state, RunState::Succeeded);
    assert_eq!(ended.summary.as_deref(), Some("Which of the two do you mean?"));
    let ended = outcome(attended().take_answer(text_answer("  ")));
    assert_eq!(ended.error.as_deref(), Some("The model ended without an answer."));
}

/// Repeats a call with the results of `result` until the run ends. Returns the number of calls and the outcome.
fn repeat_call(turn: &mut Turn, result: impl Fn(u32) -> ToolOutput) -> (u32, Outcome) {
    let mut times = 0;
    loop {
        let (answer, call) = calls("echo");
        assert!(matches!(turn.take_answer(answer), TurnStep::CallTools(_)));
        let next = turn.take_results(vec![(call, result(times))]);
        times += 1;
        if turn.is_closing() {
            let (answer, _) = calls("echo");
            return (times, outcome(turn.take_answer(answer)));
        }
        if let TurnStep::Finish(outcome) = next {
            return (times, *outcome);
        }
    }
}

fn warnings(turn: &Turn) -> usize {
    turn.messages()[1..].iter().filter(|message| matches!(message, Message::User { .. })).count()
}

fn patient_turn() -> Turn {
    let limits = TurnLimits { max_steps: 40, is_attended: false };
    Turn::new(vec![Message::User { text: "task".into() }], limits, Vec::new())
}

#[test]
fn repeated_call_is_warned_once_then_ends_the_run() {
    let mut turn = patient_turn();
    let (times, ended) = repeat_call(&mut turn, |_| ToolOutput::ok("pending"));
    assert_eq!((times, ended.state, warnings(&turn)), (5, RunState::Failed, 1));
    let error = ended.error.expect("a reason");
    assert!(error.contains("without progress") && error.ends_with("the same result."), "{error}");
    let mut turn = patient_turn();
    let (_, ended) = repeat_call(&mut turn, |_| ToolOutput::error("The house rule says no."));
    let error = ended.error.expect("a reason");
    assert!(error.ends_with("The last error: The house rule says no."), "{error}");
}

#[test]
fn changing_result_is_progress() {
    let mut turn = patient_turn();
    let (times, ended) =
        repeat_call(&mut turn, |time| ToolOutput::ok(format!("{} % done", time / 2)));
    assert_eq!((times, warnings(&turn)), (40, 1));
    assert!(ended.error.is_some_and(|error| error.contains("maxSteps")));
}

#[test]
fn fence_marks_are_no_progress() {
    let mut turn = patient_turn();
    let marked = |time: u32| format!("⟦outside a{time} http⟧\nthe page\n⟦end of outside a{time}⟧");
    let (times, _) = repeat_call(&mut turn, |time| ToolOutput::ok(marked(time)));
    assert_eq!(times, 5);
}

#[test]
fn errors_only_are_warned_once_then_end_the_run() {
    let mut turn = patient_turn();
    let (times, ended) =
        repeat_call(&mut turn, |time| ToolOutput::error(format!("No file called {time}.")));
    assert_eq!((times, ended.state, warnings(&turn)), (8, RunState::Failed, 1));
    let error = ended.error.expect("a reason");
    assert!(error.contains("failed") && error.contains("No file called 7."), "{error}");
}

#[test]
fn one_success_among_errors_is_progress() {
    let mut turn = patient_turn();
    let result = |time: u32| match time % 4 {
        0 => ToolOutput::ok(format!("found {time}")),
        _ => ToolOutput::error(format!("No file called {time}.")),
    };
    let (times, _) = repeat_call(&mut turn, result);
    assert_eq!((times, warnings(&turn)), (40, 1));
}

#[test]
fn alternating_calls_are_no_progress_but_twins_count_once() {
    let mut turn = patient_turn();
    let call = |id: &str, text: &str| ToolCallRequest {
        id: id.into(),
        tool: "echo".into(),
        arguments: json!({ "text": text }),
    };
    let ask = |turn: &mut Turn, calls: Vec<ToolCallRequest>| {
        let parts = calls.iter().cloned().map(Part::ToolCall).collect();
        let answer = ModelAnswer { parts, stop: StopReason::ToolCalls, ..text_answer("") };
        assert!(matches!(turn.take_answer(answer), TurnStep::CallTools(_)));
        let results = calls.into_iter().map(|call| (call, ToolOutput::ok("the same")));
        turn.take_results(results.collect())
    };
    let twins: Vec<_> = ["1", "2", "3", "4", "5", "6"].map(|id| call(id, "x")).into();
    assert_eq!(ask(&mut turn, twins), TurnStep::CallModel);
    assert_eq!(warnings(&turn), 0);
    for time in 0.. {
        let text = if time % 2 == 0 { "a" } else { "b" };
        match ask(&mut turn, vec![call("1", text)]) {
            TurnStep::Finish(_) => return assert_eq!((time, warnings(&turn)), (8, 1)),
            next => assert_eq!(next, TurnStep::CallModel),
        }
    }
}

#[test]
fn resumed_run_keeps_its_repeat_count() {
    let mut before = patient_turn();
    for _ in 0..4 {
        let (answer, call) = calls("echo");
        assert!(matches!(before.take_answer(answer), TurnStep::CallTools(_)));
        assert_eq!(
            before.take_results(vec![(call, ToolOutput::ok("pending"))]),
            TurnStep::CallModel
        );
    }
    let limits = TurnLimits { max_steps: 40, is_attended: false };
    let messages = before.messages().to_vec();
    let (mut turn, next) = Turn::resume(Vec::new(), messages, limits, Vec::new());
    assert_eq!(next, TurnStep::CallModel);
    let (times, _) = repeat_call(&mut turn, |_| ToolOutput::ok("pending"));
    assert_eq!((times, warnings(&turn)), (1, 1));
}

/// An answer with `count` calls; number `ending` is `complete_run`.
fn answer_with_calls(count: usize, ending: usize) -> ModelAnswer {
    let call = |number: usize| ToolCallRequest {
        id: format!("c{number}"),
        tool: if number == ending { COMPLETE_RUN.into() } else { "time".into() },
        arguments: json!({}),
    };
    let parts = (0..count).map(call).map(Part::ToolCall).collect();
    ModelAnswer { parts, stop: StopReason::ToolCalls, ..text_answer("") }
}

/// The calls with an error result, and the error texts.
fn refused_calls(turn: &Turn) -> Vec<(&str, &str)> {
    let refused = turn.messages().iter().filter_map(|message| match message {
        Message::ToolResult { call_id, text, is_error: true, .. } => {
            Some((call_id.as_str(), text.as_str()))
        }
        _ => None,
    });
    refused.collect()
}

#[test]
fn excess_calls_of_an_answer_are_refused_once() {
    let mut turn = turn(1);
    let kept = turn.drop_excess_calls(answer_with_calls(5_000, 54));
    let all: Vec<_> = kept.calls().cloned().collect();
    assert_eq!(all.len(), 21);
    assert_eq!(turn.take_answer(kept), TurnStep::CallTools(all[..20].to_vec()));
    let [(id, text)] = refused_calls(&turn)[..] else {
        panic!("not once: {:?}", refused_calls(&turn))
    };
    assert!(id == "c20" && text.contains("20 calls"), "{id}: {text}");
    let (_, next) = Turn::resume(Vec::new(), turn.messages().to_vec(), turn.limits, Vec::new());
    assert_eq!(next, TurnStep::CallTools(all[..20].to_vec()), "the same after a break");
}

#[test]
fn excess_call_is_dropped_with_its_opaque_block() {
    let opaque = |name: &str| Part::Opaque { provider: "p".into(), block: json!(name) };
    let mut answer = answer_with_calls(22, 99);
    answer.parts.insert(21, opaque("of the one that is left out"));
    answer.parts.insert(0, opaque("of all"));
    answer.parts.push(Part::Text { text: "So much.".to_owned() });
    let kept = turn(1).drop_excess_calls(answer);
    let blocks: Vec<_> = kept.parts.iter().filter(|it| matches!(it, Part::Opaque { .. })).collect();
    assert_eq!((kept.calls().count(), blocks), (21, vec![&opaque("of all")]));
    assert_eq!(kept.text(), "So much.");
    let few = answer_with_calls(21, 99);
    assert_eq!(turn(1).drop_excess_calls(few.clone()), few);
}

#[test]
fn closing_turn_keeps_complete_run_among_excess_calls() {
    let mut turn = turn(1);
    assert_eq!(use_up_steps(&mut turn, 1), TurnStep::CallModel);
    let kept = turn.drop_excess_calls(answer_with_calls(5_000, 4_000));
    let TurnStep::CallTools(made) = turn.take_answer(kept) else { panic!("nothing is called") };
    assert_eq!(made.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c4000"]);
    assert_eq!(refused_calls(&turn).len(), 21);
}

#[test]
fn last_words_are_of_this_run_also_after_a_restart() {
    let limits = turn(3).limits;
    let history = vec![Message::Assistant { parts: text_answer("Of another run.").parts }];
    let mut first = Turn::new(history.clone(), limits, Vec::new());
    assert_eq!(first.last_words(), None);
    let (call, _) = calls("time");
    let TurnStep::CallTools(_) = first.take_answer(ModelAnswer {
        parts: [text_answer("Three mails.").parts, call.parts.clone()].concat(),
        ..call
    }) else {
        panic!("expected a call")
    };
    let messages = first.messages()[1..].to_vec();
    let (again, _) = Turn::resume(history.clone(), messages, limits, Vec::new());
    assert_eq!(again.last_words().as_deref(), Some("Three mails."));
    let (silent, _) = Turn::resume(history, Vec::new(), limits, Vec::new());
    assert_eq!(silent.last_words(), None);
}

#[test]
fn attachments_follow_all_results_of_an_answer() {
    let (answer, call) = calls("read_file");
    let mut turn = turn(3);
    assert!(matches!(turn.take_answer(answer), TurnStep::CallTools(_)));
    let file = Attachment::new("a.png", MediaKind::Png, vec![1]);
    let shown = ToolOutput { attachments: vec![file.clone()], ..ToolOutput::ok("An image.") };
    let other = ToolCallRequest { id: "c2".into(), ..call.clone() };
    assert_eq!(
        turn.take_results(vec![(call, shown), (other, ToolOutput::ok("x"))]),
        TurnStep::CallModel
    );
    assert_eq!(turn.messages().last(), Some(&Message::Attachments { files: vec![file] }));
}
