//! The channels for the gateway: checks, receiving, and the pairing of chats.

use std::sync::Arc;
use std::time::Duration;

use rouse_channels::{PollProblem, TelegramApi, TelegramError, pairing_link};
use rouse_core::channel::{ChannelKind, ChannelName, MessageKind, Route};
use rouse_core::delivery::NewDelivery;
use rouse_core::time::QuietPolicy;
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, DeliveryId};
use rouse_gateway::wire::{PairingState, PairingView, ReceivingView};
use rouse_gateway::{ChannelAccess, ErrorCode, RpcError, random_code};
use rouse_store::{Store, StoreError};

use super::{DirectoryKeeper, ReceiverStatus};
use crate::channels::ChannelSenders;

/// The first message in a paired chat.
const WELCOME: &str = "This chat is paired with Rouse. Reports and approval requests arrive here, and what you write goes to \
                       the main session. Send /status, /runs or /stop.";

/// Time limit of the check of one channel.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// Access of the gateway to the channels.
pub(crate) struct ChannelPort {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) senders: Arc<ChannelSenders>,
    pub(crate) directory: Arc<DirectoryKeeper>,
    pub(crate) status: Arc<ReceiverStatus>,
}

impl ChannelPort {
    fn kind(&self, name: &ChannelName) -> Option<ChannelKind> {
        self.directory.channels.now().channels.get(name).map(|entry| entry.kind)
    }

    /// Asks the service of the channel whether messages would be taken.
    async fn ask_service(&self, name: &ChannelName) -> Result<(), String> {
        let sender = self.senders.sender(name).await?;
        tokio::time::timeout(CHECK_TIMEOUT, sender.check()).await.unwrap_or_else(|_| {
            Err(format!(
                "The service did not answer within {} seconds. Check the network connection and \
                 the address of the channel.",
                CHECK_TIMEOUT.as_secs()
            ))
        })
    }

    async fn start_pairing(&self, name: &ChannelName) -> Result<PairingView, RpcError> {
        if self.kind(name) != Some(ChannelKind::Telegram) {
            let message = format!(
                "{name} pairs no chats: only Telegram does. Write its recipients into the settings."
            );
            return Err(conflict(message));
        }
        let (http, settings) = self.senders.telegram(name).await.map_err(conflict)?;
        let bot = TelegramApi::new(http, &settings).get_me().await;
        let bot = bot.map_err(|error| conflict(bot_problem(&error, &settings.token_secret)))?;
        let code = random_code();
        let link = pairing_link(&bot.username, &code).ok_or_else(|| {
            conflict(
                "Telegram gave the bot an unreadable username. Choose another in BotFather."
                    .to_owned(),
            )
        })?;
        let now = self.clock.now();
        self.status.pairings.start(name, code, link, now);
        self.status.report_change();
        self.status.pairings.view(name, now).ok_or_else(nobody_waits)
    }

    async fn end_pairing(
        &self,
        name: &ChannelName,
        is_accepted: bool,
    ) -> Result<PairingView, RpcError> {
        let now = self.clock.now();
        let candidate = self.status.pairings.candidate(name, now).ok_or_else(nobody_waits)?;
        if is_accepted {
            self.store.pair_recipient(&candidate, now).await?;
            self.directory.rebuild().await?;
            self.welcome(name, candidate.address).await?;
        }
        let end = if is_accepted { PairingState::Paired } else { PairingState::Refused };
        self.status.pairings.end(name, end);
        self.status.report_change();
        self.status.pairings.view(name, now).ok_or_else(nobody_waits)
    }

    async fn welcome(&self, name: &ChannelName, address: String) -> Result<(), StoreError> {
        let now = self.clock.now();
        let message = NewDelivery {
            id: DeliveryId::generate(now),
            kind: MessageKind::Reply,
            approval: None,
            route: Route { to: Some(address), ..Route::of(name.clone()) },
            title: String::new(),
            body: WELCOME.to_owned(),
            text: None,
            quiet_hours: QuietPolicy::IGNORE,
        };
        self.store.enqueue_delivery(None, &message, now).await
    }

    async fn remove(&self, name: &ChannelName, address: &str) -> Result<bool, RpcError> {
        let is_removed = self.store.unpair_recipient(name, address, self.clock.now()).await?;
        self.directory.rebuild().await?;
        self.status.report_change();
        Ok(is_removed)
    }
}

impl ChannelAccess for ChannelPort {
    fn problem<'a>(&'a self, name: &'a ChannelName) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { self.senders.sender(name).await.err() })
    }

    fn check<'a>(&'a self, name: &'a ChannelName) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { self.ask_service(name).await.err() })
    }

    fn receiving(&self, name: &ChannelName) -> Option<ReceivingView> {
        let receives = self.kind(name) == Some(ChannelKind::Telegram);
        receives.then(|| self.status.receiving(name))
    }

    fn pair<'a>(&'a self, name: &'a ChannelName) -> BoxFuture<'a, Result<PairingView, RpcError>> {
        Box::pin(self.start_pairing(name))
    }

    fn pairing<'a>(
        &'a self,
        name: &'a ChannelName,
        known: Option<PairingState>,
    ) -> BoxFuture<'a, Option<PairingView>> {
        Box::pin(self.status.pairings.await_change(name, known, self.clock.as_ref()))
    }

    fn confirm_pairing<'a>(
        &'a self,
        name: &'a ChannelName,
        is_accepted: bool,
    ) -> BoxFuture<'a, Result<PairingView, RpcError>> {
        Box::pin(self.end_pairing(name, is_accepted))
    }

    fn unpair<'a>(
        &'a self,
        name: &'a ChannelName,
        address: &'a str,
    ) -> BoxFuture<'a, Result<bool, RpcError>> {
        Box::pin(self.remove(name, address))
    }
}

/// Why the bot does not answer. `secret` is the name of the stored secret with the token.
fn bot_problem(error: &TelegramError, secret: &str) -> String {
    match error {
        TelegramError::Rejected(rejection) if rejection.is_bad_token() => {
            PollProblem::BadToken { secret: secret.to_owned() }.to_string()
        }
        error => error.to_string(),
    }
}

fn nobody_waits() -> RpcError {
    conflict("Nobody waits for a confirmation. Start the pairing again.".to_owned())
}

fn conflict(message: String) -> RpcError {
    RpcError::new(ErrorCode::Conflict, message)
}
