//! Providers that people choose from tiles.
//!
//! Owns the address, the wire and the key of each. The values of vendors are those of `discover`, so that a key in the
//! environment and a key that is pasted lead to the same provider. Pitfall: a preset is a proposal; the settings file may
//! hold another address under the same name.

use super::VENDORS;
use crate::provider::ProviderKind;

/// A provider that is offered by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderPreset {
    /// Its name in the settings.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its wire.
    pub kind: ProviderKind,
    /// Its address.
    pub base_url: &'static str,
    /// Where its key comes from.
    pub key: PresetKey,
    /// The model that is proposed; none where only its own list tells.
    pub model: Option<&'static str>,
}

/// The key of a preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresetKey {
    /// It needs one, which its vendor gives at this page.
    Required {
        /// The page.
        page: &'static str,
    },
    /// It runs on this computer and needs none.
    None,
}

/// The tiles, in their order. Another server has no preset.
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
