//! The heartbeat in one line.

use rouse_core::schedule::format_duration;
use rouse_gateway::wire::{HeartbeatStatus, RunTrigger, RunsListResult};
use serde_json::json;

use super::run_state::state_name;
use super::text::shorten;
use super::time::local_time_with_distance;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// The line below a list of jobs: interval, next turn, last turn.
pub(crate) async fn summary_line(
    engine: &EngineConnection,
    status: &HeartbeatStatus,
) -> Result<String, CliError> {
    if !status.enabled {
        return Ok(interval_text(status));
    }
    let next = status.next_at_ms.map(|at| format!("next {}", local_time_with_distance(engine, at)));
    let last = match &status.last_skip_reason {
        Some(reason) if next.is_none() => Some(format!("none now: {}", shorten(reason, 80))),
        Some(reason) => Some(format!("last: {}", shorten(reason, 80))),
        None => last_turn(engine).await?,
    };
    let parts = [Some(interval_text(status)), next, last].into_iter().flatten();
    Ok(parts.collect::<Vec<_>>().join(" \u{b7} "))
}

/// The state of the newest heartbeat turn.
async fn last_turn(engine: &EngineConnection) -> Result<Option<String>, CliError> {
    let params = json!({ "triggers": [RunTrigger::Heartbeat], "limit": 1 });
    let found: RunsListResult = engine.fetch("runs.list", params).await?;
    Ok(found.runs.first().map(|run| format!("last: {}", state_name(run.state))))
}

/// `Heartbeat on · every 30 min · 08:00–22:00`.
pub(crate) fn interval_text(status: &HeartbeatStatus) -> String {
    let switch = if status.enabled { "on" } else { "off" };
    let hours = status.active_hours.as_ref().map(|hours| format!(" \u{b7} {hours}"));
    let interval = format_duration(status.every_ms);
    format!("Heartbeat {switch} \u{b7} every {interval}{}", hours.unwrap_or_default())
}
