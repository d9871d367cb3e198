//! The pairing of a private chat by a one-time link.
//!
//! A code is valid once, for ten minutes and in this process. The first private chat that sends the code becomes a candidate;
//! the person confirms the candidate on this computer. Never sends anything to the chat before the confirmation.
//! Pitfall: pairing by a username; only the numeric id of the chat is an identity.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rouse_channels::PairingQr;
use rouse_core::channel::{ChannelName, Recipient};
use rouse_core::{Clock, UnixMs};
use rouse_gateway::wire::{PairingState, PairingView};
use tokio::sync::watch;

/// The lifetime of a link.
const LINK_LIFETIME_MS: i64 = 10 * 60_000;

/// The longest wait for a change of a pairing. A client waits longer for the answer.
pub const PAIRING_WAIT: Duration = Duration::from_secs(25);

/// The newest pairing of each channel.
#[derive(Default)]
pub(crate) struct Pairings {
    pairings: Mutex<HashMap<ChannelName, Pairing>>,
    changes: watch::Sender<()>,
}

struct Pairing {
    /// The code; none after the first use.
    code: Option<String>,
    link: String,
    expires_at: UnixMs,
    candidate: Option<Recipient>,
    end: Option<PairingState>,
}

impl Pairing {
    fn state(&self, now: UnixMs) -> PairingState {
        match (self.end, &self.candidate) {
            (Some(end), _) => end,
            (None, _) if now >= self.expires_at => PairingState::Expired,
            (None, Some(_)) => PairingState::Confirming,
            (None, None) => PairingState::Waiting,
        }
    }

    fn view(&self, channel: &ChannelName, now: UnixMs) -> PairingView {
        let qr = PairingQr::new(&self.link);
        PairingView {
            channel: channel.to_string(),
            state: self.state(now),
            link: self.link.clone(),
            qr_svg: qr.as_ref().map(PairingQr::svg).unwrap_or_default(),
            qr_text: qr.as_ref().map(PairingQr::terminal).unwrap_or_default(),
            expires_at_ms: self.expires_at.0,
            person: self.candidate.as_ref().map(|candidate| candidate.label.clone()),
        }
    }
}

impl Pairings {
    /// Starts a pairing. An earlier link of the channel is no longer valid.
    pub(super) fn start(&self, name: &ChannelName, code: String, link: String, now: UnixMs) {
        let pairing = Pairing {
            code: Some(code),
            link,
            expires_at: now.plus_ms(LINK_LIFETIME_MS),
            candidate: None,
            end: None,
        };
        self.lock().insert(name.clone(), pairing);
        self.changes.send_replace(());
    }

    /// The newest pairing of the channel, as soon as its state is not `known`; at the latest after 25 seconds.
    pub(super) async fn await_change(
        &self,
        name: &ChannelName,
        known: Option<PairingState>,
        clock: &dyn Clock,
    ) -> Option<PairingView> {
        let mut changes = self.changes.subscribe();
        let changed = async {
            while known.is_some() && self.view(name, clock.now()).map(|view| view.state) == known {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        // A wait that is too long ends with the unchanged state.
        drop(tokio::time::timeout(PAIRING_WAIT, changed).await);
        self.view(name, clock.now())
    }

    /// The newest pairing of the channel.
    pub(super) fn view(&self, name: &ChannelName, now: UnixMs) -> Option<PairingView> {
        self.lock().get(name).map(|pairing| pairing.view(name, now))
    }

    /// Whether a link of the channel waits for a person or a confirmation.
    pub(super) fn is_open(&self, name: &ChannelName, now: UnixMs) -> bool {
        let open = [PairingState::Waiting, PairingState::Confirming];
        self.lock().get(name).is_some_and(|pairing| open.contains(&pairing.state(now)))
    }

    /// Takes the sender of a code as the candidate. Returns false for a wrong, used or expired code.
    pub(super) fn offer(&self, candidate: Recipient, code: &str, now: UnixMs) -> bool {
        let mut pairings = self.lock();
        let Some(pairing) = pairings.get_mut(&candidate.channel) else { return false };
        let is_valid =
            pairing.state(now) == PairingState::Waiting && pairing.code.as_deref() == Some(code);
        if is_valid {
            pairing.code = None;
            pairing.candidate = Some(candidate);
            self.changes.send_replace(());
        }
        is_valid
    }

    /// The candidate that waits for the confirmation.
    pub(super) fn candidate(&self, name: &ChannelName, now: UnixMs) -> Option<Recipient> {
        let pairings = self.lock();
        let pairing = pairings.get(name)?;
        let is_waiting = pairing.state(now) == PairingState::Confirming;
        pairing.candidate.clone().filter(|_| is_waiting)
    }

    /// Ends the pairing of the channel.
    pub(super) fn end(&self, name: &ChannelName, end: PairingState) {
        if let Some(pairing) = self.lock().get_mut(name) {
            pairing.end = Some(end);
            self.changes.send_replace(());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ChannelName, Pairing>> {
        self.pairings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipient(address: &str) -> Recipient {
        Recipient {
            channel: ChannelName::new("phone"),
            address: address.to_owned(),
            label: format!("Person {address}"),
            is_private: true,
            is_paired: true,
        }
    }

    fn started() -> (ChannelName, Pairings) {
        let (name, pairings) = (ChannelName::new("phone"), Pairings::default());
        pairings.start(&name, "code".to_owned(), "https://t.me/a?start=code".to_owned(), UnixMs(0));
        (name, pairings)
    }

    fn state(pairings: &Pairings, name: &ChannelName, now: i64) -> Option<PairingState> {
        pairings.view(name, UnixMs(now)).map(|view| view.state)
    }

    #[test]
    fn code_works_once_within_ten_minutes() {
        let (name, pairings) = started();
        assert!(!pairings.offer(recipient("7"), "guess", UnixMs(1)));
        assert!(pairings.offer(recipient("7"), "code", UnixMs(1)));
        assert!(!pairings.offer(recipient("8"), "code", UnixMs(2)), "used");
        assert_eq!(
            pairings.candidate(&name, UnixMs(2)).map(|person| person.address),
            Some("7".to_owned())
        );
        let (name, pairings) = started();
        assert!(!pairings.offer(recipient("7"), "code", UnixMs(LINK_LIFETIME_MS)), "expired");
        assert_eq!(state(&pairings, &name, LINK_LIFETIME_MS), Some(PairingState::Expired));
    }

    #[test]
    fn new_link_replaces_the_candidate() {
        let (name, pairings) = started();
        assert!(pairings.offer(recipient("7"), "code", UnixMs(1)));
        assert_eq!(state(&pairings, &name, 1), Some(PairingState::Confirming));
        pairings.start(&name, "next".to_owned(), String::new(), UnixMs(2));
        assert_eq!(state(&pairings, &name, 2), Some(PairingState::Waiting));
        assert_eq!(pairings.candidate(&name, UnixMs(2)), None);
        pairings.end(&name, PairingState::Refused);
        assert!(!pairings.is_open(&name, UnixMs(3)));
    }
}
