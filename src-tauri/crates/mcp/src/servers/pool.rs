//! The pool of all servers.
//!
//! Owns the order of a use: installed, running, listed, leased. Concurrent uses of a server wait for one start. Never
//! holds the lock of the map across an await. Pitfall: a lease taken after the gate is free; the idle stop could end
//! the server in between.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use rouse_core::extension::{
    Extension, ExtensionName, MissingTool, OpenServer, PinnedTool, ServerState, ServerStatus,
    ServerUnavailable, SignInCallback, SignInEnd, ToolAccess, ToolChange, ToolListing, ToolServers,
    UnavailableKind, tool_name,
};
use rouse_core::input_request::InputReply;
use rouse_core::tool::{BoxFuture, Tool};
use serde_json::{Map, Value};
use tokio::sync::Notify;

use super::calls::ServerCalls;
use super::config::ServerPoolConfig;
use super::server::{FailedStart, PoolLease, PooledServer, RunningServer};
use super::start::{self, start_limit};
use super::unavailable;
use crate::catalogue::RefusedServerTool;
use crate::connection::{CallResult, ConnectionError, ProgressSink};
use crate::sign_in::ServerSignIns;
use crate::tool::server_tool;

/// The time limit of a call without progress, without one in the definition.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// The time between two checks for idle servers.
const IDLE_CHECK_PERIOD: Duration = Duration::from_mins(1);

/// The age after which a run gets a new list; a server may report no change.
const LISTING_AGE: Duration = Duration::from_mins(5);

/// All servers. Clones share the servers.
#[derive(Clone)]
pub struct ServerPool {
    inner: Arc<PoolInner>,
}

struct PoolInner {
    config: ServerPoolConfig,
    sign_ins: ServerSignIns,
    servers: Mutex<BTreeMap<ExtensionName, Arc<PooledServer>>>,
    /// Notified after each start.
    started: Notify,
}

/// The current tools of a server, for the review by a person.
#[derive(Debug)]
pub struct ServerCatalogue {
    /// The name and version that the server reported.
    pub version: Option<String>,
    /// The instructions of the server: untrusted text.
    pub instructions: Option<String>,
    /// The tools, compared with the accepted ones.
    pub listing: ToolListing,
    /// The tools that cannot be offered.
    pub refused: Vec<RefusedServerTool>,
}

/// Who uses a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerUse {
    /// A tool call: the last list is enough.
    Call,
    /// A run that opens the server: lists again after a change, and while an accepted tool is missing.
    Run,
    /// A person: no backoff, a new list, also when the extension is off.
    Inspection,
}

/// A running server with a lease.
struct LeasedServer {
    running: Arc<RunningServer>,
    entry: Extension,
    lease: PoolLease,
}

impl ServerPool {
    /// A pool without servers.
    #[must_use]
    pub fn new(config: ServerPoolConfig) -> Self {
        let (http, book) = (Arc::clone(&config.http), Arc::clone(&config.book));
        let (store, clock) = (Arc::clone(&config.sign_ins), Arc::clone(&config.clock));
        Self {
            inner: Arc::new(PoolInner {
                config,
                sign_ins: ServerSignIns::new(http, book, store, clock),
                servers: Mutex::default(),
                started: Notify::new(),
            }),
        }
    }

    /// The state of a server.
    #[must_use]
    pub fn status(&self, name: &ExtensionName) -> ServerStatus {
        let server =
            self.servers().get(name).cloned().unwrap_or_else(|| PooledServer::new().into());
        let mut status = server.status();
        let is_healthy = matches!(status.state, ServerState::Off | ServerState::Ready);
        let entry = self.inner.config.book.get(name);
        if is_healthy && entry.is_some_and(|entry| entry.is_enabled && is_quarantined(&entry)) {
            status.state = ServerState::Quarantined;
            status.reason = Some(unavailable::quarantined(name).to_string());
        }
        if is_healthy && let Some(need) = self.inner.sign_ins.need(name) {
            status.state = ServerState::NeedsSignIn;
            status.reason = Some(need);
        }
        status
    }

    /// The sign-ins at servers over HTTP.
    #[must_use]
    pub fn sign_ins(&self) -> &ServerSignIns {
        &self.inner.sign_ins
    }

    /// Ends the sign-in of this callback, and lets the next use start the server with the new tokens. Goes on if the
    /// caller goes away.
    pub async fn finish_sign_in(&self, callback: SignInCallback) -> SignInEnd {
        let this = self.clone();
        let finishing = tokio::spawn(async move {
            match this.inner.sign_ins.finish(callback).await {
                Ok(server) => {
                    this.stop(&server).await;
                    SignInEnd::SignedIn
                }
                Err(end) => end,
            }
        });
        finishing.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a sign-in ended early");
            SignInEnd::Failed
        })
    }

    /// Starts or reaches the server and lists all its tools, accepted or not. Ignores the backoff, and works for an
    /// extension that is off.
    ///
    /// # Errors
    /// The server is not installed or did not start: cause and remedy as sentences.
    pub async fn inspect(
        &self,
        name: &ExtensionName,
    ) -> Result<ServerCatalogue, ServerUnavailable> {
        let leased = self.lease(name, ServerUse::Inspection).await?;
        let connection = &leased.running.connection;
        Ok(ServerCatalogue {
            version: connection.server_version(),
            instructions: connection.instructions(),
            listing: leased.running.listing(&leased.entry),
            refused: leased.running.listed().refused,
        })
    }

    /// Ends the server if it runs or starts, and forgets failed starts. The next use starts it anew.
    pub async fn stop(&self, name: &ExtensionName) {
        let Some(server) = self.servers().get(name).cloned() else { return };
        stop_server(&server).await;
    }

    /// Ends all servers.
    pub async fn stop_all(&self) {
        let servers: Vec<Arc<PooledServer>> = self.servers().values().cloned().collect();
        join_all(servers.iter().map(|server| stop_server(server))).await;
    }

    /// Ends servers that had no lease for ten minutes, as long as the returned future runs. Waits without a timer while
    /// no server runs.
    pub async fn end_idle_servers(self) {
        loop {
            self.inner.started.notified().await;
            while self.servers().values().any(|server| server.is_running()) {
                pause(IDLE_CHECK_PERIOD).await;
                self.stop_idle().await;
            }
        }
    }

    /// Ends servers that had no lease for ten minutes.
    pub(super) async fn stop_idle(&self) {
        let servers: Vec<Arc<PooledServer>> = self.servers().values().cloned().collect();
        let now = self.inner.config.clock.monotonic();
        for server in servers {
            // A held gate means that somebody uses the server now.
            let Ok(_gate) = server.gate.try_lock() else { continue };
            if server.is_idle(now) {
                server.close().await;
            }
        }
    }

    /// The running server of an extension with a lease; starts and lists it when needed.
    async fn lease(
        &self,
        name: &ExtensionName,
        purpose: ServerUse,
    ) -> Result<LeasedServer, ServerUnavailable> {
        let entry = self.installed(name, purpose)?;
        if purpose == ServerUse::Run {
            self.check_sign_in(name, &entry).await?;
        }
        let server = Arc::clone(
            self.servers().entry(name.clone()).or_insert_with(|| Arc::new(PooledServer::new())),
        );
        let _gate = server.gate.lock().await;
        let running = match server.usable(&entry.server) {
            Some(running) => {
                if self.must_list(&running, &entry, purpose) {
                    self.list_again(name, &entry, &server, &running).await?;
                }
                running
            }
            None => {
                server.close().await;
                self.start(name, &entry, &server, purpose).await?
            }
        };
        let lease = PoolLease::new(Arc::clone(&server), Arc::clone(&self.inner.config.clock));
        Ok(LeasedServer { running, entry, lease })
    }

    /// Refreshes the token of a server at the start of a run, so that an expired sign-in fails the run at once.
    async fn check_sign_in(
        &self,
        name: &ExtensionName,
        entry: &Extension,
    ) -> Result<(), ServerUnavailable> {
        let Some(tokens) = start::tokens(&self.inner.sign_ins, name, &entry.server) else {
            return Ok(());
        };
        let limit = start_limit(&entry.server);
        match tokio::time::timeout(limit, tokens.token()).await {
            Ok(token) => {
                let failed = |error| unavailable::no_token(name, &entry.server, &error);
                token.map(drop).map_err(failed)
            }
            Err(_) => Err(unavailable::refresh_timed_out(name, &entry.server)),
        }
    }

    fn installed(
        &self,
        name: &ExtensionName,
        purpose: ServerUse,
    ) -> Result<Extension, ServerUnavailable> {
        let entry = self.inner.config.book.get(name);
        let entry = entry.ok_or_else(|| ServerUnavailable::not_installed(name))?;
        if entry.is_enabled || purpose == ServerUse::Inspection {
            Ok(entry)
        } else {
            Err(unavailable::switched_off(name))
        }
    }

    fn must_list(&self, running: &RunningServer, entry: &Extension, purpose: ServerUse) -> bool {
        let age = || {
            let now = self.inner.config.clock.monotonic();
            now.saturating_sub(running.listed_at())
        };
        match purpose {
            ServerUse::Call => false,
            ServerUse::Run => {
                running.connection.take_list_changed()
                    || age() >= LISTING_AGE
                    || running.listing(entry).has_missing_tools()
            }
            ServerUse::Inspection => true,
        }
    }

    /// Starts a server. The caller holds the gate.
    async fn start(
        &self,
        name: &ExtensionName,
        entry: &Extension,
        server: &PooledServer,
        purpose: ServerUse,
    ) -> Result<Arc<RunningServer>, ServerUnavailable> {
        let config = &self.inner.config;
        let route = start::route(config.book.as_ref(), &self.inner.sign_ins, name, &entry.server)
            .inspect_err(|missing| server.set_untried(missing.clone(), &entry.server))?;
        let recent = server.recent_failure(&entry.server, config.clock.monotonic());
        if let Some(failure) = recent
            && purpose != ServerUse::Inspection
        {
            return Err(failure);
        }
        let stopped = server.stop_request.notified();
        let _guard = server.begin_start();
        let started = tokio::select! {
            started = start::start(config, name, entry, route) => started,
            () = stopped => return Err(unavailable::stopped(name, &entry.server)),
        };
        match started {
            Ok(running) => {
                let running = Arc::new(running);
                server.set_running(Arc::clone(&running), config.clock.monotonic());
                self.inner.started.notify_one();
                Ok(running)
            }
            Err(failed) => {
                let unavailable = failed.unavailable.clone();
                server.set_failed(failed, &entry.server, config.clock.monotonic());
                Err(unavailable)
            }
        }
    }

    /// Lists the tools of a running server again; a failure ends the server. The caller holds the gate.
    async fn list_again(
        &self,
        name: &ExtensionName,
        entry: &Extension,
        server: &PooledServer,
        running: &RunningServer,
    ) -> Result<(), ServerUnavailable> {
        let config = &self.inner.config;
        let limit = start_limit(&entry.server);
        let list = start::list(config, name, entry, &running.connection);
        let listed = tokio::time::timeout(limit, list).await;
        match listed.unwrap_or(Err(ConnectionError::TimedOut)) {
            Ok(listed) => {
                *running.listed.lock().unwrap_or_else(PoisonError::into_inner) = listed;
                Ok(())
            }
            Err(error) => {
                let stderr_tail = running.connection.stderr_tail();
                let unavailable =
                    unavailable::list_failed(name, &entry.server, &error, stderr_tail.as_deref());
                let failed = FailedStart { unavailable: unavailable.clone(), stderr_tail };
                server.close().await;
                server.set_failed(failed, &entry.server, config.clock.monotonic());
                Err(unavailable)
            }
        }
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<ExtensionName, Arc<PooledServer>>> {
        self.inner.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tool of a pin; none for a tool that is not offered.
    fn tool(
        &self,
        name: &ExtensionName,
        entry: &Extension,
        pin: &PinnedTool,
    ) -> Option<Arc<dyn Tool>> {
        server_tool(name, entry, pin, Arc::new(self.clone()))
    }
}

impl ToolServers for ServerPool {
    fn open<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<OpenServer, ServerUnavailable>> {
        Box::pin(async move {
            let leased = self.lease(server, ServerUse::Run).await?;
            let listing = leased.running.listing(&leased.entry);
            let is_offered = |pin: &PinnedTool| pin.access != ToolAccess::Off;
            if !listing.held.is_empty() && !listing.accepted.iter().any(is_offered) {
                return Err(unavailable::quarantined(server));
            }
            let missing = MissingTool::of_listing(server, &listing);
            Ok(OpenServer { missing, lease: Box::new(leased.lease) })
        })
    }

    fn known_tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools = Vec::new();
        for (name, entry) in self.inner.config.book.all() {
            if entry.is_enabled && !entry.server.is_wasm() {
                let offered = entry.tools.iter().filter(|pin| is_unchanged(&entry, pin));
                tools.extend(offered.filter_map(|pin| self.tool(&name, &entry, pin)));
            }
        }
        tools
    }
}

impl ServerCalls for ServerPool {
    fn call<'a>(
        &'a self,
        extension: &'a ExtensionName,
        raw_name: &'a str,
        arguments: Map<String, Value>,
        input: Option<&'a InputReply>,
        progress: ProgressSink,
    ) -> BoxFuture<'a, Result<CallResult, ConnectionError>> {
        Box::pin(async move {
            let leased = self.lease(extension, ServerUse::Call).await.map_err(unreached)?;
            // The server may have started anew with another tool of this name.
            let listing = leased.running.listing(&leased.entry);
            let is_accepted = listing
                .accepted
                .iter()
                .any(|pin| pin.definition.name == raw_name && pin.access != ToolAccess::Off);
            if !is_accepted {
                let missing = MissingTool::of_listing(extension, &listing);
                let missing =
                    MissingTool::find(extension, &tool_name(extension, raw_name), missing);
                return Err(ConnectionError::Unreached(missing.to_string()));
            }
            let seconds = leased.entry.server.call_timeout_seconds;
            let limit = seconds.map_or(CALL_LIMIT, |seconds| Duration::from_secs(seconds.into()));
            let connection = &leased.running.connection;
            connection.call_tool(raw_name, arguments, input, limit, progress).await
        })
    }
}

/// A call whose server is not available.
fn unreached(unavailable: ServerUnavailable) -> ConnectionError {
    match unavailable.kind {
        UnavailableKind::NeedsSignIn => ConnectionError::NeedsSignIn(unavailable.reason),
        _ => ConnectionError::Unreached(unavailable.to_string()),
    }
}

/// Whether the last listing had the tool as it was accepted.
fn is_unchanged(entry: &Extension, pin: &PinnedTool) -> bool {
    let name = &pin.definition.name;
    let is_changed = entry
        .held
        .iter()
        .any(|held| held.change == ToolChange::Changed && held.offered.name == *name);
    !is_changed && !entry.gone.contains(name)
}

/// Whether tools wait for a person and no accepted tool is left, as of the last listing.
fn is_quarantined(entry: &Extension) -> bool {
    let is_offered = |pin: &PinnedTool| pin.access != ToolAccess::Off && is_unchanged(entry, pin);
    !entry.held.is_empty() && !entry.tools.iter().any(is_offered)
}

#[expect(clippy::disallowed_methods, reason = "runs only while a server runs")]
async fn pause(period: Duration) {
    tokio::time::sleep(period).await;
}

async fn stop_server(server: &PooledServer) {
    server.stop_request.notify_waiters();
    let _gate = server.gate.lock().await;
    server.close().await;
    server.reset();
}
