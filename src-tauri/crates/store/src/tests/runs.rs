//! Runs: rows, start, requeue, history.

use std::collections::HashMap;

use rouse_core::{Outcome, SessionKey};

use super::*;
use crate::RunEnd;

fn finish(run_id: &RunId, outcome: Outcome) -> RunEnd {
    RunEnd::of(run_id.clone(), outcome, NOW.plus_ms(10))
}

#[tokio::test]
async fn run_round_trips() {
    let fixture = Fixture::new().await;
    let run = Run {
        state: RunState::Failed,
        reason: Some("why".to_owned()),
        slot_count: 3,
        started_at: Some(UnixMs(1)),
        finished_at: Some(UnixMs(2)),
        attempt: 2,
        retry_of: Some(RunId::new("other")),
        summary: Some("done \"so far\"".to_owned()),
        error: Some("it broke\nbadly".to_owned()),
        session: Some(SessionKey::main()),
        model: Some("m".to_owned()),
        usage: Usage {
            input_tokens: 5,
            cached_input_tokens: 4,
            output_tokens: 3,
            cost_micro_usd: Some(2),
            ..Usage::NONE
        },
        payload: json!({ "text": "Größe ✓", "n": 1.5, "deep": [null, { "a": true }] }),
        fallback_reason: Some("n did not answer".to_owned()),
        ..slot_run("a", NOW)
    };
    fixture.store.insert_run(&run, NOW).await.unwrap();
    assert_eq!(fixture.run(&run.id).await, run);
    let event = json!({ "runId": run.id.as_str(), "state": "failed", "jobId": "a" });
    assert_eq!(fixture.take_events(), [(EventKind::Run, event)]);
    assert_eq!(fixture.store.run(&RunId::new("x")).await.unwrap(), None);

    let plain = manual_run();
    fixture.store.insert_run(&plain, NOW).await.unwrap();
    assert_eq!(fixture.run(&plain.id).await, plain);
    assert!(fixture.store.insert_run(&plain, NOW).await.is_err(), "an id is taken once");
}

#[tokio::test]
async fn queued_runs_are_ordered_by_creation() {
    let fixture = Fixture::new().await;
    let young = Run { created_at: NOW.plus_ms(5), ..manual_run() };
    let old = Run { created_at: NOW, ..manual_run() };
    let twin = Run { created_at: NOW, ..manual_run() };
    for run in [&young, &old, &twin] {
        fixture.store.insert_run(run, NOW).await.unwrap();
    }
    let ids = [old.id.clone(), twin.id, young.id];
    let queued: Vec<RunId> =
        fixture.store.queued_runs().await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(queued, ids);
    assert_eq!(fixture.store.running_runs().await.unwrap(), []);
    fixture.store.start_runs(&ids[..1], NOW).await.unwrap();
    assert_eq!(fixture.store.running_runs().await.unwrap()[0].id, old.id);
}

#[tokio::test]
async fn only_queued_runs_start() {
    let fixture = Fixture::new().await;
    let queued = fixture.queued("a").await;
    let running = fixture.running("b").await;
    let cancelled = fixture.queued("c").await;
    let no = finish(&cancelled, Outcome::of(RunState::Cancelled));
    fixture.store.finish_run(&no).await.unwrap();
    fixture.take_events();
    let now = NOW.plus_ms(7);
    let ids = [cancelled.clone(), RunId::new("x"), running.clone(), queued.clone()];
    assert_eq!(fixture.store.start_runs(&ids, now).await.unwrap(), std::slice::from_ref(&queued));
    let started = fixture.run(&queued).await;
    assert_eq!(
        (started.state, started.started_at, started.attempt),
        (RunState::Running, Some(now), 1)
    );
    assert_eq!(fixture.job("a").await.state.last_run_at, Some(now));
    assert_eq!(fixture.run(&running).await.started_at, Some(NOW.plus_ms(5)));
    assert_eq!(fixture.job("b").await.state.last_run_at, Some(NOW.plus_ms(5)));
    assert_eq!(
        fixture.take_events(),
        [
            (EventKind::Run, json!({ "runId": queued.as_str(), "state": "running", "jobId": "a" })),
            (
                EventKind::Cron,
                json!({ "jobId": "a", "action": "started", "runId": queued.as_str() })
            ),
        ]
    );
}

#[tokio::test]
async fn last_result_is_from_newest_success() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    let job_id = JobId::new("a");
    assert_eq!(fixture.store.last_result(&job_id).await.unwrap(), None);
    let failed = Outcome { result: Some(json!("bad")), ..Outcome::failed("x") };
    let outcomes = [
        Outcome { result: Some(json!({ "n": 1 })), ..Outcome::succeeded("1") },
        Outcome { result: Some(json!({ "n": 2 })), ..Outcome::succeeded("2") },
        Outcome::succeeded("without"),
        failed,
    ];
    for (n, outcome) in (0..).zip(outcomes) {
        let run = Run { created_at: NOW.plus_ms(n), ..slot_run("a", NOW.plus_ms(n)) };
        fixture.store.insert_run(&run, NOW).await.unwrap();
        fixture.store.finish_run(&finish(&run.id, outcome)).await.unwrap();
    }
    assert_eq!(fixture.store.last_result(&job_id).await.unwrap(), Some(json!({ "n": 2 })));
    assert_eq!(fixture.store.last_result(&JobId::new("b")).await.unwrap(), None);
}

#[tokio::test]
async fn recent_states_end_with_the_newest() {
    let fixture = Fixture::new().await;
    let states = [RunState::Failed, RunState::Succeeded, RunState::Skipped, RunState::Running];
    for (n, state) in (0..).zip(states) {
        let run = Run { state, created_at: NOW.plus_ms(n), ..slot_run("a", NOW.plus_ms(n)) };
        fixture.store.insert_run(&run, NOW).await.unwrap();
    }
    fixture.store.insert_run(&slot_run("b", NOW), NOW).await.unwrap();
    let ids = ["a", "b", "none"].map(JobId::new);
    let recent = fixture.store.recent_states(&ids, 3).await.unwrap();
    assert_eq!(
        recent,
        HashMap::from([
            (JobId::new("a"), vec![RunState::Succeeded, RunState::Skipped, RunState::Running]),
            (JobId::new("b"), vec![RunState::Queued]),
        ])
    );
}

#[tokio::test]
async fn live_runs_list_running_before_queued() {
    let fixture = Fixture::new().await;
    let mut made = Vec::new();
    for (n, (job, state)) in [
        ("a", RunState::Queued),
        ("a", RunState::Running),
        ("a", RunState::Skipped),
        ("other", RunState::Queued),
    ]
    .into_iter()
    .enumerate()
    {
        let slot = NOW.plus_ms(i64::try_from(n).unwrap());
        let finished_at = (state == RunState::Skipped).then_some(NOW);
        let run = Run { state, finished_at, ..slot_run(job, slot) };
        fixture.store.insert_run(&run, NOW).await.unwrap();
        made.push(run.id);
    }
    let asked = [JobId::new("a"), JobId::new("missing")];
    let live = fixture.store.live_runs(&asked).await.unwrap();
    let expected = vec![made[1].clone(), made[0].clone()];
    assert_eq!(live, HashMap::from([(JobId::new("a"), expected)]));
}

#[tokio::test]
async fn interrupted_run_is_requeued_once() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let put_back = fixture.store.requeue_run(&id, NOW.plus_ms(50)).await.unwrap().unwrap();
    assert_eq!((put_back.state, put_back.attempt), (RunState::Queued, 2));
    assert_eq!(put_back.started_at, Some(NOW.plus_ms(5)), "the start does not change");
    assert_eq!(fixture.run(&id).await, put_back);
    assert_eq!(fixture.take_events().len(), 1);
    assert_eq!(fixture.store.requeue_run(&id, NOW.plus_ms(60)).await.unwrap(), None);
    assert_eq!(fixture.take_events(), []);
}
