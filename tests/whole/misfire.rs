//! Slots that passed while nothing could fire.

use std::path::Path;

use rouse_core::time::Clock as _;
use serde_json::json;

use crate::house::{DAY, HOUR, House, MINUTE, NOON, Plan, echo};

/// The house in `folder`, ended and begun anew so many milliseconds later.
async fn off_for(ms: u64, house: House, folder: &Path) -> House {
    let clock = house.clock.clone();
    house.host.stop().await;
    clock.advance(ms);
    Plan::new(folder).clock(&clock).build().await
}

#[tokio::test]
async fn one_late_run_stands_for_all_slots_that_passed() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "cron", "expr": "0 13 * * *", "tz": "UTC" }))).await;
    let house = off_for(3 * DAY, house, folder.path()).await;
    let runs = house.ended(&id, 1).await;
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0]["trigger"], &runs[0]["standsFor"]), (&json!("catchUp"), &json!(3)));
    assert_eq!(runs[0]["lateByMs"], json!(23 * HOUR));
    assert_eq!(
        house.job(&id).await["state"]["nextRunAtMs"],
        json!(NOON + 3 * 86_400_000 + 3_600_000)
    );
    house.host.stop().await;
}

/// It is read from the store: half a million slots have left one row there, and fired one run.
#[tokio::test]
async fn a_year_off_is_one_row_and_one_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "cron", "expr": "* * * * *", "tz": "UTC" }))).await;
    let house = off_for(365 * DAY, house, folder.path()).await;
    let runs = house.ended(&id, 1).await;
    let [run] = runs.as_slice() else { panic!("one row: {runs:#?}") };
    assert_eq!((&run["trigger"], &run["state"]), (&json!("catchUp"), &json!("succeeded")));
    assert_eq!((&run["standsFor"], &run["attempt"]), (&json!(365 * 24 * 60), &json!(1)));
    assert_eq!(run["slotAtMs"], json!(house.clock.now().0));
    let next = house.job(&id).await["state"]["nextRunAtMs"].clone();
    assert_eq!(next, json!(house.clock.now().0 + 60_000));
    house.host.stop().await;
}

#[tokio::test]
async fn skip_records_what_was_missed() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let mut job = echo(&json!({ "kind": "every", "everyMs": HOUR }));
    job["policies"] = json!({ "misfire": { "mode": "skip" } });
    let id = house.add(job).await;
    let house = off_for(5 * HOUR + 10 * MINUTE, house, folder.path()).await;
    let runs = house.ended(&id, 1).await;
    assert_eq!(
        (runs.len(), &runs[0]["state"], &runs[0]["standsFor"]),
        (1, &json!("missed"), &json!(5))
    );
    assert!(runs[0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    house.host.stop().await;
}

#[tokio::test]
async fn a_restart_repeats_nothing_and_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "every", "everyMs": HOUR }))).await;
    let clock = house.clock.clone();
    clock.advance(HOUR);
    house.ended(&id, 1).await;
    house.host.stop().await;
    let house = Plan::new(folder.path()).clock(&clock).build().await;
    assert_eq!(house.runs(&id).await.len(), 1, "the slot has had its run");
    clock.advance(HOUR);
    let runs = house.ended(&id, 2).await;
    assert_eq!(runs[0]["slotAtMs"], json!(NOON + 2 * 3_600_000));
    house.host.stop().await;
}

#[tokio::test]
async fn a_step_of_the_clock_back_repeats_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "cron", "expr": "*/10 * * * *", "tz": "UTC" }))).await;
    house.clock.advance(10 * MINUTE);
    house.ended(&id, 1).await;
    house.clock.set(rouse_core::UnixMs(NOON + 300_000));
    house.call("cron.status", json!({})).await;
    house.clock.advance(5 * MINUTE);
    house.call("cron.status", json!({})).await;
    assert_eq!(house.runs(&id).await.len(), 1, "12:10 has had its run");
    house.clock.advance(10 * MINUTE);
    let slots: Vec<_> =
        house.ended(&id, 2).await.iter().map(|run| run["slotAtMs"].clone()).collect();
    assert_eq!(slots, [json!(NOON + 1_200_000), json!(NOON + 600_000)]);
    house.host.stop().await;
}
