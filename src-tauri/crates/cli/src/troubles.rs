//! What the settings ask for and this computer does not have, as commands say it.
//!
//! The engine looks, because it has the variables and the folders that count; here it is only told apart which of it keeps
//! the model in use from answering.

use rouse_gateway::wire::{ConfigTrouble, ConfigView, ProvidersListResult};
use serde_json::json;

use crate::exit::Failure;
use crate::session::Session;

/// The one that keeps the model in use from answering.
pub(crate) async fn of_model(
    session: &Session,
    view: &ConfigView,
) -> Result<Option<ConfigTrouble>, Failure> {
    if view.troubles.is_empty() {
        return Ok(None);
    }
    let listed = session.call("providers.list", json!({})).await?;
    let listed: ProvidersListResult = serde_json::from_value(listed)?;
    let of_key = listed
        .active
        .map(|name| ["keyEnv", "keySecret"].map(|key| format!("providers.{name}.{key}")));
    let is_of_model = |trouble: &&ConfigTrouble| {
        trouble.key == "model.provider"
            || of_key.as_ref().is_some_and(|keys| keys.contains(&trouble.key))
    };
    Ok(view.troubles.iter().find(is_of_model).cloned())
}

/// What is the matter with the program of the hook in this place.
pub(crate) fn of_hook(view: &ConfigView, place: usize) -> Option<&str> {
    let key = format!("hooks[{place}].command");
    view.troubles.iter().find(|trouble| trouble.key == key).map(|trouble| trouble.text.as_str())
}
