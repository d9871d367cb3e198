//! What was spent, and what is being spent right now.
//!
//! Owns the calls in flight: a call that has begun is in nobody's sums yet, and without it two runs would both see room
//! for one more. So a call draws a seat before it begins, with the most that it may use. When what was spent, what is in
//! flight and the next call may pass a limit together, that waits until one has landed and looks again: it is never
//! refused for a guess of others, and never begins beside one that uses the budget up. A seat is given back after what the call
//! has cost is in the store. One could get it wrong by reading the sums and the seats at two moments: a call that lands
//! in between would be in neither, so every landing is counted, and a look across one is made again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rouse_core::money::{Limit, Spent};
use rouse_core::run::Usage;
use rouse_core::{JobId, RunId, UnixMs};
use rouse_store::{Store, StoreError};
use tokio::sync::Notify;

use super::prices::Prices;
use crate::models::ChosenModel;

/// What all runs draw on.
pub struct Ledger {
    pub(super) store: Store,
    settings: RwLock<Settings>,
    air: Mutex<Air>,
    landed: Notify,
}

#[derive(Clone, Default)]
struct Settings {
    everything: Limit,
    prices: Arc<Prices>,
}

/// The calls that have begun and not landed.
#[derive(Default)]
struct Air {
    flights: Vec<Flight>,
    /// Calls that have ever begun: the number of the next.
    begun: u64,
    landings: u64,
}

/// A call in flight.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub(super) number: u64,
    pub(super) run: RunId,
    pub(super) job: Option<JobId>,
    /// What it may use.
    pub(super) guess: Spent,
}

/// Whether the calls in flight leave room for another one.
pub(super) enum Room<W, L> {
    /// Whatever they use, and so much.
    Is(L),
    /// When they have landed there may be.
    MayBe,
    /// None, for this reason.
    IsNot(W),
}

/// What became of taking a seat.
pub(super) enum Taken<W, L> {
    /// Here it is, with what there is for the call.
    Seat(Seat, L),
    /// A call has landed since the sums were read.
    LookAgain,
    /// Not before a call has landed.
    Wait,
    /// Not at all, for this reason.
    Never(W),
}

/// A call's place among those in flight, until it is dropped.
pub struct Seat {
    ledger: Arc<Ledger>,
    number: u64,
}

impl Ledger {
    /// A ledger over `store`, with the table's prices and no limit over everything.
    #[must_use]
    pub fn new(store: Store) -> Arc<Self> {
        Arc::new(Self {
            store,
            settings: RwLock::default(),
            air: Mutex::default(),
            landed: Notify::new(),
        })
    }

    /// Puts the person's settings into force, for the next call on.
    pub fn set(&self, everything: Limit, prices: Prices) {
        let settings = Settings { everything, prices: Arc::new(prices) };
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
        // Who waits for room may have it now.
        self.landed.notify_waiters();
    }

    /// The limit of a day over everything.
    #[must_use]
    pub fn everything(&self) -> Limit {
        self.settings().everything
    }

    /// What models cost.
    #[must_use]
    pub fn prices(&self) -> Arc<Prices> {
        self.settings().prices
    }

    /// Books the test of `model`, which belongs to no run.
    ///
    /// # Errors
    /// The store cannot write.
    pub async fn book_test(
        &self,
        model: &ChosenModel,
        usage: Usage,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let cost = self.prices().cost(model, usage);
        let usage = Usage { cost_micro_usd: cost.map(|cost| cost.0), ..usage };
        self.store.spend_outside_runs("models.test", usage, now).await
    }

    fn settings(&self) -> Settings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn air(&self) -> MutexGuard<'_, Air> {
        self.air.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn landings(&self) -> u64 {
        self.air().landings
    }

    /// Told of every landing from the moment it is made.
    pub(super) fn landing(&self) -> tokio::sync::futures::Notified<'_> {
        self.landed.notified()
    }

    /// Takes a seat if what is in flight leaves room for it.
    pub(super) fn take_seat<W, L>(
        self: &Arc<Self>,
        seen: u64,
        flight: Flight,
        room: impl Fn(&[Flight]) -> Room<W, L>,
    ) -> Taken<W, L> {
        let mut air = self.air();
        if air.landings != seen {
            return Taken::LookAgain;
        }
        let left = match room(&air.flights) {
            Room::Is(left) => left,
            Room::MayBe => return Taken::Wait,
            Room::IsNot(why) => return Taken::Never(why),
        };
        air.begun += 1;
        let number = air.begun;
        air.flights.push(Flight { number, ..flight });
        Taken::Seat(Seat { ledger: Arc::clone(self), number }, left)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut air = self.ledger.air();
        air.flights.retain(|flight| flight.number != self.number);
        air.landings += 1;
        drop(air);
        self.ledger.landed.notify_waiters();
    }
}

/// What of the store an account looks at.
pub(super) type Sum = Result<Spent, StoreError>;
