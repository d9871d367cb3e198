//! The models that can be used now, connected and ranked.
//!
//! Owns the choice: the job's wish, else the preferred one. It is rebuilt as a whole when the configuration or the
//! machine changes; nobody holds a provider longer than a run.

use std::sync::Arc;

use rouse_core::model::ModelProvider;

use crate::discover::{FoundModel, is_usual_name};
use crate::provider::connect;
use crate::safety::Safety;

/// A provider and the model to ask it for.
#[derive(Clone)]
pub struct ChosenModel {
    /// Whom to ask.
    pub provider: Arc<dyn ModelProvider>,
    /// For which model.
    pub model: String,
}

/// The models of one run, in the order in which they are asked.
#[derive(Clone, Default)]
pub struct Lineup {
    models: Vec<ChosenModel>,
    absent: Option<String>,
    misnamed: Option<String>,
}

impl Lineup {
    /// These models.
    #[must_use]
    pub fn of(models: impl IntoIterator<Item = ChosenModel>) -> Self {
        Self { models: models.into_iter().collect(), ..Self::default() }
    }

    /// None, because what would answer is on this computer and does not run, in words for the person.
    #[must_use]
    pub fn absent(why: impl Into<String>) -> Self {
        Self { absent: Some(why.into()), ..Self::default() }
    }

    /// None, because the settings name somebody who is not there, in words for the person.
    #[must_use]
    pub fn misnamed(why: impl Into<String>) -> Self {
        Self { misnamed: Some(why.into()), ..Self::default() }
    }

    /// The one that is asked first.
    #[must_use]
    pub fn first(&self) -> Option<&ChosenModel> {
        self.models.first()
    }

    /// The one in this place, from 0.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<&ChosenModel> {
        self.models.get(place)
    }

    /// The place of this model of this provider.
    #[must_use]
    pub fn place_of(&self, provider: &str, model: &str) -> Option<usize> {
        self.models.iter().position(|it| it.model == model && it.provider.name() == provider)
    }

    /// Why there is none, where that is not a matter of settings.
    #[must_use]
    pub fn why_absent(&self) -> Option<&str> {
        self.absent.as_deref()
    }

    /// Why nobody answers until the settings are mended.
    #[must_use]
    pub fn why_misnamed(&self) -> Option<&str> {
        self.misnamed.as_deref()
    }
}

impl From<Option<ChosenModel>> for Lineup {
    fn from(model: Option<ChosenModel>) -> Self {
        Self::of(model)
    }
}

/// The models that can be used, the preferred one first.
#[derive(Default)]
pub struct Models {
    entries: Vec<Entry>,
    /// Whether the one that the person prefers is not among them: then they answer only who names them.
    is_preferred_away: bool,
}

struct Entry {
    found: FoundModel,
    provider: Arc<dyn ModelProvider>,
}

impl Models {
    /// Connects what was found. A provider that cannot be connected is left out and logged: the next one in the list
    /// may still work.
    #[must_use]
    pub fn connect(found: Vec<FoundModel>, safety: &Safety) -> Self {
        let mut entries = Vec::with_capacity(found.len());
        for found in found {
            match connect(&found.provider, safety) {
                Ok(provider) => entries.push(Entry { found, provider }),
                Err(error) => tracing::warn!(%error, "a model provider is left out"),
            }
        }
        Self { entries, is_preferred_away: false }
    }

    /// The same where the provider that the person prefers is not at hand. Nothing takes its place, because another one may
    /// cost money that nobody has agreed to; whoever names another has.
    #[must_use]
    pub fn without_preferred(self) -> Self {
        Self { is_preferred_away: true, ..self }
    }

    /// What is asked where nobody is named.
    #[must_use]
    pub fn preferred(&self) -> Option<&FoundModel> {
        self.first().map(|entry| &entry.found)
    }

    /// The provider of this name.
    #[must_use]
    pub fn provider_called(&self, name: &str) -> Option<&FoundModel> {
        self.entries.iter().map(|entry| &entry.found).find(|found| found.provider.name == name)
    }

    fn first(&self) -> Option<&Entry> {
        self.entries.first().filter(|_| !self.is_preferred_away)
    }

    /// The model for a job: the one it wishes for (`gpt-5.6-terra`, or `openai:gpt-5.6-terra` to name the provider),
    /// else the preferred one. A model that no provider lists is asked of the preferred provider, which knows best. While that
    /// one is away, a wish without its provider is nobody's: another one of that name may cost money, or be elsewhere.
    #[must_use]
    pub fn choose(&self, wish: Option<&str>) -> Option<ChosenModel> {
        let preferred = self.first();
        let Some(wish) = wish.map(str::trim).filter(|wish| !wish.is_empty()) else {
            return preferred.map(|entry| entry.with(&entry.found.provider.model));
        };
        let listed = || self.listed(wish).filter(|_| !self.is_preferred_away);
        listed().or_else(|| self.named(wish)).or_else(|| Some(preferred?.with(wish)))
    }

    /// A model that its person has named for when another does not answer.
    fn fallback(&self, wish: &str) -> Option<ChosenModel> {
        self.listed(wish.trim()).or_else(|| self.choose(Some(wish)))
    }

    fn listed(&self, wish: &str) -> Option<ChosenModel> {
        self.entries.iter().find(|entry| entry.offers(wish)).map(|entry| entry.with(wish))
    }

    /// The models for a job: the one it wishes for, then its fallbacks. One that names a provider which is not at hand is
    /// left out, and so is what stands in the list already.
    #[must_use]
    pub fn line_up(&self, wish: Option<&str>, fallbacks: &[String]) -> Lineup {
        let is_at_hand = |wish: &str| self.stranger_of(wish).is_none();
        let first = Some(wish).filter(|wish| wish.is_none_or(is_at_hand));
        let fallbacks = fallbacks.iter().filter(|wish| is_at_hand(wish));
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
        Lineup::of(models)
    }

    /// The provider that `wish` names, by a name that is looked for by itself, and that is not at hand. Any other word
    /// before a colon is a part of a model's name, as in `llama3.2:3b`.
    #[must_use]
    pub fn stranger_of<'w>(&self, wish: &'w str) -> Option<&'w str> {
        let (provider, _) = wish.trim().split_once(':')?;
        (is_usual_name(provider) && self.named(wish.trim()).is_none()).then_some(provider)
    }

    /// Why a run that wishes for `wish` would find nobody, or somebody who knows nothing of it.
    #[must_use]
    pub fn doubt(&self, wish: Option<&str>) -> Option<String> {
        let wish = wish.map(str::trim).filter(|wish| !wish.is_empty());
        if let Some((wish, provider)) = wish.and_then(|wish| Some((wish, self.stranger_of(wish)?)))
        {
            return Some(format!(
                "`{wish}` is of the provider {provider}, which is not set up or not running. Start it or set it up, or name another model."
            ));
        }
        let is_listed = |wish| !self.is_preferred_away && self.listed(wish).is_some();
        let is_known = wish.is_some_and(|wish| self.is_named(wish) || is_listed(wish));
        let Some(preferred) = self.first().filter(|_| !is_known) else {
            let nobody = "There is no model yet, and its runs fail until there is one. `rouse doctor` and the settings say how to get one.";
            return (!is_known).then(|| nobody.to_owned());
        };
        let wish = wish?;
        // Who lists nothing may have it.
        (!preferred.found.offers.is_empty()).then(|| {
            format!(
                "No provider at hand lists `{wish}`. {} is asked for it and may refuse.",
                preferred.found.label
            )
        })
    }

    /// Whether `wish` names a provider that is at hand.
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

impl Entry {
    /// Who lists what it has is believed also where the settings name another model. Ollama takes a name without a tag for
    /// that of its newest.
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

    fn connected(found: Vec<FoundModel>) -> Models {
        Models::connect(found, &Safety::new(Arc::default()))
    }
    use crate::discover::FoundIn;
    use crate::provider::{ProviderConfig, ProviderKind};

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

    fn chosen(models: &Models, wish: Option<&str>) -> Option<(String, String)> {
        models.choose(wish).map(|chosen| (chosen.provider.name().to_owned(), chosen.model))
    }

    #[test]
    fn the_wish_is_looked_up_and_else_asked_of_the_preferred_provider() {
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
    fn without_the_preferred_provider_only_those_who_are_named_answer() {
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
            assert_eq!(models.doubt(wish).is_some(), expected.is_none(), "{wish:?}");
            assert_eq!(chosen(&models, wish), expected, "{wish:?}");
        }
        for fallback in ["work:our-model", "our-model"] {
            let lineup = models.line_up(None, &[fallback.to_owned()]);
            let first = lineup.first().map(|first| first.model.as_str());
            assert_eq!(first, Some("our-model"), "{fallback}");
        }
    }

    #[test]
    fn a_wish_that_nobody_can_grant_is_doubted_and_every_other_is_not() {
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
            assert_eq!(models.doubt(wish), None, "{wish:?}");
        }
        let said = |wish| models.doubt(Some(wish)).expect("a doubt");
        assert!(
            said("anthropic:claude").starts_with("`anthropic:claude` is of the provider anthropic")
        );
        assert!(
            said("phi4:14b").starts_with("No provider at hand lists `phi4:14b`. ollama is asked")
        );
        assert!(said("llama3.2").starts_with("No provider at hand lists"), "the settings name it");
        let lists_nothing = connected(vec![found("openai", "gpt-5.6-terra", &[])]);
        assert_eq!(lists_nothing.doubt(Some("gpt-5.6-luna")), None);
        let said = Models::default().doubt(None).expect("a doubt");
        assert!(said.starts_with("There is no model yet"), "{said}");
    }

    #[test]
    fn fallbacks_come_in_their_order_once_and_only_from_who_is_there() {
        let models = connected(vec![
            found("openai", "gpt-5.6-terra", &[]),
            found("anthropic", "claude-haiku-4-5", &["claude-haiku-4-5"]),
        ]);
        let names = |wish, fallbacks: &[&str]| -> Vec<String> {
            let fallbacks: Vec<String> = fallbacks.iter().map(|&name| name.to_owned()).collect();
            let lineup = models.line_up(wish, &fallbacks);
            let name = |model: &ChosenModel| format!("{}:{}", model.provider.name(), model.model);
            lineup.models.iter().map(name).collect()
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
        assert!(Models::default().line_up(None, &["gpt-5".to_owned()]).first().is_none());
    }

    #[test]
    fn nothing_found_is_a_normal_state() {
        assert_eq!(chosen(&Models::default(), Some("gpt-5.6-terra")), None);
    }

    #[test]
    fn a_provider_that_cannot_be_connected_does_not_hide_the_next() {
        let mut broken = found("broken", "m", &[]);
        broken.provider.base_url = "nonsense".to_owned();
        let models = connected(vec![broken, found("openai", "gpt-5.6-terra", &[])]);
        assert_eq!(chosen(&models, None).map(|(provider, _)| provider).as_deref(), Some("openai"));
    }
}
