//! Streamed answers, for clients.

use rouse_agent::{Secret, SecretValue};
use rouse_core::RunState;
use rouse_core::message::{Part, StopReason};
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind};
use rouse_store::{StepKind, StepStatus};
use rouse_testkit::scripted_model::{Scripted, answer};
use serde_json::json;

use super::fixtures::VALUE;
use super::run_fixture::{RunFixture, agent_job, tools, turn_of};

async fn fixture(script: Vec<Scripted>) -> RunFixture {
    let value = SecretValue::new(VALUE).expect("a value");
    RunFixture::guarded(script, tools(), vec![Secret::redacted_only("mail", value)], Vec::new())
        .await
}

/// Carries out a run and returns the state and the streamed text.
async fn shown(fixture: &RunFixture) -> (RunState, String) {
    let job = agent_job(json!({ "message": "Say it." }), json!({}));
    let run = fixture.run_of(Some(&job)).await;
    let outcome = fixture
        .driver()
        .run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel)
        .await;
    let seen = fixture.seen.lock().expect("not poisoned");
    let texts = seen.iter().filter_map(|delta| match delta {
        Delta::Text(text) => Some(text.as_str()),
        _ => None,
    });
    (outcome.state, texts.collect())
}

/// An answer in these pieces.
fn in_pieces(texts: &[&str]) -> Scripted {
    let parts = texts.iter().map(|text| Part::Text { text: (*text).to_owned() });
    Scripted::Answer(answer(parts.collect(), StopReason::End))
}

#[tokio::test]
async fn streamed_text_is_redacted() {
    let fixture = fixture(vec![in_pieces(&[&format!("It is {VALUE}, which opens it.")])]).await;
    let (state, shown) = shown(&fixture).await;
    assert_eq!(state, RunState::Succeeded);
    assert_eq!(shown, "It is [redacted: secret:mail], which opens it.");
}

#[tokio::test]
async fn secret_split_over_pieces_is_redacted() {
    for spelling in [VALUE.to_owned(), VALUE.to_uppercase()] {
        let text = format!("A word of it: {spelling}. And some more words.");
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        let (_, shown) = shown(&fixture(vec![in_pieces(&letters)]).await).await;
        let expected = "A word of it: [redacted: secret:mail]. And some more words.";
        assert_eq!(shown, expected);
    }
}

#[tokio::test]
async fn partial_secret_is_not_shown_after_truncation() {
    let pieces = ["It is ", "sunflo"].map(|text| Delta::Text(text.to_owned())).to_vec();
    let broken = ProviderError::new(ProviderErrorKind::Truncated, "The answer broke off.");
    let fixture = fixture(vec![Scripted::Failure(pieces, broken)]).await;
    assert_eq!(shown(&fixture).await, (RunState::Failed, "It is ".to_owned()));
}

/// The run of a cancelled or lost answer shows the text until then.
#[tokio::test]
async fn shown_text_of_truncated_answer_is_journalled() {
    let words = format!("First the kitchen, with {VALUE} at hand, then");
    let broken = ProviderError::new(ProviderErrorKind::Truncated, "The answer broke off.");
    let pieces = vec![Delta::Text(words), Delta::Arguments(1)];
    let fixture = fixture(vec![Scripted::Failure(pieces, broken)]).await;
    let (run, _) = fixture.turn(json!({ "message": "Say it." })).await;
    let steps = fixture.steps(&run).await;
    let step = steps.iter().find(|step| step.kind == StepKind::ModelTurn).expect("a model turn");
    let journalled =
        step.output.as_ref().and_then(|output| output["text"].as_str()).expect("words");
    assert!(
        journalled.starts_with("First the kitchen, with [redacted: secret:mail] at"),
        "{journalled}"
    );
    assert_eq!(step.status, StepStatus::Failed);
}
