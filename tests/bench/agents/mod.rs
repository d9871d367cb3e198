//! Agent runs against a local model server, in the real programs.
//!
//! Owns the parts `agent_turn`, `first_token`, `parallel_runs`, `large_write`. The time of the model server is
//! subtracted or printed. Pitfall: a scripted model in the process would skip HTTP, streaming and parsing, which are
//! part of every turn.

mod agent_turn;
pub(crate) mod bench_host;
mod first_token;
mod large_write;
pub(crate) mod model_server;
mod parallel_runs;

use crate::report::Report;

/// Measures the selected parts.
pub(crate) async fn measure(
    is_selected: impl Fn(&str) -> bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    if is_selected("agent_turn") {
        agent_turn::measure(report).await?;
    }
    if is_selected("first_token") {
        first_token::measure(report).await?;
    }
    if is_selected("parallel_runs") {
        parallel_runs::measure(report).await?;
    }
    if is_selected("large_write") {
        large_write::measure(report).await?;
    }
    Ok(())
}
