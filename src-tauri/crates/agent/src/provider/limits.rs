//! How long an answer of a model may get, as its vendor says it.
//!
//! Owns the look into rig's catalogue, by the model's own name: the same model is often served by somebody else, who takes
//! no larger bound. It refuses to guess, so a model that is not in it has none. One could get it wrong by taking the
//! limit of an answer as it stands: where that is all that the model reads, nothing would be left for the question.

use rig_core::catalog::Catalog;

/// Whose models are looked for.
const VENDORS: [&str; 2] = ["openai", "anthropic"];

/// The most tokens that an answer of `model` is asked to have, where somebody has said it.
pub(crate) fn answer_tokens_of(model: &str) -> Option<u32> {
    let name = model.to_lowercase();
    let name = name.rsplit_once('/').map_or(name.as_str(), |(_, name)| name);
    let find = |vendor: &&str| Catalog::builtin().resolve(&format!("{vendor}/{name}"));
    let spec = VENDORS.iter().find_map(find)?;
    let half = spec.context_window.map_or(u32::MAX, |read| read / 2);
    spec.max_output_tokens.map(|most| most.min(half)).filter(|most| *most > 0)
}

#[cfg(test)]
mod tests {
    use super::answer_tokens_of;

    #[test]
    fn a_model_has_the_limit_of_its_name_and_no_relative_s() {
        assert_eq!(answer_tokens_of("gpt-4o"), Some(16_384));
        assert_eq!(answer_tokens_of("openai/GPT-4o"), Some(16_384));
        assert_eq!(answer_tokens_of("claude-sonnet-4-20250514"), Some(64_000));
        assert_eq!(answer_tokens_of("gpt-3.5-turbo"), Some(4_096));
        assert_eq!(answer_tokens_of("gpt-4"), Some(4_096), "half of what it reads");
        for unknown in ["gpt-4o-ultra", "llama3.2:3b", "dall-e-3", ""] {
            assert_eq!(answer_tokens_of(unknown), None, "{unknown}");
        }
    }
}
