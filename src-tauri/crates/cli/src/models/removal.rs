//! `rouse models remove`.
//!
//! Owns the change of the settings. Never deletes a stored key: another provider may use it.

use rouse_gateway::wire::{ProviderSource, ProvidersListResult};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::ids;
use crate::output::plain;
use crate::session::Session;

/// Removes a provider from the settings.
pub(super) async fn remove(name: &str, session: &Session) -> Result<(), Failure> {
    let known = session.call("providers.list", json!({})).await?;
    let known: ProvidersListResult = serde_json::from_value(known)?;
    let provider = known.providers.iter().find(|provider| provider.name == name);
    match provider.map(|provider| (provider.source, provider.key_env.as_deref())) {
        Some((ProviderSource::Config, _)) => {}
        Some((ProviderSource::Environment, variable)) => {
            return Err(Failure::Refused(format!(
                "{name} comes from the environment. Unset {} and start Rouse again.",
                variable.unwrap_or("its variable")
            )));
        }
        Some((ProviderSource::Local, _)) => {
            return Err(Failure::Refused(format!(
                "{name} runs on this computer, and Rouse found it there. Stop that server, or choose another model: rouse models add"
            )));
        }
        None => {
            let names = known.providers.iter().map(|provider| provider.name.as_str());
            return Err(ids::unknown("provider called", name, names, "rouse models"));
        }
    }
    let is_chosen = known.active.as_deref() == Some(name);
    let mut patch = json!({ "providers": { name: null } });
    if is_chosen {
        patch["model"] = json!({ "provider": null });
    }
    let config = session.call("config.get", json!({})).await?;
    let params = json!({ "patch": patch, "expectedRevision": config["revision"] });
    let after = session.call("config.patch", params).await?;
    session.tell(after, |_, _: Value| {
        anstream::println!("Removed {}. Its stored key stays: rouse secrets list", plain(name));
        Ok(())
    })
}
