//! Discovery of models without configuration.
//!
//! Owns the order of preference: configured providers, then servers on this computer that answer (no key, no cost,
//! nothing leaves the machine), then API keys in the environment. Never takes an open port for a provider: a server
//! counts only when it answers in the shape of its own API and offers a chat model. The environment is a closure and
//! the addresses are data, so a test finds only its own servers. Pitfall: a probe of a local port must not carry an API
//! key.

mod catalog;
mod found_model;
mod foundry;
mod local_servers;
mod model_test;
mod presets;
mod pull;
mod vendors;

pub use catalog::{CatalogError, ListedModel, listed_models};
pub use found_model::{FoundIn, FoundModel};
pub use local_servers::{LocalAddresses, local_server_title};
pub use model_test::{ModelTrial, ModelVerdict, test_model};
pub use presets::{PresetKey, ProviderPreset, presets};
pub use pull::{PullError, PullProgress, SUGGESTED_MODELS, SuggestedModel, pull};
use vendors::VENDORS;
pub use vendors::{key_variable, key_variables};

use crate::providers::config::ProviderConfig;

/// All available models, the preferred model first. `configured` wins; `env` reads an environment variable.
pub async fn discover(
    configured: Vec<ProviderConfig>,
    env: impl Fn(&str) -> Option<String>,
    addresses: &LocalAddresses,
) -> Vec<FoundModel> {
    let mut found: Vec<FoundModel> = configured.into_iter().map(configured_model).collect();
    found.extend(local_servers::find(addresses).await);
    found.extend(VENDORS.iter().filter_map(|vendor| vendor.in_environment(&env)));
    found
}

fn configured_model(provider: ProviderConfig) -> FoundModel {
    FoundModel {
        label: format!("{} ({})", provider.name, provider.model),
        source: FoundIn::Configuration,
        offers: Vec::new(),
        provider,
    }
}

/// Whether Ollama is running without a chat model.
pub async fn is_ollama_empty(addresses: &LocalAddresses) -> bool {
    match &addresses.ollama {
        Some(root) => local_servers::is_ollama_empty(root).await,
        None => false,
    }
}

/// Whether discovery knows a provider of this name: a vendor, or a local server.
#[must_use]
pub fn is_known_provider_name(name: &str) -> bool {
    local_server_title(name).is_some() || VENDORS.iter().any(|vendor| vendor.name == name)
}
