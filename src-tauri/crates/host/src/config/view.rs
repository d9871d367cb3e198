//! The settings as the wire shows them.

use rouse_agent::Prices;
use rouse_core::money::MicroUsd;
use rouse_gateway::wire;

use super::{Config, ConfigFile, HeartbeatConfig, OfMachine, SearchConfig, ToolLimits};

impl Config {
    /// What all runs together may spend on a day, as clients see it.
    pub(crate) fn budget_view(&self) -> wire::BudgetConfigView {
        wire::BudgetConfigView {
            tokens_per_day: self.budget.tokens,
            usd_per_day: self.budget.usd.map(MicroUsd::usd),
        }
    }
}

impl ConfigFile {
    /// The settings in force, for clients. Keys are named by their variable; no secret is ever here.
    #[must_use]
    pub fn view(&self, machine: OfMachine<'_>) -> wire::ConfigView {
        let config = self.config();
        let (changed_by_hand, unknown_keys, problem) = match self.on_disk_now(machine) {
            Ok((is_changed, unknown)) => (is_changed, unknown, None),
            Err(problem) => (true, self.unknown(), Some(problem)),
        };
        wire::ConfigView {
            path: self.path().display().to_string(),
            changed_by_hand,
            problem,
            unknown_keys,
            troubles: self.troubles(machine),
            from_next_start: self.later_keys(),
            revision: self.revision(),
            cron: wire::CronConfigView {
                enabled: config.cron.enabled,
                max_concurrent_runs: config.cron.max_concurrent_runs,
            },
            heartbeat: heartbeat_view(&config.heartbeat),
            quiet_hours: config.quiet_hours.as_ref().map(|hours| wire::QuietHours {
                from: hours.from.clone(),
                to: hours.to.clone(),
                tz: hours.tz.clone(),
                days: (!hours.days.is_empty())
                    .then(|| hours.day_names().into_iter().map(str::to_owned).collect()),
            }),
            model: self.model_view(),
            system: wire::SystemConfigView { keep_awake: config.keep_awake },
            workspace: config.workspaces().0.display().to_string(),
            risky_workspace: risky_workspace_view(config),
            tools: tools_view(&config.tools),
            search: search_view(&config.search),
            gateway: wire::GatewayConfigView { port: config.port },
            retention: wire::RetentionConfigView {
                runs_per_job: config.retention.runs_per_job,
                messages_per_session: config.retention.messages_per_session,
                max_database_mb: config.retention.max_database_mb,
            },
            budget: config.budget_view(),
            prices: prices_view(config),
            overridden: config
                .overridden
                .iter()
                .map(|(key, variable)| wire::OverriddenKey {
                    key: (*key).to_owned(),
                    variable: (*variable).to_owned(),
                })
                .collect(),
        }
    }

    fn model_view(&self) -> wire::ModelConfigView {
        let config = self.config();
        let providers = config.providers.iter().map(|(name, entry)| wire::ProviderConfigView {
            name: name.clone(),
            kind: entry.kind.name().to_owned(),
            base_url: entry.base_url.clone(),
            model: entry.model.clone(),
            key_env: entry.key_env.clone(),
            key_secret: entry.key_secret.clone(),
            context_tokens: entry.context_tokens,
            effort: entry.effort.map(|effort| effort.name().to_owned()),
        });
        wire::ModelConfigView {
            provider: config.model.provider.clone(),
            name: config.model.name.clone(),
            patience_seconds: config.model.patience_seconds,
            providers: providers.collect(),
        }
    }
}

fn tools_view(tools: &ToolLimits) -> wire::ToolsConfigView {
    let run_command_timeout_ms = tools.command_timeout.as_millis();
    wire::ToolsConfigView {
        read_file_max_bytes: tools.read_file_max_bytes,
        max_steps: tools.max_steps,
        run_command_timeout_ms: u64::try_from(run_command_timeout_ms).unwrap_or(u64::MAX),
        allow_private_hosts: tools.allow_private_hosts.clone(),
    }
}

fn search_view(search: &SearchConfig) -> wire::SearchConfigView {
    wire::SearchConfigView {
        provider: search.provider.map(|kind| kind.name().to_owned()),
        url: search.url.clone(),
        key_env: search.key_env.clone(),
        key_secret: search.key_secret.clone(),
    }
}

fn risky_workspace_view(config: &Config) -> wire::RiskyWorkspaceView {
    let (_, wider) = config.workspaces();
    wire::RiskyWorkspaceView {
        enabled: wider.is_some(),
        root: wider.map(|root| root.display().to_string()),
    }
}

fn heartbeat_view(heartbeat: &HeartbeatConfig) -> wire::HeartbeatConfigView {
    wire::HeartbeatConfigView {
        enabled: heartbeat.enabled,
        every_ms: heartbeat.every_ms,
        active_hours: heartbeat.active_hours.as_ref().map(|hours| wire::DayHours {
            from: hours.from.clone(),
            to: hours.to.clone(),
            tz: hours.tz.clone(),
        }),
        prompt: heartbeat.prompt.clone(),
        skills: heartbeat.skills.clone(),
        model: heartbeat.model.clone(),
    }
}

fn prices_view(config: &Config) -> wire::PricesView {
    let own = config.prices.iter().map(|(model, price)| wire::PriceView {
        model: model.clone(),
        input: price.input,
        cached: price.cached,
        output: price.output,
    });
    wire::PricesView { listed_on: Prices::date().to_owned(), own: own.collect() }
}
