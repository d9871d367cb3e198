//! The engine alone, without a process around it: a scheduler on a real store and a real timer, whose runs do nothing but
//! write down when they began.
//!
//! Here is what a process would hide: microseconds, the claim, and the cost of one question. Figures that the machine
//! bounds stand beside that bound, taken in the same minute.

mod crowd;
pub(crate) mod floor;
mod lateness;
mod next_run;
mod plan;
mod stage;
mod turnover;
mod year_off;

use crate::report::Report;
pub(crate) use stage::timed;

/// Everything whose name is wanted.
pub(crate) async fn measure(
    is_wanted: impl Fn(&str) -> bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    if is_wanted("next") {
        next_run::measure(report);
    }
    if is_wanted("year_off") {
        year_off::measure(report).await?;
    }
    if is_wanted("plan") {
        plan::measure(report).await?;
    }
    if is_wanted("turnover") {
        turnover::measure(report).await?;
    }
    if is_wanted("crowd") {
        crowd::measure(report).await?;
    }
    if is_wanted("lateness") {
        lateness::measure(report).await?;
    }
    Ok(())
}
