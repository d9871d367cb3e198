//! Limits and features of models: context window, output limit, prompt caching, parameters, attachments.
//!
//! Owns the table of model families (`families.toml`, data with a date) and the lookup by the model's own name, on any
//! server. The exact limits of a listed model come from rig's catalogue and win over those of its family. Never reads
//! the name of a provider: `work` may serve Claude. Pitfall: an output limit of the whole context window leaves no room
//! for the prompt, so half of the window is the maximum.

use std::sync::OnceLock;

use rig_core::catalog::Catalog;
use rouse_core::model::Effort;
use serde::Deserialize;

/// Vendors with a catalogue of model names.
const VENDORS: [&str; 2] = ["openai", "anthropic"];

/// Facts about a family of models.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelFamily {
    pub(crate) name: String,
    models: Vec<String>,
    /// The context window in tokens.
    context: u32,
    /// The output limit in tokens, if a request needs a limit.
    output: Option<u32>,
    pub(crate) cache: PromptCache,
    #[serde(default)]
    pub(crate) limit: LimitField,
    #[serde(default)]
    effort: Vec<String>,
    #[serde(default)]
    pub(crate) budget: bool,
    #[serde(default)]
    pub(crate) chat_tools_need_no_effort: bool,
    /// The attachments that the model reads.
    #[serde(default)]
    media: Vec<Media>,
    /// Whether people host the model themselves: then the server's own window counts.
    #[serde(default)]
    is_self_hosted: bool,
}

/// A class of attachments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Media {
    Image,
    Pdf,
}

/// The caching of a prompt's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromptCache {
    /// Without a mark.
    Automatic,
    /// At marks in the request.
    Marked,
}

/// The Chat Completions field of the output limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LimitField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyTable {
    #[expect(dead_code, reason = "the date is for readers of the table")]
    date: String,
    family: Vec<ModelFamily>,
}

fn families() -> &'static [ModelFamily] {
    static FAMILIES: OnceLock<Vec<ModelFamily>> = OnceLock::new();
    FAMILIES.get_or_init(|| {
        let table: FamilyTable = toml::from_str(include_str!("families.toml"))
            .expect("BUG: the table of model families is no TOML");
        table.family
    })
}

/// The family of `model`; none for an unknown model.
pub(crate) fn family_of(model: &str) -> Option<&'static ModelFamily> {
    let name = own_name(model);
    let candidates = families().iter().flat_map(|family| {
        family
            .models
            .iter()
            .filter(|prefix| name.starts_with(prefix.as_str()))
            .map(move |prefix| (prefix, family))
    });
    candidates.max_by_key(|(prefix, _)| prefix.len()).map(|(_, family)| family)
}

/// The model's own name, without the prefixes of vendors, clouds and regions
/// (`anthropic/claude-sonnet-5.5`, `us.anthropic.claude-sonnet-5-5-v1:0`).
pub(crate) fn own_name(model: &str) -> String {
    let name = model.to_lowercase();
    match name.find("claude") {
        Some(at) => name[at..].replace(['.', '@'], "-"),
        None => name.rsplit('/').next().unwrap_or_default().to_owned(),
    }
}

/// The output limit of `model` in tokens: as listed, else of the family; none where a request needs no limit.
pub(crate) fn output_tokens_of(model: &str) -> Option<u32> {
    let listed = listed(model).and_then(|spec| spec.max_output_tokens).filter(|most| *most > 0);
    let most = listed.or_else(|| family_of(model)?.output)?;
    Some(context_tokens_of(model).map_or(most, |context| most.min(context / 2)))
}

/// The context window of `model` in tokens: as listed, else of the family.
pub(crate) fn context_tokens_of(model: &str) -> Option<u32> {
    let listed = listed(model).and_then(|spec| spec.context_window).filter(|window| *window > 0);
    listed.or_else(|| family_of(model).map(|family| family.context))
}

/// The context window of a vendor's model behind a local gateway; none for a self-hosted model.
pub(crate) fn relayed_context_tokens_of(model: &str) -> Option<u32> {
    family_of(model).filter(|family| !family.is_self_hosted)?;
    context_tokens_of(model)
}

/// Whether `model` reads attachments of this class: as listed, else of the family.
pub(crate) fn reads(model: &str, media: Media) -> bool {
    let in_family = || family_of(model).is_some_and(|family| family.media.contains(&media));
    listed(model).map_or_else(in_family, |spec| match media {
        Media::Image => spec.input.image,
        Media::Pdf => spec.input.pdf,
    })
}

fn listed(model: &str) -> Option<&'static rig_core::catalog::ModelSpec> {
    let name = own_name(model);
    VENDORS.iter().find_map(|vendor| Catalog::builtin().resolve(&format!("{vendor}/{name}")))
}

impl ModelFamily {
    /// The family's level for `effort`: the level itself, else the next lower; none for a family without levels.
    pub(crate) fn effort_word(&self, effort: Effort) -> Option<&str> {
        let wanted: &[&str] = match effort {
            Effort::Low => &["low", "medium", "high"],
            Effort::Medium => &["medium", "low", "high"],
            Effort::High => &["high", "medium", "low"],
            Effort::Max => &["max", "xhigh", "high", "medium", "low"],
        };
        wanted
            .iter()
            .find_map(|word| self.effort.iter().find(|level| level == word))
            .map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family_name(model: &str) -> Option<&'static str> {
        family_of(model).map(|family| family.name.as_str())
    }

    #[test]
    fn family_is_found_by_the_models_own_name() {
        for (model, family) in [
            ("claude-sonnet-5-5", "Claude 5"),
            ("anthropic/claude-sonnet-5.5", "Claude 5"),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", "Claude Opus 4.5"),
            ("bedrock/eu.anthropic.claude-3-7-sonnet", "Claude 3"),
            ("vertex_ai/claude-haiku-4-5@20251001", "Claude 4"),
            ("claude-next", "Claude"),
            ("gpt-5.6-terra", "GPT-5.6"),
            ("openai/gpt-5-mini", "GPT-5"),
            ("azure/GPT-4.1", "GPT-4.1"),
            ("o4-mini", "o-series"),
            ("qwen3:4b", "Qwen 3"),
        ] {
            assert_eq!(family_name(model), Some(family), "{model}");
        }
        for unknown in ["llama3.2:3b", "dall-e-3", "", "my-model"] {
            assert_eq!(family_name(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn listed_limit_wins_and_family_limit_fills_in() {
        assert_eq!(output_tokens_of("gpt-4o"), Some(16_384));
        assert_eq!(output_tokens_of("openai/GPT-4o"), Some(16_384));
        assert_eq!(output_tokens_of("claude-sonnet-4-20250514"), Some(64_000));
        assert_eq!(output_tokens_of("anthropic/claude-opus-4.1"), Some(32_000));
        assert_eq!(output_tokens_of("claude-next"), Some(32_000));
        assert_eq!(output_tokens_of("gpt-3.5-turbo"), Some(4_096));
        assert_eq!(output_tokens_of("gpt-4"), Some(4_096), "half of the window");
        for unknown in ["gpt-4o-ultra", "llama3.2:3b", "dall-e-3", ""] {
            assert_eq!(output_tokens_of(unknown), None, "{unknown}");
        }
        assert_eq!(context_tokens_of("gpt-4o-ultra"), Some(128_000));
        assert_eq!(context_tokens_of("llama3.2:3b"), None);
    }

    #[test]
    fn effort_maps_to_a_level_that_the_family_has() {
        let word = |model, effort| family_of(model).and_then(|family| family.effort_word(effort));
        assert_eq!(word("gpt-5.6-terra", Effort::Max), Some("max"));
        assert_eq!(word("gpt-5.5", Effort::Max), Some("xhigh"));
        assert_eq!(word("gpt-5", Effort::Max), Some("high"));
        assert_eq!(word("grok-5", Effort::Medium), Some("low"));
        assert_eq!(word("claude-sonnet-5-5", Effort::Low), Some("low"));
        assert_eq!(word("gpt-4o", Effort::High), None);
    }

    #[test]
    fn attachments_follow_the_listed_model_then_the_family() {
        for (model, image, pdf) in [
            ("claude-sonnet-4-20250514", true, true),
            ("anthropic/claude-sonnet-5.5", true, true),
            ("gpt-5.6-terra", true, true),
            ("gpt-4o", true, true),
            ("gpt-4", false, false),
            ("gemini-3-pro", true, true),
            ("gemma3:4b", true, false),
            ("qwen2.5vl:7b", true, false),
            ("qwen3:4b", false, false),
            ("my-model", false, false),
        ] {
            let found = (reads(model, Media::Image), reads(model, Media::Pdf));
            assert_eq!(found, (image, pdf), "{model}");
        }
    }

    #[test]
    fn every_family_is_read_from_the_table() {
        assert!(families().len() > 15);
        assert!(families().iter().all(|family| !family.models.is_empty() && family.context > 0));
    }
}
