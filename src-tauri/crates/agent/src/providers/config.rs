//! The configuration of a model provider.

use rouse_core::model::Effort;
pub use rouse_core::settings::ProviderKind;

use crate::secrets::ProviderKey;

/// The configuration of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// The name for people.
    pub name: String,
    /// The wire format.
    pub kind: ProviderKind,
    /// The address: `https://api.openai.com/v1`, `http://127.0.0.1:11434/v1`, `https://api.anthropic.com`.
    pub base_url: String,
    /// The model of jobs that name none.
    pub model: String,
    /// The context window of that model in tokens, from the settings.
    pub context_tokens: Option<u32>,
    /// The effort of jobs that set none.
    pub effort: Option<Effort>,
    /// The API key; local servers need none.
    pub api_key: Option<ProviderKey>,
}

/// Why a provider cannot be connected. Never quotes the address, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address is not a web address.
    #[error("the address of {name} is not a web address (it must begin with http:// or https://)")]
    Address {
        /// The provider.
        name: String,
    },
}
