//! The search provider of the settings, for `web_search`.
//!
//! Owns the choice: `search.provider`, or the first provider with a key in its usual variable. The key is looked up
//! for each search, so a changed key applies at once. Never stores a key. Pitfall: a stored key is sent only to its
//! bound hosts.

use std::sync::Arc;

use rouse_agent::SecretBook;
use rouse_core::tool::BoxFuture;
use rouse_tools::{SearchAccess, SearchKind, SearchSettings};
use tokio::sync::watch;

use rouse_core::settings::SearchSection;

use crate::config::Config;
use crate::options::EnvReader;

/// The advice without a provider.
const SETUP_ADVICE: &str = "No search provider is set up. Set one in Settings, or with `rouse config set search.provider brave` \
     (brave, tavily, exa, kagi; searxng with search.url), and give its key: set BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY or \
     KAGI_API_KEY where Rouse starts, or store it with `rouse secrets set` and name it in search.keySecret.";

/// The search settings with the environment and the secrets.
pub(crate) struct ConfiguredSearch {
    pub(crate) settings: watch::Receiver<Config>,
    pub(crate) env: EnvReader,
    pub(crate) secrets: Arc<SecretBook>,
}

impl ConfiguredSearch {
    fn config(&self) -> SearchSection {
        self.settings.borrow().search.clone()
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.env)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The configured provider, or the first with a key in its usual variable.
    fn kind(&self, config: &SearchSection) -> Option<SearchKind> {
        let has_key = |kind: &SearchKind| {
            kind.key_variable().and_then(|variable| self.variable(variable)).is_some()
        };
        config.provider.or_else(|| SearchKind::ALL.iter().copied().find(has_key))
    }

    /// The key, or why there is none.
    async fn key(
        &self,
        config: &SearchSection,
        kind: SearchKind,
    ) -> Result<Option<String>, String> {
        let Some(usual) = kind.key_variable() else { return Ok(None) };
        if let Some(secret) = &config.key_secret {
            let url = config.url.as_deref().or(kind.default_url()).unwrap_or_default();
            let key = self.secrets.key_for(secret, url).await;
            let key = key.map_err(|error| format!("{} has no key: {error}.", kind.title()))?;
            return Ok(Some(key.expose().to_owned()));
        }
        let variable = config.key_env.as_deref().unwrap_or(usual);
        let key = self.variable(variable);
        let missing = || {
            let host = kind.default_url().unwrap_or_default().trim_start_matches("https://");
            let name = kind.name();
            format!(
                "{} has no key. Set {variable} where Rouse starts, or store the key with `rouse secrets set {name} --host {host}` and then `rouse config set search.keySecret {name}`.",
                kind.title()
            )
        };
        key.ok_or_else(missing).map(Some)
    }
}

impl SearchSettings for ConfiguredSearch {
    fn is_set_up(&self) -> bool {
        let config = self.config();
        let Some(kind) = self.kind(&config) else { return false };
        let Some(usual) = kind.key_variable() else { return config.url.is_some() };
        // A stored key that is unavailable is an error of the search, with advice.
        let variable = config.key_env.as_deref().unwrap_or(usual);
        config.key_secret.is_some() || self.variable(variable).is_some()
    }

    fn access(&self) -> BoxFuture<'_, Result<SearchAccess, String>> {
        Box::pin(async move {
            let config = self.config();
            let kind = self.kind(&config).ok_or_else(|| SETUP_ADVICE.to_owned())?;
            if kind.default_url().is_none() && config.url.is_none() {
                return Err(format!(
                    "{} has no address. Set it with `rouse config set search.url http://127.0.0.1:8888`.",
                    kind.title()
                ));
            }
            let key = self.key(&config, kind).await?;
            Ok(SearchAccess { kind, url: config.url, key })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rouse_core::schedule::Zones;

    use super::*;
    use crate::config::{ConfigFile, MachineFacts};

    fn configured(
        search: SearchSection,
        variables: &'static [(&'static str, &'static str)],
    ) -> ConfiguredSearch {
        let (path, workspace) = (Path::new("/nonexistent/config.toml"), Path::new("/workspace"));
        let zones = Zones::built_in(chrono_tz::UTC);
        let machine =
            MachineFacts { env: &|_| None, zones: &zones, secrets: None, recipients: None };
        let defaults = ConfigFile::open(path, workspace, machine).expect("the defaults");
        let config = Config { search, ..defaults.config().clone() };
        let env = move |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let (_, settings) = watch::channel(config);
        ConfiguredSearch { settings, env: Arc::new(env), secrets: Arc::default() }
    }

    #[tokio::test]
    async fn provider_without_settings_comes_from_its_variable() {
        let none = configured(SearchSection::default(), &[]);
        assert!(!none.is_set_up());
        assert_eq!(none.access().await.expect_err("no provider"), SETUP_ADVICE);
        let exa =
            configured(SearchSection::default(), &[("BRAVE_API_KEY", " "), ("EXA_API_KEY", "k\n")]);
        assert!(exa.is_set_up());
        let access = exa.access().await.expect("a provider");
        assert_eq!((access.kind, access.key.as_deref()), (SearchKind::Exa, Some("k")));
    }

    #[tokio::test]
    async fn configured_provider_names_the_missing_part() {
        let with_kind = |kind| SearchSection { provider: Some(kind), ..SearchSection::default() };
        let keyless = configured(with_kind(SearchKind::Brave), &[("EXA_API_KEY", "k")]);
        assert!(!keyless.is_set_up());
        let error = keyless.access().await.expect_err("no key");
        assert!(error.contains("rouse secrets set brave --host api.search.brave.com"), "{error}");
        let nowhere = configured(with_kind(SearchKind::Searxng), &[]);
        assert!(!nowhere.is_set_up());
        assert!(nowhere.access().await.expect_err("no address").contains("search.url"));
        let stored =
            SearchSection { key_secret: Some("brave".to_owned()), ..with_kind(SearchKind::Brave) };
        let error = configured(stored, &[]).access().await.expect_err("no secret");
        assert!(error.contains("the secret brave is not stored"), "{error}");
        let url = Some("http://127.0.0.1:8888".to_owned());
        let here = configured(SearchSection { url, ..with_kind(SearchKind::Searxng) }, &[]);
        assert!(here.is_set_up() && here.access().await.is_ok_and(|access| access.key.is_none()));
    }
}
