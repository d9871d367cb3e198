//! Each place on the grid of a job, which is its slot without its jitter, comes once: whatever is changed meanwhile.

use rouse_core::{Job, RunState, UnixMs};
use rouse_scheduler::SchedulerError;
use serde_json::{Value, json};

use crate::stage::{HOUR, MINUTE, SECOND, Stage, once};
use crate::zones::{at, built_in, change_to, cron, newer, next, vancouver};

async fn patch(stage: &Stage, job: &Job, patch: Value) -> Job {
    stage.handle.update_job(&job.id, patch, None).await.expect("saved")
}

async fn spread(stage: &Stage, job: &Job, jitter_ms: i64) -> Job {
    patch(stage, job, json!({ "schedule": { "jitterMs": jitter_ms } })).await
}

async fn off_and_on(stage: &Stage, job: &Job) -> Job {
    patch(stage, job, json!({ "enabled": false })).await;
    patch(stage, job, json!({ "enabled": true })).await
}

async fn set_back(stage: &Stage, ms: i64) {
    stage.clock.set(stage.now().plus_ms(-ms));
    stage.handle.clock_changed().await.expect("told");
    stage.settle().await;
}

/// How many slots the rows of the job stand for.
async fn decided(stage: &Stage, job: &Job) -> u32 {
    stage.runs_of(&job.id).await.iter().map(|run| run.stands_for).sum()
}

/// Lets so many minutes pass; what begins succeeds at once.
async fn live(stage: &Stage, minutes: i64) {
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

/// A job of noon that has fired a minute ago without jitter, and when that was. The offset of 1 h is some twenty minutes.
async fn fired_at_noon() -> (Stage, Job, UnixMs) {
    let stage = Stage::new().await;
    let mut document = cron("spread", "0 12 * * *", "UTC");
    document["schedule"]["jitterMs"] = json!(0);
    let job = stage.add(document).await;
    let noon = job.state.next_run_at.expect("a slot");
    stage.pass(noon.since(stage.now())).await;
    live(&stage, 1).await;
    assert_eq!(decided(&stage, &job).await, 1);
    (stage, job, noon)
}

async fn came_once(stage: &Stage, job: &Job, case: &str) {
    stage.pass(3 * HOUR).await;
    assert_eq!(decided(stage, job).await, 1, "{case}");
}

#[tokio::test]
async fn a_slot_that_another_jitter_has_moved_does_not_come_again_when_its_job_goes_off_and_on() {
    let (stage, job, noon) = fired_at_noon().await;
    let tomorrow = spread(&stage, &job, HOUR).await.state.next_run_at;
    assert!(tomorrow > Some(noon.plus_ms(24 * HOUR)));
    let job = off_and_on(&stage, &job).await;
    assert_eq!(job.state.next_run_at, tomorrow);
    came_once(&stage, &job, "off and on").await;
}

#[tokio::test]
async fn nor_when_the_jitter_changes_while_the_job_is_off() {
    let (stage, job, _) = fired_at_noon().await;
    patch(&stage, &job, json!({ "enabled": false })).await;
    spread(&stage, &job, HOUR).await;
    patch(&stage, &job, json!({ "enabled": true })).await;
    came_once(&stage, &job, "off, spread, on").await;
}

#[tokio::test]
async fn nor_when_pattern_and_jitter_change_in_one() {
    let (stage, job, _) = fired_at_noon().await;
    let schedule = json!({ "expr": "0 12 * * *", "tz": "Etc/UTC", "jitterMs": HOUR });
    patch(&stage, &job, json!({ "schedule": schedule })).await;
    came_once(&stage, &job, "another schedule").await;
}

#[tokio::test]
async fn nor_when_the_job_is_removed_and_comes_back_with_another_jitter() {
    let (stage, job, noon) = fired_at_noon().await;
    let removed = stage.handle.remove_job(&job.id, None).await.expect("removed").expect("there");
    let mut back = removed.job;
    back.schedule.jitter_ms = Some(u32::try_from(HOUR).expect("small"));
    let job = stage.handle.add_job(back).await.expect("an undo");
    assert!(job.state.next_run_at > Some(noon.plus_ms(24 * HOUR)));
    came_once(&stage, &job, "removed and back").await;
}

#[tokio::test]
async fn a_slot_that_is_to_come_comes_though_its_job_is_removed_and_comes_back() {
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
async fn nor_when_the_clock_is_set_back_before_or_after_the_jitter_changes() {
    for (before, after) in [(0, 30 * MINUTE), (30 * MINUTE, 0), (MINUTE + SECOND, 5 * MINUTE)] {
        let (stage, job, _) = fired_at_noon().await;
        set_back(&stage, before).await;
        spread(&stage, &job, HOUR).await;
        set_back(&stage, after).await;
        came_once(&stage, &job, &format!("{before} {after}")).await;
    }
}

#[tokio::test]
async fn a_one_shot_that_has_fired_cannot_be_switched_on_again_with_another_jitter() {
    let stage = Stage::new().await;
    let job = stage.add(once(stage.now().plus_ms(SECOND), json!({ "id": "spread" }))).await;
    live(&stage, 1).await;
    assert_eq!(decided(&stage, &job).await, 1);
    patch(&stage, &job, json!({ "enabled": false })).await;
    spread(&stage, &job, HOUR).await;
    let on = stage.handle.update_job(&job.id, json!({ "enabled": true }), None).await;
    let message = "schedule.atMs: has passed: give it a time in the future";
    match on {
        Err(SchedulerError::Job(error)) => assert_eq!(error.to_string(), message),
        other => panic!("{other:?}"),
    }
}

/// A job of half past seven in Vancouver, by rules by which that comes an hour earlier than by the old ones, that has
/// fired a minute ago.
async fn fired_by_new_rules() -> (Stage, Job) {
    let (stage, job) = vancouver("2026-11-10T14:00:00Z", newer()).await;
    stage.pass(30 * MINUTE).await;
    live(&stage, 1).await;
    assert_eq!(decided(&stage, &job).await, 1);
    (stage, job)
}

#[tokio::test]
async fn a_time_that_has_fired_comes_not_again_by_other_rules_and_another_jitter() {
    let (stage, job) = fired_by_new_rules().await;
    spread(&stage, &job, HOUR).await;
    change_to(&stage, built_in()).await;
    came_once(&stage, &job, "jitter, then rules").await;

    let (stage, job) = fired_by_new_rules().await;
    change_to(&stage, built_in()).await;
    spread(&stage, &job, HOUR).await;
    off_and_on(&stage, &job).await;
    came_once(&stage, &job, "rules, then jitter, off and on").await;
}

#[tokio::test]
async fn a_time_that_new_rules_show_again_does_not_come_again_when_its_job_goes_off_and_on() {
    let (stage, job) = fired_by_new_rules().await;
    change_to(&stage, built_in()).await;
    let job = off_and_on(&stage, &job).await;
    assert_eq!(job.state.next_run_at, Some(at("2026-11-11T07:30:00-08:00")));
    came_once(&stage, &job, "rules, off and on").await;
}

#[tokio::test]
async fn nor_when_rouse_starts_anew_and_the_clock_is_set_back() {
    let (stage, job) = fired_by_new_rules().await;
    change_to(&stage, built_in()).await;
    let stage = stage.killed_for(SECOND).await;
    set_back(&stage, 10 * MINUTE).await;
    assert_eq!(next(&stage, &job).await, Some(at("2026-11-11T07:30:00-08:00")));
    came_once(&stage, &job, "rules, a start, a step back").await;
}

/// Its time without jitter has passed when the rules change, and it still has its instant.
#[tokio::test]
async fn a_slot_that_kept_its_instant_comes_once_also_when_the_rules_change() {
    for (before, after) in [(built_in(), newer()), (newer(), built_in())] {
        let (stage, _) = vancouver("2026-11-10T12:00:00Z", before).await;
        let mut document = cron("spread", "0 7 * * *", "America/Vancouver");
        document["schedule"]["jitterMs"] = json!(HOUR);
        let job = stage.add(document).await;
        let slot = job.state.next_run_at.expect("a slot");
        stage.pass(slot.since(stage.now()) - SECOND).await;
        assert_eq!(spread(&stage, &job, 0).await.state.next_run_at, Some(slot));
        change_to(&stage, after).await;
        stage.pass(5 * HOUR).await;
        assert_eq!(decided(&stage, &job).await, 1);
    }
}

/// What a jitter of 1 h makes of the slots of the job `spread`.
async fn offset(stage: &Stage) -> i64 {
    let mut document = cron("spread", "0 12 * * *", "UTC");
    document["schedule"]["jitterMs"] = json!(HOUR);
    let job = stage.add(document).await;
    stage.handle.remove_job(&job.id, None).await.expect("removed");
    job.state.next_run_at.expect("a slot").since(stage.now()) - 12 * HOUR
}

/// The slots of a minute lie closer together than the two offsets. Those that the shorter one puts into the past are
/// decided with the one that keeps its instant.
#[tokio::test]
async fn slots_closer_together_than_their_offsets_are_decided_once_each() {
    for misfire in ["skip", "runOnce", "runAll"] {
        let stage = Stage::new().await;
        let offset = offset(&stage).await;
        // The newest of them that were over when the job was made.
        let over = stage.now().plus_ms(-offset).0.div_euclid(MINUTE);
        let came = |offset: i64| stage.now().plus_ms(-offset).0.div_euclid(MINUTE) - over;
        let mut document = cron("spread", "* * * * *", "UTC");
        document["policies"] = json!({ "misfire": { "mode": misfire } });
        document["schedule"]["jitterMs"] = json!(HOUR);
        let job = stage.add(document).await;
        live(&stage, 40).await;
        let kept = next(&stage, &job).await.expect("a slot");
        assert_eq!(spread(&stage, &job, 0).await.state.next_run_at, Some(kept));
        assert_eq!(i64::from(decided(&stage, &job).await), came(offset), "an edit fires nothing");
        pass(&stage, kept.since(stage.now())).await;
        live(&stage, 5).await;
        assert_eq!(i64::from(decided(&stage, &job).await), came(0), "{misfire}");
        // The other way nothing comes until the longer offset has passed, and then each of them.
        spread(&stage, &job, HOUR).await;
        live(&stage, 70).await;
        assert_eq!(i64::from(decided(&stage, &job).await), came(offset), "{misfire}");
        let mut runs = stage.runs_of(&job.id).await;
        runs.retain(|run| run.state != RunState::Succeeded);
        assert_eq!(runs, [], "{misfire}");
    }
}
