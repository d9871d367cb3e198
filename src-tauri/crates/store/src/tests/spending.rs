//! Spending and budgets, under a correct and a wrong clock.

use rouse_core::budget::{BudgetStop, MicroUsd, Spent};
use rouse_core::{JobId, Outcome};

use super::finish::end_of;
use super::*;
use crate::{NewStep, RunEnd, StepEnd, StepKind, StepStatus};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A model call of a run that ends at `at`.
async fn call(fixture: &Fixture, run: &RunId, tokens: u64, cost: Option<u64>, at: UnixMs) {
    let step = NewStep {
        gate: None,
        call_id: None,
        run_id: run.clone(),
        kind: StepKind::ModelTurn,
        name: "m".to_owned(),
        repeatable: true,
        input: json!({}),
    };
    let seq = fixture.store.begin_step(&step, at).await.unwrap();
    let usage = Usage { input_tokens: tokens, cost_micro_usd: cost, ..Usage::NONE };
    let (status, output) = (StepStatus::Finished, None);
    let end = StepEnd { status, output, is_error: false, usage, duration_ms: None };
    fixture.store.end_step(run, seq, &end, at).await.unwrap();
}

fn spent(tokens: u64, usd: u64, unpriced_tokens: u64) -> Spent {
    Spent { tokens, usd: MicroUsd(usd), unpriced_tokens }
}

#[tokio::test]
async fn spending_without_run_counts_for_the_day() {
    let fixture = Fixture::new().await;
    let usage = Usage { input_tokens: 100, cost_micro_usd: Some(7), ..Usage::default() };
    for usage in [usage, Usage::default()] {
        fixture.store.record_spending_without_run("models.test", usage, NOW).await.unwrap();
    }
    assert_eq!(fixture.store.spent_since(NOW, NOW).await.unwrap(), spent(100, 7, 0));
}

#[tokio::test]
async fn spending_is_summed_by_run_job_and_time() {
    let fixture = Fixture::new().await;
    let (a, b) = (fixture.running("a").await, fixture.running("b").await);
    call(&fixture, &a, 10, Some(4), NOW).await;
    call(&fixture, &a, 5, None, NOW.plus_ms(HOUR_MS)).await;
    call(&fixture, &b, 7, Some(1), NOW.plus_ms(HOUR_MS)).await;
    call(&fixture, &b, 0, None, NOW.plus_ms(HOUR_MS)).await;
    let store = &fixture.store;
    assert_eq!(store.spent_by_run(&a).await.unwrap(), spent(15, 4, 5));
    let (job, later) = (JobId::new("a"), NOW.plus_ms(2 * HOUR_MS));
    assert_eq!(store.spent_by_job(&job, NOW, later).await.unwrap(), spent(15, 4, 5));
    assert_eq!(store.spent_by_job(&job, NOW.plus_ms(1), later).await.unwrap(), spent(5, 0, 5));
    assert_eq!(store.spent_since(NOW, later).await.unwrap(), spent(22, 5, 5));
    let both = [JobId::new("a"), JobId::new("b"), JobId::new("c")];
    let of_jobs = store.spent_by_jobs(&both, NOW.plus_ms(1), later).await.unwrap();
    let expected = [("a", spent(5, 0, 5)), ("b", spent(7, 1, 0))];
    assert_eq!(of_jobs, expected.map(|(job, spent)| (JobId::new(job), spent)).into());
    assert_eq!(store.spent_since(later, later).await.unwrap(), Spent::default());
}

/// Amounts beyond any real call are capped, so that sums do not overflow.
#[tokio::test]
async fn absurd_row_is_capped_in_sums() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    for absurd in [u64::MAX, i64::MAX.unsigned_abs()] {
        call(&fixture, &run, absurd, Some(absurd), NOW).await;
        call(&fixture, &run, absurd, None, NOW).await;
    }
    let (store, job) = (&fixture.store, JobId::new("a"));
    let sum = spent(8_000_000_000, 2_000_000_000_000, 4_000_000_000);
    assert_eq!(store.spent_by_run(&run).await.unwrap(), sum);
    assert_eq!(store.spent_by_job(&job, NOW, NOW).await.unwrap(), sum);
    assert_eq!(store.spent_since(NOW, NOW).await.unwrap(), sum);
    let of_jobs = store.spent_by_jobs(std::slice::from_ref(&job), NOW, NOW).await.unwrap();
    assert_eq!(of_jobs[&job], sum);
    let again = store.requeue_run(&run, NOW).await.unwrap().unwrap();
    assert_eq!(again.usage.input_tokens, 4_000_000_000);
    assert_eq!(again.usage.cost_micro_usd, None);
}

#[tokio::test]
async fn spending_survives_run_and_job() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW).await;
    let gone = RunEnd { delete_job: true, ..end_of(&run, Outcome::succeeded("x")) };
    fixture.store.finish_run(&gone).await.unwrap();
    assert_eq!(fixture.store.spent_since(NOW, NOW).await.unwrap(), spent(10, 4, 0));
}

#[tokio::test]
async fn clock_rollback_keeps_spending() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW).await;
    let job = JobId::new("a");
    for back in [HOUR_MS, DAY_MS, 40 * DAY_MS] {
        let now = NOW.plus_ms(-back);
        let found = fixture.store.spent_by_job(&job, now.plus_ms(-HOUR_MS), now).await.unwrap();
        assert_eq!(found, spent(10, 4, 0), "{back}");
    }
}

#[tokio::test]
async fn spending_decades_ahead_counts_on_one_day() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW.plus_ms(20_000 * DAY_MS)).await;
    let today = fixture.store.spent_since(NOW, NOW).await.unwrap();
    assert_eq!(today, spent(10, 4, 0));
    let tomorrow = NOW.plus_ms(DAY_MS);
    assert_eq!(fixture.store.spent_since(tomorrow, tomorrow).await.unwrap(), Spent::default());
}

/// The spending since an hour before `now`: of the job, of everything, and as displayed with the job.
async fn counts_at(fixture: &Fixture, now: UnixMs) -> [Spent; 3] {
    let (job, since) = (JobId::new("a"), now.plus_ms(-HOUR_MS));
    let of_job = fixture.store.spent_by_job(&job, since, now).await.unwrap();
    let of_all = fixture.store.spent_since(since, now).await.unwrap();
    let shown = fixture.store.spent_by_jobs(std::slice::from_ref(&job), since, now).await.unwrap();
    [of_job, of_all, shown.get(&job).copied().unwrap_or_default()]
}

#[tokio::test]
async fn short_clock_rollback_counts_spending_once() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW).await;
    for back in [3 * DAY_MS, 40 * DAY_MS, 3 * DAY_MS] {
        assert_eq!(counts_at(&fixture, NOW.plus_ms(-back)).await, [spent(10, 4, 0); 3], "{back}");
        assert_eq!(counts_at(&fixture, NOW).await, [spent(10, 4, 0); 3], "right after {back}");
    }
    let month = fixture.store.spent_since(NOW.plus_ms(-50 * DAY_MS), NOW).await.unwrap();
    assert_eq!(month, spent(10, 4, 0), "counted once");
    let tomorrow = NOW.plus_ms(DAY_MS);
    assert_eq!(counts_at(&fixture, tomorrow).await, [Spent::default(); 3]);
}

#[tokio::test]
async fn spending_ahead_counts_when_seen_and_on_its_day() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    let all = [spent(10, 4, 0); 3];
    let ahead = NOW.plus_ms(400 * DAY_MS);
    call(&fixture, &run, 10, Some(4), ahead).await;
    assert_eq!(counts_at(&fixture, NOW.plus_ms(300 * DAY_MS)).await, all, "a plausible date");
    // With a clock rollback in between.
    for days in [0, -10, 0] {
        assert_eq!(counts_at(&fixture, NOW.plus_ms(days * DAY_MS)).await, all, "{days}");
    }
    assert_eq!(counts_at(&fixture, NOW.plus_ms(DAY_MS)).await, [Spent::default(); 3]);
    assert_eq!(counts_at(&fixture, ahead).await, all);

    // Rows seen later count by themselves.
    call(&fixture, &run, 1, None, ahead).await;
    let next = NOW.plus_ms(2 * DAY_MS);
    assert_eq!(counts_at(&fixture, next).await, [spent(1, 0, 1); 3]);
    let month = fixture.store.spent_since(NOW.plus_ms(-HOUR_MS), next).await.unwrap();
    assert_eq!(month, spent(11, 4, 1));
}

#[tokio::test]
async fn unreadable_seen_entries_are_rebuilt() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW.plus_ms(400 * DAY_MS)).await;
    for garbled in [json!("x"), json!([["a", 1]]), json!([1, [2]])] {
        assert_eq!(counts_at(&fixture, NOW).await, [spent(10, 4, 0); 3]);
        fixture.store.put_setting("spending.met", &garbled, None, NOW).await.unwrap();
    }
    assert_eq!(counts_at(&fixture, NOW.plus_ms(DAY_MS)).await, [spent(10, 4, 0); 3]);
}

#[tokio::test]
async fn used_up_budget_is_announced_once() {
    let fixture = Fixture::new().await;
    let runs = [fixture.running("a").await, fixture.running("b").await, fixture.running("c").await];
    for (run, (key, id)) in runs.iter().zip([("day/1", "d1"), ("day/1", "d2"), ("day/2", "d3")]) {
        let stop = BudgetStop {
            key: key.to_owned(),
            is_global: false,
            resets_daily: true,
            words: "used up".to_owned(),
        };
        let outcome = Outcome { budget: Some(stop), ..Outcome::skipped("used up") };
        let end = RunEnd { deliveries: vec![delivery(id)], ..end_of(run, outcome) };
        fixture.store.finish_run(&end).await.unwrap();
    }
    let due = fixture
        .store
        .due_deliveries(&ChannelName::notification(), NOW.plus_ms(DAY_MS), 10)
        .await
        .unwrap();
    let ids: Vec<&str> = due.iter().map(|delivery| delivery.id.as_str()).collect();
    assert_eq!(ids, ["d1", "d3"]);
}

#[tokio::test]
async fn daily_budget_stop_is_no_consecutive_failure() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    let stop = BudgetStop {
        key: "k".to_owned(),
        is_global: false,
        resets_daily: true,
        words: "used up".to_owned(),
    };
    let outcome = Outcome { budget: Some(stop), ..Outcome::failed("used up") };
    fixture.store.finish_run(&end_of(&run, outcome)).await.unwrap();
    let state = fixture.job("a").await.state;
    assert_eq!((state.consecutive_failures, state.last_error.as_deref()), (0, Some("used up")));
}

#[tokio::test]
async fn requeued_run_keeps_its_usage() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW).await;
    call(&fixture, &run, 5, Some(2), NOW).await;
    let back = fixture.store.requeue_run(&run, NOW).await.unwrap().unwrap();
    assert_eq!((back.usage.tokens(), back.usage.cost_micro_usd), (15, Some(6)));
    fixture.store.start_runs(std::slice::from_ref(&run), NOW).await.unwrap();
    call(&fixture, &run, 1, None, NOW).await;
    let usage = Usage { input_tokens: 1, ..Usage::default() };
    let outcome = Outcome {
        usage,
        fallback_reason: Some("m was away".to_owned()),
        ..Outcome::succeeded("x")
    };
    fixture.store.finish_run(&end_of(&run, outcome)).await.unwrap();
    let ended = fixture.run(&run).await;
    assert_eq!(
        (ended.usage.tokens(), ended.usage.cost_micro_usd),
        (16, None),
        "a part has no price"
    );
    assert_eq!(ended.fallback_reason.as_deref(), Some("m was away"));
}

#[tokio::test]
async fn recent_usage_skips_runs_without_usage() {
    let fixture = Fixture::new().await;
    let usage = |tokens| Usage { input_tokens: tokens, ..Usage::default() };
    for (minute, (state, tokens)) in [
        (RunState::Succeeded, 1),
        (RunState::Failed, 2),
        (RunState::Skipped, 3),
        (RunState::Succeeded, 0),
        (RunState::NothingToReport, 4),
    ]
    .into_iter()
    .enumerate()
    {
        let at = NOW.plus_ms(60_000 * i64::try_from(minute).unwrap());
        let run = Run { state, usage: usage(tokens), created_at: at, ..slot_run("a", at) };
        fixture.store.insert_run(&run, at).await.unwrap();
    }
    let job = JobId::new("a");
    let found = |most| fixture.store.recent_usage(&job, most);
    assert_eq!(found(9).await.unwrap(), [usage(4), usage(2), usage(1)]);
    let id = RunId::generate(NOW);
    let newest = Run { id, state: RunState::Succeeded, usage: usage(9), ..slot_run("a", NOW) };
    let newest = Run { slot_at: None, created_at: NOW.plus_ms(HOUR_MS), ..newest };
    fixture.store.insert_run(&newest, NOW).await.unwrap();
    assert_eq!(found(2).await.unwrap(), [usage(9), usage(4)]);
}
