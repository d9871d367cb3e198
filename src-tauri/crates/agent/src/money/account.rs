//! What one run may spend, and on whose budgets it draws: its own, its job's of the day, and that of everything.
//!
//! Owns the answer to "may this call begin", and to how much it may use. What it takes at the least has to fit into what
//! is left of every budget; what it may take at the most only makes it wait for calls in flight, because a limit that is
//! seldom used would refuse what has room. No answer may take more than is left (`driver::answer_room`), so a call that is
//! alone never counts for more than that. The day is looked up anew with every call, so a run that goes on over midnight
//! draws on the new day's budget. It refuses to stop a call that has begun.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use rouse_core::job::Job;
use rouse_core::money::{BudgetOf, BudgetStop, Limit, MicroUsd, Spent};
use rouse_core::run::Run;
use rouse_core::schedule::{Day, Zone};
use rouse_core::{Clock, JobId, RunId, UnixMs};
use rouse_store::StoreError;
use tokio_util::sync::CancellationToken;

use super::ledger::{Flight, Ledger, Room, Seat, Sum, Taken};

/// The budgets of one run.
#[derive(Clone)]
pub struct Account {
    ledger: Arc<Ledger>,
    clock: Arc<dyn Clock>,
    run: RunId,
    job: Option<JobId>,
    of_run: Limit,
    of_job: Limit,
    zone: Zone,
}

/// Why a call may not begin.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A budget is used up, or cannot be kept.
    #[error("{}", .0.words)]
    Budget(BudgetStop),
    /// The run was cancelled while it waited for room.
    #[error("the run was cancelled")]
    Cancelled,
    /// What was spent cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a call will use.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// At the least.
    pub least: Spent,
    /// At the most, as far as can be told before.
    pub guess: Spent,
}

impl Wanted {
    /// Of a tool that says what it costs before: at the least nothing, for it may cost less.
    #[must_use]
    pub const fn of_cost(micro_usd: u64) -> Self {
        Self { least: Spent::of_cost(0), guess: Spent::of_cost(micro_usd) }
    }
}

/// What a budget has left for a call that has begun.
#[derive(Debug, Clone)]
pub struct Rest {
    budget: Budget,
    /// What is left.
    pub left: Limit,
}

/// A budget that limits something, as it is now.
#[derive(Debug, Clone)]
struct Budget {
    of: BudgetOf,
    limit: Limit,
    zone: Zone,
}

impl Account {
    /// The account of `run`. `zone` is that of its job's days.
    #[must_use]
    pub fn new(
        ledger: Arc<Ledger>,
        clock: Arc<dyn Clock>,
        run: &Run,
        job: Option<&Job>,
        zone: Zone,
    ) -> Self {
        let budget = job.and_then(|job| job.policies.budget.as_ref());
        let limit = |tokens, usd| Limit { tokens, usd };
        Self {
            ledger,
            clock,
            run: run.id.clone(),
            job: run.job_id.clone(),
            of_run: budget.map_or_else(Limit::default, |b| limit(b.tokens_per_run, b.usd_per_run)),
            of_job: budget.map_or_else(Limit::default, |b| limit(b.tokens_per_day, b.usd_per_day)),
            zone,
        }
    }

    /// What it draws on.
    #[must_use]
    pub const fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Lets a call begin as soon as no call in flight may use what it needs, and says what there is for it.
    ///
    /// # Errors
    /// A budget that is used up, or has not left what the call takes at the least; the run was cancelled while it waited.
    pub async fn admit(
        &self,
        wanted: Wanted,
        cancel: &CancellationToken,
    ) -> Result<(Seat, Vec<Rest>), Refusal> {
        // What was cancelled ends as that, also where what ended with it has used up the budget meanwhile.
        let refusal = |stop| {
            if cancel.is_cancelled() { Refusal::Cancelled } else { Refusal::Budget(stop) }
        };
        loop {
            let mut landing = pin!(self.ledger.landing());
            landing.as_mut().enable();
            let seen = self.ledger.landings();
            let mut budgets = Vec::new();
            for budget in self.budgets(self.clock.now()) {
                let spent = self.spent(&budget).await?;
                if let Some(stop) = self.stop(&budget, spent, wanted.least) {
                    return Err(refusal(stop));
                }
                budgets.push((budget, spent));
            }
            let wanted = Wanted { guess: within(&budgets, wanted.guess), ..wanted };
            let (number, run, job) = (0, self.run.clone(), self.job.clone());
            let flight = Flight { number, run, job, guess: wanted.guess };
            let room = |flights: &[Flight]| self.room(&budgets, flights, wanted);
            match self.ledger.take_seat(seen, flight, room) {
                Taken::Seat(..) if cancel.is_cancelled() => return Err(Refusal::Cancelled),
                Taken::Seat(seat, rests) => return Ok((seat, rests)),
                Taken::Never(stop) => return Err(refusal(stop)),
                Taken::LookAgain => {}
                // A landing in between is not missed: it was asked for before the look.
                Taken::Wait => {
                    if cancel.run_until_cancelled(landing).await.is_none() {
                        return Err(Refusal::Cancelled);
                    }
                }
            }
        }
    }

    /// Whether all budgets have room for so much, whatever else is in flight.
    ///
    /// # Errors
    /// What was spent cannot be read.
    pub async fn has_room_for(&self, wanted: Spent) -> Result<bool, StoreError> {
        for budget in self.budgets(self.clock.now()) {
            let spent = self.spent(&budget).await?;
            if budget.limit.reached_by(spent.plus(wanted)).is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a run has begun itself it does not wait for, because it may be what has to go on first: that counts as used.
    fn room(
        &self,
        budgets: &[(Budget, Spent)],
        flights: &[Flight],
        wanted: Wanted,
    ) -> Room<BudgetStop, Vec<Rest>> {
        let with = |spent: Spent, budget: &Budget, which: &dyn Fn(&Flight) -> bool| {
            let drawing = flights.iter().filter(|flight| self.shares(budget.of, flight));
            drawing.filter(|flight| which(flight)).fold(spent, |sum, flight| sum.plus(flight.guess))
        };
        let is_own = |flight: &Flight| flight.run == self.run;
        let full = budgets.iter().find_map(|(budget, spent)| {
            self.stop(budget, with(*spent, budget, &is_own), wanted.least)
        });
        if let Some(stop) = full {
            return Room::IsNot(stop);
        }
        let may_lack = |(budget, spent): &(Budget, Spent)| {
            let (own, all) = (with(*spent, budget, &is_own), with(*spent, budget, &|_| true));
            let lacks = |used| {
                budget.limit.reached_by(used).is_some()
                    || budget.limit.lacks(used, wanted.guess).is_some()
            };
            own != all && lacks(all)
        };
        if budgets.iter().any(may_lack) {
            return Room::MayBe;
        }
        let rest = |(budget, spent): &(Budget, Spent)| {
            let left = budget.limit.after(with(*spent, budget, &|_| true));
            Rest { budget: budget.clone(), left }
        };
        Room::Is(budgets.iter().map(rest).collect())
    }

    /// The stop of a run whose answer was cut off because `rest` had room for so many tokens of it.
    #[must_use]
    pub fn cut_off(&self, rest: &Rest, room: u32) -> BudgetStop {
        let Budget { of, limit, zone } = rest.budget;
        BudgetStop::cut_off(of, (limit, room), &self.whom(), self.clock.now(), zone)
    }

    /// The budget in dollars that could not be kept by a call that nobody knows the price of, if there is one.
    #[must_use]
    pub fn needs_price_of(&self, model: &str) -> Option<BudgetStop> {
        let now = self.clock.now();
        let budget = self.budgets(now).into_iter().find(|budget| budget.limit.needs_prices())?;
        Some(BudgetStop::without_price(budget.of, model, &self.whom(), now, budget.zone))
    }

    fn budgets(&self, now: UnixMs) -> Vec<Budget> {
        let local = self.clock.zones().local();
        let budget = |of, limit, zone| Budget { of, limit, zone };
        let all = [
            budget(BudgetOf::Run, self.of_run, self.zone),
            budget(BudgetOf::Job(Day::of(self.zone, now)), self.of_job, self.zone),
            budget(BudgetOf::Everything(Day::of(local, now)), self.ledger.everything(), local),
        ];
        all.into_iter().filter(|budget| !budget.limit.is_none()).collect()
    }

    async fn spent(&self, budget: &Budget) -> Sum {
        let (store, now) = (&self.ledger.store, self.clock.now());
        match (budget.of, &self.job) {
            (BudgetOf::Everything(day), _) => store.spent_since(day.start, now).await,
            (BudgetOf::Job(day), Some(job)) => store.spent_by_job(job, day.start, now).await,
            (BudgetOf::Run, _) | (BudgetOf::Job(_), None) => store.spent_by_run(&self.run).await,
        }
    }

    /// Why a call that takes so much at the least may not begin after so much.
    fn stop(&self, budget: &Budget, spent: Spent, least: Spent) -> Option<BudgetStop> {
        let (Budget { of, limit, zone }, now) = (budget, self.clock.now());
        let whom = self.whom();
        if let Some(reached) = limit.reached_by(spent) {
            return Some(BudgetStop::new(*of, reached, &whom, now, *zone));
        }
        let lack = limit.lacks(spent, least)?;
        Some(BudgetStop::too_little(*of, lack, &whom, now, *zone))
    }

    /// Whether a call in flight draws on the same budget.
    fn shares(&self, of: BudgetOf, flight: &Flight) -> bool {
        match of {
            BudgetOf::Run => flight.run == self.run,
            BudgetOf::Job(_) => flight.job.is_some() && flight.job == self.job,
            BudgetOf::Everything(_) => true,
        }
    }

    fn whom(&self) -> String {
        self.job.as_ref().map_or_else(|| "main".to_owned(), ToString::to_string)
    }
}

/// As much of `guess` as every budget has left: no answer gets a larger bound.
fn within(budgets: &[(Budget, Spent)], guess: Spent) -> Spent {
    budgets.iter().fold(guess, |guess, (budget, spent)| {
        let left = budget.limit.after(*spent);
        let tokens = left.tokens.unwrap_or(u64::MAX).min(guess.tokens);
        let usd = left.usd.unwrap_or(MicroUsd(u64::MAX)).min(guess.usd);
        Spent { tokens, usd, ..guess }
    })
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("run", &self.run)
            .field("of_run", &self.of_run)
            .field("of_job", &self.of_job)
            .finish_non_exhaustive()
    }
}
