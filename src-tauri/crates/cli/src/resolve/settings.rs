//! The settings of the engine, and the problems of their file.

use std::fs;

use rouse_core::Clock as _;
use rouse_core::text::stable_hash;
use rouse_gateway::ClientError;
use rouse_gateway::wire::{ConfigView, ProvidersListResult, UnmetSetting};
use rouse_host::{ConfigFile, MachineFacts};
use serde_json::{Value, json};

use super::engine::EngineConnection;
use super::error::CliError;

/// The settings of the running engine.
pub(crate) async fn read_settings(engine: &EngineConnection) -> Result<ConfigView, CliError> {
    engine.fetch("config.get", json!({})).await
}

/// The settings of the running engine; of the file when no engine runs.
pub(crate) async fn read_settings_or_file(
    engine: &EngineConnection,
) -> Result<ConfigView, CliError> {
    match read_settings(engine).await {
        Err(CliError::Client(ClientError::NotRunning | ClientError::Unproven { .. })) => {
            let (env, zones) = (|name: &str| std::env::var(name).ok(), engine.clock.zones());
            let machine =
                MachineFacts { env: &env, zones: &zones, secrets: None, recipients: None };
            let (path, workspace) = (engine.home.config(), engine.home.workspace());
            let file = ConfigFile::open(&path, &workspace, machine).map_err(anyhow::Error::from)?;
            Ok(file.view(machine))
        }
        view => view,
    }
}

/// Changes the settings of the running engine. A file that was edited meanwhile is not changed.
pub(crate) async fn patch_settings(
    engine: &EngineConnection,
    patch: Value,
) -> Result<Value, CliError> {
    let config = engine.call("config.get", json!({})).await?;
    let params = json!({ "patch": patch, "expectedRevision": config["revision"] });
    engine.call("config.patch", params).await
}

/// Whether the settings file differs from the revision that the engine has read.
pub(crate) fn is_changed_on_disk(view: &ConfigView) -> bool {
    let text = match fs::read(&view.path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        // An unreadable file proves no change: the engine has read it.
        Err(_) => return false,
    };
    format!("{:016x}", stable_hash(&text)) != view.revision
}

/// The settings problem that blocks the active model.
pub(crate) async fn model_problem(
    engine: &EngineConnection,
    view: &ConfigView,
) -> Result<Option<UnmetSetting>, CliError> {
    if view.unmet_settings.is_empty() {
        return Ok(None);
    }
    let providers: ProvidersListResult = engine.fetch("providers.list", json!({})).await?;
    let key_settings = providers
        .active
        .map(|name| ["keyEnv", "keySecret"].map(|key| format!("providers.{name}.{key}")));
    let is_of_model = |problem: &&UnmetSetting| {
        problem.key == "model.provider"
            || key_settings.as_ref().is_some_and(|keys| keys.contains(&problem.key))
    };
    Ok(view.unmet_settings.iter().find(is_of_model).cloned())
}

/// The problem of the program of the hook at `index`.
pub(crate) fn hook_problem(view: &ConfigView, index: usize) -> Option<&str> {
    let key = format!("hooks[{index}].command");
    view.unmet_settings
        .iter()
        .find(|problem| problem.key == key)
        .map(|problem| problem.text.as_str())
}
