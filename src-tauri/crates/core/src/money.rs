//! Spending limits: what a budget is, when it is used up, and how that is told.
//!
//! Owns the decision, as a pure function of a limit and of what was spent. It refuses to know prices (`agent::money`) and
//! where spending is kept (`store::spending`). Money is counted in whole millionths of a dollar: sums of fractions drift.
//! One could get it wrong by taking a cost that nobody knows for none: what has no price counts in tokens only, and is
//! said to.

mod stop;

use std::fmt;

use serde_json::Value;

use crate::json_fields::{Fields, kind_of};

pub use stop::{BudgetOf, BudgetStop, Lack, Reached};

/// The most tokens that a budget can name.
const MOST_TOKENS: i64 = 1_000_000_000;
/// The most dollars that a budget can name.
const MOST_USD: f64 = 1_000_000.0;

/// Millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// The amount nearest to `usd` dollars; nothing below zero.
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
        reason = "only shown; nobody has 2^53 millionths of a dollar"
    )]
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Reads an optional limit in dollars.
    pub fn read(fields: &mut Fields<'_>, key: &str) -> Option<Self> {
        let value = fields.take(key)?;
        let Some(usd) = value.as_f64() else {
            fields.complain(key, format!("expected dollars, found {}", kind_of(&value)));
            return None;
        };
        let amount = Self::of_usd(usd);
        if amount.0 == 0 || usd > MOST_USD {
            fields.complain(
                key,
                format!("must be between 0.000001 and {MOST_USD} dollars, found {usd}"),
            );
            return None;
        }
        Some(amount)
    }

    /// As the job format writes it: dollars, whole where they are.
    #[must_use]
    pub fn to_json(self) -> Value {
        match self.0 % 1_000_000 {
            0 => Value::from(self.0 / 1_000_000),
            _ => Value::from(self.usd()),
        }
    }
}

/// "0.42 USD"; small amounts with as many places as they need.
impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let part = format!("{part:06}");
        let shown = part.trim_end_matches('0').len().max(2);
        write!(f, "{whole}.{} USD", &part[..shown])
    }
}

/// Reads an optional limit in tokens.
pub fn read_tokens(fields: &mut Fields<'_>, key: &str) -> Option<u64> {
    fields.integer(key, 1..=MOST_TOKENS).and_then(|tokens| u64::try_from(tokens).ok())
}

/// What may be spent; nothing is limited by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limit {
    /// Tokens, sent and received.
    pub tokens: Option<u64>,
    /// Money.
    pub usd: Option<MicroUsd>,
}

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Tokens, sent and received, those without a price included.
    pub tokens: u64,
    /// Money, as far as prices are known.
    pub usd: MicroUsd,
    /// Tokens of which nobody knows what they cost.
    pub unpriced_tokens: u64,
}

impl Spent {
    /// Money alone.
    #[must_use]
    pub const fn of_cost(micro_usd: u64) -> Self {
        Self { tokens: 0, usd: MicroUsd(micro_usd), unpriced_tokens: 0 }
    }

    /// Both together.
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
    /// Whether it limits nothing.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.tokens.is_none() && self.usd.is_none()
    }

    /// Whether it is money alone that limits, so that what has no price would be limited by nothing.
    #[must_use]
    pub const fn needs_prices(&self) -> bool {
        self.usd.is_some() && self.tokens.is_none()
    }

    /// Whether `spent` has reached it, and which part of it.
    #[must_use]
    pub fn reached_by(&self, spent: Spent) -> Option<Reached> {
        let tokens = self.tokens.filter(|most| spent.tokens >= *most);
        let usd = self.usd.filter(|most| spent.usd >= *most);
        match (tokens, usd) {
            (Some(most), _) => Some(Reached::Tokens { most, used: spent.tokens }),
            (None, Some(most)) => Some(Reached::Usd { most, used: spent.usd }),
            (None, None) => None,
        }
    }

    /// Whether what `spent` has left of it is too little for as much as `wanted`, and which part of it.
    #[must_use]
    pub fn lacks(&self, spent: Spent, wanted: Spent) -> Option<Lack> {
        let Self { tokens, usd } = self.after(spent);
        let tokens = tokens.filter(|left| *left < wanted.tokens).map(|left| Lack::Tokens {
            most: self.tokens.unwrap_or(left),
            left,
            wanted: wanted.tokens,
        });
        let usd = usd.filter(|left| *left < wanted.usd).map(|left| Lack::Usd {
            most: self.usd.unwrap_or(left),
            left,
            wanted: wanted.usd,
        });
        tokens.or(usd)
    }

    /// What is left of it after so much.
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
    fn a_limit_is_reached_at_the_limit() {
        let limit = Limit { tokens: Some(100), usd: Some(MicroUsd(50)) };
        assert_eq!(limit.reached_by(spent(99, 49)), None);
        let tokens = Some(Reached::Tokens { most: 100, used: 100 });
        assert_eq!(limit.reached_by(spent(100, 49)), tokens);
        assert_eq!(limit.reached_by(spent(100, 50)), tokens, "one of them is named");
        let usd = Some(Reached::Usd { most: MicroUsd(50), used: MicroUsd(51) });
        assert_eq!(limit.reached_by(spent(99, 51)), usd);
        assert_eq!(Limit::default().reached_by(spent(u64::MAX, u64::MAX)), None);
    }

    #[test]
    fn a_limit_lacks_what_does_not_fit_into_the_rest_of_it() {
        let limit = Limit { tokens: Some(100), usd: Some(MicroUsd(50)) };
        assert_eq!(limit.lacks(spent(60, 20), spent(40, 30)), None, "all that is left");
        let tokens = Lack::Tokens { most: 100, left: 40, wanted: 41 };
        assert_eq!(limit.lacks(spent(60, 20), spent(41, 31)), Some(tokens));
        let (most, left, wanted) = (MicroUsd(50), MicroUsd(0), MicroUsd(1));
        assert_eq!(limit.lacks(spent(60, 99), spent(1, 1)), Some(Lack::Usd { most, left, wanted }));
        assert_eq!(Limit::default().lacks(spent(9, 9), spent(u64::MAX, u64::MAX)), None);
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
    fn dollars_in_words_and_in_json() {
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

    #[test]
    fn what_is_no_amount_is_refused_by_name() {
        for wrong in [json!(0), json!(-1), json!("2"), json!(1e9), json!(0.000_000_1)] {
            let mut errors = Vec::new();
            let mut fields =
                Fields::new("policies.budget", json!({ "usdPerDay": wrong }), &mut errors);
            assert_eq!(MicroUsd::read(&mut fields, "usdPerDay"), None, "{wrong}");
            let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
            assert_eq!(paths, ["policies.budget.usdPerDay"], "{wrong}");
        }
    }
}
