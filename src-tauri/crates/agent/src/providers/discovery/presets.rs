//! Providers with presets, for the tiles of the settings page.
//!
//! Owns address, wire and key of each preset. Vendors share their values with discovery, so that a key in the
//! environment and a pasted key configure the same provider. Pitfall: a preset is a proposal; the settings file may
//! hold another address under the same name.

use super::vendors::VENDORS;
use crate::providers::config::ProviderKind;

/// A provider that can be added by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderPreset {
    /// The name in the settings.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The wire format.
    pub kind: ProviderKind,
    /// The address.
    pub base_url: &'static str,
    /// The source of the key.
    pub key: PresetKey,
    /// The proposed model; none where the provider's list decides.
    pub model: Option<&'static str>,
}

/// The key of a preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresetKey {
    /// A key from the vendor.
    Required {
        /// The vendor's page for keys.
        page: &'static str,
    },
    /// No key: a local server.
    None,
}

/// The presets, in display order.
#[must_use]
pub fn presets() -> Vec<ProviderPreset> {
    const PAGES: [&str; 3] = [
        "https://platform.claude.com/settings/keys",
        "https://platform.openai.com/api-keys",
        "https://openrouter.ai/settings/keys",
    ];
    let vendors = VENDORS.iter().zip(PAGES).map(|(vendor, page)| ProviderPreset {
        name: vendor.name,
        title: vendor.title,
        kind: vendor.kind,
        base_url: vendor.base_url,
        key: PresetKey::Required { page },
        model: Some(vendor.model),
    });
    let local = [
        ("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
        ("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    ];
    let local = local.map(|(name, title, base_url)| ProviderPreset {
        name,
        title,
        kind: ProviderKind::OpenAiChat,
        base_url,
        key: PresetKey::None,
        model: None,
    });
    vendors.chain(local).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preset_has_an_address_that_matches_its_key() {
        for preset in presets() {
            let needs_key = preset.key != PresetKey::None;
            assert_eq!(preset.base_url.starts_with("https://"), needs_key, "{preset:?}");
            assert_eq!(preset.model.is_some(), needs_key, "{preset:?}");
        }
    }
}
