//! A gateway with a real store and scheduler, whose runs end at once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rouse_agent::{Gate, SkillInstaller, SkillLibrary, ToolRegistry};
use rouse_core::channel::{ChannelName, SharedDirectory};
use rouse_core::extension::NoToolBuilds;
use rouse_core::job::Job;
use rouse_core::settings::BudgetSection;
use rouse_core::skills::SkillArchives;
use rouse_core::tool::{BoxFuture, Tool};
use rouse_core::{Outcome, Run, UnixMs};
use rouse_gateway::wire::{
    BackupView, BackupsView, ConfigView, EngineMode, FailingModel, ModelTestView, ModelsListParams,
    ModelsListResult, ModelsTestParams, NotificationStatus, PairingState, PairingView,
    ProvidersListResult, PullView, ReceivingView, RegistryEntryParams, RegistrySearchParams,
    RegistrySearchResult, RegistryServerView, SecretRemoved, SecretSetParams, SecretView,
    SecretsListResult, SkillDownload, SkillDownloadParams, SkillSearchParams, SkillSearchResult,
};
use rouse_gateway::{
    Auth, Backups, BoundPort, ChannelAccess, Client, Context, DesktopApps, Devices, Endpoint,
    EngineInfo, ErrorCode, EventBus, Gateway, GatewayServer, LiveProgress, LiveText, McpTokens,
    Models, Registries, RpcError, Secrets, SettingsAccess, SignatureError, SignedMessage, UiFile,
    UiFiles,
};
use rouse_scheduler::{
    HeartbeatConfig, MainSession, Runner, Scheduler, SchedulerConfig, SchedulerHandle,
};
use rouse_store::Store;
use rouse_testkit::ManualClock;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::extensions::MemoryExtensions;
use crate::mcp_routines::SignedRoutines;

/// Saturday, 21 November 2026, 12:00 UTC.
pub(crate) const NOON: UnixMs = UnixMs(1_795_262_400_000);

/// The host name of a proxy in front.
pub(crate) const NAME: &str = "box.example.org";

/// The message of a panic in a handler.
const PANIC_MESSAGE: &str = "a panic of this test";

pub(crate) struct GatewayFixture {
    /// Sets the error of the newest notification.
    pub(crate) notification_error: watch::Sender<Option<String>>,
    pub(crate) gateway: Gateway,
    pub(crate) extensions: Arc<MemoryExtensions>,
    pub(crate) clock: ManualClock,
    pub(crate) store: Store,
    pub(crate) client: Client,
    routines: Arc<SignedRoutines>,
    server: GatewayServer,
    scheduler: SchedulerHandle,
    folder: TempDir,
}

impl GatewayFixture {
    pub(crate) async fn new() -> Self {
        Self::with_port(BoundPort::bind(0, false).await.expect("a port")).await
    }

    pub(crate) async fn with_port(port: BoundPort) -> Self {
        Self::with_tools(port, Vec::new()).await
    }

    pub(crate) async fn with_tools(port: BoundPort, tools: Vec<Arc<dyn Tool>>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::new(NOON);
        let events = EventBus::default();
        let bus = events.clone();
        let listener = Arc::new(move |committed: &[_]| bus.publish(committed));
        let store = Store::open(&folder.path().join("rouse.db"), listener).await.expect("a store");
        let scheduler = scheduler(&store, &clock).await;
        let tools = ToolRegistry::new(tools).expect("a registry");
        let (error_sender, notification_error) = watch::channel(None);
        let gate = Gate::new(tools, store.clone(), Arc::new(clock.clone()));
        let extensions = Arc::new(MemoryExtensions::default());
        let routines = Arc::new(SignedRoutines::default());
        let skills = SkillLibrary::new(
            folder.path().join("skills"),
            folder.path().join("workspace"),
            store.clone(),
        );
        let gateway = Gateway::new(Context {
            store: store.clone(),
            scheduler: scheduler.clone(),
            clock: Arc::new(clock.clone()),
            settings: Arc::new(PanickingSettings),
            models: Arc::new(LateModel::default()),
            secrets: Arc::new(NoSecrets),
            extensions: Arc::clone(&extensions) as _,
            tool_builds: Arc::new(NoToolBuilds),
            registries: Arc::new(NoRegistries),
            routines: Arc::clone(&routines) as _,
            mcp_tokens: Arc::new(McpTokens::open(&McpTokens::path(folder.path()))),
            devices: Arc::new(Devices::open(&Devices::path(folder.path()))),
            backups: Arc::new(NoBackups),
            skills: skills.clone(),
            skill_installer: SkillInstaller::new(skills, Arc::new(NoSkillArchives)),
            gate: Arc::new(gate),
            live_text: LiveText::new(events.clone(), Arc::new(clock.clone())),
            live_progress: LiveProgress::new(events.clone()),
            desktop_apps: DesktopApps::new(events.clone()),
            events,
            notification_error,
            channels: SharedDirectory::default(),
            channel_access: Arc::new(NoChannels),
            outbox: Arc::new(Notify::new()),
            activity: Arc::new(Notify::new()),
            engine: EngineInfo {
                mode: EngineMode::Serve,
                started_at: NOON,
                port: port.number(),
                names: vec![NAME.to_owned()],
                home: folder.path().to_owned(),
                workspace: folder.path().join("workspace"),
                notifications: NotificationStatus { available: true, reason: None, failing: false },
                log_problem: || None,
                start_problem: None,
                max_connections: 128,
            },
        });
        routines.connect(Some(gateway.clone()));
        let (server, client) = start_server(&gateway, port, &clock, &folder);
        Self {
            notification_error: error_sender,
            gateway,
            extensions,
            clock,
            store,
            client,
            routines,
            server,
            scheduler,
            folder,
        }
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.try_call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    pub(crate) async fn try_call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.gateway.call(method, params).await
    }

    /// Adds a job with a manual trigger.
    pub(crate) async fn add(&self, name: &str) -> Value {
        self.call("cron.add", draft(name)).await["job"].clone()
    }

    /// Posts JSON; returns status and raw response.
    pub(crate) async fn post(&self, path: &str, headers: &str, body: &Value) -> (u16, String) {
        let headers = format!("Content-Type: application/json\r\n{headers}");
        self.post_raw(path, &headers, body.to_string().as_bytes()).await
    }

    /// Posts bytes; returns status and raw response.
    pub(crate) async fn post_raw(&self, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
        self.send_raw("POST", path, headers, body).await
    }

    /// Sends bytes with this method; returns status and raw response.
    pub(crate) async fn send_raw(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> (u16, String) {
        let host = self.server.address().to_string();
        self.send_to(&host, (method, path), headers, body).await
    }

    /// Sends bytes to this host name; returns status and raw response.
    pub(crate) async fn send_to(
        &self,
        host: &str,
        (method, path): (&str, &str),
        headers: &str,
        body: &[u8],
    ) -> (u16, String) {
        let address = self.server.address();
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        // A server that refuses early closes during the write; only its response matters.
        drop(stream.write_all(&[head.as_bytes(), body].concat()).await);
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.expect("text");
        let status = reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, reply)
    }

    /// Sends half a POST; returns everything that the server sends until it closes.
    pub(crate) async fn post_incomplete(&self, path: &str, headers: &str) -> String {
        let address = self.server.address();
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let half = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}Content-Length: 12\r\n\r\n{{\"a\": "
        );
        stream.write_all(half.as_bytes()).await.expect("a write");
        let mut reply = String::new();
        let read = stream.read_to_string(&mut reply);
        let read = tokio::time::timeout(std::time::Duration::from_secs(10), read).await;
        read.expect("a timeout of the server").expect("text");
        reply
    }

    pub(crate) const fn port(&self) -> u16 {
        self.server.address().port()
    }

    pub(crate) fn token(&self) -> String {
        let path = Client::token_path(self.folder.path());
        std::fs::read_to_string(path).expect("a token").trim().to_owned()
    }

    pub(crate) async fn stop(self) {
        self.scheduler.shutdown().await;
        self.server.stop().await;
        self.routines.connect(None);
        self.store.close().await;
    }
}

pub(crate) fn draft(name: &str) -> Value {
    json!({
        "name": name,
        "schedule": { "kind": "manual" },
        "payload": { "kind": "systemEvent", "text": "Tea." }
    })
}

async fn scheduler(store: &Store, clock: &ManualClock) -> SchedulerHandle {
    let scheduler = Scheduler {
        store: store.clone(),
        clock: Arc::new(clock.clone()),
        timer: Box::new(clock.timer()),
        runner: Arc::new(InstantRunner),
        hooks: Arc::new(()),
        main_session: Arc::new(InstantRunner),
        model: watch::channel(false).1,
        model_is_awaited: watch::Sender::new(false),
        channels: SharedDirectory::default(),
        outbox: Arc::new(Notify::new()),
        config: SchedulerConfig {
            max_concurrent_runs: 2,
            firing: true,
            off_reason: String::new(),
            model_patience: std::time::Duration::ZERO,
            heartbeat: HeartbeatConfig { enabled: false, every_ms: 1_800_000, active_hours: None },
        },
    };
    scheduler.start().await.expect("a scheduler")
}

/// Starts the server; returns it with a client that read the endpoint file.
fn start_server(
    gateway: &Gateway,
    port: BoundPort,
    clock: &ManualClock,
    folder: &TempDir,
) -> (GatewayServer, Client) {
    let home = folder.path();
    let auth = Auth::open(&Client::token_path(home)).expect("a token");
    let (clock, ui) = (Arc::new(clock.clone()), Arc::new(MissingUi));
    let server = GatewayServer::start(port, gateway.clone(), Arc::new(auth), clock, ui);
    let endpoint = Endpoint { address: server.address(), pid: 0, version: "0.0.0".to_owned() };
    let endpoint = serde_json::to_string(&endpoint).expect("JSON");
    std::fs::write(Client::endpoint_path(home), endpoint).expect("a file");
    (server, Client::find(home).expect("an endpoint"))
}

/// Runs that end at once.
struct InstantRunner;

impl Runner for InstantRunner {
    fn run(&self, _: Run, _: Option<Job>, _: CancellationToken) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Outcome::succeeded("Done.") })
    }
}

impl MainSession for InstantRunner {
    fn has_work(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

/// Settings that panic.
struct PanickingSettings;

impl SettingsAccess for PanickingSettings {
    fn view(self: Arc<Self>) -> BoxFuture<'static, ConfigView> {
        panic!("{PANIC_MESSAGE}")
    }

    fn budget(&self) -> BudgetSection {
        panic!("{PANIC_MESSAGE}")
    }

    fn patch(
        self: Arc<Self>,
        _: Value,
        _: Option<String>,
    ) -> BoxFuture<'static, Result<ConfigView, RpcError>> {
        panic!("{PANIC_MESSAGE}")
    }
}

/// A model that is missing until a detection.
#[derive(Default)]
struct LateModel(AtomicBool);

impl Models for LateModel {
    fn list(&self, refresh: bool) -> BoxFuture<'_, ProvidersListResult> {
        self.0.fetch_or(refresh, Ordering::SeqCst);
        Box::pin(async { ProvidersListResult { active: None, providers: Vec::new() } })
    }

    fn active_label(&self) -> Option<String> {
        self.0.load(Ordering::SeqCst).then(|| "late".to_owned())
    }

    fn is_untested(&self) -> bool {
        false
    }

    fn missing_provider(&self) -> Option<String> {
        None
    }

    fn model_warning(&self, _: Option<&str>) -> Option<String> {
        None
    }

    fn context_tokens(&self, _: Option<&str>) -> Option<u32> {
        None
    }

    fn failing(&self) -> Vec<FailingModel> {
        Vec::new()
    }

    fn catalog(&self, _: ModelsListParams) -> BoxFuture<'_, Result<ModelsListResult, RpcError>> {
        Box::pin(async { Err(no_model()) })
    }

    fn test(&self, _: ModelsTestParams) -> BoxFuture<'_, Result<ModelTestView, RpcError>> {
        Box::pin(async { Err(no_model()) })
    }

    fn ollama_needs_model(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }

    fn pull(self: Arc<Self>, _: String) -> Result<PullView, RpcError> {
        Err(no_model())
    }

    fn pull_view(&self) -> Option<PullView> {
        None
    }

    fn cancel_pull(&self) -> bool {
        false
    }
}

fn no_model() -> RpcError {
    RpcError::new(ErrorCode::NotFound, "There is no model.")
}

struct NoSkillArchives;

impl SkillArchives for NoSkillArchives {
    fn read(&self, _: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
        Err("The file is no archive.".to_owned())
    }
}

/// Settings without a registry.
struct NoRegistries;

impl Registries for NoRegistries {
    fn search_servers(
        &self,
        _: RegistrySearchParams,
    ) -> BoxFuture<'_, Result<RegistrySearchResult, RpcError>> {
        Box::pin(async { Err(no_registry()) })
    }

    fn server_entry(
        &self,
        _: RegistryEntryParams,
    ) -> BoxFuture<'_, Result<RegistryServerView, RpcError>> {
        Box::pin(async { Err(no_registry()) })
    }

    fn search_skills(
        &self,
        _: SkillSearchParams,
    ) -> BoxFuture<'_, Result<SkillSearchResult, RpcError>> {
        Box::pin(async { Err(no_registry()) })
    }

    fn download_skill(
        &self,
        _: SkillDownloadParams,
    ) -> BoxFuture<'_, Result<SkillDownload, RpcError>> {
        Box::pin(async { Err(no_registry()) })
    }
}

fn no_registry() -> RpcError {
    RpcError::new(ErrorCode::Conflict, "There is no registry.")
}

struct NoChannels;

impl ChannelAccess for NoChannels {
    fn problem<'a>(&'a self, _: &'a ChannelName) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    fn check<'a>(&'a self, _: &'a ChannelName) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    fn receiving(&self, _: &ChannelName) -> Option<ReceivingView> {
        None
    }

    fn pair<'a>(&'a self, _: &'a ChannelName) -> BoxFuture<'a, Result<PairingView, RpcError>> {
        Box::pin(async { Err(RpcError::new(ErrorCode::Conflict, "There is no channel.")) })
    }

    fn pairing<'a>(
        &'a self,
        _: &'a ChannelName,
        _: Option<PairingState>,
    ) -> BoxFuture<'a, Option<PairingView>> {
        Box::pin(async { None })
    }

    fn confirm_pairing<'a>(
        &'a self,
        _: &'a ChannelName,
        _: bool,
    ) -> BoxFuture<'a, Result<PairingView, RpcError>> {
        Box::pin(async { Err(RpcError::new(ErrorCode::Conflict, "There is no channel.")) })
    }

    fn unpair<'a>(
        &'a self,
        _: &'a ChannelName,
        _: &'a str,
    ) -> BoxFuture<'a, Result<bool, RpcError>> {
        Box::pin(async { Ok(false) })
    }
}

struct NoBackups;

impl Backups for NoBackups {
    fn list(&self) -> BoxFuture<'_, Result<BackupsView, RpcError>> {
        Box::pin(async { Ok(BackupsView { folder: "backups".to_owned(), backups: Vec::new() }) })
    }

    fn create(&self) -> BoxFuture<'_, Result<BackupView, RpcError>> {
        Box::pin(async { Err(RpcError::new(ErrorCode::Conflict, "There is no database.")) })
    }
}

struct NoSecrets;

impl Secrets for NoSecrets {
    fn list(&self) -> BoxFuture<'_, Result<SecretsListResult, RpcError>> {
        Box::pin(async { Ok(SecretsListResult { secrets: Vec::new(), warning: None }) })
    }

    fn set(&self, _: SecretSetParams) -> BoxFuture<'_, Result<SecretView, RpcError>> {
        Box::pin(async {
            Err(RpcError::new(ErrorCode::Conflict, "There is no storage for secrets."))
        })
    }

    fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<SecretRemoved, RpcError>> {
        Box::pin(async { Ok(SecretRemoved { changed: false, manual_cleanup: None }) })
    }

    fn set_signing_key<'a>(
        &'a self,
        _: &'a str,
        _: String,
    ) -> BoxFuture<'a, Result<SecretView, RpcError>> {
        Box::pin(async {
            Err(RpcError::new(ErrorCode::Conflict, "There is no storage for secrets."))
        })
    }

    fn check_signature<'a>(
        &'a self,
        _: &'a str,
        _: SignedMessage,
    ) -> BoxFuture<'a, Result<(), SignatureError>> {
        Box::pin(async { Err(SignatureError::Mismatch) })
    }
}

struct MissingUi;

impl UiFiles for MissingUi {
    fn get(&self, _: &str) -> Option<UiFile> {
        None
    }
}
