//! Messages from channels: pairing, chat with the main session, and decisions by buttons.
//!
//! Owns one poll per Telegram channel that has a paired chat or an open pairing, and the edit of sent approval requests after
//! their decision. A message takes effect at most once: a chat message has its update as key, a decision counts once, and the
//! offset moves after the effect. Only a paired person in a private chat is heard; all others are counted and get no answer.
//! Pitfall: a poll that died in silence; the state `listening` ends with the first failed poll.

mod commands;
mod directory;
mod pairing;
mod polling;
mod channel_port;
mod settling;
mod status;
mod updates;

use std::collections::HashMap;
use std::sync::Arc;

use rouse_agent::Safety;
use rouse_core::Clock;
use rouse_core::channel::{ChannelKind, ChannelName, SharedDirectory};
use rouse_gateway::Gateway;
use rouse_gateway::wire::ReceivingState;
use rouse_store::Store;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::channels::ChannelSenders;
use crate::config::Config;

pub(crate) use channel_port::ChannelPort;
pub(crate) use directory::DirectoryKeeper;
pub use pairing::PAIRING_WAIT;
pub(crate) use status::ReceiverStatus;

/// The parts of the receiver.
#[derive(Clone)]
pub(crate) struct ReceiverParts {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: watch::Receiver<Config>,
    pub(crate) senders: Arc<ChannelSenders>,
    pub(crate) channels: SharedDirectory,
    pub(crate) gateway: Gateway,
    pub(crate) safety: Safety,
    pub(crate) status: Arc<ReceiverStatus>,
    /// Notified after a change of an approval or a delivery.
    pub(crate) sent_requests: Arc<Notify>,
    /// Notified after a wake-up of the computer.
    pub(crate) machine_changed: Arc<Notify>,
    pub(crate) closing: CancellationToken,
}

impl ReceiverParts {
    /// Works until the engine closes.
    pub(crate) async fn run(self) {
        let closing = self.closing.clone();
        let work = async { tokio::join!(self.clone().keep_polling(), self.clone().keep_settled()) };
        closing.run_until_cancelled(work).await;
    }

    /// Keeps one poll per channel that somebody may write to.
    async fn keep_polling(mut self) {
        let mut polls: HashMap<ChannelName, AbortOnDropHandle<()>> = HashMap::new();
        loop {
            let wanted = self.polled_channels();
            // A change may have mended a poll that pauses after a failure.
            polls.retain(|name, _| {
                wanted.contains(name) && self.status.receiving(name).state != ReceivingState::Failed
            });
            for name in wanted {
                if polls.get(&name).is_none_or(|poll| poll.is_finished()) {
                    let poll = tokio::spawn(self.clone().keep_poll(name.clone()));
                    polls.insert(name, AbortOnDropHandle::new(poll));
                }
            }
            self.status.set_off_except(&polls, self.clock.now());
            tokio::select! {
                () = self.status.changed() => {}
                changed = self.settings.changed() => if changed.is_err() { return },
                // A sleep cuts connections without a trace. A poll that ends early loses no update.
                () = self.machine_changed.notified() => polls.clear(),
            }
        }
    }

    /// The Telegram channels with a paired recipient or an open pairing.
    fn polled_channels(&self) -> Vec<ChannelName> {
        let (directory, now) = (self.channels.now(), self.clock.now());
        let telegram =
            directory.channels.iter().filter(|(_, entry)| entry.kind == ChannelKind::Telegram);
        let is_awaited = |name: &ChannelName, is_paired: bool| {
            is_paired || self.status.pairings.is_open(name, now)
        };
        telegram
            .filter(|(name, entry)| {
                is_awaited(name, entry.recipients.iter().any(|recipient| recipient.is_paired))
            })
            .map(|(name, _)| name.clone())
            .collect()
    }
}
