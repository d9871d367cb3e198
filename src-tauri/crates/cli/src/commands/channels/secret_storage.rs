//! The secrets of a new channel: read from the keyboard or a pipe, stored with the host of the channel.
//!
//! Never prints a value. Pitfall: quoting a typed address in an error; the address of a webhook is a password.

use std::io::{IsTerminal as _, stdin};

use rouse_core::channel::ChannelSection;
use rouse_gateway::wire::{SecretRemoved, SecretStorage, SecretView};
use rouse_host::is_signing_key;
use serde_json::json;

use super::kind_setup::{ChannelSecret, secrets_of};
use super::new_channel::{NewChannel, TypedSecret};
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::{read_piped_secrets, read_secret};

const INVALID_SIGNING_KEY: &str = "the signing key of the webhook must be whsec_ and the base64 of 24 to 64 random \
    bytes, such as the output of: echo \"whsec_$(openssl rand -base64 32)\"";

/// Reads the secrets of a channel without echo, or one per line from a pipe.
pub(super) fn read_secrets(
    section: &ChannelSection,
    is_piped: bool,
) -> Result<Vec<TypedSecret>, CliError> {
    let wanted = secrets_of(section);
    let labels: Vec<String> = wanted.iter().map(label_text).collect();
    let labels = labels.join(", ");
    let mut piped = if wanted.is_empty() {
        None
    } else if is_piped {
        anstream::eprintln!("Secrets on standard input, one per line: {labels}");
        Some(read_piped_secrets()?.into_iter())
    } else if stdin().is_terminal() {
        None
    } else {
        return Err(CliError::input(format!(
            "a secret is typed at a terminal, or piped with --secret-stdin, one per line: {labels}"
        )));
    };
    let mut typed = Vec::with_capacity(wanted.len());
    for secret in wanted {
        let value = match &mut piped {
            Some(lines) => lines.next().unwrap_or_default(),
            None => read_secret(&label_text(&secret))?.trim().to_owned(),
        };
        typed.extend(check_value(secret, value)?);
    }
    Ok(typed)
}

fn label_text(secret: &ChannelSecret) -> String {
    let hint = if secret.is_optional { " (empty for none)" } else { "" };
    format!("{}{hint}", secret.label)
}

/// The secret with its value; none for an optional secret without a value.
pub(super) fn check_value(
    secret: ChannelSecret,
    value: String,
) -> Result<Option<TypedSecret>, CliError> {
    if value.is_empty() && secret.is_optional {
        return Ok(None);
    }
    if value.is_empty() {
        return Err(CliError::input(format!("the {} is missing", secret.label)));
    }
    let is_web_address = value.starts_with("https://") || value.starts_with("http://");
    if secret.is_address() && !is_web_address {
        return Err(CliError::input(format!("the {} must begin with https://", secret.label)));
    }
    if secret.is_signing_key() && !is_signing_key(&value) {
        return Err(CliError::input(INVALID_SIGNING_KEY));
    }
    Ok(Some(TypedSecret { secret, value }))
}

/// Stores the secrets. After an error none of them stays.
pub(super) async fn store_secrets(
    channel: &NewChannel,
    engine: &EngineConnection,
) -> Result<Vec<SecretView>, CliError> {
    let host = channel.secret_host();
    let mut stored: Vec<SecretView> = Vec::with_capacity(channel.secrets.len());
    for TypedSecret { secret, value } in &channel.secrets {
        let name = secret.name(channel.name.as_str());
        let params = json!({ "name": name, "value": value, "hosts": [host] });
        match engine.fetch("secrets.set", params).await {
            Ok(view) => stored.push(view),
            Err(error) => {
                remove_stored(&stored, engine).await;
                return Err(channel.secret_error(secret, error));
            }
        }
    }
    Ok(stored)
}

/// Removes the secrets of a channel that was not set up.
pub(super) async fn remove_stored(stored: &[SecretView], engine: &EngineConnection) {
    for secret in stored {
        let removed = engine.call("secrets.remove", json!({ "name": secret.name })).await;
        if removed.is_err() {
            let name = escape(&secret.name);
            anstream::eprintln!("The secret {name} stays. Remove it: rouse secrets rm {name}");
        }
    }
}

/// Removes those of the secrets that exist. Returns the remaining copies that the person must delete.
pub(super) async fn remove_existing(
    names: &[String],
    engine: &EngineConnection,
) -> Result<Vec<String>, CliError> {
    let mut cleanups = Vec::new();
    for name in names {
        let removed = engine.fetch("secrets.remove", json!({ "name": name })).await;
        match removed {
            Ok(SecretRemoved { manual_cleanup, .. }) => cleanups.extend(manual_cleanup),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(cleanups)
}

/// Prints that the secrets are in a file, and the limits of their redaction.
pub(super) fn print_storage(stored: &[SecretView]) {
    if stored.iter().any(|secret| secret.stored_in == SecretStorage::File) {
        anstream::println!(
            "The secrets are in a file that only you can read, not in the system keyring."
        );
    }
    for warning in stored.iter().filter_map(|secret| secret.warning.as_ref()) {
        anstream::println!("{}", escape(warning));
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::commands::channels::flags::Args;
    use crate::commands::channels::kind_setup::section_of_flags;

    #[derive(clap::Parser)]
    struct Add {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn invalid_secret_is_refused_without_its_value() {
        let of = |line: &str, value: &str| {
            let words = ["add", "desk", "--kind"].into_iter().chain(line.split(' '));
            let args = Add::try_parse_from(words).expect("flags").args;
            let section = section_of_flags(args.kind.expect("a kind"), &args);
            let secret = secrets_of(&section).pop().expect("a secret");
            check_value(secret, value.to_owned()).map(|typed| typed.is_some())
        };
        assert!(matches!(of("slack", "https://hooks.example.org/T1"), Ok(true)));
        let refused = of("slack", "hooks.example.org/canary").expect_err("refused").lines();
        assert_eq!(refused, ["the address of the webhook must begin with https://"]);
        let key = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        assert!(matches!(of("webhook --url https://example.org", key), Ok(true)));
        let refused = of("webhook --url https://example.org", "canary").expect_err("refused");
        let refused = refused.lines().join("\n");
        assert!(refused.starts_with("the signing key of the webhook must be whsec_"), "{refused}");
        assert!(!refused.contains("canary"), "{refused}");
        assert!(of("telegram --to 7", "").is_err());
        assert!(matches!(of("ntfy --url https://ntfy.example.org", ""), Ok(false)));
    }
}
