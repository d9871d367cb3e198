//! The end of a run and the consequences.

use rouse_core::Outcome;
use rouse_core::delivery::DeliveryState;
use rouse_core::job::ScheduleSpec;

use super::*;
use crate::{Interruption, NewStep, RunEnd, StepEnd, StepKind, StepStatus, StoreError};

pub(super) fn end_of(run_id: &RunId, outcome: Outcome) -> RunEnd {
    RunEnd::of(run_id.clone(), outcome, NOW.plus_ms(1_005))
}

#[tokio::test]
async fn outcome_commits_with_deliveries_and_events() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let usage = Usage { input_tokens: 10, cached_input_tokens: 2, output_tokens: 3, ..Usage::NONE };
    let outcome = Outcome {
        usage,
        model: Some("small".to_owned()),
        result: Some(json!([1])),
        ..Outcome::succeeded("All well.")
    };
    let end = RunEnd {
        deliveries: vec![delivery("d1")],
        system_event: Some("Cron Job a: All well.".to_owned()),
        ..end_of(&id, outcome)
    };
    let ended = fixture.store.finish_run(&end).await.unwrap().unwrap();
    assert_eq!((ended.state, ended.finished_at), (RunState::Succeeded, Some(end.now)));
    assert_eq!(
        (ended.summary.as_deref(), ended.model.as_deref()),
        (Some("All well."), Some("small"))
    );
    assert_eq!(ended.usage, usage);
    assert_eq!(fixture.run(&id).await, ended);

    let state = fixture.job("a").await.state;
    assert_eq!(state.last.state, Some(RunState::Succeeded));
    assert_eq!((state.last_error, state.last_duration_ms), (None, Some(1_000)));
    let pending = fixture.store.pending_system_events(1_000).await.unwrap();
    assert_eq!(
        (pending[0].text.as_str(), pending[0].source.as_str()),
        ("Cron Job a: All well.", "cron:a")
    );
    let deliveries = fixture.store.deliveries_of(&id).await.unwrap();
    assert_eq!((deliveries.len(), deliveries[0].state), (1, DeliveryState::Pending));
    assert_eq!(
        fixture.take_events(),
        [
            (EventKind::Run, json!({ "runId": id.as_str(), "state": "succeeded", "jobId": "a" })),
            (
                EventKind::Cron,
                json!({
                    "jobId": "a", "action": "finished", "runId": id.as_str(), "state": "succeeded", "status": "ok"
                })
            ),
            (EventKind::Heartbeat, json!({ "queued": 1 })),
            (
                EventKind::Delivery,
                json!({ "deliveryId": "d1", "state": "pending", "runId": id.as_str() })
            ),
        ]
    );
}

#[tokio::test]
async fn late_end_in_a_batch_does_not_change_its_job() {
    let fixture = Fixture::new().await;
    let over = fixture.running("over").await;
    fixture.store.finish_run(&end_of(&over, Outcome::succeeded("Done."))).await.unwrap().unwrap();
    let before = fixture.job("over").await;
    let going = fixture.running("going").await;
    let ends =
        [end_of(&over, Outcome::failed("late")), end_of(&going, Outcome::succeeded("Done."))];
    let ended = fixture.store.finish_runs(&ends).await.unwrap();
    assert_eq!(ended.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
    assert_eq!(fixture.job("over").await, before);
}

#[tokio::test]
async fn final_state_never_changes() {
    let fixture = Fixture::new().await;
    let finals = [
        RunState::Succeeded,
        RunState::NothingToReport,
        RunState::Failed,
        RunState::TimedOut,
        RunState::Cancelled,
        RunState::Skipped,
        RunState::Missed,
        RunState::Interrupted,
    ];
    for state in finals {
        let id = fixture.running(state.name()).await;
        fixture.store.finish_run(&end_of(&id, Outcome::of(state))).await.unwrap().unwrap();
        let (before, job) = (fixture.run(&id).await, fixture.job(state.name()).await);
        fixture.take_events();

        let late = RunEnd {
            deliveries: vec![delivery("late")],
            system_event: Some("late".to_owned()),
            delete_job: true,
            ..end_of(&id, Outcome::succeeded("late"))
        };
        assert_eq!(fixture.store.finish_run(&late).await.unwrap(), None);
        assert_eq!(fixture.store.start_runs(std::slice::from_ref(&id), NOW).await.unwrap(), []);
        let interruption = Interruption {
            run_id: id.clone(),
            reason: "late".to_owned(),
            deliveries: vec![delivery("late")],
            reminders: Vec::new(),
            rerun: Some(manual_run()),
            fired: Vec::new(),
            now: NOW,
        };
        assert_eq!(fixture.store.interrupt_run(&interruption).await.unwrap(), None);
        assert_eq!(fixture.run(&id).await, before);
        assert_eq!(fixture.job(state.name()).await, job);
        assert_eq!(fixture.take_events(), []);
    }
    assert_eq!(fixture.store.pending_system_events(1_000).await.unwrap(), []);
    assert_eq!(fixture.store.delivery(&DeliveryId::new("late")).await.unwrap(), None);
    assert_eq!(fixture.store.queued_runs().await.unwrap(), []);
}

#[tokio::test]
async fn concurrent_ends_count_once() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let ends = [Outcome::succeeded("a"), Outcome::failed("b"), Outcome::of(RunState::Cancelled)];
    let ends = ends.map(|outcome| {
        let (store, end) = (fixture.store.clone(), end_of(&id, outcome));
        tokio::spawn(async move { store.finish_run(&end).await.unwrap() })
    });
    let mut ended = 0;
    for end in ends {
        ended += usize::from(end.await.unwrap().is_some());
    }
    assert_eq!(ended, 1);
}

#[tokio::test]
async fn consecutive_failures_are_counted() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    let outcomes = [
        (Outcome::failed("x"), 1),
        (Outcome::of(RunState::TimedOut), 2),
        (Outcome::skipped("busy"), 2),
        (Outcome::of(RunState::Interrupted), 2),
        (Outcome::of(RunState::NothingToReport), 0),
        (Outcome::failed("y"), 1),
    ];
    for (n, (outcome, failures)) in (0..).zip(outcomes) {
        let run = slot_run("a", NOW.plus_ms(n));
        fixture.store.insert_run(&run, NOW).await.unwrap();
        fixture.store.finish_run(&end_of(&run.id, outcome)).await.unwrap();
        assert_eq!(fixture.job("a").await.state.consecutive_failures, failures, "{n}");
    }
    assert_eq!(fixture.job("a").await.state.last_error.as_deref(), Some("y"));
    assert_eq!(fixture.job("a").await.state.last_duration_ms, None, "the run never started");
}

#[tokio::test]
async fn waiting_state_is_refused_as_end() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let refused = fixture.store.finish_run(&end_of(&id, Outcome::of(RunState::Queued))).await;
    assert!(
        matches!(refused, Err(StoreError::NotFinal { state: RunState::Queued })),
        "{refused:?}"
    );
    assert_eq!(fixture.run(&id).await.state, RunState::Running);
    assert!(
        fixture.store.finish_run(&end_of(&id, Outcome::succeeded("ok"))).await.unwrap().is_some()
    );
}

#[tokio::test]
async fn run_end_deletes_its_job() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let waiting = slot_run("a", NOW.plus_ms(1));
    fixture.store.insert_run(&waiting, NOW).await.unwrap();
    fixture.take_events();
    let end = RunEnd { delete_job: true, ..end_of(&id, Outcome::succeeded("ok")) };
    fixture.store.finish_run(&end).await.unwrap().unwrap();
    assert_eq!(fixture.store.job(&JobId::new("a")).await.unwrap(), None);
    assert_eq!(fixture.run(&waiting.id).await.state, RunState::Cancelled);
    let actions: Vec<Value> =
        fixture.take_events().into_iter().map(|(_, data)| data["action"].clone()).collect();
    assert_eq!(actions, [Value::Null, json!("finished"), Value::Null, json!("removed")]);
}

#[tokio::test]
async fn run_ends_after_its_job_was_deleted() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    fixture.store.remove_job(&JobId::new("a"), NOW).await.unwrap();
    let ended = fixture.store.finish_run(&end_of(&id, Outcome::succeeded("ok"))).await.unwrap();
    assert_eq!(ended.map(|run| run.state), Some(RunState::Succeeded));
}

#[tokio::test]
async fn interruption_commits_with_delivery_and_rerun() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let step = |name: &str| NewStep {
        gate: None,
        call_id: None,
        run_id: id.clone(),
        kind: StepKind::ToolCall,
        name: name.to_owned(),
        repeatable: true,
        input: json!({}),
    };
    let done = fixture.store.begin_step(&step("done"), NOW).await.unwrap();
    let end = StepEnd {
        status: StepStatus::Finished,
        output: None,
        is_error: false,
        usage: Usage::default(),
        duration_ms: None,
    };
    fixture.store.end_step(&id, done, &end, NOW).await.unwrap();
    fixture.store.begin_step(&step("interrupted"), NOW).await.unwrap();
    fixture.take_events();

    let model_call = NewStep {
        kind: StepKind::ModelTurn,
        input: json!({ "ifCutOff": { "inputTokens": 40, "costMicroUsd": 7 } }),
        ..step("asked")
    };
    fixture.store.begin_step(&model_call, NOW).await.unwrap();
    fixture.take_events();
    let again = Run { retry_of: Some(id.clone()), slot_at: None, ..slot_run("a", NOW) };
    let interruption = Interruption {
        run_id: id.clone(),
        reason: "Rouse stopped".to_owned(),
        deliveries: vec![delivery("d1")],
        reminders: Vec::new(),
        rerun: Some(again.clone()),
        fired: Vec::new(),
        now: NOW.plus_ms(50),
    };
    let ended = fixture.store.interrupt_run(&interruption).await.unwrap().unwrap();
    assert_eq!((ended.state, ended.finished_at), (RunState::Interrupted, Some(NOW.plus_ms(50))));
    assert_eq!(ended.reason.as_deref(), Some("Rouse stopped"));
    let of_job = fixture.store.job(&JobId::new("a")).await.unwrap().unwrap().state;
    assert_eq!(of_job.last.state, Some(RunState::Interrupted));
    assert_eq!(of_job.last_duration_ms, None, "the time without a process does not count");
    let remembered = fixture.store.state_from_runs(&JobId::new("a")).await.unwrap();
    assert_eq!(remembered.last_duration_ms, None);
    assert_eq!(fixture.run(&again.id).await, again);
    let statuses: Vec<StepStatus> =
        fixture.store.steps(&id).await.unwrap().into_iter().map(|step| step.status).collect();
    assert_eq!(statuses, [StepStatus::Finished, StepStatus::Unknown, StepStatus::Unknown]);
    assert_eq!((ended.usage.input_tokens, ended.usage.cost_micro_usd), (40, Some(7)));
    assert_eq!(fixture.store.spent_by_run(&id).await.unwrap().tokens, 40, "booked");
    assert_eq!(fixture.store.deliveries_of(&id).await.unwrap().len(), 1);
    let kinds: Vec<EventKind> = fixture.take_events().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [EventKind::Run, EventKind::Cron, EventKind::Delivery, EventKind::Run]);
}

#[tokio::test]
async fn batched_ends_commit_once_and_skip_final_runs() {
    let folder = tempfile::tempdir().unwrap();
    let reported: Arc<Mutex<Vec<usize>>> = Arc::default();
    let commits = reported.clone();
    let listener: EventListener =
        Arc::new(move |events| commits.lock().unwrap().push(events.len()));
    let store = Store::open(&folder.path().join("rouse.db"), listener).await.unwrap();
    let runs: Vec<Run> = (0..3).map(|_| manual_run()).collect();
    for run in &runs {
        store.insert_run(run, NOW).await.unwrap();
    }
    let end =
        |run: &Run, ms| RunEnd::of(run.id.clone(), Outcome::succeeded("Done."), NOW.plus_ms(ms));
    store.finish_run(&end(&runs[1], 1)).await.unwrap();
    reported.lock().unwrap().clear();
    let ends: Vec<RunEnd> = runs.iter().map(|run| end(run, 5)).collect();
    let ended = store.finish_runs(&ends).await.unwrap();
    let states: Vec<_> = ended.iter().map(|run| run.as_ref().map(|run| run.state)).collect();
    assert_eq!(states, [Some(RunState::Succeeded), None, Some(RunState::Succeeded)]);
    assert_eq!(*reported.lock().unwrap(), [2], "a single commit with both events");
    assert_eq!(store.run(&runs[1].id).await.unwrap().unwrap().finished_at, Some(NOW.plus_ms(1)));
    assert_eq!(store.finish_runs(&ends).await.unwrap(), [None, None, None]);
    assert_eq!(store.finish_runs(&[]).await.unwrap(), []);
}

/// The job was moved to a newer slot, which ends before the run of the older slot.
#[tokio::test]
async fn moved_one_shot_keeps_state_of_its_newest_slot() {
    let moved = NOW.plus_ms(9);
    let at = ScheduleSpec::At { at: moved, tz: None };
    let every = ScheduleSpec::Every { every_ms: 1_000, anchor: NOW };
    for (spec, remembered) in [(at, RunState::Skipped), (every, RunState::Succeeded)] {
        let fixture = Fixture::new().await;
        let id = fixture.running("a").await;
        let mut job = fixture.job("a").await;
        (job.schedule.spec, job.state.next_run_at) = (spec, Some(moved));
        fixture.store.update_job(&job, None, NOW).await.unwrap();
        let skipped = Run {
            state: RunState::Skipped,
            reason: Some("The previous run was still running".to_owned()),
            finished_at: Some(moved),
            ..slot_run("a", moved)
        };
        fixture.store.claim(&[claim("a", moved, None, vec![skipped])], moved).await.unwrap();
        fixture.store.finish_run(&end_of(&id, Outcome::succeeded("Done."))).await.unwrap();
        let state = fixture.job("a").await.state;
        assert_eq!(state.last.state, Some(remembered));
        let is_newest = remembered == RunState::Skipped;
        assert_eq!(
            (state.last_error.is_some(), state.last_duration_ms.is_none()),
            (is_newest, is_newest)
        );
    }
}

/// An open newer slot does not hide the end of the older slot.
#[tokio::test]
async fn moved_one_shot_shows_older_run_until_newer_ends() {
    let moved = NOW.plus_ms(9);
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let mut job = fixture.job("a").await;
    job.schedule.spec = ScheduleSpec::At { at: moved, tz: None };
    job.state.next_run_at = Some(moved);
    fixture.store.update_job(&job, None, NOW).await.unwrap();
    let newer = slot_run("a", moved);
    let newer_id = newer.id.clone();
    fixture.store.claim(&[claim("a", moved, None, vec![newer])], moved).await.unwrap();
    for (id, outcome) in [(id, Outcome::failed("x")), (newer_id, Outcome::succeeded("Done."))] {
        let state = outcome.state;
        fixture.store.finish_run(&end_of(&id, outcome)).await.unwrap();
        assert_eq!(fixture.job("a").await.state.last.state, Some(state));
    }
}
