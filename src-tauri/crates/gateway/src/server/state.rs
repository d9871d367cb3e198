//! The state that all handlers of the server share.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::Clock;
use tokio_util::sync::CancellationToken;

use super::files::UiFiles;
use super::rate_limit::CallRateLimit;
use crate::auth::Auth;
use crate::gateway::Gateway;

/// The state of the server for all handlers.
#[derive(Clone)]
pub(crate) struct RouterState {
    pub(super) gateway: Gateway,
    pub(super) auth: Arc<Auth>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ui: Arc<dyn UiFiles>,
    pub(super) port: u16,
    pub(super) hook_rate_limit: Arc<CallRateLimit>,
    pub(super) body_timeout: Duration,
    pub(super) closing: CancellationToken,
}
