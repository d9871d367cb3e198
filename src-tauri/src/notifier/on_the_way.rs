//! Notifications that a desktop was asked to show and has not named yet.
//!
//! Until a desktop has answered there is nothing that could be taken away, and a matter can be settled in just that
//! moment: a question answered in the tray, a run whose page is open. Such a notification would stay for good. So what is
//! withdrawn on its way is remembered until it is there. One could get it wrong by remembering every withdrawal: most are
//! of notifications that left the screen long ago, or that are held back for the morning.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rouse_core::DeliveryId;

/// What is on its way, and whether it was withdrawn meanwhile.
#[derive(Debug, Default)]
pub(super) struct OnTheWay(Mutex<Vec<(DeliveryId, bool)>>);

impl OnTheWay {
    /// The desktop is about to be asked.
    pub(super) fn set_out(&self, id: &DeliveryId) {
        self.entries().push((id.clone(), false));
    }

    /// Its matter is settled.
    pub(super) fn withdraw(&self, id: &DeliveryId) {
        for (_, withdrawn) in self.entries().iter_mut().filter(|(one, _)| one == id) {
            *withdrawn = true;
        }
    }

    /// The desktop has answered; true when it is to go at once.
    pub(super) fn arrived(&self, id: &DeliveryId) -> bool {
        let mut entries = self.entries();
        let at = entries.iter().position(|(one, _)| one == id);
        at.is_some_and(|at| entries.swap_remove(at).1)
    }

    fn entries(&self) -> MutexGuard<'_, Vec<(DeliveryId, bool)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(id: &str) -> DeliveryId {
        DeliveryId::new(id)
    }

    #[test]
    fn what_is_withdrawn_on_its_way_goes_when_it_is_there() {
        let way = OnTheWay::default();
        way.set_out(&about("a"));
        way.set_out(&about("b"));
        way.withdraw(&about("a"));
        assert!(!way.arrived(&about("b")));
        assert!(way.arrived(&about("a")));
    }

    #[test]
    fn a_withdrawal_counts_for_what_is_on_its_way_alone() {
        let way = OnTheWay::default();
        way.withdraw(&about("a"));
        way.set_out(&about("a"));
        assert!(!way.arrived(&about("a")), "shown again later");
        assert!(!way.arrived(&about("a")), "of which nobody knows");
    }
}
