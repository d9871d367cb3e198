//! The daily refresh of the sign-ins that jobs need.
//!
//! Owns the choice of the servers: those that an enabled job names. A job that runs rarely would find a dead refresh
//! token. Works after commits, never on a timer, so an idle engine stays asleep. Never opens a browser: an expired
//! sign-in is a state of its server. Pitfall: a round after each commit; two rounds are an hour apart.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::Clock;
use rouse_core::extension::{ExtensionBook as _, ExtensionName, ServerTransport};
use rouse_core::job::Payload;
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
            servers.retain(|server| jobs.iter().any(|job| names_server(&job.payload, server)));
        }
        Ok(servers)
    }
}

/// Whether a run of this payload uses the server.
fn names_server(payload: &Payload, server: &ExtensionName) -> bool {
    match payload {
        Payload::AgentTurn(turn) => turn.servers.iter().any(|named| named.name == *server),
        Payload::ToolCall(call) => {
            call.tool.strip_prefix(server.as_str()).is_some_and(|raw| raw.starts_with('_'))
        }
        Payload::SystemEvent { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn server_of_a_payload_is_named() {
        let server: ExtensionName = "cal".parse().expect("a name");
        for (payload, is_named) in [
            (json!({ "kind": "agentTurn", "message": "x", "servers": ["cal:optional"] }), true),
            (json!({ "kind": "agentTurn", "message": "cal", "servers": ["calendar"] }), false),
            (json!({ "kind": "toolCall", "tool": "cal_list" }), true),
            (json!({ "kind": "toolCall", "tool": "calendar_list" }), false),
            (json!({ "kind": "systemEvent", "text": "cal_list" }), false),
        ] {
            let parsed: Payload = serde_json::from_value(payload.clone()).expect("a payload");
            assert_eq!(names_server(&parsed, &server), is_named, "{payload}");
        }
    }
}
