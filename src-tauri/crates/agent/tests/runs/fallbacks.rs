//! Which model answers: the job's own, then its fallbacks; and what becomes of a run whose local model is not there.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{ChosenModel, Lineup};
use rouse_core::job::Job;
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind as Kind};
use rouse_core::run::{Outcome, WaitsFor};
use rouse_core::{RunState, SessionKey};
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, calls, fails, says};
use serde_json::json;

use super::house::{House, NOW, agent_job, turn_of};

/// Models with these scripts, asked in this order.
fn lineup<const N: usize>(scripts: [Vec<Scripted>; N]) -> (Vec<Arc<ScriptedModel>>, Lineup) {
    let names = ["first", "second", "third"];
    let models: Vec<Arc<ScriptedModel>> = scripts
        .into_iter()
        .zip(names)
        .map(|(script, name)| Arc::new(ScriptedModel::new(script).named(name)))
        .collect();
    let chosen = models.iter().zip(names).map(|(model, name)| ChosenModel {
        provider: Arc::clone(model) as _,
        model: format!("{name}-1"),
    });
    let lineup = Lineup::of(chosen.collect::<Vec<_>>());
    (models, lineup)
}

fn plain() -> Job {
    agent_job(json!({"message": "x"}), json!({}))
}

async fn run_with(house: &House, job: &Job, models: Lineup) -> Outcome {
    let run = house.run_of(Some(job)).await;
    house.driver().run_turn(&run, job, turn_of(job), models, &house.cancel).await
}

fn again(kind: Kind) -> Scripted {
    let error = ProviderError {
        retry_after: Some(Duration::ZERO),
        ..ProviderError::new(kind, "first is too busy.")
    };
    Scripted::Failure(Vec::new(), error)
}

#[tokio::test]
async fn the_next_model_answers_when_the_first_one_does_not() {
    let house = House::new([]).await;
    let busy = vec![again(Kind::Overloaded)];
    let (models, lineup) = lineup([busy, vec![says("Done.")], vec![]]);
    let outcome = run_with(&house, &plain(), lineup).await;
    assert_eq!(
        (outcome.state, outcome.model.as_deref()),
        (RunState::Succeeded, Some("scripted-1"))
    );
    assert_eq!(outcome.fell_back.as_deref(), Some("first is too busy."));
    let asked: Vec<usize> = models.iter().map(|model| model.requests().len()).collect();
    assert_eq!(asked, [1, 1, 0], "an outage is not retried before the fallback");
    assert_eq!(models[1].requests()[0].model, "second-1");
}

#[tokio::test]
async fn every_failure_but_a_refusal_lets_the_next_model_answer() {
    for (kind, falls_back) in [
        (Kind::Auth, true),
        (Kind::BadRequest, true),
        (Kind::NotRunning, true),
        (Kind::TooLarge, true),
        (Kind::Refused, false),
    ] {
        let house = House::new([]).await;
        let (models, lineup) = lineup([vec![fails(kind, "no")], vec![says("Done.")]]);
        let outcome = run_with(&house, &plain(), lineup).await;
        assert_eq!(outcome.state == RunState::Succeeded, falls_back, "{kind:?}");
        assert_eq!(models[1].requests().len(), usize::from(falls_back), "{kind:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_and_that_nobody_reads_is_the_next_model_s() {
    let house = House::new([]).await;
    let broken = || {
        let error = ProviderError {
            retry_after: Some(Duration::ZERO),
            ..ProviderError::new(Kind::Truncated, "It broke off.")
        };
        Scripted::Failure(vec![Delta::Text("The".into())], error)
    };
    let (_, lineup) = lineup([vec![broken(), broken(), broken()], vec![says("Done.")]]);
    let outcome = run_with(&house, &plain(), lineup).await;
    assert_eq!((outcome.state, outcome.summary.as_deref()), (RunState::Succeeded, Some("Done.")));
    assert_eq!(outcome.fell_back.as_deref(), Some("It broke off."));
}

#[tokio::test]
async fn a_run_stays_with_the_model_that_answered() {
    let house = House::new([]).await;
    let again = calls([("c", "echo", json!({"text": "a"}))]);
    let first = vec![fails(Kind::Auth, "no key"), says("Too late.")];
    let (models, lineup) = lineup([first, vec![again, says("Done.")]]);
    let outcome = run_with(&house, &plain(), lineup).await;
    assert_eq!(outcome.summary.as_deref(), Some("Done."));
    let asked: Vec<usize> = models.iter().map(|model| model.requests().len()).collect();
    assert_eq!(asked, [1, 2]);
    let steps = house
        .steps(
            &house.store.run(&rouse_core::RunId::new("run-0")).await.expect("read").expect("a run"),
        )
        .await;
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["first-1", "Another model", "second-1", "echo", "second-1"]);
    assert_eq!(
        steps[1].output,
        Some(json!("second-1 (second) is asked instead of first-1 (first): no key"))
    );
}

#[tokio::test]
async fn when_nobody_answers_the_run_says_why_of_each() {
    for (kinds, state, may_pass) in [
        ([Kind::Auth, Kind::BadRequest], RunState::Failed, false),
        ([Kind::NotRunning, Kind::Auth], RunState::Failed, false),
        ([Kind::NotRunning, Kind::NotRunning], RunState::Skipped, true),
    ] {
        let house = House::new([]).await;
        let (_, lineup) = lineup([vec![fails(kinds[0], "One.")], vec![fails(kinds[1], "Two.")]]);
        let outcome = run_with(&house, &plain(), lineup).await;
        assert_eq!((outcome.state, outcome.may_pass), (state, may_pass), "{kinds:?}");
        let words = outcome.error.or(outcome.reason);
        assert_eq!(words.as_deref(), Some("No model answered. One; Two."), "{kinds:?}");
    }
}

#[tokio::test]
async fn a_model_without_a_price_is_passed_over_where_the_budget_is_in_dollars() {
    let house = House::new([]).await;
    let (models, _) = lineup([vec![says("No.")], vec![says("Done.")]]);
    let named = |at: usize, model: &str| ChosenModel {
        provider: Arc::clone(&models[at]) as _,
        model: model.to_owned(),
    };
    let lineup = Lineup::of([named(0, "nobody-s"), named(1, "gpt-5")]);
    let job = agent_job(json!({"message": "x"}), json!({"budget": {"usdPerDay": 1}}));
    let outcome = run_with(&house, &job, lineup).await;
    assert_eq!((outcome.state, models[0].requests().len()), (RunState::Succeeded, 0));
    let why = outcome.fell_back.expect("it says so");
    assert!(why.contains("the price of nobody-s is not known"), "{why}");
}

#[tokio::test]
async fn a_local_model_that_does_not_run_skips_the_run_and_fails_nothing() {
    let house = House::new([]).await;
    let (models, lineup) = lineup([vec![fails(Kind::NotRunning, "ollama could not be reached.")]]);
    let outcome = run_with(&house, &plain(), lineup).await;
    assert_eq!(
        (outcome.state, outcome.reason.as_deref()),
        (RunState::Skipped, Some("ollama could not be reached."))
    );
    assert_eq!(outcome.waits_for, Some(WaitsFor::Model));
    assert_eq!(models[0].requests().len(), 1, "the scheduler waits, not the run");
    let absent = Lineup::absent("Ollama is not running on this computer.");
    let outcome = run_with(&house, &plain(), absent).await;
    assert_eq!(outcome.state, RunState::Skipped);
    assert!(outcome.reason.is_some_and(|reason| reason.contains("Ollama is not running")));
}

#[tokio::test]
async fn one_that_goes_away_in_the_middle_of_the_work_fails_the_run() {
    let house = House::new([]).await;
    let script =
        vec![calls([("c", "echo", json!({"text": "a"}))]), fails(Kind::NotRunning, "gone")];
    let (_, lineup) = lineup([script]);
    let outcome = run_with(&house, &plain(), lineup).await;
    assert_eq!((outcome.state, outcome.may_pass), (RunState::Failed, true));
    assert_eq!(outcome.error.as_deref(), Some("gone"));
}

#[tokio::test]
async fn a_heartbeat_without_its_local_model_leaves_what_waits() {
    let house = House::new([]).await;
    house.store.queue_system_event("Rain.", "test", &[], NOW).await.expect("queued");
    let (_, lineup) = lineup([vec![fails(Kind::NotRunning, "away"), says("Seen.")]]);
    for (state, waiting) in [(RunState::Skipped, 1), (RunState::Succeeded, 0)] {
        let run = house.run_of(None).await;
        let driver = house.driver();
        let outcome = driver.run_main_turn(&run, lineup.clone(), None, &house.cancel).await;
        assert_eq!(outcome.state, state);
        let left = house.store.pending_system_events(1_000).await.expect("read");
        assert_eq!(left.len(), waiting);
    }
    let transcript = format!("{:?}", house.transcript(&SessionKey::main()).await);
    assert!(transcript.contains("Seen."), "{transcript}");
}
