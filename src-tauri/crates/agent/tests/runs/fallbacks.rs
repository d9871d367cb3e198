//! Fallback models, and runs without a running local model.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{ChosenModel, RunModels};
use rouse_core::job::Job;
use rouse_core::model::{Delta, ProviderError, ProviderErrorKind as Kind};
use rouse_core::run::{Outcome, WaitsFor};
use rouse_core::{RunState, SessionKey};
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, calls, fails, says};
use serde_json::json;

use super::run_fixture::{NOW, RunFixture, agent_job, turn_of};

/// Models with these scripts, in order.
fn scripted_models<const N: usize>(
    scripts: [Vec<Scripted>; N],
) -> (Vec<Arc<ScriptedModel>>, RunModels) {
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
    let run_models = RunModels::of(chosen.collect::<Vec<_>>());
    (models, run_models)
}

fn plain() -> Job {
    agent_job(json!({"message": "x"}), json!({}))
}

async fn run_with(fixture: &RunFixture, job: &Job, models: RunModels) -> Outcome {
    let run = fixture.run_of(Some(job)).await;
    fixture.driver().run_turn(&run, job, turn_of(job), models, &fixture.cancel).await
}

fn again(kind: Kind) -> Scripted {
    let error = ProviderError {
        retry_after: Some(Duration::ZERO),
        ..ProviderError::new(kind, "first is too busy.")
    };
    Scripted::Failure(Vec::new(), error)
}

#[tokio::test]
async fn fallback_answers_after_first_model_fails() {
    let fixture = RunFixture::new([]).await;
    let busy = vec![again(Kind::Overloaded)];
    let (models, run_models) = scripted_models([busy, vec![says("Done.")], vec![]]);
    let outcome = run_with(&fixture, &plain(), run_models).await;
    assert_eq!(
        (outcome.state, outcome.model.as_deref()),
        (RunState::Succeeded, Some("scripted-1"))
    );
    assert_eq!(outcome.fallback_reason.as_deref(), Some("first is too busy."));
    let counts: Vec<usize> = models.iter().map(|model| model.requests().len()).collect();
    assert_eq!(counts, [1, 1, 0], "an outage is not retried before the fallback");
    assert_eq!(models[1].requests()[0].model, "second-1");
}

#[tokio::test]
async fn every_error_but_a_refusal_falls_back() {
    for (kind, falls_back) in [
        (Kind::Auth, true),
        (Kind::BadRequest, true),
        (Kind::NotRunning, true),
        (Kind::TooLarge, true),
        (Kind::Refused, false),
    ] {
        let fixture = RunFixture::new([]).await;
        let (models, run_models) = scripted_models([vec![fails(kind, "no")], vec![says("Done.")]]);
        let outcome = run_with(&fixture, &plain(), run_models).await;
        assert_eq!(outcome.state == RunState::Succeeded, falls_back, "{kind:?}");
        assert_eq!(models[1].requests().len(), usize::from(falls_back), "{kind:?}");
    }
}

#[tokio::test]
async fn unread_truncated_answer_falls_back() {
    let fixture = RunFixture::new([]).await;
    let broken = || {
        let error = ProviderError {
            retry_after: Some(Duration::ZERO),
            ..ProviderError::new(Kind::Truncated, "It broke off.")
        };
        Scripted::Failure(vec![Delta::Text("The".into())], error)
    };
    let (_, run_models) =
        scripted_models([vec![broken(), broken(), broken()], vec![says("Done.")]]);
    let outcome = run_with(&fixture, &plain(), run_models).await;
    assert_eq!((outcome.state, outcome.summary.as_deref()), (RunState::Succeeded, Some("Done.")));
    assert_eq!(outcome.fallback_reason.as_deref(), Some("It broke off."));
}

#[tokio::test]
async fn run_stays_with_its_fallback() {
    let fixture = RunFixture::new([]).await;
    let again = calls([("c", "echo", json!({"text": "a"}))]);
    let first = vec![fails(Kind::Auth, "no key"), says("Too late.")];
    let (models, run_models) = scripted_models([first, vec![again, says("Done.")]]);
    let outcome = run_with(&fixture, &plain(), run_models).await;
    assert_eq!(outcome.summary.as_deref(), Some("Done."));
    let counts: Vec<usize> = models.iter().map(|model| model.requests().len()).collect();
    assert_eq!(counts, [1, 2]);
    let steps = fixture
        .steps(
            &fixture
                .store
                .run(&rouse_core::RunId::new("run-0"))
                .await
                .expect("read")
                .expect("a run"),
        )
        .await;
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["first-1", "Another model", "second-1", "echo", "second-1"]);
    assert_eq!(steps[1].output, Some(json!("second-1 (second) replaces first-1 (first): no key")));
}

#[tokio::test]
async fn error_names_every_failed_model() {
    for (kinds, state, is_transient) in [
        ([Kind::Auth, Kind::BadRequest], RunState::Failed, false),
        ([Kind::NotRunning, Kind::Auth], RunState::Failed, false),
        ([Kind::NotRunning, Kind::NotRunning], RunState::Skipped, true),
    ] {
        let fixture = RunFixture::new([]).await;
        let (_, run_models) =
            scripted_models([vec![fails(kinds[0], "One.")], vec![fails(kinds[1], "Two.")]]);
        let outcome = run_with(&fixture, &plain(), run_models).await;
        assert_eq!((outcome.state, outcome.is_transient), (state, is_transient), "{kinds:?}");
        let words = outcome.error.or(outcome.reason);
        assert_eq!(words.as_deref(), Some("No model answered. One; Two."), "{kinds:?}");
    }
}

#[tokio::test]
async fn unpriced_model_is_skipped_under_dollar_budget() {
    let fixture = RunFixture::new([]).await;
    let (models, _) = scripted_models([vec![says("No.")], vec![says("Done.")]]);
    let named = |at: usize, model: &str| ChosenModel {
        provider: Arc::clone(&models[at]) as _,
        model: model.to_owned(),
    };
    let run_models = RunModels::of([named(0, "unpriced"), named(1, "gpt-5")]);
    let job = agent_job(json!({"message": "x"}), json!({"budget": {"usdPerDay": 1}}));
    let outcome = run_with(&fixture, &job, run_models).await;
    assert_eq!((outcome.state, models[0].requests().len()), (RunState::Succeeded, 0));
    let why = outcome.fallback_reason.expect("a reason");
    assert!(why.contains("the price of unpriced is unknown"), "{why}");
}

#[tokio::test]
async fn stopped_local_model_skips_the_run() {
    let fixture = RunFixture::new([]).await;
    let (models, run_models) =
        scripted_models([vec![fails(Kind::NotRunning, "ollama could not be reached.")]]);
    let outcome = run_with(&fixture, &plain(), run_models).await;
    assert_eq!(
        (outcome.state, outcome.reason.as_deref()),
        (RunState::Skipped, Some("ollama could not be reached."))
    );
    assert_eq!(outcome.waits_for, Some(WaitsFor::Model));
    assert_eq!(models[0].requests().len(), 1, "the scheduler waits, not the run");
    let absent = RunModels::not_running("Ollama is not running on this computer.");
    let outcome = run_with(&fixture, &plain(), absent).await;
    assert_eq!(outcome.state, RunState::Skipped);
    assert!(outcome.reason.is_some_and(|reason| reason.contains("Ollama is not running")));
}

#[tokio::test]
async fn local_model_lost_during_run_fails_the_run() {
    let fixture = RunFixture::new([]).await;
    let script =
        vec![calls([("c", "echo", json!({"text": "a"}))]), fails(Kind::NotRunning, "gone")];
    let (_, run_models) = scripted_models([script]);
    let outcome = run_with(&fixture, &plain(), run_models).await;
    assert_eq!((outcome.state, outcome.is_transient), (RunState::Failed, true));
    assert_eq!(outcome.error.as_deref(), Some("gone"));
}

#[tokio::test]
async fn heartbeat_without_local_model_keeps_the_queue() {
    let fixture = RunFixture::new([]).await;
    fixture.store.queue_system_event("Rain.", "test", &[], NOW).await.expect("queued");
    let (_, run_models) = scripted_models([vec![fails(Kind::NotRunning, "away"), says("Seen.")]]);
    for (state, waiting) in [(RunState::Skipped, 1), (RunState::Succeeded, 0)] {
        let run = fixture.run_of(None).await;
        let driver = fixture.driver();
        let outcome = driver.run_heartbeat(&run, run_models.clone(), None, &fixture.cancel).await;
        assert_eq!(outcome.state, state);
        let left = fixture.store.pending_system_events(1_000).await.expect("read");
        assert_eq!(left.len(), waiting);
    }
    let transcript = format!("{:?}", fixture.transcript(&SessionKey::main()).await);
    assert!(transcript.contains("Seen."), "{transcript}");
}
