//! Tokens and costs.

use rouse_core::budget::MicroUsd;
use rouse_core::text::group_thousands;
use rouse_gateway::wire::SpentView;

/// `0.42 USD, 12,300 tokens`; none if nothing was spent.
pub(crate) fn spent_text(spent: SpentView) -> Option<String> {
    let SpentView { tokens, cost_micro_usd, unpriced_tokens } = spent;
    if tokens == 0 && cost_micro_usd == 0 {
        return None;
    }
    let total = match tokens {
        1 => "1 token".to_owned(),
        _ => format!("{} tokens", group_thousands(tokens)),
    };
    let unpriced = match unpriced_tokens {
        0 => String::new(),
        count if count == tokens => return Some(format!("{total}, price unknown")),
        count => format!(", {} without a known price", group_thousands(count)),
    };
    Some(format!("{}, {total}{unpriced}", MicroUsd(cost_micro_usd)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spent_text_names_unpriced_tokens() {
        let text = |tokens, cost_micro_usd, unpriced_tokens| {
            spent_text(SpentView { tokens, cost_micro_usd, unpriced_tokens })
        };
        assert_eq!(text(0, 0, 0), None);
        assert_eq!(text(12_300, 420_000, 0).as_deref(), Some("0.42 USD, 12,300 tokens"));
        assert_eq!(text(10, 0, 10).as_deref(), Some("10 tokens, price unknown"));
        assert_eq!(
            text(10, 5, 4).as_deref(),
            Some("0.000005 USD, 10 tokens, 4 without a known price")
        );
    }
}
