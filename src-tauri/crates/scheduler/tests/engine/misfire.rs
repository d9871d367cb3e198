//! Missed slots: after a restart, and after a suspend.

use rouse_core::time::Clock as _;
use rouse_core::{Outcome, RunState, RunTrigger};
use rouse_scheduler::ManualRunMode;
use serde_json::json;

use crate::stage::{HOUR, MINUTE, START, ScriptedRun, Stage, every, execute_closed, once};

#[tokio::test]
async fn run_once_covers_all_missed_slots() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let stage = stage.killed_for(5 * HOUR + MINUTE * 30).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.trigger, begun.run.slot_count), (RunTrigger::CatchUp, 5));
    assert_eq!(begun.run.slot_at, Some(START.plus_ms(5 * HOUR)));
    assert_eq!(begun.run.late_by_ms(), Some(30 * MINUTE));
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(6 * HOUR)));
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
}

#[tokio::test]
async fn missed_one_shot_is_caught_up() {
    let stage = Stage::new().await;
    let job = stage.add(once(START.plus_ms(MINUTE), json!({}))).await;
    let stage = stage.killed_for(HOUR).await;
    let begun = stage.begun.next().await;
    assert_eq!(
        (begun.run.trigger, begun.run.slot_at),
        (RunTrigger::CatchUp, Some(START.plus_ms(MINUTE)))
    );
    assert_eq!(stage.stored(&job).await.state.next_run_at, None);
}

#[tokio::test]
async fn skip_records_missed_slots() {
    let stage = Stage::new().await;
    let skip = json!({ "policies": { "misfire": { "mode": "skip" } } });
    let job = stage.add(every(HOUR, skip)).await;
    let stage = stage.killed_for(5 * HOUR + 30 * MINUTE).await;
    stage.settle().await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!((runs.len(), runs[0].state, runs[0].slot_count), (1, RunState::Missed, 5));
    assert_eq!(runs[0].reason.as_deref(), Some("Passed while nothing could fire"));
    assert!(runs[0].finished_at.is_some());
    let stored = stage.stored(&job).await;
    assert_eq!(stored.state.last.state, Some(RunState::Missed));
    assert_eq!(stored.state.next_run_at, Some(START.plus_ms(6 * HOUR)));
}

#[tokio::test]
async fn run_all_runs_missed_slots_in_order() {
    let stage = Stage::new().await;
    let all = json!({ "policies": { "misfire": { "mode": "runAll", "limit": 3 } } });
    let job = stage.add(every(HOUR, all)).await;
    let stage = stage.killed_for(5 * HOUR + 30 * MINUTE).await;
    for hour in 3..=5 {
        let begun = stage.begun.next().await;
        assert_eq!(begun.run.slot_at, Some(START.plus_ms(hour * HOUR)));
        assert_eq!(stage.load().await.0, 1, "in sequence");
        let id = begun.run.id.clone();
        begun.succeed();
        stage.ended(&id).await;
    }
    let states = stage.states_of(&job).await;
    assert_eq!(
        states,
        [RunState::Missed, RunState::Succeeded, RunState::Succeeded, RunState::Succeeded]
    );
}

#[tokio::test]
async fn slot_later_than_allowed_is_missed() {
    let stage = Stage::new().await;
    let lateness = json!({ "policies": { "misfire": { "maxLatenessSeconds": 600 } } });
    let job = stage.add(every(HOUR, lateness)).await;
    let stage = stage.killed_for(HOUR + 11 * MINUTE).await;
    stage.settle().await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!(
        (runs[0].state, runs[0].reason.as_deref()),
        (RunState::Missed, Some("Later than the 10 min allowed"))
    );
}

/// A single permit, taken by an endless run, and a job queued behind that run.
async fn queued_behind_another(
    policies: serde_json::Value,
) -> (Stage, ScriptedRun, rouse_core::job::Job) {
    let stage = Stage::with_permits(1).await;
    stage.add(once(START.plus_ms(MINUTE), json!({ "id": "before" }))).await;
    let at = START.plus_ms(MINUTE + 1);
    let job = stage.add(once(at, json!({ "policies": policies }))).await;
    stage.pass(MINUTE).await;
    let before = stage.begun.next().await;
    stage.pass(1).await;
    assert_eq!(stage.states_of(&job).await, [RunState::Queued]);
    (stage, before, job)
}

#[tokio::test]
async fn slot_queued_longer_than_allowed_is_missed() {
    for (policies, reason) in [
        (json!({ "misfire": { "maxLatenessSeconds": 90 } }), "Later than the 1 min 30 s allowed"),
        (json!({ "misfire": { "mode": "skip" } }), "Queued until too late"),
    ] {
        let (stage, before, job) = queued_behind_another(policies).await;
        stage.pass(91_000).await;
        let id = before.run.id.clone();
        before.succeed();
        stage.ended(&id).await;
        stage.settle().await;
        let run = stage.runs_of(&job.id).await.remove(0);
        assert_eq!((run.state, run.reason.as_deref()), (RunState::Missed, Some(reason)));
        assert_eq!((run.started_at, stage.load().await), (None, (0, 0)), "the permit is free");
        let next = stage.add(once(stage.now().plus_ms(1), json!({ "id": "next" }))).await;
        stage.pass(1).await;
        assert_eq!(stage.begun.next().await.run.job_id, Some(next.id));
    }
}

#[tokio::test]
async fn slot_within_lateness_and_manual_run_start() {
    let late = json!({ "misfire": { "mode": "skip", "maxLatenessSeconds": 60 } });
    let (stage, before, job) = queued_behind_another(late).await;
    let by_hand = stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken");
    stage.pass(60_000).await;
    before.succeed();
    let slot = stage.begun.next().await;
    assert_eq!(slot.run.late_by_ms(), Some(60_000));
    stage.pass(HOUR).await;
    slot.succeed();
    assert_eq!(Some(stage.begun.next().await.run.id), by_hand);
}

#[tokio::test]
async fn start_some_seconds_late_is_on_time() {
    let stage = Stage::new().await;
    stage.add(every(HOUR, json!({ "policies": { "misfire": { "mode": "skip" } } }))).await;
    let stage = stage.killed_for(HOUR + 13_000).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.trigger, begun.run.late_by_ms()), (RunTrigger::Schedule, Some(13_000)));
}

#[tokio::test]
async fn suspend_over_slots_is_caught_up_once() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(100 * MINUTE + 1).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.slot_count, begun.run.trigger), (100, RunTrigger::CatchUp));
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(101 * MINUTE)));
}

#[tokio::test]
async fn unreadable_schedule_is_recorded_and_stops() {
    let stage = Stage::new().await;
    let cron =
        json!({ "schedule": { "kind": "cron", "expr": "* * * * *", "tz": "Europe/Berlin" } });
    let job = stage.add(every(MINUTE, cron)).await;
    let change = "UPDATE jobs SET definition = replace(definition, 'Europe/Berlin', 'Mars/Base')";
    let stage = stage.killed_and(0, async |path| execute_closed(path, change).await).await;
    stage.pass(MINUTE).await;
    let stored = stage.store.job(&job.id).await;
    let runs = stage.runs_of(&job.id).await;
    match stored {
        // Readable for the store, not for the scheduler.
        Ok(Some(stored)) => {
            assert_eq!(stored.state.next_run_at, None);
            assert_eq!(runs.iter().map(|run| run.state).collect::<Vec<_>>(), [RunState::Skipped]);
        }
        // Unreadable for the store, which has paused the job.
        Ok(None) | Err(_) => assert_eq!(runs, []),
    }
    stage.pass(10 * MINUTE).await;
    assert_eq!(stage.load().await, (0, 0));
    assert_eq!(stage.handle.problem(), None, "the broken job does not block the others");
}

#[tokio::test]
async fn catch_up_takes_half_the_permits_after_on_time_runs() {
    let stage = Stage::new().await;
    for n in 0..6 {
        stage.add(every(HOUR, json!({ "id": format!("late-{n}") }))).await;
    }
    let stage = stage.killed_for(HOUR + 30 * MINUTE).await;
    stage.settle().await;
    let mut late = stage.begun.take_all();
    assert_eq!((late.len(), stage.load().await), (2, (2, 4)), "half of four permits");

    for n in 0..3 {
        let at = stage.clock.now().plus_ms(MINUTE);
        stage.add(once(at, json!({ "id": format!("on-time-{n}") }))).await;
    }
    stage.pass(MINUTE).await;
    let on_time = stage.begun.take_all();
    assert_eq!(on_time.len(), 2, "half of the permits were free for on-time runs");
    late.pop().expect("a late run").succeed();
    let next = stage.begun.next().await;
    assert_eq!(next.run.trigger, RunTrigger::Schedule, "on-time runs precede late runs");
    next.succeed();
    on_time.into_iter().for_each(ScriptedRun::succeed);

    let mut made_up_for = 1;
    while let Some(begun) = late.pop() {
        assert_eq!(begun.run.trigger, RunTrigger::CatchUp);
        let id = begun.run.id.clone();
        begun.succeed();
        stage.ended(&id).await;
        made_up_for += 1;
        stage.settle().await;
        late.extend(stage.begun.take_all());
        assert!(late.len() <= 2, "never more than half at once");
    }
    assert_eq!(made_up_for, 6, "none is forgotten");
}

#[tokio::test]
async fn one_shot_never_fires_again() {
    let stage = Stage::new().await;
    let delete = json!({ "id": "deleted", "deleteAfterRun": true });
    let failing = stage.add(once(START.plus_ms(MINUTE), json!({ "id": "failing" }))).await;
    let deleted = stage.add(once(START.plus_ms(MINUTE), delete)).await;
    stage.pass(MINUTE).await;
    for _ in 0..2 {
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.end(Outcome::failed("no network"));
        stage.ended(&id).await;
    }
    stage.settle().await;
    assert_eq!(stage.stored(&failing).await.state.next_run_at, None);
    assert!(stage.store.job(&deleted.id).await.expect("read").is_none());

    let delete = json!({ "id": "skipped", "deleteAfterRun": true });
    let skipped = stage.add(once(START.plus_ms(2 * MINUTE), delete)).await;
    stage.handle.pause(None).await.expect("paused");
    stage.pass(MINUTE).await;
    stage.handle.resume().await.expect("resumed");
    stage.pass(10 * MINUTE).await;
    assert!(stage.begun.take_all().is_empty());
    assert_eq!(stage.states_of(&skipped).await, [RunState::Skipped]);
    let stored = stage.stored(&skipped).await;
    assert_eq!(stored.state.next_run_at, None, "the job did no work, so it is kept");
    let stage = stage.killed_for(HOUR).await;
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty(), "a restart does not plan the slot again");
    assert_eq!(stage.runs_of(&failing.id).await.len(), 1);
}

#[tokio::test]
async fn every_schedule_kind_supports_delete_after_run() {
    let stage = Stage::new().await;
    let interval = stage.add(every(MINUTE, json!({ "deleteAfterRun": true }))).await;
    let mut by_hand = every(HOUR, json!({ "id": "by-hand", "deleteAfterRun": true }));
    by_hand["schedule"] = json!({ "kind": "manual" });
    let by_hand = stage.add(by_hand).await;
    let mut cron = every(HOUR, json!({ "id": "cron", "deleteAfterRun": true }));
    cron["schedule"] = json!({ "kind": "cron", "expr": "* * * * *", "tz": "UTC" });
    let cron = stage.add(cron).await;
    stage.handle.run_now(&by_hand.id, ManualRunMode::Force).await.expect("taken");
    stage.pass(MINUTE).await;
    for _ in 0..3 {
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.succeed();
        stage.ended(&id).await;
    }
    stage.pass(10 * MINUTE).await;
    assert!(stage.begun.take_all().is_empty());
    for job in [interval, by_hand, cron] {
        assert!(stage.store.job(&job.id).await.expect("read").is_none(), "{}", job.id);
        assert_eq!(stage.states_of(&job).await, [RunState::Succeeded]);
    }
}

/// The notifications of a job's missed runs, the oldest first.
async fn missed_notices(stage: &Stage, job: &rouse_core::job::Job) -> Vec<String> {
    let mut notices = Vec::new();
    for run in stage.runs_of(&job.id).await {
        if run.state == RunState::Missed {
            let deliveries = stage.store.deliveries_of(&run.id).await.expect("read");
            notices.extend(deliveries.into_iter().map(|delivery| delivery.body));
        }
    }
    notices
}

#[tokio::test]
async fn missed_one_shot_names_its_time_and_command() {
    let stage = Stage::new().await;
    let skip = json!({ "policies": { "misfire": { "mode": "skip" } } });
    let job = stage.add(once(START.plus_ms(9 * HOUR), skip)).await;
    let stage = stage.killed_for(10 * HOUR).await;
    stage.settle().await;
    let expected = "Missed: 5 Jan 2026 09:00 (passed while nothing could fire); \
                to run it now: rouse cron run Look --force";
    assert_eq!(missed_notices(&stage, &job).await, [expected]);
}

#[tokio::test]
async fn missed_slots_are_announced_once_until_a_run() {
    let stage = Stage::new().await;
    let skip = json!({ "policies": { "misfire": { "mode": "skip" }, "notify": "failure" } });
    let job = stage.add(every(HOUR, skip)).await;
    let silent =
        json!({ "id": "silent", "policies": { "misfire": { "mode": "skip" }, "notify": "never" } });
    let silent = stage.add(every(HOUR, silent)).await;
    let stage = stage.killed_for(5 * HOUR + 30 * MINUTE).await;
    stage.settle().await;
    let notices = missed_notices(&stage, &job).await;
    assert_eq!(notices.len(), 1);
    assert!(notices[0].starts_with("Missed: 5 slots up to 5 Jan 2026 05:00 ("), "{notices:?}");
    let stage = stage.killed_for(2 * HOUR).await;
    stage.settle().await;
    assert_eq!(missed_notices(&stage, &job).await.len(), 1, "still missing slots");
    stage.pass(30 * MINUTE).await;
    stage.begun.next().await.succeed();
    stage.begun.next().await.succeed();
    stage.settle().await;
    let stage = stage.killed_for(HOUR + 30 * MINUTE).await;
    stage.settle().await;
    assert_eq!(missed_notices(&stage, &job).await.len(), 2, "the job had run in between");
    assert_eq!(missed_notices(&stage, &silent).await, [""; 0]);
}

#[tokio::test]
async fn late_queued_run_is_announced_overlap_is_not() {
    let late = json!({ "misfire": { "maxLatenessSeconds": 60 } });
    let (stage, before, job) = queued_behind_another(late).await;
    stage.pass(HOUR).await;
    let id = before.run.id.clone();
    before.succeed();
    stage.ended(&id).await;
    stage.settle().await;
    assert_eq!(missed_notices(&stage, &job).await.len(), 1);

    let minutely = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(MINUTE).await;
    stage.pass(MINUTE).await;
    let skipped = stage.runs_of(&minutely.id).await.remove(1);
    assert_eq!(skipped.state, RunState::Skipped);
    assert_eq!(stage.store.deliveries_of(&skipped.id).await.expect("read"), []);
}

#[tokio::test]
async fn missed_slot_of_the_next_day_is_announced() {
    let stage = Stage::new().await;
    let skip = json!({ "policies": { "misfire": { "mode": "skip" } } });
    let job = stage.add(every(24 * HOUR, skip)).await;
    let stage = stage.killed_for(25 * HOUR).await;
    stage.settle().await;
    assert_eq!(missed_notices(&stage, &job).await.len(), 1);
    let stage = stage.killed_for(24 * HOUR).await;
    stage.settle().await;
    assert_eq!(missed_notices(&stage, &job).await.len(), 2);
}

#[tokio::test]
async fn missed_reminder_is_a_system_event_for_main() {
    let stage = Stage::new().await;
    let reminder = json!({
        "payload": { "kind": "systemEvent", "text": "Stretch" },
        "policies": { "misfire": { "mode": "skip" } },
    });
    stage.add(once(START.plus_ms(HOUR), reminder)).await;
    let stage = stage.killed_for(2 * HOUR).await;
    stage.settle().await;
    let lines = stage.store.pending_system_events(1_000).await.expect("read");
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].starts_with("Cron Look: missed: 5 Jan 2026 01:00"), "{texts:?}");
    assert!(texts[0].ends_with("Reminder: Stretch"), "{texts:?}");
}
