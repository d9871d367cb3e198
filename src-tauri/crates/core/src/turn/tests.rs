//! The endings of a run, one by one.

use serde_json::json;

use super::*;
use crate::message::Part;

fn turn(max_steps: u32) -> Turn {
    Turn::new(
        vec![Message::User { text: "task".into() }],
        TurnLimits { max_steps, max_tokens: Some(1_000), is_attended: false },
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
fn the_silent_words_are_nothing_to_report_only_as_the_whole_reply() {
    for text in ["ROUTINE_OK", " HEARTBEAT_OK.\n", "**HEARTBEAT_OK**", "`ROUTINE_OK`"] {
        assert_eq!(
            outcome(turn(3).answered(says(text))).state,
            RunState::NothingToReport,
            "{text}"
        );
    }
    assert_eq!(
        outcome(turn(3).answered(says("HEARTBEAT_OK but the disk is full"))).state,
        RunState::Succeeded
    );
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
    for text in ["Shall I **go on?**", "He asked (\"why?\")", "続けますか？"] {
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
    for summary in ["Found 2 bills. Shall I pay them?", "  "] {
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

#[test]
fn the_step_limit_ends_a_loop() {
    let mut turn = turn(2);
    let mut next = Next::AskModel;
    for _ in 0..2 {
        let (answer, call) = calls("echo");
        assert!(matches!(turn.answered(answer), Next::CallTools(_)));
        next = turn.called(vec![(call, ToolOutput::ok("again"))]);
    }
    let ended = outcome(next);
    assert!(ended.error.is_some_and(|error| error.contains("maxSteps")));
}

#[test]
fn the_token_budget_ends_a_run() {
    let mut turn = turn(50);
    let (mut answer, call) = calls("echo");
    answer.usage.input_tokens = 2_000;
    assert!(matches!(turn.answered(answer), Next::CallTools(_)));
    let ended = outcome(turn.called(vec![(call, ToolOutput::ok("x"))]));
    assert!(ended.error.is_some_and(|error| error.contains("budget")));
}

#[test]
fn to_a_person_who_is_there_a_question_is_an_answer_and_silence_is_none() {
    let attended = || {
        let limits = TurnLimits { max_steps: 3, max_tokens: None, is_attended: true };
        Turn::new(vec![Message::User { text: "task".into() }], limits)
    };
    let ended = outcome(attended().answered(says("Which of the two do you mean?")));
    assert_eq!(ended.state, RunState::Succeeded);
    assert_eq!(ended.summary.as_deref(), Some("Which of the two do you mean?"));
    let ended = outcome(attended().answered(says("  ")));
    assert_eq!(ended.error.as_deref(), Some("The model ended without an answer."));
}
