//! The kinds of registries, with their settings.

use rouse_core::settings::RegistriesSection;

/// A kind of registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RegistryKind {
    /// MCP servers, with the MCP registry API.
    Servers,
    /// Skills, with the ClawHub API.
    Skills,
}

impl RegistryKind {
    /// The key of the address in the settings.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Servers => "registries.servers",
            Self::Skills => "registries.skills",
        }
    }

    /// The name of the API.
    pub(super) const fn api(self) -> &'static str {
        match self {
            Self::Servers => "MCP registry",
            Self::Skills => "ClawHub",
        }
    }

    /// The address in the settings.
    pub(super) fn address(self, registries: &RegistriesSection) -> Option<String> {
        match self {
            Self::Servers => registries.servers.clone(),
            Self::Skills => registries.skills.clone(),
        }
    }
}
