//! The models at hand, and the one in use.
//!
//! Configured providers come first, then servers on this computer that answer, then keys in the environment. Looking
//! happens at the start, when the settings change, when somebody asks, before a run that would otherwise have no model, and,
//! while there is none, now and then (`in_force`). The start does not wait for it.

mod failing;
mod record;
mod setup;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use rouse_agent::{
    ApiKey, ChosenModel, FoundIn, FoundModel, Ledger, Lineup, LocalAddresses, ProviderConfig,
    ProviderKey, Safety, SecretBook, StoredKey, discover, title_of_local, usual_key_variable,
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

use crate::config::{Config, ProviderEntry, nobody_called};
use crate::options::Env;
use failing::{Failing, KeyFrom};
use record::TrackRecord;
use setup::Pulls;

/// The setting that says which server on this computer has the model in use; null when none has.
const LAST_LOCAL: &str = "models.lastLocal";

/// What is known about models.
pub(crate) struct ModelShelf {
    settings: watch::Receiver<Config>,
    env: Env,
    secrets: Arc<SecretBook>,
    /// The one model there is, whatever would be found.
    fixed: Option<ChosenModel>,
    known: RwLock<Known>,
    failing: Arc<Failing>,
    pulls: Pulls,
    ledger: Arc<Ledger>,
    store: Store,
    clock: Arc<dyn Clock>,
    available: watch::Sender<bool>,
}

#[derive(Default)]
struct Known {
    models: Arc<rouse_agent::Models>,
    views: Vec<ProviderView>,
}

impl ModelShelf {
    /// Nothing is known yet, but for a `fixed` model that no looking changes, and for what failed before.
    pub(crate) async fn open(
        settings: watch::Receiver<Config>,
        (env, secrets): (Env, Arc<SecretBook>),
        fixed: Option<ChosenModel>,
        ledger: Arc<Ledger>,
        (store, clock): (Store, Arc<dyn Clock>),
    ) -> Arc<Self> {
        let available = watch::Sender::new(fixed.is_some());
        let record = TrackRecord::open(store.clone(), Arc::clone(&clock)).await;
        let failing = Failing::open(store.clone(), Arc::clone(&clock), record).await;
        let (known, pulls) = (RwLock::default(), Pulls::default());
        Arc::new(Self {
            settings,
            env,
            secrets,
            fixed,
            known,
            failing,
            pulls,
            ledger,
            store,
            clock,
            available,
        })
    }

    /// Whether there is none, and one may come without a word: a server on this computer that is started.
    pub(crate) fn may_come(&self) -> bool {
        self.fixed.is_none() && !*self.available.borrow() && self.looks_here()
    }

    fn looks_here(&self) -> bool {
        (self.env)("ROUSE_LOCAL_MODELS").as_deref() != Some("0")
    }

    /// Whether there is a model, and every change of that.
    pub(crate) fn available(&self) -> watch::Receiver<bool> {
        self.available.subscribe()
    }

    /// The models for a job that wishes for `wish`, then for its fallbacks; looks once more when one of them is of a
    /// provider that was not there.
    pub(crate) async fn line_up(&self, wish: Option<&str>, fallbacks: &[String]) -> Lineup {
        self.failing.watch(self.at_hand(wish, fallbacks).await)
    }

    async fn at_hand(&self, wish: Option<&str>, fallbacks: &[String]) -> Lineup {
        if let Some(fixed) = &self.fixed {
            return Lineup::of([fixed.clone()]);
        }
        let named = || wish.into_iter().chain(fallbacks.iter().map(String::as_str));
        let known = self.models();
        let lineup = known.line_up(wish, fallbacks);
        let is_whole = known.preferred().is_some() || wish.is_some_and(|wish| known.is_named(wish));
        if is_whole
            && lineup.first().is_some()
            && named().all(|wish| known.stranger_of(wish).is_none())
        {
            return lineup;
        }
        self.look().await;
        let lineup = self.models().line_up(wish, fallbacks);
        match (lineup.first(), self.nobody_for(wish)) {
            (Some(_), _) => lineup,
            (None, Some(nobody)) => Lineup::misnamed(nobody),
            (None, None) => match self.why_absent(wish).await {
                Some(why) => Lineup::absent(why),
                None => self.whose_is_missing(wish).map_or_else(Lineup::default, Lineup::misnamed),
            },
        }
    }

    /// That the provider which a run names is not at hand, where it names one.
    fn whose_is_missing(&self, wish: Option<&str>) -> Option<String> {
        let models = self.models();
        wish.filter(|wish| models.stranger_of(wish).is_some())?;
        models.doubt(wish)
    }

    /// That the settings name a provider that there is not, for a run that it keeps from a model: not for one whose own
    /// provider was found nowhere.
    fn nobody_for(&self, wish: Option<&str>) -> Option<String> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let own = wish.and_then(|wish| known.models.stranger_of(wish));
        let is_found = |own: &str| known.views.iter().any(|view| view.name == own);
        if own.is_some_and(|own| !is_found(own)) {
            return None;
        }
        drop(known);
        self.nobody()
    }

    /// Who would answer, if it is a server on this computer that is known to be used here: what a run names, or the
    /// settings, or what was used last. Without any nothing was ever set up.
    async fn why_absent(&self, wish: Option<&str>) -> Option<String> {
        let of_settings = self.settings.borrow().model.provider.clone();
        let last = match self.store.setting(LAST_LOCAL).await {
            Ok(last) => last.as_ref().and_then(Value::as_str).map(str::to_owned),
            Err(error) => {
                tracing::warn!(%error, "which model was used last cannot be read");
                None
            }
        };
        // A run that names a provider is not for another one.
        let title = match wish.and_then(|wish| self.models().stranger_of(wish).map(str::to_owned)) {
            Some(provider) => title_of_local(&provider)?,
            None => {
                [of_settings, last].into_iter().flatten().find_map(|name| title_of_local(&name))?
            }
        };
        Some(format!(
            "{title}, whose model is to do this, is not running on this computer. Start it, or name another model as a fallback."
        ))
    }

    /// Remembers that the model in use is on this computer, or that it is not.
    async fn remember(&self, preferred: Option<&FoundModel>) {
        let Some(preferred) = preferred else { return };
        let local = Some(&preferred.provider.name).filter(|name| title_of_local(name).is_some());
        let local = local.map_or(Value::Null, |name| Value::String(name.clone()));
        let stored = async {
            if self.store.setting(LAST_LOCAL).await?.unwrap_or_default() != local {
                self.store.put_setting(LAST_LOCAL, &local, None, self.clock.now()).await?;
            }
            Ok::<(), StoreError>(())
        };
        if let Err(error) = stored.await {
            tracing::warn!(%error, "which model is used cannot be remembered");
        }
    }

    /// Looks for models and decides which is preferred.
    pub(crate) async fn look(&self) {
        if self.fixed.is_some() {
            return;
        }
        let config = self.settings.borrow().clone();
        let configured =
            config.providers.iter().map(|(name, entry)| self.of_entry(name, entry)).collect();
        let found = discover(configured, |name| (self.env)(name), &self.local_addresses()).await;
        let models = Arc::new(preferred_first(
            &config,
            found.clone(),
            &Safety::new(Arc::clone(&self.secrets)),
        ));
        self.remember(models.preferred()).await;
        let has_model = models.choose(None).is_some();
        let address =
            |found: &FoundModel| (found.provider.name.clone(), found.provider.base_url.clone());
        self.failing.record().set_addresses(found.iter().map(address).collect::<BTreeMap<_, _>>());
        let views = found.iter().map(|model| view(&config, model)).collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Known { models, views };
        self.available
            .send_if_modified(|present| std::mem::replace(present, has_model) != has_model);
    }

    fn models(&self) -> Arc<rouse_agent::Models> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner).models)
    }

    /// `ROUSE_LOCAL_MODELS=0` looks nowhere on this computer.
    fn local_addresses(&self) -> LocalAddresses {
        if self.looks_here() { LocalAddresses::default() } else { LocalAddresses::nowhere() }
    }

    fn of_entry(&self, name: &str, entry: &ProviderEntry) -> ProviderConfig {
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

impl ModelShelf {
    /// The view with what is known of its models.
    fn with_record(&self, mut view: ProviderView, asked: &str) -> ProviderView {
        let record = self.failing.record();
        view.tests = record.tests(&view.name, &view.base_url);
        let is_failing =
            self.failing().iter().any(|one| one.provider == view.name && one.model == asked);
        view.state = match () {
            () if is_failing => ProviderState::Failing,
            () if record.has_answered(&view.name, &view.base_url, asked) => ProviderState::Answered,
            () => ProviderState::Untried,
        };
        view
    }

    /// What keeps a stored key from its provider, as it is now: a secret comes and goes without a look for models.
    fn with_key_trouble(&self, mut view: ProviderView) -> ProviderView {
        if let Some(secret) = &view.key_secret {
            let trouble = self.secrets.trouble_with_key(secret, &view.base_url);
            view.problem = trouble.map(|error| format!("No key: {error}."));
        }
        view
    }
}

impl Models for ModelShelf {
    fn list(&self, refresh: bool) -> BoxFuture<'_, ProvidersListResult> {
        Box::pin(async move {
            if refresh {
                self.look().await;
            }
            let preferred = self.models().preferred().map(|found| found.provider.clone());
            let views = self.known.read().unwrap_or_else(PoisonError::into_inner).views.clone();
            for secret in views.iter().filter_map(|view| view.key_secret.as_ref()) {
                self.secrets.seek(secret).await;
            }
            let providers = views.into_iter().map(|view| {
                let view = self.with_key_trouble(view);
                let is_preferred = |known: &&ProviderConfig| known.name == view.name;
                let asked =
                    preferred.as_ref().filter(is_preferred).map(|known| known.model.clone());
                let asked = asked.unwrap_or_else(|| view.model.clone());
                self.with_record(view, &asked)
            });
            let providers = providers.collect();
            ProvidersListResult { active: preferred.map(|known| known.name), providers }
        })
    }

    fn active_label(&self) -> Option<String> {
        if let Some(fixed) = &self.fixed {
            return Some(format!("{} · {}", fixed.model, fixed.provider.name()));
        }
        let models = self.models();
        let found = models.preferred()?;
        let provider = &found.provider;
        let place = if found.source == FoundIn::ThisComputer { " on this computer" } else { "" };
        Some(format!("{} · {}{place}", provider.model, provider.name))
    }

    fn is_untried(&self) -> bool {
        let models = self.models();
        models.preferred().filter(|_| self.fixed.is_none()).is_some_and(|found| {
            let ProviderConfig { name, base_url, model, .. } = &found.provider;
            !self.failing.record().has_answered(name, base_url, model)
        })
    }

    fn nobody(&self) -> Option<String> {
        if self.fixed.is_some() {
            return None;
        }
        let config = self.settings.borrow();
        let nobody = nobody_called(&config, config.model.provider.as_deref()?)?;
        Some(format!("No model answers. model.provider in the settings: {nobody}"))
    }

    fn doubt(&self, wish: Option<&str>) -> Option<String> {
        if self.fixed.is_some() {
            return None;
        }
        let doubt = self.models().doubt(wish)?;
        Some(self.nobody_for(wish).unwrap_or(doubt))
    }

    fn catalog(
        &self,
        wanted: ModelsListParams,
    ) -> BoxFuture<'_, Result<ModelsListResult, RpcError>> {
        Box::pin(self.list_models(wanted))
    }

    fn test(&self, wanted: ModelsTestParams) -> BoxFuture<'_, Result<ModelTestView, RpcError>> {
        Box::pin(self.test_one(wanted))
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
            let key_of = |name: &str| (name == fixed.provider.name()).then_some(KeyFrom::Nowhere);
            return self.failing.told(key_of);
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        self.failing.told(|name| {
            let view = known.views.iter().find(|view| view.name == name)?;
            Some(match (&view.key_secret, &view.key_env) {
                (Some(secret), _) => KeyFrom::secret(secret, &self.secrets),
                (None, Some(variable)) => KeyFrom::Variable(variable.clone()),
                (None, None) => KeyFrom::Nowhere,
            })
        })
    }
}

/// The provider that the settings name goes first, with the model that they name.
fn preferred_first(
    config: &Config,
    mut found: Vec<FoundModel>,
    safety: &Safety,
) -> rouse_agent::Models {
    if let Some(name) = &config.model.provider {
        match found.iter().position(|model| model.provider.name == *name) {
            Some(place) => found[..=place].rotate_right(1),
            None => return rouse_agent::Models::connect(found, safety).without_preferred(),
        }
    }
    if let (Some(first), Some(model)) = (found.first_mut(), &config.model.name) {
        first.provider.model.clone_from(model);
    }
    rouse_agent::Models::connect(found, safety)
}

fn view(config: &Config, found: &FoundModel) -> ProviderView {
    let provider = &found.provider;
    let key_env = match found.source {
        FoundIn::Configuration => {
            config.providers.get(&provider.name).and_then(|entry| entry.key_env.clone())
        }
        FoundIn::ThisComputer => None,
        FoundIn::Environment => usual_key_variable(&provider.name).map(str::to_owned),
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
        kind: provider.kind.name().to_owned(),
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
