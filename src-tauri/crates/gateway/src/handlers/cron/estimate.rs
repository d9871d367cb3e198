//! `cron.estimate`: what a job will probably cost a month.
//!
//! Owns the guess: the median of what the newest runs have used, times the slots of the next 30 days, by the engine's own
//! function. A median, because one run that went in circles says nothing about the next thirty. It refuses to guess
//! without a run: a model can answer a task of ten words with ten or with ten thousand.

use rouse_core::money::MicroUsd;
use rouse_core::run::Usage;
use rouse_core::slots::{DecidedSlots, Slots};
use rouse_core::words::grouped;
use rouse_core::{JobId, UnixMs};

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{CronEstimateParams, CronEstimateResult};

/// The runs that are looked at.
const NEWEST: u32 = 20;
/// A month.
const MONTH_MS: i64 = 30 * 24 * 3_600_000;

pub(crate) async fn estimate(
    context: &Context,
    params: CronEstimateParams,
) -> Result<CronEstimateResult, RpcError> {
    let (now, zones) = (context.clock.now(), context.clock.zones());
    let schedule = rouse_core::job::schedule_from_json(params.schedule, now, &zones)?;
    let (slots, _) = super::slots_of(context, &schedule, params.id.as_deref()).await?;
    let usages = match &params.id.map(JobId::new) {
        Some(id) => context.store.usage_of_newest_runs(id, NEWEST).await?,
        None => Vec::new(),
    };
    let runs = schedule.spec.has_slots().then(|| runs_within(&slots, now, MONTH_MS));
    Ok(of_usages(&usages, runs))
}

/// How often it fires in the `span_ms` milliseconds after `now`.
pub(super) fn runs_within(slots: &Slots, now: UnixMs, span_ms: i64) -> u32 {
    let until = now.plus_ms(span_ms);
    let first = slots.next_after(now).filter(|first| *first <= until);
    first.map_or(0, |first| slots.passed(first, DecidedSlots::default(), until, 1).count)
}

fn of_usages(usages: &[Usage], runs_per_month: Option<u32>) -> CronEstimateResult {
    let tokens = median(usages.iter().map(|usage| usage.tokens()).collect());
    // A price that was not known to older runs is known by now; one that is not known to the newest is not.
    let is_known = usages.first().is_some_and(|newest| newest.cost_micro_usd.is_some());
    let costs = usages.iter().filter_map(|usage| usage.cost_micro_usd).collect();
    let cost = is_known.then(|| median(costs)).flatten();
    let by_month = |amount: Option<u64>| Some(amount?.saturating_mul(u64::from(runs_per_month?)));
    let mut result = CronEstimateResult {
        text: String::new(),
        based_on_runs: u32::try_from(usages.len()).unwrap_or(u32::MAX),
        runs_per_month,
        tokens_per_run: tokens,
        cost_per_run_micro_usd: cost,
        tokens_per_month: by_month(tokens),
        cost_per_month_micro_usd: by_month(cost),
    };
    result.text = in_words(&result);
    result
}

fn in_words(estimate: &CronEstimateResult) -> String {
    let Some(tokens) = estimate.tokens_per_run else {
        return "No finished runs yet, so nobody knows what it will cost.".to_owned();
    };
    let of_runs = match estimate.based_on_runs {
        1 => "its last run".to_owned(),
        runs => format!("its last {runs} runs"),
    };
    let amount = |cost: Option<u64>, tokens: Option<u64>| match cost {
        Some(cost) if cost > 0 => rounded(cost),
        Some(_) | None => format!("{} tokens", grouped(roughly(tokens.unwrap_or(0)))),
    };
    let per_run = amount(estimate.cost_per_run_micro_usd, Some(tokens));
    let price = match estimate.cost_per_run_micro_usd {
        Some(0) => " Its model costs nothing.",
        Some(_) => "",
        None => " The price of its model is not known.",
    };
    match estimate.runs_per_month {
        None => {
            format!("About {per_run} a run, by {of_runs}. How often it runs is not known.{price}")
        }
        Some(0) => format!(
            "It does not run within the next month; about {per_run} a run, by {of_runs}.{price}"
        ),
        Some(runs) => {
            let per_month = amount(estimate.cost_per_month_micro_usd, estimate.tokens_per_month);
            let times = match runs {
                1 => "1 run".to_owned(),
                _ => format!("{} runs", grouped(u64::from(runs))),
            };
            format!("About {per_month} a month: {times} at about {per_run}, by {of_runs}.{price}")
        }
    }
}

/// To the cent, or, below one, to the first places that say something.
fn rounded(micro_usd: u64) -> String {
    let step = match micro_usd {
        0..100 => 1,
        100..10_000 => 100,
        _ => 10_000,
    };
    MicroUsd((micro_usd + step / 2) / step * step).to_string()
}

/// To the first two places, as one says about how many.
fn roughly(tokens: u64) -> u64 {
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
    fn the_usual_run_times_the_runs_of_a_month() {
        let usages = [
            usage(1_000, Some(40_000)),
            usage(1_200, Some(42_000)),
            usage(90_000, Some(9_000_000)),
        ];
        let estimate = of_usages(&usages, Some(30));
        assert_eq!(estimate.tokens_per_month, Some(36_000));
        assert_eq!(estimate.cost_per_month_micro_usd, Some(1_260_000));
        assert_eq!(
            estimate.text,
            "About 1.26 USD a month: 30 runs at about 0.04 USD, by its last 3 runs."
        );
    }

    #[test]
    fn the_newest_run_says_whether_the_price_is_known() {
        let (old, new) = (usage(1_000, None), usage(1_000, Some(40_000)));
        let cost = |usages: &[Usage]| of_usages(usages, Some(30)).cost_per_run_micro_usd;
        assert_eq!(cost(&[new, old]), Some(40_000));
        assert_eq!(cost(&[old, new]), None);
    }

    #[test]
    fn tokens_where_no_price_is_known_and_nothing_where_no_run_is() {
        let words = |usages: &[Usage], runs| of_usages(usages, runs).text;
        assert_eq!(
            words(&[], Some(30)),
            "No finished runs yet, so nobody knows what it will cost."
        );
        assert_eq!(
            words(&[usage(10, None)], Some(2)),
            "About 20 tokens a month: 2 runs at about 10 tokens, by its last run. The price of its model is not known."
        );
        assert_eq!(
            words(&[usage(10, Some(0))], Some(1)),
            "About 10 tokens a month: 1 run at about 10 tokens, by its last run. Its model costs nothing."
        );
        assert_eq!(
            words(&[usage(1_321, Some(0))], Some(1_440)),
            "About 1,900,000 tokens a month: 1,440 runs at about 1,300 tokens, by its last run. Its model costs nothing."
        );
        assert_eq!(
            words(&[usage(10, Some(1_234))], None),
            "About 0.0012 USD a run, by its last run. How often it runs is not known."
        );
        assert_eq!(
            words(&[usage(10, Some(12))], Some(0)),
            "It does not run within the next month; about 0.000012 USD a run, by its last run."
        );
    }
}
