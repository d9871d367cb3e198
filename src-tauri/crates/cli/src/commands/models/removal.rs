//! `rouse models remove`.
//!
//! Changes only the settings. Never deletes a stored key, because another provider may use the key.

use rouse_gateway::wire::{ProviderSource, ProvidersListResult};
use serde_json::{Value, json};

use super::find_stored_key;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::ids;

/// Removes a provider from the settings.
pub(super) async fn remove_provider(name: &str, engine: &EngineConnection) -> Result<(), CliError> {
    let known: ProvidersListResult = engine.fetch("providers.list", json!({})).await?;
    let Some(provider) = known.providers.iter().find(|provider| provider.name == name) else {
        let names = known.providers.iter().map(|provider| provider.name.as_str());
        return Err(ids::unknown_name("provider called", name, names, "rouse models"));
    };
    match provider.source {
        ProviderSource::Config => {}
        ProviderSource::Environment => {
            return Err(CliError::Refused(format!(
                "{name} comes from the environment. Unset {} and start Rouse again.",
                provider.key_env.as_deref().unwrap_or("its variable")
            )));
        }
        ProviderSource::Local => {
            return Err(CliError::Refused(format!(
                "{name} is a server on this computer. Stop the server, or choose another model: rouse models add"
            )));
        }
    }
    // silent-ok: an unreadable secret store must not prevent the removal.
    let has_stored_key = find_stored_key(provider, engine).await.is_ok_and(|key| key.is_some());
    let is_active = known.active.as_deref() == Some(name);
    let mut patch = json!({ "providers": { name: null } });
    if is_active {
        patch["model"] = json!({ "provider": null });
    }
    let config = engine.call("config.get", json!({})).await?;
    let params = json!({ "patch": patch, "expectedRevision": config["revision"] });
    let changed = engine.call("config.patch", params).await?;
    engine.print_answer(changed, |_, _: Value| {
        let key = if has_stored_key { " The stored key stays: rouse secrets list" } else { "" };
        anstream::println!("Removed {}.{key}", escape(name))
    })
}
