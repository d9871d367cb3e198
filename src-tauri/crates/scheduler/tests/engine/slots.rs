//! Slots fire on time, once, and within the limits.

use rouse_core::event::EventKind;
use rouse_core::time::Clock as _;
use rouse_core::{RunState, RunTrigger, SessionKey};
use rouse_scheduler::{SchedulerConfig, TickReport};
use rouse_store::RunQuery;
use serde_json::json;

use crate::stage::{MINUTE, SECOND, START, Stage, config, every, once, opened};

#[tokio::test]
async fn slot_fires_on_time_and_records_its_outcome() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    assert_eq!(job.state.next_run_at, Some(START.plus_ms(MINUTE)));
    stage.pass(MINUTE - 1).await;
    assert_eq!(stage.load().await, (0, 0), "not a millisecond early");

    stage.clock.advance(1);
    let begun = stage.begun.next().await;
    let slot = START.plus_ms(MINUTE);
    assert_eq!((begun.run.slot_at, begun.run.trigger), (Some(slot), RunTrigger::Schedule));
    assert_eq!((begun.run.state, begun.run.attempt), (RunState::Running, 1));
    assert_eq!(begun.run.session, None, "a tool call writes no transcript");
    assert_eq!(
        begun.run.payload,
        json!({ "kind": "toolCall", "tool": "echo", "arguments": {}, "notifyWhen": "always" })
    );
    assert_eq!(begun.job.as_ref().map(|job| job.name.as_str()), Some("Look"));
    let stored = stage.stored(&job).await;
    assert_eq!(stored.state.next_run_at, Some(slot.plus_ms(MINUTE)));
    assert_eq!(stored.state.last_run_at, Some(slot));

    let id = begun.run.id.clone();
    stage.clock.advance(250);
    begun.succeed();
    let run = stage.ended(&id).await;
    assert_eq!((run.state, run.summary.as_deref()), (RunState::Succeeded, Some("Done.")));
    assert_eq!((run.started_at, run.finished_at), (Some(slot), Some(slot.plus_ms(250))));
    assert_eq!(run.late_by_ms(), Some(0));
    let stored = stage.stored(&job).await;
    assert_eq!(
        (stored.state.last.state, stored.state.last_duration_ms),
        (Some(RunState::Succeeded), Some(250))
    );
    stage.outbox.notified().await;
    let deliveries = stage.store.deliveries_of(&id).await.expect("read");
    assert_eq!((deliveries.len(), deliveries[0].body.as_str()), (1, "Done."));
}

#[tokio::test]
async fn run_emits_cron_events() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    let events = stage.store.events_after(0, 100).await.expect("events");
    let cron = events.iter().filter(|event| event.kind == EventKind::Cron);
    let actions: Vec<_> = cron.map(|event| event.data["action"].clone()).collect();
    assert_eq!(actions, ["added", "started", "finished"]);
    let finished = events.iter().rfind(|event| event.kind == EventKind::Cron).expect("finished");
    assert_eq!(finished.data["jobId"], job.id.as_str());
    assert_eq!(finished.data["nextRunAtMs"], START.0 + 2 * MINUTE);
}

#[tokio::test]
async fn slots_do_not_drift() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    for minute in 1..=3 {
        // The engine is 7 ms late each time, and each run takes half a minute.
        stage.clock.advance_to(START.plus_ms(minute * MINUTE + 7));
        let begun = stage.begun.next().await;
        assert_eq!(begun.run.slot_at, Some(START.plus_ms(minute * MINUTE)));
        let id = begun.run.id.clone();
        stage.pass(30 * SECOND).await;
        begun.succeed();
        assert_eq!(stage.ended(&id).await.late_by_ms(), Some(7));
    }
    assert_eq!(stage.states_of(&job).await, [RunState::Succeeded; 3]);
}

#[tokio::test]
async fn one_shot_fires_once() {
    let stage = Stage::new().await;
    let job = stage.add(once(START.plus_ms(5_000), json!({}))).await;
    stage.clock.advance(5_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.stored(&job).await.state.next_run_at, None);
    stage.pass(10 * MINUTE).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Succeeded]);
}

#[tokio::test]
async fn delete_after_run_keeps_the_run() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({ "deleteAfterRun": true }))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None);
    stage.pass(10 * MINUTE).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Succeeded]);
    assert_eq!(stage.handle.status().await.expect("a status").next, None);
}

#[tokio::test]
async fn isolated_turn_has_a_session_and_a_summary_for_main() {
    let stage = Stage::new().await;
    let payload = json!({ "kind": "agentTurn", "message": "Look" });
    let job = stage.add(every(MINUTE, json!({ "payload": payload }))).await;
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.session, Some(SessionKey::of_job(&job.id)));
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    let events = stage.store.pending_system_events(1_000).await.expect("read");
    assert_eq!(
        events.iter().map(|event| event.text.as_str()).collect::<Vec<_>>(),
        ["Cron Look: Done."]
    );
}

#[tokio::test]
async fn second_tick_claims_nothing() {
    let stage = Stage::new().await;
    stage.add(every(MINUTE, json!({}))).await;
    stage.pass(MINUTE).await;
    let again = stage.handle.tick(stage.clock.now()).await.expect("a tick");
    assert_eq!(again, TickReport::default());
}

#[tokio::test]
async fn tick_reports_claims_and_starts() {
    let stage = Stage::with_permits(1).await;
    for id in ["a", "b", "c"] {
        let late = json!({ "misfire": { "mode": "skip" } });
        let policies = if id == "c" { late } else { json!({}) };
        stage.add(every(MINUTE, json!({ "id": id, "policies": policies }))).await;
    }
    let report = stage.handle.tick(START.plus_ms(2 * MINUTE)).await.expect("a tick");
    assert_eq!((report.claimed, report.queued.len(), report.quiet.len()), (3, 3, 1));
    // The job that skips missed slots is on time, so it starts before catch-up runs.
    assert_eq!(report.started, report.queued[2..]);
}

#[tokio::test]
async fn limit_holds_over_all_jobs() {
    let stage = Stage::with(SchedulerConfig { max_concurrent_runs: 2, ..config() }, false).await;
    for id in 0..5 {
        stage.add(every(MINUTE, json!({ "id": id.to_string() }))).await;
    }
    stage.pass(MINUTE).await;
    let mut done = 0;
    for left in [3, 2, 1, 0] {
        assert_eq!(stage.load().await, (2, left));
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.succeed();
        stage.ended(&id).await;
        stage.settle().await;
        done += 1;
    }
    assert_eq!((done, stage.load().await), (4, (1, 0)));
    stage.begun.next().await.succeed();
}

#[tokio::test]
async fn long_run_delays_no_other_job() {
    let stage = Stage::with(SchedulerConfig { max_concurrent_runs: 2, ..config() }, false).await;
    stage.add(every(MINUTE, json!({ "id": "long" }))).await;
    stage.pass(MINUTE).await;
    let long = stage.begun.next().await;
    stage.add(every(MINUTE, json!({ "id": "short" }))).await;
    stage.clock.advance(60_000);
    let short = stage.begun.next_where(|begun| begun.run.job_id != long.run.job_id).await;
    assert_eq!(short.run.job_id.as_ref().map(|id| id.as_str()), Some("short"));
}

#[tokio::test]
async fn thousand_slots_of_one_instant_all_start() {
    let stage = Stage::with_permits(1_000).await;
    for id in 0..1_000 {
        stage.add(every(MINUTE, json!({ "id": format!("job-{id}") }))).await;
    }
    let report = stage.handle.tick(START.plus_ms(MINUTE)).await.expect("a tick");
    assert_eq!((report.claimed, report.queued.len(), report.started.len()), (1_000, 1_000, 1_000));
    assert_eq!(stage.load().await, (1_000, 0));
    let mut ids = std::collections::HashSet::new();
    for _ in 0..1_000 {
        let begun = stage.begun.next().await;
        ids.insert(begun.run.job_id.clone());
        begun.succeed();
    }
    assert_eq!(ids.len(), 1_000);
    for _ in 0..1_000 {
        stage.events.next_where(|event| event.data["action"] == "finished").await;
    }
    assert_eq!(stage.load().await, (0, 0));
    let succeeded = RunQuery { states: vec![RunState::Succeeded], ..RunQuery::default() };
    assert_eq!(stage.store.runs(&succeeded).await.expect("counted").total, 1_000);
}

#[tokio::test]
async fn more_jobs_than_one_batch_are_all_claimed() {
    let stage =
        Stage::with(SchedulerConfig { firing: false, off_reason: "off".into(), ..config() }, false)
            .await;
    let total: usize = 10_001;
    // Written directly, since only the claim is tested.
    let template = stage.job(every(MINUTE, json!({})));
    stage.store.insert_job(&template, START).await.expect("saved");
    let file = opened(&stage.database()).await;
    sqlx::query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO jobs (id, name, enabled, revision, next_run_at, consecutive_failures, definition)
         SELECT 'job-' || i, name, 1, 1, ?2, 0, definition FROM jobs, n",
    )
    .bind(i64::try_from(total).expect("small"))
    .bind(START.0 + MINUTE)
    .execute(&file)
    .await
    .expect("filled");
    let report = stage.handle.tick(START.plus_ms(MINUTE)).await.expect("a tick");
    assert_eq!((report.claimed, report.quiet.len()), (total, total));
}

#[tokio::test]
async fn lateness_includes_the_commit_of_the_claim() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.disk_delay.store(7, std::sync::atomic::Ordering::SeqCst);
    stage.clock.advance(60_000);
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.late_by_ms(), Some(7));
    let id = begun.run.id.clone();
    stage.clock.advance(100);
    begun.succeed();
    let run = stage.ended(&id).await;
    assert_eq!((run.late_by_ms(), run.created_at), (Some(7), START.plus_ms(MINUTE)));
    assert_eq!(stage.stored(&job).await.state.last_duration_ms, Some(100));
}

#[tokio::test]
async fn slots_always_due_do_not_lock_out_requests() {
    let stage = Stage::new().await;
    let job = stage.add(every(SECOND, json!({ "policies": { "overlap": "queue" } }))).await;
    // By the end of each claim, the next slot is due.
    stage.disk_delay.store(1_000, std::sync::atomic::Ordering::SeqCst);
    stage.clock.advance(1_000);
    stage.begun.next().await;
    let off = json!({ "enabled": false });
    stage.handle.update_job(&job.id, off, None).await.expect("saved");
    stage.disk_delay.store(0, std::sync::atomic::Ordering::SeqCst);
    assert!(!stage.stored(&job).await.enabled);
}
