//! What runs may spend: each limit before the next question to the model, over runs, days, clocks and parallel runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use rouse_agent::{AgentDriver, ChosenModel, Ledger, Price, Prices};
use rouse_core::job::Job;
use rouse_core::message::{ModelAnswer, Part, StopReason, ToolCallRequest};
use rouse_core::model::{
    Billing, Delta, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind as Kind,
};
use rouse_core::money::{Limit, MicroUsd, Spent};
use rouse_core::policy::ApprovedCall;
use rouse_core::run::{Outcome, Run, Usage};
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use rouse_core::{RunState, UnixMs};
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, answer, calls, large, says};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::house::{House, NOW, TestTool, agent_job, call_of, job, tools, turn_of};

const HOUR_MS: i64 = 3_600_000;
/// Midnight in Berlin, the zone of the jobs, on the evening of `NOW`.
const MIDNIGHT: UnixMs = UnixMs(NOW.0 + 14 * HOUR_MS);

/// Asks on, and has used a thousand tokens sent and five hundred received.
fn again() -> Scripted {
    large(calls([("c", "echo", json!({"text": "again"}))]))
}

fn done() -> Scripted {
    large(says("Done."))
}

fn with_budget(budget: Value) -> Job {
    agent_job(json!({"message": "x"}), json!({ "budget": budget }))
}

async fn run(house: &House, job: &Job) -> Outcome {
    let run = house.run_of(Some(job)).await;
    house.go(&run, job).await
}

/// The state, what is said of it, and whether a budget is the reason.
fn told(outcome: &Outcome) -> (RunState, &str, bool) {
    let words = outcome.reason.as_deref().or(outcome.error.as_deref()).unwrap_or_default();
    (outcome.state, words, outcome.budget.is_some())
}

#[tokio::test]
async fn a_run_ends_with_a_report_when_its_own_budget_is_used_up() {
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
        _ => again(),
    });
    let house = House::new(script).await;
    let outcome = run(&house, &with_budget(json!({"tokensPerRun": 4_000}))).await;
    let words = "The budget of a run, 4,000 tokens, is used up: this run has used 4,500 tokens. The next run has a new one.";
    assert_eq!(told(&outcome), (RunState::Failed, words, true));
    assert_eq!(outcome.summary.as_deref(), Some("Half of it is done."));
    assert_eq!((house.model.requests().len(), outcome.usage.tokens()), (3, 4_500));
    let next = run(&house, &with_budget(json!({"tokensPerRun": 4_000}))).await;
    assert_eq!((next.state, house.model.requests().len()), (RunState::Failed, 6), "a new one");
}

#[tokio::test]
async fn the_budget_of_a_run_counts_its_earlier_attempts() {
    let house = House::new((0..9).map(|_| again())).await;
    let job = with_budget(json!({"tokensPerRun": 4_000}));
    let run = house.run_of(Some(&job)).await;
    for expected in [3, 3] {
        let driver = house.driver();
        driver.run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel).await;
        assert_eq!(house.model.requests().len(), expected);
    }
}

#[tokio::test]
async fn slots_after_the_budget_of_the_day_are_skipped_without_a_question() {
    let house = House::new([done(), done()]).await;
    let job = with_budget(json!({"tokensPerDay": 1_500}));
    let first = run(&house, &job).await;
    assert_eq!((first.state, first.budget), (RunState::Succeeded, None));
    let second = run(&house, &job).await;
    let words = "The job's budget of 1,500 tokens a day is used up: it has used 1,500 tokens today. It is free again on 22 Nov 2026 at 00:00 (Europe/Berlin).";
    assert_eq!(told(&second), (RunState::Skipped, words, true));
    let third = run(&house, &job).await;
    assert_eq!(second.budget.map(|stop| stop.key), third.budget.map(|stop| stop.key), "told once");
    assert_eq!(house.model.requests().len(), 1);
    house.clock.set(MIDNIGHT.plus_ms(-1));
    assert_eq!(run(&house, &job).await.state, RunState::Skipped);
    house.clock.set(MIDNIGHT);
    assert_eq!(run(&house, &job).await.state, RunState::Succeeded, "a day in the job's zone");
}

#[tokio::test]
async fn a_run_draws_on_the_day_that_it_has_come_to() {
    let house = House::new((0..9).map(|_| again())).await;
    let job = with_budget(json!({"tokensPerDay": 3_000}));
    let outcome = run(&house, &job).await;
    assert_eq!((outcome.state, house.model.requests().len()), (RunState::Failed, 2));
    assert!(outcome.budget.is_some_and(|stop| stop.passes_with_the_day));
    house.clock.set(MIDNIGHT);
    run(&house, &job).await;
    assert_eq!(house.model.requests().len(), 4);
}

#[tokio::test]
async fn a_step_of_the_clock_gives_no_second_budget() {
    let house = House::new((0..9).map(|_| done())).await;
    let job = with_budget(json!({"tokensPerDay": 1_500}));
    assert_eq!(run(&house, &job).await.state, RunState::Succeeded);
    for hours in [-1, -10, -24, -24 * 9] {
        house.clock.set(NOW.plus_ms(hours * HOUR_MS));
        assert_eq!(run(&house, &job).await.state, RunState::Skipped, "{hours} hours");
    }
    house.clock.set(NOW.plus_ms(24 * HOUR_MS));
    assert_eq!(run(&house, &job).await.state, RunState::Succeeded, "a new day");
    house.clock.set(NOW);
    assert_eq!(run(&house, &job).await.state, RunState::Skipped, "and back");
}

#[tokio::test]
async fn another_job_has_a_budget_of_its_own_and_all_share_that_of_everything() {
    let house = House::new((0..9).map(|_| done())).await;
    let one = with_budget(json!({"tokensPerDay": 1_500}));
    let other = Job { id: rouse_core::JobId::new("j2"), ..one.clone() };
    assert_eq!(run(&house, &one).await.state, RunState::Succeeded);
    assert_eq!(run(&house, &other).await.state, RunState::Succeeded);
    let ledger = Ledger::new(house.store.clone());
    ledger.set(Limit { tokens: Some(4_500), usd: None }, Prices::default());
    let free = Job { id: rouse_core::JobId::new("j3"), ..with_budget(json!({})) };
    let driver = house.driver().paid_from(Arc::clone(&ledger));
    for expected in [RunState::Succeeded, RunState::Skipped] {
        let run = house.run_of(Some(&free)).await;
        let outcome =
            driver.run_turn(&run, &free, turn_of(&free), house.chosen(), &house.cancel).await;
        assert_eq!(outcome.state, expected);
    }
    house.store.queue_system_event("Rain.", "test", &[], NOW).await.expect("queued");
    let beat = house.run_of(None).await;
    let beat = driver.run_main_turn(&beat, house.chosen(), None, &house.cancel).await;
    let (state, words, _) = told(&beat);
    assert_eq!(state, RunState::Skipped);
    assert!(words.starts_with("Rouse's budget of 4,500 tokens a day is used up"), "{words}");
    assert!(words.contains("(UTC)"), "the local zone: {words}");
    let waiting = house.store.pending_system_events(1_000).await.expect("read");
    assert_eq!(waiting.len(), 1, "it waits for the next beat");
    let chat = house.run_of(None).await;
    let chat = driver.run_chat_turn(&chat, "Hello", house.chosen(), &house.cancel).await;
    assert_eq!(chat.state, RunState::Skipped);
    ledger.set(Limit { tokens: Some(100_000), usd: None }, Prices::default());
    let beat = house.run_of(None).await;
    let beat = driver.run_main_turn(&beat, house.chosen(), None, &house.cancel).await;
    assert_eq!(beat.state, RunState::Succeeded, "a larger budget counts at once");
}

/// A model whose answers wait for permits, so that calls are in flight as long as a test wants.
struct Held {
    answers: Semaphore,
    inner: ScriptedModel,
}

impl Held {
    fn new() -> Arc<Self> {
        let inner = ScriptedModel::new((0..99).map(|_| done()));
        Arc::new(Self { answers: Semaphore::new(0), inner })
    }

    fn chosen(self: &Arc<Self>) -> Option<ChosenModel> {
        let provider = Arc::clone(self) as Arc<dyn ModelProvider>;
        Some(ChosenModel { provider, model: "held".to_owned() })
    }
}

impl ModelProvider for Held {
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
    house: &House,
    driver: &AgentDriver,
    model: &Arc<Held>,
    job: &Job,
    count: usize,
) -> Vec<(Run, Outcome)> {
    let mut runs = Vec::new();
    for _ in 0..count {
        runs.push(house.run_only(Some(job)).await);
    }
    join_all(runs.into_iter().map(|run| async {
        let model = model.chosen();
        let outcome = driver.run_turn(&run, job, turn_of(job), model, &house.cancel).await;
        (run, outcome)
    }))
    .await
}

#[tokio::test]
async fn runs_side_by_side_do_not_overshoot_by_more_than_a_call() {
    let house = House::new([]).await;
    let model = Held::new();
    let job = with_budget(json!({"tokensPerDay": 3_000}));
    let driver = house.driver();
    // Far too many permits: what holds the runs back is the budget alone.
    model.answers.add_permits(99);
    let ended = side_by_side(&house, &driver, &model, &job, 8).await;
    let of = |state| ended.iter().filter(|(_, outcome)| outcome.state == state).count();
    assert_eq!((of(RunState::Succeeded), of(RunState::Skipped)), (2, 6));
    let spent = house.store.spent_by_job(&job.id, NOW, NOW).await.expect("read");
    assert_eq!((model.inner.requests().len(), spent.tokens), (2, 3_000));
}

#[tokio::test]
async fn a_call_that_may_use_up_what_is_left_is_waited_for_and_not_refused() {
    let house = House::new([]).await;
    let model = Held::new();
    let job = with_budget(json!({"tokensPerDay": 2_500}));
    let driver = house.driver();
    let going = side_by_side(&house, &driver, &model, &job, 2);
    let watching = async {
        model.inner.asked(1).await;
        // Everybody has had a turn to ask, many times over.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        let asked = model.inner.requests().len();
        model.answers.add_permits(2);
        asked
    };
    let (ended, asked) = tokio::join!(going, watching);
    assert_eq!(asked, 1, "the second waits");
    let states: Vec<_> = ended.iter().map(|(_, outcome)| outcome.state).collect();
    assert_eq!(states, [RunState::Succeeded; 2], "and finds that there is room");
}

#[tokio::test]
async fn a_budget_with_room_holds_nobody_up() {
    let house = House::new([]).await;
    let model = Held::new();
    let job = with_budget(json!({"tokensPerDay": 1_000_000, "usdPerDay": 100}));
    let ledger = Ledger::new(house.store.clone());
    ledger.set(Limit::default(), priced(1.0));
    let driver = house.driver().paid_from(ledger);
    let going = side_by_side(&house, &driver, &model, &job, 5);
    let all_in_flight = async {
        model.inner.asked(5).await;
        model.answers.add_permits(5);
    };
    let (ended, ()) = tokio::join!(going, all_in_flight);
    assert_eq!(ended.len(), 5);
}

#[tokio::test]
async fn a_run_that_waits_for_room_can_be_cancelled() {
    let house = House::new([]).await;
    let model = Held::new();
    let job = with_budget(json!({"tokensPerDay": 2_500}));
    let driver = house.driver();
    let going = side_by_side(&house, &driver, &model, &job, 2);
    let cancelling = async {
        model.inner.asked(1).await;
        house.cancel.cancel();
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
async fn dollars_are_counted_by_the_price_of_the_model() {
    let house = House::new((0..9).map(|_| again())).await;
    let ledger = Ledger::new(house.store.clone());
    // A thousand tokens sent at two dollars a million.
    ledger.set(Limit::default(), priced(2.0));
    let driver = house.driver().paid_from(ledger);
    let job = with_budget(json!({"usdPerRun": 0.005_5}));
    let run = house.run_of(Some(&job)).await;
    let outcome = driver.run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel).await;
    assert_eq!((house.model.requests().len(), in_usd(&outcome)), (3, Some(6_000)));
    let (state, words, is_budget) = told(&outcome);
    assert_eq!((state, is_budget), (RunState::Failed, true));
    assert!(words.starts_with("The budget of a run, 0.0055 USD, is used up"), "{words}");
}

/// A model that nobody knows the price of, and that does not tell it.
fn priceless(script: impl IntoIterator<Item = Scripted>) -> (Arc<ScriptedModel>, ChosenModel) {
    let script = script.into_iter().map(|line| match line {
        Scripted::Answer(mut answer) => {
            answer.usage.cost_micro_usd = None;
            Scripted::Answer(answer)
        }
        other => other,
    });
    let model = Arc::new(ScriptedModel::new(script));
    (Arc::clone(&model), ChosenModel { provider: model, model: "nobody-s".to_owned() })
}

#[tokio::test]
async fn a_budget_in_dollars_is_never_unlimited_for_want_of_a_price() {
    for budget in [json!({"usdPerDay": 5}), json!({"usdPerRun": 5})] {
        let house = House::new([]).await;
        let (model, chosen) = priceless([says("Done.")]);
        let job = with_budget(budget);
        let run = house.run_of(Some(&job)).await;
        let driver = house.driver();
        let outcome = driver.run_turn(&run, &job, turn_of(&job), Some(chosen), &house.cancel).await;
        let (state, words, is_budget) = told(&outcome);
        assert_eq!((state, is_budget, model.requests().len()), (RunState::Failed, true, 0));
        assert!(words.contains("the price of nobody-s is not known"), "{words}");
        assert!(!outcome.budget.expect("a stop").passes_with_the_day, "a person has to mend it");
    }
}

#[tokio::test]
async fn with_a_limit_in_tokens_beside_it_what_has_no_price_counts_in_tokens() {
    let house = House::new([]).await;
    let (model, chosen) = priceless((0..9).map(|_| again()));
    let job = with_budget(json!({"usdPerDay": 5, "tokensPerDay": 3_000}));
    let run = house.run_of(Some(&job)).await;
    let outcome =
        house.driver().run_turn(&run, &job, turn_of(&job), Some(chosen), &house.cancel).await;
    assert_eq!((model.requests().len(), in_usd(&outcome)), (2, None), "no cost is not a cost of 0");
    let spent = house.store.spent_by_job(&job.id, NOW, NOW).await.expect("read");
    assert_eq!((spent.unpriced_tokens, spent.usd), (3_000, MicroUsd(0)));
}

#[tokio::test]
async fn a_model_on_this_computer_costs_nothing() {
    let house = House::new([]).await;
    let model = ScriptedModel::new([says("Done.")]).paid(Billing::Free);
    let chosen = ChosenModel { provider: Arc::new(model), model: "llama3.2:3b".to_owned() };
    let job = with_budget(json!({"usdPerDay": 0.01}));
    let run = house.run_of(Some(&job)).await;
    let outcome =
        house.driver().run_turn(&run, &job, turn_of(&job), Some(chosen), &house.cancel).await;
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
    let said = vec![Delta::Text("four bytes a token".repeat(40))];
    let error = ProviderError {
        retry_after: Some(Duration::from_secs(90)),
        ..ProviderError::new(Kind::Truncated, "It broke off.")
    };
    let (spent, usage) = spent_on(Scripted::Failure(said, error), priced(2.0)).await;
    assert_eq!(usage.output_tokens, 180);
    assert!(usage.input_tokens > 500, "{usage:?}");
    let cost = usage.input_tokens * 2;
    assert_eq!((spent.tokens, spent.usd), (usage.tokens(), MicroUsd(cost)));
}

/// The booked and the reported usage of one failed call.
async fn spent_on(failure: Scripted, prices: Prices) -> (Spent, Usage) {
    let house = House::new([failure]).await;
    let ledger = Ledger::new(house.store.clone());
    ledger.set(Limit::default(), prices);
    let job = agent_job(json!({ "message": "Think ".repeat(400) }), json!({}));
    let run = house.run_of(Some(&job)).await;
    let driver = house.driver().paid_from(ledger);
    let outcome = driver.run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel).await;
    assert_eq!((outcome.state, house.model.requests().len()), (RunState::Failed, 1));
    (house.store.spent_by_run(&run.id).await.expect("read"), outcome.usage)
}

/// A tool that says what it costs before, and may say it again afterwards.
struct Paid(TestTool, u64);

impl Tool for Paid {
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

fn with_paid(told: Option<u64>) -> Vec<Arc<dyn Tool>> {
    let output = ToolOutput { cost_micro_usd: told, ..ToolOutput::ok("found") };
    let mut all = tools();
    all.push(Arc::new(Paid(TestTool::answering("search", output), 500)));
    all
}

#[tokio::test]
async fn what_tools_cost_is_in_the_sum_of_a_run() {
    for (told, cost) in [(None, 500), (Some(70), 70)] {
        let script = [calls([("c", "search", json!({}))]), says("Done.")];
        let house = House::with_tools(script, with_paid(told)).await;
        let (run, outcome) = house.turn(json!({"message": "x"})).await;
        assert_eq!(in_usd(&outcome), Some(2 + cost));
        let steps = house.steps(&run).await;
        assert_eq!(steps[1].usage.cost_micro_usd, Some(cost));
        let spent = house.store.spent_by_run(&run.id).await.expect("read");
        assert_eq!((spent.tokens, spent.usd.0, spent.unpriced_tokens), (30, 2 + cost, 0));
    }
}

#[tokio::test]
async fn a_tool_that_costs_is_not_called_on_a_budget_that_is_used_up() {
    let ask = || calls([("a", "search", json!({})), ("b", "search", json!({"text": "b"}))]);
    let house = House::with_tools([ask(), says("Done.")], with_paid(None)).await;
    let ledger = Ledger::new(house.store.clone());
    ledger.set(Limit::default(), priced(0.1));
    let dear = with_budget(json!({"usdPerRun": 0.000_4}));
    let run = house.run_of(Some(&dear)).await;
    let driver = house.driver().paid_from(ledger);
    let outcome = driver.run_turn(&run, &dear, turn_of(&dear), house.chosen(), &house.cancel).await;
    let (state, words, _) = told(&outcome);
    assert_eq!(state, RunState::Failed);
    assert!(words.contains("this run has used 0.000501 USD"), "{words}");
    assert_eq!(in_usd(&outcome), Some(501), "the first was called, the second was not");
    let second = house.steps(&run).await.pop().expect("a step");
    let told = second.output.expect("words").to_string();
    assert!(second.is_error && told.contains("is used up"), "{told}");
    let decided = json!({ "decision": "refused", "why": { "kind": "budget" } });
    assert_eq!(json!(second.gate), decided);

    let house = House::with_tools([], with_paid(None)).await;
    let job = job(
        json!({"kind": "toolCall", "tool": "search", "arguments": {}}),
        json!({"budget": {"usdPerDay": 0.000_5}}),
    );
    for (state, cost) in [(RunState::Succeeded, Some(500)), (RunState::Skipped, None)] {
        let run = house.run_of(Some(&job)).await;
        let driver = house.driver();
        let outcome = driver.run_tool_call(&run, &job, call_of(&job), &house.cancel).await;
        assert_eq!((outcome.state, in_usd(&outcome)), (state, cost));
    }
}

#[tokio::test]
async fn a_question_that_does_not_fit_into_what_is_left_is_not_asked() {
    let house = House::new((0..9).map(|_| done())).await;
    let ledger = Ledger::new(house.store.clone());
    ledger.set(Limit::default(), priced(2.0));
    let driver = house.driver().paid_from(ledger);
    for (budget, whose) in [
        (json!({"tokensPerRun": 10}), "The budget of a run, 10 tokens, has 10 tokens left"),
        (json!({"usdPerRun": 0.000_1}), "The budget of a run, 0.0001 USD, has 0.0001 USD left"),
        (json!({"tokensPerDay": 10}), "The job's budget of 10 tokens a day has 10 tokens left"),
        (json!({"usdPerDay": 0.000_1}), "The job's budget of 0.0001 USD a day has 0.0001 USD left"),
    ] {
        let job = with_budget(budget);
        let run = house.run_only(Some(&job)).await;
        let outcome =
            driver.run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel).await;
        let (state, words, is_budget) = told(&outcome);
        // No new day makes it larger.
        assert_eq!((state, is_budget), (RunState::Failed, true), "{words}");
        assert!(words.starts_with(whose), "{words}");
        assert!(words.contains(", and the next question would take at least "), "{words}");
        assert!(words.ends_with("It is too small for this: give it more."), "{words}");
        assert_eq!((house.model.requests().len(), outcome.usage.tokens()), (0, 0));
    }
}

#[tokio::test]
async fn what_a_day_has_left_too_little_for_waits_for_the_next_day() {
    let house = House::new([done(), done()]).await;
    let job = with_budget(json!({"tokensPerDay": 1_600}));
    assert_eq!(run(&house, &job).await.state, RunState::Succeeded);
    let second = run(&house, &job).await;
    let (state, words, _) = told(&second);
    assert_eq!(state, RunState::Skipped, "{words}");
    assert!(words.contains("has 100 tokens left, and the next question would take"), "{words}");
    assert!(
        words.ends_with("It is free again on 22 Nov 2026 at 00:00 (Europe/Berlin)."),
        "{words}"
    );
    assert_eq!(house.model.requests().len(), 1);
    house.clock.set(MIDNIGHT);
    assert_eq!(run(&house, &job).await.state, RunState::Succeeded);
}

#[tokio::test]
async fn how_long_an_answer_might_get_is_no_reason_to_refuse_it() {
    let house = House::new([says("Done.")]).await;
    let budget = json!({ "budget": { "tokensPerRun": 2_000 } });
    let job = agent_job(json!({"message": "x", "maxTokens": 8_192}), budget);
    assert_eq!(run(&house, &job).await.state, RunState::Succeeded);
}

/// The bound of the answer of a job with such a bound of its own and such a budget.
async fn bound(own: Value, budget: Value) -> Option<u32> {
    let house = House::new([says("Done.")]).await;
    let ledger = Ledger::new(house.store.clone());
    let price = Price { input: 1.0, cached: None, output: 10.0 };
    let own_price = BTreeMap::from([("scripted-1".to_owned(), price)]);
    ledger.set(Limit::default(), Prices::with_own(own_price));
    let driver = house.driver().paid_from(ledger);
    let job = agent_job(json!({"message": "x", "maxTokens": own}), json!({ "budget": budget }));
    let run = house.run_of(Some(&job)).await;
    let outcome = driver.run_turn(&run, &job, turn_of(&job), house.chosen(), &house.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    house.model.requests()[0].max_tokens
}

#[tokio::test]
async fn an_answer_is_bounded_by_what_is_left() {
    let none = Value::Null;
    assert_eq!(bound(none.clone(), json!({})).await, None, "nothing counts");
    let much = json!({"tokensPerRun": 1_000_000});
    assert_eq!(bound(none.clone(), much).await, Some(8_192), "its limit is not known");
    assert_eq!(bound(json!(8_192), json!({"tokensPerRun": 1_000_000})).await, Some(8_192));
    assert_eq!(bound(json!(50), json!({"tokensPerRun": 2_000})).await, Some(50));
    for own in [none, json!(8_192)] {
        let by_tokens = bound(own.clone(), json!({"tokensPerRun": 2_000})).await.expect("a bound");
        assert!((1_000..2_000).contains(&by_tokens), "less what is sent: {by_tokens}");
        let of_day = json!({"tokensPerRun": 3_000, "tokensPerDay": 2_000});
        assert_eq!(bound(own.clone(), of_day).await, Some(by_tokens), "the smaller one counts");
        // 0.01 USD buys a thousand tokens received, less what is sent.
        let by_usd = bound(own, json!({"usdPerRun": 0.01})).await.expect("a bound");
        assert!((800..1_000).contains(&by_usd), "{by_usd}");
    }
}

#[tokio::test]
async fn a_run_that_ends_itself_by_an_answer_that_was_cut_off_says_why_in_its_own_words() {
    let arguments = json!({ "outcome": "failed", "summary": "The host is down" });
    let call = ToolCallRequest { id: "c1".to_owned(), tool: "complete_run".to_owned(), arguments };
    let ended = Scripted::Answer(answer(vec![Part::ToolCall(call)], StopReason::Length));
    let house = House::new([ended]).await;
    let outcome = run(&house, &with_budget(json!({"tokensPerRun": 2_000}))).await;
    let (state, words, is_budget) = told(&outcome);
    assert_eq!((state, is_budget), (RunState::Failed, false), "{words}");
    assert!(words.contains("The host is down"), "{words}");
}

#[tokio::test]
async fn an_answer_that_a_budget_cuts_off_ends_the_run_as_one_that_has_met_it() {
    let cut = || {
        let words = vec![Part::Text { text: "The disk is".to_owned() }];
        Scripted::Answer(answer(words, StopReason::Length))
    };
    let house = House::new([cut(), cut()]).await;
    let outcome = run(&house, &with_budget(json!({"tokensPerRun": 2_000}))).await;
    let (state, words, is_budget) = told(&outcome);
    assert_eq!((state, is_budget), (RunState::Failed, true), "{words}");
    let room = house.model.requests()[0].max_tokens.expect("a bound");
    let expected = format!(
        "The budget of a run, 2,000 tokens, had room for {} tokens of the model's answer, which was cut off there. The next run has a new one.",
        rouse_core::words::grouped(u64::from(room))
    );
    assert_eq!(words, expected);
    assert_eq!(outcome.summary.as_deref(), Some("The disk is"));
    let job = agent_job(
        json!({"message": "x", "maxTokens": 50}),
        json!({"budget": {"tokensPerRun": 2_000}}),
    );
    let outcome = run(&house, &Job { id: rouse_core::JobId::new("j2"), ..job }).await;
    let words = "The model's answer was cut at 5 tokens.";
    assert_eq!(told(&outcome), (RunState::Failed, words, false), "by the job's own bound");
}
