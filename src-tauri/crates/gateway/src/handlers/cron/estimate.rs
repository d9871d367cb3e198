//! `cron.estimate`: the estimated cost of a job per month.
//!
//! Owns the estimate: the median usage of the newest runs times the slots of the next 30 days. The median ignores single outliers.
//! Never estimates without a run, because the length of a task says nothing about the length of an answer.

use rouse_core::budget::MicroUsd;
use rouse_core::run::Usage;
use rouse_core::slots::{DecidedSlots, Slots};
use rouse_core::text::group_thousands;
use rouse_core::{JobId, UnixMs};

use super::schedule::compile_slots;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{CronEstimateParams, CronEstimateResult};

/// Maximum number of runs behind an estimate.
const MAX_RUNS: u32 = 20;
/// A month.
const MONTH_MS: i64 = 30 * 24 * 3_600_000;

pub(crate) async fn estimate(
    context: &Context,
    params: CronEstimateParams,
) -> Result<CronEstimateResult, RpcError> {
    let (now, zones) = (context.clock.now(), context.clock.zones());
    let schedule = rouse_core::job::schedule_from_json(params.schedule, now, &zones)?;
    let (slots, _) = compile_slots(context, &schedule, params.id.as_deref()).await?;
    let usages = match &params.id.map(JobId::new) {
        Some(id) => context.store.recent_usage(id, MAX_RUNS).await?,
        None => Vec::new(),
    };
    let runs = schedule.spec.has_slots().then(|| slots_within(&slots, now, MONTH_MS));
    Ok(estimate_from(&usages, runs))
}

/// The number of slots in the `span_ms` milliseconds after `now`.
pub(super) fn slots_within(slots: &Slots, now: UnixMs, span_ms: i64) -> u32 {
    let until = now.plus_ms(span_ms);
    let first = slots.next_after(now).filter(|first| *first <= until);
    first.map_or(0, |first| slots.passed(first, DecidedSlots::default(), until, 1).count)
}

fn estimate_from(usages: &[Usage], runs_per_month: Option<u32>) -> CronEstimateResult {
    let tokens = median(usages.iter().map(|usage| usage.tokens()).collect());
    // The newest run decides whether the price is known; older runs may predate the price.
    let is_known = usages.first().is_some_and(|newest| newest.cost_micro_usd.is_some());
    let costs = usages.iter().filter_map(|usage| usage.cost_micro_usd).collect();
    let cost = is_known.then(|| median(costs)).flatten();
    let per_month = |amount: Option<u64>| Some(amount?.saturating_mul(u64::from(runs_per_month?)));
    let mut result = CronEstimateResult {
        text: String::new(),
        based_on_runs: u32::try_from(usages.len()).unwrap_or(u32::MAX),
        runs_per_month,
        tokens_per_run: tokens,
        cost_per_run_micro_usd: cost,
        tokens_per_month: per_month(tokens),
        cost_per_month_micro_usd: per_month(cost),
    };
    result.text = describe(&result);
    result
}

fn describe(estimate: &CronEstimateResult) -> String {
    let Some(tokens) = estimate.tokens_per_run else {
        return "No finished runs yet, so there is no estimate.".to_owned();
    };
    let basis = match estimate.based_on_runs {
        1 => "the last run".to_owned(),
        runs => format!("the last {runs} runs"),
    };
    let amount = |cost: Option<u64>, tokens: Option<u64>| match cost {
        Some(cost) if cost > 0 => round_cost(cost),
        Some(_) | None => format!("{} tokens", group_thousands(round_tokens(tokens.unwrap_or(0)))),
    };
    let per_run = amount(estimate.cost_per_run_micro_usd, Some(tokens));
    let price = match estimate.cost_per_run_micro_usd {
        Some(0) => " The model is free.",
        Some(_) => "",
        None => " The price of the model is unknown.",
    };
    match estimate.runs_per_month {
        None => {
            format!(
                "About {per_run} per run, based on {basis}. The number of runs is unknown.{price}"
            )
        }
        Some(0) => format!(
            "No runs in the next 30 days; about {per_run} per run, based on {basis}.{price}"
        ),
        Some(runs) => {
            let per_month = amount(estimate.cost_per_month_micro_usd, estimate.tokens_per_month);
            let times = match runs {
                1 => "1 run".to_owned(),
                _ => format!("{} runs", group_thousands(u64::from(runs))),
            };
            format!(
                "About {per_month} per month: {times} at about {per_run}, based on {basis}.{price}"
            )
        }
    }
}

/// Rounds a cost to cents, or to significant digits below one cent.
fn round_cost(micro_usd: u64) -> String {
    let step = match micro_usd {
        0..100 => 1,
        100..10_000 => 100,
        _ => 10_000,
    };
    MicroUsd((micro_usd + step / 2) / step * step).to_string()
}

/// Rounds to two significant digits.
fn round_tokens(tokens: u64) -> u64 {
    let step = 10_u64.pow(tokens.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (tokens + step / 2) / step * step
}

fn median(mut amounts: Vec<u64>) -> Option<u64> {
    amounts.sort_unstable();
    amounts.get(amounts.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(tokens: u64, cost: Option<u64>) -> Usage {
        Usage { input_tokens: tokens, cost_micro_usd: cost, ..Usage::default() }
    }

    #[test]
    fn estimate_is_median_times_runs_per_month() {
        let usages = [
            usage(1_000, Some(40_000)),
            usage(1_200, Some(42_000)),
            usage(90_000, Some(9_000_000)),
        ];
        let estimate = estimate_from(&usages, Some(30));
        assert_eq!(estimate.tokens_per_month, Some(36_000));
        assert_eq!(estimate.cost_per_month_micro_usd, Some(1_260_000));
        assert_eq!(
            estimate.text,
            "About 1.26 USD per month: 30 runs at about 0.04 USD, based on the last 3 runs."
        );
    }

    #[test]
    fn newest_run_decides_whether_the_price_is_known() {
        let (old, new) = (usage(1_000, None), usage(1_000, Some(40_000)));
        let cost = |usages: &[Usage]| estimate_from(usages, Some(30)).cost_per_run_micro_usd;
        assert_eq!(cost(&[new, old]), Some(40_000));
        assert_eq!(cost(&[old, new]), None);
    }

    #[test]
    fn estimate_shows_cost_else_tokens_else_none() {
        let text = |usages: &[Usage], runs| estimate_from(usages, runs).text;
        assert_eq!(text(&[], Some(30)), "No finished runs yet, so there is no estimate.");
        assert_eq!(
            text(&[usage(10, None)], Some(2)),
            "About 20 tokens per month: 2 runs at about 10 tokens, based on the last run. The price of the model is unknown."
        );
        assert_eq!(
            text(&[usage(10, Some(0))], Some(1)),
            "About 10 tokens per month: 1 run at about 10 tokens, based on the last run. The model is free."
        );
        assert_eq!(
            text(&[usage(1_321, Some(0))], Some(1_440)),
            "About 1,900,000 tokens per month: 1,440 runs at about 1,300 tokens, based on the last run. The model is free."
        );
        assert_eq!(
            text(&[usage(10, Some(1_234))], None),
            "About 0.0012 USD per run, based on the last run. The number of runs is unknown."
        );
        assert_eq!(
            text(&[usage(10, Some(12))], Some(0)),
            "No runs in the next 30 days; about 0.000012 USD per run, based on the last run."
        );
    }
}
