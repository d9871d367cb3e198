//! The flags that say what a job may spend, and what was spent in words.

use clap::Args;
use rouse_core::money::MicroUsd;
use rouse_core::words::grouped;
use rouse_gateway::wire::SpentView;
use serde_json::{Map, Value, json};

use super::draft::{NONE, number, set, set_part};

/// What a job may spend. A question to a model that does not fit into what a limit has left is not asked, and what is left
/// bounds the answer; days are days in the job's zone.
#[derive(Debug, Args)]
pub(crate) struct BudgetArgs {
    /// Most tokens of a run, or `none`. A question that does not fit is not asked; `--max-tokens` bounds an answer.
    #[arg(long, value_name = "N", value_parser = number)]
    tokens_per_run: Option<Value>,
    /// Most tokens of all its runs of a day, or `none`. Runs after that are skipped until the next day.
    #[arg(long, value_name = "N", value_parser = number)]
    tokens_per_day: Option<Value>,
    /// Most dollars of a run (`0.25`), or `none`. A model without a known price is not asked then.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    usd_per_run: Option<Value>,
    /// Most dollars of all its runs of a day, or `none`.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    usd_per_day: Option<Value>,
}

impl BudgetArgs {
    /// Lays what is named over `policies`.
    pub(super) fn apply(&self, policies: &mut Map<String, Value>) {
        let mut budget = Map::new();
        set(&mut budget, "tokensPerRun", self.tokens_per_run.clone());
        set(&mut budget, "tokensPerDay", self.tokens_per_day.clone());
        set(&mut budget, "usdPerRun", self.usd_per_run.clone());
        set(&mut budget, "usdPerDay", self.usd_per_day.clone());
        set_part(policies, "budget", budget);
    }
}

/// A number of dollars, or none.
fn dollars(text: &str) -> Result<Value, String> {
    if text == NONE {
        return Ok(Value::Null);
    }
    let amount = text.strip_prefix('$').unwrap_or(text);
    let wanted = || format!("expected dollars such as 0.50, or none, found `{text}`");
    amount
        .parse::<f64>()
        .ok()
        .filter(|usd| usd.is_finite())
        .map(|usd| json!(usd))
        .ok_or_else(wanted)
}

/// "0.42 USD, 12,300 tokens"; none when nothing was spent.
pub(crate) fn spent_in_words(spent: SpentView) -> Option<String> {
    let SpentView { tokens, cost_micro_usd, unpriced_tokens } = spent;
    if tokens == 0 && cost_micro_usd == 0 {
        return None;
    }
    let all = match tokens {
        1 => "1 token".to_owned(),
        _ => format!("{} tokens", grouped(tokens)),
    };
    let unpriced = match unpriced_tokens {
        0 => String::new(),
        some if some == tokens => return Some(format!("{all}, price unknown")),
        some => format!(", {} of them without a known price", grouped(some)),
    };
    Some(format!("{}, {all}{unpriced}", MicroUsd(cost_micro_usd)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_says_what_nobody_knows() {
        let words = |tokens, cost_micro_usd, unpriced_tokens| {
            spent_in_words(SpentView { tokens, cost_micro_usd, unpriced_tokens })
        };
        assert_eq!(words(0, 0, 0), None);
        assert_eq!(words(12_300, 420_000, 0).as_deref(), Some("0.42 USD, 12,300 tokens"));
        assert_eq!(words(10, 0, 10).as_deref(), Some("10 tokens, price unknown"));
        assert_eq!(
            words(10, 5, 4).as_deref(),
            Some("0.000005 USD, 10 tokens, 4 of them without a known price")
        );
    }

    #[test]
    fn dollars_are_read_as_people_write_them() {
        assert_eq!(dollars("1.50"), Ok(json!(1.5)));
        assert_eq!(dollars("$2"), Ok(json!(2.0)));
        assert_eq!(dollars("none"), Ok(Value::Null));
        for wrong in ["", "free", "inf", "1,5"] {
            assert!(dollars(wrong).is_err(), "{wrong}");
        }
    }
}
