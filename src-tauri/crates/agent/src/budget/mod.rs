//! Budgets: the prices of models, and the limits on tokens and cost.
//!
//! `prices` knows the cost of an answer, `run_budgets` the limits of a run, `ledger` the calls in flight. `core::budget`
//! decides when a budget is used up. The store sums the spent amounts.

mod ledger;
mod prices;
mod run_budgets;

pub use ledger::{BudgetLedger, BudgetReservation};
pub use prices::Prices;
pub use rouse_core::budget::Price;
pub use run_budgets::{BudgetError, CallEstimate, RemainingBudget, RunBudgets};
