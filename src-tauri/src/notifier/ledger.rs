//! Maps notification ids of the server to subjects.
//!
//! Servers report clicks by id, sometimes before the id is returned. Pure state without IO, so
//! every order of events is testable.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::toast::Subject;
use crate::ui_route::UiRoute;

/// Maximum tracked notifications.
const MAX_TRACKED: usize = 512;

/// Source of a click.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClickSource {
    /// Signal to all connections.
    Broadcast,
    /// Signal to the sender. Servers that signal all signal the sender too.
    Sender,
}

/// Shown notifications.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    shown: VecDeque<ShownNotification>,
    sending: u32,
    early: Vec<(u32, String)>,
}

#[derive(Debug)]
struct ShownNotification {
    id: u32,
    subject: Subject,
    opens: UiRoute,
    was_broadcast: bool,
    withdraw: Option<oneshot::Sender<()>>,
}

impl Ledger {
    /// Records a notification being sent; returns the replaced id.
    pub(super) fn sending(&mut self, subject: &Subject) -> Option<u32> {
        self.sending += 1;
        self.shown.iter().rev().find(|entry| entry.subject == *subject).map(|entry| entry.id)
    }

    /// Records a failed send.
    pub(super) fn not_sent(&mut self) {
        self.sending -= 1;
        self.forget_early();
    }

    /// Records a shown notification; returns an action that was chosen earlier.
    pub(super) fn sent(
        &mut self,
        id: u32,
        subject: Subject,
        opens: UiRoute,
        withdraw: oneshot::Sender<()>,
    ) -> Option<String> {
        self.sending -= 1;
        let at = self.early.iter().position(|(early, _)| *early == id);
        let chosen = at.map(|at| self.early.remove(at).1);
        self.early.retain(|(early, _)| *early != id);
        self.forget_early();
        let (was_broadcast, withdraw) = (chosen.is_some(), Some(withdraw));
        self.shown.push_back(ShownNotification { id, subject, opens, was_broadcast, withdraw });
        if self.shown.len() > MAX_TRACKED {
            self.shown.pop_front();
        }
        chosen
    }

    /// Records a click; returns the page to show unless it is a duplicate or foreign.
    pub(super) fn clicked(
        &mut self,
        id: u32,
        action: &str,
        source: ClickSource,
    ) -> Option<UiRoute> {
        let Some(entry) = self.shown.iter_mut().rev().find(|entry| entry.id == id) else {
            if self.sending > 0 {
                self.early.push((id, action.to_owned()));
            }
            return None;
        };
        match source {
            ClickSource::Broadcast => entry.was_broadcast = true,
            ClickSource::Sender if entry.was_broadcast => return None,
            ClickSource::Sender => {}
        }
        Some(entry.opens.clone())
    }

    /// Withdraw channel of the newest notification of `subject`.
    pub(super) fn withdraw(&mut self, subject: &Subject) -> Option<oneshot::Sender<()>> {
        self.shown.iter_mut().rev().find(|entry| entry.subject == *subject)?.withdraw.take()
    }

    /// Forgets all ids of a lost server.
    pub(super) fn server_gone(&mut self) {
        self.shown.clear();
        self.early.clear();
    }

    fn forget_early(&mut self) {
        if self.sending == 0 {
            self.early.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::{DeliveryId, RunId};

    use super::*;

    fn subject_of(id: &str) -> Subject {
        Subject::Delivery(DeliveryId::new(id))
    }

    fn page(id: &str) -> UiRoute {
        UiRoute::run(&RunId::new(id))
    }

    fn show(
        ledger: &mut Ledger,
        id: u32,
        subject: &str,
    ) -> (Option<String>, oneshot::Receiver<()>) {
        ledger.sending(&subject_of(subject));
        let (withdraw, withdrawn) = oneshot::channel();
        (ledger.sent(id, subject_of(subject), page(subject), withdraw), withdrawn)
    }

    #[test]
    fn repeated_click_opens_same_page() {
        let mut ledger = Ledger::default();
        show(&mut ledger, 1, "a");
        show(&mut ledger, 2, "b");
        assert_eq!(ledger.clicked(1, "default", ClickSource::Broadcast), Some(page("a")));
        assert_eq!(ledger.clicked(2, "default", ClickSource::Broadcast), Some(page("b")));
        assert_eq!(ledger.clicked(2, "default", ClickSource::Broadcast), Some(page("b")));
        assert_eq!(ledger.clicked(3, "default", ClickSource::Broadcast), None, "of another app");
    }

    #[test]
    fn sender_only_click_is_received() {
        let mut ledger = Ledger::default();
        show(&mut ledger, 1, "a");
        assert_eq!(ledger.clicked(1, "default", ClickSource::Sender), Some(page("a")));
    }

    #[test]
    fn duplicate_click_is_ignored() {
        let mut ledger = Ledger::default();
        show(&mut ledger, 1, "a");
        assert_eq!(ledger.clicked(1, "default", ClickSource::Broadcast), Some(page("a")));
        assert_eq!(ledger.clicked(1, "default", ClickSource::Sender), None);
    }

    #[test]
    fn early_click_is_kept_until_id_is_known() {
        let mut ledger = Ledger::default();
        ledger.sending(&subject_of("a"));
        assert_eq!(ledger.clicked(7, "a-word", ClickSource::Broadcast), None);
        let (withdraw, _withdrawn) = oneshot::channel();
        let chosen = ledger.sent(7, subject_of("a"), page("a"), withdraw);
        assert_eq!(chosen.as_deref(), Some("a-word"), "the button action is kept");
    }

    #[test]
    fn foreign_click_is_dropped() {
        let mut ledger = Ledger::default();
        ledger.clicked(7, "default", ClickSource::Broadcast);
        assert!(show(&mut ledger, 7, "a").0.is_none(), "no send was pending");
        ledger.sending(&subject_of("b"));
        ledger.clicked(8, "default", ClickSource::Broadcast);
        ledger.not_sent();
        assert!(show(&mut ledger, 8, "b").0.is_none(), "another send was pending");
    }

    #[test]
    fn same_subject_replaces_earlier_notification() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.sending(&subject_of("a")), None);
        ledger.not_sent();
        show(&mut ledger, 4, "a");
        assert_eq!(ledger.sending(&subject_of("a")), Some(4));
    }

    #[test]
    fn withdraw_closes_newest_once() {
        let mut ledger = Ledger::default();
        let (_, mut old) = show(&mut ledger, 1, "a");
        let (_, mut new) = show(&mut ledger, 1, "a");
        ledger.withdraw(&subject_of("a")).unwrap().send(()).unwrap();
        assert!(new.try_recv().is_ok());
        assert!(old.try_recv().is_err());
        assert!(ledger.withdraw(&subject_of("a")).is_none());
    }

    #[test]
    fn lost_server_invalidates_ids() {
        let mut ledger = Ledger::default();
        show(&mut ledger, 1, "a");
        ledger.server_gone();
        assert_eq!(ledger.clicked(1, "default", ClickSource::Broadcast), None);
        assert_eq!(ledger.sending(&subject_of("a")), None);
    }

    #[test]
    fn tracked_notifications_are_bounded() {
        let mut ledger = Ledger::default();
        for id in 0..2_000 {
            show(&mut ledger, id, &id.to_string());
        }
        assert_eq!(ledger.shown.len(), MAX_TRACKED);
        assert_eq!(ledger.clicked(1_999, "default", ClickSource::Broadcast), Some(page("1999")));
    }
}
