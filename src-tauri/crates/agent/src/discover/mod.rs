//! Models found without configuration.
//!
//! Owns the order of preference: what the person configured, then servers on this computer that answer (no key, no
//! cost, nothing leaves the machine), then keys in the environment. It refuses to guess from an open port: a server
//! counts only when it answers in the shape of its own API and offers a model that can chat. Finding nothing is a
//! normal state. The environment comes in as a closure and the addresses as data, so that a test finds only what it
//! put there.
//!
//! One could get it wrong by sending a key to whatever listens on a local port: probes carry none.

mod catalog;
mod foundry;
mod local;
mod presets;
mod pull;
mod trial;

pub use catalog::{CatalogError, ListedModel, listed_models};
pub use local::title_of_local;
pub use presets::{PresetKey, ProviderPreset, presets};
pub use pull::{PullError, PullProgress, SUGGESTED_MODELS, SuggestedModel, pull};
pub use trial::{ModelTrial, ModelVerdict, test_model};

use crate::provider::{ProviderConfig, ProviderKind};
use crate::secret::{ApiKey, ProviderKey};
pub use local::LocalAddresses;

/// A model that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// For people: `Ollama on this computer (llama3.2:3b)`.
    pub label: String,
    /// Where it comes from.
    pub source: FoundIn,
    /// Ready to connect.
    pub provider: ProviderConfig,
    /// Every model that the server offers, the chosen one included; empty when nobody was asked.
    pub offers: Vec<String>,
}

/// Where a model was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundIn {
    /// In the configuration.
    Configuration,
    /// On this computer.
    ThisComputer,
    /// Through a key in the environment.
    Environment,
}

/// Every model that can be used, the preferred one first. `configured` wins; `env` reads one environment variable.
pub async fn discover(
    configured: Vec<ProviderConfig>,
    env: impl Fn(&str) -> Option<String>,
    addresses: &LocalAddresses,
) -> Vec<FoundModel> {
    let mut found: Vec<FoundModel> = configured.into_iter().map(of_configuration).collect();
    found.extend(local::find(addresses).await);
    found.extend(VENDORS.iter().filter_map(|vendor| vendor.in_environment(&env)));
    found
}

fn of_configuration(provider: ProviderConfig) -> FoundModel {
    FoundModel {
        label: format!("{} ({})", provider.name, provider.model),
        source: FoundIn::Configuration,
        offers: Vec::new(),
        provider,
    }
}

/// A vendor whose key may be in the environment.
struct Vendor {
    name: &'static str,
    title: &'static str,
    kind: ProviderKind,
    key: &'static str,
    base_url: &'static str,
    base_url_override: Option<&'static str>,
    model: &'static str,
}

/// The defaults are each vendor's middle model: good at tools, at two dollars a million tokens sent.
const VENDORS: [Vendor; 3] = [
    Vendor {
        name: "anthropic",
        title: "Anthropic",
        kind: ProviderKind::Anthropic,
        key: "ANTHROPIC_API_KEY",
        base_url: "https://api.anthropic.com",
        base_url_override: Some("ANTHROPIC_BASE_URL"),
        model: "claude-sonnet-5-5",
    },
    Vendor {
        name: "openai",
        title: "OpenAI",
        kind: ProviderKind::OpenAiChat,
        key: "OPENAI_API_KEY",
        base_url: "https://api.openai.com/v1",
        base_url_override: Some("OPENAI_BASE_URL"),
        model: "gpt-5.6-terra",
    },
    Vendor {
        name: "openrouter",
        title: "OpenRouter",
        kind: ProviderKind::OpenRouter,
        key: "OPENROUTER_API_KEY",
        base_url: "https://openrouter.ai/api/v1",
        base_url_override: None,
        model: "anthropic/claude-sonnet-5.5",
    },
];

/// Whether Ollama runs at its usual address and has no model that can chat.
pub async fn is_ollama_empty(addresses: &LocalAddresses) -> bool {
    match &addresses.ollama {
        Some(root) => local::is_ollama_empty(root).await,
        None => false,
    }
}

/// Whether a provider is called so that is looked for by itself: a vendor, or a server on this computer.
#[must_use]
pub fn is_usual_name(name: &str) -> bool {
    title_of_local(name).is_some() || VENDORS.iter().any(|vendor| vendor.name == name)
}

/// The variables that usually hold a provider's key.
#[must_use]
pub fn usual_key_variables() -> [&'static str; 3] {
    VENDORS.map(|vendor| vendor.key)
}

/// The variable that usually holds the key of the provider of this name.
#[must_use]
pub fn usual_key_variable(name: &str) -> Option<&'static str> {
    VENDORS.iter().find(|vendor| vendor.name == name).map(|vendor| vendor.key)
}

impl Vendor {
    fn in_environment(&self, env: &impl Fn(&str) -> Option<String>) -> Option<FoundModel> {
        let api_key = env(self.key).as_deref().and_then(ApiKey::new)?;
        let elsewhere = self.base_url_override.and_then(env).filter(|url| !url.trim().is_empty());
        let provider = ProviderConfig {
            context_tokens: None,
            effort: None,
            name: self.name.to_owned(),
            kind: self.kind,
            base_url: elsewhere
                .map_or_else(|| self.base_url.to_owned(), |url| url.trim().to_owned()),
            model: self.model.to_owned(),
            api_key: Some(ProviderKey::Given(api_key)),
        };
        Some(FoundModel {
            label: format!("{} with the key in {} ({})", self.title, self.key, self.model),
            source: FoundIn::Environment,
            provider,
            offers: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use rig_core::catalog::Catalog;

    use super::*;

    #[test]
    fn every_default_model_is_known_calls_tools_and_has_a_price() {
        for vendor in &VENDORS {
            let model = Catalog::builtin().resolve(&format!("{}/{}", vendor.name, vendor.model));
            let model =
                model.unwrap_or_else(|| panic!("{} does not list {}", vendor.name, vendor.model));
            assert!(model.pricing.is_some(), "{}", vendor.model);
            assert!(model.tools && !model.deprecated, "{}", vendor.model);
        }
    }
}
