//! Adding, editing and deleting jobs fires nothing, and moves only the necessary next slots.

use rouse_core::time::Clock as _;
use rouse_core::{JobId, Outcome, RunState};
use rouse_scheduler::SchedulerError;
use rouse_store::StoreError;
use serde_json::{Value, json};

use crate::pending_approvals::end_with_approvals;
use crate::stage::{HOUR, MINUTE, SECOND, START, Stage, every, once};

/// Path and message of the only field error.
fn complaint(error: SchedulerError) -> (String, String) {
    match error {
        SchedulerError::Job(mut error) => {
            let field = error.0.pop().expect("a complaint");
            (field.path, field.message)
        }
        other => panic!("another error: {other}"),
    }
}

async fn patch(stage: &Stage, id: &JobId, patch: Value) -> rouse_core::Job {
    stage.handle.update_job(id, patch, None).await.expect("saved")
}

#[tokio::test]
async fn past_instant_is_refused_with_field_path() {
    let stage = Stage::new().await;
    let past = stage.job(once(START, json!({})));
    let error = stage.handle.add_job(past).await.expect_err("refused");
    assert_eq!(
        complaint(error),
        ("schedule.atMs".into(), "has passed: choose a time in the future".into())
    );
    let off = stage.job(once(START, json!({ "enabled": false })));
    assert!(stage.handle.add_job(off).await.is_ok(), "a job that is off fires nothing anyway");
}

#[tokio::test]
async fn taken_and_unknown_ids_are_refused() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    let again = stage.handle.add_job(job).await.expect_err("refused");
    assert!(matches!(again, SchedulerError::Store(StoreError::Exists { .. })));
    let unknown = stage.handle.update_job(&JobId::new("unknown"), json!({}), None).await;
    assert!(matches!(unknown, Err(SchedulerError::Store(StoreError::NotFound { .. }))));
    assert_eq!(
        stage.handle.remove_job(&JobId::new("unknown"), None).await.expect("an answer"),
        None
    );
}

#[tokio::test]
async fn stale_edit_is_refused() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    patch(&stage, &job.id, json!({ "name": "First" })).await;
    let late = stage.handle.update_job(&job.id, json!({ "name": "Second" }), Some(1)).await;
    assert!(matches!(
        late,
        Err(SchedulerError::Store(StoreError::Stale { expected: 1, found: 2 }))
    ));
    assert_eq!(stage.stored(&job).await.name, "First");
}

#[tokio::test]
async fn edit_without_schedule_keeps_the_next_slot() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.pass(59 * MINUTE).await;
    let edited =
        patch(&stage, &job.id, json!({ "name": "Other", "policies": { "overlap": "queue" } }))
            .await;
    assert_eq!(edited.state.next_run_at, Some(START.plus_ms(HOUR)));
    stage.clock.advance(60_000);
    assert_eq!(stage.begun.next().await.run.job_name, "Other");
}

#[tokio::test]
async fn new_schedule_is_planned_from_now() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.pass(90 * SECOND).await;
    let edited = patch(&stage, &job.id, json!({ "schedule": { "everyMs": MINUTE } })).await;
    assert_eq!(
        edited.state.next_run_at,
        Some(START.plus_ms(2 * MINUTE)),
        "the grid has the old anchor"
    );
    assert_eq!(stage.load().await, (0, 0), "the slots in the past do not fire");
    stage.clock.advance(30_000);
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(2 * MINUTE)));
}

#[tokio::test]
async fn earlier_job_takes_the_timer() {
    let stage = Stage::new().await;
    stage.add(every(HOUR, json!({}))).await;
    stage.add(every(SECOND, json!({}))).await;
    stage.clock.advance(1_000);
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(SECOND)));
}

#[tokio::test]
async fn enabling_fires_no_missed_slot() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    let off = patch(&stage, &job.id, json!({ "enabled": false })).await;
    assert_eq!(off.state.next_run_at, None);
    stage.pass(90 * SECOND).await;
    let on = patch(&stage, &job.id, json!({ "enabled": true })).await;
    assert_eq!(on.state.next_run_at, Some(START.plus_ms(2 * MINUTE)));
    assert_eq!(stage.load().await, (0, 0));
    assert_eq!(stage.runs_of(&job.id).await, []);
}

#[tokio::test]
async fn past_one_shot_cannot_be_enabled() {
    let stage = Stage::new().await;
    let job = stage.add(once(START.plus_ms(SECOND), json!({ "enabled": false }))).await;
    stage.pass(MINUTE).await;
    let error = stage
        .handle
        .update_job(&job.id, json!({ "enabled": true }), None)
        .await
        .expect_err("refused");
    let words = "has passed: choose a time in the future";
    assert_eq!(complaint(error), ("schedule.atMs".into(), words.into()));
    let at = START.plus_ms(2 * MINUTE);
    let on = patch(&stage, &job.id, json!({ "enabled": true, "schedule": { "atMs": at.0 } })).await;
    assert_eq!(on.state.next_run_at, Some(at));
}

#[tokio::test]
async fn fired_one_shot_can_be_renamed_and_restored() {
    let stage = Stage::new().await;
    let job = stage.add(once(START.plus_ms(SECOND), json!({}))).await;
    stage.clock.advance(1_000);
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    assert_eq!(patch(&stage, &job.id, json!({ "name": "Done" })).await.state.next_run_at, None);
    let removed = stage.handle.remove_job(&job.id, None).await.expect("removed").expect("there");
    let back = stage.handle.add_job(removed.job).await.expect("an undo");
    assert_eq!((back.name.as_str(), back.state.next_run_at), ("Done", None));
    stage.pass(HOUR).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Succeeded]);
}

#[tokio::test]
async fn skipped_one_shot_is_restored_without_a_slot() {
    for jitter_ms in [0, 60_000] {
        let stage = Stage::new().await;
        let mut job = once(START.plus_ms(2 * SECOND), json!({}));
        job["schedule"]["jitterMs"] = json!(jitter_ms);
        let job = stage.add(job).await;
        stage.handle.pause(None).await.expect("paused");
        stage.pass(2 * MINUTE).await;
        stage.handle.resume().await.expect("resumed");
        assert_eq!(stage.states_of(&job).await, [RunState::Skipped]);
        let removed = stage.handle.remove_job(&job.id, None).await;
        let removed = removed.expect("removed").expect("there");
        let back = stage.handle.add_job(removed.job).await.expect("an undo");
        assert_eq!(back.state.next_run_at, None);
        stage.pass(HOUR).await;
        assert_eq!(stage.states_of(&job).await, [RunState::Skipped]);
    }
}

#[tokio::test]
async fn restored_job_fires_no_slot_twice() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(MINUTE).await;
    stage.begun.next().await.succeed();
    let removed = stage.handle.remove_job(&job.id, None).await.expect("removed").expect("there");
    let back = stage.handle.add_job(removed.job).await.expect("an undo");
    assert_eq!(back.state.next_run_at, Some(stage.clock.now().plus_ms(MINUTE)));
}

#[tokio::test]
async fn edit_applies_to_queued_run_not_to_active_run() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({ "policies": { "overlap": "queue" } }))).await;
    stage.pass(MINUTE).await;
    let first = stage.begun.next().await;
    stage.pass(MINUTE).await;
    assert_eq!(stage.load().await, (1, 1));
    patch(&stage, &job.id, json!({ "policies": { "timeoutSeconds": 5 } })).await;
    stage.pass(30 * SECOND).await;
    assert!(!first.cancel.is_cancelled(), "the attempt began with ten minutes");
    first.succeed();
    let second = stage.begun.next().await;
    assert_eq!(second.job.as_ref().and_then(|job| job.policies.timeout_seconds), Some(5));
    stage.pass(5 * SECOND).await;
    assert!(second.cancel.is_cancelled());
}

#[tokio::test]
async fn disabling_skips_queued_runs_only() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({ "policies": { "overlap": "queue" } }))).await;
    stage.pass(MINUTE).await;
    let first = stage.begun.next().await;
    stage.pass(MINUTE).await;
    patch(&stage, &job.id, json!({ "enabled": false })).await;
    assert_eq!(stage.load().await, (1, 0));
    let id = first.run.id.clone();
    first.succeed();
    stage.ended(&id).await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!(
        runs.iter().map(|run| run.state).collect::<Vec<_>>(),
        [RunState::Succeeded, RunState::Skipped]
    );
    assert_eq!(runs[1].reason.as_deref(), Some("The job was switched off"));
}

#[tokio::test]
async fn deleting_a_job_cancels_its_runs() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({ "policies": { "overlap": "queue" } }))).await;
    stage.pass(MINUTE).await;
    let at_work = stage.begun.next().await;
    stage.pass(MINUTE).await;
    stage.handle.remove_job(&job.id, None).await.expect("removed");
    at_work.cancel.cancelled().await;
    let id = at_work.run.id.clone();
    at_work.end(rouse_core::Outcome::of(RunState::Cancelled));
    let run = stage.ended(&id).await;
    assert_eq!(run.reason.as_deref(), Some("The job was removed"));
    assert_eq!(stage.states_of(&job).await, [RunState::Cancelled; 2]);
    assert_eq!(stage.store.deliveries_of(&id).await.expect("read"), []);
    stage.pass(HOUR).await;
    assert_eq!(stage.load().await, (0, 0));
}

#[tokio::test]
async fn status_names_the_next_slot() {
    let stage = Stage::new().await;
    assert_eq!(stage.handle.status().await.expect("a status").next, None);
    stage.add(every(HOUR, json!({}))).await;
    stage.add(every(MINUTE, json!({ "name": "Soon" }))).await;
    let next = stage.handle.status().await.expect("a status").next.expect("a slot");
    assert_eq!((next.name.as_str(), next.at), ("Soon", START.plus_ms(MINUTE)));
    stage.handle.remove_job(&next.job_id, None).await.expect("removed");
    let next = stage.handle.status().await.expect("a status").next.expect("a slot");
    assert_eq!(next.at, START.plus_ms(HOUR));
}

#[tokio::test]
async fn restored_job_has_its_history() {
    let stage = Stage::new().await;
    let document = every(MINUTE, json!({}));
    let job = stage.add(document.clone()).await;
    for outcome in
        [Outcome::succeeded("ok"), Outcome::failed("no network"), Outcome::failed("no disk")]
    {
        stage.clock.advance(60_000);
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        stage.clock.advance(40);
        begun.end(outcome);
        stage.ended(&id).await;
    }
    let before = stage.stored(&job).await.state;
    assert_eq!((before.consecutive_failures, before.last_duration_ms), (2, Some(40)));
    stage.handle.remove_job(&job.id, None).await.expect("removed");
    stage.add(document).await;
    let after = stage.stored(&job).await.state;
    assert_eq!(after.last.state, before.last.state);
    assert_eq!(after.last_error, before.last_error);
    assert_eq!(after.last_run_at, before.last_run_at);
    assert_eq!(after.last_duration_ms, before.last_duration_ms);
    assert_eq!(after.consecutive_failures, before.consecutive_failures);
    assert!(after.next_run_at.is_some_and(|next| next > stage.now()), "the edit fires nothing");
}

#[tokio::test]
async fn run_that_deletes_its_own_job_is_announced() {
    for (notify, count) in [("always", 1), ("never", 0)] {
        let stage = Stage::new().await;
        let policies = json!({ "overlap": "parallel", "maxConcurrent": 2, "notify": notify });
        let job = stage.add(every(MINUTE, json!({ "policies": policies }))).await;
        stage.pass(MINUTE).await;
        let asks = stage.begun.next().await;
        stage.pass(MINUTE).await;
        let other = stage.begun.next().await;
        let removed = stage.handle.remove_job(&job.id, Some(&asks.run.id)).await.expect("removed");
        let removed = removed.expect("there");
        assert_eq!((removed.stopped_runs, removed.caller_continues), (1, true));
        assert!(other.cancel.is_cancelled() && !asks.cancel.is_cancelled());
        let id = asks.run.id.clone();
        asks.end(Outcome::succeeded("The last word."));
        let run = stage.ended(&id).await;
        assert_eq!(
            (run.state, run.summary.as_deref()),
            (RunState::Succeeded, Some("The last word."))
        );
        assert_eq!(stage.store.deliveries_of(&id).await.expect("read").len(), count, "{notify}");
        assert!(stage.store.job(&job.id).await.expect("read").is_none());
    }
}

/// The job is deleted between the approvals and the parking of the run: no approval is requested.
#[tokio::test]
async fn run_of_deleted_job_is_not_parked() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(MINUTE).await;
    let asking = stage.begun.next().await;
    let removed = stage.handle.remove_job(&job.id, Some(&asking.run.id)).await.expect("removed");
    assert!(removed.is_some_and(|removed| removed.caller_continues));
    let run = end_with_approvals(&stage, asking, &["a"]);
    let again = stage.begun.next().await;
    assert_eq!((&again.run.id, again.run.attempt), (&run.id, 1));
    assert_eq!(again.job.as_ref().map(|job| &job.id), Some(&job.id), "the job is known");
    assert!(stage.store.approvals_of_run(&run.id).await.expect("read").is_empty());
    again.succeed();
    assert_eq!(stage.ended(&run.id).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn parked_run_that_deletes_its_job_is_cancelled() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(MINUTE).await;
    let run = end_with_approvals(&stage, stage.begun.next().await, &["a"]);
    stage.parked(&run.id).await;
    let removed = stage.handle.remove_job(&job.id, Some(&run.id)).await.expect("removed");
    assert!(removed.is_some_and(|removed| !removed.caller_continues));
    assert_eq!(stage.ended(&run.id).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn run_that_deletes_another_job_cancels_its_runs() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    let asking = stage.add(every(MINUTE, json!({ "id": "asking" }))).await;
    stage.pass(MINUTE).await;
    let (first, second) = (stage.begun.next().await, stage.begun.next().await);
    let is_asking = first.run.job_id.as_ref() == Some(&asking.id);
    let (asks, other) = if is_asking { (first, second) } else { (second, first) };
    let removed = stage.handle.remove_job(&job.id, Some(&asks.run.id)).await.expect("removed");
    assert!(removed.is_some_and(|removed| removed.stopped_runs == 1 && !removed.caller_continues));
    assert!(other.cancel.is_cancelled() && !asks.cancel.is_cancelled());
}

/// A daily job at noon with this jitter. START is midnight.
fn daily(jitter_ms: i64) -> Value {
    let schedule =
        json!({ "kind": "cron", "expr": "0 12 * * *", "tz": "UTC", "jitterMs": jitter_ms });
    every(HOUR, json!({ "id": "spread", "schedule": schedule }))
}

/// The delay of a slot of `daily` with a jitter of 1 h.
async fn offset(stage: &Stage) -> i64 {
    let spread = stage.add(daily(HOUR)).await;
    let sharp = patch(stage, &spread.id, json!({ "schedule": { "jitterMs": 0 } })).await;
    let instant = |job: &rouse_core::Job| job.state.next_run_at.expect("a slot");
    let offset = instant(&spread).since(instant(&sharp));
    assert!(offset > 2 * MINUTE, "{offset}");
    stage.handle.remove_job(&spread.id, None).await.expect("removed");
    offset
}

#[tokio::test]
async fn new_jitter_repeats_no_slot() {
    let stage = Stage::new().await;
    let offset = offset(&stage).await;
    let job = stage.add(daily(0)).await;
    let noon = job.state.next_run_at.expect("a slot");
    stage.pass(noon.since(stage.now()) + MINUTE).await;
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
    let job = patch(&stage, &job.id, json!({ "schedule": { "jitterMs": HOUR } })).await;
    assert_eq!(job.state.next_run_at, Some(noon.plus_ms(24 * HOUR + offset)));
    stage.handle.clock_changed().await.expect("notified");
    stage.pass(2 * HOUR).await;
    assert_eq!(stage.runs_of(&job.id).await.len(), 1, "a clock check does not plan the slot again");
}

#[tokio::test]
async fn new_jitter_loses_no_slot() {
    let stage = Stage::new().await;
    let offset = offset(&stage).await;
    let job = stage.add(daily(HOUR)).await;
    let slot = job.state.next_run_at.expect("a slot");
    let noon = slot.plus_ms(-offset);
    stage.pass(noon.since(stage.now()) + MINUTE).await;
    let job = patch(&stage, &job.id, json!({ "schedule": { "jitterMs": null } })).await;
    assert_eq!(stage.runs_of(&job.id).await, [], "an edit fires nothing");
    assert_eq!(job.state.next_run_at, Some(slot), "the time without jitter has passed");
    stage.pass(offset).await;
    let slots: Vec<_> = stage.runs_of(&job.id).await.iter().map(|run| run.slot_at).collect();
    assert_eq!(slots, [Some(slot)]);
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(noon.plus_ms(24 * HOUR)));
}

#[tokio::test]
async fn new_jitter_repeats_no_one_shot() {
    let stage = Stage::new().await;
    let job = stage.add(once(stage.now().plus_ms(SECOND), json!({ "id": "spread" }))).await;
    stage.pass(2 * SECOND).await;
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
    let job = patch(&stage, &job.id, json!({ "schedule": { "jitterMs": HOUR } })).await;
    assert_eq!(job.state.next_run_at, None);
}

#[tokio::test]
async fn one_shot_with_future_slot_can_be_reenabled() {
    let stage = Stage::new().await;
    let at = stage.now().plus_ms(SECOND);
    let schedule = json!({ "kind": "at", "atMs": at.0, "jitterMs": HOUR });
    let job = stage.add(once(at, json!({ "id": "spread", "schedule": schedule }))).await;
    let slot = job.state.next_run_at.expect("a slot");
    stage.pass(MINUTE).await;
    patch(&stage, &job.id, json!({ "enabled": false })).await;
    let job = patch(&stage, &job.id, json!({ "enabled": true })).await;
    assert_eq!(job.state.next_run_at, Some(slot));
}
