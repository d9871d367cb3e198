//! The discovered models and the preferred model.
//!
//! Order: configured providers, then local servers that answer, then keys in the environment. Discovery runs at
//! start, on changed settings, on request, before a run without a model, and periodically while there is no model
//! (`apply_settings`). A start never waits for discovery.

mod failures;
mod record;
mod setup;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use rouse_agent::{
    ApiKey, BudgetLedger, ChosenModel, FoundIn, FoundModel, LocalAddresses, ProviderConfig,
    ProviderKey, RunModels, Safety, SecretBook, StoredKey, discover, key_variable,
    local_server_title,
};
use rouse_core::Clock;
use rouse_core::tool::BoxFuture;
use rouse_gateway::wire::{
    FailingModel, ModelTestView, ModelsListParams, ModelsListResult, ModelsTestParams,
    ProviderSource, ProviderState, ProviderView, ProvidersListResult, PullView,
};
use rouse_gateway::{Models, RpcError};
use rouse_store::{Store, StoreError};
use serde_json::Value;
use tokio::sync::watch;

use rouse_core::settings::ProviderSection;

use crate::config::{Config, unknown_provider};
use crate::options::EnvReader;
use failures::{KeySource, ModelFailures};
use record::TrackRecord;
use setup::Pulls;

/// The setting with the local server of the preferred model; null if the model is remote.
const LAST_LOCAL_SERVER: &str = "models.lastLocal";

/// The models of this engine.
pub(crate) struct ModelCatalog {
    settings: watch::Receiver<Config>,
    env: EnvReader,
    secrets: Arc<SecretBook>,
    /// The only model, overriding discovery.
    fixed: Option<ChosenModel>,
    discovered: RwLock<DiscoveredModels>,
    failing: Arc<ModelFailures>,
    pulls: Pulls,
    ledger: Arc<BudgetLedger>,
    store: Store,
    clock: Arc<dyn Clock>,
    available: watch::Sender<bool>,
}

#[derive(Default)]
struct DiscoveredModels {
    models: Arc<rouse_agent::AvailableModels>,
    views: Vec<ProviderView>,
}

impl ModelCatalog {
    /// Starts without models except `fixed`, and with the stored failures.
    pub(crate) async fn open(
        settings: watch::Receiver<Config>,
        (env, secrets): (EnvReader, Arc<SecretBook>),
        fixed: Option<ChosenModel>,
        ledger: Arc<BudgetLedger>,
        (store, clock): (Store, Arc<dyn Clock>),
    ) -> Arc<Self> {
        let available = watch::Sender::new(fixed.is_some());
        let record = TrackRecord::open(store.clone(), Arc::clone(&clock)).await;
        let failing = ModelFailures::open(store.clone(), Arc::clone(&clock), record).await;
        let (discovered, pulls) = (RwLock::default(), Pulls::default());
        Arc::new(Self {
            settings,
            env,
            secrets,
            fixed,
            discovered,
            failing,
            pulls,
            ledger,
            store,
            clock,
            available,
        })
    }

    /// Whether there is no model but a local server may start at any time.
    pub(crate) fn may_appear(&self) -> bool {
        self.fixed.is_none() && !*self.available.borrow() && self.searches_local()
    }

    fn searches_local(&self) -> bool {
        (self.env)("ROUSE_LOCAL_MODELS").as_deref() != Some("0")
    }

    /// Whether there is a model; a watch of changes.
    pub(crate) fn available(&self) -> watch::Receiver<bool> {
        self.available.subscribe()
    }

    /// The models of a job: `wish`, then its fallbacks. Discovers again if a named provider is missing.
    pub(crate) async fn run_models(&self, wish: Option<&str>, fallbacks: &[String]) -> RunModels {
        self.failing.record_models(self.choose_models(wish, fallbacks).await)
    }

    async fn choose_models(&self, wish: Option<&str>, fallbacks: &[String]) -> RunModels {
        if let Some(fixed) = &self.fixed {
            return RunModels::of([fixed.clone()]);
        }
        let named = || wish.into_iter().chain(fallbacks.iter().map(String::as_str));
        let discovered = self.models();
        let chosen = discovered.run_models(wish, fallbacks);
        let is_complete =
            discovered.preferred().is_some() || wish.is_some_and(|wish| discovered.is_named(wish));
        if is_complete
            && chosen.first().is_some()
            && named().all(|wish| discovered.missing_provider(wish).is_none())
        {
            return chosen;
        }
        self.refresh().await;
        let chosen = self.models().run_models(wish, fallbacks);
        match (chosen.first(), self.unknown_provider_for(wish)) {
            (Some(_), _) => chosen,
            (None, Some(problem)) => RunModels::misconfigured(problem),
            (None, None) => match self.stopped_server_problem(wish).await {
                Some(problem) => RunModels::not_running(problem),
                None => self
                    .missing_named_provider(wish)
                    .map_or_else(RunModels::default, RunModels::misconfigured),
            },
        }
    }

    /// The problem of a named provider that was not discovered.
    fn missing_named_provider(&self, wish: Option<&str>) -> Option<String> {
        let models = self.models();
        wish.filter(|wish| models.missing_provider(wish).is_some())?;
        models.model_warning(wish)
    }

    /// The problem of a provider in the settings that does not exist; none if the run names an own missing provider.
    fn unknown_provider_for(&self, wish: Option<&str>) -> Option<String> {
        let discovered = self.discovered.read().unwrap_or_else(PoisonError::into_inner);
        let own = wish.and_then(|wish| discovered.models.missing_provider(wish));
        let is_found = |own: &str| discovered.views.iter().any(|view| view.name == own);
        if own.is_some_and(|own| !is_found(own)) {
            return None;
        }
        drop(discovered);
        self.missing_provider()
    }

    /// The problem of a local server that is not running: the server named by the run, by the settings, or used last.
    /// None if no local server was ever used.
    async fn stopped_server_problem(&self, wish: Option<&str>) -> Option<String> {
        let of_settings = self.settings.borrow().model.provider.clone();
        let last = match self.store.setting(LAST_LOCAL_SERVER).await {
            Ok(last) => last.as_ref().and_then(Value::as_str).map(str::to_owned),
            Err(error) => {
                tracing::warn!(%error, "the last local server cannot be read");
                None
            }
        };
        // A run that names a provider uses no other provider.
        let title =
            match wish.and_then(|wish| self.models().missing_provider(wish).map(str::to_owned)) {
                Some(provider) => local_server_title(&provider)?,
                None => [of_settings, last]
                    .into_iter()
                    .flatten()
                    .find_map(|name| local_server_title(&name))?,
            };
        Some(format!(
            "{title} has the model for this run but is not running on this computer. Start {title}, or add a fallback model."
        ))
    }

    /// Stores whether the preferred model is local.
    async fn store_local_server(&self, preferred: Option<&FoundModel>) {
        let Some(preferred) = preferred else { return };
        let local =
            Some(&preferred.provider.name).filter(|name| local_server_title(name).is_some());
        let local = local.map_or(Value::Null, |name| Value::String(name.clone()));
        let stored = async {
            if self.store.setting(LAST_LOCAL_SERVER).await?.unwrap_or_default() != local {
                self.store.put_setting(LAST_LOCAL_SERVER, &local, None, self.clock.now()).await?;
            }
            Ok::<(), StoreError>(())
        };
        if let Err(error) = stored.await {
            tracing::warn!(%error, "the local server in use could not be stored");
        }
    }

    /// Discovers models and chooses the preferred model.
    pub(crate) async fn refresh(&self) {
        if self.fixed.is_some() {
            return;
        }
        let config = self.settings.borrow().clone();
        let configured = config
            .providers
            .iter()
            .map(|(name, entry)| self.provider_config(name, entry))
            .collect();
        let found = discover(configured, |name| (self.env)(name), &self.local_addresses()).await;
        let models = Arc::new(preferred_first(
            &config,
            found.clone(),
            &Safety::new(Arc::clone(&self.secrets)),
        ));
        self.store_local_server(models.preferred()).await;
        let has_model = models.choose(None).is_some();
        let address =
            |found: &FoundModel| (found.provider.name.clone(), found.provider.base_url.clone());
        self.failing.record().set_addresses(found.iter().map(address).collect::<BTreeMap<_, _>>());
        let views = found.iter().map(|model| view(&config, model)).collect();
        *self.discovered.write().unwrap_or_else(PoisonError::into_inner) =
            DiscoveredModels { models, views };
        self.available
            .send_if_modified(|present| std::mem::replace(present, has_model) != has_model);
    }

    fn models(&self) -> Arc<rouse_agent::AvailableModels> {
        Arc::clone(&self.discovered.read().unwrap_or_else(PoisonError::into_inner).models)
    }

    /// `ROUSE_LOCAL_MODELS=0` disables the search for local servers.
    fn local_addresses(&self) -> LocalAddresses {
        if self.searches_local() { LocalAddresses::default() } else { LocalAddresses::nowhere() }
    }

    fn provider_config(&self, name: &str, entry: &ProviderSection) -> ProviderConfig {
        let in_variable = || {
            let key = entry.key_env.as_ref().and_then(|variable| (self.env)(variable))?;
            ApiKey::new(&key).map(ProviderKey::Given)
        };
        let stored = entry
            .key_secret
            .clone()
            .map(|secret| ProviderKey::Stored(StoredKey::new(secret, Arc::clone(&self.secrets))));
        ProviderConfig {
            name: name.to_owned(),
            kind: entry.kind,
            base_url: entry.base_url.clone(),
            model: entry.model.clone(),
            context_tokens: entry.context_tokens,
            effort: entry.effort,
            api_key: stored.or_else(in_variable),
        }
    }
}

impl ModelCatalog {
    /// Adds the state of the model and the tests of all models to a view.
    fn with_record(&self, mut view: ProviderView) -> ProviderView {
        let record = self.failing.record();
        view.tests = record.tests(&view.name, &view.base_url);
        let is_failing = self
            .failing()
            .iter()
            .any(|failure| failure.provider == view.name && failure.model == view.model);
        view.state = match () {
            () if is_failing => ProviderState::Failing,
            () if record.has_answered(&view.name, &view.base_url, &view.model) => {
                ProviderState::Answered
            }
            () => ProviderState::Untried,
        };
        view
    }

    /// Adds the present problem of a stored key: secrets change without discovery.
    fn with_key_problem(&self, mut view: ProviderView) -> ProviderView {
        if let Some(secret) = &view.key_secret {
            let problem = self.secrets.key_error(secret, &view.base_url);
            view.problem = problem.map(|error| format!("No key: {error}."));
        }
        view
    }
}

impl Models for ModelCatalog {
    fn list(&self, refresh: bool) -> BoxFuture<'_, ProvidersListResult> {
        Box::pin(async move {
            if refresh {
                self.refresh().await;
            }
            let preferred = self.models().preferred().map(|found| found.provider.clone());
            let views =
                self.discovered.read().unwrap_or_else(PoisonError::into_inner).views.clone();
            for secret in views.iter().filter_map(|view| view.key_secret.as_ref()) {
                self.secrets.reload(secret).await;
            }
            let providers = views.into_iter().map(|view| {
                let mut view = self.with_key_problem(view);
                if let Some(provider) = &preferred
                    && provider.name == view.name
                {
                    view.model.clone_from(&provider.model);
                }
                self.with_record(view)
            });
            let providers = providers.collect();
            ProvidersListResult { active: preferred.map(|provider| provider.name), providers }
        })
    }

    fn active_label(&self) -> Option<String> {
        if let Some(fixed) = &self.fixed {
            return Some(format!("{} · {}", fixed.model, fixed.provider.name()));
        }
        let models = self.models();
        let found = models.preferred()?;
        let provider = &found.provider;
        let suffix = if found.source == FoundIn::ThisComputer { " on this computer" } else { "" };
        Some(format!("{} · {}{suffix}", provider.model, provider.name))
    }

    fn is_untested(&self) -> bool {
        let models = self.models();
        models.preferred().filter(|_| self.fixed.is_none()).is_some_and(|found| {
            let ProviderConfig { name, base_url, model, .. } = &found.provider;
            !self.failing.record().has_answered(name, base_url, model)
        })
    }

    fn missing_provider(&self) -> Option<String> {
        if self.fixed.is_some() {
            return None;
        }
        let config = self.settings.borrow();
        let problem = unknown_provider(&config, config.model.provider.as_deref()?)?;
        Some(format!("No model answers. model.provider in the settings: {problem}"))
    }

    fn model_warning(&self, wish: Option<&str>) -> Option<String> {
        if self.fixed.is_some() {
            return None;
        }
        let warning = self.models().model_warning(wish)?;
        Some(self.unknown_provider_for(wish).unwrap_or(warning))
    }

    fn context_tokens(&self, wish: Option<&str>) -> Option<u32> {
        let models = match &self.fixed {
            Some(fixed) => RunModels::of([fixed.clone()]),
            None => self.models().run_models(wish, &[]),
        };
        models.first().and_then(|model| model.provider.context_tokens(&model.model))
    }

    fn catalog(
        &self,
        wanted: ModelsListParams,
    ) -> BoxFuture<'_, Result<ModelsListResult, RpcError>> {
        Box::pin(self.list_models(wanted))
    }

    fn test(&self, wanted: ModelsTestParams) -> BoxFuture<'_, Result<ModelTestView, RpcError>> {
        Box::pin(self.test_chosen(wanted))
    }

    fn ollama_needs_model(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { rouse_agent::is_ollama_empty(&self.local_addresses()).await })
    }

    fn pull(self: Arc<Self>, model: String) -> Result<PullView, RpcError> {
        self.start_pull(model)
    }

    fn pull_view(&self) -> Option<PullView> {
        self.pulls.view()
    }

    fn cancel_pull(&self) -> bool {
        self.pulls.cancel()
    }

    fn failing(&self) -> Vec<FailingModel> {
        if let Some(fixed) = &self.fixed {
            let key_of = |name: &str| (name == fixed.provider.name()).then_some(KeySource::Unknown);
            return self.failing.report(key_of);
        }
        let discovered = self.discovered.read().unwrap_or_else(PoisonError::into_inner);
        self.failing.report(|name| {
            let view = discovered.views.iter().find(|view| view.name == name)?;
            Some(match (&view.key_secret, &view.key_env) {
                (Some(secret), _) => KeySource::secret(secret, &self.secrets),
                (None, Some(variable)) => KeySource::Variable(variable.clone()),
                (None, None) => KeySource::Unknown,
            })
        })
    }
}

/// Puts the provider and the model of the settings first.
fn preferred_first(
    config: &Config,
    mut found: Vec<FoundModel>,
    safety: &Safety,
) -> rouse_agent::AvailableModels {
    if let Some(name) = &config.model.provider {
        match found.iter().position(|model| model.provider.name == *name) {
            Some(position) => found[..=position].rotate_right(1),
            None => {
                return rouse_agent::AvailableModels::connect(found, safety).without_preferred();
            }
        }
    }
    if let (Some(first), Some(model)) = (found.first_mut(), &config.model.name) {
        first.provider.model.clone_from(model);
    }
    rouse_agent::AvailableModels::connect(found, safety)
}

fn view(config: &Config, found: &FoundModel) -> ProviderView {
    let provider = &found.provider;
    let key_env = match found.source {
        FoundIn::Configuration => {
            config.providers.get(&provider.name).and_then(|entry| entry.key_env.clone())
        }
        FoundIn::ThisComputer => None,
        FoundIn::Environment => key_variable(&provider.name).map(str::to_owned),
    };
    let key_secret = match found.source {
        FoundIn::Configuration => {
            config.providers.get(&provider.name).and_then(|entry| entry.key_secret.clone())
        }
        FoundIn::ThisComputer | FoundIn::Environment => None,
    };
    let missing = key_env
        .as_ref()
        .filter(|_| found.source == FoundIn::Configuration && provider.api_key.is_none());
    ProviderView {
        name: provider.name.clone(),
        label: found.label.clone(),
        kind: provider.kind,
        base_url: provider.base_url.clone(),
        model: provider.model.clone(),
        source: match found.source {
            FoundIn::Configuration => ProviderSource::Config,
            FoundIn::ThisComputer => ProviderSource::Local,
            FoundIn::Environment => ProviderSource::Environment,
        },
        problem: missing.map(|variable| format!("The environment variable {variable} is not set.")),
        key_env,
        key_secret,
        state: ProviderState::Untried,
        tests: Vec::new(),
    }
}
