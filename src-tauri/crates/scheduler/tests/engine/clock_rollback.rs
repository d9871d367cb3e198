//! Clock rollbacks while Rouse is off.

use rouse_core::channel::ChannelName;
use rouse_core::time::Clock as _;
use rouse_core::{Job, Outcome, Run, UnixMs};
use rouse_scheduler::ManualRunMode;
use serde_json::{Value, json};

use crate::pending_approvals::end_with_approvals;
use crate::stage::{HOUR, MINUTE, START, Stage, every};

const DAY: i64 = 24 * HOUR;

#[tokio::test]
async fn rollback_while_off_delays_no_job() {
    let stage = Stage::new().await;
    let job = stage.add(every(DAY, json!({}))).await;
    stage.clock.set(START.plus_ms(400 * DAY));
    stage.begun.next().await.succeed();
    stage.settle().await;
    let planned = stage.stored(&job).await.state.next_run_at;
    assert_eq!(planned, Some(START.plus_ms(401 * DAY)));

    let clock = stage.clock.clone();
    let stage = stage.killed_and(0, async |_| clock.set(START.plus_ms(2 * HOUR))).await;
    stage.settle().await;
    assert_eq!(stage.clock.now(), START.plus_ms(2 * HOUR));
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(DAY)));
    stage.pass(DAY).await;
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(DAY)));
}

#[tokio::test]
async fn job_added_by_a_clock_ahead_starts_after_rollback() {
    let stage = Stage::new().await;
    stage.clock.set(START.plus_ms(400 * DAY));
    let job = stage.add(every(HOUR, json!({}))).await;
    let chosen = START.plus_ms(500 * DAY);
    let schedule = json!({ "kind": "every", "everyMs": HOUR, "anchorMs": chosen.0 });
    let later = stage.add(every(HOUR, json!({ "id": "later", "schedule": schedule }))).await;

    let clock = stage.clock.clone();
    let stage = stage.killed_and(0, async |_| clock.set(START.plus_ms(DAY))).await;
    stage.settle().await;
    let first = START.plus_ms(DAY + HOUR);
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(first));
    assert_eq!(
        stage.stored(&later).await.state.next_run_at,
        Some(chosen),
        "a person set the pause"
    );
    stage.pass(HOUR).await;
    let run = stage.begun.next().await;
    assert_eq!(run.run.slot_at, Some(first));
    run.succeed();
    stage.settle().await;
    let second = Some(first.plus_ms(HOUR));
    assert_eq!(stage.stored(&job).await.state.next_run_at, second, "still missing slots");
}

/// Runs the job by hand, with this result.
async fn answers(stage: &Stage, job: &Job, result: Value) {
    let id =
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    let begun = stage.begun.next().await;
    begun.end(Outcome { result: Some(result), ..Outcome::succeeded("Done.") });
    stage.ended(&id).await;
}

/// A result, an open approval and a pause of two hours, all made by a clock 400 days ahead.
async fn leave_far_ahead(stage: &Stage) -> (Job, Run) {
    stage.clock.set(START.plus_ms(400 * DAY));
    let job = stage.add(every(DAY, json!({}))).await;
    answers(stage, &job, json!("ahead")).await;
    let payload = json!({ "kind": "agentTurn", "message": "Tidy up" });
    let asking = stage.add(every(DAY, json!({ "id": "asking", "payload": payload }))).await;
    stage.handle.run_now(&asking.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    let parked = end_with_approvals(stage, stage.begun.next().await, &["a"]);
    stage.parked(&parked.id).await;
    stage.handle.pause(Some(stage.now().plus_ms(2 * HOUR))).await.expect("paused");
    (job, parked)
}

/// Checks that everything of `leave_far_ahead` is as far from now as at its creation.
async fn check_advanced(stage: &Stage, job: &Job, parked: &Run) {
    stage.settle().await;
    let now = stage.now();
    let due = stage.store.due_deliveries(&ChannelName::notification(), now, 9).await.expect("read");
    let due: Vec<_> = due.into_iter().filter_map(|delivery| delivery.run_id).collect();
    assert_eq!(
        (due.len(), due.contains(&parked.id)),
        (2, true),
        "result and approval are delivered now"
    );
    let expiry = stage.store.next_approval_expiry().await.expect("read").expect("an approval");
    assert_eq!(
        expiry,
        now.plus_ms(30 * MINUTE),
        "and there is as much time for the answer as there was"
    );
    let pause = stage.handle.status().await.expect("a status").pause.expect("a pause");
    assert_eq!((pause.since, pause.until), (now, Some(now.plus_ms(2 * HOUR))));
    let newest = || async { stage.runs_of(&job.id).await.pop().expect("a run") };
    assert!(newest().await.created_at <= now);
    stage.clock.advance(1);
    answers(stage, job, json!("right")).await;
    assert_eq!(stage.store.last_result(&job.id).await.expect("read"), Some(json!("right")));
    assert_eq!(newest().await.created_at, now.plus_ms(1));
    stage.pass(2 * HOUR).await;
    assert_eq!(stage.handle.status().await.expect("a status").pause, None);
}

#[tokio::test]
async fn rollback_while_off_advances_future_instants() {
    let stage = Stage::new().await;
    let (job, parked) = leave_far_ahead(&stage).await;
    let clock = stage.clock.clone();
    let stage = stage.killed_and(0, async |_| clock.set(START.plus_ms(HOUR))).await;
    check_advanced(&stage, &job, &parked).await;
}

#[tokio::test]
async fn rollback_while_running_advances_future_instants() {
    let stage = Stage::new().await;
    let (job, parked) = leave_far_ahead(&stage).await;
    stage.clock.set(START.plus_ms(HOUR));
    check_advanced(&stage, &job, &parked).await;
}

/// As on a computer without a clock battery, before the network sets the time.
#[tokio::test]
async fn clock_long_ago_moves_no_instant() {
    for starts_right in [false, true] {
        let stage = Stage::new().await;
        let payload = json!({ "kind": "agentTurn", "message": "Tidy up" });
        let asking = stage.add(every(DAY, json!({ "id": "asking", "payload": payload }))).await;
        stage
            .handle
            .run_now(&asking.id, ManualRunMode::Force)
            .await
            .expect("accepted")
            .expect("a run");
        let parked = end_with_approvals(&stage, stage.begun.next().await, &["a"]);
        stage.parked(&parked.id).await;
        let until = stage.now().plus_ms(2 * HOUR);
        stage.handle.pause(Some(until)).await.expect("paused");
        let (began, created) = (stage.now(), parked.created_at);
        let expiry = stage.store.next_approval_expiry().await.expect("read").expect("an approval");

        let clock = stage.clock.clone();
        let year_2000 = UnixMs(946_684_800_000);
        let stage = stage.killed_and(0, async |_| clock.set(year_2000)).await;
        stage.settle().await;
        stage.pass(MINUTE).await;
        let right = began.plus_ms(5 * MINUTE);
        let stage = if starts_right {
            stage.killed_and(0, async |_| clock.set(right)).await
        } else {
            clock.set(right);
            stage
        };
        stage.settle().await;
        assert_eq!(stage.store.next_approval_expiry().await.expect("read"), Some(expiry));
        let pause = stage.handle.status().await.expect("a status").pause.expect("a pause");
        assert_eq!((pause.since, pause.until), (began, Some(until)));
        let run = stage.store.run(&parked.id).await.expect("read").expect("a run");
        assert_eq!(run.created_at, created);
    }
}

/// The pause began by the right clock.
#[tokio::test]
async fn rollback_keeps_the_length_of_a_pause() {
    for at_start in [false, true] {
        let stage = Stage::new().await;
        stage.handle.pause(None).await.expect("paused");
        stage.clock.set(START.plus_ms(5 * MINUTE + 400 * DAY));
        stage.handle.pause(Some(stage.now().plus_ms(2 * HOUR))).await.expect("given an end");
        let back = START.plus_ms(6 * MINUTE);
        let clock = stage.clock.clone();
        let stage = if at_start {
            stage.killed_and(0, async |_| clock.set(back)).await
        } else {
            clock.set(back);
            stage
        };
        stage.settle().await;
        let pause = stage.handle.status().await.expect("a status").pause.expect("a pause");
        assert_eq!((pause.since, pause.until), (START, Some(back.plus_ms(2 * HOUR))));
    }
}

#[tokio::test]
async fn skips_after_a_rollback_share_a_row_apart() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.handle.pause(None).await.expect("paused");
    stage.clock.set(START.plus_ms(400 * DAY));
    stage.settle().await;
    stage.clock.set(START.plus_ms(MINUTE - 1));
    stage.settle().await;
    let ahead = stage.runs_of(&job.id).await.len();
    for _ in 0..5 {
        stage.pass(MINUTE).await;
    }
    let runs = stage.runs_of(&job.id).await;
    assert_eq!((runs.len(), runs[ahead].slot_count), (ahead + 1, 5));
}
