//! The MCP servers and the coding agents of the installed extensions.
//!
//! Owns the connection of their parts: the file of the extensions, the pool of servers, the agents, and the tools that the
//! registry offers. Never starts a server. Pitfall: tools of a removed server in the registry; every change of the extensions
//! replaces them.

use std::sync::Arc;

use rouse_agent::{SecretBook, ToolRegistry};
use rouse_core::Clock;
#[cfg(not(feature = "wasm"))]
use rouse_core::extension::NoToolBuilds;
use rouse_core::extension::{
    ExtensionBook as _, ExtensionName, ServerProcesses, ServerTransport, ToolBuilds,
    ToolServers as _,
};
use rouse_gateway::Extensions;
use rouse_mcp::{CodingAgents, CodingAgentsConfig, ServerPool, ServerPoolConfig};
use rouse_store::Store;
use rouse_tools::{AcceptedServerUrls, GuardedHttp, HttpConfig, LineProcessConfig, LineProcesses};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::commit_signals::CommitSignals;
#[cfg(feature = "wasm")]
use crate::extensions::BuiltTools;
use crate::extensions::{
    EndedRuns, ExtensionTools, GatewayExtensions, InstalledExtensions, PackageInstaller,
    SignInRefresh, SignInVault, WasmTools, packages_folder, recover_installations,
};
use crate::options::HostOptions;
use crate::orphans::instance_id;
use crate::secrets::SecretVault;

/// The installed extensions and their servers.
#[derive(Clone)]
pub(super) struct Servers {
    installed: Arc<InstalledExtensions>,
    pub(super) pool: ServerPool,
    wasm: WasmTools,
    pub(super) agents: CodingAgents,
    gateway: Arc<GatewayExtensions>,
    #[cfg(feature = "wasm")]
    built_tools: Arc<BuiltTools>,
    accepted_urls: AcceptedServerUrls,
}

impl Servers {
    /// Opens the extensions of the data directory; starts nothing.
    pub(super) fn open(
        options: &HostOptions,
        store: Store,
        secrets: Arc<SecretBook>,
        vault: Arc<SecretVault>,
        http: &HttpConfig,
    ) -> Self {
        let (home, clock) = (&options.home, Arc::clone(&options.clock));
        let installed = Arc::new(InstalledExtensions::open(home, secrets, Arc::clone(&clock)));
        let recorded = |name: &ExtensionName| installed.get(name)?.package.map(|p| p.files.sha256);
        recover_installations(&home.extension_folders(), recorded);
        let accepted_urls = AcceptedServerUrls::default();
        let line_processes = Arc::new(LineProcesses::new(LineProcessConfig {
            instance: instance_id(home),
            folders: home.extension_folders(),
            packages: packages_folder(&home.extension_folders()),
            hidden: vec![home.root().to_owned()],
            network: http.clone(),
        }));
        let processes = Arc::clone(&line_processes) as Arc<dyn ServerProcesses>;
        let agents = CodingAgents::new(CodingAgentsConfig {
            book: Arc::clone(&installed) as _,
            processes: Arc::clone(&processes),
            folders: line_processes,
        });
        let pool = ServerPool::new(ServerPoolConfig {
            book: Arc::clone(&installed) as _,
            processes: Arc::clone(&processes),
            http: Arc::new(GuardedHttp::new(http, accepted_urls.clone())),
            sign_ins: Arc::new(SignInVault::new(home.sign_ins(), vault)),
            clock,
        });
        let wasm = WasmTools::open(options, store.clone(), Arc::clone(&installed), http);
        let (opened, servers, sandbox) = (Arc::clone(&installed), pool.clone(), wasm.clone());
        let tools = ExtensionTools { installed: opened, pool: servers, wasm: sandbox };
        let gateway = open_gateway(options, tools, agents.clone(), Arc::clone(&processes));
        #[cfg(feature = "wasm")]
        let built_tools = {
            let (installed, gateway) = (Arc::clone(&installed), Arc::clone(&gateway));
            Arc::new(BuiltTools::new(wasm.clone(), installed, gateway, processes, options, store))
        };
        Self {
            installed,
            pool,
            wasm,
            agents,
            gateway,
            #[cfg(feature = "wasm")]
            built_tools,
            accepted_urls,
        }
    }

    /// The built tools.
    #[cfg(feature = "wasm")]
    pub(super) fn built_tools(&self) -> Arc<dyn ToolBuilds> {
        Arc::clone(&self.built_tools) as _
    }

    /// The built tools.
    #[cfg(not(feature = "wasm"))]
    pub(super) fn built_tools(&self) -> Arc<dyn ToolBuilds> {
        Arc::new(NoToolBuilds)
    }

    /// Offers the accepted tools in `registry`, now and after every change of the extensions.
    pub(super) fn offer_in(&self, registry: Arc<ToolRegistry>) {
        #[cfg(feature = "wasm")]
        self.built_tools.set_registry(&registry);
        let servers = self.clone();
        let update = move || {
            servers.accepted_urls.replace(&servers.urls());
            let mut tools = servers.tools().known_tools();
            tools.extend(servers.agents.tool());
            registry.replace_server_tools(tools);
        };
        update();
        self.installed.on_change(update);
    }

    /// Starts the tasks of the servers: the end of idle servers, the refresh of idle sign-ins, and the end of coding agents
    /// whose run has ended.
    pub(super) fn spawn_tasks(
        &self,
        store: Store,
        clock: Arc<dyn Clock>,
        signals: &CommitSignals,
        closing: &CancellationToken,
    ) -> [JoinHandle<()>; 3] {
        let ended_runs = EndedRuns {
            agents: self.agents.clone(),
            store: store.clone(),
            changed: Arc::clone(&signals.runs),
        };
        let watch = closing.clone();
        let watching = async move { watch.run_until_cancelled(ended_runs.watch()).await };
        let refresh = SignInRefresh {
            store,
            clock,
            installed: Arc::clone(&self.installed),
            sign_ins: self.pool.sign_ins().clone(),
            committed: Arc::clone(&signals.sign_ins),
            closing: closing.clone(),
        };
        let (pool, idle) = (self.pool.clone(), closing.clone());
        let ending = async move { idle.run_until_cancelled(pool.end_idle_servers()).await };
        [
            tokio::spawn(async move { ending.await.unwrap_or(()) }),
            tokio::spawn(refresh.run()),
            tokio::spawn(async move { watching.await.unwrap_or(()) }),
        ]
    }

    /// Releases the loaded code of tools that no call uses.
    pub(super) fn release_memory(&self) {
        self.wasm.release_memory();
    }

    /// The tools of all extensions.
    pub(super) fn tools(&self) -> ExtensionTools {
        let installed = Arc::clone(&self.installed);
        ExtensionTools { installed, pool: self.pool.clone(), wasm: self.wasm.clone() }
    }

    /// Why the extensions cannot be read; none if they can.
    pub(super) fn problem(&self) -> Option<String> {
        self.installed.problem()
    }

    /// The gateway's access.
    pub(super) fn port(&self) -> Arc<dyn Extensions> {
        Arc::clone(&self.gateway) as _
    }

    /// The URLs of servers over HTTP.
    fn urls(&self) -> Vec<String> {
        let all = self.installed.all().into_iter();
        let urls = all.filter_map(|(_, extension)| match extension.server.transport {
            ServerTransport::Http { url, .. } => Some(url),
            ServerTransport::Stdio { .. } | ServerTransport::Wasm { .. } => None,
        });
        urls.collect()
    }
}

/// The gateway's access, with the installer of packages.
fn open_gateway(
    options: &HostOptions,
    tools: ExtensionTools,
    agents: CodingAgents,
    processes: Arc<dyn ServerProcesses>,
) -> Arc<GatewayExtensions> {
    let (home, env) = (&options.home, Arc::clone(&options.env));
    let folders = home.extension_folders();
    let packages = PackageInstaller::new(processes, folders.clone(), Arc::clone(&env));
    let hidden = vec![home.root().to_owned()];
    let installed = Arc::clone(&tools.installed);
    Arc::new(GatewayExtensions::new(installed, tools, agents, packages, folders, hidden, env))
}
