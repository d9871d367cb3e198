//! The heartbeat and wakes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rouse_core::Clock as _;
use rouse_core::event::EventKind;
use rouse_core::schedule::DayWindow;
use rouse_core::{Outcome, RunId, RunState, RunTrigger, SessionKey};
use rouse_scheduler::{
    COALESCE, HeartbeatConfig, HeartbeatRequest, HeartbeatSkip, HeartbeatSnapshot, SchedulerConfig,
};
use rouse_store::{JournalNote, OLD_QUEUED_EVENTS_NOTE, QUEUED_EVENTS_NOTE, RunQuery};
use serde_json::json;

use crate::stage::{HOUR, MINUTE, SECOND, START, ScriptedRun, Stage, config, every};

fn heartbeat_on() -> SchedulerConfig {
    let heartbeat = HeartbeatConfig { enabled: true, every_ms: 30 * MINUTE, active_hours: None };
    SchedulerConfig { heartbeat, ..config() }
}

/// From 08:00 to 22:00 only.
fn daytime_heartbeat(every_ms: i64) -> SchedulerConfig {
    let hours = DayWindow::parse("08:00", "22:00", None).expect("hours");
    let heartbeat = HeartbeatConfig { enabled: true, every_ms, active_hours: Some(hours) };
    SchedulerConfig { heartbeat, ..config() }
}

async fn status(stage: &Stage) -> HeartbeatSnapshot {
    stage.handle.status().await.expect("a status").heartbeat
}

pub(crate) async fn heartbeat_runs(stage: &Stage) -> usize {
    let query =
        RunQuery { triggers: vec![RunTrigger::Heartbeat], limit: 100, ..RunQuery::default() };
    stage.store.runs(&query).await.expect("read").runs.len()
}

pub(crate) async fn queue_event(stage: &Stage) {
    stage.store.queue_system_event("Something came up", "wake", &[], START).await.expect("queued");
}

#[tokio::test]
async fn heartbeat_keeps_its_grid_when_there_is_work() {
    let stage = Stage::with(heartbeat_on(), true).await;
    stage.main.has_work.store(true, Ordering::SeqCst);
    assert_eq!(status(&stage).await.next_at, Some(START.plus_ms(30 * MINUTE)));
    stage.clock.advance(1_800_000);
    let turn = stage.begun.next().await;
    assert_eq!(
        (turn.run.trigger, turn.run.job_id.as_ref(), turn.run.slot_at),
        (RunTrigger::Heartbeat, None, None)
    );
    assert_eq!(
        (turn.run.job_name.as_str(), turn.run.session.clone()),
        ("Heartbeat", Some(SessionKey::main()))
    );
    assert_eq!(turn.run.payload, json!({ "kind": "heartbeat", "reason": "interval" }));
    stage.pass(10 * MINUTE).await;
    let id = turn.run.id.clone();
    turn.end(Outcome::of(RunState::NothingToReport));
    assert_eq!(stage.ended(&id).await.state, RunState::NothingToReport);
    assert_eq!(
        status(&stage).await.next_at,
        Some(START.plus_ms(60 * MINUTE)),
        "a long turn does not move the grid"
    );
}

#[tokio::test]
async fn restart_does_not_move_the_grid() {
    let stage = Stage::with(heartbeat_on(), true).await;
    let stage = stage.killed_for(45 * MINUTE).await;
    assert_eq!(status(&stage).await.next_at, Some(START.plus_ms(60 * MINUTE)));
    assert_eq!(heartbeat_runs(&stage).await, 0, "a missed turn is not caught up");
}

#[tokio::test]
async fn clock_years_ahead_does_not_silence_heartbeat() {
    let stage = Stage::with(config(), true).await;
    stage.clock.set(START.plus_ms(4 * 365 * 24 * HOUR));
    stage.handle.set_config(heartbeat_on()).await.expect("set");
    stage.clock.set(START);
    assert_eq!(status(&stage).await.next_at, Some(START.plus_ms(30 * MINUTE)));
}

#[tokio::test]
async fn turn_without_work_is_skipped_with_reason() {
    let stage = Stage::with(heartbeat_on(), true).await;
    stage.pass(30 * MINUTE).await;
    let left_out = status(&stage).await;
    let reason = "Nothing to do: no event is queued and HEARTBEAT.md is empty";
    assert_eq!(left_out.last_skip_reason.as_deref(), Some(reason));
    let skip = HeartbeatSkip { reason: reason.to_owned(), at: START.plus_ms(30 * MINUTE) };
    assert_eq!(left_out.last_skip, Some(skip.clone()));
    assert_eq!(left_out.next_at, Some(START.plus_ms(60 * MINUTE)));
    assert_eq!(heartbeat_runs(&stage).await, 0);
    let event = stage.events.next_where(|event| event.kind == EventKind::Heartbeat).await;
    assert_eq!(event.data, json!({ "skipped": reason }));

    let stage = stage.killed_for(SECOND).await;
    assert_eq!(
        status(&stage).await.last_skip_reason.as_deref(),
        Some(reason),
        "the reason is stored"
    );
    queue_event(&stage).await;
    stage.clock.advance(1_800_000);
    stage.begun.next().await;
    assert_eq!(status(&stage).await.last_skip_reason, None);
    assert_eq!(status(&stage).await.last_skip, Some(skip.clone()), "kept until the next skip");
    let stage = stage.killed_for(SECOND).await;
    let after = status(&stage).await;
    assert_eq!((after.last_skip_reason, after.last_skip), (None, Some(skip)));
}

#[tokio::test]
async fn each_skip_reason_has_its_text() {
    let stage = Stage::with(heartbeat_on(), false).await;
    stage.main.has_work.store(true, Ordering::SeqCst);
    assert_eq!(status(&stage).await.last_skip_reason.as_deref(), Some("No model is set up"));
    assert_eq!(status(&stage).await.next_at, None, "no turn without a model");
    stage.model.send_replace(true);
    stage.settle().await;
    stage.handle.pause(None).await.expect("paused");
    stage.pass(30 * MINUTE).await;
    assert_eq!(status(&stage).await.last_skip_reason.as_deref(), Some("Everything is paused"));
    stage.handle.resume().await.expect("resumed");
    assert_eq!(status(&stage).await.last_skip_reason.as_deref(), Some("Everything was paused"));
    stage.pass(30 * MINUTE).await;
    assert_eq!(heartbeat_runs(&stage).await, 1);
    stage
        .handle
        .set_config(SchedulerConfig {
            heartbeat: HeartbeatConfig { enabled: true, every_ms: MINUTE, active_hours: None },
            ..config()
        })
        .await
        .expect("set");
    stage.pass(MINUTE).await;
    assert_eq!(
        status(&stage).await.last_skip_reason.as_deref(),
        Some("The previous turn was still active")
    );
    assert_eq!(heartbeat_runs(&stage).await, 1);
}

#[tokio::test]
async fn wake_gets_its_turn_without_heartbeat() {
    let stage = Stage::with(config(), true).await;
    assert_eq!(status(&stage).await.next_at, None);
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let turn = stage.begun.next().await;
    assert_eq!(turn.run.payload["reason"], "wake");
}

#[tokio::test]
async fn wakes_without_model_share_one_turn() {
    let stage = Stage::with(config(), false).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    assert!(status(&stage).await.pending.is_some());
    assert_eq!(heartbeat_runs(&stage).await, 0);
    let stage = stage.killed_for(HOUR).await;
    assert!(status(&stage).await.pending.is_some(), "the request survives a restart");
    stage.model.send_replace(true);
    stage.begun.next().await;
    assert!(status(&stage).await.pending.is_none());
    assert_eq!(heartbeat_runs(&stage).await, 1);
    let stage = stage.killed_for(HOUR).await;
    assert_eq!((status(&stage).await.pending, heartbeat_runs(&stage).await), (None, 1));
}

#[tokio::test]
async fn wakes_wait_in_a_pause_with_reason() {
    let stage = Stage::with(config(), true).await;
    stage.handle.pause(Some(stage.clock.now().plus_ms(HOUR))).await.expect("paused");
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.pass(HOUR - MINUTE).await;
    let waits = status(&stage).await.pending.expect("a waiting run");
    let waits = waits.to_string();
    assert_eq!(
        (waits.as_str(), heartbeat_runs(&stage).await),
        ("Waiting: Everything is paused", 0)
    );
    stage.pass(MINUTE).await;
    assert_eq!(stage.begun.next().await.run.payload["reason"], "wake");
    assert_eq!((status(&stage).await.pending, heartbeat_runs(&stage).await), (None, 1));
}

#[tokio::test]
async fn wakes_wait_while_firing_is_off() {
    let off = SchedulerConfig { firing: false, off_reason: "switched off".to_owned(), ..config() };
    let stage = Stage::with(off, true).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.pass(HOUR).await;
    let waits = status(&stage).await.pending.expect("a waiting run");
    assert_eq!(waits.to_string(), "Waiting: switched off");
    stage.handle.set_config(config()).await.expect("set");
    stage.begun.next().await;
    assert_eq!(heartbeat_runs(&stage).await, 1);
}

#[tokio::test]
async fn wakes_during_a_turn_share_the_next_turn() {
    let stage = Stage::with(config(), true).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let first = stage.begun.next().await;
    queue_event(&stage).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    assert!(status(&stage).await.pending.is_some());
    first.succeed();
    stage.begun.next().await;
    assert!(status(&stage).await.pending.is_none());
    assert_eq!(heartbeat_runs(&stage).await, 2);
}

#[tokio::test]
async fn wake_handled_by_the_active_turn_needs_no_turn() {
    let stage = Stage::with(config(), true).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let first = stage.begun.next().await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let id = first.run.id.clone();
    first.succeed();
    stage.ended(&id).await;
    assert!(status(&stage).await.pending.is_none());
    assert_eq!(heartbeat_runs(&stage).await, 1);
}

#[tokio::test]
async fn reminder_with_wake_mode_now_wakes_main() {
    let stage = Stage::with(config(), true).await;
    for (id, wake) in [("later", "next-heartbeat"), ("now", "now")] {
        let payload = json!({ "kind": "systemEvent", "text": "Stretch" });
        stage.add(every(HOUR, json!({ "id": id, "payload": payload, "wakeMode": wake }))).await;
    }
    stage.clock.advance(HOUR.unsigned_abs());
    for _ in 0..2 {
        let begun = stage.begun.next().await;
        queue_event(&stage).await;
        let id = begun.run.id.clone();
        begun.succeed();
        stage.ended(&id).await;
    }
    stage.clock.advance(250);
    let turn = stage.begun.next().await;
    assert_eq!(turn.run.trigger, RunTrigger::Heartbeat);
    assert_eq!(turn.run.payload["reason"], "cron:now");
    assert_eq!(heartbeat_runs(&stage).await, 1);
}

/// A reminder shown to a turn of the main session, drained or not. Returns the reminder's run and the turn.
async fn reminder_shown_to_turn(stage: &Stage, is_drained: bool) -> (RunId, ScriptedRun) {
    let payload = json!({ "kind": "systemEvent", "text": "Stretch" });
    stage.add(every(HOUR, json!({ "payload": payload, "wakeMode": "now" }))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let reminder = stage.begun.next().await;
    let id = reminder.run.id.clone();
    reminder.succeed();
    stage.ended(&id).await;
    stage.clock.advance(250);
    let turn = stage.begun.next().await;
    let turn_id = turn.run.id.clone();
    let lines = stage.store.pending_system_events(9).await.expect("read");
    let ids: Vec<i64> = lines.iter().map(|line| line.id).collect();
    // Older builds store the note under another name.
    let name = if is_drained { QUEUED_EVENTS_NOTE } else { OLD_QUEUED_EVENTS_NOTE };
    let input = json!({ "ids": ids });
    let note = JournalNote { run_id: &turn_id, name, input, output: None, is_error: false };
    stage.store.add_note(note, stage.now()).await.expect("noted");
    if is_drained {
        stage.store.drain_system_events(&turn_id, &ids, stage.now()).await.expect("drained");
    }
    assert_eq!(stage.store.deliveries_of(&id).await.expect("read"), []);
    (id, turn)
}

/// The notifications of a run.
async fn notifications_of(stage: &Stage, id: &RunId) -> Vec<String> {
    let deliveries = stage.store.deliveries_of(id).await.expect("read");
    deliveries.into_iter().map(|delivery| delivery.body).collect()
}

#[tokio::test]
async fn reminder_shown_to_a_silent_turn_is_delivered() {
    let stage = Stage::with(config(), true).await;
    let (id, turn) = reminder_shown_to_turn(&stage, true).await;
    let turn_id = turn.run.id.clone();
    turn.end(Outcome::of(RunState::NothingToReport));
    stage.ended(&turn_id).await;
    assert_eq!(notifications_of(&stage, &id).await, ["Stretch"]);
}

/// Drained with a reply that was never delivered.
#[tokio::test]
async fn reminder_drained_by_interrupted_turn_is_delivered() {
    for is_drained in [true, false] {
        let stage = Stage::with(config(), true).await;
        let (id, turn) = reminder_shown_to_turn(&stage, is_drained).await;
        let turn_id = turn.run.id.clone();
        stage.handle.pause(None).await.expect("paused");
        let stage = stage.killed_for(SECOND).await;
        assert_eq!(stage.run(&turn_id).await.state, RunState::Interrupted);
        let expected = if is_drained { vec!["Stretch"] } else { Vec::new() };
        assert_eq!(notifications_of(&stage, &id).await, expected);
    }
}

#[tokio::test]
async fn interrupted_turn_is_resumed_at_most_twice() {
    let mut stage = Stage::with(config(), true).await;
    queue_event(&stage).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let first = stage.begun.next().await.run;
    for attempt in [2, 3] {
        stage = stage.killed_for(SECOND).await;
        let again = stage.begun.next().await.run;
        assert_eq!((&again.id, again.attempt), (&first.id, attempt));
    }
    // The undrained events get another turn.
    let stage = stage.killed_for(SECOND).await;
    let second = stage.begun.next().await.run;
    assert_eq!(second.payload["reason"], "interrupted");
    assert_eq!(stage.run(&first.id).await.state, RunState::Interrupted);
}

#[tokio::test]
async fn queued_turn_survives_a_restart() {
    let stage = Stage::with(SchedulerConfig { max_concurrent_runs: 1, ..config() }, true).await;
    stage.add(every(MINUTE, json!({ "policies": { "misfire": { "mode": "skip" } } }))).await;
    stage.clock.advance(60_000);
    stage.begun.next().await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    assert_eq!(stage.load().await, (1, 1));
    let stage = stage.killed_for(SECOND).await;
    assert_eq!(stage.begun.next().await.run.trigger, RunTrigger::Heartbeat);
    assert_eq!(heartbeat_runs(&stage).await, 1);
}

#[tokio::test]
async fn cancelled_turn_makes_way_for_the_next() {
    let stage = Stage::with(SchedulerConfig { max_concurrent_runs: 1, ..config() }, true).await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let blocks = stage.begun.next().await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let query = RunQuery { triggers: vec![RunTrigger::Heartbeat], limit: 1, ..RunQuery::default() };
    let waiting = stage.store.runs(&query).await.expect("read").runs.remove(0);
    assert!(stage.handle.cancel(&waiting.id, "Cancelled by you").await.expect("an answer"));
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    blocks.succeed();
    let turn = stage.begun.next().await;
    assert_eq!(turn.run.trigger, RunTrigger::Heartbeat);
    assert_ne!(turn.run.id, waiting.id);
}

#[tokio::test]
async fn coalesced_requests_share_one_turn() {
    assert_eq!(COALESCE.as_millis(), 250);
    let stage = Stage::with(config(), true).await;
    stage.handle.request_heartbeat("first", COALESCE).await;
    stage.clock.advance(250 - 1);
    stage.handle.request_heartbeat("second", COALESCE).await;
    stage.settle().await;
    assert_eq!(heartbeat_runs(&stage).await, 0, "the first request still coalesces");
    stage.clock.advance(1);
    let turn = stage.begun.next().await;
    assert_eq!(turn.run.payload["reason"], "first");
    assert!(status(&stage).await.pending.is_none());
    assert_eq!(heartbeat_runs(&stage).await, 1);
}

#[tokio::test]
async fn shorter_coalescing_time_wins() {
    let stage = Stage::with(config(), true).await;
    assert_eq!(status(&stage).await.last_request, None);
    stage.handle.request_heartbeat("patient", Duration::from_secs(60)).await;
    stage.clock.advance(1_000);
    stage.handle.request_heartbeat("urgent", COALESCE).await;
    let last = HeartbeatRequest { reason: "urgent".to_owned(), at: START.plus_ms(1_000) };
    assert_eq!(status(&stage).await.last_request, Some(last.clone()));
    stage.settle().await;
    assert_eq!(heartbeat_runs(&stage).await, 0);
    stage.clock.advance(250);
    let turn = stage.begun.next().await;
    assert_eq!(turn.run.payload["reason"], "patient", "the turn is that of the first");
    assert_eq!(status(&stage).await.last_request, Some(last), "kept");
    let id = turn.run.id.clone();
    turn.succeed();
    stage.ended(&id).await;
    stage.clock.advance(60_000);
    stage.settle().await;
    assert_eq!(heartbeat_runs(&stage).await, 1, "both requests share the turn");
}

#[tokio::test]
async fn coalescing_request_survives_a_restart() {
    let stage = Stage::with(config(), true).await;
    stage.handle.request_heartbeat("wake", COALESCE).await;
    assert!(status(&stage).await.pending.is_some());
    let stored = stage.store.setting("heartbeat.pending").await.expect("read");
    assert_eq!(stored, Some(json!("wake")), "the request is stored before it is due");
    let stage = stage.killed_for(SECOND).await;
    assert_eq!(stage.begun.next().await.run.payload["reason"], "wake");
}

#[tokio::test]
async fn burst_of_wakes_gets_a_few_turns_a_minute() {
    let stage = Stage::with(config(), true).await;
    for _ in 0..6 {
        stage.handle.request_heartbeat("wake", Duration::ZERO).await;
        let turn = stage.begun.next().await;
        let id = turn.run.id.clone();
        turn.succeed();
        stage.ended(&id).await;
        stage.clock.advance(1_000);
    }
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.settle().await;
    let reason = status(&stage).await.pending;
    assert!(
        reason.is_some_and(|reason| reason.to_string().contains("Too many wakes")),
        "the reason is given"
    );
    assert_eq!(heartbeat_runs(&stage).await, 6);
    stage.clock.advance(54_000);
    stage.begun.next().await;
    assert_eq!(heartbeat_runs(&stage).await, 7, "late, not lost");
}

#[tokio::test]
async fn wake_gets_a_turn_outside_active_hours() {
    let stage = Stage::with(daytime_heartbeat(45 * MINUTE), true).await;
    stage.main.has_work.store(true, Ordering::SeqCst);
    // The grid is anchored at midnight: 08:15 is the first point within the hours.
    let first = START.plus_ms(8 * HOUR + 15 * MINUTE);
    assert_eq!(status(&stage).await.next_at, Some(first));
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let turn = stage.begun.next().await;
    let id = turn.run.id.clone();
    turn.succeed();
    stage.ended(&id).await;
    stage.pass(first.since(START)).await;
    assert_eq!(heartbeat_runs(&stage).await, 2);
}

#[tokio::test]
async fn turn_after_active_hours_is_skipped() {
    let stage = Stage::with(daytime_heartbeat(45 * MINUTE), true).await;
    stage.main.has_work.store(true, Ordering::SeqCst);
    stage.settle().await;
    stage.clock.advance(81_000_000);
    stage.settle().await;
    assert_eq!(heartbeat_runs(&stage).await, 0);
    let status = status(&stage).await;
    let reason = status.last_skip.map(|skip| skip.reason).unwrap_or_default();
    assert!(reason.contains("active hours"), "{reason}");
    assert_eq!(status.next_at, Some(START.plus_ms(32 * HOUR + 15 * MINUTE)));
}

#[tokio::test]
async fn grid_outside_active_hours_starts_with_the_hours() {
    let stage = Stage::with(daytime_heartbeat(24 * HOUR), true).await;
    assert_eq!(status(&stage).await.next_at, Some(START.plus_ms(32 * HOUR)));
}

#[tokio::test]
async fn leftover_events_get_a_turn_of_their_own() {
    let stage = Stage::with(config(), true).await;
    queue_event(&stage).await;
    stage.clock.advance(1);
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.begun.next().await.succeed();
    let second = stage.begun.next().await;
    assert_eq!(second.run.payload["reason"], "more events");
    let id = second.run.id.clone();
    second.end(Outcome::failed("The model did not answer."));
    stage.ended(&id).await;
    assert_eq!(heartbeat_runs(&stage).await, 2, "a turn that failed is not tried in a loop");
}

#[tokio::test]
async fn disabled_heartbeat_hides_the_last_skip() {
    let stage = Stage::with(heartbeat_on(), true).await;
    stage.pass(30 * MINUTE).await;
    let skipped = status(&stage).await;
    assert!(skipped.last_skip_reason.is_some_and(|reason| reason.contains("Nothing to do")));
    stage.handle.set_config(config()).await.expect("set");
    let off = status(&stage).await;
    assert_eq!(
        (off.last_skip_reason.as_deref(), off.next_at),
        (Some("The heartbeat is off"), None)
    );
}

#[tokio::test]
async fn next_turn_is_hidden_while_nothing_fires() {
    let off_reason = "Firing is switched off.".to_owned();
    let off = SchedulerConfig { firing: false, off_reason, ..heartbeat_on() };
    let stage = Stage::with(off, true).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let shown = status(&stage).await;
    assert_eq!(shown.next_at, None);
    assert_eq!(shown.last_skip_reason.as_deref(), Some("Firing is switched off"));
    let waits = shown.pending.map(|pending| pending.to_string());
    assert_eq!(waits.as_deref(), Some("Waiting: Firing is switched off"));

    stage.handle.set_config(heartbeat_on()).await.expect("set");
    let first = Some(START.plus_ms(30 * MINUTE));
    assert_eq!(status(&stage).await.next_at, first);
    stage.handle.pause(None).await.expect("paused");
    let shown = status(&stage).await;
    assert_eq!(
        (shown.next_at, shown.last_skip_reason.as_deref()),
        (None, Some("Everything is paused"))
    );
    stage.handle.pause(Some(START.plus_ms(MINUTE))).await.expect("paused");
    let shown = status(&stage).await;
    assert_eq!(
        (shown.next_at, shown.last_skip_reason),
        (first, None),
        "the turn comes after the pause"
    );
}
