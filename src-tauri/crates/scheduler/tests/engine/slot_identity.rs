//! Each slot of the schedule grid fires once, across changes of jitter, rules, clock and job.

use rouse_core::{Job, RunState, UnixMs};
use rouse_scheduler::SchedulerError;
use serde_json::{Value, json};

use crate::stage::{HOUR, MINUTE, SECOND, Stage, once};
use crate::zone_rules::{at, built_in, change_to, cron, newer, next, vancouver};

async fn patch(stage: &Stage, job: &Job, patch: Value) -> Job {
    stage.handle.update_job(&job.id, patch, None).await.expect("saved")
}

async fn set_jitter(stage: &Stage, job: &Job, jitter_ms: i64) -> Job {
    patch(stage, job, json!({ "schedule": { "jitterMs": jitter_ms } })).await
}

async fn reenable(stage: &Stage, job: &Job) -> Job {
    patch(stage, job, json!({ "enabled": false })).await;
    patch(stage, job, json!({ "enabled": true })).await
}

async fn roll_back(stage: &Stage, ms: i64) {
    stage.clock.set(stage.now().plus_ms(-ms));
    stage.handle.clock_changed().await.expect("notified");
    stage.settle().await;
}

/// The number of slots that the rows of the job stand for.
async fn count_slots(stage: &Stage, job: &Job) -> u32 {
    stage.runs_of(&job.id).await.iter().map(|run| run.slot_count).sum()
}

/// Lets minutes pass; started runs succeed at once.
async fn pass_minutes(stage: &Stage, minutes: i64) {
    for _ in 0..minutes {
        pass(stage, MINUTE).await;
    }
}

async fn pass(stage: &Stage, ms: i64) {
    stage.pass(ms).await;
    for begun in stage.begun.take_all() {
        let id = begun.run.id.clone();
        begun.succeed();
        stage.ended(&id).await;
    }
}

/// A daily job at noon that fired a minute ago without jitter, and the slot. The delay of a jitter of 1 h is about
/// twenty minutes.
async fn fired_at_noon() -> (Stage, Job, UnixMs) {
    let stage = Stage::new().await;
    let mut document = cron("spread", "0 12 * * *", "UTC");
    document["schedule"]["jitterMs"] = json!(0);
    let job = stage.add(document).await;
    let noon = job.state.next_run_at.expect("a slot");
    stage.pass(noon.since(stage.now())).await;
    pass_minutes(&stage, 1).await;
    assert_eq!(count_slots(&stage, &job).await, 1);
    (stage, job, noon)
}

async fn check_fired_once(stage: &Stage, job: &Job, case: &str) {
    stage.pass(3 * HOUR).await;
    assert_eq!(count_slots(stage, job).await, 1, "{case}");
}

#[tokio::test]
async fn slot_moved_by_jitter_is_not_repeated_by_reenabling() {
    let (stage, job, noon) = fired_at_noon().await;
    let tomorrow = set_jitter(&stage, &job, HOUR).await.state.next_run_at;
    assert!(tomorrow > Some(noon.plus_ms(24 * HOUR)));
    let job = reenable(&stage, &job).await;
    assert_eq!(job.state.next_run_at, tomorrow);
    check_fired_once(&stage, &job, "off and on").await;
}

#[tokio::test]
async fn slot_is_not_repeated_by_jitter_while_disabled() {
    let (stage, job, _) = fired_at_noon().await;
    patch(&stage, &job, json!({ "enabled": false })).await;
    set_jitter(&stage, &job, HOUR).await;
    patch(&stage, &job, json!({ "enabled": true })).await;
    check_fired_once(&stage, &job, "off, spread, on").await;
}

#[tokio::test]
async fn slot_is_not_repeated_by_pattern_and_jitter() {
    let (stage, job, _) = fired_at_noon().await;
    let schedule = json!({ "expr": "0 12 * * *", "tz": "Etc/UTC", "jitterMs": HOUR });
    patch(&stage, &job, json!({ "schedule": schedule })).await;
    check_fired_once(&stage, &job, "another schedule").await;
}

#[tokio::test]
async fn slot_is_not_repeated_by_restore_with_jitter() {
    let (stage, job, noon) = fired_at_noon().await;
    let removed = stage.handle.remove_job(&job.id, None).await.expect("removed").expect("there");
    let mut back = removed.job;
    back.schedule.jitter_ms = Some(u32::try_from(HOUR).expect("small"));
    let job = stage.handle.add_job(back).await.expect("an undo");
    assert!(job.state.next_run_at > Some(noon.plus_ms(24 * HOUR)));
    check_fired_once(&stage, &job, "removed and back").await;
}

#[tokio::test]
async fn next_slot_survives_deletion_and_restore() {
    let stage = Stage::new().await;
    let mut document = cron("spread", "0 12 * * *", "UTC");
    document["schedule"]["jitterMs"] = json!(HOUR);
    let job = stage.add(document).await;
    let slot = job.state.next_run_at.expect("a slot");
    stage.pass(slot.since(stage.now())).await;
    stage.pass(24 * HOUR - SECOND).await;
    let removed = stage.handle.remove_job(&job.id, None).await.expect("removed").expect("there");
    let job = stage.handle.add_job(removed.job).await.expect("an undo");
    assert_eq!(job.state.next_run_at, Some(slot.plus_ms(24 * HOUR)));
}

#[tokio::test]
async fn slot_is_not_repeated_by_rollback_and_jitter() {
    for (before, after) in [(0, 30 * MINUTE), (30 * MINUTE, 0), (MINUTE + SECOND, 5 * MINUTE)] {
        let (stage, job, _) = fired_at_noon().await;
        roll_back(&stage, before).await;
        set_jitter(&stage, &job, HOUR).await;
        roll_back(&stage, after).await;
        check_fired_once(&stage, &job, &format!("{before} {after}")).await;
    }
}

#[tokio::test]
async fn fired_one_shot_cannot_be_reenabled_by_jitter() {
    let stage = Stage::new().await;
    let job = stage.add(once(stage.now().plus_ms(SECOND), json!({ "id": "spread" }))).await;
    pass_minutes(&stage, 1).await;
    assert_eq!(count_slots(&stage, &job).await, 1);
    patch(&stage, &job, json!({ "enabled": false })).await;
    set_jitter(&stage, &job, HOUR).await;
    let on = stage.handle.update_job(&job.id, json!({ "enabled": true }), None).await;
    let message = "schedule.atMs: has passed: choose a time in the future";
    match on {
        Err(SchedulerError::Job(error)) => assert_eq!(error.to_string(), message),
        other => panic!("{other:?}"),
    }
}

/// A job at 07:30 in Vancouver that fired a minute ago by new rules, an hour earlier than by the old rules.
async fn fired_by_new_rules() -> (Stage, Job) {
    let (stage, job) = vancouver("2026-11-10T14:00:00Z", newer()).await;
    stage.pass(30 * MINUTE).await;
    pass_minutes(&stage, 1).await;
    assert_eq!(count_slots(&stage, &job).await, 1);
    (stage, job)
}

#[tokio::test]
async fn slot_is_not_repeated_by_rules_and_jitter() {
    let (stage, job) = fired_by_new_rules().await;
    set_jitter(&stage, &job, HOUR).await;
    change_to(&stage, built_in()).await;
    check_fired_once(&stage, &job, "jitter, then rules").await;

    let (stage, job) = fired_by_new_rules().await;
    change_to(&stage, built_in()).await;
    set_jitter(&stage, &job, HOUR).await;
    reenable(&stage, &job).await;
    check_fired_once(&stage, &job, "rules, then jitter, off and on").await;
}

#[tokio::test]
async fn slot_is_not_repeated_by_rules_and_reenabling() {
    let (stage, job) = fired_by_new_rules().await;
    change_to(&stage, built_in()).await;
    let job = reenable(&stage, &job).await;
    assert_eq!(job.state.next_run_at, Some(at("2026-11-11T07:30:00-08:00")));
    check_fired_once(&stage, &job, "rules, off and on").await;
}

#[tokio::test]
async fn slot_is_not_repeated_by_rules_restart_and_rollback() {
    let (stage, job) = fired_by_new_rules().await;
    change_to(&stage, built_in()).await;
    let stage = stage.killed_for(SECOND).await;
    roll_back(&stage, 10 * MINUTE).await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-11T07:30:00-08:00")));
    check_fired_once(&stage, &job, "rules, a start, a step back").await;
}

/// The time without jitter has passed when the rules change, and the slot keeps the instant.
#[tokio::test]
async fn slot_that_kept_its_instant_fires_once_by_new_rules() {
    for (before, after) in [(built_in(), newer()), (newer(), built_in())] {
        let (stage, _) = vancouver("2026-11-10T12:00:00Z", before).await;
        let mut document = cron("spread", "0 7 * * *", "America/Vancouver");
        document["schedule"]["jitterMs"] = json!(HOUR);
        let job = stage.add(document).await;
        let slot = job.state.next_run_at.expect("a slot");
        stage.pass(slot.since(stage.now()) - SECOND).await;
        assert_eq!(set_jitter(&stage, &job, 0).await.state.next_run_at, Some(slot));
        change_to(&stage, after).await;
        stage.pass(5 * HOUR).await;
        assert_eq!(count_slots(&stage, &job).await, 1);
    }
}

/// The delay of a jitter of 1 h for the job `spread`.
async fn offset(stage: &Stage) -> i64 {
    let mut document = cron("spread", "0 12 * * *", "UTC");
    document["schedule"]["jitterMs"] = json!(HOUR);
    let job = stage.add(document).await;
    stage.handle.remove_job(&job.id, None).await.expect("removed");
    job.state.next_run_at.expect("a slot").since(stage.now()) - 12 * HOUR
}

/// Minutely slots are closer together than the two delays. Slots that the shorter delay puts into the past are decided
/// with the slot that keeps its instant.
#[tokio::test]
async fn slots_closer_than_their_offsets_fire_once_each() {
    for misfire in ["skip", "runOnce", "runAll"] {
        let stage = Stage::new().await;
        let offset = offset(&stage).await;
        // The newest slot before the job was added.
        let over = stage.now().plus_ms(-offset).0.div_euclid(MINUTE);
        let came = |offset: i64| stage.now().plus_ms(-offset).0.div_euclid(MINUTE) - over;
        let mut document = cron("spread", "* * * * *", "UTC");
        document["policies"] = json!({ "misfire": { "mode": misfire } });
        document["schedule"]["jitterMs"] = json!(HOUR);
        let job = stage.add(document).await;
        pass_minutes(&stage, 40).await;
        let kept = next(&stage, &job).await.expect("a slot");
        assert_eq!(set_jitter(&stage, &job, 0).await.state.next_run_at, Some(kept));
        assert_eq!(
            i64::from(count_slots(&stage, &job).await),
            came(offset),
            "an edit fires nothing"
        );
        pass(&stage, kept.since(stage.now())).await;
        pass_minutes(&stage, 5).await;
        assert_eq!(i64::from(count_slots(&stage, &job).await), came(0), "{misfire}");
        // With the longer delay, no slot fires until the delay has passed; then each slot fires.
        set_jitter(&stage, &job, HOUR).await;
        pass_minutes(&stage, 70).await;
        assert_eq!(i64::from(count_slots(&stage, &job).await), came(offset), "{misfire}");
        let mut runs = stage.runs_of(&job.id).await;
        runs.retain(|run| run.state != RunState::Succeeded);
        assert_eq!(runs, [], "{misfire}");
    }
}
