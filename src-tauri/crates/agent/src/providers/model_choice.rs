//! The available models: connected, ranked, and chosen for each run.
//!
//! Owns the choice: the job's model and the fallback models, else the preferred model. Rebuilt as a whole when the
//! configuration or the computer changes; a run keeps its providers until the end.

use std::sync::Arc;

use rouse_core::model::ModelProvider;

use super::connection::connect;
use super::discovery::{FoundModel, is_known_provider_name};
use crate::safety::Safety;

/// A model of a provider.
#[derive(Clone)]
pub struct ChosenModel {
    /// The provider.
    pub provider: Arc<dyn ModelProvider>,
    /// The model's name at the provider.
    pub model: String,
}

/// The models of a run: the first choice, then the fallback models.
#[derive(Clone, Default)]
pub struct RunModels {
    models: Vec<ChosenModel>,
    not_running: Option<String>,
    misconfigured: Option<String>,
}

impl RunModels {
    /// These models, in order.
    #[must_use]
    pub fn of(models: impl IntoIterator<Item = ChosenModel>) -> Self {
        Self { models: models.into_iter().collect(), ..Self::default() }
    }

    /// No model, because a local server is not running. `why` is for the person.
    #[must_use]
    pub fn not_running(why: impl Into<String>) -> Self {
        Self { not_running: Some(why.into()), ..Self::default() }
    }

    /// No model, because the settings name a missing provider. `why` is for the person.
    #[must_use]
    pub fn misconfigured(why: impl Into<String>) -> Self {
        Self { misconfigured: Some(why.into()), ..Self::default() }
    }

    /// The first choice.
    #[must_use]
    pub fn first(&self) -> Option<&ChosenModel> {
        self.models.first()
    }

    /// The model at `index`, from 0.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<&ChosenModel> {
        self.models.get(index)
    }

    /// The index of a model.
    #[must_use]
    pub fn index_of(&self, provider: &str, model: &str) -> Option<usize> {
        self.models.iter().position(|it| it.model == model && it.provider.name() == provider)
    }

    /// Which local server is not running.
    #[must_use]
    pub fn why_not_running(&self) -> Option<&str> {
        self.not_running.as_deref()
    }

    /// Errors in the settings.
    #[must_use]
    pub fn why_misconfigured(&self) -> Option<&str> {
        self.misconfigured.as_deref()
    }
}

impl From<Option<ChosenModel>> for RunModels {
    fn from(model: Option<ChosenModel>) -> Self {
        Self::of(model)
    }
}

/// All available models, the preferred model first.
#[derive(Default)]
pub struct AvailableModels {
    entries: Vec<ModelEntry>,
    /// Whether the person's preferred provider is missing. Then only explicitly named models are used.
    is_preferred_missing: bool,
}

struct ModelEntry {
    found: FoundModel,
    provider: Arc<dyn ModelProvider>,
}

impl AvailableModels {
    /// Connects the found models. A provider that cannot be connected is logged and left out.
    #[must_use]
    pub fn connect(found: Vec<FoundModel>, safety: &Safety) -> Self {
        let mut entries = Vec::with_capacity(found.len());
        for found in found {
            match connect(&found.provider, safety) {
                Ok(provider) => entries.push(ModelEntry { found, provider }),
                Err(error) => tracing::warn!(%error, "a model provider is left out"),
            }
        }
        Self { entries, is_preferred_missing: false }
    }

    /// The models while the preferred provider is missing. No other provider takes over: its answers may cost money
    /// without the person's consent.
    #[must_use]
    pub fn without_preferred(self) -> Self {
        Self { is_preferred_missing: true, ..self }
    }

    /// The model of runs that name none.
    #[must_use]
    pub fn preferred(&self) -> Option<&FoundModel> {
        self.first().map(|entry| &entry.found)
    }

    /// The provider of this name.
    #[must_use]
    pub fn provider_named(&self, name: &str) -> Option<&FoundModel> {
        self.entries.iter().map(|entry| &entry.found).find(|found| found.provider.name == name)
    }

    fn first(&self) -> Option<&ModelEntry> {
        self.entries.first().filter(|_| !self.is_preferred_missing)
    }

    /// The model for `wish` (`gpt-5.6-terra`, or `openai:gpt-5.6-terra` with the provider), else the preferred model.
    /// The preferred provider takes an unlisted model as well. While that provider is missing, a wish must name the
    /// provider: another model of the same name may cost money or be remote.
    #[must_use]
    pub fn choose(&self, wish: Option<&str>) -> Option<ChosenModel> {
        let preferred = self.first();
        let Some(wish) = wish.map(str::trim).filter(|wish| !wish.is_empty()) else {
            return preferred.map(|entry| entry.with(&entry.found.provider.model));
        };
        let listed = || self.listed(wish).filter(|_| !self.is_preferred_missing);
        listed().or_else(|| self.named(wish)).or_else(|| Some(preferred?.with(wish)))
    }

    /// A fallback model, from any provider that lists the model, because the person has named it.
    fn fallback(&self, wish: &str) -> Option<ChosenModel> {
        self.listed(wish.trim()).or_else(|| self.choose(Some(wish)))
    }

    fn listed(&self, wish: &str) -> Option<ChosenModel> {
        self.entries.iter().find(|entry| entry.offers(wish)).map(|entry| entry.with(wish))
    }

    /// The models for a run: the model for `wish`, then the fallback models, without models of missing providers and
    /// without duplicates.
    #[must_use]
    pub fn run_models(&self, wish: Option<&str>, fallbacks: &[String]) -> RunModels {
        let is_available = |wish: &str| self.missing_provider(wish).is_none();
        let first = Some(wish).filter(|wish| wish.is_none_or(is_available));
        let fallbacks = fallbacks.iter().filter(|wish| is_available(wish));
        let first = first.and_then(|wish| self.choose(wish)).into_iter();
        let mut models: Vec<ChosenModel> = Vec::new();
        for model in first.chain(fallbacks.filter_map(|wish| self.fallback(wish))) {
            let is_same = |one: &ChosenModel| {
                one.model == model.model && one.provider.name() == model.provider.name()
            };
            if !models.iter().any(is_same) {
                models.push(model);
            }
        }
        RunModels::of(models)
    }

    /// The known but missing provider that `wish` names. Any other word before a colon belongs to the model's name, as
    /// in `llama3.2:3b`.
    #[must_use]
    pub fn missing_provider<'w>(&self, wish: &'w str) -> Option<&'w str> {
        let (provider, _) = wish.trim().split_once(':')?;
        (is_known_provider_name(provider) && self.named(wish.trim()).is_none()).then_some(provider)
    }

    /// Why a run with `wish` would find no model, or a provider that does not list the model.
    #[must_use]
    pub fn model_warning(&self, wish: Option<&str>) -> Option<String> {
        let wish = wish.map(str::trim).filter(|wish| !wish.is_empty());
        if let Some((wish, provider)) =
            wish.and_then(|wish| Some((wish, self.missing_provider(wish)?)))
        {
            return Some(format!(
                "`{wish}` is of the provider {provider}, which is not set up or not running. Start or set up the provider, or choose another model."
            ));
        }
        let is_listed = |wish| !self.is_preferred_missing && self.listed(wish).is_some();
        let is_known = wish.is_some_and(|wish| self.is_named(wish) || is_listed(wish));
        let Some(preferred) = self.first().filter(|_| !is_known) else {
            let no_model = "There is no model yet, so the runs fail. `rouse doctor` and the settings explain how to set up a model.";
            return (!is_known).then(|| no_model.to_owned());
        };
        let (wish, label) = (wish?, &preferred.found.label);
        if let Some(provider) = unknown_provider(wish) {
            return Some(format!(
                "There is no provider `{provider}`. {label} receives `{wish}` as the name of a model and may refuse it."
            ));
        }
        // A provider without a list may have the model.
        (!preferred.found.offers.is_empty()).then(|| {
            format!(
                "No available provider lists `{wish}`. {label} receives the request and may refuse it."
            )
        })
    }

    /// Whether `wish` names an available provider.
    #[must_use]
    pub fn is_named(&self, wish: &str) -> bool {
        self.named(wish).is_some()
    }

    fn named(&self, wish: &str) -> Option<ChosenModel> {
        let (provider, model) = wish.split_once(':')?;
        self.entries
            .iter()
            .find(|entry| entry.found.provider.name == provider)
            .map(|entry| entry.with(model))
    }
}

/// The provider in a `wish` that no provider offers. None if the colon belongs to the model's name, as in `phi4:14b`,
/// `phi4:latest` and `deepseek/deepseek-r1:free`.
fn unknown_provider(wish: &str) -> Option<&str> {
    let (provider, model) = wish.split_once(':')?;
    let is_name = provider.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let is_tag = model == "latest" || model.starts_with(|first: char| first.is_ascii_digit());
    (is_name && !is_tag).then_some(provider)
}

impl ModelEntry {
    /// Whether the provider lists `model`, or, without a list, the settings name `model`. Ollama takes a name without a
    /// tag for `:latest`.
    fn offers(&self, model: &str) -> bool {
        let is_it = |offered: &String| {
            offered == model || offered.strip_suffix(":latest").is_some_and(|name| name == model)
        };
        match self.found.offers.as_slice() {
            [] => self.found.provider.model == model,
            offers => offers.iter().any(is_it),
        }
    }

    fn with(&self, model: &str) -> ChosenModel {
        ChosenModel { provider: Arc::clone(&self.provider), model: model.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::discovery::FoundIn;
    use crate::providers::{ProviderConfig, ProviderKind};

    fn connected(found: Vec<FoundModel>) -> AvailableModels {
        AvailableModels::connect(found, &Safety::new(Arc::default()))
    }

    fn found(name: &str, model: &str, offers: &[&str]) -> FoundModel {
        FoundModel {
            label: name.to_owned(),
            source: FoundIn::ThisComputer,
            provider: ProviderConfig {
                context_tokens: None,
                effort: None,
                name: name.to_owned(),
                kind: ProviderKind::OpenAiChat,
                base_url: "http://127.0.0.1:1/v1".to_owned(),
                model: model.to_owned(),
                api_key: None,
            },
            offers: offers.iter().map(|&offer| offer.to_owned()).collect(),
        }
    }

    fn chosen(models: &AvailableModels, wish: Option<&str>) -> Option<(String, String)> {
        models.choose(wish).map(|chosen| (chosen.provider.name().to_owned(), chosen.model))
    }

    #[test]
    fn listed_wish_wins_over_preferred_provider() {
        let models = connected(vec![
            found("ollama", "llama3.2:3b", &["llama3.2:3b", "qwen3:4b"]),
            found("openai", "gpt-5.6-terra", &[]),
        ]);
        for (wish, expected) in [
            (None, ("ollama", "llama3.2:3b")),
            (Some(" "), ("ollama", "llama3.2:3b")),
            (Some("qwen3:4b"), ("ollama", "qwen3:4b")),
            (Some("gpt-5.6-terra"), ("openai", "gpt-5.6-terra")),
            (Some("openai:gpt-5.6-luna"), ("openai", "gpt-5.6-luna")),
            (Some("phi4:14b"), ("ollama", "phi4:14b")),
        ] {
            assert_eq!(
                chosen(&models, wish),
                Some((expected.0.to_owned(), expected.1.to_owned())),
                "{wish:?}"
            );
        }
    }

    #[test]
    fn missing_preferred_provider_leaves_only_named_models() {
        let models =
            connected(vec![found("work", "our-model", &[]), found("openai", "gpt-5.6-terra", &[])]);
        let models = models.without_preferred();
        assert!(models.preferred().is_none());
        for (wish, expected) in [
            (None, None),
            (Some("nobody-has-it"), None),
            (Some("work:other"), Some(("work", "other"))),
            (Some("our-model"), None),
            (Some("openai:gpt-5.6-luna"), Some(("openai", "gpt-5.6-luna"))),
        ] {
            let expected = expected.map(|(name, model)| (name.to_owned(), model.to_owned()));
            assert_eq!(models.model_warning(wish).is_some(), expected.is_none(), "{wish:?}");
            assert_eq!(chosen(&models, wish), expected, "{wish:?}");
        }
        for fallback in ["work:our-model", "our-model"] {
            let run_models = models.run_models(None, &[fallback.to_owned()]);
            let first = run_models.first().map(|first| first.model.as_str());
            assert_eq!(first, Some("our-model"), "{fallback}");
        }
    }

    #[test]
    fn unlisted_wish_has_a_warning() {
        let models = connected(vec![
            found("ollama", "llama3.2", &["qwen3:4b", "phi4:latest"]),
            found("openai", "gpt-5.6-terra", &[]),
        ]);
        for wish in [
            None,
            Some(" "),
            Some("qwen3:4b"),
            Some("phi4"),
            Some("openai:anything"),
            Some("gpt-5.6-terra"),
        ] {
            assert_eq!(models.model_warning(wish), None, "{wish:?}");
        }
        let warning = |wish| models.model_warning(Some(wish)).expect("a warning");
        assert!(
            warning("anthropic:claude")
                .starts_with("`anthropic:claude` is of the provider anthropic")
        );
        assert!(
            warning("phi4:14b")
                .starts_with("No available provider lists `phi4:14b`. ollama receives")
        );
        assert!(
            warning("llama3.2").starts_with("No available provider lists"),
            "named in the settings"
        );
        let lists_nothing = connected(vec![found("openai", "gpt-5.6-terra", &[])]);
        for wish in ["gpt-5.6-luna", "phi4:14b", "phi4:latest", "x/y:free"] {
            assert_eq!(lists_nothing.model_warning(Some(wish)), None, "{wish}");
        }
        let warning = lists_nothing.model_warning(Some("wrok:our-model")).expect("a warning");
        assert!(warning.starts_with("There is no provider `wrok`. openai receives"), "{warning}");
        let warning = AvailableModels::default().model_warning(None).expect("a warning");
        assert!(warning.starts_with("There is no model yet"), "{warning}");
    }

    #[test]
    fn fallbacks_skip_duplicates_and_missing_providers() {
        let models = connected(vec![
            found("openai", "gpt-5.6-terra", &[]),
            found("anthropic", "claude-haiku-4-5", &["claude-haiku-4-5"]),
        ]);
        let names = |wish, fallbacks: &[&str]| -> Vec<String> {
            let fallbacks: Vec<String> = fallbacks.iter().map(|&name| name.to_owned()).collect();
            let run_models = models.run_models(wish, &fallbacks);
            let name = |model: &ChosenModel| format!("{}:{}", model.provider.name(), model.model);
            run_models.models.iter().map(name).collect()
        };
        assert_eq!(names(None, &[]), ["openai:gpt-5.6-terra"]);
        assert_eq!(
            names(
                Some("claude-haiku-4-5"),
                &["ollama:llama3.2:3b", "gpt-5.6-terra", "claude-haiku-4-5", "openai:gpt-5.6-luna"]
            ),
            ["anthropic:claude-haiku-4-5", "openai:gpt-5.6-terra", "openai:gpt-5.6-luna"]
        );
        assert_eq!(names(Some("ollama:llama3.2:3b"), &["gpt-5.6-terra"]), ["openai:gpt-5.6-terra"]);
        assert!(
            AvailableModels::default().run_models(None, &["gpt-5".to_owned()]).first().is_none()
        );
    }

    #[test]
    fn no_models_give_no_choice() {
        assert_eq!(chosen(&AvailableModels::default(), Some("gpt-5.6-terra")), None);
    }

    #[test]
    fn unconnectable_provider_is_left_out() {
        let mut broken = found("broken", "m", &[]);
        broken.provider.base_url = "nonsense".to_owned();
        let models = connected(vec![broken, found("openai", "gpt-5.6-terra", &[])]);
        assert_eq!(chosen(&models, None).map(|(provider, _)| provider).as_deref(), Some("openai"));
    }
}
