//! The connection to a configured provider. Nothing is sent before the first request.

use std::sync::Arc;

use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::anthropic::wire as anthropic;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::providers::openai::wire as openai;
use rouse_core::model::ModelProvider;

use super::address::is_web_address;
use super::config::{ConnectError, ProviderConfig, ProviderKind};
use super::rig::{MakeModel, RigProvider};
use super::stored_key::StoredKeyProvider;
use super::transport::Transport;
use super::{dialect, model_families};
use crate::safety::Safety;
use crate::secrets::{ApiKey, ProviderKey};

/// Connects a provider. Sends nothing yet. `safety` redacts stored secrets in the provider's error messages.
///
/// # Errors
/// When the address is not a web address.
pub fn connect(
    config: &ProviderConfig,
    safety: &Safety,
) -> Result<Arc<dyn ModelProvider>, ConnectError> {
    match &config.api_key {
        None => connect_with(config, None, safety),
        Some(ProviderKey::Given(key)) => connect_with(config, Some(key), safety),
        Some(ProviderKey::Stored(key)) => {
            Ok(Arc::new(StoredKeyProvider::new(config, key.clone(), safety)?))
        }
    }
}

pub(super) fn connect_with(
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

/// A compatible server of the Chat Completions format: Ollama, LM Studio, llama.cpp, vLLM, LiteLLM.
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

/// A compatible server of the Messages format.
const MESSAGES_GATEWAY: anthropic::Dialect = anthropic::compatible("compatible", "", "", None);

/// Every step of a run sends the whole conversation again, so Claude's prompts are cached on every server. Other fields
/// of Anthropic go to Anthropic alone.
fn messages_models(config: &ProviderConfig, key: &str, transport: Transport) -> MakeModel {
    let is_own = dialect::is_anthropic(&config.base_url);
    let dialect = if is_own { anthropic::ANTHROPIC } else { MESSAGES_GATEWAY };
    let client =
        AnthropicConfig::with_key(&dialect, key).with_base_url(&config.base_url).connect(transport);
    Box::new(move |model| {
        let is_marked = dialect::is_marked(model_families::family_of(model));
        let mut model = client.completion(model);
        model.wire.prompt_caching = is_marked;
        if !is_own {
            model.wire.tool_input_streaming = anthropic::ToolInputStreaming::Off;
        }
        model.erase()
    })
}
