//! The poll of one Telegram channel.
//!
//! Owns the pauses after a failed poll, the watchdog and the offset. Each failure replaces the client, because a broken
//! connection may look healthy. A bot that another program polls gets one attempt every ten minutes after three conflicts.
//! Pitfall: one client for polls and messages; a held poll must never delay a message.

use std::time::Duration;

use rouse_channels::{PollProblem, TelegramPoll, TelegramSettings};
use rouse_core::UnixMs;
use rouse_core::channel::ChannelName;
use rouse_gateway::wire::ReceivingState;
use rouse_store::StoreError;
use tokio_util::task::AbortOnDropHandle;

use super::ReceiverParts;
use super::updates::ReceivedUpdate;
use crate::outbox::pause;

/// Time limit of a poll with its request. Telegram ends a quiet poll after 50 seconds.
const WATCHDOG: Duration = Duration::from_secs(75);

/// The pauses after consecutive failures; the last one repeats.
const PAUSES: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
];

/// The pause after repeated conflicts. Each poll takes messages from the other program.
const LONG_PAUSE: Duration = Duration::from_secs(600);

/// The pause after an empty answer, for a server that does not hold a poll.
const EMPTY_PAUSE: Duration = Duration::from_secs(1);

/// The time in which conflicts count together. Two programs take turns, so polls between them succeed.
const CONFLICT_WINDOW_MS: i64 = 900_000;

/// The problem after a panic.
const INTERNAL_ERROR: &str =
    "An internal error ended the poll. The log has the details. Rouse polls again in a minute.";

/// Conflicts until the long pause; another program may just be closing.
const MAX_CONFLICTS: usize = 3;

/// Why a poll failed.
#[derive(Debug, thiserror::Error)]
enum PollFailure {
    #[error("{0}")]
    Settings(String),
    #[error(transparent)]
    Poll(#[from] PollProblem),
    #[error("Telegram did not answer for {} seconds.", WATCHDOG.as_secs())]
    Silent,
    #[error("A message could not be handled: {0}")]
    Store(#[from] StoreError),
}

/// The failures of a poll since its last success, and its recent conflicts.
#[derive(Default)]
struct PollFailures {
    consecutive: usize,
    conflicts: usize,
    last_conflict: Option<UnixMs>,
}

impl PollFailures {
    /// Counts a failure at `now`. Returns the pause after it.
    fn count(&mut self, failure: &PollFailure, now: UnixMs) -> Duration {
        self.consecutive += 1;
        let usual = PAUSES[(self.consecutive - 1).min(PAUSES.len() - 1)];
        match failure {
            PollFailure::Poll(PollProblem::Conflict) => {
                let is_recent =
                    self.last_conflict.is_some_and(|at| now.0 - at.0 < CONFLICT_WINDOW_MS);
                self.conflicts = if is_recent { self.conflicts + 1 } else { 1 };
                self.last_conflict = Some(now);
                if self.conflicts >= MAX_CONFLICTS { LONG_PAUSE } else { usual }
            }
            PollFailure::Poll(PollProblem::Later { after, .. }) => {
                usual.max(after.unwrap_or_default())
            }
            PollFailure::Settings(_) | PollFailure::Poll(PollProblem::BadToken { .. }) => {
                PAUSES[PAUSES.len() - 1]
            }
            PollFailure::Poll(_) | PollFailure::Silent | PollFailure::Store(_) => usual,
        }
    }
}

/// A poll with the settings that it was made for.
struct OpenPoll {
    settings: TelegramSettings,
    poll: TelegramPoll,
    /// The offsets of another bot do not count.
    source: String,
}

impl ReceiverParts {
    /// Polls until nobody may write to the channel any more. A panic is shown, and a new poll follows after a pause.
    pub(super) async fn keep_poll(self, name: ChannelName) {
        let poll = AbortOnDropHandle::new(tokio::spawn(self.clone().poll(name.clone())));
        if let Err(error) = poll.await {
            tracing::error!(%error, channel = %name, "the poll of a channel ended with a panic");
            let (problem, now) = (INTERNAL_ERROR.to_owned(), self.clock.now());
            self.status.set(&name, ReceivingState::Failed, Some(problem), now);
            pause(PAUSES[PAUSES.len() - 1], &self.closing).await;
        }
        self.status.report_change();
    }

    async fn poll(self, name: ChannelName) {
        let (mut open, mut failures) = (None, PollFailures::default());
        self.status.set(&name, ReceivingState::Connecting, None, self.clock.now());
        while self.is_awaited(&name) {
            match self.poll_once(&name, &mut open).await {
                Ok(()) => failures.consecutive = 0,
                Err(failure) => {
                    open = None;
                    let (problem, now) = (failure.to_string(), self.clock.now());
                    tracing::warn!(channel = %name, problem, "no messages arrive from a channel");
                    self.status.set(&name, ReceivingState::Failed, Some(problem), now);
                    pause(failures.count(&failure, now), &self.closing).await;
                }
            }
        }
    }

    /// Polls once and handles the updates. A first poll also checks the connection.
    async fn poll_once(
        &self,
        name: &ChannelName,
        open: &mut Option<OpenPoll>,
    ) -> Result<(), PollFailure> {
        let (http, settings) = self.senders.telegram(name).await.map_err(PollFailure::Settings)?;
        let is_current =
            open.as_ref().is_some_and(|poll| poll.settings.has_same_account(&settings));
        if !is_current {
            let poll = TelegramPoll::new(http, &settings);
            let source = format!("telegram:{}", settings.bot_id());
            *open = Some(OpenPoll { settings, poll, source });
        }
        let Some(open) = open.as_ref() else { return Ok(()) };
        let silent = |_| PollFailure::Silent;
        tokio::time::timeout(WATCHDOG, open.poll.prepare()).await.map_err(silent)??;
        let offset = self.store.received_offset(&open.source).await?;
        let waiting = async {
            let next = open.poll.next_updates(offset);
            tokio::time::timeout(WATCHDOG, next).await.map_err(silent)?.map_err(PollFailure::from)
        };
        // The service has answered the preparation; a quiet first poll takes almost a minute. After a failure, only a
        // finished poll counts.
        if self.status.receiving(name).state == ReceivingState::Connecting {
            self.status.set(name, ReceivingState::Listening, None, self.clock.now());
        }
        let updates = waiting.await?;
        self.status.set(name, ReceivingState::Listening, None, self.clock.now());
        if updates.is_empty() {
            pause(EMPTY_PAUSE, &self.closing).await;
        }
        for update in updates {
            let id = update.id();
            let received = ReceivedUpdate { parts: self, name, source: &open.source, update };
            received.handle().await?;
            self.store.put_received_offset(&open.source, id + 1, self.clock.now()).await?;
        }
        Ok(())
    }

    /// Whether a paired person or an open pairing waits for messages.
    fn is_awaited(&self, name: &ChannelName) -> bool {
        !self.closing.is_cancelled() && self.polled_channels().contains(name)
    }
}
