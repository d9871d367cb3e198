//! The same for a reminder that wakes the main session: its line reaches one turn, whenever the engine dies.
//!
//! The line is stored with the end of the job's run, and so is that a turn was asked for; the turn takes it away with its
//! answer. One could get it wrong by a line that is there and that nobody comes for.

use rouse_gateway::Client;
use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use serde_json::{Value, json};

use super::tracer::{Before, Life};
use super::{Doomed, ask, assert_shown, to_kill_before, until_killed};
use crate::asks::home_with;
use crate::engine::{Home, is_over};

const LINE: &str = "The kettle boils";

fn model() -> FakeModel {
    FakeModel::start(|_| Reply::events(sse::chat_says("Fine.")))
}

/// What there is of the reminder; none when nobody is there.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// Runs of the job that have told their line.
    fired: usize,
    /// Turns that were answered.
    turns: usize,
    /// Lines that wait.
    waiting: u64,
    /// Whether nothing is at work.
    rests: bool,
}

impl Found {
    async fn look(client: &Client) -> Option<Self> {
        let runs = ask(client, "runs.list", json!({ "limit": 50 })).await?;
        let runs = runs["runs"].as_array().expect("runs").clone();
        // A run that was cut off is made up for by another one of its job.
        let worked = |key: &str, value: &str| {
            let is_it = |run: &&Value| run[key] == value && run["state"] == "succeeded";
            runs.iter().filter(is_it).count()
        };
        let status = ask(client, "heartbeat.status", json!({})).await?;
        Some(Self {
            fired: worked("jobId", "tea"),
            turns: worked("trigger", "heartbeat"),
            waiting: status["queuedEvents"].as_u64().expect("a number"),
            rests: runs.iter().all(is_over),
        })
    }

    fn is_whole(&self) -> bool {
        self.rests && self.waiting == 0 && self.turns == self.fired
    }
}

/// Fires the reminder and waits for its turn; whether the run was promised.
async fn scenario(doomed: &Doomed) -> bool {
    let Some((client, _)) = &doomed.door else { return false };
    let payload = json!({ "kind": "systemEvent", "text": LINE });
    let job = json!({ "id": "tea", "name": "Tea", "schedule": { "kind": "manual" }, "payload": payload, "wakeMode": "now" });
    ask(client, "cron.add", job).await;
    let fire = json!({ "id": "tea", "mode": "force" });
    if ask(client, "cron.run", fire).await.is_none() {
        return false;
    }
    let Ok(mut events) = client.events(Some(0)).await else { return true };
    while events.next().await.is_some() {
        if Found::look(client).await.is_none_or(|found| found.fired > 0 && found.is_whole()) {
            break;
        }
    }
    true
}

/// What a life after the kill makes of it. Answers whether the line was left to it.
async fn judge(home: &Home, is_promised: bool, place: &str) -> bool {
    let engine = home.serve_as_it_is();
    let left = Found::look(&engine.client).await.expect("an engine");
    let found = engine
        .until(async |engine| Found::look(&engine.client).await.filter(|found| found.is_whole()))
        .await;
    assert!(!is_promised || found.fired == 1, "{place}: it was promised: {found:#?}");
    let said = engine.call("sessions.get", json!({ "key": "main" })).await;
    let messages = said["messages"].as_array().expect("messages");
    let told = messages.iter().filter(|message| message.to_string().contains(LINE)).count();
    assert_eq!(told, found.fired, "{place}: {said:#}");
    assert!(engine.stop().success(), "{place}");
    found.fired > 0 && left != found
}

#[tokio::test]
async fn a_reminder_that_is_killed_anywhere_reaches_one_turn() {
    let model = model();
    let whole = home_with(&model);
    let doomed = Doomed::start(&whole, Before::None);
    let is_promised = scenario(&doomed).await;
    let Life { is_killed, calls: all } = doomed.stop();
    assert!(!is_killed && is_promised);
    assert!(!judge(&whole, is_promised, "not killed").await, "nothing was left to do");

    let (mut kills, mut calls, mut left) = (0, 0, 0);
    for at in to_kill_before(all) {
        let killed = until_killed(async || {
            let home = home_with(&model);
            let doomed = Doomed::start(&home, Before::Call(at));
            let is_promised = scenario(&doomed).await;
            let is_killed = doomed.stop().is_killed;
            let place = format!("killed before call {at} of {all}");
            left += u32::from(judge(&home, is_promised, &place).await);
            is_killed
        });
        (kills, calls) = (kills + u32::from(killed.await), calls + 1);
    }
    println!("{kills} kills of a reminder in {all} calls, {left} of them with a line on its way");
    assert_shown(kills, calls);
}
