//! The answer of `cron.add` and `cron.update`, with warnings on standard error.

use rouse_gateway::wire::{CronStatus, JobView, SavedJob};
use serde_json::{Value, json};

use crate::render::scheduler::warn_if_not_firing;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::flags;

/// Prints a saved job, then the warnings.
pub(super) fn print_saved_job(
    engine: &EngineConnection,
    answer: Value,
    print: impl FnOnce(&JobView),
) -> Result<(), CliError> {
    let saved: SavedJob = serde_json::from_value(answer.clone())?;
    engine.print_answer(answer, |_, saved: SavedJob| print(&saved.view))?;
    for warning in &saved.warnings {
        let field = escape(&flags::label_of(&warning.field));
        anstream::eprintln!("Warning: {field}: {}", escape(&warning.message));
    }
    Ok(())
}

/// Warns if the kill switch or a pause keeps the saved job from firing.
pub(super) async fn warn_if_job_cannot_fire(engine: &EngineConnection) -> Result<(), CliError> {
    let status: CronStatus = engine.fetch("cron.status", json!({})).await?;
    warn_if_not_firing(engine, &status, "this job will not fire");
    Ok(())
}
