//! The concurrency limit, bursts, event order and the owner lock.

use rouse_testkit::scripted_model::Scripted;
use rouse_tests::{EngineBuilder, HOUR, NOON, agent_job, echo_job};
use serde_json::{Value, json};

#[tokio::test]
async fn concurrency_limit_is_shared_by_all_lanes() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path())
        .model([Scripted::Silence, Scripted::Silence])
        .build()
        .await;
    for _ in 0..3 {
        let id = engine.add_job(agent_job("Think for ever")).await;
        engine.start_run(&id).await;
    }
    engine.model.asked(2).await;
    let status = engine.call("cron.status", json!({})).await;
    assert_eq!((&status["running"], &status["queued"]), (&json!(2), &json!(1)));
    engine.host.stop().await;
}

#[tokio::test]
async fn thousand_jobs_of_one_instant_all_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let jobs: Vec<Value> = (0..1_000)
        .map(|n| {
            let mut job = echo_job(&json!({ "kind": "at", "atMs": NOON + 3_600_000 }));
            job["name"] = json!(format!("Burst {n}"));
            job["payload"]["notifyWhen"] = json!("failure");
            job
        })
        .collect();
    engine.call("cron.import", json!({ "text": json!(jobs).to_string(), "enable": true })).await;
    let mut events = engine.events();
    engine.clock.advance(HOUR);
    let mut finished = 0;
    while finished < 1_000 {
        let event = events.next().await.expect("the host goes on");
        finished += usize::from(event.data["action"] == "finished");
    }
    let done =
        engine.call("runs.list", json!({ "states": ["succeeded"], "limit": 1 })).await["total"]
            .clone();
    assert_eq!(done, json!(1_000));
    engine.host.stop().await;
}

#[tokio::test]
async fn events_are_numbered_without_gaps_and_resume() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "manual" }))).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    let newest = engine.call("system.status", json!({})).await["seq"].as_i64().expect("a number");
    let mut all = engine.events();
    for expected in 1..=newest {
        assert_eq!(all.next().await.map(|event| event.seq), Some(expected));
    }
    let mut later = engine.host.gateway().events(newest - 2);
    assert_eq!(later.next().await.map(|event| event.seq), Some(newest - 1));
    let mut unknown = engine.host.gateway().events(newest + 50);
    let reset = unknown.next().await.expect("an event");
    assert_eq!(format!("{:?}", reset.kind), "Reset");
    engine.host.stop().await;
}

#[tokio::test]
async fn second_host_on_owned_home_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let refused = EngineBuilder::new(folder.path()).try_build().await.err().expect("refused");
    assert!(
        matches!(refused, rouse_host::HostError::Home(rouse_host::HomeError::Owned(_))),
        "{refused}"
    );
    engine.host.stop().await;
}
