//! The subscription to changes of a server's tool list, in the modern lifecycle.
//!
//! Owns one stream of a connection. A legacy server reports a change unasked. Never lists the tools: a change sets the
//! mark that a legacy notification sets. The age limit of a list stays, because a stream may end unnoticed.
//! Pitfall: a change between the end of a stream and the next one; a broken stream counts as a change.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient, Subscription, SubscriptionEnd};
use tokio::task::JoinSet;

use super::events::ConnectionEvents;

/// The subscription of a connection. Dropping ends the stream.
#[derive(Default)]
pub(super) struct ListSubscription {
    /// At most one task, which reads the stream.
    reader: Mutex<JoinSet<()>>,
}

impl ListSubscription {
    /// Subscribes in the background, unless a stream is open or the server offers none.
    pub(super) fn open(&self, peer: &Peer<RoleClient>, events: &Arc<ConnectionEvents>) {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        while reader.try_join_next().is_some() {}
        if reader.is_empty() && offers_subscription(peer) {
            reader.spawn(read_changes(peer.clone(), Arc::clone(events)));
        }
    }

    /// Waits for the end of the stream.
    #[cfg(test)]
    pub(super) async fn ended(&self) {
        let mut reader =
            std::mem::take(&mut *self.reader.lock().unwrap_or_else(PoisonError::into_inner));
        while reader.join_next().await.is_some() {}
    }
}

fn offers_subscription(peer: &Peer<RoleClient>) -> bool {
    let Some(info) = peer.peer_info() else { return false };
    let tools = info.capabilities.tools.as_ref();
    !info.protocol_version.has_initialize()
        && tools.is_some_and(|tools| tools.list_changed == Some(true))
}

async fn read_changes(peer: Peer<RoleClient>, events: Arc<ConnectionEvents>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = match peer.listen(filter).await {
        Ok(subscription) => subscription,
        Err(error) => {
            tracing::debug!(%error, "a server refused a subscription");
            return;
        }
    };
    while let Some(ServerNotification::ToolListChangedNotification(_)) =
        next_notification(&mut subscription).await
    {
        events.mark_list_changed();
    }
    if !matches!(subscription.end(), Some(SubscriptionEnd::Graceful(_))) {
        events.mark_list_changed();
    }
}

/// The next notification; none after the end of the stream.
async fn next_notification(subscription: &mut Subscription) -> Option<ServerNotification> {
    match subscription.next().await {
        Ok(notification) => notification,
        Err(error) => {
            tracing::debug!(%error, "a subscription broke");
            None
        }
    }
}
