//! The engine, as the shell sees it: in this process, or in another one that owns the data directory.
//!
//! Owns finding and keeping the engine. Normally the app is the owner and starts the host in process. When `rouse serve`
//! (or another app) was first, the app becomes its client, and when that engine ends the app takes its place. Everyone
//! else in the shell has the door: a call waits while the engine is still starting, and fails in words when there is none.
//! A client is also the screen of its engine: it shows what that one has to tell, and says what became of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rouse_gateway::wire::{
    Done, Empty, EventKind, EventView, ShowAnswer, ShowOutcome, ShowRequest, SystemStatus,
};
use rouse_gateway::{
    Client, ClientError, ErrorCode, ForScreen, Gateway, RpcError, ScreenStream, Subscription,
    UiFiles,
};
use rouse_host::{Home, HomeError, Host, HostError, HostOptions, NotifyError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;

use crate::notifier::DesktopNotifier;

/// An engine that can be called. Cheap to clone.
#[derive(Clone)]
pub(crate) enum Backend {
    /// In this process; it ends with the app.
    Own(Gateway, Arc<Mutex<Option<Host>>>),
    /// In the process that owns the data directory.
    Guest(Client),
}

/// Whether there is an engine.
#[derive(Clone)]
pub(crate) enum Engine {
    /// It is being started or looked for.
    Starting,
    /// There is none, for that reason.
    Failed(String),
    /// There is.
    Ready(Backend),
}

/// The way to the engine. Cheap to clone.
#[derive(Clone)]
pub(crate) struct EngineDoor(watch::Receiver<Engine>);

/// What the engine works with, and whom it tells.
pub(crate) struct Surroundings {
    pub(crate) home: Home,
    pub(crate) notifier: Arc<DesktopNotifier>,
    pub(crate) ui: Arc<dyn UiFiles>,
    pub(crate) on_event: Box<dyn Fn(EventView) + Send + Sync>,
}

/// The pause before looking again for an engine that has just gone or is just coming.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl EngineDoor {
    /// A door, and the handle by which the engine's coming and going is told.
    pub(crate) fn new() -> (watch::Sender<Engine>, Self) {
        let (tell, door) = watch::channel(Engine::Starting);
        (tell, Self(door))
    }

    /// Whether there is an engine, now.
    pub(crate) fn engine(&self) -> Engine {
        self.0.borrow().clone()
    }

    /// Returns when the engine comes or goes; never once it is gone for good.
    pub(crate) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Calls one method; waits while the engine is starting.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match self.there().await {
            Some(Engine::Ready(backend)) => backend.call(method, params).await,
            Some(Engine::Failed(reason)) => Err(RpcError::new(ErrorCode::Internal, reason)),
            Some(Engine::Starting) | None => {
                Err(RpcError::new(ErrorCode::Internal, "Rouse is closing."))
            }
        }
    }

    /// The engine once it is no longer starting; none when the app is closing.
    pub(crate) async fn there(&self) -> Option<Engine> {
        let mut door = self.0.clone();
        // silent-ok: the other end is dropped only when the app closes, and the caller is told so.
        let engine = door.wait_for(|engine| !matches!(engine, Engine::Starting)).await.ok()?;
        Some(engine.clone())
    }

    /// Calls one method with typed parameters and result.
    pub(crate) async fn ask<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, RpcError> {
        typed(self.call(method, to_value(params)?).await?)
    }
}

impl Backend {
    /// Whether the engine ends with this process.
    pub(crate) const fn is_ours(&self) -> bool {
        matches!(self, Self::Own(..))
    }

    /// Calls one method.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match self {
            Self::Own(gateway, _) => gateway.call(method, params).await,
            Self::Guest(client) => client.call(method, params).await.map_err(|error| match error {
                ClientError::Rpc(error) => error,
                other => RpcError::new(ErrorCode::Internal, other.to_string()),
            }),
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

    /// Ends the engine if it is ours: runs at work are recorded before it returns.
    pub(crate) async fn close(&self) {
        if let Self::Own(_, host) = self {
            let host = host.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(host) = host {
                host.stop().await;
            }
        }
    }

    async fn events(&self, after: i64) -> Result<Events, ClientError> {
        Ok(match self {
            Self::Own(gateway, _) => Events::Own(Box::new(gateway.events(after))),
            Self::Guest(client) => Events::Guest(Box::new(client.attach_screen(after).await?)),
        })
    }
}

enum Events {
    Own(Box<Subscription>),
    Guest(Box<ScreenStream>),
}

impl Events {
    async fn next(&mut self) -> Option<ForScreen> {
        match self {
            Self::Own(subscription) => subscription.next().await.map(ForScreen::Event),
            Self::Guest(stream) => stream.next().await,
        }
    }
}

/// Keeps an engine at the door until the app ends. Returns when there cannot be one, or when our own was closed.
pub(crate) async fn keep(surroundings: Surroundings, tell: watch::Sender<Engine>) {
    loop {
        match open(&surroundings).await {
            Ok(Some(backend)) => {
                tell.send_replace(Engine::Ready(backend.clone()));
                // Whatever was read before may have changed while nobody listened.
                (surroundings.on_event)(EventView {
                    seq: 0,
                    at_ms: 0,
                    kind: EventKind::Reset,
                    data: Value::Null,
                });
                hand_on_events(&backend, &surroundings).await;
                if backend.is_ours() {
                    return;
                }
                tracing::info!("the engine this app was a client of has ended");
                tell.send_replace(Engine::Starting);
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!(error = %chain(&error), "the engine could not start");
                tell.send_replace(Engine::Failed(chain(&error)));
                return;
            }
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "no event tells when another process lets go of its lock"
        )]
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Starts the engine, or finds the one that runs; none when another process is just starting or ending one.
async fn open(surroundings: &Surroundings) -> Result<Option<Backend>, HostError> {
    let options = HostOptions::desktop(
        surroundings.home.clone(),
        Arc::clone(&surroundings.ui),
        Arc::clone(&surroundings.notifier) as _,
    );
    match Host::start(options).await {
        Ok(host) => {
            if let Some(notice) = host.port_notice() {
                tracing::warn!("{notice}");
            }
            Ok(Some(Backend::Own(host.gateway(), Arc::new(Mutex::new(Some(host))))))
        }
        Err(HostError::Home(HomeError::Owned(path))) => {
            let found = find(&surroundings.home).await;
            if found.is_some() {
                tracing::info!(home = %path.display(), "another Rouse owns the data; this app is its client");
            }
            Ok(found)
        }
        Err(error) => Err(error),
    }
}

async fn find(home: &Home) -> Option<Backend> {
    let client = Client::find(home.root())
        .inspect_err(|error| tracing::debug!(%error, "no engine to be found yet"))
        .ok()?;
    let answers = client.call("system.status", Value::Null).await;
    answers.inspect_err(|error| tracing::debug!(%error, "the engine does not answer yet")).ok()?;
    Some(Backend::Guest(client))
}

/// Hands events on until the engine ends.
async fn hand_on_events(backend: &Backend, surroundings: &Surroundings) {
    let events = async {
        let status: SystemStatus =
            backend.ask("system.status", &Empty {}).await.map_err(|error| error.to_string())?;
        backend.events(status.seq).await.map_err(|error| error.to_string())
    };
    match events.await {
        Ok(mut events) => {
            while let Some(told) = events.next().await {
                match told {
                    ForScreen::Event(event) => (surroundings.on_event)(event),
                    // On its own, so that a desktop that takes its time does not hold events up.
                    ForScreen::Show(request) => {
                        let notifier = Arc::clone(&surroundings.notifier);
                        tokio::spawn(show(backend.clone(), notifier, request));
                    }
                }
            }
        }
        Err(error) => tracing::warn!(error, "the engine's events cannot be followed"),
    }
}

/// Shows what the engine asked this desktop to show, and tells it what became of that.
async fn show(backend: Backend, notifier: Arc<DesktopNotifier>, request: ShowRequest) {
    let (outcome, reason) = match notifier.show_for(&request).await {
        Ok(()) => (ShowOutcome::Shown, None),
        Err(NotifyError::Later(reason)) => (ShowOutcome::NotNow, Some(reason)),
        Err(NotifyError::Never(reason)) => (ShowOutcome::Never, Some(reason)),
    };
    let answer = ShowAnswer { key: request.key, outcome, reason };
    if let Err(error) = backend.ask::<Done>("deliveries.answer", &answer).await {
        tracing::warn!(%error, delivery_id = request.delivery_id, "the engine does not know what became of a notification");
    }
}

fn to_value(params: &impl Serialize) -> Result<Value, RpcError> {
    serde_json::to_value(params).map_err(|error| RpcError::internal(&error))
}

fn typed<R: DeserializeOwned>(result: Value) -> Result<R, RpcError> {
    serde_json::from_value(result).map_err(|error| RpcError::internal(&error))
}

/// An error with its sources, for the person: the last one often says what to do.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
