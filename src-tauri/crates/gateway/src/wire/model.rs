//! `models.*`: connection of a model, list of a provider's models, model test, and pull into Ollama.

use std::fmt;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `models.providers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelsProvidersResult {
    /// Provider presets, in order.
    pub presets: Vec<PresetView>,
    /// Whether a local Ollama has no model.
    pub ollama_needs_model: bool,
    /// Suggested models for Ollama.
    pub suggested: Vec<SuggestedModelView>,
}

/// A provider preset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PresetView {
    /// Name in the settings.
    pub name: String,
    /// Display name.
    pub title: String,
    /// API format.
    pub kind: String,
    /// Base URL.
    pub base_url: String,
    /// Page for API keys; none for a provider without keys.
    pub key_page: Option<String>,
    /// Suggested model; none for a choice from the list.
    pub model: Option<String>,
}

/// A suggested model for Ollama.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SuggestedModelView {
    /// Name in the Ollama library.
    pub name: String,
    /// Download size in bytes.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Licence.
    pub licence: String,
    /// Required memory in GB.
    pub memory_gb: u32,
}

/// A model server to add or test.
#[derive(Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ServerDraft {
    /// Name of the provider: letters, digits, `-` and `_`.
    pub name: String,
    /// API format: `openai` or `anthropic`.
    pub kind: String,
    /// Base URL.
    pub base_url: String,
    /// API key, stored in the keyring when the provider is added.
    pub key: Option<String>,
    /// Environment variable with the key, instead.
    pub key_env: Option<String>,
}

impl fmt::Debug for ServerDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerDraft").field("name", &self.name).finish_non_exhaustive()
    }
}

/// `models.list`: the models that a provider lists.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ModelsListParams {
    /// A configured or detected provider. Default: the active one.
    pub provider: Option<String>,
    /// A server without configuration, instead.
    pub server: Option<ServerDraft>,
}

/// `models.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ModelsListResult {
    /// The provider.
    pub provider: String,
    /// The models, most useful first.
    pub models: Vec<ListedModelView>,
}

/// A model in a provider's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListedModelView {
    /// Model id of the API.
    pub id: String,
    /// Display name.
    pub title: Option<String>,
    /// Context window in tokens.
    #[ts(type = "number | null")]
    pub context_tokens: Option<u64>,
    /// Size on disk in bytes.
    #[ts(type = "number | null")]
    pub bytes: Option<u64>,
    /// Whether the model can call tools; none if the list does not say.
    pub calls_tools: Option<bool>,
}

/// `models.add`: adds or updates a provider and makes it the default.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ModelsAddParams {
    /// The server.
    pub server: ServerDraft,
    /// Default model of the provider.
    pub model: String,
    /// Context window of the model in tokens.
    pub context_tokens: Option<u32>,
}

/// `models.test`: one prompt that needs a tool call, one that does not.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ModelsTestParams {
    /// Provider. Default: the active one.
    pub provider: Option<String>,
    /// Model. Default: the default model of the provider.
    pub model: Option<String>,
    /// Makes the provider the default if the model answers.
    pub make_default: Option<bool>,
}

/// Result of a model test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelTestView {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The verdict.
    pub verdict: ModelTestVerdict,
    /// Verdict and fix, as a sentence.
    pub message: String,
    /// Time of the test.
    pub at_ms: i64,
    /// Tokens of the test.
    #[ts(type = "number")]
    pub tokens: u64,
}

/// Verdict of a model test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ModelTestVerdict {
    /// Calls a tool exactly when needed.
    Works,
    /// Answers without tool calls.
    NoToolCall,
    /// Calls tools without need.
    NeedlessToolCall,
    /// No answer.
    Failed,
}

/// State of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ProviderState {
    /// The model answered its last request.
    Answered,
    /// No request so far.
    Untried,
    /// The last request failed.
    Failing,
}

/// `models.pull`: pulls a model into the local Ollama.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct ModelsPullParams {
    /// Name in the Ollama library.
    pub model: String,
}

/// `models.pullStatus`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ModelsPullStatusResult {
    /// The active or last pull; none since the start.
    pub pull: Option<PullView>,
}

/// A pull.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PullView {
    /// The model.
    pub model: String,
    /// State of the pull.
    pub state: PullState,
    /// Current step, as reported by Ollama.
    pub step: String,
    /// Downloaded bytes.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Total bytes, as reported by Ollama.
    #[ts(type = "number")]
    pub total_bytes: u64,
    /// Error of a failed pull.
    pub problem: Option<String>,
}

/// State of a pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum PullState {
    /// In progress.
    Running,
    /// Completed.
    Done,
    /// Failed.
    Failed,
    /// Cancelled by the person.
    Cancelled,
}
