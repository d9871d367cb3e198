//! The budgets of a run: of the run, of the job for the day, and of everything for the day.
//!
//! Owns the admission of a call. The minimum of a call must fit into each budget. The maximum only makes the call wait for
//! calls in flight: as a condition it would refuse most calls that have room. No answer may use more than is left
//! (`turn::output_limit`). Budgets of a day are looked up with each call, so a run past midnight draws on the new day.
//! Never stops a call that has begun.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use rouse_core::budget::{BudgetScope, BudgetStop, Limit, MicroUsd, Spent};
use rouse_core::job::Job;
use rouse_core::run::Run;
use rouse_core::schedule::{Day, Zone};
use rouse_core::{Clock, JobId, RunId, UnixMs};
use rouse_store::StoreError;
use tokio_util::sync::CancellationToken;

use super::ledger::{BudgetLedger, BudgetReservation, CallInFlight, CallsInFlight};

/// The budgets of a run.
#[derive(Clone)]
pub struct RunBudgets {
    ledger: Arc<BudgetLedger>,
    clock: Arc<dyn Clock>,
    run: RunId,
    job: Option<JobId>,
    of_run: Limit,
    of_job: Limit,
    zone: Zone,
}

/// Why a call may not begin.
#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    /// A budget is used up, or cannot be enforced.
    #[error("{}", .0.words)]
    Budget(BudgetStop),
    /// The run was cancelled while the call waited for room.
    #[error("the run was cancelled")]
    Cancelled,
    /// The sums cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The estimated use of a call.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallEstimate {
    /// The minimum usage of the call.
    pub minimum: Spent,
    /// The maximum usage of the call, as far as known.
    pub maximum: Spent,
}

impl CallEstimate {
    /// The estimate of a tool with a known cost. The minimum is zero, because the tool may charge less.
    #[must_use]
    pub const fn of_cost(micro_usd: u64) -> Self {
        Self { minimum: Spent::of_cost(0), maximum: Spent::of_cost(micro_usd) }
    }
}

/// The rest of a budget for a call that was admitted.
#[derive(Debug, Clone)]
pub struct RemainingBudget {
    budget: BudgetNow,
    /// The usage that is left for the call.
    pub left: Limit,
}

/// A budget with a limit, at this moment.
#[derive(Debug, Clone)]
struct BudgetNow {
    of: BudgetScope,
    limit: Limit,
    zone: Zone,
}

impl RunBudgets {
    /// The budgets of `run`. `zone` is the zone of the job's days.
    #[must_use]
    pub fn new(
        ledger: Arc<BudgetLedger>,
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

    /// The ledger of all runs.
    #[must_use]
    pub const fn ledger(&self) -> &Arc<BudgetLedger> {
        &self.ledger
    }

    /// Admits a call as soon as the calls in flight leave room. Returns the reservation and the rest of each budget.
    ///
    /// # Errors
    /// When a budget is used up or has less than the minimum left, or the run is cancelled while waiting.
    pub async fn admit(
        &self,
        estimate: CallEstimate,
        cancel: &CancellationToken,
    ) -> Result<(BudgetReservation, Vec<RemainingBudget>), BudgetError> {
        // A cancelled run ends as cancelled, even if a budget was used up meanwhile.
        let stopped = |stop| {
            if cancel.is_cancelled() { BudgetError::Cancelled } else { BudgetError::Budget(stop) }
        };
        loop {
            // Enabled before the sums are read, so that no release is missed.
            let mut next_release = pin!(self.ledger.next_release());
            next_release.as_mut().enable();
            let releases = self.ledger.releases();
            let mut budgets = Vec::new();
            for budget in self.budgets(self.clock.now()) {
                let spent = self.spent(&budget).await?;
                if let Some(stop) = self.stop(&budget, spent, estimate.minimum) {
                    return Err(stopped(stop));
                }
                budgets.push((budget, spent));
            }
            let maximum = at_most_left(&budgets, estimate.maximum);
            let estimate = CallEstimate { maximum, ..estimate };
            let call =
                CallInFlight { run: self.run.clone(), job: self.job.clone(), estimate: maximum };
            let check = |in_flight: &CallsInFlight| self.room(&budgets, in_flight, estimate);
            if let Some(admitted) = self.ledger.reserve(releases, call, check).map_err(stopped)? {
                return if cancel.is_cancelled() {
                    Err(BudgetError::Cancelled)
                } else {
                    Ok(admitted)
                };
            }
            if cancel.run_until_cancelled(next_release).await.is_none() {
                return Err(BudgetError::Cancelled);
            }
        }
    }

    /// Whether all budgets have room for `amount`, regardless of calls in flight.
    ///
    /// # Errors
    /// When the sums cannot be read.
    pub async fn has_room_for(&self, amount: Spent) -> Result<bool, StoreError> {
        for budget in self.budgets(self.clock.now()) {
            let spent = self.spent(&budget).await?;
            if budget.limit.reached_by(spent.plus(amount)).is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rest of each budget beside the calls in flight; none if the call must wait for the end of another. Calls of
    /// this run count as used, because waiting for the same run could be a deadlock.
    fn room(
        &self,
        budgets: &[(BudgetNow, Spent)],
        in_flight: &CallsInFlight,
        estimate: CallEstimate,
    ) -> Result<Option<Vec<RemainingBudget>>, BudgetStop> {
        let mut remaining = Vec::with_capacity(budgets.len());
        let mut must_wait = false;
        for (budget, spent) in budgets {
            let (mut with_own, mut with_all) = (*spent, *spent);
            for call in in_flight.values().filter(|call| self.shares(budget.of, call)) {
                with_all = with_all.plus(call.estimate);
                if call.run == self.run {
                    with_own = with_own.plus(call.estimate);
                }
            }
            if let Some(stop) = self.stop(budget, with_own, estimate.minimum) {
                return Err(stop);
            }
            let is_short = budget.limit.reached_by(with_all).is_some()
                || budget.limit.shortfall(with_all, estimate.maximum).is_some();
            must_wait |= with_own != with_all && is_short;
            remaining.push(RemainingBudget {
                budget: budget.clone(),
                left: budget.limit.after(with_all),
            });
        }
        Ok((!must_wait).then_some(remaining))
    }

    /// The stop of a run whose answer was cut off, because `rest` had room for only `room` tokens.
    #[must_use]
    pub fn cut_off(&self, rest: &RemainingBudget, room: u32) -> BudgetStop {
        let BudgetNow { of, limit, zone } = rest.budget;
        BudgetStop::for_truncation(of, (limit, room), &self.owner(), self.clock.now(), zone)
    }

    /// The stop by the first budget in dollars, which a model without a known price would escape.
    #[must_use]
    pub fn needs_price_of(&self, model: &str) -> Option<BudgetStop> {
        let now = self.clock.now();
        let budget = self.budgets(now).into_iter().find(|budget| budget.limit.needs_prices())?;
        Some(BudgetStop::for_missing_price(budget.of, model, &self.owner(), now, budget.zone))
    }

    fn budgets(&self, now: UnixMs) -> Vec<BudgetNow> {
        let local = self.clock.zones().local();
        let budget = |of, limit, zone| BudgetNow { of, limit, zone };
        let all = [
            budget(BudgetScope::Run, self.of_run, self.zone),
            budget(BudgetScope::Job(Day::of(self.zone, now)), self.of_job, self.zone),
            budget(BudgetScope::Everything(Day::of(local, now)), self.ledger.everything(), local),
        ];
        all.into_iter().filter(|budget| !budget.limit.is_none()).collect()
    }

    async fn spent(&self, budget: &BudgetNow) -> Result<Spent, StoreError> {
        let (store, now) = (&self.ledger.store, self.clock.now());
        match (budget.of, &self.job) {
            (BudgetScope::Everything(day), _) => store.spent_since(day.start, now).await,
            (BudgetScope::Job(day), Some(job)) => store.spent_by_job(job, day.start, now).await,
            (BudgetScope::Run, _) | (BudgetScope::Job(_), None) => {
                store.spent_by_run(&self.run).await
            }
        }
    }

    /// The stop if `budget` is used up by `spent`, or has less than `minimum` left.
    fn stop(&self, budget: &BudgetNow, spent: Spent, minimum: Spent) -> Option<BudgetStop> {
        let (BudgetNow { of, limit, zone }, now) = (budget, self.clock.now());
        let owner = self.owner();
        if let Some(reached) = limit.reached_by(spent) {
            return Some(BudgetStop::new(*of, reached, &owner, now, *zone));
        }
        let lack = limit.shortfall(spent, minimum)?;
        Some(BudgetStop::for_shortfall(*of, lack, &owner, now, *zone))
    }

    /// Whether a call in flight draws on the same budget.
    fn shares(&self, of: BudgetScope, call: &CallInFlight) -> bool {
        match of {
            BudgetScope::Run => call.run == self.run,
            BudgetScope::Job(_) => call.job.is_some() && call.job == self.job,
            BudgetScope::Everything(_) => true,
        }
    }

    fn owner(&self) -> String {
        self.job.as_ref().map_or_else(|| "main".to_owned(), ToString::to_string)
    }
}

/// The part of `maximum` that every budget has left: no answer gets a larger limit.
fn at_most_left(budgets: &[(BudgetNow, Spent)], maximum: Spent) -> Spent {
    budgets.iter().fold(maximum, |maximum, (budget, spent)| {
        let left = budget.limit.after(*spent);
        let tokens = left.tokens.unwrap_or(u64::MAX).min(maximum.tokens);
        let usd = left.usd.unwrap_or(MicroUsd(u64::MAX)).min(maximum.usd);
        Spent { tokens, usd, ..maximum }
    })
}

impl fmt::Debug for RunBudgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunBudgets")
            .field("run", &self.run)
            .field("of_run", &self.of_run)
            .field("of_job", &self.of_job)
            .finish_non_exhaustive()
    }
}
