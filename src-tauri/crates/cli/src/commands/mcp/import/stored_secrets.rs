//! The secrets of a server from the file of another program: an offer to store each before the server starts.
//!
//! Owns the prompts. Never prints a value and never changes a stored secret. A secret that is not stored keeps the
//! installation possible: the server reports the missing secret at its start.

use rouse_core::extension::ExtensionName;
use rouse_core::extension::import::ImportedSecret;
use rouse_gateway::wire::{SecretView, SecretsListResult};
use serde_json::json;

use crate::commands::extensions::ask_line;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::{is_confirmed, read_secret};

/// Offers to store each secret of the server `name`, bound to the server.
pub(in crate::commands::mcp) async fn offer_secrets(
    engine: &EngineConnection,
    name: &ExtensionName,
    secrets: &[ImportedSecret],
) -> Result<(), CliError> {
    if secrets.is_empty() {
        return Ok(());
    }
    let list: SecretsListResult = engine.fetch("secrets.list", json!({})).await?;
    for secret in secrets {
        match list.secrets.iter().find(|stored| stored.name == secret.name) {
            Some(stored) => anstream::eprintln!("{}", stored_text(stored, name)),
            None => offer_secret(engine, name, secret).await?,
        }
    }
    Ok(())
}

/// A stored secret stays as it is.
fn stored_text(stored: &SecretView, name: &ExtensionName) -> String {
    let secret = &stored.name;
    if stored.servers.contains(name) {
        return format!("The secret {secret} is stored already.");
    }
    format!(
        "A secret {secret} is stored already, not for the server {name}. To replace it: rouse secrets set {secret} --server {name}"
    )
}

async fn offer_secret(
    engine: &EngineConnection,
    server: &ExtensionName,
    secret: &ImportedSecret,
) -> Result<(), CliError> {
    let (name, field) = (&secret.name, &secret.field);
    let value = match secret.value() {
        Some(value) => {
            let prompt = format!(
                "Store the value of {field} as the secret {name}, only for the server {server}? [y/N] "
            );
            is_confirmed(&ask_line(&prompt).await?).then(|| value.to_owned())
        }
        None => {
            let typed = read_secret(&format!("secret {name} for {field} (Enter skips)"))?;
            (!typed.trim().is_empty()).then_some(typed)
        }
    };
    let Some(value) = value else {
        anstream::eprintln!("Not stored. Later: rouse secrets set {name} --server {server}");
        return Ok(());
    };
    let params = json!({ "name": name, "value": value, "servers": [server] });
    match engine.call("secrets.set", params).await {
        Ok(_) => anstream::eprintln!("Stored {name}, only for the server {server}."),
        Err(error) if error.is_unreachable() => return Err(error),
        Err(error) => {
            let reason = error.lines().join(" ");
            anstream::eprintln!("{name} was not stored: {reason}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_secret_of_another_server_is_named() {
        let server: ExtensionName = "cal".parse().expect("a name");
        let stored = |servers: &[&str]| -> SecretView {
            serde_json::from_value(json!({
                "name": "cal_key", "hosts": [], "servers": servers, "setAtMs": 0,
                "storedIn": "keyring", "problem": null,
            }))
            .expect("a secret")
        };
        assert_eq!(
            stored_text(&stored(&["cal"]), &server),
            "The secret cal_key is stored already."
        );
        let text = stored_text(&stored(&["mail"]), &server);
        assert!(text.ends_with("rouse secrets set cal_key --server cal"), "{text}");
    }
}
