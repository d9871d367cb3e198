//! The agent: its tools, the gate before them, and the MCP servers behind some of them.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{
    AgentDriver, AgentSettings, AnswerEvent, AnswerObserver, Gate, ProgressObserver, Safety,
    ToolRegistry,
};
use rouse_core::model::Delta;
use rouse_core::routines::Routines;
use rouse_tools::{
    CommandConfig, GatewayPorts, HttpConfig, ToolsConfig, builder_tools, builtin, memory_tools,
    routine_tools, skill_tools, web_tools,
};

use super::Components;
use super::servers::Servers;
use crate::error::HostError;
use crate::options::HostOptions;
use crate::orphans::instance_id;
use crate::redacted_index::RedactedIndex;
use crate::search::ConfiguredSearch;

/// The agent with its gate, and the MCP servers.
pub(super) struct AgentParts {
    pub(super) agent: AgentDriver,
    pub(super) gate: Arc<Gate>,
    pub(super) servers: Servers,
}

impl Components {
    pub(super) fn build_agent(
        &self,
        options: &HostOptions,
        gateway_ports: GatewayPorts,
    ) -> Result<AgentParts, HostError> {
        let home = &options.home;
        let config = self.settings.now();
        let http = HttpConfig {
            allow_private_hosts: config.tools.allow_private_hosts.clone(),
            gateway_ports,
            ..HttpConfig::default()
        };
        let command = CommandConfig {
            instance: instance_id(home),
            timeout: Duration::from_millis(config.tools.run_command_timeout_ms),
            hidden: vec![home.root().to_owned()],
            homes: Some(home.job_homes()),
            network: http.clone(),
            ..CommandConfig::default()
        };
        let read_file_max_bytes = config.tools.read_file_max_bytes;
        let mut tools = builtin(ToolsConfig {
            read_file_max_bytes,
            http: http.clone(),
            command,
            is_risky_workspace: config.is_risky_workspace(),
        });
        let history = Arc::new(self.store.clone());
        let (env, secrets) = (Arc::clone(&options.env), Arc::clone(&self.book));
        let search = Arc::new(ConfiguredSearch { settings: self.settings.watch(), env, secrets });
        tools.extend(web_tools(&http, options.reader.clone(), history, search));
        let safety = Safety::new(Arc::clone(&self.book));
        let index = RedactedIndex { store: self.store.clone(), safety: safety.clone() };
        tools.extend(memory_tools(Arc::new(index), read_file_max_bytes));
        tools.extend(skill_tools(Arc::new(self.skills.library().clone())));
        tools.extend(routine_tools(&(Arc::clone(&self.routines) as Arc<dyn Routines>)));
        let (book, vault) = (Arc::clone(&self.book), Arc::clone(&self.secrets));
        let servers = Servers::open(options, self.store.clone(), book, vault, &http);
        if cfg!(feature = "wasm") {
            tools.extend(builder_tools(servers.built_tools()));
        }
        let registry = Arc::new(ToolRegistry::new(tools)?);
        servers.offer_in(Arc::clone(&registry));
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
        .with_ledger(Arc::clone(&self.ledger))
        .with_skills(self.skills.library().clone())
        .with_channels(self.directory.channels.clone())
        .with_progress(self.progress_observer())
        .with_servers(Arc::new(servers.tools()));
        Ok(AgentParts { agent, gate, servers })
    }

    fn observer(&self) -> AnswerObserver {
        let (live, progress) = (self.live.clone(), self.live_progress.clone());
        Arc::new(move |run, event| match event {
            AnswerEvent::Delta(Delta::Text(text)) => live.push(run, text),
            AnswerEvent::Delta(_) => {}
            AnswerEvent::Complete => live.finish(run),
            AnswerEvent::Stored => {
                live.clear(run);
                progress.clear(run);
            }
            AnswerEvent::Discarded => live.discard(run),
        })
    }

    fn progress_observer(&self) -> ProgressObserver {
        let live = self.live_progress.clone();
        Arc::new(move |run, progress| live.report(run, progress))
    }
}
