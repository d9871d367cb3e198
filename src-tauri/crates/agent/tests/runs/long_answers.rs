//! Models that answer as long as they are let: no run, and no two side by side, pass a limit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use rouse_agent::{ChosenModel, Ledger, Price, Prices};
use rouse_core::RunState;
use rouse_core::job::Job;
use rouse_core::message::{ModelAnswer, Part, StopReason};
use rouse_core::model::{Billing, Delta, ModelProvider, ModelRequest, ProviderError};
use rouse_core::money::Limit;
use rouse_core::run::{Outcome, Usage};
use rouse_core::tool::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::house::{House, NOW, agent_job, turn_of};

/// A model that would answer so many tokens, and answers as many of them as it may.
struct Talks {
    tokens: u32,
    billing: Billing,
    /// What an answer is told to cost.
    told: Option<u64>,
    bounds: Mutex<Vec<Option<u32>>>,
    /// One for each question so far, and one for each that may be answered.
    asked: Semaphore,
    answers: Semaphore,
}

impl Talks {
    fn of(tokens: u32) -> Self {
        let (billing, told) = (Billing::ByPrice, None);
        let (asked, answers) = (Semaphore::new(0), Semaphore::new(99));
        Self { tokens, billing, told, bounds: Mutex::default(), asked, answers }
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
            cost_micro_usd: self.told,
            ..Usage::default()
        };
        let parts = vec![Part::Text { text: "Rain.".to_owned() }];
        ModelAnswer { parts, usage, model: "talks-1".to_owned(), stop }
    }
}

impl ModelProvider for Talks {
    fn name(&self) -> &str {
        "talks"
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

/// What became of so many runs of `job` side by side, on a ledger where a million tokens received cost 10 USD.
async fn side_by_side(
    house: &House,
    job: &Job,
    model: &Arc<Talks>,
    (name, count): (&str, usize),
) -> Vec<Outcome> {
    let ledger = Ledger::new(house.store.clone());
    let price = Price { input: 1.0, cached: None, output: 10.0 };
    let own_price = BTreeMap::from([("priced-1".to_owned(), price)]);
    ledger.set(Limit::default(), Prices::with_own(own_price));
    let driver = house.driver().paid_from(ledger);
    let mut runs = Vec::new();
    for _ in 0..count {
        runs.push(house.run_only(Some(job)).await);
    }
    join_all(runs.iter().map(|run| {
        let provider = Arc::clone(model) as Arc<dyn ModelProvider>;
        let chosen = Some(ChosenModel { provider, model: name.to_owned() });
        driver.run_turn(run, job, turn_of(job), chosen, &house.cancel)
    }))
    .await
}

#[tokio::test]
async fn runs_side_by_side_without_a_bound_of_their_own_pass_no_limit_together() {
    for (model, told, budget) in [
        ("talks-1", None, json!({ "tokensPerDay": 10_000 })),
        ("priced-1", None, json!({ "usdPerDay": 0.1 })),
        // OpenRouter says only with the answer what that has cost.
        ("nobody-s", Some(60_000), json!({ "usdPerDay": 0.1 })),
    ] {
        let house = House::new([]).await;
        let billing = if told.is_some() { Billing::Reported } else { Billing::ByPrice };
        let talks = Arc::new(Talks { billing, told, ..Talks::of(6_000) });
        let job = with_budget(Value::Null, budget.clone());
        let outcomes = side_by_side(&house, &job, &talks, (model, 3)).await;
        let spent = house.store.spent_by_job(&job.id, NOW, NOW).await.expect("read");
        let most = if told.is_some() { 120_000 } else { 100_000 };
        assert!(spent.usd.0 <= most, "{budget}: {spent:?}");
        assert!(model != "talks-1" || spent.tokens <= 10_000, "{budget}: {spent:?}");
        let worked = |outcome: &Outcome| outcome.state == RunState::Succeeded;
        assert!(outcomes.iter().any(worked), "{budget}: {outcomes:?}");
    }
}

#[tokio::test]
async fn an_answer_without_a_bound_passes_no_budget() {
    let house = House::new([]).await;
    let talks = Arc::new(Talks::of(30_000));
    let job = with_budget(Value::Null, json!({ "tokensPerRun": 20_000 }));
    let outcome = side_by_side(&house, &job, &talks, ("talks-1", 1)).await.remove(0);
    assert_eq!(talks.bounds(), [Some(8_192)]);
    assert!(outcome.usage.tokens() <= 20_000, "{:?}", outcome.usage);
    let words = "The model's answer was cut off after 8,192 tokens. Where a budget counts, that is all that a model may answer whose limit Rouse does not know. Give the job a larger maxTokens.";
    assert_eq!((outcome.state, outcome.error.as_deref()), (RunState::Failed, Some(words)));
    assert!(outcome.budget.is_none(), "no budget is used up");
    // A model that is known may say what it can, as far as there is room.
    let known = Arc::new(Talks::of(12_000));
    let job = with_budget(Value::Null, json!({ "tokensPerRun": 20_000 }));
    let outcome = side_by_side(&house, &job, &known, ("gpt-4o", 1)).await.remove(0);
    assert_eq!((outcome.state, known.bounds()), (RunState::Succeeded, vec![Some(16_384)]));
    let job = with_budget(Value::Null, json!({ "tokensPerRun": 10_000 }));
    let outcome = side_by_side(&house, &job, &known, ("gpt-4o", 1)).await.remove(0);
    assert!(outcome.budget.is_some() && outcome.usage.tokens() <= 10_000, "{outcome:?}");
}

#[tokio::test]
async fn a_small_budget_of_a_run_keeps_no_other_run_from_beginning() {
    let house = House::new([]).await;
    let talks = Arc::new(Talks { answers: Semaphore::new(0), ..Talks::of(100) });
    // Each takes at most 3,000 of it, however long the model may answer.
    let job = with_budget(Value::Null, json!({ "tokensPerRun": 3_000, "tokensPerDay": 10_000 }));
    let going = side_by_side(&house, &job, &talks, ("gpt-4o", 3));
    let all_in_flight = async {
        talks.asked.acquire_many(3).await.expect("open").forget();
        talks.answers.add_permits(3);
    };
    let (outcomes, ()) = tokio::join!(going, all_in_flight);
    assert!(outcomes.iter().all(|outcome| outcome.state == RunState::Succeeded), "{outcomes:?}");
}

#[tokio::test]
async fn a_chat_without_a_job_is_told_of_no_job_when_its_answer_is_cut_off() {
    let house = House::new([]).await;
    let ledger = Ledger::new(house.store.clone());
    ledger.set(Limit { tokens: Some(20_000), usd: None }, Prices::default());
    let provider = Arc::new(Talks::of(30_000)) as Arc<dyn ModelProvider>;
    let chosen = Some(ChosenModel { provider, model: "talks-1".to_owned() });
    let run = house.run_of(None).await;
    let driver = house.driver().paid_from(ledger);
    let outcome = driver.run_chat_turn(&run, "Hello", chosen, &house.cancel).await;
    let words = outcome.error.expect("it failed");
    assert!(words.starts_with("The model's answer was cut off after 8,192 tokens."), "{words}");
    assert!(words.ends_with("Ask for less at once."), "{words}");
}
