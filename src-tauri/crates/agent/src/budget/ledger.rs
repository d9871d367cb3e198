//! Reservations of calls in flight, and the settings that all budgets share.
//!
//! A call in flight is in no sum yet: without a reservation two runs would both see room for a further call. A call
//! reserves the estimate before the start and releases the reservation after the cost is stored.
//! Pitfall: sums and reservations are read at two moments, and a call that ends in between is in neither. So each
//! release is counted, and [`BudgetLedger::reserve`] reserves nothing if the count has changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rouse_core::budget::{Limit, Spent};
use rouse_core::run::Usage;
use rouse_core::{JobId, RunId, UnixMs};
use rouse_store::{Store, StoreError};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::prices::Prices;
use crate::providers::model_choice::ChosenModel;

/// The budget of everything, the prices, and the calls in flight of all runs.
pub struct BudgetLedger {
    pub(super) store: Store,
    settings: RwLock<BudgetSettings>,
    in_flight: Mutex<InFlight>,
    released: Notify,
}

#[derive(Clone, Default)]
struct BudgetSettings {
    everything: Limit,
    prices: Arc<Prices>,
}

#[derive(Default)]
struct InFlight {
    /// By number of reservation.
    calls: CallsInFlight,
    next_number: u64,
    releases: u64,
}

/// A begun call without a stored cost.
#[derive(Debug, Clone)]
pub(super) struct CallInFlight {
    pub(super) run: RunId,
    pub(super) job: Option<JobId>,
    /// The maximum use.
    pub(super) estimate: Spent,
}

pub(super) type CallsInFlight = BTreeMap<u64, CallInFlight>;

/// The reservation of a call in flight. Dropping releases the budget.
pub struct BudgetReservation {
    ledger: Arc<BudgetLedger>,
    number: u64,
}

impl BudgetLedger {
    /// A ledger over `store`, with the prices of the table and without a limit over everything.
    #[must_use]
    pub fn new(store: Store) -> Arc<Self> {
        Arc::new(Self {
            store,
            settings: RwLock::default(),
            in_flight: Mutex::default(),
            released: Notify::new(),
        })
    }

    /// Applies new settings, from the next call on.
    pub fn set(&self, everything: Limit, prices: Prices) {
        let settings = BudgetSettings { everything, prices: Arc::new(prices) };
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
        // A higher limit may have room for a waiting call.
        self.released.notify_waiters();
    }

    /// The daily limit over everything.
    #[must_use]
    pub fn everything(&self) -> Limit {
        self.settings().everything
    }

    /// The prices of models.
    #[must_use]
    pub fn prices(&self) -> Arc<Prices> {
        self.settings().prices
    }

    /// Books the test of `model`, which belongs to no run.
    ///
    /// # Errors
    /// When the store cannot write.
    pub async fn book_test(
        &self,
        model: &ChosenModel,
        usage: Usage,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let cost = self.prices().cost(model, usage);
        let usage = Usage { cost_micro_usd: cost.map(|cost| cost.0), ..usage };
        self.store.record_spending_without_run("models.test", usage, now).await
    }

    fn settings(&self) -> BudgetSettings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many reservations were released so far.
    pub(super) fn releases(&self) -> u64 {
        self.in_flight().releases
    }

    /// Completes with the next release.
    pub(super) fn next_release(&self) -> Notified<'_> {
        self.released.notified()
    }

    /// Reserves the estimate of `call` if `check` finds room beside the calls in flight. None if there is no room before the next
    /// release, or if a release came after the count `releases_seen`.
    ///
    /// # Errors
    /// The error of `check`: there will be no room.
    pub(super) fn reserve<T, E>(
        self: &Arc<Self>,
        releases_seen: u64,
        call: CallInFlight,
        check: impl Fn(&CallsInFlight) -> Result<Option<T>, E>,
    ) -> Result<Option<(BudgetReservation, T)>, E> {
        let mut in_flight = self.in_flight();
        if in_flight.releases != releases_seen {
            return Ok(None);
        }
        let Some(room) = check(&in_flight.calls)? else { return Ok(None) };
        let number = in_flight.next_number;
        in_flight.next_number += 1;
        in_flight.calls.insert(number, call);
        Ok(Some((BudgetReservation { ledger: Arc::clone(self), number }, room)))
    }
}

impl Drop for BudgetReservation {
    fn drop(&mut self) {
        let mut in_flight = self.ledger.in_flight();
        in_flight.calls.remove(&self.number);
        in_flight.releases += 1;
        drop(in_flight);
        self.ledger.released.notify_waiters();
    }
}
