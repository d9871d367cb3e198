//! Budgets: limits before each model call, over runs, days, clock changes and parallel runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use rouse_agent::{AgentDriver, BudgetLedger, ChosenModel, Price, Prices};
use rouse_core::budget::{Limit, MicroUsd, Spent};
use rouse_core::job::Job;
use rouse_core::message::{ModelAnswer, Part, StopReason, ToolCallRequest};
use rouse_core::model::{
    Billing, Delta, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind as Kind,
};
use rouse_core::policy::ApprovedCall;
use rouse_core::run::{Outcome, Run, Usage};
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use rouse_core::{RunState, UnixMs};
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, answer, calls, large, says};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::run_fixture::{NOW, RunFixture, TestTool, agent_job, call_of, job, tools, turn_of};

const HOUR_MS: i64 = 3_600_000;
/// Midnight in Berlin, the zone of the jobs, on the evening of `NOW`.
const MIDNIGHT: UnixMs = UnixMs(NOW.0 + 14 * HOUR_MS);

/// An answer with a further call, of 1,000 input and 500 output tokens.
fn next_call() -> Scripted {
    large(calls([("c", "echo", json!({"text": "again"}))]))
}

fn done() -> Scripted {
    large(says("Done."))
}

fn with_budget(budget: Value) -> Job {
    agent_job(json!({"message": "x"}), json!({ "budget": budget }))
}

async fn run(fixture: &RunFixture, job: &Job) -> Outcome {
    let run = fixture.run_of(Some(job)).await;
    fixture.go(&run, job).await
}

/// The state, the reason or error, and whether a budget is the cause.
fn end_of(outcome: &Outcome) -> (RunState, &str, bool) {
    let words = outcome.reason.as_deref().or(outcome.error.as_deref()).unwrap_or_default();
    (outcome.state, words, outcome.budget.is_some())
}

#[tokio::test]
async fn run_ends_when_its_budget_is_used_up() {
    let script = (0..9).map(|n| match n {
        0 => large(Scripted::Answer(answer(
            vec![
                Part::Text { text: "Half of it is done.".to_owned() },
                Part::ToolCall(rouse_core::message::ToolCallRequest {
                    id: "c".to_owned(),
                    tool: "echo".to_owned(),
                    arguments: json!({"text": "a"}),
                }),
            ],
            StopReason::ToolCalls,
        ))),
        _ => next_call(),
    });
    let fixture = RunFixture::new(script).await;
    let outcome = run(&fixture, &with_budget(json!({"tokensPerRun": 4_000}))).await;
    let words = "The budget of a run, 4,000 tokens, is used up: 4,500 tokens used by this run. The next run has a new budget.";
    assert_eq!(end_of(&outcome), (RunState::Failed, words, true));
    assert_eq!(outcome.summary.as_deref(), Some("Half of it is done."));
    assert_eq!((fixture.model.requests().len(), outcome.usage.tokens()), (3, 4_500));
    let next = run(&fixture, &with_budget(json!({"tokensPerRun": 4_000}))).await;
    assert_eq!((next.state, fixture.model.requests().len()), (RunState::Failed, 6), "a new budget");
}

#[tokio::test]
async fn run_budget_counts_earlier_attempts() {
    let fixture = RunFixture::new((0..9).map(|_| next_call())).await;
    let job = with_budget(json!({"tokensPerRun": 4_000}));
    let run = fixture.run_of(Some(&job)).await;
    for expected in [3, 3] {
        let driver = fixture.driver();
        driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel).await;
        assert_eq!(fixture.model.requests().len(), expected);
    }
}

#[tokio::test]
async fn slots_after_the_daily_budget_are_skipped() {
    let fixture = RunFixture::new([done(), done()]).await;
    let job = with_budget(json!({"tokensPerDay": 1_500}));
    let first = run(&fixture, &job).await;
    assert_eq!((first.state, first.budget), (RunState::Succeeded, None));
    let second = run(&fixture, &job).await;
    let words = "The job's budget of 1,500 tokens a day is used up: 1,500 tokens used today. Resets on 22 Nov 2026 at 00:00 (Europe/Berlin).";
    assert_eq!(end_of(&second), (RunState::Skipped, words, true));
    let third = run(&fixture, &job).await;
    assert_eq!(
        second.budget.map(|stop| stop.key),
        third.budget.map(|stop| stop.key),
        "a single incident"
    );
    assert_eq!(fixture.model.requests().len(), 1);
    fixture.clock.set(MIDNIGHT.plus_ms(-1));
    assert_eq!(run(&fixture, &job).await.state, RunState::Skipped);
    fixture.clock.set(MIDNIGHT);
    assert_eq!(run(&fixture, &job).await.state, RunState::Succeeded, "a day in the job's zone");
}

#[tokio::test]
async fn daily_budget_is_that_of_the_current_day() {
    let fixture = RunFixture::new((0..9).map(|_| next_call())).await;
    let job = with_budget(json!({"tokensPerDay": 3_000}));
    let outcome = run(&fixture, &job).await;
    assert_eq!((outcome.state, fixture.model.requests().len()), (RunState::Failed, 2));
    assert!(outcome.budget.is_some_and(|stop| stop.resets_daily));
    fixture.clock.set(MIDNIGHT);
    run(&fixture, &job).await;
    assert_eq!(fixture.model.requests().len(), 4);
}

#[tokio::test]
async fn clock_rollback_gives_no_second_budget() {
    let fixture = RunFixture::new((0..9).map(|_| done())).await;
    let job = with_budget(json!({"tokensPerDay": 1_500}));
    assert_eq!(run(&fixture, &job).await.state, RunState::Succeeded);
    for hours in [-1, -10, -24, -24 * 9] {
        fixture.clock.set(NOW.plus_ms(hours * HOUR_MS));
        assert_eq!(run(&fixture, &job).await.state, RunState::Skipped, "{hours} hours");
    }
    fixture.clock.set(NOW.plus_ms(24 * HOUR_MS));
    assert_eq!(run(&fixture, &job).await.state, RunState::Succeeded, "a new day");
    fixture.clock.set(NOW);
    assert_eq!(run(&fixture, &job).await.state, RunState::Skipped, "and back");
}

#[tokio::test]
async fn jobs_share_only_the_budget_of_everything() {
    let fixture = RunFixture::new((0..9).map(|_| done())).await;
    let one = with_budget(json!({"tokensPerDay": 1_500}));
    let other = Job { id: rouse_core::JobId::new("j2"), ..one.clone() };
    assert_eq!(run(&fixture, &one).await.state, RunState::Succeeded);
    assert_eq!(run(&fixture, &other).await.state, RunState::Succeeded);
    let ledger = BudgetLedger::new(fixture.store.clone());
    ledger.set(Limit { tokens: Some(4_500), usd: None }, Prices::default());
    let free = Job { id: rouse_core::JobId::new("j3"), ..with_budget(json!({})) };
    let driver = fixture.driver().with_ledger(Arc::clone(&ledger));
    for expected in [RunState::Succeeded, RunState::Skipped] {
        let run = fixture.run_of(Some(&free)).await;
        let outcome =
            driver.run_turn(&run, &free, turn_of(&free), fixture.chosen(), &fixture.cancel).await;
        assert_eq!(outcome.state, expected);
    }
    fixture.store.queue_system_event("Rain.", "test", &[], NOW).await.expect("queued");
    let heartbeat_run = fixture.run_of(None).await;
    let outcome =
        driver.run_heartbeat(&heartbeat_run, fixture.chosen(), None, &fixture.cancel).await;
    let (state, words, _) = end_of(&outcome);
    assert_eq!(state, RunState::Skipped);
    assert!(words.starts_with("Rouse's budget of 4,500 tokens a day is used up"), "{words}");
    assert!(words.contains("(UTC)"), "the local zone: {words}");
    let waiting = fixture.store.pending_system_events(1_000).await.expect("read");
    assert_eq!(waiting.len(), 1, "the reminder waits for the next heartbeat");
    let chat = fixture.run_of(None).await;
    let chat = driver.run_chat_turn(&chat, "Hello", fixture.chosen(), &fixture.cancel).await;
    assert_eq!(chat.state, RunState::Skipped);
    ledger.set(Limit { tokens: Some(100_000), usd: None }, Prices::default());
    let heartbeat_run = fixture.run_of(None).await;
    let outcome =
        driver.run_heartbeat(&heartbeat_run, fixture.chosen(), None, &fixture.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "a larger budget counts at once");
}

/// A model with answers that wait for permits of the test.
struct HeldModel {
    answers: Semaphore,
    inner: ScriptedModel,
}

impl HeldModel {
    fn new() -> Arc<Self> {
        let inner = ScriptedModel::new((0..99).map(|_| done()));
        Arc::new(Self { answers: Semaphore::new(0), inner })
    }

    fn chosen(self: &Arc<Self>) -> Option<ChosenModel> {
        let provider = Arc::clone(self) as Arc<dyn ModelProvider>;
        Some(ChosenModel { provider, model: "held".to_owned() })
    }
}

impl ModelProvider for HeldModel {
    fn name(&self) -> &str {
        "held"
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        on_delta: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        Box::pin(async move {
            let answer = self.inner.stream(request, on_delta).await;
            self.answers.acquire().await.expect("open").forget();
            answer
        })
    }
}

async fn side_by_side(
    fixture: &RunFixture,
    driver: &AgentDriver,
    model: &Arc<HeldModel>,
    job: &Job,
    count: usize,
) -> Vec<(Run, Outcome)> {
    let mut runs = Vec::new();
    for _ in 0..count {
        runs.push(fixture.run_only(Some(job)).await);
    }
    join_all(runs.into_iter().map(|run| async {
        let model = model.chosen();
        let outcome = driver.run_turn(&run, job, turn_of(job), model, &fixture.cancel).await;
        (run, outcome)
    }))
    .await
}

#[tokio::test]
async fn parallel_runs_exceed_the_budget_by_at_most_a_call() {
    let fixture = RunFixture::new([]).await;
    let model = HeldModel::new();
    let job = with_budget(json!({"tokensPerDay": 3_000}));
    let driver = fixture.driver();
    // Permits for all: only the budget limits the runs.
    model.answers.add_permits(99);
    let ended = side_by_side(&fixture, &driver, &model, &job, 8).await;
    let of = |state| ended.iter().filter(|(_, outcome)| outcome.state == state).count();
    assert_eq!((of(RunState::Succeeded), of(RunState::Skipped)), (2, 6));
    let spent = fixture.store.spent_by_job(&job.id, NOW, NOW).await.expect("read");
    assert_eq!((model.inner.requests().len(), spent.tokens), (2, 3_000));
}

#[tokio::test]
async fn call_waits_for_a_call_in_flight_with_an_estimate() {
    let fixture = RunFixture::new([]).await;
    let model = HeldModel::new();
    let job = with_budget(json!({"tokensPerDay": 2_500}));
    let driver = fixture.driver();
    let going = side_by_side(&fixture, &driver, &model, &job, 2);
    let watching = async {
        model.inner.asked(1).await;
        // Each run has had many turns.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        let request_count = model.inner.requests().len();
        model.answers.add_permits(2);
        request_count
    };
    let (ended, request_count) = tokio::join!(going, watching);
    assert_eq!(request_count, 1, "the second waits");
    let states: Vec<_> = ended.iter().map(|(_, outcome)| outcome.state).collect();
    assert_eq!(states, [RunState::Succeeded; 2], "and finds that there is room");
}

#[tokio::test]
async fn budget_with_room_delays_no_call() {
    let fixture = RunFixture::new([]).await;
    let model = HeldModel::new();
    let job = with_budget(json!({"tokensPerDay": 1_000_000, "usdPerDay": 100}));
    let ledger = BudgetLedger::new(fixture.store.clone());
    ledger.set(Limit::default(), priced(1.0));
    let driver = fixture.driver().with_ledger(ledger);
    let going = side_by_side(&fixture, &driver, &model, &job, 5);
    let all_in_flight = async {
        model.inner.asked(5).await;
        model.answers.add_permits(5);
    };
    let (ended, ()) = tokio::join!(going, all_in_flight);
    assert_eq!(ended.len(), 5);
}

#[tokio::test]
async fn run_waiting_for_budget_can_be_cancelled() {
    let fixture = RunFixture::new([]).await;
    let model = HeldModel::new();
    let job = with_budget(json!({"tokensPerDay": 2_500}));
    let driver = fixture.driver();
    let going = side_by_side(&fixture, &driver, &model, &job, 2);
    let cancelling = async {
        model.inner.asked(1).await;
        fixture.cancel.cancel();
    };
    let (ended, ()) = tokio::join!(going, cancelling);
    let states: Vec<_> = ended.iter().map(|(_, outcome)| outcome.state).collect();
    assert_eq!(states, [RunState::Cancelled; 2]);
}

fn priced(input: f64) -> Prices {
    let price = Price { input, cached: None, output: 0.0 };
    Prices::with_own(BTreeMap::from([("held".to_owned(), price), ("scripted-1".to_owned(), price)]))
}

fn in_usd(outcome: &Outcome) -> Option<u64> {
    outcome.usage.cost_micro_usd
}

#[tokio::test]
async fn cost_follows_the_price_of_the_model() {
    let fixture = RunFixture::new((0..9).map(|_| next_call())).await;
    let ledger = BudgetLedger::new(fixture.store.clone());
    // 1,000 input tokens at 2 USD per million.
    ledger.set(Limit::default(), priced(2.0));
    let driver = fixture.driver().with_ledger(ledger);
    let job = with_budget(json!({"usdPerRun": 0.005_5}));
    let run = fixture.run_of(Some(&job)).await;
    let outcome =
        driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel).await;
    assert_eq!((fixture.model.requests().len(), in_usd(&outcome)), (3, Some(6_000)));
    let (state, words, is_budget) = end_of(&outcome);
    assert_eq!((state, is_budget), (RunState::Failed, true));
    assert!(words.starts_with("The budget of a run, 0.0055 USD, is used up"), "{words}");
}

/// A model without a known price that reports no cost.
fn unpriced_model(script: impl IntoIterator<Item = Scripted>) -> (Arc<ScriptedModel>, ChosenModel) {
    let script = script.into_iter().map(|line| match line {
        Scripted::Answer(mut answer) => {
            answer.usage.cost_micro_usd = None;
            Scripted::Answer(answer)
        }
        other => other,
    });
    let model = Arc::new(ScriptedModel::new(script));
    (Arc::clone(&model), ChosenModel { provider: model, model: "unpriced".to_owned() })
}

#[tokio::test]
async fn dollar_budget_refuses_a_model_without_a_price() {
    for budget in [json!({"usdPerDay": 5}), json!({"usdPerRun": 5})] {
        let fixture = RunFixture::new([]).await;
        let (model, chosen) = unpriced_model([says("Done.")]);
        let job = with_budget(budget);
        let run = fixture.run_of(Some(&job)).await;
        let driver = fixture.driver();
        let outcome =
            driver.run_turn(&run, &job, turn_of(&job), Some(chosen), &fixture.cancel).await;
        let (state, words, is_budget) = end_of(&outcome);
        assert_eq!((state, is_budget, model.requests().len()), (RunState::Failed, true, 0));
        assert!(words.contains("the price of unpriced is unknown"), "{words}");
        assert!(!outcome.budget.expect("a stop").resets_daily, "only a person can fix it");
    }
}

#[tokio::test]
async fn token_limit_counts_a_model_without_a_price() {
    let fixture = RunFixture::new([]).await;
    let (model, chosen) = unpriced_model((0..9).map(|_| next_call()));
    let job = with_budget(json!({"usdPerDay": 5, "tokensPerDay": 3_000}));
    let run = fixture.run_of(Some(&job)).await;
    let outcome =
        fixture.driver().run_turn(&run, &job, turn_of(&job), Some(chosen), &fixture.cancel).await;
    assert_eq!((model.requests().len(), in_usd(&outcome)), (2, None), "no cost differs from zero");
    let spent = fixture.store.spent_by_job(&job.id, NOW, NOW).await.expect("read");
    assert_eq!((spent.unpriced_tokens, spent.usd), (3_000, MicroUsd(0)));
}

#[tokio::test]
async fn local_model_costs_nothing() {
    let fixture = RunFixture::new([]).await;
    let model = ScriptedModel::new([says("Done.")]).paid(Billing::Free);
    let chosen = ChosenModel { provider: Arc::new(model), model: "llama3.2:3b".to_owned() };
    let job = with_budget(json!({"usdPerDay": 0.01}));
    let run = fixture.run_of(Some(&job)).await;
    let outcome =
        fixture.driver().run_turn(&run, &job, turn_of(&job), Some(chosen), &fixture.cancel).await;
    assert_eq!((outcome.state, in_usd(&outcome)), (RunState::Succeeded, Some(0)));
}

#[tokio::test]
async fn call_failed_before_first_byte_costs_nothing() {
    for kind in [Kind::Network, Kind::Unanswered, Kind::Server, Kind::Truncated, Kind::Refused] {
        let error = ProviderError {
            retry_after: Some(Duration::from_secs(90)),
            ..ProviderError::new(kind, "No answer.")
        };
        let (spent, usage) = spent_on(Scripted::Failure(Vec::new(), error), priced(2.0)).await;
        assert_eq!((spent, usage), (Spent::default(), Usage::default()), "{kind:?}");
    }
}

#[tokio::test]
async fn broken_stream_costs_its_input_and_received_output() {
    let deltas = vec![Delta::Text("four bytes a token".repeat(40))];
    let error = ProviderError {
        retry_after: Some(Duration::from_secs(90)),
        ..ProviderError::new(Kind::Truncated, "It broke off.")
    };
    let (spent, usage) = spent_on(Scripted::Failure(deltas, error), priced(2.0)).await;
    assert_eq!(usage.output_tokens, 180);
    assert!(usage.input_tokens > 500, "{usage:?}");
    let cost = usage.input_tokens * 2;
    assert_eq!((spent.tokens, spent.usd), (usage.tokens(), MicroUsd(cost)));
}

/// The booked and the reported usage of a failed call.
async fn spent_on(failure: Scripted, prices: Prices) -> (Spent, Usage) {
    let fixture = RunFixture::new([failure]).await;
    let ledger = BudgetLedger::new(fixture.store.clone());
    ledger.set(Limit::default(), prices);
    let job = agent_job(json!({ "message": "Think ".repeat(400) }), json!({}));
    let run = fixture.run_of(Some(&job)).await;
    let driver = fixture.driver().with_ledger(ledger);
    let outcome =
        driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel).await;
    assert_eq!((outcome.state, fixture.model.requests().len()), (RunState::Failed, 1));
    (fixture.store.spent_by_run(&run.id).await.expect("read"), outcome.usage)
}

/// A tool with an estimated cost, and perhaps a reported cost.
struct PaidTool(TestTool, u64);

impl Tool for PaidTool {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn estimated_cost_micro_usd(&self, _: &Value) -> Option<u64> {
        Some(self.1)
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        self.0.call(call, context)
    }
}

fn with_paid(reported: Option<u64>) -> Vec<Arc<dyn Tool>> {
    let output = ToolOutput { cost_micro_usd: reported, ..ToolOutput::ok("found") };
    let mut all = tools();
    all.push(Arc::new(PaidTool(TestTool::answering("search", output), 500)));
    all
}

#[tokio::test]
async fn cost_of_tools_is_in_the_sum_of_a_run() {
    for (reported, cost) in [(None, 500), (Some(70), 70)] {
        let script = [calls([("c", "search", json!({}))]), says("Done.")];
        let fixture = RunFixture::with_tools(script, with_paid(reported)).await;
        let (run, outcome) = fixture.turn(json!({"message": "x"})).await;
        assert_eq!(in_usd(&outcome), Some(2 + cost));
        let steps = fixture.steps(&run).await;
        assert_eq!(steps[1].usage.cost_micro_usd, Some(cost));
        let spent = fixture.store.spent_by_run(&run.id).await.expect("read");
        assert_eq!((spent.tokens, spent.usd.0, spent.unpriced_tokens), (30, 2 + cost, 0));
    }
}

#[tokio::test]
async fn paid_tool_is_refused_after_its_budget() {
    let ask = || calls([("a", "search", json!({})), ("b", "search", json!({"text": "b"}))]);
    let fixture = RunFixture::with_tools([ask(), says("Done.")], with_paid(None)).await;
    let ledger = BudgetLedger::new(fixture.store.clone());
    ledger.set(Limit::default(), priced(0.1));
    let dear = with_budget(json!({"usdPerRun": 0.000_4}));
    let run = fixture.run_of(Some(&dear)).await;
    let driver = fixture.driver().with_ledger(ledger);
    let outcome =
        driver.run_turn(&run, &dear, turn_of(&dear), fixture.chosen(), &fixture.cancel).await;
    let (state, words, _) = end_of(&outcome);
    assert_eq!(state, RunState::Failed);
    assert!(words.contains("0.000501 USD used by this run"), "{words}");
    assert_eq!(in_usd(&outcome), Some(501), "the first was called, the second was not");
    let second = fixture.steps(&run).await.pop().expect("a step");
    let result = second.output.expect("words").to_string();
    assert!(second.is_error && result.contains("is used up"), "{result}");
    let decided = json!({ "decision": "refused", "refusal": { "kind": "budget" } });
    assert_eq!(json!(second.gate), decided);

    let fixture = RunFixture::with_tools([], with_paid(None)).await;
    let job = job(
        json!({"kind": "toolCall", "tool": "search", "arguments": {}}),
        json!({"budget": {"usdPerDay": 0.000_5}}),
    );
    for (state, cost) in [(RunState::Succeeded, Some(500)), (RunState::Skipped, None)] {
        let run = fixture.run_of(Some(&job)).await;
        let driver = fixture.driver();
        let outcome = driver.run_tool_call(&run, &job, call_of(&job), &fixture.cancel).await;
        assert_eq!((outcome.state, in_usd(&outcome)), (state, cost));
    }
}

#[tokio::test]
async fn model_call_over_the_remaining_budget_is_not_made() {
    let fixture = RunFixture::new((0..9).map(|_| done())).await;
    let ledger = BudgetLedger::new(fixture.store.clone());
    ledger.set(Limit::default(), priced(2.0));
    let driver = fixture.driver().with_ledger(ledger);
    for (budget, whose) in [
        (json!({"tokensPerRun": 10}), "The budget of a run, 10 tokens, has 10 tokens left"),
        (json!({"usdPerRun": 0.000_1}), "The budget of a run, 0.0001 USD, has 0.0001 USD left"),
        (json!({"tokensPerDay": 10}), "The job's budget of 10 tokens a day has 10 tokens left"),
        (json!({"usdPerDay": 0.000_1}), "The job's budget of 0.0001 USD a day has 0.0001 USD left"),
    ] {
        let job = with_budget(budget);
        let run = fixture.run_only(Some(&job)).await;
        let outcome =
            driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel).await;
        let (state, words, is_budget) = end_of(&outcome);
        // The next day has the same budget.
        assert_eq!((state, is_budget), (RunState::Failed, true), "{words}");
        assert!(words.starts_with(whose), "{words}");
        assert!(words.contains(", but the next model call needs at least "), "{words}");
        assert!(words.ends_with("Increase the budget."), "{words}");
        assert_eq!((fixture.model.requests().len(), outcome.usage.tokens()), (0, 0));
    }
}

#[tokio::test]
async fn run_over_the_remaining_daily_budget_is_skipped() {
    let fixture = RunFixture::new([done(), done()]).await;
    let job = with_budget(json!({"tokensPerDay": 1_600}));
    assert_eq!(run(&fixture, &job).await.state, RunState::Succeeded);
    let second = run(&fixture, &job).await;
    let (state, words, _) = end_of(&second);
    assert_eq!(state, RunState::Skipped, "{words}");
    assert!(words.contains("has 100 tokens left, but the next model call needs"), "{words}");
    assert!(words.ends_with("Resets on 22 Nov 2026 at 00:00 (Europe/Berlin)."), "{words}");
    assert_eq!(fixture.model.requests().len(), 1);
    fixture.clock.set(MIDNIGHT);
    assert_eq!(run(&fixture, &job).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn large_answer_limit_does_not_refuse_a_call() {
    let fixture = RunFixture::new([says("Done.")]).await;
    let budget = json!({ "budget": { "tokensPerRun": 2_000 } });
    let job = agent_job(json!({"message": "x", "maxTokens": 8_192}), budget);
    assert_eq!(run(&fixture, &job).await.state, RunState::Succeeded);
}

/// The answer limit sent to the model for a job with this limit and budget.
async fn answer_limit(own: Value, budget: Value) -> Option<u32> {
    let fixture = RunFixture::new([says("Done.")]).await;
    let ledger = BudgetLedger::new(fixture.store.clone());
    let price = Price { input: 1.0, cached: None, output: 10.0 };
    let own_price = BTreeMap::from([("scripted-1".to_owned(), price)]);
    ledger.set(Limit::default(), Prices::with_own(own_price));
    let driver = fixture.driver().with_ledger(ledger);
    let job = agent_job(json!({"message": "x", "maxTokens": own}), json!({ "budget": budget }));
    let run = fixture.run_of(Some(&job)).await;
    let outcome =
        driver.run_turn(&run, &job, turn_of(&job), fixture.chosen(), &fixture.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    fixture.model.requests()[0].max_tokens
}

#[tokio::test]
async fn answer_limit_follows_the_remaining_budget() {
    let none = Value::Null;
    assert_eq!(answer_limit(none.clone(), json!({})).await, None, "nothing counts");
    let much = json!({"tokensPerRun": 1_000_000});
    assert_eq!(answer_limit(none.clone(), much).await, Some(8_192), "the output limit is unknown");
    assert_eq!(answer_limit(json!(8_192), json!({"tokensPerRun": 1_000_000})).await, Some(8_192));
    assert_eq!(answer_limit(json!(50), json!({"tokensPerRun": 2_000})).await, Some(50));
    for own in [none, json!(8_192)] {
        let by_tokens =
            answer_limit(own.clone(), json!({"tokensPerRun": 2_000})).await.expect("a bound");
        assert!((1_000..2_000).contains(&by_tokens), "without the sent tokens: {by_tokens}");
        let of_day = json!({"tokensPerRun": 3_000, "tokensPerDay": 2_000});
        assert_eq!(
            answer_limit(own.clone(), of_day).await,
            Some(by_tokens),
            "the smaller budget counts"
        );
        // 0.01 USD pays for 1,000 output tokens, less the input.
        let by_usd = answer_limit(own, json!({"usdPerRun": 0.01})).await.expect("a bound");
        assert!((800..1_000).contains(&by_usd), "{by_usd}");
    }
}

#[tokio::test]
async fn cut_off_complete_run_keeps_its_summary() {
    let arguments = json!({ "outcome": "failed", "summary": "The host is down" });
    let call = ToolCallRequest { id: "c1".to_owned(), tool: "complete_run".to_owned(), arguments };
    let ended = Scripted::Answer(answer(vec![Part::ToolCall(call)], StopReason::Length));
    let fixture = RunFixture::new([ended]).await;
    let outcome = run(&fixture, &with_budget(json!({"tokensPerRun": 2_000}))).await;
    let (state, words, is_budget) = end_of(&outcome);
    assert_eq!((state, is_budget), (RunState::Failed, false), "{words}");
    assert!(words.contains("The host is down"), "{words}");
}

#[tokio::test]
async fn answer_cut_off_by_a_budget_ends_the_run() {
    let cut = || {
        let words = vec![Part::Text { text: "The disk is".to_owned() }];
        Scripted::Answer(answer(words, StopReason::Length))
    };
    let fixture = RunFixture::new([cut(), cut()]).await;
    let outcome = run(&fixture, &with_budget(json!({"tokensPerRun": 2_000}))).await;
    let (state, words, is_budget) = end_of(&outcome);
    assert_eq!((state, is_budget), (RunState::Failed, true), "{words}");
    let room = fixture.model.requests()[0].max_tokens.expect("a bound");
    let expected = format!(
        "The budget of a run, 2,000 tokens, had room for {} tokens of the model's answer, which was cut off there. The next run has a new budget.",
        rouse_core::text::group_thousands(u64::from(room))
    );
    assert_eq!(words, expected);
    assert_eq!(outcome.summary.as_deref(), Some("The disk is"));
    let job = agent_job(
        json!({"message": "x", "maxTokens": 50}),
        json!({"budget": {"tokensPerRun": 2_000}}),
    );
    let outcome = run(&fixture, &Job { id: rouse_core::JobId::new("j2"), ..job }).await;
    let words = "The model's answer was cut at 5 tokens.";
    assert_eq!(end_of(&outcome), (RunState::Failed, words, false), "by the job's own bound");
}
