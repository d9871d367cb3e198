//! Model providers: the two wire formats that nearly everybody speaks, behind the port of `core`.
//!
//! Owns what a provider is told to be (`ProviderConfig`) and the making of one. The formats themselves are rig's; this
//! room keeps rig behind its own types, so that a change of library is a change of this folder. It refuses to retry
//! (`retry` does, because only the driver knows what was already shown) and to find providers (`discover`).

mod classify;
mod compact;
mod convert;
mod keyed;
mod limits;
mod meter;
mod rig;
mod transport;

use std::sync::Arc;

use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::anthropic::wire as anthropic;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::providers::openai::wire as openai;
use rouse_core::model::{Billing, ModelProvider};

use crate::safety::Safety;
use crate::secret::{ApiKey, ProviderKey};
use classify::Place;
use keyed::Keyed;
pub(crate) use limits::answer_tokens_of;
use rig::RigProvider;
use transport::{Transport, is_this_computer};

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// OpenAI Chat Completions: OpenAI, OpenRouter, Ollama, LM Studio, llama.cpp, vLLM and many more.
    OpenAiChat,
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
    /// How many tokens that model reads at once, where somebody has said it.
    pub context_tokens: Option<u32>,
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
    /// The name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::Anthropic => "anthropic",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::OpenAiChat, Self::Anthropic].into_iter().find(|kind| kind.name() == name)
    }
}

/// Connects a provider. Nothing is sent yet. `safety` takes the values of stored secrets out of what it says went wrong.
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
    let Some(host) = web_host(&config.base_url) else {
        return Err(ConnectError::Address { name: config.name.clone() });
    };
    let transport = Transport::new(&config.base_url, key.cloned());
    let key = key.map_or("", ApiKey::expose);
    let provider = match config.kind {
        ProviderKind::OpenAiChat => openai_chat(config, key, &host, (transport, safety)),
        ProviderKind::Anthropic => anthropic_messages(config, key, &host, (transport, safety)),
    };
    let (place, billing) = standing(config, &host);
    let here = is_this_computer(&config.base_url).then_some(LOCAL_CONTEXT);
    Ok(Arc::new(provider.reading(config.context_tokens.or(here)).standing(place, billing)))
}

/// What a model on this computer is taken to read when nobody has said it. Such servers set their models up for little,
/// and some cut the beginning off what is too long without a word, which is where the instructions are.
const LOCAL_CONTEXT: u32 = 16_000;

fn web_host(address: &str) -> Option<String> {
    // Why an address is none would only quote it.
    let url =
        reqwest::Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.host_str().map(str::to_owned)
}

/// Whether a provider is the vendor `vendor` itself: by its name, also behind somebody's proxy, or by its address.
fn is_vendor(config: &ProviderConfig, host: &str, vendor: &str, vendor_host: &str) -> bool {
    config.name == vendor || host == vendor_host
}

/// Where it is and how it is paid for: nobody pays for what a model on their own computer does, but somebody may for a
/// vendor behind a proxy there. OpenRouter tells each answer's cost itself.
fn standing(config: &ProviderConfig, host: &str) -> (Place, Billing) {
    let is = |vendor, host_of| is_vendor(config, host, vendor, host_of);
    let is_here = is_this_computer(&config.base_url);
    match is_here {
        _ if is("openrouter", "openrouter.ai") => {
            (if is_here { Place::Proxy } else { Place::Elsewhere }, Billing::Reported)
        }
        true if is("openai", "api.openai.com") || is("anthropic", "api.anthropic.com") => {
            (Place::Proxy, Billing::ByPrice)
        }
        true => (Place::Here, Billing::Free),
        false => (Place::Elsewhere, Billing::ByPrice),
    }
}

/// A server of the Chat Completions format that is nobody's in particular: Ollama, LM Studio, llama.cpp, vLLM.
const COMPATIBLE: openai::Dialect = openai::Dialect::gateway("compatible", "", "");

fn openai_chat(
    config: &ProviderConfig,
    key: &str,
    host: &str,
    (transport, safety): (Transport, &Safety),
) -> RigProvider {
    let dialect = if is_vendor(config, host, "openai", "api.openai.com") {
        openai::OPENAI
    } else if is_vendor(config, host, "openrouter", "openrouter.ai") {
        openai::OPENROUTER
    } else {
        COMPATIBLE
    };
    let client = OpenAIConfig::with_key(&dialect, key)
        .with_auth(openai::Auth::OptionalBearer)
        .with_base_url(config.base_url.trim_end_matches('/'))
        .connect(transport);
    let model = move |model: &str| client.chat(model).erase();
    RigProvider::new(config.name.clone(), safety.clone(), Box::new(model))
}

/// A server of the Messages format that is not Anthropic's own.
const MESSAGES_GATEWAY: anthropic::Dialect = anthropic::compatible("compatible", "", "", None);

/// What a model may answer when neither the job nor rig's catalogue knows its limit; the format wants a number.
const UNKNOWN_MODEL_TOKENS: u64 = 8_192;

fn anthropic_messages(
    config: &ProviderConfig,
    key: &str,
    host: &str,
    (transport, safety): (Transport, &Safety),
) -> RigProvider {
    let own = is_vendor(config, host, "anthropic", "api.anthropic.com");
    let dialect = if own { anthropic::ANTHROPIC } else { MESSAGES_GATEWAY };
    let client =
        AnthropicConfig::with_key(&dialect, key).with_base_url(&config.base_url).connect(transport);
    RigProvider::new(
        config.name.clone(),
        safety.clone(),
        Box::new(move |model| {
            let mut model = client.completion(model);
            model.wire.default_max_tokens.get_or_insert(UNKNOWN_MODEL_TOKENS);
            // Every step of a run sends the whole conversation again; the provider keeps what did not change.
            model.wire.prompt_caching = own;
            if !own {
                // A field of Anthropic's own that not every server of the format knows.
                model.wire.tool_input_streaming = anthropic::ToolInputStreaming::Off;
            }
            model.erase()
        }),
    )
}
