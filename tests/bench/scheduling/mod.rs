//! Scheduling without a process: a scheduler on a real store and a real timer, with runs that only record their
//! start.
//!
//! Measures what a process would hide: microseconds, the claim, and a single calculation. Baselines of the machine
//! are taken in the same minute.

mod mass_claim;
pub(crate) mod baselines;
mod lateness;
mod next_run;
mod replan;
mod fixture;
mod claim_finish;
mod downtime;

use crate::report::Report;
pub(crate) use fixture::{timed, timed_async};

/// Measures the selected parts.
pub(crate) async fn measure(
    is_selected: impl Fn(&str) -> bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    if is_selected("next") {
        next_run::measure(report);
    }
    if is_selected("downtime") {
        downtime::measure(report).await?;
    }
    if is_selected("replan") {
        replan::measure(report).await?;
    }
    if is_selected("claim_finish") {
        claim_finish::measure(report).await?;
    }
    if is_selected("mass_claim") {
        mass_claim::measure(report).await?;
    }
    if is_selected("lateness") {
        lateness::measure(report).await?;
    }
    Ok(())
}
