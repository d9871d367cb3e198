//! What models cost.
//!
//! Owns the table, which is data with a date (`prices.toml`), and what goes before it: a price that the person has written,
//! nothing for a model on this computer, and the cost that a provider tells with its answer. It refuses to guess: a
//! model is priced by its own name, or that with a date behind it, and never by the name of a relative. What nobody
//! knows the price of has no cost, which is not the same as a cost of nothing.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rouse_core::model::Billing;
use rouse_core::money::MicroUsd;
use rouse_core::run::Usage;
use serde::Deserialize;

use crate::models::ChosenModel;
use crate::provider::own_name;

/// The price of input that is written to the cache, as a multiple of other input. It is the same at every vendor that bills it.
const CACHE_WRITE: f64 = 1.25;

/// US dollars per million tokens, which is millionths of a dollar per token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Sent.
    pub input: f64,
    /// Sent again, out of the provider's cache; the same as `input` when none.
    pub cached: Option<f64>,
    /// Received.
    pub output: f64,
}

impl Price {
    /// What `usage` costs.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
    pub fn cost(self, usage: Usage) -> MicroUsd {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let fresh = usage.input_tokens - cached - written;
        let micro = fresh as f64 * self.input
            + written as f64 * self.input * CACHE_WRITE
            + cached as f64 * self.cached.unwrap_or(self.input)
            + usage.output_tokens as f64 * self.output;
        MicroUsd::of_usd(micro / 1e6)
    }
}

/// The person's own prices, and the table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    own: BTreeMap<String, Price>,
}

impl Prices {
    /// With the person's own prices by the names of models; a name may end with `*`.
    #[must_use]
    pub fn with_own(own: BTreeMap<String, Price>) -> Self {
        Self { own: own.into_iter().map(|(name, price)| (name.to_lowercase(), price)).collect() }
    }

    /// The day that the table is of.
    #[must_use]
    pub fn date() -> &'static str {
        &listed().date
    }

    /// Whether it will be known what an answer of `model` has cost.
    #[must_use]
    pub fn knows(&self, model: &ChosenModel) -> bool {
        self.own(&model.model).is_some()
            || model.provider.billing() != Billing::ByPrice
            || list_price(&model.model).is_some()
    }

    /// What an answer of `model` has cost that says of itself what it has used.
    #[must_use]
    pub fn cost(&self, model: &ChosenModel, usage: Usage) -> Option<MicroUsd> {
        if let Some(price) = self.own(&model.model) {
            return Some(price.cost(usage));
        }
        let listed = list_price(&model.model);
        // A gateway on this computer passes priced models on.
        if model.provider.billing() == Billing::Free && listed.is_none() {
            return Some(MicroUsd(0));
        }
        let told = usage.cost_micro_usd.map(MicroUsd);
        told.or_else(|| listed.map(|price| price.cost(usage)))
    }

    /// What `usage` would cost, as far as that is known before.
    #[must_use]
    pub fn estimate(&self, model: &ChosenModel, usage: Usage) -> Option<MicroUsd> {
        self.cost(model, Usage { cost_micro_usd: None, ..usage })
    }

    /// The person's own price: by the whole name, else by the longest beginning.
    fn own(&self, model: &str) -> Option<Price> {
        let model = model.to_lowercase();
        let by_beginning = |(name, _): &(&String, &Price)| {
            name.strip_suffix('*').is_some_and(|beginning| model.starts_with(beginning))
        };
        let beginnings = self.own.iter().filter(by_beginning);
        let longest = beginnings.max_by_key(|(name, _)| name.len()).map(|(_, price)| price);
        self.own.get(&model).or(longest).copied()
    }
}

#[derive(Deserialize)]
struct Listed {
    date: String,
    price: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    models: Vec<String>,
    input: f64,
    cached: Option<f64>,
    output: f64,
}

fn listed() -> &'static Listed {
    static LISTED: OnceLock<Listed> = OnceLock::new();
    LISTED.get_or_init(|| {
        toml::from_str(include_str!("prices.toml")).expect("BUG: the table of prices is no TOML")
    })
}

/// The price in the table of a model that may be named with its vendor before it and a date behind it.
fn list_price(model: &str) -> Option<Price> {
    let name = own_name(model);
    let line = listed().price.iter().find(|line| line.models.iter().any(|of| is_of(&name, of)))?;
    Some(Price { input: line.input, cached: line.cached, output: line.output })
}

/// Whether `name` is `model`, or `model` with a date behind it: `-2026-07-02` or `-20260702`.
fn is_of(name: &str, model: &str) -> bool {
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
    fn a_model_is_priced_by_its_own_name_and_no_relative_s() {
        assert_eq!(cost("gpt-5"), Some(1_250_000));
        assert_eq!(cost("GPT-5-2025-08-07"), Some(1_250_000));
        assert_eq!(cost("claude-sonnet-4-20250514"), Some(3_000_000));
        assert_eq!(cost("openai/gpt-5"), Some(1_250_000));
        for unknown in ["gpt-5-ultra", "gpt-5-2025", "my-gpt-5", "llama3.2:3b", ""] {
            assert_eq!(cost(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn cached_tokens_have_a_price_of_their_own() {
        let model = chosen("gpt-5.6-terra", Billing::ByPrice);
        // Two dollars sent, 0.2 cached, 12 received.
        let cost = Prices::default().cost(&model, usage(1_200, 1_024, 80));
        assert_eq!(cost, Some(MicroUsd(352 + 205 + 960)));
        let price = Price { input: 2.0, cached: None, output: 0.0 };
        assert_eq!(price.cost(usage(10, 4, 0)), MicroUsd(20), "without one they cost as much");
        assert_eq!(price.cost(usage(4, 10, 0)), MicroUsd(8), "never less than nothing is fresh");
        let written = Usage { cache_write_tokens: 80, ..usage(100, 10, 0) };
        assert_eq!(price.cost(written), MicroUsd(240), "10 fresh, 80 written, 10 cached");
    }

    #[test]
    fn the_person_s_own_price_goes_first_then_here_then_what_is_told() {
        let price = |input| Price { input, cached: None, output: 0.0 };
        let own = [("gpt-5", price(7.0)), ("gpt-*", price(8.0)), ("gpt-4*", price(9.0))];
        let own = own.map(|(name, price)| (name.to_owned(), price));
        let prices = Prices::with_own(own.into_iter().collect());
        let cost = |model: &str, billing, told| {
            let used = Usage { cost_micro_usd: told, ..usage(1_000_000, 0, 0) };
            prices.cost(&chosen(model, billing), used).map(|cost| cost.0)
        };
        assert_eq!(cost("GPT-5", Billing::Reported, Some(1)), Some(7_000_000));
        assert_eq!(cost("gpt-5.6", Billing::ByPrice, Some(1)), Some(8_000_000));
        assert_eq!(cost("gpt-4o", Billing::Free, None), Some(9_000_000), "the longest beginning");
        assert_eq!(cost("claude-haiku-4-5", Billing::ByPrice, Some(5)), Some(5));
        assert_eq!(cost("llama3.2:3b", Billing::Free, Some(5)), Some(0));
        assert_eq!(
            cost("claude-haiku-4-5", Billing::Free, None),
            Some(1_000_000),
            "a gateway here"
        );
        assert_eq!(cost("anthropic/claude-haiku-4.5", Billing::ByPrice, None), Some(1_000_000));
        assert_eq!(cost("nobody-s", Billing::ByPrice, None), None);
    }

    #[test]
    fn what_will_be_known_is_known_before() {
        let prices = Prices::default();
        for (model, billing, known) in [
            ("gpt-5", Billing::ByPrice, true),
            ("nobody-s", Billing::ByPrice, false),
            ("nobody-s", Billing::Free, true),
            ("nobody-s", Billing::Reported, true),
        ] {
            assert_eq!(prices.knows(&chosen(model, billing)), known, "{model} {billing:?}");
        }
    }

    #[test]
    fn the_table_is_dated_and_names_every_model_once() {
        chrono::NaiveDate::parse_from_str(Prices::date(), "%Y-%m-%d").expect("a date");
        let names: Vec<&String> = listed().price.iter().flat_map(|line| &line.models).collect();
        let once: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(once.len(), names.len());
        assert!(names.iter().all(|name| **name == name.to_lowercase()));
    }

    /// Two tables of the same prices must not say different things of one call.
    #[test]
    fn the_table_agrees_with_what_the_library_knows() {
        for line in &listed().price {
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
