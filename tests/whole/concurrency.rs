//! Lanes, the cap, and the order of events.

use rouse_testkit::scripted_model::Scripted;
use serde_json::{Value, json};

use crate::house::{HOUR, NOON, Plan, ask, echo};

#[tokio::test]
async fn the_cap_is_shared_by_all_lanes() {
    let folder = tempfile::tempdir().expect("a folder");
    let house =
        Plan::new(folder.path()).model([Scripted::Silence, Scripted::Silence]).build().await;
    for _ in 0..3 {
        let id = house.add(ask("Think for ever")).await;
        house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    }
    house.model.asked(2).await;
    let status = house.call("cron.status", json!({})).await;
    assert_eq!((&status["running"], &status["queued"]), (&json!(2), &json!(1)));
    house.host.stop().await;
}

#[tokio::test]
async fn a_thousand_jobs_of_one_instant_all_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let jobs: Vec<Value> = (0..1_000)
        .map(|n| {
            let mut job = echo(&json!({ "kind": "at", "atMs": NOON + 3_600_000 }));
            job["name"] = json!(format!("Burst {n}"));
            job["payload"]["notifyWhen"] = json!("failure");
            job
        })
        .collect();
    house.call("cron.import", json!({ "text": json!(jobs).to_string(), "enable": true })).await;
    let mut events = house.events();
    house.clock.advance(HOUR);
    let mut finished = 0;
    while finished < 1_000 {
        let event = events.next().await.expect("the host goes on");
        finished += usize::from(event.data["action"] == "finished");
    }
    let done =
        house.call("runs.list", json!({ "states": ["succeeded"], "limit": 1 })).await["total"]
            .clone();
    assert_eq!(done, json!(1_000));
    house.host.stop().await;
}

#[tokio::test]
async fn events_are_numbered_without_gaps_and_resume() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "manual" }))).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 1).await;
    let newest = house.call("system.status", json!({})).await["seq"].as_i64().expect("a number");
    let mut all = house.events();
    for expected in 1..=newest {
        assert_eq!(all.next().await.map(|event| event.seq), Some(expected));
    }
    let mut later = house.host.gateway().events(newest - 2);
    assert_eq!(later.next().await.map(|event| event.seq), Some(newest - 1));
    let mut stranger = house.host.gateway().events(newest + 50);
    let reset = stranger.next().await.expect("an event");
    assert_eq!(format!("{:?}", reset.kind), "Reset");
    house.host.stop().await;
}

#[tokio::test]
async fn one_owner_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let ui = crate::house::no_ui();
    let home = rouse_host::Home::at(folder.path());
    let second = rouse_host::HostOptions::headless(
        home,
        rouse_gateway::wire::EngineMode::Serve,
        Some(0),
        ui,
    );
    let refused = rouse_host::Host::start(second).await.err().expect("refused");
    assert!(
        matches!(refused, rouse_host::HostError::Home(rouse_host::HomeError::Owned(_))),
        "{refused}"
    );
    house.host.stop().await;
}
