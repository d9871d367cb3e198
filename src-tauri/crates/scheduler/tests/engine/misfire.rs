//! Slots that passed while nothing could fire: after a restart, and while the machine slept.

use rouse_core::time::Clock as _;
use rouse_core::{Outcome, RunState, RunTrigger};
use rouse_scheduler::RunMode;
use serde_json::json;

use crate::stage::{Begun, HOUR, MINUTE, START, Stage, break_with, every, once};

#[tokio::test]
async fn by_default_one_late_run_stands_for_all() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let stage = stage.killed_for(5 * HOUR + MINUTE * 30).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.trigger, begun.run.stands_for), (RunTrigger::CatchUp, 5));
    assert_eq!(begun.run.slot_at, Some(START.plus_ms(5 * HOUR)));
    assert_eq!(begun.run.late_by_ms(), Some(30 * MINUTE));
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(6 * HOUR)));
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
}

#[tokio::test]
async fn a_one_shot_that_passed_is_made_up_for() {
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
async fn with_skip_they_are_on_record_as_missed() {
    let stage = Stage::new().await;
    let skip = json!({ "policies": { "misfire": { "mode": "skip" } } });
    let job = stage.add(every(HOUR, skip)).await;
    let stage = stage.killed_for(5 * HOUR + 30 * MINUTE).await;
    stage.settle().await;
    let runs = stage.runs_of(&job.id).await;
    assert_eq!((runs.len(), runs[0].state, runs[0].stands_for), (1, RunState::Missed, 5));
    assert_eq!(runs[0].reason.as_deref(), Some("Passed while nothing could fire"));
    assert!(runs[0].finished_at.is_some());
    let stored = stage.stored(&job).await;
    assert_eq!(stored.state.last_state, Some(RunState::Missed));
    assert_eq!(stored.state.next_run_at, Some(START.plus_ms(6 * HOUR)));
}

#[tokio::test]
async fn with_run_all_each_gets_its_run_one_after_the_other() {
    let stage = Stage::new().await;
    let all = json!({ "policies": { "misfire": { "mode": "runAll", "limit": 3 } } });
    let job = stage.add(every(HOUR, all)).await;
    let stage = stage.killed_for(5 * HOUR + 30 * MINUTE).await;
    for hour in 3..=5 {
        let begun = stage.begun.next().await;
        assert_eq!(begun.run.slot_at, Some(START.plus_ms(hour * HOUR)));
        assert_eq!(stage.load().await.0, 1, "one at a time");
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
async fn later_than_allowed_is_missed() {
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

/// A stage with one place, which a run without an end has, and what waits behind it.
async fn behind_another(policies: serde_json::Value) -> (Stage, Begun, rouse_core::job::Job) {
    let stage = Stage::of_places(1).await;
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
async fn a_slot_that_waits_for_its_place_longer_than_allowed_is_missed() {
    for (policies, reason) in [
        (json!({ "misfire": { "maxLatenessSeconds": 90 } }), "Later than the 1 min 30 s allowed"),
        (json!({ "misfire": { "mode": "skip" } }), "Waited for a place until it was too late"),
    ] {
        let (stage, before, job) = behind_another(policies).await;
        stage.pass(91_000).await;
        let id = before.run.id.clone();
        before.succeed();
        stage.ended(&id).await;
        stage.settle().await;
        let run = stage.runs_of(&job.id).await.remove(0);
        assert_eq!((run.state, run.reason.as_deref()), (RunState::Missed, Some(reason)));
        assert_eq!((run.started_at, stage.load().await), (None, (0, 0)), "its place is free");
        let next = stage.add(once(stage.now().plus_ms(1), json!({ "id": "next" }))).await;
        stage.pass(1).await;
        assert_eq!(stage.begun.next().await.run.job_id, Some(next.id));
    }
}

#[tokio::test]
async fn what_still_may_be_late_or_was_asked_for_by_hand_starts() {
    let late = json!({ "misfire": { "mode": "skip", "maxLatenessSeconds": 60 } });
    let (stage, before, job) = behind_another(late).await;
    let by_hand = stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked");
    stage.pass(60_000).await;
    before.succeed();
    let slot = stage.begun.next().await;
    assert_eq!(slot.run.late_by_ms(), Some(60_000));
    stage.pass(HOUR).await;
    slot.succeed();
    assert_eq!(Some(stage.begun.next().await.run.id), by_hand);
}

#[tokio::test]
async fn a_start_some_seconds_late_is_on_time() {
    let stage = Stage::new().await;
    stage.add(every(HOUR, json!({ "policies": { "misfire": { "mode": "skip" } } }))).await;
    let stage = stage.killed_for(HOUR + 13_000).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.trigger, begun.run.late_by_ms()), (RunTrigger::Schedule, Some(13_000)));
}

#[tokio::test]
async fn a_machine_that_slept_over_slots_makes_up_for_them_once() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(100 * MINUTE + 1).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.stands_for, begun.run.trigger), (100, RunTrigger::CatchUp));
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(101 * MINUTE)));
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_is_on_record_and_stops() {
    let stage = Stage::new().await;
    let cron =
        json!({ "schedule": { "kind": "cron", "expr": "* * * * *", "tz": "Europe/Berlin" } });
    let job = stage.add(every(MINUTE, cron)).await;
    let change = "UPDATE jobs SET definition = replace(definition, 'Europe/Berlin', 'Mars/Base')";
    let stage = stage.killed_and(0, async |path| break_with(path, change).await).await;
    stage.pass(MINUTE).await;
    let stored = stage.store.job(&job.id).await;
    let runs = stage.runs_of(&job.id).await;
    match stored {
        // The store could read it, and the scheduler could not.
        Ok(Some(stored)) => {
            assert_eq!(stored.state.next_run_at, None);
            assert_eq!(runs.iter().map(|run| run.state).collect::<Vec<_>>(), [RunState::Skipped]);
        }
        // The store could not read it and has paused the job.
        Ok(None) | Err(_) => assert_eq!(runs, []),
    }
    stage.pass(10 * MINUTE).await;
    assert_eq!(stage.load().await, (0, 0));
    assert_eq!(stage.handle.problem(), None, "one broken job is not everybody's problem");
}

#[tokio::test]
async fn catching_up_takes_half_of_the_places_and_lets_the_day_go_first() {
    let stage = Stage::new().await;
    for n in 0..6 {
        stage.add(every(HOUR, json!({ "id": format!("late-{n}") }))).await;
    }
    let stage = stage.killed_for(HOUR + 30 * MINUTE).await;
    stage.settle().await;
    let mut late = stage.begun.take_all();
    assert_eq!((late.len(), stage.load().await), (2, (2, 4)), "half of four places");

    for n in 0..3 {
        let at = stage.clock.now().plus_ms(MINUTE);
        stage.add(once(at, json!({ "id": format!("on-time-{n}") }))).await;
    }
    stage.pass(MINUTE).await;
    let on_time = stage.begun.take_all();
    assert_eq!(on_time.len(), 2, "the other half was free for what is on time");
    late.pop().expect("a late run").succeed();
    let next = stage.begun.next().await;
    assert_eq!(next.run.trigger, RunTrigger::Schedule, "on time goes before what is late");
    next.succeed();
    on_time.into_iter().for_each(Begun::succeed);

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
async fn a_one_shot_never_comes_again_whatever_became_of_it() {
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
    assert_eq!(stored.state.next_run_at, None, "it did no work, so it stays to be looked at");
    let stage = stage.killed_for(HOUR).await;
    stage.settle().await;
    assert!(stage.begun.take_all().is_empty(), "a restart does not bring it back");
    assert_eq!(stage.runs_of(&failing.id).await.len(), 1);
}

#[tokio::test]
async fn every_kind_of_job_can_be_for_one_run() {
    let stage = Stage::new().await;
    let interval = stage.add(every(MINUTE, json!({ "deleteAfterRun": true }))).await;
    let mut by_hand = every(HOUR, json!({ "id": "by-hand", "deleteAfterRun": true }));
    by_hand["schedule"] = json!({ "kind": "manual" });
    let by_hand = stage.add(by_hand).await;
    let mut cron = every(HOUR, json!({ "id": "cron", "deleteAfterRun": true }));
    cron["schedule"] = json!({ "kind": "cron", "expr": "* * * * *", "tz": "UTC" });
    let cron = stage.add(cron).await;
    stage.handle.run_now(&by_hand.id, RunMode::Force).await.expect("asked");
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

/// What was told of the missed rows of a job, the oldest first.
async fn told_of_missing(stage: &Stage, job: &rouse_core::job::Job) -> Vec<String> {
    let mut told = Vec::new();
    for run in stage.runs_of(&job.id).await {
        if run.state == RunState::Missed {
            let deliveries = stage.store.deliveries_of(&run.id).await.expect("read");
            told.extend(deliveries.into_iter().map(|delivery| delivery.body));
        }
    }
    told
}

#[tokio::test]
async fn a_one_shot_that_was_missed_says_when_it_was_and_how_it_is_run_now() {
    let stage = Stage::new().await;
    let skip = json!({ "policies": { "misfire": { "mode": "skip" } } });
    let job = stage.add(once(START.plus_ms(9 * HOUR), skip)).await;
    let stage = stage.killed_for(10 * HOUR).await;
    stage.settle().await;
    let said = "Missed: 5 Jan 2026 09:00 (passed while nothing could fire); \
                to run it now: rouse cron run Look --force";
    assert_eq!(told_of_missing(&stage, &job).await, [said]);
}

#[tokio::test]
async fn missed_slots_are_told_once_and_again_after_a_run() {
    let stage = Stage::new().await;
    let skip = json!({ "policies": { "misfire": { "mode": "skip" }, "notify": "failure" } });
    let job = stage.add(every(HOUR, skip)).await;
    let silent =
        json!({ "id": "silent", "policies": { "misfire": { "mode": "skip" }, "notify": "never" } });
    let silent = stage.add(every(HOUR, silent)).await;
    let stage = stage.killed_for(5 * HOUR + 30 * MINUTE).await;
    stage.settle().await;
    let told = told_of_missing(&stage, &job).await;
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("Missed: 5 slots up to 5 Jan 2026 05:00 ("), "{told:?}");
    let stage = stage.killed_for(2 * HOUR).await;
    stage.settle().await;
    assert_eq!(told_of_missing(&stage, &job).await.len(), 1, "it goes on");
    stage.pass(30 * MINUTE).await;
    stage.begun.next().await.succeed();
    stage.begun.next().await.succeed();
    stage.settle().await;
    let stage = stage.killed_for(HOUR + 30 * MINUTE).await;
    stage.settle().await;
    assert_eq!(told_of_missing(&stage, &job).await.len(), 2, "it had run in between");
    assert_eq!(told_of_missing(&stage, &silent).await, [""; 0]);
}

#[tokio::test]
async fn one_that_waited_until_it_was_too_late_is_told_and_what_overlaps_is_not() {
    let late = json!({ "misfire": { "maxLatenessSeconds": 60 } });
    let (stage, before, job) = behind_another(late).await;
    stage.pass(HOUR).await;
    let id = before.run.id.clone();
    before.succeed();
    stage.ended(&id).await;
    stage.settle().await;
    assert_eq!(told_of_missing(&stage, &job).await.len(), 1);

    let minutely = stage.add(every(MINUTE, json!({}))).await;
    stage.pass(MINUTE).await;
    stage.pass(MINUTE).await;
    let skipped = stage.runs_of(&minutely.id).await.remove(1);
    assert_eq!(skipped.state, RunState::Skipped);
    assert_eq!(stage.store.deliveries_of(&skipped.id).await.expect("read"), []);
}

#[tokio::test]
async fn a_miss_of_the_next_day_is_told_again() {
    let stage = Stage::new().await;
    let skip = json!({ "policies": { "misfire": { "mode": "skip" } } });
    let job = stage.add(every(24 * HOUR, skip)).await;
    let stage = stage.killed_for(25 * HOUR).await;
    stage.settle().await;
    assert_eq!(told_of_missing(&stage, &job).await.len(), 1);
    let stage = stage.killed_for(24 * HOUR).await;
    stage.settle().await;
    assert_eq!(told_of_missing(&stage, &job).await.len(), 2);
}

#[tokio::test]
async fn main_hears_of_what_it_was_not_told_in_time() {
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
    assert!(texts[0].ends_with("It was to say: Stretch"), "{texts:?}");
}
