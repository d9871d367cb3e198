//! Money: what models cost, and what runs may spend.
//!
//! `prices` knows what an answer costs, `account` what one run may spend and on whose budgets it draws, `ledger` what was
//! spent and what is being spent right now. What a budget is, and when one is used up, is `core::money`; the sums are
//! the store's.

mod account;
mod ledger;
mod prices;

pub use account::{Account, Refusal, Rest, Wanted};
pub use ledger::{Ledger, Seat};
pub use prices::{Price, Prices};
