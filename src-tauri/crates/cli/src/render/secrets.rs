//! Problems of stored secrets.

use rouse_gateway::wire::{SecretStorage, SecretsListResult};
use serde_json::json;

use super::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// Unavailable secrets, and the warning about their storage.
pub(crate) async fn secret_problems(engine: &EngineConnection) -> Result<Vec<String>, CliError> {
    let list: SecretsListResult = engine.fetch("secrets.list", json!({})).await?;
    let in_keyring =
        list.secrets.iter().filter(|secret| secret.stored_in == SecretStorage::Keyring);
    let unavailable = in_keyring.filter_map(|secret| {
        let problem = escape(secret.problem.as_ref()?);
        Some(format!("The secret {} is not at hand, because {problem}", secret.name))
    });
    Ok(unavailable.chain(list.warning.as_deref().map(escape)).collect())
}
