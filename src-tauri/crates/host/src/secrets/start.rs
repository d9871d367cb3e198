//! The secrets of a start: where they are, and which keys of Rouse's own are recognised beside them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rouse_agent::{Secret, SecretBook, SecretValue, usual_key_variables};
use rouse_gateway::Client;

use super::keyring::SystemKeyring;
use super::{OwnKeys, SecretShelf};
use crate::options::HostOptions;
use crate::settings::LiveSettings;

/// How long a start waits for the keyring.
const ANSWERS_IN: Duration = Duration::from_secs(3);

/// The secrets of this data directory; `book` holds them once they are loaded.
pub(crate) fn shelf(
    options: &HostOptions,
    settings: &Arc<LiveSettings>,
    book: Arc<SecretBook>,
) -> Arc<SecretShelf> {
    // `ROUSE_KEYRING=0`: none, although there may be one.
    let wanted = (options.env)("ROUSE_KEYRING").as_deref() != Some("0");
    let keyring = wanted.then(|| Arc::new(SystemKeyring) as _);
    let (path, clock) = (options.home.secrets(), Arc::clone(&options.clock));
    let own = own_keys(options, settings);
    let shelf = Arc::new(SecretShelf::open(path, keyring, own, clock, Arc::clone(&book)));
    let source: Weak<SecretShelf> = Arc::downgrade(&shelf);
    book.looks_in(source);
    shelf
}

/// Waits for the keyring, but not for a person who has to unlock it: the values are fetched all the same.
pub(crate) async fn load_at_start(secrets: &Arc<SecretShelf>) {
    let secrets = Arc::clone(secrets);
    let loading = tokio::spawn(async move { secrets.load().await });
    if tokio::time::timeout(ANSWERS_IN, loading).await.is_err() {
        tracing::warn!("the system's keyring has not answered yet; secrets are not at hand");
    }
}

/// The keys of providers and the gateway's token, as they are when somebody asks.
fn own_keys(options: &HostOptions, settings: &Arc<LiveSettings>) -> OwnKeys {
    let (env, settings) = (Arc::clone(&options.env), Arc::clone(settings));
    let token = Client::token_path(options.home.root());
    Arc::new(move || {
        let config = settings.now();
        let named = config.providers.values().filter_map(|entry| entry.key_env.clone());
        let variables = named.chain(usual_key_variables().map(str::to_owned));
        let mut keys: Vec<(String, Option<String>)> =
            variables.map(|variable| (variable.clone(), env(&variable))).collect();
        keys.push(("GATEWAY_TOKEN".to_owned(), std::fs::read_to_string(&token).ok()));
        let as_secret = |(name, key): (String, Option<String>)| {
            // What stands in for a key, as `none` does, is a word like any other.
            let value = SecretValue::new(key?.trim()).ok().filter(SecretValue::is_watched)?;
            Some(Secret::never_sent(&name, value))
        };
        keys.into_iter().filter_map(as_secret).collect()
    })
}
