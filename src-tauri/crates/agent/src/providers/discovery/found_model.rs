//! A model that discovery has found.

use crate::providers::config::ProviderConfig;

/// An available model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// The label for people: `Ollama on this computer (llama3.2:3b)`.
    pub label: String,
    /// The source.
    pub source: FoundIn,
    /// The configuration of the provider.
    pub provider: ProviderConfig,
    /// All models of the server with the chosen model; empty without a list.
    pub offers: Vec<String>,
}

/// The source of a found model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundIn {
    /// In the configuration.
    Configuration,
    /// On this computer.
    ThisComputer,
    /// Through a key in the environment.
    Environment,
}
