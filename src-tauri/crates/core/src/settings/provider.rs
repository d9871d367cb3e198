//! Closed sets of the settings: wire formats of model providers, search providers, hook points.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use ts_rs::TS;

/// The wire format of a model provider.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    IntoStaticStr,
    EnumString,
    VariantArray,
    strum::VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ProviderKind {
    /// OpenAI Chat Completions: Ollama, LM Studio, llama.cpp, vLLM, LiteLLM and many more. At OpenAI's and OpenRouter's
    /// addresses, their own wires.
    #[default]
    #[serde(rename = "openai")]
    #[strum(serialize = "openai")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    #[strum(serialize = "openai-responses")]
    OpenAiResponses,
    /// Chat Completions as OpenRouter extends it.
    #[serde(rename = "openrouter")]
    #[strum(serialize = "openrouter")]
    OpenRouter,
    /// Anthropic Messages.
    Anthropic,
}

impl ProviderKind {
    /// All wire formats.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in the settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// A search provider.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SearchKind {
    /// A self-hosted metasearch engine; no key.
    Searxng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// Kagi.
    Kagi,
}

impl SearchKind {
    /// All providers, in the order in which their key variables are tried.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in the settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The name for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Searxng => "SearXNG",
            Self::Brave => "Brave Search",
            Self::Tavily => "Tavily",
            Self::Exa => "Exa",
            Self::Kagi => "Kagi",
        }
    }

    /// The environment variable that usually holds the key.
    #[must_use]
    pub const fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Tavily => Some("TAVILY_API_KEY"),
            Self::Exa => Some("EXA_API_KEY"),
            Self::Kagi => Some("KAGI_API_KEY"),
        }
    }

    /// The default address; none for a self-hosted provider.
    #[must_use]
    pub const fn default_url(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Exa => Some("https://api.exa.ai"),
            Self::Kagi => Some("https://kagi.com"),
        }
    }

    /// The page for keys and credit.
    #[must_use]
    pub const fn account_page(self) -> &'static str {
        match self {
            Self::Searxng => "the settings of your SearXNG",
            Self::Brave => "https://api-dashboard.search.brave.com",
            Self::Tavily => "https://app.tavily.com",
            Self::Exa => "https://dashboard.exa.ai",
            Self::Kagi => "https://kagi.com/settings/api",
        }
    }
}

/// A step of a run at which hooks are called.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum HookPoint {
    /// The tools of an attempt are known.
    AfterToolsResolved,
    /// A call passed the policy and is not made yet.
    BeforeToolCall,
    /// A call was made or refused.
    AfterToolCall,
    /// A run begins.
    RunStarted,
    /// A run has ended.
    RunFinished,
    /// A delivery is not handed to its channel yet.
    BeforeDelivery,
}

impl HookPoint {
    /// All points.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Whether hooks are consulted at this point, not only notified.
    #[must_use]
    pub const fn is_consulted(self) -> bool {
        matches!(self, Self::BeforeToolCall | Self::BeforeDelivery)
    }

    /// The name in settings and on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
