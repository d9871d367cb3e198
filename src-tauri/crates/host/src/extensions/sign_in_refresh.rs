//! The daily refresh of the sign-ins that jobs need.
//!
//! Owns the choice of the servers: those that an enabled job names. A job that runs rarely would find a dead refresh
//! token. Works after commits, never on a timer, so an idle engine stays asleep. Never opens a browser: an expired
//! sign-in is a state of its server. Pitfall: a round after each commit; two rounds are an hour apart.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::Clock;
use rouse_core::extension::{ExtensionBook as _, ExtensionName, ServerTransport};
use rouse_mcp::ServerSignIns;
use rouse_store::{JobQuery, Store, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::installed::InstalledExtensions;

/// The age at which a sign-in is refreshed.
const MAX_AGE: Duration = Duration::from_hours(24);
/// The earliest time of a round after the start, and after the round before.
const FIRST_ROUND_DELAY: Duration = Duration::from_secs(60);
const ROUND_PAUSE: Duration = Duration::from_hours(1);

/// The task that refreshes sign-ins.
pub(crate) struct SignInRefresh {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) installed: Arc<InstalledExtensions>,
    pub(crate) sign_ins: ServerSignIns,
    /// Notified after each commit.
    pub(crate) committed: Arc<Notify>,
    pub(crate) closing: CancellationToken,
}

impl SignInRefresh {
    /// Works until the engine closes.
    pub(crate) async fn run(self) {
        let mut not_before = self.clock.monotonic() + FIRST_ROUND_DELAY;
        while self.closing.run_until_cancelled(self.committed.notified()).await.is_some() {
            if self.clock.monotonic() < not_before {
                continue;
            }
            not_before = self.clock.monotonic() + ROUND_PAUSE;
            if self.closing.run_until_cancelled(self.refresh_idle()).await.is_none() {
                return;
            }
        }
    }

    /// Refreshes the sign-ins that were not refreshed for a day.
    async fn refresh_idle(&self) {
        let servers = match self.servers_of_jobs().await {
            Ok(servers) => servers,
            Err(error) => {
                tracing::warn!(%error, "the servers of the jobs are unknown, so no sign-in was refreshed");
                return;
            }
        };
        for server in servers {
            match self.sign_ins.refresh_idle(&server, MAX_AGE).await {
                Ok(true) => tracing::info!(%server, "refreshed an idle sign-in"),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%server, %error, "an idle sign-in was not refreshed");
                }
            }
        }
    }

    /// The enabled servers over HTTP that an enabled job names.
    async fn servers_of_jobs(&self) -> Result<Vec<ExtensionName>, StoreError> {
        let mut servers: Vec<ExtensionName> = self
            .installed
            .all()
            .into_iter()
            .filter(|(_, extension)| {
                let transport = &extension.server.transport;
                extension.is_enabled && matches!(transport, ServerTransport::Http { .. })
            })
            .map(|(name, _)| name)
            .collect();
        if !servers.is_empty() {
            let jobs = self.store.jobs(&JobQuery::default()).await?.jobs;
            servers.retain(|server| jobs.iter().any(|job| job.payload.names_server(server)));
        }
        Ok(servers)
    }
}
