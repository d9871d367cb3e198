//! Model providers: four wires behind the port of `core`.
//!
//! Owns the configuration of a provider and its connection. The formats are rig's; rig stays behind this folder's own
//! types, so a change of library is a change of this folder. Never retries (`retry` does, because only the driver knows
//! what a person has read) and never finds providers (`discover`).

mod classify;
mod compact;
mod convert;
mod dialect;
mod families;
mod keyed;
mod meter;
mod reasoning_text;
mod request_body;
mod rig;
mod transport;
mod whole_answer;

use std::sync::Arc;

use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::anthropic::wire as anthropic;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::providers::openai::wire as openai;
use rouse_core::model::{Billing, Effort, ModelProvider};

use crate::safety::Safety;
use crate::secret::{ApiKey, ProviderKey};
pub(crate) use families::{output_tokens_of, own_name};
use keyed::Keyed;
use rig::{MakeModel, RigProvider};
use transport::{Transport, is_this_computer};

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// OpenAI Chat Completions: Ollama, LM Studio, llama.cpp, vLLM, LiteLLM and many more. At OpenAI's and OpenRouter's own
    /// addresses it means their own wires.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Chat Completions as OpenRouter extends it.
    OpenRouter,
    /// Anthropic Messages.
    Anthropic,
}

/// A provider, ready to be connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// What people call it.
    pub name: String,
    /// Its wire format.
    pub kind: ProviderKind,
    /// Its address: `https://api.openai.com/v1`, `http://127.0.0.1:11434/v1`, `https://api.anthropic.com`.
    pub base_url: String,
    /// The model to use when a job names none.
    pub model: String,
    /// The context window of that model in tokens, from the settings.
    pub context_tokens: Option<u32>,
    /// How much its models reason, where a job does not say it.
    pub effort: Option<Effort>,
    /// Its key; local servers need none.
    pub api_key: Option<ProviderKey>,
}

/// Why a provider cannot be connected. The address is not quoted: it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address is none.
    #[error("the address of {name} is not a web address (it must begin with http:// or https://)")]
    Address {
        /// The provider.
        name: String,
    },
}

impl ProviderKind {
    /// Every wire.
    pub const ALL: [Self; 4] =
        [Self::OpenAiChat, Self::OpenAiResponses, Self::OpenRouter, Self::Anthropic];

    /// The name in the settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenRouter => "openrouter",
            Self::Anthropic => "anthropic",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Connects a provider. Nothing is sent yet. `safety` takes the values of stored secrets out of its error messages.
///
/// # Errors
/// When the address is none.
pub fn connect(
    config: &ProviderConfig,
    safety: &Safety,
) -> Result<Arc<dyn ModelProvider>, ConnectError> {
    match &config.api_key {
        None => connect_with(config, None, safety),
        Some(ProviderKey::Given(key)) => connect_with(config, Some(key), safety),
        Some(ProviderKey::Stored(key)) => Ok(Arc::new(Keyed::new(config, key.clone(), safety)?)),
    }
}

fn connect_with(
    config: &ProviderConfig,
    key: Option<&ApiKey>,
    safety: &Safety,
) -> Result<Arc<dyn ModelProvider>, ConnectError> {
    if !is_web_address(&config.base_url) {
        return Err(ConnectError::Address { name: config.name.clone() });
    }
    let wire = dialect::wire_at(config.kind, &config.base_url);
    let transport = Transport::new(&config.base_url, key.cloned(), wire);
    let key = key.map_or("", ApiKey::expose);
    let make_model = match wire {
        ProviderKind::OpenAiChat => chat_models(&COMPATIBLE, config, key, transport),
        ProviderKind::OpenRouter => chat_models(&openai::OPENROUTER, config, key, transport),
        ProviderKind::OpenAiResponses => responses_models(config, key, transport),
        ProviderKind::Anthropic => messages_models(config, key, transport),
    };
    Ok(Arc::new(RigProvider::new(config, wire, safety.clone(), make_model)))
}

/// The context window of a model on this computer that the settings do not tell. Such servers load models with small windows,
/// and some silently cut off the beginning of a longer prompt, which holds the instructions.
const LOCAL_CONTEXT: u32 = 16_000;

fn is_web_address(address: &str) -> bool {
    reqwest::Url::parse(address)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

/// How answers are paid for. A server on this computer may be a gateway to a vendor: its models have prices then
/// (`money::prices`). OpenRouter reports the cost of each answer.
fn billing_of(wire: ProviderKind, base_url: &str) -> Billing {
    match wire {
        ProviderKind::OpenRouter => Billing::Reported,
        _ if is_this_computer(base_url) => Billing::Free,
        _ => Billing::ByPrice,
    }
}

/// A server of the Chat Completions format that is nobody's in particular: Ollama, LM Studio, llama.cpp, vLLM, LiteLLM.
const COMPATIBLE: openai::Dialect = openai::Dialect::gateway("compatible", "", "");

fn openai_config(dialect: &openai::Dialect, config: &ProviderConfig, key: &str) -> OpenAIConfig {
    OpenAIConfig::with_key(dialect, key)
        .with_auth(openai::Auth::OptionalBearer)
        .with_base_url(config.base_url.trim_end_matches('/'))
}

fn chat_models(
    dialect: &openai::Dialect,
    config: &ProviderConfig,
    key: &str,
    transport: Transport,
) -> MakeModel {
    let client = openai_config(dialect, config, key).connect(transport);
    Box::new(move |model| client.chat(model).erase())
}

fn responses_models(config: &ProviderConfig, key: &str, transport: Transport) -> MakeModel {
    let client = openai_config(&openai::OPENAI, config, key).connect(transport);
    Box::new(move |model| client.responses(model).erase())
}

/// A server of the Messages format that is not Anthropic's own.
const MESSAGES_GATEWAY: anthropic::Dialect = anthropic::compatible("compatible", "", "", None);

/// Every step of a run sends the whole conversation again, so Claude's prompts are cached wherever it is served. Other
/// fields of Anthropic's own go to Anthropic alone.
fn messages_models(config: &ProviderConfig, key: &str, transport: Transport) -> MakeModel {
    let is_own = dialect::is_anthropic(&config.base_url);
    let dialect = if is_own { anthropic::ANTHROPIC } else { MESSAGES_GATEWAY };
    let client =
        AnthropicConfig::with_key(&dialect, key).with_base_url(&config.base_url).connect(transport);
    Box::new(move |model| {
        let is_marked = dialect::is_marked(families::family_of(model));
        let mut model = client.completion(model);
        model.wire.prompt_caching = is_marked;
        if !is_own {
            model.wire.tool_input_streaming = anthropic::ToolInputStreaming::Off;
        }
        model.erase()
    })
}
