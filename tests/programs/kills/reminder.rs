//! Kills around a reminder that wakes the main session: the event reaches exactly one turn.
//!
//! The event and the wake are stored with the end of the job run. The turn removes the event together with the answer.
//! Pitfall: an event that stays queued without a turn.

use rouse_gateway::Client;
use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_tests::is_finished;
use serde_json::{Value, json};

use super::tracer::{KillPoint, TracedExit};
use super::{TracedEngine, assert_coverage, call_if_alive, kill_points, repeat_until_killed};
use crate::engine::TestHome;

const LINE: &str = "The kettle boils";

fn model() -> FakeModel {
    FakeModel::start(|_| Reply::events(sse::chat_says("Fine.")))
}

/// The state of the reminder. None if the engine is dead.
#[derive(Debug, PartialEq, Eq)]
struct ReminderState {
    /// Successful runs of the job.
    fired: usize,
    /// Answered turns.
    turns: usize,
    /// Queued events.
    waiting: u64,
    /// Whether no run is open.
    is_idle: bool,
}

impl ReminderState {
    async fn read(client: &Client) -> Option<Self> {
        let runs = call_if_alive(client, "runs.list", json!({ "limit": 50 })).await?;
        let runs = runs["runs"].as_array().expect("runs").clone();
        // A retry of an interrupted run is another run of the job.
        let worked = |key: &str, value: &str| {
            let is_it = |run: &&Value| run[key] == value && run["state"] == "succeeded";
            runs.iter().filter(is_it).count()
        };
        let status = call_if_alive(client, "heartbeat.status", json!({})).await?;
        Some(Self {
            fired: worked("jobId", "tea"),
            turns: worked("trigger", "heartbeat"),
            waiting: status["queuedEvents"].as_u64().expect("a number"),
            is_idle: runs.iter().all(is_finished),
        })
    }

    fn is_settled(&self) -> bool {
        self.is_idle && self.waiting == 0 && self.turns == self.fired
    }
}

/// Fires the reminder and waits for the turn. Returns whether the run was acknowledged.
async fn play_scenario(traced: &TracedEngine) -> bool {
    let Some((client, _)) = &traced.connection else { return false };
    let payload = json!({ "kind": "systemEvent", "text": LINE });
    let job = json!({ "id": "tea", "name": "Tea", "schedule": { "kind": "manual" }, "payload": payload, "wakeMode": "now" });
    call_if_alive(client, "cron.add", job).await;
    let fire = json!({ "id": "tea", "mode": "force" });
    if call_if_alive(client, "cron.run", fire).await.is_none() {
        return false;
    }
    let Ok(mut events) = client.events(Some(0)).await else { return true };
    while events.next().await.is_some() {
        if ReminderState::read(client)
            .await
            .is_none_or(|found| found.fired > 0 && found.is_settled())
        {
            break;
        }
    }
    true
}

/// Verifies the life after the kill. Returns whether the event was still pending.
async fn verify_recovery(home: &TestHome, is_acknowledged: bool, context: &str) -> bool {
    let engine = home.serve_plain();
    let before = ReminderState::read(&engine.client).await.expect("an engine");
    let found = engine
        .wait_until(async |engine| {
            ReminderState::read(&engine.client).await.filter(|found| found.is_settled())
        })
        .await;
    assert!(!is_acknowledged || found.fired == 1, "{context}: {found:#?}");
    let transcript = engine.call("sessions.get", json!({ "key": "main" })).await;
    let messages = transcript["messages"].as_array().expect("messages");
    let delivered = messages.iter().filter(|message| message.to_string().contains(LINE)).count();
    assert_eq!(delivered, found.fired, "{context}: {transcript:#}");
    assert!(engine.stop().success(), "{context}");
    found.fired > 0 && before != found
}

#[tokio::test]
async fn killed_reminder_reaches_exactly_one_turn() {
    let model = model();
    let whole_home = TestHome::with_model(&model);
    let traced = TracedEngine::start(&whole_home, KillPoint::None);
    let is_acknowledged = play_scenario(&traced).await;
    let TracedExit { is_killed, calls: all } = traced.stop();
    assert!(!is_killed && is_acknowledged);
    assert!(
        !verify_recovery(&whole_home, is_acknowledged, "not killed").await,
        "nothing was left to do"
    );

    let (mut kills, mut calls, mut left_over) = (0, 0, 0);
    for at in kill_points(all) {
        let killed = repeat_until_killed(async || {
            let home = TestHome::with_model(&model);
            let traced = TracedEngine::start(&home, KillPoint::Call(at));
            let is_acknowledged = play_scenario(&traced).await;
            let is_killed = traced.stop().is_killed;
            let context = format!("killed before call {at} of {all}");
            left_over += u32::from(verify_recovery(&home, is_acknowledged, &context).await);
            is_killed
        });
        (kills, calls) = (kills + u32::from(killed.await), calls + 1);
    }
    println!("{kills} kills of a reminder in {all} calls, {left_over} with a queued event");
    assert_coverage(kills, calls);
}
