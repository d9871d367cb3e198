//! The settings for clients.

use rouse_agent::Prices;
use rouse_core::settings::RiskyWorkspaceSection;
use rouse_gateway::wire;

use super::file::ConfigFile;
use super::values::{Config, MachineFacts};

impl ConfigFile {
    /// The current settings for clients. Has names of variables and secrets, never a key.
    #[must_use]
    pub fn view(&self, machine: MachineFacts<'_>) -> wire::ConfigView {
        let config = self.config().clone();
        let (changed_by_hand, unknown_keys, problem) = match self.present_state(machine) {
            Ok((is_changed, unknown)) => (is_changed, unknown, None),
            Err(problem) => (true, self.unknown_keys(), Some(problem)),
        };
        wire::ConfigView {
            path: self.path().display().to_string(),
            changed_by_hand,
            problem,
            unknown_keys,
            unmet_settings: self.missing_parts(machine),
            pending_restart: self.keys_pending_restart(),
            revision: self.revision(),
            heartbeat: heartbeat_view(&config),
            prices: prices_view(&config),
            workspace: config.workspaces().0.display().to_string(),
            risky_workspace: risky_workspace_view(&config),
            overridden: overridden_keys(&config),
            model: model_view(&config),
            cron: config.cron,
            quiet_hours: config.quiet_hours,
            system: config.system,
            tools: config.tools,
            search: config.search,
            registries: config.registries,
            deliver_to: config.deliver_to.reports,
            deliver_failures_to: config.deliver_to.failures,
            deliver_approvals_to: config.deliver_to.approvals,
            computers: config.computers,
            gateway: config.gateway,
            retention: config.retention,
            budget: config.budget,
        }
    }
}

fn model_view(config: &Config) -> wire::ModelConfigView {
    let providers = config.providers.iter().map(|(name, provider)| wire::ProviderConfigView {
        name: name.clone(),
        settings: provider.clone(),
    });
    wire::ModelConfigView { choice: config.model.clone(), providers: providers.collect() }
}

fn overridden_keys(config: &Config) -> Vec<wire::OverriddenKey> {
    let keys = config.overridden.iter().map(|(key, variable)| {
        // Clients see the interval in milliseconds.
        let key = if *key == "heartbeat.every" { "heartbeat.everyMs" } else { key };
        wire::OverriddenKey { key: key.to_owned(), variable: (*variable).to_owned() }
    });
    keys.collect()
}

fn risky_workspace_view(config: &Config) -> RiskyWorkspaceSection {
    let (_, wider) = config.workspaces();
    RiskyWorkspaceSection {
        enabled: wider.is_some(),
        root: wider.map(|root| root.display().to_string()),
    }
}

fn heartbeat_view(config: &Config) -> wire::HeartbeatConfigView {
    let heartbeat = config.heartbeat.clone();
    wire::HeartbeatConfigView {
        enabled: heartbeat.enabled,
        every_ms: heartbeat.every_ms,
        active_hours: heartbeat.active_hours,
        prompt: heartbeat.prompt,
        skills: heartbeat.skills,
        model: heartbeat.model,
    }
}

fn prices_view(config: &Config) -> wire::PricesView {
    let own = config
        .prices
        .iter()
        .map(|(model, price)| wire::PriceView { model: model.clone(), price: *price });
    wire::PricesView { listed_on: Prices::date().to_owned(), own: own.collect() }
}
