//! The endings of a run, one by one.

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

fn says(text: &str) -> ModelAnswer {
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
    (ModelAnswer { parts, stop: StopReason::ToolCalls, ..says("") }, call)
}

fn outcome(next: Next) -> Outcome {
    match next {
        Next::Finish(outcome) => *outcome,
        other => panic!("expected the end, found {other:?}"),
    }
}

#[test]
fn words_are_a_result() {
    let ended = outcome(turn(3).answered(says("All good, 3 mails.")));
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
            outcome(turn(3).answered(says(text))).state,
            RunState::NothingToReport,
            "{text}"
        );
    }
}

#[test]
fn sentinel_beside_text_is_asked_once_then_reported_without_it() {
    for text in ["HEARTBEAT_OK, the disk is full", "<think>Hm.</think>The disk is full. ROUTINE_OK"]
    {
        let mut turn = turn(5);
        assert_eq!(turn.answered(says(text)), Next::AskModel, "{text}");
        assert!(
            matches!(turn.messages().last(), Some(Message::User { text }) if text == CHOOSE.trim())
        );
        let ended = outcome(turn.answered(says(text)));
        assert_eq!(ended.state, RunState::Succeeded, "{text}");
        let summary = ended.summary.unwrap_or_default();
        assert!(summary.contains("the disk is full") || summary.contains("The disk is full."));
        assert!(!summary.contains("_OK"), "{summary}");
    }
}

#[test]
fn bare_sentinel_after_the_choice_keeps_the_report() {
    let mut turn = turn(5);
    assert_eq!(turn.answered(says("The disk is full. HEARTBEAT_OK")), Next::AskModel);
    let ended = outcome(turn.answered(says("HEARTBEAT_OK")));
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
        let told = ended.summary.or(ended.error);
        assert_eq!((ended.state, told.as_deref()), (state, words), "{summary}");
    }
}

#[test]
fn sentinel_in_an_attended_answer_is_a_word() {
    let limits = TurnLimits { max_steps: 3, is_attended: true };
    let mut turn = Turn::new(vec![Message::User { text: "task".into() }], limits, Vec::new());
    let ended = outcome(turn.answered(says("HEARTBEAT_OK means that nothing happened.")));
    assert_eq!(ended.summary.as_deref(), Some("HEARTBEAT_OK means that nothing happened."));
}

#[test]
fn unclosed_reasoning_is_never_a_report() {
    let mut turn = turn(5);
    assert_eq!(turn.answered(says("<think>HEARTBEAT_OK")), Next::AskModel);
    assert_eq!(outcome(turn.answered(says("<think>Fine"))).state, RunState::Failed);
}

#[test]
fn written_call_is_told_once_and_then_fails() {
    let call = r#"{"name": "http", "parameters": {"url": "https://example.com"}}"#;
    for is_attended in [false, true] {
        let limits = TurnLimits { max_steps: 5, is_attended };
        let mut turn = Turn::new(vec![Message::User { text: "task".into() }], limits, Vec::new());
        assert_eq!(turn.answered(says(call)), Next::AskModel);
        let ended = outcome(turn.answered(says(&format!("```json\n{call}\n```"))));
        assert_eq!(ended.state, RunState::Failed);
        let error = ended.error.unwrap_or_default();
        assert!(error.starts_with("The model wrote a tool call as text"), "{error}");
    }
}

#[test]
fn refusal_fails_with_the_models_words() {
    let refusal = ModelAnswer { stop: StopReason::Refusal, ..says("I can't help with that.") };
    let ended = outcome(turn(3).answered(refusal));
    assert_eq!(
        ended.error.as_deref(),
        Some("The model refused to answer: I can't help with that.")
    );
}

#[test]
fn cut_call_is_told_with_the_limit_and_whole_ones_are_made() {
    let (mut answer, whole) = calls("write_file");
    let cut =
        ToolCallRequest { id: "c2".into(), arguments: json!("{\"path\": \"a"), ..whole.clone() };
    answer.parts.push(Part::ToolCall(cut));
    let usage = Usage { output_tokens: 4_096, ..Usage::default() };
    let mut turn = turn(3);
    let next = turn.answered(ModelAnswer { stop: StopReason::Length, usage, ..answer });
    assert_eq!(next, Next::CallTools(vec![whole]));
    let told = turn.messages().last().cloned();
    assert!(
        matches!(&told, Some(Message::ToolResult { text, is_error: true, .. }) if text.contains("cut at 4,096 tokens")),
        "{told:?}"
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
        assert_eq!(turn.answered(answer), Next::CallTools(vec![call.clone()]));
        let effect =
            ToolEffect::Complete { outcome: Completion::Report, summary: summary.to_owned() };
        let ended = outcome(turn.called(vec![(call, ToolOutput::ok("done").with_effect(effect))]));
        assert_eq!(ended.state, expected, "{summary}");
        let is_told = expected == RunState::Succeeded;
        assert_eq!(ended.summary.is_some(), is_told, "{summary}: nobody is told the word");
    }
}

#[test]
fn a_question_is_reminded_once_and_then_fails() {
    let mut turn = turn(5);
    assert_eq!(turn.answered(says("Shall I go on?")), Next::AskModel);
    let ended = outcome(turn.answered(says("Really?")));
    assert_eq!(ended.state, RunState::Failed);
    assert!(ended.error.is_some_and(|error| error.contains("question")));
}

#[test]
fn a_question_is_one_in_bold_in_quotes_and_in_other_scripts() {
    let texts =
        ["Shall I **go on?**", "Which one? 🙂", "Delete them? Let me know.", "続けますか？"];
    for text in texts {
        assert_eq!(turn(5).answered(says(text)), Next::AskModel, "{text}");
    }
    assert_eq!(
        outcome(turn(5).answered(says("Why? Because it rains."))).state,
        RunState::Succeeded
    );
}

#[test]
fn an_empty_answer_is_never_a_success() {
    let mut turn = turn(5);
    assert_eq!(turn.answered(says("  ")), Next::AskModel);
    assert_eq!(outcome(turn.answered(says(""))).state, RunState::Failed);
}

#[test]
fn an_answer_cut_off_is_a_failure() {
    let cut = ModelAnswer { stop: StopReason::Length, ..says("The disk is") };
    assert_eq!(outcome(turn(5).answered(cut)).state, RunState::Failed);
}

#[test]
fn complete_run_ends_with_its_outcome() {
    let mut turn = turn(5);
    let (answer, call) = calls("complete_run");
    assert_eq!(turn.answered(answer), Next::CallTools(vec![call.clone()]));
    let effect = ToolEffect::Complete { outcome: Completion::Report, summary: "Found 2".into() };
    let ended = outcome(turn.called(vec![(call, ToolOutput::ok("done").with_effect(effect))]));
    assert_eq!((ended.state, ended.summary.as_deref()), (RunState::Succeeded, Some("Found 2")));
}

#[test]
fn a_report_that_asks_or_says_nothing_is_reminded_once_and_then_fails() {
    for summary in ["Found 2 bills. Shall I pay them?", "Should I send it? Please confirm.", "  "] {
        let mut turn = turn(5);
        let mut next = Next::AskModel;
        for expected in [true, false] {
            assert_eq!(next, Next::AskModel, "{summary}");
            let (answer, call) = calls("complete_run");
            assert!(matches!(turn.answered(answer), Next::CallTools(_)));
            let effect =
                ToolEffect::Complete { outcome: Completion::Report, summary: summary.into() };
            next = turn.called(vec![(call, ToolOutput::ok("done").with_effect(effect))]);
            assert_eq!(next == Next::AskModel, expected, "{summary}");
        }
        assert_eq!(outcome(next).state, RunState::Failed, "{summary}");
    }
}

/// Uses its steps up with calls of `echo`; what comes then.
fn used_up(turn: &mut Turn, steps: u32) -> Next {
    let mut next = Next::AskModel;
    for step in 0..steps {
        assert_eq!((&next, turn.is_closing()), (&Next::AskModel, false), "{step}");
        let (answer, call) = calls("echo");
        assert!(matches!(turn.answered(answer), Next::CallTools(_)));
        next = turn.called(vec![(call, ToolOutput::ok(step.to_string()))]);
    }
    next
}

#[test]
fn a_run_whose_steps_are_used_up_says_what_came_of_it() {
    for steps in [1, 2, 10] {
        let mut turn = turn(steps);
        assert_eq!(used_up(&mut turn, steps), Next::AskModel, "{steps}");
        assert!(turn.is_closing());
        let told = turn.messages().last().expect("a message");
        assert!(matches!(told, Message::User { text } if text == LAST.trim()), "{told:?}");
        let ended = outcome(turn.answered(says("Three mails.")));
        assert_eq!(
            (ended.state, ended.summary.as_deref()),
            (RunState::Succeeded, Some("Three mails."))
        );
    }
    let mut turn = turn(1);
    assert_eq!(used_up(&mut turn, 1), Next::AskModel);
    let (answer, call) = calls("complete_run");
    assert_eq!(turn.answered(answer), Next::CallTools(vec![call.clone()]));
    let effect =
        ToolEffect::Complete { outcome: Completion::NothingToReport, summary: String::new() };
    let ended = outcome(turn.called(vec![(call, ToolOutput::ok("done").with_effect(effect))]));
    assert_eq!(ended.state, RunState::NothingToReport);
}

#[test]
fn the_last_turn_is_the_last_whatever_is_said_in_it() {
    let mut called = turn(1);
    assert_eq!(used_up(&mut called, 1), Next::AskModel);
    let (answer, _) = calls("echo");
    let ended = outcome(called.answered(answer));
    let error = ended.error.expect("a reason");
    assert!(ended.state == RunState::Failed && error.contains("maxSteps"), "{error}");
    let told = called.messages().last().expect("a message");
    assert!(
        matches!(told, Message::ToolResult { is_error: true, .. }),
        "no call stays without a result: {told:?}"
    );

    for (text, words) in [("  ", "without an answer"), ("Shall I go on?", "a question")] {
        let mut turn = turn(1);
        assert_eq!(used_up(&mut turn, 1), Next::AskModel);
        let error = outcome(turn.answered(says(text))).error.expect("a reason");
        assert!(error.contains(words), "{error}");
    }

    let mut wrong = turn(1);
    assert_eq!(used_up(&mut wrong, 1), Next::AskModel);
    let (answer, call) = calls("complete_run");
    assert!(matches!(wrong.answered(answer), Next::CallTools(_)));
    let ended = outcome(wrong.called(vec![(call, ToolOutput::error("no such outcome"))]));
    assert!(ended.error.is_some_and(|error| error.contains("maxSteps")));
}

#[test]
fn a_break_in_the_last_turn_leaves_it_the_last() {
    let mut first = turn(1);
    assert_eq!(used_up(&mut first, 1), Next::AskModel);
    let limits = TurnLimits { max_steps: 1, is_attended: false };
    let (again, next) = Turn::resumed(Vec::new(), first.messages().to_vec(), limits, Vec::new());
    assert_eq!((next, again.is_closing()), (Next::AskModel, true));
    assert_eq!(again.messages(), first.messages(), "it is told once");
}

#[test]
fn a_question_in_the_last_step_is_not_the_end_of_it() {
    let mut turn = turn(1);
    assert_eq!(turn.answered(says("Shall I go on?")), Next::AskModel);
    assert_eq!(outcome(turn.answered(says("Three mails."))).state, RunState::Succeeded);
}

#[test]
fn to_a_person_who_is_there_a_question_is_an_answer_and_silence_is_none() {
    let attended = || {
        let limits = TurnLimits { max_steps: 3, is_attended: true };
        Turn::new(vec![Message::User { text: "task".into() }], limits, Vec::new())
    };
    let ended = outcome(attended().answered(says("Which of the two do you mean?")));
    assert_eq!(ended.state, RunState::Succeeded);
    assert_eq!(ended.summary.as_deref(), Some("Which of the two do you mean?"));
    let ended = outcome(attended().answered(says("  ")));
    assert_eq!(ended.error.as_deref(), Some("The model ended without an answer."));
}

/// Carries on with `tool`, which answers what `result` says for each time, until the run ends; the times it was called
/// and what the model was told beside.
fn circles(turn: &mut Turn, result: impl Fn(u32) -> ToolOutput) -> (u32, Outcome) {
    let mut times = 0;
    loop {
        let (answer, call) = calls("echo");
        assert!(matches!(turn.answered(answer), Next::CallTools(_)));
        let next = turn.called(vec![(call, result(times))]);
        times += 1;
        if turn.is_closing() {
            let (answer, _) = calls("echo");
            return (times, outcome(turn.answered(answer)));
        }
        if let Next::Finish(outcome) = next {
            return (times, *outcome);
        }
    }
}

fn told_beside(turn: &Turn) -> usize {
    turn.messages()[1..].iter().filter(|said| matches!(said, Message::User { .. })).count()
}

fn patient() -> Turn {
    let limits = TurnLimits { max_steps: 40, is_attended: false };
    Turn::new(vec![Message::User { text: "task".into() }], limits, Vec::new())
}

#[test]
fn the_same_call_with_the_same_result_is_told_once_and_then_ends_the_run() {
    let mut turn = patient();
    let (times, ended) = circles(&mut turn, |_| ToolOutput::ok("pending"));
    assert_eq!((times, ended.state, told_beside(&turn)), (5, RunState::Failed, 1));
    let error = ended.error.expect("a reason");
    assert!(error.contains("no progress") && error.ends_with("each time."), "{error}");
    let mut turn = patient();
    let (_, ended) = circles(&mut turn, |_| ToolOutput::error("The house rule says no."));
    let error = ended.error.expect("a reason");
    assert!(error.ends_with("The last error: The house rule says no."), "{error}");
}

#[test]
fn what_changes_now_and_then_is_waited_for() {
    let mut turn = patient();
    let (times, ended) = circles(&mut turn, |time| ToolOutput::ok(format!("{} % done", time / 2)));
    assert_eq!((times, told_beside(&turn)), (40, 1));
    assert!(ended.error.is_some_and(|error| error.contains("maxSteps")));
}

#[test]
fn marks_around_a_text_from_outside_are_no_change() {
    let mut turn = patient();
    let marked = |time: u32| format!("⟦outside a{time} http⟧\nthe page\n⟦end of outside a{time}⟧");
    let (times, _) = circles(&mut turn, |time| ToolOutput::ok(marked(time)));
    assert_eq!(times, 5);
}

#[test]
fn nothing_but_errors_is_told_once_and_then_ends_the_run() {
    let mut turn = patient();
    let (times, ended) =
        circles(&mut turn, |time| ToolOutput::error(format!("No file called {time}.")));
    assert_eq!((times, ended.state, told_beside(&turn)), (8, RunState::Failed, 1));
    let error = ended.error.expect("a reason");
    assert!(error.contains("went wrong") && error.contains("No file called 7."), "{error}");
}

#[test]
fn one_call_that_works_is_progress_among_errors() {
    let mut turn = patient();
    let result = |time: u32| match time % 4 {
        0 => ToolOutput::ok(format!("found {time}")),
        _ => ToolOutput::error(format!("No file called {time}.")),
    };
    let (times, _) = circles(&mut turn, result);
    assert_eq!((times, told_beside(&turn)), (40, 1));
}

#[test]
fn two_calls_in_turn_are_a_circle_as_well_and_twins_in_one_answer_are_none() {
    let mut turn = patient();
    let call = |id: &str, text: &str| ToolCallRequest {
        id: id.into(),
        tool: "echo".into(),
        arguments: json!({ "text": text }),
    };
    let ask = |turn: &mut Turn, asked: Vec<ToolCallRequest>| {
        let parts = asked.iter().cloned().map(Part::ToolCall).collect();
        let answer = ModelAnswer { parts, stop: StopReason::ToolCalls, ..says("") };
        assert!(matches!(turn.answered(answer), Next::CallTools(_)));
        let results = asked.into_iter().map(|call| (call, ToolOutput::ok("the same")));
        turn.called(results.collect())
    };
    let twins: Vec<_> = ["1", "2", "3", "4", "5", "6"].map(|id| call(id, "x")).into();
    assert_eq!(ask(&mut turn, twins), Next::AskModel);
    assert_eq!(told_beside(&turn), 0);
    for time in 0.. {
        let text = if time % 2 == 0 { "a" } else { "b" };
        match ask(&mut turn, vec![call("1", text)]) {
            Next::Finish(_) => return assert_eq!((time, told_beside(&turn)), (8, 1)),
            next => assert_eq!(next, Next::AskModel),
        }
    }
}

#[test]
fn a_break_is_no_fresh_start_for_a_circle() {
    let mut before = patient();
    for _ in 0..4 {
        let (answer, call) = calls("echo");
        assert!(matches!(before.answered(answer), Next::CallTools(_)));
        assert_eq!(before.called(vec![(call, ToolOutput::ok("pending"))]), Next::AskModel);
    }
    let limits = TurnLimits { max_steps: 40, is_attended: false };
    let said = before.messages().to_vec();
    let (mut turn, next) = Turn::resumed(Vec::new(), said, limits, Vec::new());
    assert_eq!(next, Next::AskModel);
    let (times, _) = circles(&mut turn, |_| ToolOutput::ok("pending"));
    assert_eq!((times, told_beside(&turn)), (1, 1));
}

/// An answer that asks for so many calls; the one of this number would end the run.
fn asks_for(count: usize, ending: usize) -> ModelAnswer {
    let call = |number: usize| ToolCallRequest {
        id: format!("c{number}"),
        tool: if number == ending { COMPLETE_RUN.into() } else { "time".into() },
        arguments: json!({}),
    };
    let parts = (0..count).map(call).map(Part::ToolCall).collect();
    ModelAnswer { parts, stop: StopReason::ToolCalls, ..says("") }
}

/// The calls of the conversation that have results as errors, and what those say.
fn refused(turn: &Turn) -> Vec<(&str, &str)> {
    let refused = turn.messages().iter().filter_map(|message| match message {
        Message::ToolResult { call_id, text, is_error: true, .. } => {
            Some((call_id.as_str(), text.as_str()))
        }
        _ => None,
    });
    refused.collect()
}

#[test]
fn one_answer_makes_so_many_calls_and_the_model_is_told_once_of_the_others() {
    let mut turn = turn(1);
    let kept = turn.as_kept(asks_for(5_000, 54));
    let all: Vec<_> = kept.calls().cloned().collect();
    assert_eq!(all.len(), 21);
    assert_eq!(turn.answered(kept), Next::CallTools(all[..20].to_vec()));
    let [(id, text)] = refused(&turn)[..] else { panic!("not once: {:?}", refused(&turn)) };
    assert!(id == "c20" && text.contains("20 calls"), "{id}: {text}");
    let (_, next) = Turn::resumed(Vec::new(), turn.messages().to_vec(), turn.limits, Vec::new());
    assert_eq!(next, Next::CallTools(all[..20].to_vec()), "the same after a break");
}

#[test]
fn what_of_an_answer_is_left_out_goes_with_the_blocks_of_its_calls() {
    let opaque = |name: &str| Part::Opaque { provider: "p".into(), block: json!(name) };
    let mut answer = asks_for(22, 99);
    answer.parts.insert(21, opaque("of the one that is left out"));
    answer.parts.insert(0, opaque("of all"));
    answer.parts.push(Part::Text { text: "So much.".to_owned() });
    let kept = turn(1).as_kept(answer);
    let blocks: Vec<_> = kept.parts.iter().filter(|it| matches!(it, Part::Opaque { .. })).collect();
    assert_eq!((kept.calls().count(), blocks), (21, vec![&opaque("of all")]));
    assert_eq!(kept.text(), "So much.");
    let few = asks_for(21, 99);
    assert_eq!(turn(1).as_kept(few.clone()), few);
}

#[test]
fn in_the_last_turn_the_call_that_ends_the_run_is_kept_however_many_stand_before_it() {
    let mut turn = turn(1);
    assert_eq!(used_up(&mut turn, 1), Next::AskModel);
    let kept = turn.as_kept(asks_for(5_000, 4_000));
    let Next::CallTools(made) = turn.answered(kept) else { panic!("nothing is called") };
    assert_eq!(made.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c4000"]);
    assert_eq!(refused(&turn).len(), 21);
}

#[test]
fn what_a_run_said_before_a_break_is_its_last_word_and_what_others_said_is_not() {
    let limits = turn(3).limits;
    let said_before = vec![Message::Assistant { parts: says("Of another run.").parts }];
    let mut first = Turn::new(said_before.clone(), limits, Vec::new());
    assert_eq!(first.last_words(), None);
    let (call, _) = calls("time");
    let Next::CallTools(_) = first.answered(ModelAnswer {
        parts: [says("Three mails.").parts, call.parts.clone()].concat(),
        ..call
    }) else {
        panic!("it asks for a call")
    };
    let said = first.messages()[1..].to_vec();
    let (again, _) = Turn::resumed(said_before.clone(), said, limits, Vec::new());
    assert_eq!(again.last_words().as_deref(), Some("Three mails."));
    let (silent, _) = Turn::resumed(said_before, Vec::new(), limits, Vec::new());
    assert_eq!(silent.last_words(), None);
}

#[test]
fn attachments_follow_all_results_of_an_answer() {
    let (answer, call) = calls("read_file");
    let mut turn = turn(3);
    assert!(matches!(turn.answered(answer), Next::CallTools(_)));
    let file = Attachment::new("a.png", MediaKind::Png, vec![1]);
    let shown = ToolOutput { attachments: vec![file.clone()], ..ToolOutput::ok("An image.") };
    let other = ToolCallRequest { id: "c2".into(), ..call.clone() };
    assert_eq!(turn.called(vec![(call, shown), (other, ToolOutput::ok("x"))]), Next::AskModel);
    assert_eq!(turn.messages().last(), Some(&Message::Attachments { files: vec![file] }));
}
