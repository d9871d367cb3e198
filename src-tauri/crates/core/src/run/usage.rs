//! Tokens and cost of runs and model calls.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Tokens and cost of a run or a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens, with cached tokens.
    pub input_tokens: u64,
    /// Input tokens read from the provider's cache.
    pub cached_input_tokens: u64,
    /// Input tokens written to the provider's cache; part of the cost, neither stored nor sent separately.
    #[serde(skip)]
    pub cache_write_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// The cost in micro-dollars; none when unknown, never zero for unknown.
    pub cost_micro_usd: Option<u64>,
}

impl Usage {
    /// No tokens.
    pub const NONE: Self = Self {
        input_tokens: 0,
        cached_input_tokens: 0,
        cache_write_tokens: 0,
        output_tokens: 0,
        cost_micro_usd: None,
    };

    /// The sum. The cost is known only if every part's cost is.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_add(other.cached_input_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_micro_usd: match (self.cost_micro_usd, other.cost_micro_usd) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (None, Some(b)) if self.tokens() == 0 => Some(b),
                (Some(a), None) if other.tokens() == 0 => Some(a),
                _ => None,
            },
        }
    }

    /// All tokens.
    #[must_use]
    pub const fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_sum_saturates() {
        let most = Usage {
            input_tokens: u64::MAX,
            cached_input_tokens: u64::MAX,
            cache_write_tokens: u64::MAX,
            output_tokens: u64::MAX,
            cost_micro_usd: Some(u64::MAX),
        };
        assert_eq!(most.plus(most), most);
        assert_eq!(most.tokens(), u64::MAX);
    }
}
