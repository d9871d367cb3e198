//! Spending limits: what a budget is, when it is used up, and how that is told.
//!
//! Owns the decision, as a pure function of a limit and of what was spent. It refuses to know prices (`agent::money`) and
//! where spending is kept (`store::spending`). Money is counted in whole millionths of a dollar: sums of fractions drift.
//! One could get it wrong by taking a cost that nobody knows for none: what has no price counts in tokens only, and is
//! said to.

use std::fmt;

use serde_json::Value;

use crate::UnixMs;
use crate::json_fields::{Fields, kind_of};
use crate::schedule::{Day, Zone};

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
}

/// A limit that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// In tokens.
    Tokens {
        /// The limit.
        most: u64,
        /// What was used.
        used: u64,
    },
    /// In money.
    Usd {
        /// The limit.
        most: MicroUsd,
        /// What was used.
        used: MicroUsd,
    },
}

/// What a budget is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetOf {
    /// One run.
    Run,
    /// A day of one job, in the job's zone.
    Job(Day),
    /// A day of everything: all jobs, the heartbeat and the chat, in the local zone.
    Everything(Day),
}

impl BudgetOf {
    const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Job(_) => "job",
            Self::Everything(_) => "everything",
        }
    }
}

/// A run that a budget has ended, or has kept from beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetStop {
    /// The same for every run that the same budget stops on the same day: one of them tells.
    pub key: String,
    /// Whether it is a budget of everything and not of one job, so that no job's wishes count for whether it is told.
    pub is_of_everything: bool,
    /// Whether it passes by itself at the end of the day.
    pub passes_with_the_day: bool,
    /// Which budget, its limit, what was used, and when it is free again.
    pub words: String,
}

impl BudgetStop {
    /// The stop of a run of `whom` (a job's id, or the name of what has none) at `now`.
    #[must_use]
    pub fn new(of: BudgetOf, reached: Reached, whom: &str, now: UnixMs, zone: Zone) -> Self {
        Self {
            key: key_of(of, whom, now, zone),
            is_of_everything: matches!(of, BudgetOf::Everything(_)),
            passes_with_the_day: !matches!(of, BudgetOf::Run),
            words: words_of(of, reached, zone),
        }
    }

    /// The stop of a run whose budget in dollars cannot be kept, because nobody knows what `model` costs.
    #[must_use]
    pub fn without_price(of: BudgetOf, model: &str, whom: &str, now: UnixMs, zone: Zone) -> Self {
        let whose = match of {
            BudgetOf::Run => "The budget of a run",
            BudgetOf::Job(_) => "The job's budget of a day",
            BudgetOf::Everything(_) => "Rouse's budget of a day",
        };
        let words = format!(
            "{whose} is in dollars, and the price of {model} is not known, so it could not be kept. Give its price under [prices] in the settings file, or a budget in tokens as well, or another model."
        );
        let key = format!("{}/price", key_of(of, whom, now, zone));
        let is_of_everything = matches!(of, BudgetOf::Everything(_));
        Self { key, is_of_everything, passes_with_the_day: false, words }
    }
}

fn key_of(of: BudgetOf, whom: &str, now: UnixMs, zone: Zone) -> String {
    let day = match of {
        BudgetOf::Run => Day::of(zone, now),
        BudgetOf::Job(day) | BudgetOf::Everything(day) => day,
    };
    let whom = if matches!(of, BudgetOf::Everything(_)) { "" } else { whom };
    format!("{}/{whom}/{}", of.name(), day.start.0)
}

fn words_of(of: BudgetOf, reached: Reached, zone: Zone) -> String {
    let (limit, used) = match reached {
        Reached::Tokens { most, used } => {
            (format!("{} tokens", grouped(most)), format!("{} tokens", grouped(used)))
        }
        Reached::Usd { most, used } => (most.to_string(), used.to_string()),
    };
    let free = |day: Day| format!("It is free again on {}.", day.end_in_words(zone));
    match of {
        BudgetOf::Run => format!(
            "The budget of a run, {limit}, is used up: this run has used {used}. The next run has a new one."
        ),
        BudgetOf::Job(day) => format!(
            "The job's budget of {limit} a day is used up: it has used {used} today. {}",
            free(day)
        ),
        BudgetOf::Everything(day) => format!(
            "Rouse's budget of {limit} a day is used up: all runs together have used {used} today. {}",
            free(day)
        ),
    }
}

/// "52,310".
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// 22 November 2026 at 13:00 in Berlin.
    const NOW: UnixMs = UnixMs(1_795_348_800_000);

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

    #[test]
    fn a_stop_names_the_budget_its_limit_the_use_and_when_it_is_free() {
        let zone = Zone::from(chrono_tz::Europe::Berlin);
        let day = Day::of(zone, NOW);
        let reached = Reached::Tokens { most: 50_000, used: 52_310 };
        let stop = BudgetStop::new(BudgetOf::Job(day), reached, "job-1", NOW, zone);
        assert_eq!(
            stop.words,
            "The job's budget of 50,000 tokens a day is used up: it has used 52,310 tokens today. It is free again on 23 Nov 2026 at 00:00 (Europe/Berlin)."
        );
        let later = BudgetStop::new(BudgetOf::Job(day), reached, "job-1", NOW.plus_ms(1), zone);
        assert_eq!(stop.key, later.key, "the same budget on the same day");
        let other = BudgetStop::new(BudgetOf::Job(day), reached, "job-2", NOW, zone);
        assert_ne!(stop.key, other.key);
        let usd = Reached::Usd { most: MicroUsd(1_000_000), used: MicroUsd(1_020_000) };
        let all = BudgetStop::new(BudgetOf::Everything(day), usd, "job-1", NOW, zone);
        let all_of_another = BudgetStop::new(BudgetOf::Everything(day), usd, "job-2", NOW, zone);
        assert_eq!(all, all_of_another, "whoever meets it");
        assert!(all.words.starts_with("Rouse's budget of 1.00 USD a day is used up: all runs together have used 1.02 USD today."));
    }
}
