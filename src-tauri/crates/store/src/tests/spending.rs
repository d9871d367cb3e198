use rouse_core::money::{BudgetStop, MicroUsd, Spent};
use rouse_core::{JobId, Outcome};

use super::finish::finish;
use super::*;
use crate::{Finish, NewStep, StepEnd, StepKind, StepStatus};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A call of a run that ends at `at` and costs this.
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
async fn call_outside_of_runs_counts_for_the_day() {
    let fixture = Fixture::new().await;
    let usage = Usage { input_tokens: 100, cost_micro_usd: Some(7), ..Usage::default() };
    for usage in [usage, Usage::default()] {
        fixture.store.spend_outside_runs("models.test", usage, NOW).await.unwrap();
    }
    assert_eq!(fixture.store.spent_since(NOW, NOW).await.unwrap(), spent(100, 7, 0));
}

#[tokio::test]
async fn what_calls_cost_is_summed_by_run_by_job_and_by_time() {
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

/// A row that says more than any call can use counts as the most that is believed; a sum over it is still a number.
#[tokio::test]
async fn an_absurd_row_does_not_keep_the_others_from_being_summed() {
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
    let again = store.put_back(&run, NOW).await.unwrap().unwrap();
    assert_eq!(again.usage.input_tokens, 4_000_000_000);
    assert_eq!(again.usage.cost_micro_usd, None);
}

#[tokio::test]
async fn what_was_spent_stays_when_its_run_and_its_job_are_gone() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW).await;
    let gone = Finish { delete_job: true, ..finish(&run, Outcome::succeeded("x")) };
    fixture.store.finish_run(&gone).await.unwrap();
    assert_eq!(fixture.store.spent_since(NOW, NOW).await.unwrap(), spent(10, 4, 0));
}

#[tokio::test]
async fn a_clock_that_was_set_back_buys_nothing_twice() {
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
async fn a_clock_that_was_decades_ahead_blocks_one_day_and_not_all() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW.plus_ms(20_000 * DAY_MS)).await;
    let today = fixture.store.spent_since(NOW, NOW).await.unwrap();
    assert_eq!(today, spent(10, 4, 0));
    let tomorrow = NOW.plus_ms(DAY_MS);
    assert_eq!(fixture.store.spent_since(tomorrow, tomorrow).await.unwrap(), Spent::default());
}

/// What counts from an hour before `now` on: of the job, of everything, and shown beside the job.
async fn counts_at(fixture: &Fixture, now: UnixMs) -> [Spent; 3] {
    let (job, since) = (JobId::new("a"), now.plus_ms(-HOUR_MS));
    let of_job = fixture.store.spent_by_job(&job, since, now).await.unwrap();
    let of_all = fixture.store.spent_since(since, now).await.unwrap();
    let shown = fixture.store.spent_by_jobs(std::slice::from_ref(&job), since, now).await.unwrap();
    [of_job, of_all, shown.get(&job).copied().unwrap_or_default()]
}

#[tokio::test]
async fn a_clock_that_is_early_for_a_moment_buys_nothing_twice_when_it_is_right_again() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW).await;
    for back in [3 * DAY_MS, 40 * DAY_MS, 3 * DAY_MS] {
        assert_eq!(counts_at(&fixture, NOW.plus_ms(-back)).await, [spent(10, 4, 0); 3], "{back}");
        assert_eq!(counts_at(&fixture, NOW).await, [spent(10, 4, 0); 3], "right after {back}");
    }
    let month = fixture.store.spent_since(NOW.plus_ms(-50 * DAY_MS), NOW).await.unwrap();
    assert_eq!(month, spent(10, 4, 0), "it counts once");
    let tomorrow = NOW.plus_ms(DAY_MS);
    assert_eq!(counts_at(&fixture, tomorrow).await, [Spent::default(); 3]);
}

#[tokio::test]
async fn what_was_spent_while_the_clock_was_ahead_counts_when_it_is_met_and_when_its_day_comes() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    let all = [spent(10, 4, 0); 3];
    let ahead = NOW.plus_ms(400 * DAY_MS);
    call(&fixture, &run, 10, Some(4), ahead).await;
    assert_eq!(counts_at(&fixture, NOW.plus_ms(300 * DAY_MS)).await, all, "not ahead as far");
    // Early in between.
    for days in [0, -10, 0] {
        assert_eq!(counts_at(&fixture, NOW.plus_ms(days * DAY_MS)).await, all, "{days}");
    }
    assert_eq!(counts_at(&fixture, NOW.plus_ms(DAY_MS)).await, [Spent::default(); 3]);
    assert_eq!(counts_at(&fixture, ahead).await, all);

    // What is met later counts by itself.
    call(&fixture, &run, 1, None, ahead).await;
    let next = NOW.plus_ms(2 * DAY_MS);
    assert_eq!(counts_at(&fixture, next).await, [spent(1, 0, 1); 3]);
    let month = fixture.store.spent_since(NOW.plus_ms(-HOUR_MS), next).await.unwrap();
    assert_eq!(month, spent(11, 4, 1));
}

#[tokio::test]
async fn rows_that_lie_ahead_are_met_anew_when_nobody_can_read_when_they_were() {
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
async fn a_budget_is_told_once_whoever_meets_it() {
    let fixture = Fixture::new().await;
    let runs = [fixture.running("a").await, fixture.running("b").await, fixture.running("c").await];
    for (run, (key, id)) in runs.iter().zip([("day/1", "d1"), ("day/1", "d2"), ("day/2", "d3")]) {
        let stop = BudgetStop {
            key: key.to_owned(),
            is_of_everything: false,
            passes_with_the_day: true,
            words: "used up".to_owned(),
        };
        let outcome = Outcome { budget: Some(stop), ..Outcome::skipped("used up") };
        let end = Finish { deliveries: vec![delivery(id)], ..finish(run, outcome) };
        fixture.store.finish_run(&end).await.unwrap();
    }
    let due = fixture.store.due_deliveries(NOW.plus_ms(DAY_MS), 10).await.unwrap();
    let ids: Vec<&str> = due.iter().map(|delivery| delivery.id.as_str()).collect();
    assert_eq!(ids, ["d1", "d3"]);
}

#[tokio::test]
async fn a_budget_of_the_day_is_no_failure_in_a_row() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    let stop = BudgetStop {
        key: "k".to_owned(),
        is_of_everything: false,
        passes_with_the_day: true,
        words: "used up".to_owned(),
    };
    let outcome = Outcome { budget: Some(stop), ..Outcome::failed("used up") };
    fixture.store.finish_run(&finish(&run, outcome)).await.unwrap();
    let state = fixture.job("a").await.state;
    assert_eq!((state.consecutive_failures, state.last_error.as_deref()), (0, Some("used up")));
}

#[tokio::test]
async fn a_run_that_goes_on_knows_what_it_has_cost() {
    let fixture = Fixture::new().await;
    let run = fixture.running("a").await;
    call(&fixture, &run, 10, Some(4), NOW).await;
    call(&fixture, &run, 5, Some(2), NOW).await;
    let back = fixture.store.put_back(&run, NOW).await.unwrap().unwrap();
    assert_eq!((back.usage.tokens(), back.usage.cost_micro_usd), (15, Some(6)));
    fixture.store.start_runs(std::slice::from_ref(&run), NOW).await.unwrap();
    call(&fixture, &run, 1, None, NOW).await;
    let usage = Usage { input_tokens: 1, ..Usage::default() };
    let outcome =
        Outcome { usage, fell_back: Some("m was away".to_owned()), ..Outcome::succeeded("x") };
    fixture.store.finish_run(&finish(&run, outcome)).await.unwrap();
    let ended = fixture.run(&run).await;
    assert_eq!(
        (ended.usage.tokens(), ended.usage.cost_micro_usd),
        (16, None),
        "a part has no price"
    );
    assert_eq!(ended.fell_back.as_deref(), Some("m was away"));
}

#[tokio::test]
async fn the_usage_of_the_newest_runs_leaves_out_those_that_used_nothing() {
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
    let found = |most| fixture.store.usage_of_newest_runs(&job, most);
    assert_eq!(found(9).await.unwrap(), [usage(4), usage(2), usage(1)]);
    let id = RunId::generate(NOW);
    let newest = Run { id, state: RunState::Succeeded, usage: usage(9), ..slot_run("a", NOW) };
    let newest = Run { slot_at: None, created_at: NOW.plus_ms(HOUR_MS), ..newest };
    fixture.store.insert_run(&newest, NOW).await.unwrap();
    assert_eq!(found(2).await.unwrap(), [usage(9), usage(4)]);
}
