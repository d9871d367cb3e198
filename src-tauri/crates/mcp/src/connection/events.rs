//! What a server sends unasked: progress, changes of the tool list, and requests.
//!
//! Owns the answers to requests of the server. A ping is answered; elicitation is cancelled, never declined, because no
//! person was asked; everything else is an unknown method. A legacy server learns of no capability; a modern one asks in
//! the place of a result, and that question may wait for a person. Pitfall: progress can arrive
//! before the caller knows the token of its call, so the map stays locked while a call is sent.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ClientLifecycleMode;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerNotification, ServerRequest,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient, Service};
use tokio::sync::Mutex;

/// Receives the progress messages of a call.
pub(crate) type ProgressSink = Box<dyn Fn(&str) + Send + Sync>;

/// The method of a form for the person.
const ELICITATION_METHOD: &str = "elicitation/create";

/// The state that messages of the server change.
#[derive(Default)]
pub(super) struct ConnectionEvents {
    /// The receivers of progress by the token of their call.
    pub(super) progress: Mutex<HashMap<ProgressToken, ProgressSink>>,
    is_list_changed: AtomicBool,
}

impl ConnectionEvents {
    /// Whether the server reported a change of its tool list since the last call of this function.
    pub(super) fn take_list_changed(&self) -> bool {
        self.is_list_changed.swap(false, Ordering::SeqCst)
    }

    /// Notes that the tool list of the server may have changed.
    pub(super) fn mark_list_changed(&self) {
        self.is_list_changed.store(true, Ordering::SeqCst);
    }

    async fn report_progress(&self, progress: &ProgressNotificationParam) {
        let sinks = self.progress.lock().await;
        if let Some(sink) = sinks.get(&progress.progress_token) {
            sink(&progress_text(progress));
        }
    }
}

/// The client side of a connection, as the protocol library calls it.
pub(super) struct ConnectionHandler {
    events: Arc<ConnectionEvents>,
    capabilities: ClientCapabilities,
}

impl ConnectionHandler {
    pub(super) fn new(events: Arc<ConnectionEvents>, lifecycle: &ClientLifecycleMode) -> Self {
        Self { events, capabilities: capabilities(lifecycle) }
    }
}

/// The declared capabilities. Forms and pages for the person need the modern lifecycle: a legacy server would wait in
/// an open request.
fn capabilities(lifecycle: &ClientLifecycleMode) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    if let ClientLifecycleMode::Discover { .. } = lifecycle {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        capabilities.elicitation = Some(elicitation);
    }
    capabilities
}

impl Service<RoleClient> for ConnectionHandler {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let cancelled = || ClientResult::ElicitResult(ElicitResult::new(ElicitationAction::Cancel));
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            ServerRequest::ElicitRequest(_) => Ok(cancelled()),
            // A form that the protocol library does not understand.
            ServerRequest::CustomRequest(request) if request.method == ELICITATION_METHOD => {
                Ok(cancelled())
            }
            _ => Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                "Rouse does not offer this method.",
                None,
            )),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        match notification {
            ServerNotification::ProgressNotification(progress) => {
                self.events.report_progress(&progress.params).await;
            }
            ServerNotification::ToolListChangedNotification(_) => {
                self.events.mark_list_changed();
            }
            _ => {}
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("rouse", env!("CARGO_PKG_VERSION")).with_title("Rouse");
        ClientConfig::new(self.capabilities.clone(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// The message of a progress report, or its numbers.
fn progress_text(progress: &ProgressNotificationParam) -> String {
    match (&progress.message, progress.total) {
        (Some(message), _) => message.clone(),
        (None, Some(total)) => format!("{} of {total}", progress.progress),
        (None, None) => progress.progress.to_string(),
    }
}
