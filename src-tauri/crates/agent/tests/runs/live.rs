//! The words of a model while it says them, as whoever looks on is shown them.

use rouse_agent::{Secret, SecretValue};
use rouse_core::RunState;
use rouse_core::message::{Part, StopReason};
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind};
use rouse_store::{StepKind, StepStatus};
use rouse_testkit::scripted_model::{Scripted, answer};
use serde_json::json;

use super::guarded::VALUE;
use super::house::{House, agent_job, tools, turn_of};

async fn house(script: Vec<Scripted>) -> House {
    let value = SecretValue::new(VALUE).expect("a value");
    House::guarded(script, tools(), vec![Secret::never_sent("mail", value)], Vec::new()).await
}

/// Carries out one run; answers its end and what was shown of it.
async fn shown(house: &House) -> (RunState, String) {
    let job = agent_job(json!({ "message": "Say it." }), json!({}));
    let run = house.run_of(Some(&job)).await;
    let outcome =
        house.driver().run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel).await;
    let seen = house.seen.lock().expect("not poisoned");
    let texts = seen.iter().filter_map(|delta| match delta {
        Delta::Text(text) => Some(text.as_str()),
        _ => None,
    });
    (outcome.state, texts.collect())
}

/// An answer whose words come in these pieces.
fn in_pieces(texts: &[&str]) -> Scripted {
    let parts = texts.iter().map(|text| Part::Text { text: (*text).to_owned() });
    Scripted::Answer(answer(parts.collect(), StopReason::End))
}

#[tokio::test]
async fn what_is_shown_while_it_is_said_holds_no_stored_secret() {
    let house = house(vec![in_pieces(&[&format!("It is {VALUE}, which opens it.")])]).await;
    let (state, shown) = shown(&house).await;
    assert_eq!(state, RunState::Succeeded);
    assert_eq!(shown, "It is [redacted: secret:mail], which opens it.");
}

#[tokio::test]
async fn nor_where_its_pieces_come_one_by_one() {
    for said in
        [VALUE.to_owned(), "sunflower 42 - Tango".to_owned(), "s u n flower42tango".to_owned()]
    {
        let text = format!("A word of it: {said}. And some more words.");
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        let (_, shown) = shown(&house(vec![in_pieces(&letters)]).await).await;
        assert!(!shown.contains("sun") && !shown.contains("s u n"), "{shown}");
        let (before, _) = shown.split_once("[redacted: secret:mail]").expect("a mark");
        assert!(
            ["", "s", "su"]
                .map(|begun| format!("A word of it: {begun}"))
                .contains(&before.to_owned()),
            "{shown}"
        );
        assert!(shown.ends_with("And some more words."), "{shown}");
    }
}

#[tokio::test]
async fn the_beginning_of_one_is_not_shown_when_the_answer_breaks_off() {
    let pieces = ["It is ", "sunflo"].map(|text| Delta::Text(text.to_owned())).to_vec();
    let broken = ProviderError::new(ProviderErrorKind::Truncated, "The answer broke off.");
    let house = house(vec![Scripted::Failure(pieces, broken)]).await;
    assert_eq!(shown(&house).await, (RunState::Failed, "It is ".to_owned()));
}

/// Whoever stops an answer, or loses it, finds on its run what it had said by then.
#[tokio::test]
async fn what_was_shown_of_an_answer_that_broke_off_stays_in_the_journal() {
    let words = format!("First the kitchen, with {VALUE} at hand, then");
    let broken = ProviderError::new(ProviderErrorKind::Truncated, "The answer broke off.");
    let pieces = vec![Delta::Text(words), Delta::Arguments(1)];
    let house = house(vec![Scripted::Failure(pieces, broken)]).await;
    let (run, _) = house.turn(json!({ "message": "Say it." })).await;
    let steps = house.steps(&run).await;
    let step = steps.iter().find(|step| step.kind == StepKind::ModelTurn).expect("it was asked");
    let said = step.output.as_ref().and_then(|output| output["text"].as_str()).expect("words");
    assert!(said.starts_with("First the kitchen, with [redacted: secret:mail] at"), "{said}");
    assert_eq!(step.status, StepStatus::Failed);
}

/// What is shown while it is said may hold a spelling that only the whole tells; what is written down does not.
#[tokio::test]
async fn what_stays_of_it_is_looked_through_as_a_whole() {
    let value = SecretValue::new("correct horse battery staple").expect("a value");
    let pieces = "It is pbeerpg ubefr onggrel fgncyr, so".split_inclusive(' ');
    let pieces = pieces.map(|word| Delta::Text(word.to_owned())).collect();
    let broken = ProviderError::new(ProviderErrorKind::Truncated, "The answer broke off.");
    let script = vec![Scripted::Failure(pieces, broken)];
    let secrets = vec![Secret::never_sent("mail", value)];
    let house = House::guarded(script, tools(), secrets, Vec::new()).await;
    let (run, _) = house.turn(json!({ "message": "Say it." })).await;
    let steps = house.steps(&run).await;
    let step = steps.iter().find(|step| step.kind == StepKind::ModelTurn).expect("it was asked");
    let said = step.output.as_ref().and_then(|output| output["text"].as_str()).expect("words");
    assert!(!said.contains("fgncyr") && said.contains("[redacted: secret:mail]"), "{said}");
}
