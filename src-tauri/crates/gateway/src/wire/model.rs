//! `models.*`: connecting a model, the provider's own list, the test, pulls into Ollama.

use std::fmt;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `models.providers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelsProvidersResult {
    /// The tiles, in their order.
    pub presets: Vec<PresetView>,
    /// Whether Ollama runs on this computer without a model.
    pub ollama_needs_model: bool,
    /// Models that Ollama is offered to pull.
    pub suggested: Vec<SuggestedModelView>,
}

/// A provider that is offered by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PresetView {
    /// Its name in the settings.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its wire.
    pub kind: String,
    /// Its address.
    pub base_url: String,
    /// The page where its vendor gives keys; none when it needs no key.
    pub key_page: Option<String>,
    /// The model that is proposed; none where only its own list tells.
    pub model: Option<String>,
}

/// A model that Ollama is offered to pull.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SuggestedModelView {
    /// Its name in Ollama's library.
    pub name: String,
    /// Size of the download in bytes.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Its licence.
    pub licence: String,
    /// Memory that it needs, in GB.
    pub memory_gb: u32,
}

/// A server by its address.
#[derive(Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ServerDraft {
    /// The name of the provider: letters, digits, `-` and `_`.
    pub name: String,
    /// Its wire: `openai` or `anthropic`.
    pub kind: String,
    /// Its address.
    pub base_url: String,
    /// Its key. It is kept in the keyring when the provider is added, and nowhere before.
    pub key: Option<String>,
    /// The environment variable that holds its key instead.
    pub key_env: Option<String>,
}

impl fmt::Debug for ServerDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerDraft").field("name", &self.name).finish_non_exhaustive()
    }
}

/// `models.list`: the models of a provider, as its own list has them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ModelsListParams {
    /// A provider that is set up or was found; the one in use when nothing is named.
    pub provider: Option<String>,
    /// A server that is not set up yet, instead.
    pub server: Option<ServerDraft>,
}

/// `models.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ModelsListResult {
    /// The provider.
    pub provider: String,
    /// Its models, the most useful first.
    pub models: Vec<ListedModelView>,
}

/// A model in a provider's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListedModelView {
    /// Its name on the wire.
    pub id: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its context window in tokens.
    #[ts(type = "number | null")]
    pub context_tokens: Option<u64>,
    /// Its size on this computer in bytes.
    #[ts(type = "number | null")]
    pub bytes: Option<u64>,
    /// Whether it can call tools, as far as the list says it.
    pub calls_tools: Option<bool>,
}

/// `models.add`: sets a provider up and uses it. Present values of a provider of this name are replaced.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ModelsAddParams {
    /// The server.
    pub server: ServerDraft,
    /// The model to use.
    pub model: String,
    /// The context window of that model in tokens.
    pub context_tokens: Option<u32>,
}

/// `models.test`: one turn that must call a tool, one that must not.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ModelsTestParams {
    /// The provider; the one in use when absent.
    pub provider: Option<String>,
    /// Its model; the one it is used with when absent.
    pub model: Option<String>,
    /// Uses the provider by default from now on, when the model answers.
    pub make_default: Option<bool>,
}

/// What a test has shown of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelTestView {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The verdict.
    pub verdict: ModelTestVerdict,
    /// The verdict in words, with what to do.
    pub words: String,
    /// When it was tested.
    pub at_ms: i64,
    /// Tokens that the test used.
    #[ts(type = "number")]
    pub tokens: u64,
}

/// The verdict on a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ModelTestVerdict {
    /// It calls a tool when it has to, and answers without one when it does not.
    Works,
    /// It answers and does not call tools.
    NoToolCall,
    /// It calls tools when it must not.
    NeedlessToolCall,
    /// It does not answer.
    Failed,
}

/// Whether a provider has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ProviderState {
    /// Its model has answered.
    Answered,
    /// Its model was never asked.
    Untried,
    /// Its model did not answer when it was last asked.
    Failing,
}

/// `models.pull`: pulls a model into Ollama on this computer.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct ModelsPullParams {
    /// Its name in Ollama's library.
    pub model: String,
}

/// `models.pullStatus`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ModelsPullStatusResult {
    /// The present pull, or the last one; none since the start.
    pub pull: Option<PullView>,
}

/// A pull.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PullView {
    /// The model.
    pub model: String,
    /// Where it is.
    pub state: PullState,
    /// Ollama's word for the present step.
    pub step: String,
    /// Bytes that are here.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Bytes in all, as far as Ollama has told.
    #[ts(type = "number")]
    pub of_bytes: u64,
    /// Why it failed.
    pub problem: Option<String>,
}

/// Where a pull is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum PullState {
    /// On its way.
    Running,
    /// The model is there.
    Done,
    /// The model is not there.
    Failed,
    /// A person has cancelled it.
    Cancelled,
}
