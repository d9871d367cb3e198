//! Notifications being sent.
//!
//! A notification can be withdrawn before the desktop has returned its id, for example by a
//! decision in the tray. Such a withdrawal is remembered until the id arrives. Pitfall: remembering
//! every withdrawal would leak, since most concern notifications that are gone or held.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rouse_core::DeliveryId;

/// Pending sends and their withdrawals.
#[derive(Debug, Default)]
pub(super) struct PendingSends(Mutex<Vec<(DeliveryId, bool)>>);

impl PendingSends {
    /// Records the start of a send.
    pub(super) fn start(&self, id: &DeliveryId) {
        self.entries().push((id.clone(), false));
    }

    /// Records a withdrawal.
    pub(super) fn withdraw(&self, id: &DeliveryId) {
        for (_, withdrawn) in self.entries().iter_mut().filter(|(pending, _)| pending == id) {
            *withdrawn = true;
        }
    }

    /// Records the end of a send; true if it was withdrawn meanwhile.
    pub(super) fn finish(&self, id: &DeliveryId) -> bool {
        let mut entries = self.entries();
        let at = entries.iter().position(|(pending, _)| pending == id);
        at.is_some_and(|at| entries.swap_remove(at).1)
    }

    fn entries(&self) -> MutexGuard<'_, Vec<(DeliveryId, bool)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(id: &str) -> DeliveryId {
        DeliveryId::new(id)
    }

    #[test]
    fn withdrawal_during_send_applies_afterwards() {
        let sends = PendingSends::default();
        sends.start(&delivery("a"));
        sends.start(&delivery("b"));
        sends.withdraw(&delivery("a"));
        assert!(!sends.finish(&delivery("b")));
        assert!(sends.finish(&delivery("a")));
    }

    #[test]
    fn withdrawal_without_send_is_forgotten() {
        let sends = PendingSends::default();
        sends.withdraw(&delivery("a"));
        sends.start(&delivery("a"));
        assert!(!sends.finish(&delivery("a")), "a later send");
        assert!(!sends.finish(&delivery("a")), "an unknown send");
    }
}
