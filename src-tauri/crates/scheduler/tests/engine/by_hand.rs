//! Runs that a person asks for.

use rouse_core::{Job, JobId, Outcome, RunId, RunState, RunTrigger};
use rouse_scheduler::{RunMode, SchedulerError};
use rouse_store::StoreError;
use serde_json::{Value, json};

use crate::asking::{asks, yes};
use crate::stage::{Begun, HOUR, MINUTE, START, Stage, every, once};

#[tokio::test]
async fn a_run_by_hand_does_not_move_the_schedule() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.pass(20 * MINUTE).await;
    let id = stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
    let begun = stage.begun.next().await;
    assert_eq!(
        (&begun.run.id, begun.run.trigger, begun.run.slot_at),
        (&id, RunTrigger::Manual, None)
    );
    begun.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(HOUR)));
    stage.clock.advance(40 * 60_000);
    assert_eq!(stage.begun.next().await.run.slot_at, Some(START.plus_ms(HOUR)));
}

#[tokio::test]
async fn a_run_by_hand_leaves_a_one_shot_its_slot() {
    let stage = Stage::new().await;
    let job = stage.add(once(START.plus_ms(HOUR), json!({ "deleteAfterRun": true }))).await;
    let id = stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
    stage.begun.next().await.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.stored(&job).await.state.next_run_at, Some(START.plus_ms(HOUR)));
    stage.clock.advance(HOUR.unsigned_abs());
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None, "now it has done its run");
}

/// A one-shot in an hour that goes after its run, and a run of it by hand that began a minute before its slot.
async fn once_by_hand(policies: Value) -> (Stage, Job, Begun) {
    let stage = Stage::new().await;
    let more = json!({ "deleteAfterRun": true, "policies": policies });
    let job = stage.add(once(START.plus_ms(HOUR), more)).await;
    stage.pass(HOUR - MINUTE).await;
    let by_hand = begun_by_hand(&stage, &job).await;
    (stage, job, by_hand)
}

/// Its run for the slot works and takes the job with it.
async fn does_its_run(stage: &Stage, job: &Job, begun: Begun) {
    assert_eq!(begun.run.slot_at, Some(START.plus_ms(HOUR)));
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None, "it has done its run");
}

#[tokio::test]
async fn a_run_by_hand_that_is_going_leaves_a_one_shot_its_slot_whatever_may_overlap() {
    for overlap in ["skip", "queue", "cancelOther"] {
        let (stage, job, by_hand) = once_by_hand(json!({ "overlap": overlap })).await;
        let id = by_hand.run.id.clone();
        stage.pass(MINUTE).await;
        assert_eq!(stage.states_of(&job).await, [RunState::Running, RunState::Queued], "{overlap}");
        assert!(!by_hand.cancel.is_cancelled(), "{overlap}");
        by_hand.succeed();
        stage.ended(&id).await;
        stage.settle().await;
        assert!(
            stage.store.job(&job.id).await.expect("read").is_some(),
            "{overlap}: its slot is open"
        );
        does_its_run(&stage, &job, stage.begun.next().await).await;
    }
}

#[tokio::test]
async fn a_run_by_hand_leaves_a_one_shot_its_slot_whatever_it_must_rest() {
    let (stage, job, by_hand) = once_by_hand(json!({ "cooldownSeconds": 300 })).await;
    let id = by_hand.run.id.clone();
    by_hand.succeed();
    stage.ended(&id).await;
    stage.pass(MINUTE).await;
    stage.settle().await;
    assert_eq!(stage.states_of(&job).await, [RunState::Succeeded, RunState::Running]);
    does_its_run(&stage, &job, stage.begun.next().await).await;
}

/// Parked, too: as long as the run for its slot is open, that decides.
#[tokio::test]
async fn a_run_by_hand_takes_no_one_shot_away_from_the_run_for_its_slot() {
    let (stage, job, by_hand) = once_by_hand(json!({ "overlap": "parallel" })).await;
    stage.pass(MINUTE).await;
    let run = asks(&stage, stage.begun.next().await, &["a"]);
    stage.parked(&run.id).await;
    let id = by_hand.run.id.clone();
    by_hand.succeed();
    stage.ended(&id).await;
    stage.settle().await;
    assert_eq!(stage.run(&run.id).await.state, RunState::AwaitingApproval);
    yes(&stage, "a").await;
    does_its_run(&stage, &job, stage.begun.next().await).await;
}

/// Two slots of a one-shot that was moved are as far apart as those of any job.
#[tokio::test]
async fn the_run_for_an_earlier_slot_of_a_one_shot_counts() {
    let cooldown = json!({ "cooldownSeconds": 300 });
    for (policies, why) in [
        (json!({}), "The previous run was still going"),
        (cooldown, "Less than 5 min after the run before"),
    ] {
        let stage = Stage::new().await;
        let job = stage.add(once(START.plus_ms(MINUTE), json!({ "policies": policies }))).await;
        stage.pass(MINUTE).await;
        let first = stage.begun.next().await;
        let moved = json!({ "schedule": { "atMs": START.plus_ms(2 * MINUTE).0 } });
        stage.handle.update_job(&job.id, moved, None).await.expect("saved");
        if why.starts_with("Less") {
            let id = first.run.id.clone();
            first.succeed();
            stage.ended(&id).await;
        }
        stage.pass(MINUTE).await;
        stage.settle().await;
        let runs = stage.runs_of(&job.id).await;
        assert_eq!((runs[1].state, runs[1].reason.as_deref()), (RunState::Skipped, Some(why)));
    }
}

#[tokio::test]
async fn a_job_that_is_off_or_has_no_schedule_runs_by_hand() {
    let stage = Stage::new().await;
    let manual = json!({ "id": "m", "schedule": { "kind": "manual" } });
    for document in [every(HOUR, json!({ "enabled": false })), every(HOUR, manual)] {
        let job = stage.add(document).await;
        assert_eq!(job.state.next_run_at, None);
        let id =
            stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
        let begun = stage.begun.next().await;
        assert_eq!(begun.run.id, id);
    }
}

#[tokio::test]
async fn only_a_job_that_is_due_runs_when_asked_for_due() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    assert_eq!(stage.handle.run_now(&job.id, RunMode::Due).await.expect("asked"), None);
    assert_eq!(stage.runs_of(&job.id).await, []);
}

#[tokio::test]
async fn a_run_by_hand_waits_in_its_lane_and_counts_as_going() {
    let stage = Stage::new().await;
    let job = stage.add(every(MINUTE, json!({}))).await;
    stage.clock.advance(60_000);
    let first = stage.begun.next().await;
    let by_hand =
        stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
    assert_eq!(stage.load().await, (1, 1));
    first.succeed();
    let second = stage.begun.next().await;
    assert_eq!(second.run.id, by_hand);
    stage.pass(MINUTE).await;
    assert_eq!(
        stage.states_of(&job).await.last(),
        Some(&RunState::Skipped),
        "one run of the job is going"
    );
}

#[tokio::test]
async fn nobody_cannot_run() {
    let stage = Stage::new().await;
    let error =
        stage.handle.run_now(&JobId::new("nobody"), RunMode::Force).await.expect_err("refused");
    assert!(matches!(error, SchedulerError::Store(StoreError::NotFound { what: "job", .. })));
}

#[tokio::test]
async fn a_run_that_is_over_runs_again_with_what_the_job_says_now() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    stage.clock.advance(HOUR.unsigned_abs());
    let begun = stage.begun.next().await;
    let id = begun.run.id.clone();
    assert!(matches!(stage.handle.retry(&id).await, Err(SchedulerError::NotOver)));
    begun.end(Outcome::failed("a typing error"));
    stage.ended(&id).await;
    let patch = json!({ "payload": { "tool": "time" } });
    stage.handle.update_job(&job.id, patch, None).await.expect("saved");
    let again = stage.handle.retry(&id).await.expect("a run");
    let begun = stage.begun.next().await;
    assert_eq!((&begun.run.id, begun.run.trigger), (&again, RunTrigger::Manual));
    assert_eq!(
        (begun.run.retry_of.as_ref(), &begun.run.payload["tool"]),
        (Some(&id), &json!("time"))
    );
}

#[tokio::test]
async fn a_run_without_its_job_cannot_run_again() {
    let stage = Stage::new().await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let id = stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
    stage.begun.next().await.succeed();
    stage.ended(&id).await;
    stage.handle.remove_job(&job.id, None).await.expect("removed");
    let error = stage.handle.retry(&id).await.expect_err("refused");
    assert_eq!(error.to_string(), "The job Look was removed, so it cannot run again.");
    let nobody = stage.handle.retry(&RunId::new("nobody")).await.expect_err("refused");
    assert!(matches!(nobody, SchedulerError::Store(StoreError::NotFound { what: "run", .. })));
}

/// Starts `job` by hand from inside the run `outer`, and waits for its result there.
async fn asked_from_inside(stage: &Stage, outer: &mut Begun, job: &Job) -> (RunId, bool) {
    let id = stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
    let is_over = tokio::select! {
        run = stage.ended(&id) => run.state.is_final(),
        () = outer.cancel.cancelled() => false,
    };
    (id, is_over)
}

#[tokio::test]
async fn a_run_that_waits_for_another_one_waits_no_longer_than_its_own_time() {
    let stage = Stage::of_places(1).await;
    let limit = json!({ "id": "outer", "policies": { "timeoutSeconds": 60 } });
    let outer_job = stage.add(every(HOUR, limit)).await;
    let inner_job = stage.add(every(HOUR, json!({ "id": "inner" }))).await;
    for asked in [&inner_job, &outer_job] {
        let by_hand = stage.handle.run_now(&outer_job.id, RunMode::Force).await;
        let outer_id = by_hand.expect("asked").expect("a run");
        let mut outer = stage.begun.next().await;
        let waiting = asked_from_inside(&stage, &mut outer, asked);
        let time = async {
            stage.settle().await;
            assert_eq!(stage.load().await, (1, 1), "there is one place, and the outer run has it");
            stage.clock.advance(60_000);
        };
        let ((inner_id, is_over), ()) = tokio::join!(waiting, time);
        assert!(!is_over, "the inner run cannot end before the outer one");
        outer.end(Outcome::failed("Gave up waiting"));
        assert_eq!(stage.ended(&outer_id).await.state, RunState::TimedOut);
        let inner = stage.begun.next().await;
        assert_eq!(inner.run.id, inner_id, "its place is free, and the inner run begins");
        inner.succeed();
        assert_eq!(stage.ended(&inner_id).await.state, RunState::Succeeded);
    }
}

#[tokio::test]
async fn a_run_that_starts_another_one_and_does_not_wait_holds_nobody_up() {
    let stage = Stage::of_places(1).await;
    let job = stage.add(every(HOUR, json!({}))).await;
    let by_hand = || async {
        stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run")
    };
    by_hand().await;
    let outer = stage.begun.next().await;
    let inner_id = by_hand().await;
    outer.succeed();
    let inner = stage.begun.next().await;
    assert_eq!(inner.run.id, inner_id);
    inner.succeed();
}

async fn three(stage: &Stage, ids: [&str; 3]) -> [Job; 3] {
    let [one, two, three] = ids.map(|id| stage.add(every(HOUR, json!({ "id": id }))));
    [one.await, two.await, three.await]
}

/// Starts a run by hand and lets it begin.
async fn begun_by_hand(stage: &Stage, job: &Job) -> Begun {
    let id = stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.id, id);
    begun
}

/// Lets the run `by` ask for a run of `job` and wait for it.
async fn awaited(stage: &Stage, job: &Job, by: &Begun) -> Result<RunId, SchedulerError> {
    let asked = stage.handle.run_awaited(&job.id, RunMode::Force, &by.run.id).await;
    asked.map(|run| run.expect("a run"))
}

#[tokio::test]
async fn a_run_that_waits_for_another_one_lends_it_its_place_and_has_it_back() {
    let stage = Stage::of_places(1).await;
    let [outer, inner, third] = three(&stage, ["outer", "inner", "third"]).await;
    let outer = begun_by_hand(&stage, &outer).await;
    let first = awaited(&stage, &inner, &outer).await.expect("a run");
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.id, first, "it begins beside the one that waits for it");
    let waits = stage.handle.run_now(&third.id, RunMode::Force).await.expect("asked");
    begun.succeed();
    assert_eq!(stage.ended(&first).await.state, RunState::Succeeded);
    assert_eq!(stage.load().await, (1, 1), "the place is the first one's again");
    let outer_id = outer.run.id.clone();
    outer.succeed();
    stage.ended(&outer_id).await;
    assert_eq!(Some(stage.begun.next().await.run.id.clone()), waits);
    assert_eq!(stage.load().await, (1, 0));
}

#[tokio::test]
async fn a_place_is_lent_once_however_many_are_awaited() {
    let stage = Stage::of_places(1).await;
    let [outer, one, other] = three(&stage, ["outer", "one", "other"]).await;
    let outer = begun_by_hand(&stage, &outer).await;
    let first = awaited(&stage, &one, &outer).await.expect("a run");
    let second = awaited(&stage, &other, &outer).await.expect("a run");
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.id, first);
    assert_eq!(stage.load().await, (2, 1), "there is one place for the two");
    begun.succeed();
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.id, second);
    begun.succeed();
    stage.ended(&second).await;
    outer.succeed();
}

#[tokio::test]
async fn a_place_comes_back_also_from_a_run_that_never_began() {
    let stage = Stage::of_places(1).await;
    let [outer, inner, third] = three(&stage, ["outer", "inner", "third"]).await;
    let outer = begun_by_hand(&stage, &outer).await;
    let id = awaited(&stage, &inner, &outer).await.expect("a run");
    let begun = stage.begun.next().await;
    let next = awaited(&stage, &inner, &outer).await.expect("a run");
    assert_eq!(stage.load().await, (2, 1), "it waits in the lane of its job");
    assert!(stage.handle.cancel(&next, "Not wanted").await.expect("asked"));
    begun.succeed();
    stage.ended(&id).await;
    stage.handle.run_now(&third.id, RunMode::Force).await.expect("asked");
    assert_eq!(stage.load().await, (1, 1), "nobody is awaited any more");
    outer.succeed();
    stage.begun.next().await.succeed();
}

#[tokio::test]
async fn a_run_lends_its_place_to_any_other_that_it_waits_for() {
    let stage = Stage::of_places(1).await;
    let [outer, _, _] = three(&stage, ["outer", "inner", "third"]).await;
    let outer = begun_by_hand(&stage, &outer).await;
    let tried = stage.handle.try_tool("echo", json!({})).await.expect("taken");
    let asked = stage.handle.chat("Hello", None).await.expect("taken");
    for (id, waits) in [(tried, 1), (asked.clone(), 0)] {
        assert!(stage.begun.take_all().is_empty(), "there is one place");
        stage.handle.wait_for(&id, &outer.run.id).await.expect("it lends its place");
        let inner = stage.begun.next().await;
        assert_eq!((&inner.run.id, stage.load().await), (&id, (2, waits)));
        if id == asked {
            let refused = stage.handle.chat("And again", None).await.expect("taken");
            let refused =
                stage.handle.wait_for(&refused, &inner.run.id).await.expect_err("refused");
            assert!(matches!(refused, SchedulerError::WaitsForItself { .. }), "{refused}");
        }
        inner.succeed();
        stage.ended(&id).await;
    }
    let own = stage.handle.wait_for(&outer.run.id, &outer.run.id).await.expect_err("refused");
    assert!(matches!(own, SchedulerError::WaitsForItself { .. }), "{own}");
    outer.succeed();
}

#[tokio::test]
async fn what_would_wait_for_itself_is_refused() {
    let stage = Stage::new().await;
    let [outer_job, inner_job, _] = three(&stage, ["outer", "inner", "third"]).await;
    let outer = begun_by_hand(&stage, &outer_job).await;
    let refused = awaited(&stage, &outer_job, &outer).await.expect_err("refused");
    assert!(matches!(refused, SchedulerError::WaitsForItself { .. }), "{refused}");
    assert_eq!(stage.runs_of(&outer_job.id).await.len(), 1, "nothing was made");
    awaited(&stage, &inner_job, &outer).await.expect("a run");
    let inner = stage.begun.next().await;
    let refused = awaited(&stage, &outer_job, &inner).await.expect_err("refused");
    assert!(matches!(refused, SchedulerError::WaitsForItself { .. }), "{refused}");
    let patch = json!({ "policies": { "overlap": "parallel", "maxConcurrent": 2 } });
    stage.handle.update_job(&outer_job.id, patch, None).await.expect("saved");
    let beside = awaited(&stage, &outer_job, &inner).await.expect("a run");
    assert_eq!(stage.begun.next().await.run.id, beside, "there is room for two of that job");
}

#[tokio::test]
async fn two_runs_that_would_wait_for_what_stands_behind_each_other_are_refused() {
    let stage = Stage::new().await;
    let [one_job, other_job, _] = three(&stage, ["one", "other", "third"]).await;
    let one = begun_by_hand(&stage, &one_job).await;
    let other = begun_by_hand(&stage, &other_job).await;
    let behind = awaited(&stage, &other_job, &one).await.expect("it waits behind the other");
    let refused = awaited(&stage, &one_job, &other).await.expect_err("refused");
    assert!(matches!(refused, SchedulerError::WaitsForItself { .. }), "{refused}");
    assert_eq!(stage.runs_of(&one_job.id).await.len(), 1, "nothing was made");
    other.succeed();
    let begun = stage.begun.next().await;
    assert_eq!(begun.run.id, behind);
    begun.succeed();
    one.succeed();
}
