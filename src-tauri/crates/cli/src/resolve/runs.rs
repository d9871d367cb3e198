//! Runs by id, id prefix, id suffix or `last`; the run around this command.

use rouse_gateway::wire::{RunView, RunsListResult};
use serde_json::json;

use super::engine::EngineConnection;
use super::error::CliError;
use super::ids;
use super::jobs::find_job;

/// The id of the run that started this command.
pub(crate) fn current_run_id() -> Option<String> {
    std::env::var("ROUSE_RUN_ID").ok()
}

/// The id of the run that started this command, if the engine of `engine` knows it.
pub(crate) fn calling_run_id(engine: &EngineConnection) -> Option<String> {
    current_run_id().filter(|_| !engine.is_elsewhere())
}

/// The id of the run that `wanted` names. Only a full id finds a run older than the newest 500.
pub(crate) async fn find_run(wanted: &str, engine: &EngineConnection) -> Result<String, CliError> {
    if ids::is_full_id(wanted) {
        return Ok(wanted.to_owned());
    }
    let runs = newest_runs(engine).await?;
    let known: Vec<String> = runs.iter().map(|run| run.id.clone()).collect();
    match (wanted, known.first()) {
        ("last", Some(newest)) => Ok(newest.clone()),
        ("last", None) => Err(CliError::not_found("No runs yet.")),
        _ => {
            let id = ids::complete_id(wanted, &known)?;
            if known.contains(&id) { Ok(id) } else { Err(unknown_run(wanted, &runs)) }
        }
    }
}

/// The id of a job, also of a deleted job by the name in its runs.
pub(crate) async fn find_job_with_runs(
    engine: &EngineConnection,
    wanted: &str,
) -> Result<String, CliError> {
    let not_found = match find_job(engine, wanted).await {
        Err(error) if error.is_not_found() => error,
        found => return found,
    };
    let runs = newest_runs(engine).await?;
    let run = runs.into_iter().find(|run| run.job_name == wanted);
    run.and_then(|run| run.job_id).ok_or(not_found)
}

async fn newest_runs(engine: &EngineConnection) -> Result<Vec<RunView>, CliError> {
    Ok(engine.fetch::<RunsListResult>("runs.list", json!({ "limit": 500 })).await?.runs)
}

/// The error for an unknown run; a job's name leads to the job's runs.
fn unknown_run(wanted: &str, runs: &[RunView]) -> CliError {
    if runs.iter().any(|run| run.job_name == wanted) {
        return CliError::not_found(format!(
            "There is no run {wanted}, but a job. See the runs of the job: rouse cron runs \"{wanted}\""
        ));
    }
    ids::unknown_name("run", wanted, runs.iter().map(|run| run.id.as_str()), "rouse runs list")
}
