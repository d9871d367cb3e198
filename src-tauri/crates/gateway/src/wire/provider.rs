//! Models that can be used.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ModelTestView, ProviderState};

/// `providers.list`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ProvidersListParams {
    /// Look again instead of answering from memory.
    pub refresh: Option<bool>,
}

/// `providers.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProvidersListResult {
    /// The one in use; none when no model is set up.
    pub active: Option<String>,
    /// Best first.
    pub providers: Vec<ProviderView>,
}

/// One provider that is configured or was found.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderView {
    /// Its name in the configuration.
    pub name: String,
    /// For people: "Ollama on this computer".
    pub label: String,
    /// The wire format: `openai` or `anthropic`.
    pub kind: String,
    /// Where it is.
    pub base_url: String,
    /// The model that is used.
    pub model: String,
    /// Where it comes from.
    pub source: ProviderSource,
    /// The environment variable that holds its key; none for a local one.
    pub key_env: Option<String>,
    /// The stored secret that is its key; its value is never shown.
    pub key_secret: Option<String>,
    /// What keeps it from working, in words.
    pub problem: Option<String>,
    /// Whether its model has answered.
    pub state: ProviderState,
    /// The tests of its models, the newest first.
    pub tests: Vec<ModelTestView>,
}

/// Where a provider comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ProviderSource {
    /// The configuration file.
    Config,
    /// A server on this computer that answered.
    Local,
    /// A key in the environment.
    Environment,
}
