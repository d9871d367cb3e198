//! The heartbeat and wakes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rouse_core::Clock as _;
use rouse_core::event::EventKind;
use rouse_core::schedule::DayWindow;
use rouse_core::{Outcome, RunId, RunState, RunTrigger, SessionKey};
use rouse_scheduler::{
    COALESCE, HeartbeatConfig, HeartbeatStatus, LastRequest, LastSkip, SchedulerConfig,
};
use rouse_store::{Note, QUEUED_LINES, RunQuery};
use serde_json::json;

use crate::stage::{Begun, HOUR, MINUTE, SECOND, START, Stage, config, every};

fn beating() -> SchedulerConfig {
    let heartbeat = HeartbeatConfig { enabled: true, every_ms: 30 * MINUTE, active_hours: None };
    SchedulerConfig { heartbeat, ..config() }
}

/// From eight to ten in the evening only.
fn by_day(every_ms: i64) -> SchedulerConfig {
    let hours = DayWindow::parse("08:00", "22:00", None).expect("hours");
    let heartbeat = HeartbeatConfig { enabled: true, every_ms, active_hours: Some(hours) };
    SchedulerConfig { heartbeat, ..config() }
}

async fn status(stage: &Stage) -> HeartbeatStatus {
    stage.handle.status().await.expect("a status").heartbeat
}

pub(crate) async fn beats(stage: &Stage) -> usize {
    let query =
        RunQuery { triggers: vec![RunTrigger::Heartbeat], limit: 100, ..RunQuery::default() };
    stage.store.runs(&query).await.expect("read").runs.len()
}

pub(crate) async fn queue_event(stage: &Stage) {
    stage.store.queue_system_event("Something came up", "wake", &[], START).await.expect("queued");
}

#[tokio::test]
async fn it_beats_on_its_grid_when_there_is_work() {
    let stage = Stage::with(beating(), true).await;
    stage.main.has_work.store(true, Ordering::SeqCst);
    assert_eq!(status(&stage).await.next_at, Some(START.plus_ms(30 * MINUTE)));
    stage.clock.advance(1_800_000);
    let beat = stage.begun.next().await;
    assert_eq!(
        (beat.run.trigger, beat.run.job_id.as_ref(), beat.run.slot_at),
        (RunTrigger::Heartbeat, None, None)
    );
    assert_eq!(
        (beat.run.job_name.as_str(), beat.run.session.clone()),
        ("Heartbeat", Some(SessionKey::main()))
    );
    assert_eq!(beat.run.payload, json!({ "kind": "heartbeat", "reason": "interval" }));
    stage.pass(10 * MINUTE).await;
    let id = beat.run.id.clone();
    beat.end(Outcome::of(RunState::NothingToReport));
    assert_eq!(stage.ended(&id).await.state, RunState::NothingToReport);
    assert_eq!(
        status(&stage).await.next_at,
        Some(START.plus_ms(60 * MINUTE)),
        "a long beat does not move it"
    );
}

#[tokio::test]
async fn a_restart_does_not_move_the_grid() {
    let stage = Stage::with(beating(), true).await;
    let stage = stage.killed_for(45 * MINUTE).await;
    assert_eq!(status(&stage).await.next_at, Some(START.plus_ms(60 * MINUTE)));
    assert_eq!(beats(&stage).await, 0, "a beat that passed is not made up for");
}

#[tokio::test]
async fn a_clock_that_was_years_ahead_does_not_silence_it() {
    let stage = Stage::with(config(), true).await;
    stage.clock.set(START.plus_ms(4 * 365 * 24 * HOUR));
    stage.handle.set_config(beating()).await.expect("set");
    stage.clock.set(START);
    assert_eq!(status(&stage).await.next_at, Some(START.plus_ms(30 * MINUTE)));
}

#[tokio::test]
async fn a_beat_without_work_is_left_out_with_its_reason() {
    let stage = Stage::with(beating(), true).await;
    stage.pass(30 * MINUTE).await;
    let left_out = status(&stage).await;
    let reason = "There was nothing to do: no event waits and HEARTBEAT.md is empty";
    assert_eq!(left_out.last_skip_reason.as_deref(), Some(reason));
    let skip = LastSkip { reason: reason.to_owned(), at: START.plus_ms(30 * MINUTE) };
    assert_eq!(left_out.last_skip, Some(skip.clone()));
    assert_eq!(left_out.next_at, Some(START.plus_ms(60 * MINUTE)));
    assert_eq!(beats(&stage).await, 0);
    let event = stage.events.next_where(|event| event.kind == EventKind::Heartbeat).await;
    assert_eq!(event.data, json!({ "skipped": reason }));

    let stage = stage.killed_for(SECOND).await;
    assert_eq!(status(&stage).await.last_skip_reason.as_deref(), Some(reason), "it is on record");
    queue_event(&stage).await;
    stage.clock.advance(1_800_000);
    stage.begun.next().await;
    assert_eq!(status(&stage).await.last_skip_reason, None);
    assert_eq!(status(&stage).await.last_skip, Some(skip.clone()), "it stands until the next one");
    let stage = stage.killed_for(SECOND).await;
    let after = status(&stage).await;
    assert_eq!((after.last_skip_reason, after.last_skip), (None, Some(skip)));
}

#[tokio::test]
async fn each_reason_has_its_words() {
    let stage = Stage::with(beating(), false).await;
    stage.main.has_work.store(true, Ordering::SeqCst);
    assert_eq!(status(&stage).await.last_skip_reason.as_deref(), Some("No model is set up"));
    assert_eq!(status(&stage).await.next_at, None, "without a model it does not beat");
    stage.model.send_replace(true);
    stage.settle().await;
    stage.handle.pause(None).await.expect("paused");
    stage.pass(30 * MINUTE).await;
    assert_eq!(status(&stage).await.last_skip_reason.as_deref(), Some("Everything is paused"));
    stage.handle.resume().await.expect("resumed");
    assert_eq!(status(&stage).await.last_skip_reason.as_deref(), Some("Everything was paused"));
    stage.pass(30 * MINUTE).await;
    assert_eq!(beats(&stage).await, 1);
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
        Some("The beat before was still going")
    );
    assert_eq!(beats(&stage).await, 1);
}

#[tokio::test]
async fn a_wake_gets_its_turn_even_without_a_heartbeat() {
    let stage = Stage::with(config(), true).await;
    assert_eq!(status(&stage).await.next_at, None);
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let beat = stage.begun.next().await;
    assert_eq!(beat.run.payload["reason"], "wake");
}

#[tokio::test]
async fn without_a_model_wakes_wait_and_become_one_turn() {
    let stage = Stage::with(config(), false).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    assert!(status(&stage).await.pending.is_some());
    assert_eq!(beats(&stage).await, 0);
    let stage = stage.killed_for(HOUR).await;
    assert!(status(&stage).await.pending.is_some(), "it is not forgotten");
    stage.model.send_replace(true);
    stage.begun.next().await;
    assert!(status(&stage).await.pending.is_none());
    assert_eq!(beats(&stage).await, 1);
    let stage = stage.killed_for(HOUR).await;
    assert_eq!((status(&stage).await.pending, beats(&stage).await), (None, 1));
}

#[tokio::test]
async fn while_everything_is_paused_wakes_wait_and_say_so() {
    let stage = Stage::with(config(), true).await;
    stage.handle.pause(Some(stage.clock.now().plus_ms(HOUR))).await.expect("paused");
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.pass(HOUR - MINUTE).await;
    let waits = status(&stage).await.pending.expect("it waits");
    let waits = waits.to_string();
    assert_eq!((waits.as_str(), beats(&stage).await), ("It waits: Everything is paused", 0));
    stage.pass(MINUTE).await;
    assert_eq!(stage.begun.next().await.run.payload["reason"], "wake");
    assert_eq!((status(&stage).await.pending, beats(&stage).await), (None, 1));
}

#[tokio::test]
async fn the_kill_switch_holds_wakes_up_as_well() {
    let off = SchedulerConfig { firing: false, off_reason: "switched off".to_owned(), ..config() };
    let stage = Stage::with(off, true).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.pass(HOUR).await;
    let waits = status(&stage).await.pending.expect("it waits");
    assert_eq!(waits.to_string(), "It waits: switched off");
    stage.handle.set_config(config()).await.expect("set");
    stage.begun.next().await;
    assert_eq!(beats(&stage).await, 1);
}

#[tokio::test]
async fn wakes_during_a_beat_become_one_turn_after_it() {
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
    assert_eq!(beats(&stage).await, 2);
}

#[tokio::test]
async fn a_wake_that_the_beat_has_seen_to_needs_no_turn() {
    let stage = Stage::with(config(), true).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let first = stage.begun.next().await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let id = first.run.id.clone();
    first.succeed();
    stage.ended(&id).await;
    assert!(status(&stage).await.pending.is_none());
    assert_eq!(beats(&stage).await, 1);
}

#[tokio::test]
async fn a_reminder_that_asks_for_it_wakes_main() {
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
    let beat = stage.begun.next().await;
    assert_eq!(beat.run.trigger, RunTrigger::Heartbeat);
    assert_eq!(beat.run.payload["reason"], "cron:now");
    assert_eq!(beats(&stage).await, 1);
}

/// A reminder that a turn of the main session was shown, and whether it has left the queue with it; answers both runs.
async fn shown_to_a_turn(stage: &Stage, is_drained: bool) -> (RunId, Begun) {
    let payload = json!({ "kind": "systemEvent", "text": "Stretch" });
    stage.add(every(HOUR, json!({ "payload": payload, "wakeMode": "now" }))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let reminder = stage.begun.next().await;
    let id = reminder.run.id.clone();
    reminder.succeed();
    stage.ended(&id).await;
    stage.clock.advance(250);
    let beat = stage.begun.next().await;
    let turn = beat.run.id.clone();
    let lines = stage.store.pending_system_events(9).await.expect("read");
    let ids: Vec<i64> = lines.iter().map(|line| line.id).collect();
    let (input, name) = (json!({ "ids": ids }), QUEUED_LINES);
    let note = Note { run_id: &turn, name, input, output: None, is_error: false };
    stage.store.note(note, stage.now()).await.expect("noted");
    if is_drained {
        stage.store.drain_system_events(&turn, &ids, stage.now()).await.expect("drained");
    }
    assert_eq!(stage.store.deliveries_of(&id).await.expect("read"), []);
    (id, beat)
}

/// What was told of a run by itself.
async fn told_of(stage: &Stage, id: &RunId) -> Vec<String> {
    let told = stage.store.deliveries_of(id).await.expect("read");
    told.into_iter().map(|told| told.body).collect()
}

#[tokio::test]
async fn a_reminder_that_a_turn_was_shown_and_kept_to_itself_is_told() {
    let stage = Stage::with(config(), true).await;
    let (id, beat) = shown_to_a_turn(&stage, true).await;
    let turn = beat.run.id.clone();
    beat.end(Outcome::of(RunState::NothingToReport));
    stage.ended(&turn).await;
    assert_eq!(told_of(&stage, &id).await, ["Stretch"]);
}

/// It has left the queue with an answer that nobody has heard of.
#[tokio::test]
async fn a_reminder_whose_turn_was_cut_off_behind_its_answer_is_told_and_one_before_stays_queued() {
    for is_drained in [true, false] {
        let stage = Stage::with(config(), true).await;
        let (id, beat) = shown_to_a_turn(&stage, is_drained).await;
        let turn = beat.run.id.clone();
        stage.handle.pause(None).await.expect("paused");
        let stage = stage.killed_for(SECOND).await;
        assert_eq!(stage.run(&turn).await.state, RunState::Interrupted);
        let told = if is_drained { vec!["Stretch"] } else { Vec::new() };
        assert_eq!(told_of(&stage, &id).await, told);
    }
}

#[tokio::test]
async fn a_beat_that_was_cut_off_goes_on_and_not_for_ever() {
    let mut stage = Stage::with(config(), true).await;
    queue_event(&stage).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let first = stage.begun.next().await.run;
    for attempt in [2, 3] {
        stage = stage.killed_for(SECOND).await;
        let again = stage.begun.next().await.run;
        assert_eq!((&again.id, again.attempt), (&first.id, attempt));
    }
    // The events that it had not got to are still queued; they get a turn of their own.
    let stage = stage.killed_for(SECOND).await;
    let second = stage.begun.next().await.run;
    assert_eq!(second.payload["reason"], "interrupted");
    assert_eq!(stage.run(&first.id).await.state, RunState::Interrupted);
}

#[tokio::test]
async fn a_beat_that_waited_is_taken_up() {
    let stage = Stage::with(SchedulerConfig { max_concurrent_runs: 1, ..config() }, true).await;
    stage.add(every(MINUTE, json!({ "policies": { "misfire": { "mode": "skip" } } }))).await;
    stage.clock.advance(60_000);
    stage.begun.next().await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    assert_eq!(stage.load().await, (1, 1));
    let stage = stage.killed_for(SECOND).await;
    assert_eq!(stage.begun.next().await.run.trigger, RunTrigger::Heartbeat);
    assert_eq!(beats(&stage).await, 1);
}

#[tokio::test]
async fn a_cancelled_beat_makes_room_for_the_next() {
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
    let beat = stage.begun.next().await;
    assert_eq!(beat.run.trigger, RunTrigger::Heartbeat);
    assert_ne!(beat.run.id, waiting.id);
}

#[tokio::test]
async fn requests_that_come_together_are_one_turn() {
    assert_eq!(COALESCE.as_millis(), 250);
    let stage = Stage::with(config(), true).await;
    stage.handle.request_heartbeat("first", COALESCE).await;
    stage.clock.advance(250 - 1);
    stage.handle.request_heartbeat("second", COALESCE).await;
    stage.settle().await;
    assert_eq!(beats(&stage).await, 0, "the first one still gathers");
    stage.clock.advance(1);
    let beat = stage.begun.next().await;
    assert_eq!(beat.run.payload["reason"], "first");
    assert!(status(&stage).await.pending.is_none());
    assert_eq!(beats(&stage).await, 1);
}

#[tokio::test]
async fn a_request_is_held_up_by_no_longer_one_before_it() {
    let stage = Stage::with(config(), true).await;
    assert_eq!(status(&stage).await.last_request, None);
    stage.handle.request_heartbeat("patient", Duration::from_secs(60)).await;
    stage.clock.advance(1_000);
    stage.handle.request_heartbeat("urgent", COALESCE).await;
    let last = LastRequest { reason: "urgent".to_owned(), at: START.plus_ms(1_000) };
    assert_eq!(status(&stage).await.last_request, Some(last.clone()));
    stage.settle().await;
    assert_eq!(beats(&stage).await, 0);
    stage.clock.advance(250);
    let beat = stage.begun.next().await;
    assert_eq!(beat.run.payload["reason"], "patient", "the turn is that of the first");
    assert_eq!(status(&stage).await.last_request, Some(last), "it stays known");
    let id = beat.run.id.clone();
    beat.succeed();
    stage.ended(&id).await;
    stage.clock.advance(60_000);
    stage.settle().await;
    assert_eq!(beats(&stage).await, 1, "both were one turn");
}

#[tokio::test]
async fn a_request_that_still_gathers_outlives_the_process() {
    let stage = Stage::with(config(), true).await;
    stage.handle.request_heartbeat("wake", COALESCE).await;
    assert!(status(&stage).await.pending.is_some());
    let stored = stage.store.setting("heartbeat.pending").await.expect("read");
    assert_eq!(stored, Some(json!("wake")), "it is on the disk before its time has come");
    let stage = stage.killed_for(SECOND).await;
    assert_eq!(stage.begun.next().await.run.payload["reason"], "wake");
}

#[tokio::test]
async fn a_flood_of_wakes_is_a_few_turns_a_minute() {
    let stage = Stage::with(config(), true).await;
    for _ in 0..6 {
        stage.handle.request_heartbeat("wake", Duration::ZERO).await;
        let beat = stage.begun.next().await;
        let id = beat.run.id.clone();
        beat.succeed();
        stage.ended(&id).await;
        stage.clock.advance(1_000);
    }
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    stage.settle().await;
    let reason = status(&stage).await.pending;
    assert!(reason.is_some_and(|reason| reason.to_string().contains("many wakes")), "it says why");
    assert_eq!(beats(&stage).await, 6);
    stage.clock.advance(54_000);
    stage.begun.next().await;
    assert_eq!(beats(&stage).await, 7, "it was late, not lost");
}

#[tokio::test]
async fn outside_its_hours_it_does_not_beat_but_can_be_woken() {
    let stage = Stage::with(by_day(45 * MINUTE), true).await;
    stage.main.has_work.store(true, Ordering::SeqCst);
    // The grid hangs on midnight: 08:15 is its first point inside.
    let first = START.plus_ms(8 * HOUR + 15 * MINUTE);
    assert_eq!(status(&stage).await.next_at, Some(first));
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let beat = stage.begun.next().await;
    let id = beat.run.id.clone();
    beat.succeed();
    stage.ended(&id).await;
    stage.pass(first.since(START)).await;
    assert_eq!(beats(&stage).await, 2);
}

#[tokio::test]
async fn a_beat_whose_hours_the_computer_has_slept_through_is_left_out() {
    let stage = Stage::with(by_day(45 * MINUTE), true).await;
    stage.main.has_work.store(true, Ordering::SeqCst);
    stage.settle().await;
    stage.clock.advance(81_000_000);
    stage.settle().await;
    assert_eq!(beats(&stage).await, 0);
    let status = status(&stage).await;
    let reason = status.last_skip.map(|skip| skip.reason).unwrap_or_default();
    assert!(reason.contains("active hours"), "{reason}");
    assert_eq!(status.next_at, Some(START.plus_ms(32 * HOUR + 15 * MINUTE)));
}

#[tokio::test]
async fn a_grid_that_never_meets_the_hours_beats_at_their_beginning() {
    let stage = Stage::with(by_day(24 * HOUR), true).await;
    assert_eq!(status(&stage).await.next_at, Some(START.plus_ms(32 * HOUR)));
}

#[tokio::test]
async fn lines_that_a_turn_did_not_get_to_get_a_turn_of_their_own() {
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
    assert_eq!(beats(&stage).await, 2, "a turn that failed is not tried in a loop");
}

#[tokio::test]
async fn that_it_is_off_is_the_reason_whatever_kept_the_last_beat() {
    let stage = Stage::with(beating(), true).await;
    stage.pass(30 * MINUTE).await;
    let skipped = status(&stage).await;
    assert!(skipped.last_skip_reason.is_some_and(|reason| reason.contains("nothing to do")));
    stage.handle.set_config(config()).await.expect("set");
    let off = status(&stage).await;
    assert_eq!((off.last_skip_reason.as_deref(), off.next_at), (Some("It is switched off"), None));
}

#[tokio::test]
async fn while_nothing_fires_no_beat_is_named() {
    let off_reason = "Firing is switched off.".to_owned();
    let off = SchedulerConfig { firing: false, off_reason, ..beating() };
    let stage = Stage::with(off, true).await;
    stage.handle.request_heartbeat("wake", Duration::ZERO).await;
    let told = status(&stage).await;
    assert_eq!(told.next_at, None);
    assert_eq!(told.last_skip_reason.as_deref(), Some("Firing is switched off"));
    let waits = told.pending.map(|pending| pending.to_string());
    assert_eq!(waits.as_deref(), Some("It waits: Firing is switched off"));

    stage.handle.set_config(beating()).await.expect("set");
    let first = Some(START.plus_ms(30 * MINUTE));
    assert_eq!(status(&stage).await.next_at, first);
    stage.handle.pause(None).await.expect("paused");
    let told = status(&stage).await;
    assert_eq!(
        (told.next_at, told.last_skip_reason.as_deref()),
        (None, Some("Everything is paused"))
    );
    stage.handle.pause(Some(START.plus_ms(MINUTE))).await.expect("paused");
    let told = status(&stage).await;
    assert_eq!((told.next_at, told.last_skip_reason), (first, None), "it comes after the pause");
}
