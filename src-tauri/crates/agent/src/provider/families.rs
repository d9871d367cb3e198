//! What a model takes and how much: limits, caching, parameters, media.
//!
//! Owns the table of model families (`families.toml`, data with a date) and the lookup by the model's own name, whoever
//! serves the model. The exact limits of a listed model come from rig's catalogue and win over those of its family. Never
//! reads the name of a provider: `work` may serve Claude. Pitfall: a limit of an answer that is the whole context window
//! leaves no room for the question, so half of the window is the most.

use std::sync::OnceLock;

use rig_core::catalog::Catalog;
use rouse_core::model::Effort;
use serde::Deserialize;

/// Vendors whose models are listed in the catalogue under their own names.
const VENDORS: [&str; 2] = ["openai", "anthropic"];

/// Facts about one family of models.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelFamily {
    pub(crate) name: String,
    models: Vec<String>,
    /// Tokens that the model reads.
    context: u32,
    /// Tokens of the longest answer, where a request has to say it.
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
    /// Whether people run it themselves: then the server's own window counts.
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

/// How a vendor caches the beginning of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromptCache {
    /// By itself.
    Automatic,
    /// Where the request marks it.
    Marked,
}

/// The Chat Completions field that bounds an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LimitField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[expect(dead_code, reason = "the date is for the people who read the table")]
    date: String,
    family: Vec<ModelFamily>,
}

fn families() -> &'static [ModelFamily] {
    static FAMILIES: OnceLock<Vec<ModelFamily>> = OnceLock::new();
    FAMILIES.get_or_init(|| {
        let table: Table = toml::from_str(include_str!("families.toml"))
            .expect("BUG: the table of model families is no TOML");
        table.family
    })
}

/// The family of `model`; none for a model that the table does not know.
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

/// The model's own name: without the names of vendors, clouds and regions that gateways put before it
/// (`anthropic/claude-sonnet-5.5`, `us.anthropic.claude-sonnet-5-5-v1:0`).
pub(crate) fn own_name(model: &str) -> String {
    let name = model.to_lowercase();
    match name.find("claude") {
        Some(at) => name[at..].replace(['.', '@'], "-"),
        None => name.rsplit('/').next().unwrap_or_default().to_owned(),
    }
}

/// The most tokens that `model` is asked to answer: its listed limit, else that of its family; none where a request need
/// not say it.
pub(crate) fn output_tokens_of(model: &str) -> Option<u32> {
    let listed = listed(model).and_then(|spec| spec.max_output_tokens).filter(|most| *most > 0);
    let most = listed.or_else(|| family_of(model)?.output)?;
    Some(context_tokens_of(model).map_or(most, |context| most.min(context / 2)))
}

/// The tokens that `model` reads: its listed window, else that of its family.
pub(crate) fn context_tokens_of(model: &str) -> Option<u32> {
    let listed = listed(model).and_then(|spec| spec.context_window).filter(|window| *window > 0);
    listed.or_else(|| family_of(model).map(|family| family.context))
}

/// The tokens that `model` reads when a server on this computer passes it on; none for a model that runs here.
pub(crate) fn relayed_context_tokens_of(model: &str) -> Option<u32> {
    family_of(model).filter(|family| !family.is_self_hosted)?;
    context_tokens_of(model)
}

/// Whether `model` reads attachments of this class: as listed, else as its family does.
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
    /// The family's word for `effort`: the level itself, else the next lower one that the family has; none for a family
    /// without levels.
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
