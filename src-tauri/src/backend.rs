//! Engine access of the shell: in process, or as a client of the process that owns the data
//! directory.
//!
//! Owns finding and keeping an engine. The app starts the host in process; if `rouse serve` or
//! another app owns the data directory, the app becomes its client, and takes over when it exits. A
//! client app also shows the engine's notifications. Calls wait for a starting engine and fail
//! without one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rouse_gateway::wire::{
    ChangeResult, EmptyObject, EventKindView, EventView, NotificationOutcome, NotificationReport,
    NotificationRequest, SystemStatus,
};
use rouse_gateway::{
    Client, ClientError, DesktopAppMessage, DesktopAppStream, ErrorCode, Gateway, RpcError,
    Subscription, UiFiles,
};
use rouse_host::{Home, HomeError, Host, HostError, HostOptions, NotifyError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;

use crate::notifier::DesktopNotifier;

/// Callable engine. Cheap to clone.
#[derive(Clone)]
pub(crate) enum Backend {
    /// In this process.
    Local(Gateway, Arc<Mutex<Option<Host>>>),
    /// In the process that owns the data directory.
    Remote(Client),
}

/// State of the engine.
#[derive(Clone)]
pub(crate) enum EngineState {
    /// Starting, or being searched for.
    Starting,
    /// Failed, with the reason.
    Failed(String),
    /// Running.
    Ready(Backend),
}

/// Handle to the current engine. Cheap to clone.
#[derive(Clone)]
pub(crate) struct EngineHandle(watch::Receiver<EngineState>);

/// Dependencies of the engine.
pub(crate) struct EngineDependencies {
    pub(crate) home: Home,
    pub(crate) notifier: Arc<DesktopNotifier>,
    pub(crate) ui: Arc<dyn UiFiles>,
    pub(crate) on_event: Box<dyn Fn(EventView) + Send + Sync>,
}

/// Retry interval for an engine that is starting or exiting.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

impl EngineHandle {
    /// Creates a handle and the sender of its state.
    pub(crate) fn new() -> (watch::Sender<EngineState>, Self) {
        let (state_tx, states) = watch::channel(EngineState::Starting);
        (state_tx, Self(states))
    }

    /// Current state.
    pub(crate) fn state(&self) -> EngineState {
        self.0.borrow().clone()
    }

    /// Waits for a state change; pending forever after the last state.
    pub(crate) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Calls a method; waits while the engine is starting.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match self.started().await {
            Some(EngineState::Ready(backend)) => backend.call(method, params).await,
            Some(EngineState::Failed(reason)) => Err(RpcError::new(ErrorCode::Internal, reason)),
            Some(EngineState::Starting) | None => {
                Err(RpcError::new(ErrorCode::Internal, "Rouse is closing."))
            }
        }
    }

    /// State after starting; none while the app is closing.
    pub(crate) async fn started(&self) -> Option<EngineState> {
        let mut states = self.0.clone();
        // silent-ok: the sender is dropped only when the app closes, which callers report.
        let state = states.wait_for(|state| !matches!(state, EngineState::Starting)).await.ok()?;
        Some(state.clone())
    }

    /// Calls a method with typed parameters and result.
    pub(crate) async fn ask<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, RpcError> {
        typed(self.call(method, to_value(params)?).await?)
    }
}

impl Backend {
    /// True if the engine runs in this process.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self, Self::Local(..))
    }

    /// Calls a method.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match self {
            Self::Local(gateway, _) => gateway.call(method, params).await,
            Self::Remote(client) => client.call(method, params).await.map_err(rpc_error),
        }
    }

    /// Calls one method with typed parameters and result.
    pub(crate) async fn ask<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, RpcError> {
        typed(self.call(method, to_value(params)?).await?)
    }

    /// Stops an in-process engine, which records its active runs.
    pub(crate) async fn close(&self) {
        if let Self::Local(_, host) = self {
            let host = host.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(host) = host {
                host.stop().await;
            }
        }
    }

    async fn events(&self, after: i64) -> Result<Events, ClientError> {
        Ok(match self {
            Self::Local(gateway, _) => Events::Local(Box::new(gateway.events(after))),
            Self::Remote(client) => {
                Events::Remote(Box::new(client.attach_desktop_app(after).await?))
            }
        })
    }
}

enum Events {
    Local(Box<Subscription>),
    Remote(Box<DesktopAppStream>),
}

impl Events {
    async fn next(&mut self) -> Option<DesktopAppMessage> {
        match self {
            Self::Local(subscription) => subscription.next().await.map(DesktopAppMessage::Event),
            Self::Remote(stream) => stream.next().await,
        }
    }
}

/// Keeps an engine available until the app exits. Returns when none can be started, or when the own
/// engine was closed.
pub(crate) async fn keep_available(
    dependencies: EngineDependencies,
    state_tx: watch::Sender<EngineState>,
) {
    loop {
        match open(&dependencies).await {
            Ok(Some(backend)) => {
                state_tx.send_replace(EngineState::Ready(backend.clone()));
                // State read earlier may be stale.
                (dependencies.on_event)(EventView {
                    seq: 0,
                    at_ms: 0,
                    kind: EventKindView::Reset,
                    data: Value::Null,
                });
                forward_events(&backend, &dependencies).await;
                if backend.is_local() {
                    return;
                }
                tracing::info!("the remote engine has exited");
                state_tx.send_replace(EngineState::Starting);
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!(error = %error_chain(&error), "the engine could not start");
                state_tx.send_replace(EngineState::Failed(error_chain(&error)));
                return;
            }
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "no event reports when another process releases the lock"
        )]
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Starts or finds an engine; none while another process starts or stops.
async fn open(dependencies: &EngineDependencies) -> Result<Option<Backend>, HostError> {
    let options = HostOptions::desktop(
        dependencies.home.clone(),
        Arc::clone(&dependencies.ui),
        Arc::clone(&dependencies.notifier) as _,
    );
    match Host::start(options).await {
        Ok(host) => {
            if let Some(notice) = host.port_notice() {
                tracing::warn!("{notice}");
            }
            Ok(Some(Backend::Local(host.gateway(), Arc::new(Mutex::new(Some(host))))))
        }
        Err(HostError::Home(HomeError::Owned(path))) => {
            let found = find(&dependencies.home).await;
            if found.is_some() {
                tracing::info!(home = %path.display(), "another Rouse owns the data directory, running as its client");
            }
            Ok(found)
        }
        Err(error) => Err(error),
    }
}

async fn find(home: &Home) -> Option<Backend> {
    let client = Client::find(home.root())
        .inspect_err(|error| tracing::debug!(%error, "no engine found yet"))
        .ok()?;
    let answers = client.call("system.status", Value::Null).await;
    answers.inspect_err(|error| tracing::debug!(%error, "the engine does not respond yet")).ok()?;
    Some(Backend::Remote(client))
}

/// Forwards events until the engine exits.
async fn forward_events(backend: &Backend, dependencies: &EngineDependencies) {
    let events = async {
        let status: SystemStatus = backend
            .ask("system.status", &EmptyObject {})
            .await
            .map_err(|error| error.to_string())?;
        backend.events(status.seq).await.map_err(|error| error.to_string())
    };
    match events.await {
        Ok(mut events) => {
            while let Some(message) = events.next().await {
                match message {
                    DesktopAppMessage::Event(event) => (dependencies.on_event)(event),
                    // Spawned, so that a slow desktop does not delay events.
                    DesktopAppMessage::Show(request) => {
                        let notifier = Arc::clone(&dependencies.notifier);
                        tokio::spawn(show(backend.clone(), notifier, request));
                    }
                }
            }
        }
        Err(error) => tracing::warn!(error, "failed to subscribe to the engine's events"),
    }
}

/// Shows a notification for a remote engine and reports the outcome.
async fn show(backend: Backend, notifier: Arc<DesktopNotifier>, request: NotificationRequest) {
    let shown = notifier.show_for(&request).await;
    report_notification(&backend, request, shown).await;
}

/// Reports the outcome of a notification to its engine.
pub(crate) async fn report_notification(
    backend: &Backend,
    request: NotificationRequest,
    shown: Result<(), NotifyError>,
) {
    let (outcome, reason) = match shown {
        Ok(()) => (NotificationOutcome::Shown, None),
        Err(NotifyError::Later(reason)) => (NotificationOutcome::NotNow, Some(reason)),
        Err(NotifyError::Never(reason)) => (NotificationOutcome::Never, Some(reason)),
    };
    let answer = NotificationReport { key: request.key, outcome, reason };
    if let Err(error) = backend.ask::<ChangeResult>("deliveries.answer", &answer).await {
        tracing::warn!(%error, delivery_id = request.delivery_id, "failed to report the outcome of a notification");
    }
}

fn rpc_error(error: ClientError) -> RpcError {
    match error {
        ClientError::Rpc(error) => error,
        other => RpcError::new(ErrorCode::Internal, other.to_string()),
    }
}

fn to_value(params: &impl Serialize) -> Result<Value, RpcError> {
    serde_json::to_value(params).map_err(|error| RpcError::internal(&error))
}

fn typed<R: DeserializeOwned>(result: Value) -> Result<R, RpcError> {
    serde_json::from_value(result).map_err(|error| RpcError::internal(&error))
}

/// Error text with all sources; the last often names the fix.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
