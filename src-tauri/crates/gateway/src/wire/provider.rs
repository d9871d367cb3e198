//! `providers.*`: configured and detected model providers.

use rouse_core::settings::ProviderKind;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::model::{ModelTestView, ProviderState};

/// `providers.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ProvidersListParams {
    /// Detect providers again instead of using the cache.
    pub refresh: Option<bool>,
}

/// `providers.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProvidersListResult {
    /// Active provider; none without a model.
    pub active: Option<String>,
    /// The providers, best first.
    pub providers: Vec<ProviderView>,
}

/// A configured or detected provider.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderView {
    /// Name in the settings.
    pub name: String,
    /// Display name, such as "Ollama on this computer".
    pub label: String,
    /// API format.
    pub kind: ProviderKind,
    /// Base URL.
    pub base_url: String,
    /// Default model; for the active provider, the model in use.
    pub model: String,
    /// Source of the provider.
    pub source: ProviderSource,
    /// Environment variable with the key; none for a local provider.
    pub key_env: Option<String>,
    /// Stored secret with the key, without the value.
    pub key_secret: Option<String>,
    /// Error that prevents use.
    pub problem: Option<String>,
    /// State of the provider.
    pub state: ProviderState,
    /// Model tests, newest first.
    pub tests: Vec<ModelTestView>,
}

/// Source of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ProviderSource {
    /// The settings file.
    Config,
    /// A detected local server.
    Local,
    /// A key in an environment variable.
    Environment,
}
