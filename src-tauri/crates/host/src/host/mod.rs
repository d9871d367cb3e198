//! Start and stop of the engine.
//!
//! Owns the start order: directory lock → settings → store → port and token → tools and agent → scheduler (with
//! recovery) → server → background tasks (outbox, …) → endpoint file. The stop removes the endpoint file, then stops
//! scheduler, tasks and server; the store closes last. A start that must fail, for example for a taken port, fails
//! before any job is touched. Pitfall: publishing the endpoint before the scheduler runs, or closing the store before
//! the last run is recorded.

mod agent_parts;
mod background_tasks;
mod commit_signals;
mod servers;

use std::net::SocketAddr;
use std::sync::Arc;

use rouse_agent::{AgentDriver, BudgetLedger, Gate, Hooks, SecretBook, SkillInstaller};
use rouse_core::{Clock, UnixMs};
use rouse_gateway::{
    Auth, BoundPort, Client, Context, DesktopApps, Devices, EngineInfo, EventBus, Gateway,
    GatewayServer, LiveProgress, LiveText, McpTokens,
};
use rouse_mcp::{CodingAgents, ServerPool};
use rouse_scheduler::{Scheduler, SchedulerHandle};
use rouse_store::Store;
use rouse_tools::{GatewayPorts, HttpConfig};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::apply_settings::{apply_budget, scheduler_config};
use crate::channels::ChannelSenders;
use crate::config::{ConfigFile, MachineFacts};
use crate::database_loss;
use crate::endpoint::{RETRY_AFTER, port_notice, retry_endpoint, write_endpoint};
use crate::engine_marker;
use crate::error::HostError;
use crate::extensions::RegistryClient;
use crate::first_start;
use crate::home::{Exposure, Home, HomeLock, make_private_dir};
use crate::hooks;
use crate::machine::RunCounter;
use crate::models::ModelCatalog;
use crate::notifier;
use crate::options::HostOptions;
use crate::orphans::kill_orphan_commands;
use crate::receiver::{ChannelPort, DirectoryKeeper, ReceiverStatus};
use crate::retention::FinishedRuns;
use crate::routines::{GatewayRoutines, RoutineLink};
use crate::runner::{MainSessionWork, PayloadRunner};
use crate::secrets::{self, SecretVault};
use crate::settings::LiveSettings;
use crate::skills::skill_installer;
use agent_parts::AgentParts;
use commit_signals::CommitSignals;
use servers::Servers;

/// A running engine.
pub struct Host {
    home: Home,
    _lock: HomeLock,
    store: Store,
    scheduler: SchedulerHandle,
    gateway: Gateway,
    server: GatewayServer,
    port_notice: Option<String>,
    closing: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
    hooks: Hooks,
    servers: ServerPool,
    coding_agents: CodingAgents,
    _routines: RoutineLink,
}

/// The parts that several start steps share.
struct Components {
    store: Store,
    clock: Arc<dyn Clock>,
    settings: Arc<LiveSettings>,
    models: Arc<ModelCatalog>,
    ledger: Arc<BudgetLedger>,
    secrets: Arc<SecretVault>,
    skills: SkillInstaller,
    /// The secrets that the gate redacts and substitutes; filled by the vault.
    book: Arc<SecretBook>,
    hooks: Hooks,
    model_is_awaited: watch::Sender<bool>,
    signals: CommitSignals,
    directory: Arc<DirectoryKeeper>,
    senders: Arc<ChannelSenders>,
    receiver: Arc<ReceiverStatus>,
    /// Notified after a wake-up of the computer.
    machine_changed: Arc<Notify>,
    finished_runs: Arc<FinishedRuns>,
    events: EventBus,
    live: LiveText,
    live_progress: LiveProgress,
    desktop_apps: DesktopApps,
    /// Why the newest notification was not shown.
    notification_error: watch::Sender<Option<String>>,
    run_counter: RunCounter,
    routines: Arc<GatewayRoutines>,
}

impl Host {
    /// Starts the engine.
    ///
    /// # Errors
    /// `Home(Owned)` when another process owns the directory; nothing was touched then.
    pub async fn start(options: HostOptions) -> Result<Self, HostError> {
        let lock = options.home.lock_directory()?;
        prepare_process(&options);
        if let Some(reason) = database_loss::database_loss(&options.home) {
            return Err(HostError::DatabaseMissing(reason));
        }
        kill_orphan_commands(&options.home);
        // Before the first write, which begins a new log.
        let wal_loss = engine_marker::wal_loss(&options.home);
        let components = Components::build(&options).await?;
        let started_at = components.clock.now();
        let (port, auth) = components.bind_port(&options).await?;
        secrets::load_at_start(&components.secrets).await;
        let gateway_ports = GatewayPorts::default();
        gateway_ports.add(port.number());
        let AgentParts { agent, gate, servers } =
            components.build_agent(&options, gateway_ports)?;
        let start_problem = start_problem(wal_loss, &servers);
        let scheduler = components.start_scheduler(&options, agent).await?;
        first_start::prepare(&components.store, &scheduler, components.clock.as_ref()).await?;
        let port_notice = port_notice(&components.store, port.unavailable_port()).await?;
        let listening =
            Listening { started_at, port: port.number(), names: components.names_at(&port) };
        let gateway = components.build_gateway(
            &options,
            &scheduler,
            (Arc::clone(&gate), &servers),
            listening,
            start_problem,
        );
        let routines = Arc::clone(&components.routines).connect(gateway.clone(), gate);
        let (clock, ui) = (Arc::clone(&components.clock), Arc::clone(&options.ui));
        let server = GatewayServer::start(port, gateway.clone(), auth, clock, ui);
        let closing = CancellationToken::new();
        let mut tasks =
            components.spawn_tasks(&options.home, &options, (&scheduler, &gateway), &closing)?;
        let (store, clock) = (components.store.clone(), Arc::clone(&components.clock));
        tasks.extend(servers.spawn_tasks(store, clock, &components.signals, &closing));
        tasks.push(components.spawn_memory_release(&servers, &closing));
        tasks.extend(publish_endpoint(&options.home, server.address(), &closing));
        tracing::info!(address = %server.address(), home = %options.home.root().display(), "{}", database_loss::READY);
        let Components { store, hooks, .. } = components;
        Ok(Self {
            home: options.home,
            _lock: lock,
            store,
            scheduler,
            gateway,
            server,
            port_notice,
            closing,
            tasks,
            hooks,
            servers: servers.pool,
            coding_agents: servers.agents,
            _routines: routines,
        })
    }

    /// The gateway in this process.
    #[must_use]
    pub fn gateway(&self) -> Gateway {
        self.gateway.clone()
    }

    /// The address of the server.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Why the server does not listen on the usual port, for the person who starts the engine.
    #[must_use]
    pub fn port_notice(&self) -> Option<&str> {
        self.port_notice.as_deref()
    }

    /// Stops firing, stops active runs (waits at most two seconds for them), and closes everything in order.
    pub async fn stop(self) {
        remove_endpoint(&self.home);
        self.scheduler.shutdown().await;
        self.closing.cancel();
        self.server.stop().await;
        self.servers.stop_all().await;
        self.coding_agents.stop_all().await;
        join_tasks(self.tasks).await;
        self.hooks.drain(hooks::DRAIN_TIMEOUT).await;
        kill_late_commands(self.home.clone()).await;
        self.store.close().await;
        engine_marker::remove(&self.home);
        tracing::info!("the engine has stopped");
    }
}

/// Where and since when the server listens.
struct Listening {
    started_at: UnixMs,
    port: u16,
    names: Vec<String>,
}

impl Components {
    /// The names of the settings that are in effect at this port. A proxy forwards to the usual port, which another program has
    /// when the port is another one: then no name leads to Rouse.
    fn names_at(&self, port: &BoundPort) -> Vec<String> {
        let names = self.settings.now().gateway.names;
        if !names.is_empty() && port.unavailable_port().is_some() {
            tracing::warn!(
                "another program has the port, so the names of gateway.names are not in effect"
            );
            return Vec::new();
        }
        names
    }

    async fn build(options: &HostOptions) -> Result<Self, HostError> {
        let home = &options.home;
        let (env, zones) = (|name: &str| (options.env)(name), options.clock.zones());
        // No secret is loaded yet, so none is reported as missing.
        let machine = MachineFacts { env: &env, zones: &zones, secrets: None, recipients: None };
        let file = ConfigFile::open(&home.config(), &home.workspace(), machine)?;
        let (signals, events) = (CommitSignals::default(), EventBus::default());
        let finished_runs = Arc::new(FinishedRuns::default());
        let listener = signals.listener(events.clone(), Arc::clone(&finished_runs));
        let store = Store::open(&home.database(), listener).await?;
        let clock = Arc::clone(&options.clock);
        let workspace = file.config().workspace.clone();
        make_private_dir(&workspace)
            .map_err(|error| HostError::Config(file.workspace_error(&error)))?;
        let book = Arc::new(SecretBook::default());
        let lookups = (Arc::clone(&options.env), Arc::clone(&book));
        let settings = LiveSettings::new(file, lookups.clone(), store.clone(), Arc::clone(&clock));
        let ledger = BudgetLedger::new(store.clone());
        apply_budget(&ledger, &settings.now());
        let models = ModelCatalog::open(
            settings.watch(),
            lookups,
            options.model.clone(),
            Arc::clone(&ledger),
            (store.clone(), Arc::clone(&clock)),
        )
        .await;
        let secrets = secrets::open_vault(options, &settings, Arc::clone(&book));
        let skills = skill_installer(home, &settings.now().workspace, &store);
        let hooks = hooks::build(options, &settings.now());
        let live = LiveText::new(events.clone(), Arc::clone(&clock));
        let is_headless = options.notifier.is_none();
        let directory = DirectoryKeeper::new(store.clone(), settings.watch(), is_headless);
        directory.load().await?;
        Ok(Self {
            directory: Arc::new(directory),
            receiver: Arc::default(),
            machine_changed: Arc::default(),
            signals,
            senders: Arc::new(channel_senders(&settings, &book, &clock)),
            store,
            clock,
            settings,
            models,
            ledger,
            secrets,
            skills,
            book,
            hooks,
            model_is_awaited: watch::Sender::new(false),
            finished_runs,
            live_progress: LiveProgress::new(events.clone()),
            desktop_apps: DesktopApps::new(events.clone()),
            events,
            live,
            notification_error: watch::Sender::new(None),
            run_counter: RunCounter::default(),
            routines: Arc::default(),
        })
    }

    async fn start_scheduler(
        &self,
        options: &HostOptions,
        agent: AgentDriver,
    ) -> Result<SchedulerHandle, HostError> {
        let main_session =
            Arc::new(MainSessionWork { store: self.store.clone(), agent: agent.clone() });
        let runner = Arc::new(PayloadRunner {
            agent,
            models: Arc::clone(&self.models),
            live: self.live.clone(),
            live_progress: self.live_progress.clone(),
            settings: self.settings.watch(),
            run_counter: self.run_counter.clone(),
        });
        let scheduler = Scheduler {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            timer: options.build_timer()?,
            runner,
            hooks: Arc::new(hooks::RunHookForwarder::new(&self.hooks, self.settings.now())),
            main_session,
            model: self.models.available(),
            model_is_awaited: self.model_is_awaited.clone(),
            channels: self.directory.channels.clone(),
            outbox: Arc::clone(&self.signals.outbox),
            config: scheduler_config(&self.settings.now()),
        };
        Ok(scheduler.start().await?)
    }

    fn build_gateway(
        &self,
        options: &HostOptions,
        scheduler: &SchedulerHandle,
        (gate, servers): (Arc<Gate>, &Servers),
        listening: Listening,
        start_problem: Option<String>,
    ) -> Gateway {
        let Listening { started_at, port, names } = listening;
        let engine = EngineInfo {
            mode: options.mode,
            started_at,
            port,
            names,
            home: options.home.root().to_owned(),
            workspace: self.settings.now().workspace,
            notifications: notifier::status(options.notifier.is_some()),
            log_problem: crate::logging::problem,
            start_problem,
            max_connections: max_connections(),
        };
        let registries = RegistryClient::new(self.settings.watch(), &options.home, port);
        Gateway::new(Context {
            store: self.store.clone(),
            scheduler: scheduler.clone(),
            clock: Arc::clone(&self.clock),
            settings: Arc::clone(&self.settings) as _,
            models: Arc::clone(&self.models) as _,
            secrets: Arc::clone(&self.secrets) as _,
            routines: Arc::clone(&self.routines) as _,
            devices: Arc::new(Devices::open(&Devices::path(options.home.root()))),
            mcp_tokens: Arc::new(McpTokens::open(&McpTokens::path(options.home.root()))),
            backups: Arc::new(self.backups(&options.home)),
            skills: self.skills.library().clone(),
            skill_installer: self.skills.clone(),
            gate,
            tool_builds: servers.built_tools(),
            extensions: servers.port(),
            registries: Arc::new(registries),
            events: self.events.clone(),
            live_text: self.live.clone(),
            live_progress: self.live_progress.clone(),
            desktop_apps: self.desktop_apps.clone(),
            notification_error: self.notification_error.subscribe(),
            channels: self.directory.channels.clone(),
            channel_access: Arc::new(self.channel_port()),
            outbox: Arc::clone(&self.signals.outbox),
            activity: Arc::clone(&self.signals.activity),
            engine,
        })
    }

    fn channel_port(&self) -> ChannelPort {
        ChannelPort {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            senders: Arc::clone(&self.senders),
            directory: Arc::clone(&self.directory),
            status: Arc::clone(&self.receiver),
        }
    }

    async fn bind_port(&self, options: &HostOptions) -> Result<(BoundPort, Arc<Auth>), HostError> {
        let auth = Arc::new(Auth::open(&Client::token_path(options.home.root()))?);
        // An explicit port is used or fails; the configured port may fall back to a free one.
        let (port, allow_any_port) = match options.port {
            Some(port) => (port, false),
            None => (self.settings.now().gateway.port, true),
        };
        Ok((BoundPort::bind(port, allow_any_port).await?, auth))
    }
}

fn channel_senders(
    settings: &LiveSettings,
    secrets: &Arc<SecretBook>,
    clock: &Arc<dyn Clock>,
) -> ChannelSenders {
    let (settings, http) = (settings.watch(), HttpConfig::default());
    ChannelSenders { settings, secrets: Arc::clone(secrets), http, clock: Arc::clone(clock) }
}

/// Raises the limit of open files, and logs an exposed directory and an unknown zone.
fn prepare_process(options: &HostOptions) {
    #[cfg(unix)]
    crate::open_files::raise();
    if let Some(Exposure { problem, fix }) = options.home.exposure() {
        tracing::warn!(fix, "{problem}");
    }
    if let Some(problem) = options.clock.zones().local_problem() {
        tracing::warn!("{problem}");
    }
}

/// The problems found at start, for the log and the status.
fn start_problem(wal_loss: Option<String>, servers: &Servers) -> Option<String> {
    #[cfg(unix)]
    let low_limit = crate::open_files::low_limit();
    #[cfg(not(unix))]
    let low_limit = None;
    let found: Vec<String> =
        [wal_loss, low_limit, servers.problem()].into_iter().flatten().collect();
    found.iter().for_each(|problem| tracing::error!("{problem}"));
    (!found.is_empty()).then(|| found.join(" "))
}

/// The maximum number of open connections.
#[cfg(unix)]
fn max_connections() -> usize {
    crate::open_files::max_connections()
}

/// Windows has no limit of open files, so the number is fixed.
#[cfg(not(unix))]
const fn max_connections() -> usize {
    128
}

/// Writes the endpoint file, or returns a task that retries until the disk has room.
fn publish_endpoint(
    home: &Home,
    address: SocketAddr,
    closing: &CancellationToken,
) -> Option<JoinHandle<()>> {
    if write_endpoint(home, address) {
        return None;
    }
    let retries = retry_endpoint(home.clone(), address, RETRY_AFTER);
    let closing = closing.clone();
    Some(tokio::spawn(async move { closing.run_until_cancelled(retries).await.unwrap_or(()) }))
}

fn remove_endpoint(home: &Home) {
    if let Err(error) = std::fs::remove_file(Client::endpoint_path(home.root())) {
        tracing::debug!(%error, "the endpoint file was already gone");
    }
}

async fn join_tasks(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        if let Err(error) = task.await {
            tracing::error!(%error, "a background task ended with a panic");
        }
    }
}

/// Kills orphan processes: descendants outside the process group of their command, and commands of runs and hooks that
/// outlived the stop.
async fn kill_late_commands(home: Home) {
    if let Err(error) = tokio::task::spawn_blocking(move || kill_orphan_commands(&home)).await {
        tracing::error!(%error, "the search for orphan processes failed");
    }
}
