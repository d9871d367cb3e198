//! How long an answer may get on what the budgets have left.
//!
//! Owns the bound of one question: the job's own, or what is left of the smallest budget after the question itself where
//! that is less. It refuses to set a bound that a provider may not take: where nobody bounds the answer, only one that is
//! so small that every model keeps it is sent along. One could get it wrong by taking an answer that was cut off here for
//! one that its model has ended: it is the budget that ends the run then.

use rouse_core::money::{BudgetStop, Spent};
use rouse_core::run::Usage;

use super::bound::context_of;
use super::conversation::Conversation;
use super::used::Question;
use crate::models::ChosenModel;
use crate::money::{Rest, Wanted};

/// What an answer is taken to be long when nothing limits it, in tokens.
const USUAL_ANSWER: u64 = 1_000;

/// The shortest answer that is of any use, in tokens: a call of a tool, a line of words.
const LEAST_ANSWER: u64 = 50;

/// The largest bound that every model takes.
const SAFE_BOUND: u32 = 8_192;

/// The tokens whose price is asked for.
const MILLION: u64 = 1_000_000;

/// The bound of an answer, and what is said of a run whose answer a budget cuts off there.
pub(super) struct AnswerRoom {
    pub(super) max_tokens: Option<u32>,
    pub(super) by_budget: Option<BudgetStop>,
}

impl Conversation<'_> {
    /// What the call may use: four bytes a token, and at the least a line, else an answer of a usual length.
    pub(super) fn wanted(
        &self,
        model: &ChosenModel,
        asked: Question,
        max_tokens: Option<u32>,
    ) -> Wanted {
        let longest = max_tokens.map_or(USUAL_ANSWER, u64::from);
        let with = |answer| self.estimate(model, asked.tokens, answer);
        Wanted { least: with(LEAST_ANSWER.min(longest)), guess: with(longest) }
    }

    fn estimate(&self, model: &ChosenModel, sent: u64, received: u64) -> Spent {
        let usage = Usage { input_tokens: sent, output_tokens: received, ..Usage::default() };
        let usd = self.account.ledger().prices().estimate(model, usage).unwrap_or_default();
        Spent { tokens: usage.tokens(), usd, unpriced_tokens: 0 }
    }

    /// The bound of the answer to a question for which the budgets have left so much.
    pub(super) fn answer_room(
        &self,
        model: &ChosenModel,
        asked: Question,
        own: Option<u32>,
        rests: &[Rest],
    ) -> AnswerRoom {
        let safe = SAFE_BOUND.min(context_of(model.provider.context_tokens()) / 4);
        let smallest = rests
            .iter()
            .filter_map(|rest| Some((self.tokens_left(model, asked, rest)?, rest)))
            .min_by_key(|(room, _)| *room);
        let bound = smallest.and_then(|(room, rest)| {
            let room = u32::try_from(room).ok().filter(|room| *room < own.unwrap_or(safe))?;
            Some((room, self.account.cut_off(rest, room)))
        });
        match bound {
            Some((room, stop)) => AnswerRoom { max_tokens: Some(room), by_budget: Some(stop) },
            None => AnswerRoom { max_tokens: own, by_budget: None },
        }
    }

    /// The tokens of an answer that a budget has left, one at the least.
    fn tokens_left(&self, model: &ChosenModel, asked: Question, rest: &Rest) -> Option<u64> {
        let question = self.estimate(model, asked.tokens, 0);
        let left = rest.left.after(question);
        let a_million = self.estimate(model, 0, MILLION).usd.0;
        let by_usd = left.usd.filter(|_| a_million > 0);
        let by_usd = by_usd.map(|usd| usd.0.saturating_mul(MILLION) / a_million);
        left.tokens.into_iter().chain(by_usd).min().map(|room| room.max(1))
    }
}
