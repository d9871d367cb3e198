//! What the receiver knows about each channel: its poll, its pairing, and ignored messages.
//!
//! Kept in memory only: a restart polls anew, and ends an open pairing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rouse_core::UnixMs;
use rouse_core::channel::ChannelName;
use rouse_gateway::wire::{ReceivingState, ReceivingView};
use tokio::sync::Notify;

use super::pairing::Pairings;

/// The state of the receiver. Shared by the polls and the gateway.
#[derive(Default)]
pub(crate) struct ReceiverStatus {
    pub(crate) pairings: Pairings,
    channels: Mutex<HashMap<ChannelName, ReceivingView>>,
    changed: Notify,
}

const OFF: ReceivingView =
    ReceivingView { state: ReceivingState::Off, since_ms: 0, problem: None, ignored: 0 };

impl ReceiverStatus {
    /// Waits until a pairing starts or ends, or a recipient changes.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Reports a started or ended pairing, or a changed recipient.
    pub(super) fn report_change(&self) {
        self.changed.notify_one();
    }

    /// How messages from the channel arrive.
    pub(super) fn receiving(&self, name: &ChannelName) -> ReceivingView {
        self.with(name, |view| view.clone())
    }

    /// Records the state of a poll. The time of an unchanged state stays.
    pub(super) fn set(
        &self,
        name: &ChannelName,
        state: ReceivingState,
        problem: Option<String>,
        now: UnixMs,
    ) {
        self.with(name, |view| {
            if view.state != state {
                view.since_ms = now.0;
            }
            view.state = state;
            view.problem = problem;
        });
    }

    /// Records that the channels without a poll receive nothing.
    pub(super) fn set_off_except<T>(&self, polls: &HashMap<ChannelName, T>, now: UnixMs) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, view) in channels.iter_mut().filter(|(name, _)| !polls.contains_key(name)) {
            if view.state != ReceivingState::Off {
                *view = ReceivingView { since_ms: now.0, ignored: view.ignored, ..OFF };
            }
        }
    }

    /// Counts a message of a person who is not paired.
    pub(super) fn count_ignored(&self, name: &ChannelName) {
        self.with(name, |view| view.ignored = view.ignored.saturating_add(1));
    }

    fn with<T>(&self, name: &ChannelName, change: impl FnOnce(&mut ReceivingView) -> T) -> T {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        change(channels.entry(name.clone()).or_insert(OFF))
    }
}
