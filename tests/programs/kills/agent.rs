//! The same for an agent's run whose calls may not be made twice.

use std::fs;

use rouse_testkit::dice::{count_or, first_seed, is_long};
use serde_json::{Value, json};

use super::{Doomed, calls};
use crate::asks::{calling, home_with};
use crate::engine::Home;

const LINES: [&str; 3] = ["the first line", "the second line", "the third line"];

fn server() -> rouse_testkit::fake_model::FakeModel {
    let append = |line: &&str| {
        let text = format!("{line}\n");
        ("memory_write", json!({ "path": "memory/log.md", "content": text, "append": true }))
    };
    calling(LINES.iter().map(append).collect())
}

fn job() -> Value {
    json!({
        "id": "agent", "name": "Agent", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Write three lines." },
    })
}

async fn scenario(doomed: &Doomed) -> bool {
    let added = doomed.call("cron.add", job()).await.is_some();
    if doomed.call("cron.run", json!({ "id": "agent", "mode": "force" })).await.is_none() {
        return added;
    }
    if let Some((client, _)) = &doomed.door
        && let Ok(mut events) = client.events(Some(0)).await
    {
        while let Some(event) = events.next().await {
            if event.data["action"] == "finished" {
                break;
            }
        }
    }
    added
}

fn written(home: &Home) -> String {
    fs::read_to_string(home.data().join("workspace/memory/log.md")).unwrap_or_default()
}

/// What a life after the kill makes of it: the run goes on to its end, and no line is there twice.
async fn judge(home: &Home, place: &str) -> Vec<Value> {
    let engine = home.serve_as_it_is();
    let going = json!({ "states": ["queued", "running", "awaitingApproval"], "limit": 1 });
    engine
        .until(async |engine| {
            let going = engine.call("runs.list", going.clone()).await;
            going["runs"].as_array().is_some_and(Vec::is_empty).then_some(())
        })
        .await;
    let runs = engine.runs("agent").await;
    assert!(engine.stop().success(), "{place}");
    let log = written(home);
    for line in LINES {
        assert!(log.matches(line).count() <= 1, "{place}: twice in\n{log}");
    }
    runs
}

#[tokio::test]
async fn an_agent_that_is_killed_anywhere_goes_on_and_does_nothing_twice() {
    let server = server();
    let whole = home_with(&server);
    let mut doomed = Doomed::start(&whole, 0);
    scenario(&doomed).await;
    doomed.stop();
    assert!(!doomed.is_killed());
    let all = calls(&whole);
    assert_eq!(written(&whole).lines().count(), LINES.len(), "{}", written(&whole));

    let stride = if is_long() { 1 } else { all / u32::try_from(count_or(10)).expect("few") };
    let mut at = 1 + u32::try_from(first_seed()).expect("small") * 7 % stride;
    let (mut kills, mut went_on) = (0, 0);
    while at <= all {
        let home = home_with(&server);
        let mut doomed = Doomed::start(&home, at);
        let is_added = scenario(&doomed).await;
        doomed.stop();
        kills += u32::from(doomed.is_killed());
        let place = format!("killed before call {at} of {all}");
        for run in judge(&home, &place).await {
            assert_eq!(run["state"], "succeeded", "{place}: {run:#}");
            went_on += u32::from(run["attempt"].as_u64() > Some(1));
        }
        assert!(is_added || at < all, "{place}");
        at += stride;
    }
    println!("{kills} kills of an agent at work in {all} calls, {went_on} of which went on");
    assert!(went_on > 0, "no kill came while the agent was at work");
}
