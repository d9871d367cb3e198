//! The values of the settings on this computer.
//!
//! Adds folders and hook commands to the document (`rouse_core::settings`). Never reads or writes the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rouse_agent::{HookCommand, Price, SecretBook};
use rouse_core::channel::{ChannelSection, DeliverTo, Recipient};
use rouse_core::json_fields::FieldError;
use rouse_core::schedule::Zones;
use rouse_core::settings::{
    BudgetSection, ComputerSection, CronSection, GatewaySection, HeartbeatSection, ModelSection,
    ProviderSection, RegistriesSection, RetentionSection, RiskyWorkspaceSection, SearchSection,
    SystemSection, ToolsSection, read_settings,
};
use rouse_core::time::QuietHours;
use serde_json::Value;

use super::environment::{self, Environment};
use super::hooks;

/// The current settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Scheduling.
    pub cron: CronSection,
    /// The heartbeat.
    pub heartbeat: HeartbeatSection,
    /// Hours in which notifications are held.
    pub quiet_hours: Option<QuietHours>,
    /// The model.
    pub model: ModelSection,
    /// Providers by name.
    pub providers: BTreeMap<String, ProviderSection>,
    /// The folder of the file tools; in risky mode the wider folder.
    pub workspace: PathBuf,
    /// In risky mode, the folder of the file tools without it.
    pub narrow_workspace: Option<PathBuf>,
    /// Limits of tools and runs.
    pub tools: ToolsSection,
    /// Web search.
    pub search: SearchSection,
    /// Registries of servers and skills.
    pub registries: RegistriesSection,
    /// Channels by name.
    pub channels: BTreeMap<String, ChannelSection>,
    /// The default channels of each kind of message.
    pub deliver_to: DeliverTo,
    /// Other computers by name.
    pub computers: BTreeMap<String, ComputerSection>,
    /// Hook commands; changes apply at the next start.
    pub hooks: Vec<HookCommand>,
    /// Stored history.
    pub retention: RetentionSection,
    /// The daily budget of all runs.
    pub budget: BudgetSection,
    /// Own prices by model name.
    pub prices: BTreeMap<String, Price>,
    /// The computer.
    pub system: SystemSection,
    /// The loopback server.
    pub gateway: GatewaySection,
    /// Overridden keys with the name of the environment variable.
    pub overridden: Vec<(&'static str, &'static str)>,
}

/// Facts of this computer that settings are read with.
#[derive(Clone, Copy)]
pub struct MachineFacts<'a> {
    /// Environment variables by name.
    pub env: Environment<'a>,
    /// The time zones.
    pub zones: &'a Zones,
    /// The stored secrets; none when they cannot be read yet.
    pub secrets: Option<&'a SecretBook>,
    /// The paired recipients of channels; none when they cannot be read yet.
    pub recipients: Option<&'a [Recipient]>,
}

/// Reads the document of the file, overridden by environment variables.
pub(super) fn read(
    mut document: Value,
    default_workspace: &Path,
    MachineFacts { env, zones, .. }: MachineFacts<'_>,
) -> Result<Config, Vec<FieldError>> {
    let mut errors = Vec::new();
    let overridden = environment::override_document(&mut document, env, &mut errors);
    let settings = read_settings(document, zones).map_err(|violations| {
        let variable_errors = std::mem::take(&mut errors);
        variable_errors.into_iter().chain(violations).collect::<Vec<_>>()
    })?;
    let workspace = settings.workspace.as_deref();
    let workspace =
        workspace.map_or_else(|| default_workspace.to_owned(), |p| environment::expand(p, env));
    let mut config = Config {
        cron: settings.cron,
        heartbeat: settings.heartbeat,
        quiet_hours: settings.quiet_hours,
        model: settings.model,
        providers: settings.providers,
        workspace,
        narrow_workspace: None,
        tools: settings.tools,
        search: settings.search,
        registries: settings.registries,
        channels: settings.channels,
        deliver_to: DeliverTo {
            reports: settings.deliver_to,
            failures: settings.deliver_failures_to,
            approvals: settings.deliver_approvals_to,
        },
        computers: settings.computers,
        hooks: hooks::commands(&settings.hooks, &mut errors),
        retention: settings.retention,
        budget: settings.budget,
        prices: settings.prices,
        system: settings.system,
        gateway: settings.gateway,
        overridden,
    };
    config.widen_workspace(&settings.risky_workspace, env);
    config.check_workspace(default_workspace, &settings.risky_workspace, &mut errors);
    let data = default_workspace.parent().unwrap_or(default_workspace);
    let home = environment::home(env).unwrap_or_default();
    let folders = hooks::HookFolders { data, workspace: &config.workspace, home: &home };
    hooks::refuse_workspace_paths(&config.hooks, &folders, &mut errors);
    if errors.is_empty() { Ok(config) } else { Err(errors) }
}

impl Config {
    /// Whether the file tools have the wider folder.
    #[must_use]
    pub fn is_risky_workspace(&self) -> bool {
        self.narrow_workspace.is_some()
    }

    /// The workspace without risky mode, and the wider folder in risky mode.
    pub(super) fn workspaces(&self) -> (&Path, Option<&Path>) {
        match &self.narrow_workspace {
            Some(narrow) => (narrow, Some(&self.workspace)),
            None => (&self.workspace, None),
        }
    }

    /// The key of the workspace, and the environment variable that overrides the key.
    pub(super) fn workspace_key(&self) -> (&'static str, Option<&'static str>) {
        let key = if self.is_risky_workspace() { "riskyWorkspace.root" } else { "workspace" };
        (key, self.overridden.iter().find(|(of, _)| *of == key).map(|(_, name)| *name))
    }

    fn widen_workspace(&mut self, risky: &RiskyWorkspaceSection, env: Environment<'_>) {
        if !risky.enabled {
            return;
        }
        self.narrow_workspace = Some(self.workspace.clone());
        match &risky.root {
            Some(root) => self.workspace = environment::expand(root, env),
            None => drop(self.workspace.pop()),
        }
    }

    /// Refuses a relative workspace, and a workspace with Rouse's data directory: file tools could read the database and the
    /// token.
    fn check_workspace(
        &self,
        default_workspace: &Path,
        risky: &RiskyWorkspaceSection,
        errors: &mut Vec<FieldError>,
    ) {
        let (key, variable) = self.workspace_key();
        let source = variable.map_or_else(String::new, |name| format!(", as {name} says"));
        let mut add = |message| errors.push(FieldError { path: key.to_owned(), message });
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some(data) = default_workspace.parent()
            && real(data).starts_with(real(&self.workspace))
        {
            let data = data.display();
            add(if risky.enabled && risky.root.is_none() {
                format!(
                    "must name the wider folder, here or as RISKY_WORKSPACE_ROOT: the parent of the workspace is Rouse's own data directory {data}"
                )
            } else {
                format!("must not be or contain Rouse's own data directory {data}{source}")
            });
        }
        if !self.workspace.has_root() {
            add(format!(
                "{} is another folder wherever Rouse is started; write the whole path, or one that begins with ~/{source}",
                self.workspace.display()
            ));
        }
    }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
