//! How long an answer may get on what the budgets have left.
//!
//! Owns the bound of one question: the job's own, else what is known of the model, and what is left of the smallest budget
//! after the question itself where that is less. Where a budget counts, a bound is always sent, and a seat among the calls
//! in flight is taken with that same bound: what is sent and what is counted on are one number. Where none counts, only
//! the job's own is sent. One could get it wrong by a guess that is smaller than the bound, with which two runs side by
//! side would both see room, and by taking an answer that was cut off here for one that its model has ended.

use rouse_core::model::Billing;
use rouse_core::money::{BudgetStop, MicroUsd, Spent};
use rouse_core::run::Usage;
use rouse_core::words::grouped;

use super::bound::context_of;
use super::conversation::Conversation;
use super::used::Question;
use crate::models::ChosenModel;
use crate::money::{Rest, Wanted};
use crate::provider::output_tokens_of;

/// The shortest answer that is of any use, in tokens: a call of a tool, a line of words.
const LEAST_ANSWER: u64 = 50;

/// The bound that is sent of a model whose own limit nobody knows: one that nearly all of them take.
const USUAL_BOUND: u32 = 8_192;

/// The tokens whose price is asked for.
const MILLION: u64 = 1_000_000;

/// The bound of an answer, and whose it is where neither the job nor the model has set it.
pub(super) struct AnswerRoom {
    pub(super) max_tokens: Option<u32>,
    pub(super) by: Option<BoundBy>,
}

/// Why an answer is bounded beside the job's own wish.
#[derive(Debug, Clone)]
pub(super) enum BoundBy {
    /// A budget has no more left.
    Budget(BudgetStop),
    /// A budget counts, and nobody knows how long this model answers: so many tokens.
    Usual(u32),
}

impl BoundBy {
    /// What is said of an answer, in a run of a job or of the main session, that was cut off at the usual bound.
    pub(super) fn words_of(bound: u32, is_of_job: bool) -> String {
        let to_do = match is_of_job {
            true => "Give the job a larger maxTokens.",
            false => "Ask for less at once.",
        };
        format!(
            "The model's answer was cut off after {} tokens. Where a budget counts, that is all that a model may answer whose limit Rouse does not know. {to_do}",
            grouped(bound.into())
        )
    }
}

impl Conversation<'_> {
    /// What the call may use, four bytes a token: at the least a line, and as much as its bound allows.
    pub(super) fn wanted(&self, model: &ChosenModel, asked: Question, own: Option<u32>) -> Wanted {
        let (longest, _) = longest(model, own);
        let least = self.estimate(model, asked.tokens, LEAST_ANSWER.min(longest.into()));
        let guess = self.may_use(model, asked, own);
        // What only the answer tells the price of begins beside no other call that draws on the same money.
        let usd = if self.is_priced_later(model) { MicroUsd(u64::MAX) } else { guess.usd };
        Wanted { least, guess: Spent { usd, ..guess } }
    }

    /// The same as far as prices are known.
    pub(super) fn may_use(&self, model: &ChosenModel, asked: Question, own: Option<u32>) -> Spent {
        let (longest, _) = longest(model, own);
        self.estimate(model, asked.tokens, longest.into())
    }

    fn estimate(&self, model: &ChosenModel, sent: u64, received: u64) -> Spent {
        let usage = Usage { input_tokens: sent, output_tokens: received, ..Usage::default() };
        let usd = self.account.ledger().prices().estimate(model, usage).unwrap_or_default();
        Spent { tokens: usage.tokens(), usd, unpriced_tokens: 0 }
    }

    /// What so many tokens received cost, where that is known before.
    fn price_of(&self, model: &ChosenModel, received: u64) -> Option<MicroUsd> {
        let usage = Usage { output_tokens: received, ..Usage::default() };
        self.account.ledger().prices().estimate(model, usage)
    }

    fn is_priced_later(&self, model: &ChosenModel) -> bool {
        model.provider.billing() == Billing::Reported && self.price_of(model, MILLION).is_none()
    }

    /// The bound of the answer to a question for which the budgets have left so much.
    pub(super) fn answer_room(
        &self,
        model: &ChosenModel,
        asked: Question,
        own: Option<u32>,
        rests: &[Rest],
    ) -> AnswerRoom {
        let smallest = rests
            .iter()
            .filter_map(|rest| Some((self.tokens_left(model, asked, rest)?, rest)))
            .min_by_key(|(room, _)| *room);
        let Some((room, rest)) = smallest else {
            return AnswerRoom { max_tokens: own, by: None };
        };
        let (longest, is_known) = longest(model, own);
        match u32::try_from(room).ok().filter(|room| *room < longest) {
            Some(room) => {
                let stop = self.account.cut_off(rest, room);
                AnswerRoom { max_tokens: Some(room), by: Some(BoundBy::Budget(stop)) }
            }
            None => {
                let by = (!is_known).then_some(BoundBy::Usual(longest));
                AnswerRoom { max_tokens: Some(longest), by }
            }
        }
    }

    /// The tokens of an answer that a budget has left, one at the least; none where an answer takes nothing of it.
    fn tokens_left(&self, model: &ChosenModel, asked: Question, rest: &Rest) -> Option<u64> {
        let left = rest.left.after(self.estimate(model, asked.tokens, 0));
        let by_usd = left.usd.and_then(|usd| match self.price_of(model, MILLION) {
            Some(MicroUsd(0)) => None,
            Some(a_million) => Some(usd.0.saturating_mul(MILLION) / a_million.0),
            None => self.is_priced_later(model).then_some(u64::MAX),
        });
        left.tokens.into_iter().chain(by_usd).min().map(|room| room.max(1))
    }
}

/// The longest answer that is asked for, and whether the job or what is known of the model says so.
fn longest(model: &ChosenModel, own: Option<u32>) -> (u32, bool) {
    match own.or_else(|| output_tokens_of(&model.model)) {
        Some(known) => (known, true),
        None => {
            (USUAL_BOUND.min(context_of(model.provider.context_tokens(&model.model)) / 4), false)
        }
    }
}
