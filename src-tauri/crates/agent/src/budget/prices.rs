//! Prices of models.
//!
//! Owns the dated table (`prices.toml`) and the sources with priority: a price of the person, zero for a model on this
//! computer, the cost that a provider reports. Never guesses: a model has the price of its own name, with or without a
//! date suffix. A model without a known price has no cost, which differs from a cost of zero.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rouse_core::budget::{MicroUsd, Price};
use rouse_core::model::Billing;
use rouse_core::run::Usage;
use serde::Deserialize;

use crate::providers::model_choice::ChosenModel;
use crate::providers::own_name;

/// The price of input that is written to the cache, as a multiple of other input. Equal at all vendors that bill such input.
const CACHE_WRITE: f64 = 1.25;

/// The cost of `usage` at `price`.
#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
fn cost_at(price: Price, usage: Usage) -> MicroUsd {
    let cached = usage.cached_input_tokens.min(usage.input_tokens);
    let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
    let fresh = usage.input_tokens - cached - written;
    let micro = fresh as f64 * price.input
        + written as f64 * price.input * CACHE_WRITE
        + cached as f64 * price.cached.unwrap_or(price.input)
        + usage.output_tokens as f64 * price.output;
    MicroUsd::of_usd(micro / 1e6)
}

/// The person's own prices over the table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    own: BTreeMap<String, Price>,
}

impl Prices {
    /// Prices with the person's own by model name; a name may end with `*`.
    #[must_use]
    pub fn with_own(own: BTreeMap<String, Price>) -> Self {
        Self { own: own.into_iter().map(|(name, price)| (name.to_lowercase(), price)).collect() }
    }

    /// The date of the table.
    #[must_use]
    pub fn date() -> &'static str {
        &price_table().date
    }

    /// Whether the cost of an answer of `model` will be known.
    #[must_use]
    pub fn knows(&self, model: &ChosenModel) -> bool {
        self.own(&model.model).is_some()
            || model.provider.billing() != Billing::ByPrice
            || list_price(&model.model).is_some()
    }

    /// The cost of an answer of `model` with this usage.
    #[must_use]
    pub fn cost(&self, model: &ChosenModel, usage: Usage) -> Option<MicroUsd> {
        if let Some(price) = self.own(&model.model) {
            return Some(cost_at(price, usage));
        }
        let listed = list_price(&model.model);
        // A gateway on this computer may serve priced models.
        if model.provider.billing() == Billing::Free && listed.is_none() {
            return Some(MicroUsd(0));
        }
        let reported = usage.cost_micro_usd.map(MicroUsd);
        reported.or_else(|| listed.map(|price| cost_at(price, usage)))
    }

    /// The cost of an expected `usage`, if known before the answer.
    #[must_use]
    pub fn estimate(&self, model: &ChosenModel, usage: Usage) -> Option<MicroUsd> {
        self.cost(model, Usage { cost_micro_usd: None, ..usage })
    }

    /// The person's own price: by the whole name, else by the longest prefix.
    fn own(&self, model: &str) -> Option<Price> {
        let model = model.to_lowercase();
        let has_prefix = |(name, _): &(&String, &Price)| {
            name.strip_suffix('*').is_some_and(|prefix| model.starts_with(prefix))
        };
        let matching = self.own.iter().filter(has_prefix);
        let longest = matching.max_by_key(|(name, _)| name.len()).map(|(_, price)| price);
        self.own.get(&model).or(longest).copied()
    }
}

#[derive(Deserialize)]
struct PriceTable {
    date: String,
    price: Vec<PriceLine>,
}

#[derive(Deserialize)]
struct PriceLine {
    models: Vec<String>,
    input: f64,
    cached: Option<f64>,
    output: f64,
}

fn price_table() -> &'static PriceTable {
    static TABLE: OnceLock<PriceTable> = OnceLock::new();
    TABLE.get_or_init(|| {
        toml::from_str(include_str!("prices.toml")).expect("BUG: the table of prices is valid TOML")
    })
}

/// The price in the table. `model` may have a vendor prefix and a date suffix.
fn list_price(model: &str) -> Option<Price> {
    let name = own_name(model);
    let line = price_table()
        .price
        .iter()
        .find(|line| line.models.iter().any(|listed| is_dated_name_of(&name, listed)))?;
    Some(Price { input: line.input, cached: line.cached, output: line.output })
}

/// Whether `name` is `model`, or `model` with a date suffix: `-2026-07-02` or `-20260702`.
fn is_dated_name_of(name: &str, model: &str) -> bool {
    let Some(rest) = name.strip_prefix(model) else { return false };
    let Some(date) = rest.strip_prefix('-') else { return rest.is_empty() };
    let digits = date.replace('-', "");
    digits.len() == 8
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (date.len() == 8 || date.len() == 10)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rig_core::catalog::Catalog;
    use rouse_testkit::scripted_model::ScriptedModel;

    use super::*;

    fn chosen(model: &str, billing: Billing) -> ChosenModel {
        let provider = Arc::new(ScriptedModel::default().paid(billing));
        ChosenModel { provider, model: model.to_owned() }
    }

    fn usage(input: u64, cached: u64, output: u64) -> Usage {
        Usage {
            input_tokens: input,
            cached_input_tokens: cached,
            output_tokens: output,
            ..Usage::NONE
        }
    }

    fn cost(model: &str) -> Option<u64> {
        let model = chosen(model, Billing::ByPrice);
        Prices::default().cost(&model, usage(1_000_000, 0, 0)).map(|cost| cost.0)
    }

    #[test]
    fn model_has_the_price_of_its_own_name() {
        assert_eq!(cost("gpt-5"), Some(1_250_000));
        assert_eq!(cost("GPT-5-2025-08-07"), Some(1_250_000));
        assert_eq!(cost("claude-sonnet-4-20250514"), Some(3_000_000));
        assert_eq!(cost("openai/gpt-5"), Some(1_250_000));
        for unknown in ["gpt-5-ultra", "gpt-5-2025", "my-gpt-5", "llama3.2:3b", ""] {
            assert_eq!(cost(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn cached_tokens_have_their_own_price() {
        let model = chosen("gpt-5.6-terra", Billing::ByPrice);
        // 2 dollars for input, 0.2 cached, 12 for output.
        let cost = Prices::default().cost(&model, usage(1_200, 1_024, 80));
        assert_eq!(cost, Some(MicroUsd(352 + 205 + 960)));
        let price = Price { input: 2.0, cached: None, output: 0.0 };
        assert_eq!(cost_at(price, usage(10, 4, 0)), MicroUsd(20), "without a price of their own");
        assert_eq!(
            cost_at(price, usage(4, 10, 0)),
            MicroUsd(8),
            "no negative number of fresh tokens"
        );
        let written = Usage { cache_write_tokens: 80, ..usage(100, 10, 0) };
        assert_eq!(cost_at(price, written), MicroUsd(240), "10 fresh, 80 written, 10 cached");
    }

    #[test]
    fn own_price_precedes_free_and_reported_cost() {
        let price = |input| Price { input, cached: None, output: 0.0 };
        let own = [("gpt-5", price(7.0)), ("gpt-*", price(8.0)), ("gpt-4*", price(9.0))];
        let own = own.map(|(name, price)| (name.to_owned(), price));
        let prices = Prices::with_own(own.into_iter().collect());
        let cost = |model: &str, billing, reported| {
            let used = Usage { cost_micro_usd: reported, ..usage(1_000_000, 0, 0) };
            prices.cost(&chosen(model, billing), used).map(|cost| cost.0)
        };
        assert_eq!(cost("GPT-5", Billing::Reported, Some(1)), Some(7_000_000));
        assert_eq!(cost("gpt-5.6", Billing::ByPrice, Some(1)), Some(8_000_000));
        assert_eq!(cost("gpt-4o", Billing::Free, None), Some(9_000_000), "the longest prefix");
        assert_eq!(cost("claude-haiku-4-5", Billing::ByPrice, Some(5)), Some(5));
        assert_eq!(cost("llama3.2:3b", Billing::Free, Some(5)), Some(0));
        assert_eq!(
            cost("claude-haiku-4-5", Billing::Free, None),
            Some(1_000_000),
            "a gateway here"
        );
        assert_eq!(cost("anthropic/claude-haiku-4.5", Billing::ByPrice, None), Some(1_000_000));
        assert_eq!(cost("unknown", Billing::ByPrice, None), None);
    }

    #[test]
    fn known_cost_depends_on_table_and_billing() {
        let prices = Prices::default();
        for (model, billing, known) in [
            ("gpt-5", Billing::ByPrice, true),
            ("unknown", Billing::ByPrice, false),
            ("unknown", Billing::Free, true),
            ("unknown", Billing::Reported, true),
        ] {
            assert_eq!(prices.knows(&chosen(model, billing)), known, "{model} {billing:?}");
        }
    }

    #[test]
    fn table_is_dated_and_lists_each_model_once() {
        chrono::NaiveDate::parse_from_str(Prices::date(), "%Y-%m-%d").expect("a date");
        let names: Vec<&String> =
            price_table().price.iter().flat_map(|line| &line.models).collect();
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        assert!(names.iter().all(|name| **name == name.to_lowercase()));
    }

    #[test]
    fn table_agrees_with_the_catalog_of_rig() {
        for line in &price_table().price {
            for model in &line.models {
                for vendor in ["openai", "anthropic"] {
                    let spec = Catalog::builtin().resolve(&format!("{vendor}/{model}"));
                    let Some(price) = spec.and_then(|spec| spec.pricing) else { continue };
                    assert_eq!(
                        (line.input, line.cached, line.output),
                        (price.input, price.cache_read, price.output),
                        "{model}"
                    );
                    let written = price.cache_write.unwrap_or(line.input * CACHE_WRITE);
                    assert!(
                        (written - line.input * CACHE_WRITE).abs() < 1e-9,
                        "{model}: {written}"
                    );
                }
            }
        }
    }
}
