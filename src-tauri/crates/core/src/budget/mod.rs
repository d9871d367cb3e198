//! Budgets: limits on tokens and money, and their exhaustion.
//!
//! Owns the decision as a pure function of a limit and the spending. Never knows prices (`agent`) or where spending is
//! stored. Money is counted in micro-dollars, because sums of fractions drift.
//! Pitfall: treating an unknown cost as zero; calls without a price count in tokens only.

mod price;
mod stop_message;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

pub use price::Price;
pub use stop_message::{BudgetScope, BudgetShortfall, BudgetStop, LimitReached};

/// The maximum money limit in dollars.
const MOST_USD: f64 = 1_000_000.0;

/// Millionths of a US dollar; in JSON dollars.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    TS,
)]
#[serde(from = "f64", into = "Value")]
#[schemars(with = "f64", extend("minimum" = 0.000_001, "maximum" = MOST_USD, "unit" = "dollars"))]
#[ts(type = "number")]
pub struct MicroUsd(pub u64);

impl From<f64> for MicroUsd {
    fn from(usd: f64) -> Self {
        Self::of_usd(usd)
    }
}

impl From<MicroUsd> for Value {
    fn from(amount: MicroUsd) -> Self {
        amount.to_json()
    }
}

impl MicroUsd {
    /// The amount nearest to `usd` dollars, at least zero.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that is too large or below zero saturates"
    )]
    pub fn of_usd(usd: f64) -> Self {
        Self((usd * 1e6).round() as u64)
    }

    /// In dollars.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "for display; amounts stay below 2^53 millionths of a dollar"
    )]
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// As a number of dollars in JSON.
    #[must_use]
    pub fn to_json(self) -> Value {
        match self.0 % 1_000_000 {
            0 => Value::from(self.0 / 1_000_000),
            _ => Value::from(self.usd()),
        }
    }
}

/// "0.42 USD", with as many places as small amounts need.
impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let part = format!("{part:06}");
        let shown = part.trim_end_matches('0').len().max(2);
        write!(f, "{whole}.{} USD", &part[..shown])
    }
}

/// A limit on spending; unlimited by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limit {
    /// Input and output tokens.
    pub tokens: Option<u64>,
    /// Money.
    pub usd: Option<MicroUsd>,
}

/// Spending so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Input and output tokens, with unpriced tokens.
    pub tokens: u64,
    /// Known cost.
    pub usd: MicroUsd,
    /// Tokens without a known price.
    pub unpriced_tokens: u64,
}

impl Spent {
    /// A cost without tokens.
    #[must_use]
    pub const fn of_cost(micro_usd: u64) -> Self {
        Self { tokens: 0, usd: MicroUsd(micro_usd), unpriced_tokens: 0 }
    }

    /// The sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            usd: MicroUsd(self.usd.0.saturating_add(other.usd.0)),
            unpriced_tokens: self.unpriced_tokens.saturating_add(other.unpriced_tokens),
        }
    }
}

impl Limit {
    /// Whether the budget is unlimited.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.tokens.is_none() && self.usd.is_none()
    }

    /// Whether only money is limited, so that calls without a price would be unlimited.
    #[must_use]
    pub const fn needs_prices(&self) -> bool {
        self.usd.is_some() && self.tokens.is_none()
    }

    /// The part of the limit that `spent` has reached; none when none.
    #[must_use]
    pub fn reached_by(&self, spent: Spent) -> Option<LimitReached> {
        let tokens = self.tokens.filter(|most| spent.tokens >= *most);
        let usd = self.usd.filter(|most| spent.usd >= *most);
        match (tokens, usd) {
            (Some(most), _) => Some(LimitReached::Tokens { most, used: spent.tokens }),
            (None, Some(most)) => Some(LimitReached::Usd { most, used: spent.usd }),
            (None, None) => None,
        }
    }

    /// The part of the limit with less than `wanted` left after `spent`; none when enough is left.
    #[must_use]
    pub fn shortfall(&self, spent: Spent, wanted: Spent) -> Option<BudgetShortfall> {
        let Self { tokens, usd } = self.after(spent);
        let tokens =
            tokens.filter(|left| *left < wanted.tokens).map(|left| BudgetShortfall::Tokens {
                most: self.tokens.unwrap_or(left),
                left,
                wanted: wanted.tokens,
            });
        let usd = usd.filter(|left| *left < wanted.usd).map(|left| BudgetShortfall::Usd {
            most: self.usd.unwrap_or(left),
            left,
            wanted: wanted.usd,
        });
        tokens.or(usd)
    }

    /// The rest after this spending.
    #[must_use]
    pub fn after(&self, spent: Spent) -> Self {
        Self {
            tokens: self.tokens.map(|most| most.saturating_sub(spent.tokens)),
            usd: self.usd.map(|most| MicroUsd(most.0.saturating_sub(spent.usd.0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spent(tokens: u64, usd: u64) -> Spent {
        Spent { tokens, usd: MicroUsd(usd), unpriced_tokens: 0 }
    }

    #[test]
    fn limit_is_reached_at_its_value() {
        let limit = Limit { tokens: Some(100), usd: Some(MicroUsd(50)) };
        assert_eq!(limit.reached_by(spent(99, 49)), None);
        let tokens = Some(LimitReached::Tokens { most: 100, used: 100 });
        assert_eq!(limit.reached_by(spent(100, 49)), tokens);
        assert_eq!(limit.reached_by(spent(100, 50)), tokens, "a single limit is named");
        let usd = Some(LimitReached::Usd { most: MicroUsd(50), used: MicroUsd(51) });
        assert_eq!(limit.reached_by(spent(99, 51)), usd);
        assert_eq!(Limit::default().reached_by(spent(u64::MAX, u64::MAX)), None);
    }

    #[test]
    fn shortfall_is_reported_beyond_the_rest() {
        let limit = Limit { tokens: Some(100), usd: Some(MicroUsd(50)) };
        assert_eq!(limit.shortfall(spent(60, 20), spent(40, 30)), None, "all that is left");
        let tokens = BudgetShortfall::Tokens { most: 100, left: 40, wanted: 41 };
        assert_eq!(limit.shortfall(spent(60, 20), spent(41, 31)), Some(tokens));
        let (most, left, wanted) = (MicroUsd(50), MicroUsd(0), MicroUsd(1));
        assert_eq!(
            limit.shortfall(spent(60, 99), spent(1, 1)),
            Some(BudgetShortfall::Usd { most, left, wanted })
        );
        assert_eq!(Limit::default().shortfall(spent(9, 9), spent(u64::MAX, u64::MAX)), None);
        assert_eq!(Limit::default().after(spent(9, 9)), Limit::default());
    }

    #[test]
    fn only_money_alone_needs_prices() {
        let usd = Some(MicroUsd(1));
        assert!(Limit { tokens: None, usd }.needs_prices());
        assert!(!Limit { tokens: Some(1), usd }.needs_prices());
        assert!(!Limit { tokens: Some(1), usd: None }.needs_prices());
    }

    #[test]
    fn dollars_are_formatted_as_text_and_json() {
        for (amount, words, written) in [
            (0, "0.00 USD", json!(0)),
            (1, "0.000001 USD", json!(0.000_001)),
            (420_000, "0.42 USD", json!(0.42)),
            (1_500_000, "1.50 USD", json!(1.5)),
            (12_345_678, "12.345678 USD", json!(12.345_678)),
            (2_000_000, "2.00 USD", json!(2)),
        ] {
            assert_eq!(MicroUsd(amount).to_string(), words);
            assert_eq!(MicroUsd(amount).to_json(), written);
            let read = MicroUsd::of_usd(written.as_f64().expect("a number"));
            assert_eq!(read, MicroUsd(amount), "{words}");
        }
    }
}
