//! The secrets at start: the vault, and the redaction of Rouse's own keys.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rouse_agent::{Secret, SecretBook, SecretValue, key_variables};
use rouse_gateway::Client;

use super::keyring::SystemKeyring;
use super::{OwnKeys, SecretVault};
use crate::options::HostOptions;
use crate::settings::LiveSettings;

/// How long a start waits for the keyring.
const KEYRING_TIMEOUT: Duration = Duration::from_secs(3);

/// Opens the vault of this data directory; `load` fills `book`.
pub(crate) fn open_vault(
    options: &HostOptions,
    settings: &Arc<LiveSettings>,
    book: Arc<SecretBook>,
) -> Arc<SecretVault> {
    // `ROUSE_KEYRING=0` switches the keyring off.
    let wanted = (options.env)("ROUSE_KEYRING").as_deref() != Some("0");
    let keyring = wanted.then(|| Arc::new(SystemKeyring) as _);
    let (path, clock) = (options.home.secrets(), Arc::clone(&options.clock));
    let own = own_keys(options, settings);
    let vault = Arc::new(SecretVault::open(path, keyring, own, clock, Arc::clone(&book)));
    let source: Weak<SecretVault> = Arc::downgrade(&vault);
    book.set_source(source);
    vault
}

/// Loads the secrets with a timeout; a pending unlock prompt continues in the background.
pub(crate) async fn load_at_start(secrets: &Arc<SecretVault>) {
    let secrets = Arc::clone(secrets);
    let loading = tokio::spawn(async move { secrets.load().await });
    if tokio::time::timeout(KEYRING_TIMEOUT, loading).await.is_err() {
        tracing::warn!("the system's keyring has not answered yet; secrets are unavailable");
    }
}

/// Reads the provider keys and the gateway token on demand.
fn own_keys(options: &HostOptions, settings: &Arc<LiveSettings>) -> OwnKeys {
    let (env, settings) = (Arc::clone(&options.env), Arc::clone(settings));
    let token = Client::token_path(options.home.root());
    Arc::new(move || {
        let config = settings.now();
        let named = config.providers.values().filter_map(|entry| entry.key_env.clone());
        let variables = named.chain(key_variables().map(str::to_owned));
        let mut keys: Vec<(String, Option<String>)> =
            variables.map(|variable| (variable.clone(), env(&variable))).collect();
        keys.push(("GATEWAY_TOKEN".to_owned(), std::fs::read_to_string(&token).ok()));
        let as_secret = |(name, key): (String, Option<String>)| {
            // A placeholder key such as `none` is an ordinary word.
            let value = SecretValue::new(key?.trim()).ok().filter(SecretValue::is_redactable)?;
            Some(Secret::redacted_only(&name, value))
        };
        keys.into_iter().filter_map(as_secret).collect()
    })
}
