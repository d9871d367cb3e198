//! Budget of a model call: reservation, output limit and usage.
//!
//! Owns the output limit of a call: the job's limit, else the model's, but at most the rest of the smallest budget. With
//! a budget, a limit is always sent, and the reservation uses the same number. Without a budget, only the job's limit is
//! sent. Pitfall: reserving less than the sent limit; two parallel runs could then exceed the budget together.

use rouse_core::budget::{BudgetStop, MicroUsd, Spent};
use rouse_core::message::{ModelAnswer, StopReason};
use rouse_core::model::{Billing, ModelRequest};
use rouse_core::run::Usage;
use rouse_core::text::group_thousands;
use serde_json::{Value, json};

use super::end::TurnEnd;
use super::usage::{CallUsage, ReceivedAnswer, answer_bytes, request_tokens};
use crate::budget::{CallEstimate, RemainingBudget, RunBudgets};
use crate::context::window::context_tokens;
use crate::providers::model_choice::ChosenModel;
use crate::providers::output_tokens_of;

/// The shortest useful answer in tokens: a tool call, or a line of text.
const MIN_ANSWER_TOKENS: u64 = 50;

/// The limit for a model with an unknown output limit. Nearly all models accept this limit.
const DEFAULT_OUTPUT_LIMIT: u32 = 8_192;

/// Prices are per million tokens.
const MILLION: u64 = 1_000_000;

/// The output limit of a call.
pub(crate) struct OutputLimit {
    pub(crate) max_tokens: Option<u32>,
    /// The cause of a limit that neither the job nor the model sets.
    pub(crate) cause: Option<LimitCause>,
}

/// The cause of an output limit.
#[derive(Debug, Clone)]
pub(crate) enum LimitCause {
    /// The rest of a budget.
    Budget(BudgetStop),
    /// A budget applies, and the model's own limit is unknown: the default in tokens.
    UnknownModel(u32),
}

/// A model call, for the budgets.
pub(crate) struct CallBudget<'a> {
    account: &'a RunBudgets,
    model: &'a ChosenModel,
    request_tokens: u64,
    /// The output limit that the request names.
    own_limit: Option<u32>,
}

impl LimitCause {
    /// The error of an answer that was cut off at the default limit, in a run of a job or of the main session.
    pub(crate) fn unknown_model_error(limit: u32, is_job_run: bool) -> String {
        let advice =
            if is_job_run { "Give the job a larger maxTokens." } else { "Ask for less at once." };
        format!(
            "The model's answer was cut off after {} tokens: the limit under a budget if the model's own output limit is unknown. {advice}",
            group_thousands(limit.into())
        )
    }
}

/// Why `model` may not be called: a budget in dollars alone needs a price.
pub(crate) fn missing_price(account: &RunBudgets, model: &ChosenModel) -> Option<BudgetStop> {
    let is_priced = account.ledger().prices().knows(model);
    account.needs_price_of(&model.model).filter(|_| !is_priced)
}

/// Whether the token limit cut off an answer. An answer with tool calls goes on.
pub(crate) fn is_cut_off(answer: &ModelAnswer) -> bool {
    answer.stop == StopReason::Length && answer.calls().next().is_none()
}

impl<'a> CallBudget<'a> {
    pub(crate) fn new(
        account: &'a RunBudgets,
        model: &'a ChosenModel,
        request: &ModelRequest,
    ) -> Self {
        let (request_tokens, own_limit) = (request_tokens(request), request.max_tokens);
        Self { account, model, request_tokens, own_limit }
    }

    /// The reservation: at least the shortest useful answer, at most an answer of full length.
    pub(crate) fn reservation(&self) -> CallEstimate {
        let longest = u64::from(self.longest_answer().0);
        let minimum = self.spent_with(MIN_ANSWER_TOKENS.min(longest));
        let maximum = self.maximum_use();
        // A call with an unknown price shares a dollar budget with no other call in flight.
        let usd = if self.is_priced_by_answer() { MicroUsd(u64::MAX) } else { maximum.usd };
        CallEstimate { minimum, maximum: Spent { usd, ..maximum } }
    }

    /// The use of the longest answer, as far as prices are known.
    pub(crate) fn maximum_use(&self) -> Spent {
        self.spent_with(self.longest_answer().0.into())
    }

    /// The output limit under the rest of the budgets.
    pub(crate) fn output_limit(&self, remaining: &[RemainingBudget]) -> OutputLimit {
        let smallest = remaining
            .iter()
            .filter_map(|rest| Some((self.affordable_tokens(rest)?, rest)))
            .min_by_key(|(tokens, _)| *tokens);
        let Some((tokens, rest)) = smallest else {
            return OutputLimit { max_tokens: self.own_limit, cause: None };
        };
        let (longest, is_known) = self.longest_answer();
        if let Some(limit) = u32::try_from(tokens).ok().filter(|limit| *limit < longest) {
            let stop = self.account.cut_off(rest, limit);
            return OutputLimit { max_tokens: Some(limit), cause: Some(LimitCause::Budget(stop)) };
        }
        let cause = (!is_known).then_some(LimitCause::UnknownModel(longest));
        OutputLimit { max_tokens: Some(longest), cause }
    }

    /// The usage to count if the process ends during the call: the request was sent.
    pub(crate) fn usage_if_interrupted(&self) -> Value {
        let usage = Usage { input_tokens: self.request_tokens, ..Usage::default() };
        let cost = self.account.ledger().prices().estimate(self.model, usage);
        json!({ "inputTokens": self.request_tokens, "costMicroUsd": cost.map(|cost| cost.0) })
    }

    /// Measures and prices the call, and puts the usage into the answer.
    pub(crate) fn settle(
        &self,
        answer: Result<ModelAnswer, TurnEnd>,
        received: &ReceivedAnswer,
    ) -> (Result<ModelAnswer, TurnEnd>, CallUsage) {
        let (reported, bytes) = match &answer {
            Ok(answer) => (answer.usage, answer_bytes(&answer.parts)),
            Err(TurnEnd::Provider(_)) if !received.has_begun() => {
                return (answer, CallUsage::default());
            }
            Err(_) => (Usage::default(), received.bytes()),
        };
        let measured = CallUsage::of_call(reported, self.request_tokens, bytes);
        let cost = self.account.ledger().prices().cost(self.model, measured.usage);
        let usage = Usage { cost_micro_usd: cost.map(|cost| cost.0), ..measured.usage };
        let answer = answer.map(|answer| ModelAnswer { usage, ..answer });
        (answer, CallUsage { usage, ..measured })
    }

    fn spent_with(&self, output_tokens: u64) -> Spent {
        let usage = Usage { input_tokens: self.request_tokens, output_tokens, ..Usage::default() };
        let usd = self.account.ledger().prices().estimate(self.model, usage).unwrap_or_default();
        Spent { tokens: usage.tokens(), usd, unpriced_tokens: 0 }
    }

    /// The price of a million output tokens, if known before the call.
    fn output_price(&self) -> Option<MicroUsd> {
        let usage = Usage { output_tokens: MILLION, ..Usage::default() };
        self.account.ledger().prices().estimate(self.model, usage)
    }

    fn is_priced_by_answer(&self) -> bool {
        self.model.provider.billing() == Billing::Reported && self.output_price().is_none()
    }

    /// The output tokens that a budget can pay, at least 1; none if the budget does not limit output.
    fn affordable_tokens(&self, rest: &RemainingBudget) -> Option<u64> {
        let left = rest.left.after(self.spent_with(0));
        let by_usd = left.usd.and_then(|usd| match self.output_price() {
            Some(MicroUsd(0)) => None,
            Some(price) => Some(usd.0.saturating_mul(MILLION) / price.0),
            None => self.is_priced_by_answer().then_some(u64::MAX),
        });
        left.tokens.into_iter().chain(by_usd).min().map(|tokens| tokens.max(1))
    }

    /// The longest answer in tokens, and whether the job or the model's data set the limit.
    fn longest_answer(&self) -> (u32, bool) {
        let model = self.model;
        if let Some(known) = self.own_limit.or_else(|| output_tokens_of(&model.model)) {
            return (known, true);
        }
        let context = context_tokens(model.provider.context_tokens(&model.model));
        (DEFAULT_OUTPUT_LIMIT.min(context / 4), false)
    }
}
