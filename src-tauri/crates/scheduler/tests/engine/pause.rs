//! Pause all, and the kill switch.

use rouse_core::event::EventKind;
use rouse_core::{RunState, RunTrigger};
use rouse_scheduler::{JobsPause, ManualRunMode, SchedulerConfig};
use serde_json::{Value, json};

use crate::stage::{MINUTE, SECOND, START, Stage, config, every};

async fn pause_event(stage: &Stage) -> Value {
    stage.events.next_where(|event| event.kind == EventKind::Config).await.data["pause"].clone()
}

#[tokio::test]
async fn paused_slots_are_recorded_as_skipped() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.handle.pause(None).await.expect("paused");
    assert_eq!(pause_event(&stage).await, json!({ "untilMs": null }));
    stage.pass(MINUTE).await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!(
        (runs[0].state, runs[0].reason.as_deref()),
        (RunState::Skipped, Some("Everything was paused"))
    );
    let status = stage.handle.status().await.expect("a status");
    assert_eq!(
        (status.firing, status.pause),
        (true, Some(JobsPause { since: START, until: None, set_at: START }))
    );

    stage.handle.resume().await.expect("resumed");
    assert_eq!(pause_event(&stage).await, Value::Null);
    stage.clock.advance(60_000);
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(2 * MINUTE)));
}

#[tokio::test]
async fn pause_ends_by_itself_with_an_event() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({}))).await;
    let until = START.plus_ms(90 * SECOND);
    stage.handle.pause(Some(until)).await.expect("paused");
    assert_eq!(pause_event(&stage).await, json!({ "untilMs": until.0 }));
    let next = async |stage: &Stage| stage.handle.status().await.expect("a status").next;
    assert_eq!(next(&stage).await, None, "the slot of the first minute will be left out");
    stage.pass(89 * SECOND).await;
    assert!(stage.handle.status().await.expect("a status").pause.is_some());
    assert_eq!(next(&stage).await.map(|next| next.at), Some(START.plus_ms(2 * MINUTE)));
    stage.clock.advance(1_000);
    assert_eq!(pause_event(&stage).await, Value::Null);
    assert_eq!(stage.handle.status().await.expect("a status").pause, None);
    stage.clock.advance(30_000);
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(2 * MINUTE)));
}

#[tokio::test]
async fn pause_survives_a_restart() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.handle.pause(None).await.expect("paused");
    let stage = stage.killed_for(10 * MINUTE).await;
    stage.settle().await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!((runs.len(), runs[0].state, runs[0].slot_count), (1, RunState::Skipped, 10));
}

#[tokio::test]
async fn slots_after_the_end_of_a_pause_fire() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.handle.pause(Some(START.plus_ms(3 * MINUTE + 1))).await.expect("paused");
    let stage = stage.killed_for(5 * MINUTE).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.slot_at, begun.run.slot_count), (Some(START.plus_ms(5 * MINUTE)), 2));
    let paused = &stage.runs_of(&job.id).await[0];
    assert_eq!((paused.state, paused.slot_count), (RunState::Skipped, 3));
    assert_eq!(stage.handle.status().await.expect("a status").pause, None);
}

#[tokio::test]
async fn slot_at_the_end_of_a_pause_fires() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    let until = START.plus_ms(3 * MINUTE);
    stage.handle.pause(Some(until)).await.expect("paused");
    stage.pass(2 * MINUTE).await;
    let next = stage.handle.status().await.expect("a status").next;
    assert_eq!(next.map(|next| next.at), Some(until), "the next slot is announced");
    stage.pass(MINUTE).await;
    assert_eq!(stage.runs_of(&job.id).await.pop().and_then(|run| run.slot_at), Some(until));
    assert_eq!(stage.states_of(&job).await, [RunState::Skipped, RunState::Running]);
}

#[tokio::test]
async fn pause_skips_queued_runs_only() {
    let stage = Stage::with_permits(1).await;
    let first = stage.add(every(MINUTE, json!({ "id": "a" }))).await;
    let second = stage.add(every(MINUTE, json!({ "id": "b" }))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    stage.handle.pause(None).await.expect("paused");
    assert_eq!(stage.load().await, (1, 0));
    assert!(!begun.cancel.is_cancelled());
    let mut states = [stage.states_of(&first).await, stage.states_of(&second).await].concat();
    states.sort_by_key(|state| state.name());
    assert_eq!(states, [RunState::Running, RunState::Skipped]);
}

#[tokio::test]
async fn manual_run_starts_in_a_pause() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.handle.pause(None).await.expect("paused");
    stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken");
    assert_eq!(stage.begun.next().await.run.trigger, RunTrigger::Manual);
}

#[tokio::test]
async fn firing_off_skips_with_its_reason() {
    let off = SchedulerConfig {
        firing: false,
        off_reason: "Switched off by ROUSE_SKIP_CRON".into(),
        ..config()
    };
    let stage = Stage::with(off, false).await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(MINUTE).await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!(runs[0].state, RunState::Skipped);
    assert_eq!(runs[0].reason.as_deref(), Some("Switched off by ROUSE_SKIP_CRON"));
    let status = stage.handle.status().await.expect("a status");
    assert_eq!(
        (status.firing, status.off_reason.as_deref()),
        (false, Some("Switched off by ROUSE_SKIP_CRON"))
    );

    stage.handle.set_config(config()).await.expect("set");
    stage.clock.advance(60_000);
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(2 * MINUTE)));
}

#[tokio::test]
async fn firing_off_recovers_no_run() {
    let mut stage = Stage::with_permits(1).await;
    let at_work = stage.add(every(MINUTE, json!({ "id": "a" }))).await;
    stage.clock.advance(60_000);
    stage.begun.next().await;
    let waiting =
        stage.add(every(MINUTE, json!({ "id": "b", "policies": { "overlap": "queue" } }))).await;
    stage.clock.advance(60_000);
    stage.settle().await;
    stage.config = SchedulerConfig { firing: false, off_reason: "Off".into(), ..config() };
    let stage = stage.killed_for(SECOND).await;
    assert_eq!(stage.load().await, (0, 0));
    assert_eq!(stage.states_of(&at_work).await[0], RunState::Interrupted);
    assert_eq!(stage.states_of(&waiting).await, [RunState::Skipped]);
}

#[tokio::test]
async fn new_limit_applies_at_once() {
    let stage = Stage::with_permits(1).await;
    for id in ["a", "b", "c"] {
        stage.add(every(MINUTE, json!({ "id": id }))).await;
    }
    stage.pass(MINUTE).await;
    assert_eq!(stage.load().await, (1, 2));
    stage
        .handle
        .set_config(SchedulerConfig { max_concurrent_runs: 3, ..config() })
        .await
        .expect("set");
    assert_eq!(stage.load().await, (3, 0));
}

#[tokio::test]
async fn unreadable_pause_still_pauses() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    let now = stage.now();
    stage.store.put_setting("pause", &json!("garbage"), None, now).await.expect("a setting");
    let stage = stage.killed_for(SECOND).await;
    let status = stage.handle.status().await.expect("a status");
    assert_eq!(status.pause.map(|pause| pause.until), Some(None));
    stage.pass(MINUTE).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Skipped]);
    stage.handle.resume().await.expect("resumed");
    assert_eq!(stage.handle.status().await.expect("a status").pause, None);
}

#[tokio::test]
async fn queued_runs_of_many_lanes_end_in_few_commits() {
    let stage = Stage::with_permits(1).await;
    for number in 0..40 {
        stage.add(every(MINUTE, json!({ "id": number.to_string() }))).await;
    }
    stage.clock.advance(60_000);
    let going = stage.begun.next().await;
    assert_eq!(stage.load().await, (1, 39));
    let before = stage.store.commit_count();
    stage.handle.pause(None).await.expect("paused");
    assert_eq!(stage.load().await, (1, 0));
    let commits = stage.store.commit_count() - before;
    assert!(commits <= 3, "two commits, for the pause and for the ends; found {commits}");
    going.succeed();
}
