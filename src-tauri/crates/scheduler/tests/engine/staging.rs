use std::time::Duration;

use rouse_core::event::Event;
use rouse_core::job::{Job, JobState};
use rouse_core::{JobId, Outcome, Run, RunState, RunTrigger, UnixMs};
use rouse_scheduler::ManualRunMode;
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::stage::{HOUR, MINUTE, SECOND, START, ScriptedRun, Stage, every, execute_closed};

const SLOT: UnixMs = START.plus_ms(MINUTE);

/// Advances into the lead of the slot at `SLOT` and waits until the claim is staged: the file then has a writer.
async fn prepared(stage: &Stage) {
    stage.clock.armed(SLOT.plus_ms(-5)).await;
    stage.clock.advance((MINUTE - 3).unsigned_abs());
    stage.clock.armed(SLOT).await;
    assert!(has_writer(stage).await, "nothing was staged");
}

/// Whether the write lock of the file is taken.
async fn has_writer(stage: &Stage) -> bool {
    let options = SqliteConnectOptions::new().filename(stage.database());
    let mut file = options.busy_timeout(Duration::ZERO).connect().await.expect("opened");
    let begun = sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(&mut file).await;
    file.close().await.expect("closed");
    begun.is_err()
}

async fn runs_of_slot(stage: &Stage, job: &JobId) -> Vec<Run> {
    let mut runs = stage.runs_of(job).await;
    runs.retain(|run| run.slot_at == Some(SLOT));
    runs
}

#[tokio::test]
async fn staged_slot_is_visible_at_its_instant() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    prepared(&stage).await;
    assert_eq!(stage.runs_of(&job.id).await, [], "uncommitted");
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(SLOT));
    assert!(stage.begun.take_all().is_empty(), "not a millisecond early");
    stage.clock.advance(3);
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.slot_at, begun.run.started_at), (Some(SLOT), Some(SLOT)));
    let run = stage.run(&begun.run.id).await;
    assert_eq!((run.state, run.late_by_ms()), (RunState::Running, Some(0)));
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(SLOT.plus_ms(MINUTE)));
    begun.succeed();
    stage.ended(&run.id).await;
    stage.settle().await;
    assert!(!has_writer(&stage).await);
}

/// The row of a started run is the staged row, as long as the commit is nearly on time.
#[tokio::test]
async fn staged_claim_is_committed_unless_late() {
    for (late, stored) in [(10, 0), (25, 0), (26, 26), (30, 30)] {
        let stage = Stage::new().await;
        let job = stage.add(every(MINUTE, json!({}))).await;
        stage.settle().await;
        prepared(&stage).await;
        let seen = stage.events.take_all().last().map_or(0, |event| event.seq);
        stage.clock.advance_to(SLOT.plus_ms(late));
        let begun = stage.begun.next().await;
        let run = stage.run(&begun.run.id).await;
        assert_eq!(run.started_at, Some(SLOT.plus_ms(stored)), "{late} ms late");
        assert_eq!(stage.stored(&job).await.state.next_run_at, Some(SLOT.plus_ms(MINUTE)));
        let expected = stage.store.events_after(seen, 10).await.expect("read");
        let of_it = |event: &&Event| event.data["runId"] == run.id.as_str();
        assert_eq!(expected.iter().filter(of_it).count(), 2, "the queued and the started event");
        let heard = stage.events.take_all();
        assert_eq!(heard, expected, "each slot once, with its number");
        begun.succeed();
    }
}

#[tokio::test]
async fn consecutive_slots_are_staged() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    for minutes in 1..4 {
        let slot = START.plus_ms(minutes * MINUTE);
        stage.clock.armed(slot.plus_ms(-5)).await;
        stage.clock.advance_to(slot.plus_ms(-4));
        stage.clock.armed(slot).await;
        stage.clock.advance_to(slot);
        let begun = stage.begun.next().await;
        let id = begun.run.id.clone();
        begun.succeed();
        stage.ended(&id).await;
    }
    assert_eq!(stage.states_of(&job).await, [RunState::Succeeded; 3]);
}

#[tokio::test]
async fn kill_in_the_lead_leaves_the_slot() {
    for away in [1, 2, 10 * MINUTE] {
        let stage = Stage::new().await;
        let job = stage.add(every(MINUTE, json!({}))).await;
        stage.settle().await;
        prepared(&stage).await;
        let stage = stage.killed_for(away).await;
        stage.clock.advance(3);
        let begun = stage.begun.next().await;
        let trigger = if away > SECOND { RunTrigger::CatchUp } else { RunTrigger::Schedule };
        assert_eq!(begun.run.trigger, trigger, "{away}");
        begun.succeed();
        stage.settle().await;
        assert!(stage.begun.take_all().is_empty());
        assert_eq!(stage.runs_of(&job.id).await.len(), 1, "{away}");
    }
}

#[tokio::test]
async fn clock_jump_in_the_lead_discards_staged_claims() {
    for to in [-400 * 24 * HOUR, -SECOND, 10, SECOND, 400 * 24 * HOUR] {
        let stage = Stage::new().await;
        let job = stage.add(every(MINUTE, json!({}))).await;
        stage.settle().await;
        prepared(&stage).await;
        stage.clock.set(SLOT.plus_ms(to));
        stage.settle().await;
        assert!(!has_writer(&stage).await, "{to}");
        let begun = stage.begun.take_all();
        for run in runs_of_slot(&stage, &job.id).await {
            assert_eq!(run.started_at, Some(SLOT.plus_ms(to)), "claimed at the instant");
        }
        assert_eq!(begun.is_empty(), to < 0, "{to}: late slots start, later slots wait");
        begun.into_iter().for_each(ScriptedRun::succeed);
        stage.settle().await;
        stage.clock.set(SLOT.plus_ms(-SECOND));
        stage.settle().await;
        stage.pass(SECOND).await;
        let again = stage.begun.take_all();
        // A run that stands for the slots of a year has the newest slot.
        assert!(to > SECOND || again.len() == usize::from(to < 0), "{to}");
        assert!(runs_of_slot(&stage, &job.id).await.len() <= 1, "{to}");
    }
}

#[tokio::test]
async fn suspend_in_the_lead_starts_late() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({ "id": "job" }))).await;
    stage.clock.armed(START.plus_ms(HOUR - 5)).await;
    stage.clock.advance((HOUR - 3).unsigned_abs());
    stage.clock.armed(START.plus_ms(HOUR)).await;
    stage.clock.advance(10 * 60_000);
    let begun = stage.begun.next().await;
    let late = 10 * MINUTE - 3;
    assert_eq!((begun.run.trigger, begun.run.late_by_ms()), (RunTrigger::CatchUp, Some(late)));
    assert_eq!(stage.runs_of(&job.id).await.len(), 1);
    begun.succeed();
}

#[tokio::test]
async fn request_in_the_lead_applies_to_the_slot() {
    let stage = Stage::with_permits(1).await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    prepared(&stage).await;
    let off = json!({ "enabled": false });
    stage.handle.update_job(&job.id, off, None).await.expect("switched off");
    stage.pass(3).await;
    assert!(stage.begun.take_all().is_empty());
    assert_eq!(stage.runs_of(&job.id).await, []);
    stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken");
    stage.begun.next().await.succeed();
}

#[tokio::test]
async fn writer_in_the_lead_does_not_wait() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    prepared(&stage).await;
    stage.store.put_setting("any", &json!(1), None, stage.now()).await.expect("written");
    stage.clock.advance(3);
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.slot_at, Some(SLOT));
    begun.succeed();
    assert_eq!(runs_of_slot(&stage, &job.id).await.len(), 1);
}

#[tokio::test]
async fn skipped_slot_is_not_staged_with_a_firing_slot() {
    let stage = Stage::new().await;
    let fires = stage.add(every(MINUTE, json!({}))).await;
    let rests = json!({ "id": "rests", "policies": { "cooldownSeconds": 120 } });
    let rests = stage.add(every(MINUTE, rests)).await;
    stage.handle.run_now(&rests.id, ManualRunMode::Force).await.expect("taken");
    let by_hand = stage.begun.next().await;
    let id = by_hand.run.id.clone();
    by_hand.succeed();
    stage.ended(&id).await;
    stage.settle().await;
    prepared(&stage).await;
    stage.clock.advance_to(SLOT.plus_ms(10));
    let begun = stage.begun.next().await;
    assert_eq!(stage.run(&begun.run.id).await.started_at, Some(SLOT), "staged");
    stage.settle().await;
    let left_out = runs_of_slot(&stage, &rests.id).await.remove(0);
    assert_eq!((left_out.state, left_out.created_at), (RunState::Skipped, SLOT.plus_ms(10)));
    assert_eq!(runs_of_slot(&stage, &fires.id).await.len(), 1);
    begun.succeed();
}

#[tokio::test]
async fn crowd_has_a_longer_lead() {
    let stage = Stage::with_permits(50).await;
    for n in 0..48 {
        stage.add(every(MINUTE, json!({ "id": format!("job-{n}"), "name": format!("{n}") }))).await;
    }
    stage.settle().await;
    stage.clock.armed(SLOT.plus_ms(-13)).await;
    stage.clock.advance((MINUTE - 13).unsigned_abs());
    stage.clock.armed(SLOT).await;
    assert!(has_writer(&stage).await);
    assert!(stage.begun.take_all().is_empty(), "not a millisecond early");
    stage.clock.advance(13);
    for _ in 0..48 {
        let begun = stage.begun.next().await;
        assert_eq!(begun.run.late_by_ms(), Some(0));
        begun.succeed();
    }
}

#[tokio::test]
async fn crowd_of_several_batches_is_one_commit() {
    let stage = Stage::new().await;
    for n in 0..1_100 {
        let job = stage.job(every(MINUTE, json!({ "id": format!("job-{n}") })));
        let state = JobState { next_run_at: Some(SLOT), ..job.state.clone() };
        stage.store.insert_job(&Job { state, ..job }, START).await.expect("stored");
    }
    let stage = stage.killed_for(1).await;
    stage.clock.armed(SLOT.plus_ms(-188)).await;
    stage.clock.advance_to(SLOT.plus_ms(-100));
    stage.clock.armed(SLOT).await;
    assert!(has_writer(&stage).await);
    let commits = stage.store.commit_count();
    stage.clock.advance_to(SLOT);
    for _ in 0..4 {
        stage.begun.next().await.try_end(Outcome::succeeded("Done."));
    }
    assert_eq!(stage.store.count_due(SLOT).await.expect("read"), 0);
    assert!(stage.store.commit_count() > commits);
    stage.settle().await;
    let events = stage.events.take_all();
    let numbers: Vec<i64> = events.iter().map(|event| event.seq).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "numbers in a row");
}

#[tokio::test]
async fn failed_staging_is_claimed_later() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.settle().await;
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'no'); END";
    execute_closed(&stage.database(), refuse).await;
    stage.clock.advance((MINUTE - 3).unsigned_abs());
    stage.clock.armed(SLOT).await;
    assert!(!has_writer(&stage).await);
    assert_eq!(stage.handle.problem(), None, "there is time");
    stage.pass(3).await;
    assert!(stage.handle.problem().is_some());
    // A failed write holds the lock until the next write, which is this write.
    stage.store.put_setting("any", &json!(1), None, START).await.expect("written");
    execute_closed(&stage.database(), "DROP TRIGGER refuse").await;
    stage.pass(2 * SECOND).await;
    let begun = stage.begun.next().await;
    assert_eq!((begun.run.slot_at, stage.handle.problem()), (Some(SLOT), None));
    assert_eq!(runs_of_slot(&stage, &job.id).await.len(), 1);
    begun.succeed();
}
