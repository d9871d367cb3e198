//! Vendors with an API key in the environment.

use super::found_model::{FoundIn, FoundModel};
use crate::providers::config::{ProviderConfig, ProviderKind};
use crate::secrets::{ApiKey, ProviderKey};

/// A vendor with an API key in an environment variable.
pub(super) struct Vendor {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) kind: ProviderKind,
    pub(super) key: &'static str,
    pub(super) base_url: &'static str,
    pub(super) base_url_override: Option<&'static str>,
    pub(super) model: &'static str,
}

/// The defaults are each vendor's middle model: good at tools, at two dollars a million tokens sent.
pub(super) const VENDORS: [Vendor; 3] = [
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

/// The environment variables of API keys.
#[must_use]
pub fn key_variables() -> [&'static str; 3] {
    VENDORS.map(|vendor| vendor.key)
}

/// The environment variable of this provider's API key.
#[must_use]
pub fn key_variable(name: &str) -> Option<&'static str> {
    VENDORS.iter().find(|vendor| vendor.name == name).map(|vendor| vendor.key)
}

impl Vendor {
    pub(super) fn in_environment(
        &self,
        env: &impl Fn(&str) -> Option<String>,
    ) -> Option<FoundModel> {
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
    fn default_models_call_tools_and_have_prices() {
        for vendor in &VENDORS {
            let model = Catalog::builtin().resolve(&format!("{}/{}", vendor.name, vendor.model));
            let model =
                model.unwrap_or_else(|| panic!("{} does not list {}", vendor.name, vendor.model));
            assert!(model.pricing.is_some(), "{}", vendor.model);
            assert!(model.tools && !model.deprecated, "{}", vendor.model);
        }
    }
}
