//! Output limits: no run, and no two parallel runs, exceed a budget.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use rouse_agent::{BudgetLedger, ChosenModel, Price, Prices};
use rouse_core::RunState;
use rouse_core::budget::Limit;
use rouse_core::job::Job;
use rouse_core::message::{ModelAnswer, Part, StopReason};
use rouse_core::model::{Billing, Delta, ModelProvider, ModelRequest, ProviderError};
use rouse_core::run::{Outcome, Usage};
use rouse_core::tool::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::run_fixture::{NOW, RunFixture, agent_job, turn_of};

/// A model with an answer of so many tokens, cut off at the limit of the request.
struct LongAnswerModel {
    tokens: u32,
    billing: Billing,
    /// The reported cost of an answer.
    reported: Option<u64>,
    bounds: Mutex<Vec<Option<u32>>>,
    /// A permit for each call so far, and for each call that may be answered.
    asked: Semaphore,
    answers: Semaphore,
}

impl LongAnswerModel {
    fn of(tokens: u32) -> Self {
        let (billing, reported) = (Billing::ByPrice, None);
        let (asked, answers) = (Semaphore::new(0), Semaphore::new(99));
        Self { tokens, billing, reported, bounds: Mutex::default(), asked, answers }
    }

    fn bounds(&self) -> Vec<Option<u32>> {
        self.bounds.lock().expect("not poisoned").clone()
    }

    fn answer(&self, bound: Option<u32>) -> ModelAnswer {
        let output = self.tokens.min(bound.unwrap_or(u32::MAX));
        let stop = if output < self.tokens { StopReason::Length } else { StopReason::End };
        let usage = Usage {
            input_tokens: 1,
            output_tokens: output.into(),
            cost_micro_usd: self.reported,
            ..Usage::default()
        };
        let parts = vec![Part::Text { text: "Rain.".to_owned() }];
        ModelAnswer { parts, usage, model: "model-1".to_owned(), stop }
    }
}

impl ModelProvider for LongAnswerModel {
    fn name(&self) -> &str {
        "model"
    }

    fn billing(&self) -> Billing {
        self.billing
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        self.bounds.lock().expect("not poisoned").push(request.max_tokens);
        Box::pin(async move {
            self.asked.add_permits(1);
            self.answers.acquire().await.expect("open").forget();
            Ok(self.answer(request.max_tokens))
        })
    }
}

fn with_budget(own: Value, budget: Value) -> Job {
    agent_job(json!({ "message": "x", "maxTokens": own }), json!({ "budget": budget }))
}

/// The outcomes of so many parallel runs of `job`, where a million output tokens cost 10 USD.
async fn parallel_runs(
    fixture: &RunFixture,
    job: &Job,
    model: &Arc<LongAnswerModel>,
    (name, count): (&str, usize),
) -> Vec<Outcome> {
    let ledger = BudgetLedger::new(fixture.store.clone());
    let price = Price { input: 1.0, cached: None, output: 10.0 };
    let own_price = BTreeMap::from([("priced-1".to_owned(), price)]);
    ledger.set(Limit::default(), Prices::with_own(own_price));
    let driver = fixture.driver().with_ledger(ledger);
    let mut runs = Vec::new();
    for _ in 0..count {
        runs.push(fixture.run_only(Some(job)).await);
    }
    join_all(runs.iter().map(|run| {
        let provider = Arc::clone(model) as Arc<dyn ModelProvider>;
        let chosen = Some(ChosenModel { provider, model: name.to_owned() });
        driver.run_turn(run, job, turn_of(job), chosen, &fixture.cancel)
    }))
    .await
}

#[tokio::test]
async fn parallel_runs_stay_within_a_shared_budget() {
    for (name, reported, budget) in [
        ("model-1", None, json!({ "tokensPerDay": 10_000 })),
        ("priced-1", None, json!({ "usdPerDay": 0.1 })),
        // OpenRouter reports the cost with the answer.
        ("unpriced", Some(60_000), json!({ "usdPerDay": 0.1 })),
    ] {
        let fixture = RunFixture::new([]).await;
        let billing = if reported.is_some() { Billing::Reported } else { Billing::ByPrice };
        let model = Arc::new(LongAnswerModel { billing, reported, ..LongAnswerModel::of(6_000) });
        let job = with_budget(Value::Null, budget.clone());
        let outcomes = parallel_runs(&fixture, &job, &model, (name, 3)).await;
        let spent = fixture.store.spent_by_job(&job.id, NOW, NOW).await.expect("read");
        let most = if reported.is_some() { 120_000 } else { 100_000 };
        assert!(spent.usd.0 <= most, "{budget}: {spent:?}");
        assert!(name != "model-1" || spent.tokens <= 10_000, "{budget}: {spent:?}");
        let worked = |outcome: &Outcome| outcome.state == RunState::Succeeded;
        assert!(outcomes.iter().any(worked), "{budget}: {outcomes:?}");
    }
}

#[tokio::test]
async fn unlimited_answer_stays_within_budget() {
    let fixture = RunFixture::new([]).await;
    let model = Arc::new(LongAnswerModel::of(30_000));
    let job = with_budget(Value::Null, json!({ "tokensPerRun": 20_000 }));
    let outcome = parallel_runs(&fixture, &job, &model, ("model-1", 1)).await.remove(0);
    assert_eq!(model.bounds(), [Some(8_192)]);
    assert!(outcome.usage.tokens() <= 20_000, "{:?}", outcome.usage);
    let words = "The model's answer was cut off after 8,192 tokens: the limit under a budget if the model's own output limit is unknown. Give the job a larger maxTokens.";
    assert_eq!((outcome.state, outcome.error.as_deref()), (RunState::Failed, Some(words)));
    assert!(outcome.budget.is_none(), "no budget is used up");
    // A known model may use its own limit, within the budget.
    let known = Arc::new(LongAnswerModel::of(12_000));
    let job = with_budget(Value::Null, json!({ "tokensPerRun": 20_000 }));
    let outcome = parallel_runs(&fixture, &job, &known, ("gpt-4o", 1)).await.remove(0);
    assert_eq!((outcome.state, known.bounds()), (RunState::Succeeded, vec![Some(16_384)]));
    let job = with_budget(Value::Null, json!({ "tokensPerRun": 10_000 }));
    let outcome = parallel_runs(&fixture, &job, &known, ("gpt-4o", 1)).await.remove(0);
    assert!(outcome.budget.is_some() && outcome.usage.tokens() <= 10_000, "{outcome:?}");
}

#[tokio::test]
async fn small_run_budget_does_not_block_other_runs() {
    let fixture = RunFixture::new([]).await;
    let model =
        Arc::new(LongAnswerModel { answers: Semaphore::new(0), ..LongAnswerModel::of(100) });
    // Each reserves at most 3,000 tokens, for any limit of the model.
    let job = with_budget(Value::Null, json!({ "tokensPerRun": 3_000, "tokensPerDay": 10_000 }));
    let going = parallel_runs(&fixture, &job, &model, ("gpt-4o", 3));
    let all_in_flight = async {
        model.asked.acquire_many(3).await.expect("open").forget();
        model.answers.add_permits(3);
    };
    let (outcomes, ()) = tokio::join!(going, all_in_flight);
    assert!(outcomes.iter().all(|outcome| outcome.state == RunState::Succeeded), "{outcomes:?}");
}

#[tokio::test]
async fn cut_off_chat_answer_mentions_no_job() {
    let fixture = RunFixture::new([]).await;
    let ledger = BudgetLedger::new(fixture.store.clone());
    ledger.set(Limit { tokens: Some(20_000), usd: None }, Prices::default());
    let provider = Arc::new(LongAnswerModel::of(30_000)) as Arc<dyn ModelProvider>;
    let chosen = Some(ChosenModel { provider, model: "model-1".to_owned() });
    let run = fixture.run_of(None).await;
    let driver = fixture.driver().with_ledger(ledger);
    let outcome = driver.run_chat_turn(&run, "Hello", chosen, &fixture.cancel).await;
    let words = outcome.error.expect("an error");
    assert!(words.starts_with("The model's answer was cut off after 8,192 tokens: "), "{words}");
    assert!(words.ends_with("Ask for less at once."), "{words}");
}
