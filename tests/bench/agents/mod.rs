//! Agent runs against a local model server, in the real programs.
//!
//! Owns the rows about agents: `agent_turn`, `first_token`, `parallel_runs`, `large_write`. The model server stands in for
//! the provider, and its own time is subtracted or printed beside the figure. Pitfall: a model with a script would skip
//! HTTP, the stream and its parsing, which are part of every turn.

mod agent_turn;
mod bench_host;
mod first_token;
mod large_write;
mod model_server;
mod parallel_runs;

use crate::report::Report;

/// Measures each part whose name is wanted.
pub(crate) async fn measure(
    is_wanted: impl Fn(&str) -> bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    if is_wanted("agent_turn") {
        agent_turn::measure(report).await?;
    }
    if is_wanted("first_token") {
        first_token::measure(report).await?;
    }
    if is_wanted("parallel_runs") {
        parallel_runs::measure(report).await?;
    }
    if is_wanted("large_write") {
        large_write::measure(report).await?;
    }
    Ok(())
}
