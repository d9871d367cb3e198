//! The flags of a job's budget.

use clap::Args;
use serde_json::{Map, Value, json};

use super::field_values::{NONE, parse_number, set, set_object};

/// The budget of a job. A model call over the rest of a limit is not made; days are days in the job's zone.
#[derive(Debug, Args)]
pub(crate) struct BudgetArgs {
    /// Token limit per run [default: no limit]
    #[arg(hide = true, long, value_name = "N", value_parser = parse_number)]
    tokens_per_run: Option<Value>,
    /// Token limit per day [default: no limit]
    #[arg(hide = true, long, value_name = "N", value_parser = parse_number)]
    tokens_per_day: Option<Value>,
    /// Dollar limit per run: 0.25 [default: no limit]
    #[arg(hide = true, long, value_name = "USD", value_parser = parse_dollars)]
    usd_per_run: Option<Value>,
    /// Dollar limit per day [default: no limit]
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    usd_per_day: Option<Value>,
}

impl BudgetArgs {
    /// Sets the named limits in `policies`.
    pub(super) fn apply(&self, policies: &mut Map<String, Value>) {
        let mut budget = Map::new();
        set(&mut budget, "tokensPerRun", self.tokens_per_run.clone());
        set(&mut budget, "tokensPerDay", self.tokens_per_day.clone());
        set(&mut budget, "usdPerRun", self.usd_per_run.clone());
        set(&mut budget, "usdPerDay", self.usd_per_day.clone());
        set_object(policies, "budget", budget);
    }
}

/// A number of dollars; null for `none`.
fn parse_dollars(text: &str) -> Result<Value, String> {
    if text == NONE {
        return Ok(Value::Null);
    }
    let amount = text.strip_prefix('$').unwrap_or(text);
    let error = || format!("expected dollars such as 0.50, or none, found `{text}`");
    amount.parse::<f64>().ok().filter(|usd| usd.is_finite()).map(|usd| json!(usd)).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_parse_with_and_without_sign() {
        assert_eq!(parse_dollars("1.50"), Ok(json!(1.5)));
        assert_eq!(parse_dollars("$2"), Ok(json!(2.0)));
        assert_eq!(parse_dollars("none"), Ok(Value::Null));
        for wrong in ["", "free", "inf", "1,5"] {
            assert!(parse_dollars(wrong).is_err(), "{wrong}");
        }
    }
}
