//! Which notification on the screen is about what.
//!
//! The server names notifications by numbers of its own and reports clicks by number, sometimes before it has answered
//! the call that showed the notification. The ledger brings both together. It does no IO, so every order of events can
//! be played in a test.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::Subject;
use crate::place::Place;

/// Notifications remembered; far more than any desktop keeps.
const MOST_KEPT: usize = 512;

/// How a click was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// By the standing listener, as a signal to everyone.
    ByAll,
    /// By the connection that showed the notification. Servers that tell everyone tell it too.
    BySender,
}

/// What is on the screen.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    shown: VecDeque<Entry>,
    sending: u32,
    early: Vec<(u32, String)>,
}

#[derive(Debug)]
struct Entry {
    id: u32,
    subject: Subject,
    opens: Place,
    told_all: bool,
    withdraw: Option<oneshot::Sender<()>>,
}

impl Ledger {
    /// A notification is about to be sent; answers the number of the one it takes the place of.
    pub(super) fn sending(&mut self, subject: &Subject) -> Option<u32> {
        self.sending += 1;
        self.shown.iter().rev().find(|entry| entry.subject == *subject).map(|entry| entry.id)
    }

    /// It was not sent after all.
    pub(super) fn not_sent(&mut self) {
        self.sending -= 1;
        self.forget_early();
    }

    /// It is on the screen as `id`; answers the action that was chosen before the server had even answered.
    pub(super) fn sent(
        &mut self,
        id: u32,
        subject: Subject,
        opens: Place,
        withdraw: oneshot::Sender<()>,
    ) -> Option<String> {
        self.sending -= 1;
        let at = self.early.iter().position(|(early, _)| *early == id);
        let chosen = at.map(|at| self.early.remove(at).1);
        self.early.retain(|(early, _)| *early != id);
        self.forget_early();
        let (told_all, withdraw) = (chosen.is_some(), Some(withdraw));
        self.shown.push_back(Entry { id, subject, opens, told_all, withdraw });
        if self.shown.len() > MOST_KEPT {
            self.shown.pop_front();
        }
        chosen
    }

    /// Number `id` was clicked, for `action`; answers what to show, unless that click was heard already or is not ours.
    pub(super) fn clicked(&mut self, id: u32, action: &str, heard: Heard) -> Option<Place> {
        let Some(entry) = self.shown.iter_mut().rev().find(|entry| entry.id == id) else {
            if self.sending > 0 {
                self.early.push((id, action.to_owned()));
            }
            return None;
        };
        match heard {
            Heard::ByAll => entry.told_all = true,
            Heard::BySender if entry.told_all => return None,
            Heard::BySender => {}
        }
        Some(entry.opens.clone())
    }

    /// The way to take the newest notification about `subject` away.
    pub(super) fn withdraw(&mut self, subject: &Subject) -> Option<oneshot::Sender<()>> {
        self.shown.iter_mut().rev().find(|entry| entry.subject == *subject)?.withdraw.take()
    }

    /// The server has gone: its numbers mean nothing to the next one.
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

    fn about(id: &str) -> Subject {
        Subject::Delivery(DeliveryId::new(id))
    }

    fn page(id: &str) -> Place {
        Place::run(&RunId::new(id))
    }

    fn show(
        ledger: &mut Ledger,
        id: u32,
        subject: &str,
    ) -> (Option<String>, oneshot::Receiver<()>) {
        ledger.sending(&about(subject));
        let (withdraw, withdrawn) = oneshot::channel();
        (ledger.sent(id, about(subject), page(subject), withdraw), withdrawn)
    }

    #[test]
    fn a_click_leads_to_its_page_as_often_as_it_comes() {
        let mut ledger = Ledger::default();
        show(&mut ledger, 1, "a");
        show(&mut ledger, 2, "b");
        assert_eq!(ledger.clicked(1, "default", Heard::ByAll), Some(page("a")));
        assert_eq!(ledger.clicked(2, "default", Heard::ByAll), Some(page("b")));
        assert_eq!(ledger.clicked(2, "default", Heard::ByAll), Some(page("b")));
        assert_eq!(ledger.clicked(3, "default", Heard::ByAll), None, "of another app");
    }

    #[test]
    fn a_server_that_tells_only_the_sender_is_heard_too() {
        let mut ledger = Ledger::default();
        show(&mut ledger, 1, "a");
        assert_eq!(ledger.clicked(1, "default", Heard::BySender), Some(page("a")));
    }

    #[test]
    fn one_click_heard_twice_counts_once() {
        let mut ledger = Ledger::default();
        show(&mut ledger, 1, "a");
        assert_eq!(ledger.clicked(1, "default", Heard::ByAll), Some(page("a")));
        assert_eq!(ledger.clicked(1, "default", Heard::BySender), None);
    }

    #[test]
    fn a_click_before_the_servers_answer_is_kept() {
        let mut ledger = Ledger::default();
        ledger.sending(&about("a"));
        assert_eq!(ledger.clicked(7, "a-word", Heard::ByAll), None);
        let (withdraw, _withdrawn) = oneshot::channel();
        let chosen = ledger.sent(7, about("a"), page("a"), withdraw);
        assert_eq!(chosen.as_deref(), Some("a-word"), "a button is no click on the whole");
    }

    #[test]
    fn a_foreign_click_is_not_kept_for_later() {
        let mut ledger = Ledger::default();
        ledger.clicked(7, "default", Heard::ByAll);
        assert!(show(&mut ledger, 7, "a").0.is_none(), "heard while nothing was being sent");
        ledger.sending(&about("b"));
        ledger.clicked(8, "default", Heard::ByAll);
        ledger.not_sent();
        assert!(show(&mut ledger, 8, "b").0.is_none(), "heard while another was being sent");
    }

    #[test]
    fn the_same_subject_takes_the_place_of_the_earlier_one() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.sending(&about("a")), None);
        ledger.not_sent();
        show(&mut ledger, 4, "a");
        assert_eq!(ledger.sending(&about("a")), Some(4));
    }

    #[test]
    fn withdrawing_reaches_the_newest_once() {
        let mut ledger = Ledger::default();
        let (_, mut old) = show(&mut ledger, 1, "a");
        let (_, mut new) = show(&mut ledger, 1, "a");
        ledger.withdraw(&about("a")).unwrap().send(()).unwrap();
        assert!(new.try_recv().is_ok());
        assert!(old.try_recv().is_err());
        assert!(ledger.withdraw(&about("a")).is_none());
    }

    #[test]
    fn numbers_die_with_their_server() {
        let mut ledger = Ledger::default();
        show(&mut ledger, 1, "a");
        ledger.server_gone();
        assert_eq!(ledger.clicked(1, "default", Heard::ByAll), None);
        assert_eq!(ledger.sending(&about("a")), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut ledger = Ledger::default();
        for id in 0..2_000 {
            show(&mut ledger, id, &id.to_string());
        }
        assert_eq!(ledger.shown.len(), MOST_KEPT);
        assert_eq!(ledger.clicked(1_999, "default", Heard::ByAll), Some(page("1999")));
    }
}
