//! Start and stop.
//!
//! Order of the start: own the directory → settings → store → port and token → tools and agent → scheduler (which first
//! takes up what an earlier life left) → outbox → server → the file that tells clients where. Nothing can be asked before
//! it can answer, nothing fires before its outcome can be kept, and a start that must fail (a taken port, say) fails
//! before it has touched a job. The stop goes the other way. One could get this wrong by telling
//! clients where the server is before the scheduler runs, or by closing the store while a run still wants to be recorded.

mod tasks;

use std::net::SocketAddr;
use std::sync::Arc;

use rouse_agent::{
    AgentDriver, AgentSettings, Gate, Heard, Hooks, Ledger, Observer, Safety, SecretBook,
    SkillShelf, ToolRegistry,
};
use rouse_core::event::{Event, EventKind};
use rouse_core::model::Delta;
use rouse_core::routines::Routines;
use rouse_core::{Clock, UnixMs};
use rouse_gateway::{
    Auth, BoundPort, Client, Context, Engine, EventBus, Gateway, LiveText, Screens, Server,
};
use rouse_scheduler::{Scheduler, SchedulerHandle};
use rouse_store::{EventListener, Store};
use rouse_tools::{
    CommandConfig, HttpConfig, OwnPorts, ToolsConfig, builtin, memory_tools, routine_tools,
    skill_tools, web_tools,
};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::clean_index::CleanIndex;
use crate::clock::timer;
use crate::config::{ConfigFile, OfMachine};
use crate::endpoint::{AGAIN_AFTER, keep_telling, port_notice, tell_clients};
use crate::error::HostError;
use crate::first_start;
use crate::home::{Exposure, Home, Owner, make_private_dir};
use crate::hooks;
use crate::in_force::{put_budget_into_force, scheduler_config};
use crate::machine::AtWork;
use crate::missing_database;
use crate::models::ModelShelf;
use crate::notifier;
use crate::options::HostOptions;
use crate::retention::Ended;
use crate::routines::{OpenDoor, RoutineDoor};
use crate::runner::{Main, PayloadRunner};
use crate::running_mark;
use crate::search::SearchShelf;
use crate::secrets::{self, SecretShelf};
use crate::settings::LiveSettings;
use crate::strays::{end_what_is_left, instance};

/// A running engine.
pub struct Host {
    home: Home,
    _owner: Owner,
    store: Store,
    scheduler: SchedulerHandle,
    gateway: Gateway,
    server: Server,
    port_notice: Option<String>,
    closing: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
    hooks: Hooks,
    _routines: OpenDoor,
}

/// What several steps of the start need.
struct Ground {
    store: Store,
    clock: Arc<dyn Clock>,
    settings: Arc<LiveSettings>,
    models: Arc<ModelShelf>,
    ledger: Arc<Ledger>,
    secrets: Arc<SecretShelf>,
    skills: SkillShelf,
    /// What the gate recognises and fills in; the shelf fills it.
    book: Arc<SecretBook>,
    hooks: Hooks,
    model_is_awaited: watch::Sender<bool>,
    outbox: Arc<Notify>,
    ended: Arc<Ended>,
    /// Told with every change that is stored.
    worked: Arc<Notify>,
    /// The same for backups.
    committed: Arc<Notify>,
    events: EventBus,
    live: LiveText,
    screens: Screens,
    /// Why the newest notification was not shown.
    unshown: watch::Sender<Option<String>>,
    at_work: AtWork,
    routines: Arc<RoutineDoor>,
}

impl Host {
    /// Starts the engine.
    ///
    /// # Errors
    /// `Home(Owned)` when another process owns the directory; then nothing was touched.
    pub async fn start(options: HostOptions) -> Result<Self, HostError> {
        let owner = options.home.own()?;
        #[cfg(unix)]
        crate::open_files::raise();
        if let Some(Exposure { what, mend }) = options.home.exposure() {
            tracing::warn!(mend, "{what}");
        }
        if let Some(problem) = options.clock.zones().local_problem() {
            tracing::warn!("{problem}");
        }
        if let Some(why) = missing_database::missing_database(&options.home) {
            return Err(HostError::DatabaseMissing(why));
        }
        let start_problem = start_problem(&options.home);
        end_what_is_left(&options.home);
        let ground = Ground::lay(&options).await?;
        let started_at = ground.clock.now();
        let (port, auth) = ground.port(&options).await?;
        secrets::load_at_start(&ground.secrets).await;
        let own_ports = OwnPorts::default();
        own_ports.add(port.number());
        let (agent, gate) = ground.agent(&options, own_ports)?;
        let scheduler = ground.scheduler(&options, agent).await?;
        first_start::prepare(&ground.store, &scheduler, ground.clock.as_ref()).await?;
        let port_notice = port_notice(&ground.store, port.instead_of()).await?;
        let facts = (started_at, port.number());
        let gateway = ground.gateway(&options, &scheduler, Arc::clone(&gate), facts, start_problem);
        let routines = Arc::clone(&ground.routines).open(gateway.clone(), gate);
        let (clock, ui) = (Arc::clone(&ground.clock), Arc::clone(&options.ui));
        let server = Server::start(port, gateway.clone(), auth, clock, ui);
        let closing = CancellationToken::new();
        let mut tasks = ground.tasks(&options.home, &options, &scheduler, &closing)?;
        if !tell_clients(&options.home, server.address()) {
            let telling = keep_telling(options.home.clone(), server.address(), AGAIN_AFTER);
            let closing = closing.clone();
            tasks.push(tokio::spawn(async move {
                closing.run_until_cancelled(telling).await.unwrap_or(());
            }));
        }
        tracing::info!(address = %server.address(), home = %options.home.root().display(), "{}", missing_database::READY);
        let Ground { store, hooks, .. } = ground;
        Ok(Self {
            home: options.home,
            _owner: owner,
            store,
            scheduler,
            gateway,
            server,
            port_notice,
            closing,
            tasks,
            hooks,
            _routines: routines,
        })
    }

    /// The gateway in this process.
    #[must_use]
    pub fn gateway(&self) -> Gateway {
        self.gateway.clone()
    }

    /// Where the server listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// That it listens elsewhere than it usually does, and what of it somebody must know. Whoever starts it tells this.
    #[must_use]
    pub fn port_notice(&self) -> Option<&str> {
        self.port_notice.as_deref()
    }

    /// Stops firing, gives runs two seconds, and closes everything in order.
    pub async fn stop(self) {
        if let Err(error) = std::fs::remove_file(Client::endpoint_path(self.home.root())) {
            tracing::debug!(%error, "the file that tells clients where to go was not there");
        }
        self.scheduler.shutdown().await;
        self.closing.cancel();
        self.server.stop().await;
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a part of the engine did not end cleanly");
            }
        }
        self.hooks.settle(hooks::END_FOR).await;
        // What has left the group of its command, and a run or a hook that did not end in time, end here.
        let home = self.home.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || end_what_is_left(&home)).await {
            tracing::error!(%error, "commands of this run of Rouse were not looked for");
        }
        self.store.close().await;
        running_mark::remove(&self.home);
        tracing::info!("the engine has stopped");
    }
}

impl Ground {
    async fn lay(options: &HostOptions) -> Result<Self, HostError> {
        let home = &options.home;
        let (env, zones) = (|name: &str| (options.env)(name), options.clock.zones());
        // No secret is at hand yet, so that none is missed.
        let machine = OfMachine { env: &env, zones: &zones, secrets: None };
        let file = ConfigFile::open(&home.config(), &home.workspace(), machine)?;
        let (outbox, events) = (Arc::new(Notify::new()), EventBus::default());
        let ended = Arc::new(Ended::default());
        let (worked, committed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let told = [Arc::clone(&worked), Arc::clone(&committed)];
        let listener = listener(events.clone(), Arc::clone(&outbox), Arc::clone(&ended), told);
        let store = Store::open(&home.database(), listener).await?;
        let clock = Arc::clone(&options.clock);
        let workspace = file.config().workspace.clone();
        make_private_dir(&workspace)
            .map_err(|error| HostError::Config(file.without_workspace(&error)))?;
        let book = Arc::new(SecretBook::default());
        let known = (Arc::clone(&options.env), Arc::clone(&book));
        let settings = LiveSettings::new(file, known.clone(), store.clone(), Arc::clone(&clock));
        let ledger = Ledger::new(store.clone());
        put_budget_into_force(&ledger, &settings.now());
        let models = ModelShelf::open(
            settings.watch(),
            known,
            options.model.clone(),
            Arc::clone(&ledger),
            (store.clone(), Arc::clone(&clock)),
        )
        .await;
        let secrets = secrets::shelf(options, &settings, Arc::clone(&book));
        let skills =
            SkillShelf::new(home.skills(), settings.now().workspace.clone(), store.clone());
        let hooks = hooks::of(options, &settings.now());
        let live = LiveText::new(events.clone(), Arc::clone(&clock));
        let screens = Screens::new(events.clone());
        Ok(Self {
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
            outbox,
            ended,
            worked,
            committed,
            events,
            live,
            screens,
            unshown: watch::Sender::new(None),
            at_work: AtWork::default(),
            routines: Arc::default(),
        })
    }

    fn agent(
        &self,
        options: &HostOptions,
        own_ports: OwnPorts,
    ) -> Result<(AgentDriver, Arc<Gate>), HostError> {
        let home = &options.home;
        let config = self.settings.now();
        let http = HttpConfig {
            allow_private_hosts: config.tools.allow_private_hosts.clone(),
            own_ports,
            ..HttpConfig::default()
        };
        let command = CommandConfig {
            instance: instance(home),
            timeout: config.tools.command_timeout,
            hidden: vec![home.root().to_owned()],
            homes: Some(home.job_homes()),
            network: http.clone(),
            ..CommandConfig::default()
        };
        let read_file_max_bytes = config.tools.read_file_max_bytes;
        let is_risky_workspace = config.is_risky_workspace();
        let mut tools = builtin(ToolsConfig {
            read_file_max_bytes,
            http: http.clone(),
            command,
            is_risky_workspace,
        });
        let history = Arc::new(self.store.clone());
        let (env, secrets) = (Arc::clone(&options.env), Arc::clone(&self.book));
        let search = Arc::new(SearchShelf { settings: self.settings.watch(), env, secrets });
        tools.extend(web_tools(&http, options.reader.clone(), history, search));
        let safety = Safety::new(Arc::clone(&self.book));
        let index = CleanIndex { store: self.store.clone(), safety: safety.clone() };
        tools.extend(memory_tools(Arc::new(index), read_file_max_bytes));
        tools.extend(skill_tools(Arc::new(self.skills.clone())));
        tools.extend(routine_tools(&(Arc::clone(&self.routines) as Arc<dyn Routines>)));
        let registry = ToolRegistry::new(tools)?;
        let gate = Gate::new(registry, self.store.clone(), Arc::clone(&self.clock));
        let gate = Arc::new(gate.guarded_by(safety, self.hooks.clone()));
        let settings =
            AgentSettings { workspace: config.workspace, max_steps: config.tools.max_steps };
        let agent = AgentDriver::new(
            self.store.clone(),
            Arc::clone(&gate),
            Arc::clone(&self.clock),
            settings,
            self.observer(),
        )
        .paid_from(Arc::clone(&self.ledger))
        .with_skills(self.skills.clone());
        Ok((agent, gate))
    }

    fn observer(&self) -> Observer {
        let live = self.live.clone();
        Arc::new(move |run, heard| match heard {
            Heard::Piece(Delta::Text(text)) => live.push(run, text),
            Heard::Piece(_) => {}
            Heard::Whole => live.finish(run),
            Heard::Kept => live.clear(run),
            Heard::Lost => live.discard(run),
        })
    }

    async fn scheduler(
        &self,
        options: &HostOptions,
        agent: AgentDriver,
    ) -> Result<SchedulerHandle, HostError> {
        let main_session = Arc::new(Main { store: self.store.clone(), agent: agent.clone() });
        let runner = Arc::new(PayloadRunner {
            agent,
            models: Arc::clone(&self.models),
            live: self.live.clone(),
            settings: self.settings.watch(),
            at_work: self.at_work.clone(),
        });
        let scheduler = Scheduler {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            timer: timer(options, &self.clock)?,
            runner,
            hooks: Arc::new(hooks::OfRuns::new(&self.hooks, self.settings.now())),
            main_session,
            model: self.models.available(),
            model_is_awaited: self.model_is_awaited.clone(),
            outbox: Arc::clone(&self.outbox),
            config: scheduler_config(&self.settings.now()),
        };
        Ok(scheduler.start().await?)
    }

    fn gateway(
        &self,
        options: &HostOptions,
        scheduler: &SchedulerHandle,
        gate: Arc<Gate>,
        (started_at, port): (UnixMs, u16),
        start_problem: Option<String>,
    ) -> Gateway {
        let engine = Engine {
            mode: options.mode,
            started_at,
            port,
            home: options.home.root().to_owned(),
            workspace: self.settings.now().workspace,
            notifications: notifier::status(options),
            log_problem: crate::logging::problem,
            start_problem,
            most_connections: most_connections(),
        };
        Gateway::new(Context {
            store: self.store.clone(),
            scheduler: scheduler.clone(),
            clock: Arc::clone(&self.clock),
            settings: Arc::clone(&self.settings) as _,
            models: Arc::clone(&self.models) as _,
            secrets: Arc::clone(&self.secrets) as _,
            backups: Arc::new(self.backups(&options.home)),
            skills: self.skills.clone(),
            gate,
            events: self.events.clone(),
            live: self.live.clone(),
            screens: self.screens.clone(),
            unshown: self.unshown.subscribe(),
            outbox: Arc::clone(&self.outbox),
            worked: Arc::clone(&self.worked),
            engine,
        })
    }

    async fn port(&self, options: &HostOptions) -> Result<(BoundPort, Arc<Auth>), HostError> {
        let auth = Arc::new(Auth::open(&Client::token_path(options.home.root()))?);
        // A port that somebody asked for by hand is that port or an error; the usual one may be taken.
        let (port, or_any) = match options.port {
            Some(port) => (port, false),
            None => (self.settings.now().port, true),
        };
        Ok((BoundPort::bind(port, or_any).await?, auth))
    }
}

/// What this start finds wrong, for the log and for whoever asks for the status.
fn start_problem(home: &Home) -> Option<String> {
    let lost = running_mark::lost_log(home);
    #[cfg(unix)]
    let few = crate::open_files::too_few();
    #[cfg(not(unix))]
    let few = None;
    let found: Vec<String> = [lost, few].into_iter().flatten().collect();
    found.iter().for_each(|problem| tracing::error!("{problem}"));
    (!found.is_empty()).then(|| found.join(" "))
}

/// Connections that may be open at once.
#[cfg(unix)]
fn most_connections() -> usize {
    crate::open_files::most_connections()
}

/// Windows has no such limit.
#[cfg(not(unix))]
const fn most_connections() -> usize {
    128
}

/// Events go to clients, and a new delivery wakes the outbox, whoever put it there.
fn listener(
    events: EventBus,
    outbox: Arc<Notify>,
    ended: Arc<Ended>,
    told: [Arc<Notify>; 2],
) -> EventListener {
    Arc::new(move |committed: &[Event]| {
        ended.count(committed);
        told.iter().for_each(|told| told.notify_one());
        if committed.iter().any(|event| event.kind == EventKind::Delivery) {
            outbox.notify_one();
        }
        events.publish(committed);
    })
}
