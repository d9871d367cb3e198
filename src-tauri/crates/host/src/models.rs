//! The models at hand, and the one in use.
//!
//! Configured providers come first, then servers on this computer that answer, then keys in the environment. Looking
//! happens at the start, when the settings change, when somebody asks, and before a run that would otherwise have no
//! model; never on a timer. The start does not wait for it.

use std::sync::{Arc, PoisonError, RwLock};

use rouse_agent::{
    ApiKey, ChosenModel, FoundIn, FoundModel, LocalAddresses, ProviderConfig, ProviderKind,
    discover,
};
use rouse_core::tool::BoxFuture;
use rouse_gateway::Models;
use rouse_gateway::wire::{ProviderSource, ProviderView, ProvidersListResult};
use tokio::sync::watch;

use crate::config::{Config, ProviderEntry};
use crate::options::Env;

/// What is known about models.
pub(crate) struct ModelShelf {
    settings: watch::Receiver<Config>,
    env: Env,
    /// The one model there is, whatever would be found.
    fixed: Option<ChosenModel>,
    known: RwLock<Known>,
    available: watch::Sender<bool>,
}

#[derive(Default)]
struct Known {
    models: Arc<rouse_agent::Models>,
    views: Vec<ProviderView>,
}

impl ModelShelf {
    /// Nothing is known yet, but for a `fixed` model that no looking changes.
    pub(crate) fn new(
        settings: watch::Receiver<Config>,
        env: Env,
        fixed: Option<ChosenModel>,
    ) -> Arc<Self> {
        let available = watch::Sender::new(fixed.is_some());
        Arc::new(Self { settings, env, fixed, known: RwLock::default(), available })
    }

    /// Whether there is a model, and every change of that.
    pub(crate) fn available(&self) -> watch::Receiver<bool> {
        self.available.subscribe()
    }

    /// The model for a job that wishes for `wish`; looks once more when there is none.
    pub(crate) async fn choose(&self, wish: Option<&str>) -> Option<ChosenModel> {
        if let Some(fixed) = &self.fixed {
            return Some(fixed.clone());
        }
        if let Some(model) = self.models().choose(wish) {
            return Some(model);
        }
        self.look().await;
        self.models().choose(wish)
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
        let usable = preferred_first(&config, found.clone());
        let models = Arc::new(rouse_agent::Models::connect(usable));
        let has_model = models.choose(None).is_some();
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
        if (self.env)("ROUSE_LOCAL_MODELS").as_deref() == Some("0") {
            return LocalAddresses::nowhere();
        }
        LocalAddresses::default()
    }

    fn of_entry(&self, name: &str, entry: &ProviderEntry) -> ProviderConfig {
        let key = entry.key_env.as_ref().and_then(|variable| (self.env)(variable));
        ProviderConfig {
            name: name.to_owned(),
            kind: if entry.kind == "anthropic" {
                ProviderKind::Anthropic
            } else {
                ProviderKind::OpenAiChat
            },
            base_url: entry.base_url.clone(),
            model: entry.model.clone(),
            api_key: key.as_deref().and_then(ApiKey::new),
        }
    }
}

impl Models for ModelShelf {
    fn list(&self, refresh: bool) -> BoxFuture<'_, ProvidersListResult> {
        Box::pin(async move {
            if refresh {
                self.look().await;
            }
            let active = self.models().found().next().map(|found| found.provider.name.clone());
            let providers = self.known.read().unwrap_or_else(PoisonError::into_inner).views.clone();
            ProvidersListResult { active, providers }
        })
    }

    fn active_label(&self) -> Option<String> {
        if let Some(fixed) = &self.fixed {
            return Some(format!("{} · {}", fixed.model, fixed.provider.name()));
        }
        let models = self.models();
        let found = models.found().next()?;
        let provider = &found.provider;
        let place = if found.source == FoundIn::ThisComputer { " on this computer" } else { "" };
        Some(format!("{} · {}{place}", provider.model, provider.name))
    }
}

/// The provider that the settings name goes first, with the model that they name. When it cannot be found, nothing
/// takes its place: another provider may cost money that nobody agreed to.
fn preferred_first(config: &Config, mut found: Vec<FoundModel>) -> Vec<FoundModel> {
    if let Some(name) = &config.model.provider {
        match found.iter().position(|model| model.provider.name == *name) {
            Some(place) => found[..=place].rotate_right(1),
            None => return Vec::new(),
        }
    }
    if let (Some(first), Some(model)) = (found.first_mut(), &config.model.name) {
        first.provider.model.clone_from(model);
    }
    found
}

fn view(config: &Config, found: &FoundModel) -> ProviderView {
    let provider = &found.provider;
    let key_env = config.providers.get(&provider.name).and_then(|entry| entry.key_env.clone());
    let missing = key_env
        .as_ref()
        .filter(|_| found.source == FoundIn::Configuration && provider.api_key.is_none());
    ProviderView {
        name: provider.name.clone(),
        label: found.label.clone(),
        kind: if provider.kind == ProviderKind::Anthropic { "anthropic" } else { "openai" }
            .to_owned(),
        base_url: provider.base_url.clone(),
        model: provider.model.clone(),
        source: match found.source {
            FoundIn::Configuration => ProviderSource::Config,
            FoundIn::ThisComputer => ProviderSource::Local,
            FoundIn::Environment => ProviderSource::Environment,
        },
        problem: missing.map(|variable| format!("The environment variable {variable} is not set.")),
        key_env,
    }
}
