//! Local writes that hold what reads like a stored secret, in any spelling: asked about with marks, and made as written.

use std::sync::Arc;

use rouse_agent::{Secret, SecretValue};
use rouse_core::approval::{Answer, Approval};
use rouse_core::tool::{Annotations, ApprovalRule, Domain, Tool};
use rouse_core::{Job, RunState, UnixMs};
use rouse_testkit::scripted_model::{Scripted, calls};
use serde_json::{Value, json};

use super::guarded::{Keeper, Reached, done, echoing, reached};
use super::house::{House, agent_job, tools};

/// `keeper` writes here and `runner` runs commands; both need a yes. `writer` writes here and needs none.
fn asking_tools(made: &Reached) -> Vec<Arc<dyn Tool>> {
    let asks = |name: &str, does| {
        echoing(name, does, made).with(|spec| spec.approval = ApprovalRule::UnlessGranted)
    };
    let keeper = Keeper { inner: asks("keeper", Annotations::OVERWRITES) };
    let writer = Keeper { inner: echoing("writer", Annotations::OVERWRITES, made) };
    let runner = asks("runner", Annotations::ANYTHING).with(|spec| spec.domain = Domain::Container);
    let mut all = tools();
    all.push(Arc::new(keeper));
    all.push(Arc::new(writer));
    all.push(Arc::new(runner));
    all
}

async fn house(script: Vec<Scripted>, value: &str) -> (House, Reached) {
    let made = Reached::default();
    let value = SecretValue::new(value).expect("a value");
    let secret = Secret::new("door", value, &["api.example.com".to_owned()]).expect("a secret");
    (House::guarded(script, asking_tools(&made), vec![secret], Vec::new()).await, made)
}

fn any_job() -> Job {
    agent_job(json!({ "message": "Do it." }), json!({}))
}

/// What a person is asked about this call alone, and what reaches the tool after a yes to it.
async fn asked_and_made(value: &str, tool: &'static str, arguments: Value) -> (Approval, Value) {
    let (house, made) = house(vec![calls([("c0", tool, arguments.clone())]), done()], value).await;
    let job = any_job();
    let run = house.run_of(Some(&job)).await;
    let outcome = house.go(&run, &job).await;
    assert_eq!(outcome.asks.len(), 1, "{arguments}: {outcome:?}");
    let asked = outcome.asks[0].clone();
    house.say_yes(&run, &outcome).await;
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded, "{arguments}");
    let kept = format!("{:?}", house.steps(&run).await);
    let text = arguments["text"].as_str().expect("a text");
    assert!(!kept.contains(text), "{kept}");
    let told = format!("{:?}", house.model.requests());
    assert!(!told.contains(text), "{told}");
    let made = reached(&made);
    assert_eq!(made.len(), 1, "{arguments}");
    (asked, made[0].clone())
}

#[tokio::test]
async fn a_local_write_of_words_that_read_like_a_secret_is_asked_about_with_marks_and_made_as_written()
 {
    for (value, text, shown) in [
        ("correcthorse", "The Correct horse wins.", "The [redacted: secret:door] wins."),
        ("password", "The Password field", "The [redacted: secret:door] field"),
        ("20251125", "version 2.0.2.5.1.1.2.5", "version [redacted: secret:door]"),
        ("correcthorse", "esrohtcerroc", "[redacted: secret:door]"),
        ("correcthorse", "Y29ycmVjdGhvcnNl", "[redacted: secret:door]"),
        ("correcthorse", "636f7272656374686f727365", "[redacted: secret:door]"),
        (
            "correcthorse",
            "{{secret:door}} is correcthorse",
            "{{secret:door}} is [redacted: secret:door]",
        ),
    ] {
        let arguments = json!({ "text": text, "path": "a.txt" });
        let (asked, made) = asked_and_made(value, "keeper", arguments.clone()).await;
        assert_eq!(asked.arguments, json!({ "text": shown, "path": "a.txt" }), "{text}");
        assert!(asked.why.contains("reads like the stored secret door"), "{}", asked.why);
        assert!(asked.surroundings.ungranted.is_some(), "{asked:?}");
        assert!(!format!("{asked:?}").contains(text), "{asked:?}");
        assert_eq!(made, arguments);
    }
}

#[tokio::test]
async fn a_confined_command_with_words_that_read_like_a_secret_is_asked_about_too() {
    let arguments = json!({ "text": "echo 'Correct Horse' > a.txt" });
    let (asked, made) = asked_and_made("correcthorse", "runner", arguments.clone()).await;
    assert_eq!(asked.arguments, json!({ "text": "echo '[redacted: secret:door]' > a.txt" }));
    assert_eq!(made, arguments);
}

/// A mark would hide what is run: the value itself, what a program makes of it, and signs that a shell reads.
#[tokio::test]
async fn a_command_whose_mark_would_hide_more_than_words_is_not_asked_about() {
    for text in [
        "echo correcthorse > a.txt",
        "echo Y29ycmVjdGhvcnNl | base64 -d > a.txt",
        "echo cor;rect;horse > a.txt",
    ] {
        let script = vec![calls([("c0", "runner", json!({ "text": text }))]), done()];
        let (house, made) = house(script, "correcthorse").await;
        let job = any_job();
        let run = house.run_of(Some(&job)).await;
        let outcome = house.go(&run, &job).await;
        assert_eq!((outcome.state, outcome.asks), (RunState::Succeeded, Vec::new()), "{text}");
        assert!(reached(&made).is_empty(), "{text}");
    }
}

/// Marks look alike, whatever they stand for.
#[tokio::test]
async fn a_yes_or_a_no_to_one_spelling_is_none_to_another() {
    for answer in [Answer::Run, Answer::Deny { reason: None }] {
        let write = |id: &'static str, text: &str| calls([(id, "keeper", json!({ "text": text }))]);
        let script = vec![write("c0", "Correct horse"), write("c1", "CORRECT HORSE"), done()];
        let (house, _) = house(script, "correcthorse").await;
        let job = any_job();
        let run = house.run_of(Some(&job)).await;
        let outcome = house.go(&run, &job).await;
        house.park(&run, &outcome).await;
        house.decide(&outcome.asks[0], &answer).await;
        house.start_again(&run).await;
        let outcome = house.go(&run, &job).await;
        assert_eq!(outcome.asks.len(), 1, "{answer:?}: {outcome:?}");
        assert_eq!(outcome.asks[0].arguments, json!({ "text": "[redacted: secret:door]" }));
    }
}

#[tokio::test]
async fn what_waits_behind_another_question_is_asked_about_when_its_turn_comes() {
    let held = json!({ "text": "The Correct horse wins." });
    let script = vec![calls([("c0", "asks", json!({})), ("c1", "keeper", held.clone())]), done()];
    let (house, made) = house(script, "correcthorse").await;
    let job = any_job();
    let run = house.run_of(Some(&job)).await;
    let outcome = house.go(&run, &job).await;
    assert_eq!(outcome.asks.len(), 2, "{outcome:?}");
    house.say_yes(&run, &outcome).await;
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    assert_eq!(reached(&made), [held]);
}

/// What no handle can stand for is kept in memory alone, so that no file ever holds it.
#[tokio::test]
async fn after_a_start_of_rouse_it_is_not_made_with_marks_and_the_model_is_told_to_make_it_again() {
    let held = json!({ "text": "The Correct horse wins." });
    let script = vec![
        calls([("c0", "keeper", held.clone())]),
        calls([("c1", "keeper", held.clone())]),
        done(),
    ];
    let (mut house, _) = house(script, "correcthorse").await;
    let job = any_job();
    let run = house.run_of(Some(&job)).await;
    let outcome = house.go(&run, &job).await;
    house.say_yes(&run, &outcome).await;
    let made = Reached::default();
    house.begin_anew(asking_tools(&made));
    let outcome = house.go(&run, &job).await;
    assert_eq!(outcome.asks.len(), 1, "{outcome:?}");
    assert!(reached(&made).is_empty());
    let told = format!("{:?}", house.model.requests().last().expect("asked again"));
    assert!(told.contains("Make this call of keeper again"), "{told}");
    house.say_yes(&run, &outcome).await;
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    assert_eq!(reached(&made), [held]);
}

/// The yes was to what stood for the secret of then. What it was is shown nowhere, also when it is no secret any more.
#[tokio::test]
async fn a_secret_that_is_deleted_or_set_anew_before_the_yes_refuses_the_call_and_is_not_shown() {
    let secret = |value: &str| {
        let value = SecretValue::new(value).expect("a value");
        let hosts = ["api.example.com".to_owned()];
        Secret::new("door", value, &hosts).expect("a secret").set(UnixMs(9))
    };
    let encoded = "Y29ycmVjdGhvcnNl";
    for (by_then, why) in [
        (Vec::new(), "deleted since"),
        (vec![secret("another-value-43")], "set anew since"),
        (vec![secret("correcthorse")], "set anew since"),
    ] {
        let held = json!({ "text": encoded });
        let both = calls([("c0", "asks", json!({})), ("c1", "keeper", held.clone())]);
        let alone = calls([("c0", "keeper", held)]);
        for script in [vec![alone, done()], vec![both, done()]] {
            let (house, made) = house(script, "correcthorse").await;
            let job = any_job();
            let run = house.run_of(Some(&job)).await;
            let outcome = house.go(&run, &job).await;
            house.say_yes(&run, &outcome).await;
            house.secrets.replace(by_then.clone());
            let outcome = house.go(&run, &job).await;
            assert_eq!((outcome.state, &outcome.asks), (RunState::Succeeded, &Vec::new()), "{why}");
            assert!(reached(&made).is_empty(), "{why}");
            let told = format!("{:?}", house.model.requests().last().expect("asked again"));
            assert!(told.contains(why) && !told.contains(encoded), "{told}");
            let steps = format!("{:?}", house.steps(&run).await);
            assert!(!steps.contains(encoded), "{steps}");
        }
    }
}

#[tokio::test]
async fn two_calls_of_one_answer_are_each_asked_about_and_made_as_written() {
    let [one, other] = ["Correct horse", "CORRECT HORSE"].map(|text| json!({ "text": text }));
    let both = calls([("c0", "keeper", one.clone()), ("c1", "keeper", other.clone())]);
    let (house, made) = house(vec![both, done()], "correcthorse").await;
    let job = any_job();
    let run = house.run_of(Some(&job)).await;
    let outcome = house.go(&run, &job).await;
    assert_eq!(outcome.asks.len(), 2, "{outcome:?}");
    house.say_yes(&run, &outcome).await;
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    assert_eq!(reached(&made), [one, other]);
}

/// Nothing leaves, so nothing that a write holds is a reason to ask about it.
#[tokio::test]
async fn a_local_write_that_needs_no_yes_is_made_unasked_whatever_it_holds() {
    let shaped = format!("sk_{}_{}", "live", "4eC39HqLyjWDarjtT1zdp7dc");
    for text in [&shaped, "Correct horse", "Y29ycmVjdGhvcnNl", "key correcthorse"] {
        let written = json!({ "text": text });
        let script = vec![calls([("c0", "writer", written.clone())]), done()];
        let (house, made) = house(script, "correcthorse").await;
        let job = any_job();
        let run = house.run_of(Some(&job)).await;
        let outcome = house.go(&run, &job).await;
        assert_eq!((outcome.state, outcome.asks), (RunState::Succeeded, Vec::new()), "{text}");
        assert_eq!(reached(&made), [written]);
    }
}

/// The shape of a key is no stored secret: a call that needs a yes anyway is asked about as it is, and made.
#[tokio::test]
async fn a_local_call_with_the_shape_of_a_key_is_asked_about_like_any_other() {
    let shaped = format!("sk_{}_{}", "live", "4eC39HqLyjWDarjtT1zdp7dc");
    let held = json!({ "text": format!("key {shaped}") });
    for tool in ["keeper", "runner"] {
        let script = vec![calls([("c0", tool, held.clone())]), done()];
        let (house, made) = house(script, "correcthorse").await;
        let job = any_job();
        let run = house.run_of(Some(&job)).await;
        let outcome = house.go(&run, &job).await;
        assert_eq!(outcome.asks.len(), 1, "{outcome:?}");
        let asked = &outcome.asks[0];
        assert!(!asked.why.contains("key") && asked.surroundings.held.is_none(), "{asked:?}");
        house.say_yes(&run, &outcome).await;
        assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
        assert_eq!(reached(&made), std::slice::from_ref(&held), "{tool}");
    }
}
