//! The filter of log lines by job and run.
//!
//! The engine resolves names first. For an object unknown to the engine, or without an engine, the log does: lines name
//! deleted jobs. Refuses an unknown name, because no output would mean that nothing happened. Pitfall: requiring an
//! engine for a full id.

use std::path::Path;

use serde_json::{Value, json};

use super::log_file::{LogFile, log_paths};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::ids;
use crate::resolve::jobs::find_job;
use crate::resolve::runs::find_run;

/// The ids that a line must contain.
pub(super) struct LogLineFilter {
    run: Option<String>,
    job: Option<String>,
}

impl LogLineFilter {
    pub(super) async fn resolve(
        run: Option<&str>,
        job: Option<&str>,
        engine: &EngineConnection,
        folder: &Path,
    ) -> Result<Self, CliError> {
        let run = match run {
            Some(run) => {
                let found = find_existing_run(engine, run).await;
                Some(found.or_else(|error| find_in_log(error, "run", run, folder))?)
            }
            None => None,
        };
        let job = match job {
            Some(job) => {
                let found = find_job(engine, job).await;
                Some(found.or_else(|error| find_in_log(error, "job", job, folder))?)
            }
            None => None,
        };
        Ok(Self { run, job })
    }

    pub(super) fn is_match(&self, line: &Value) -> bool {
        let is = |key: &str, id: &Option<String>| {
            id.as_deref().is_none_or(|id| line[key].as_str() == Some(id))
        };
        is("runId", &self.run) && is("jobId", &self.job)
    }

    /// Explains an empty output: unknown object, or no matching line.
    pub(super) async fn explain_no_lines(&self, engine: &EngineConnection) -> Result<(), CliError> {
        for (method, kind, id) in [("runs.get", "run", &self.run), ("cron.get", "job", &self.job)] {
            let Some(id) = id else { continue };
            engine.call(method, json!({ "id": id })).await.map_err(|error| {
                if error.is_unreachable() {
                    CliError::not_found(format!("The log has no line about {kind} {id}."))
                } else {
                    error
                }
            })?;
        }
        if self.run.is_some() || self.job.is_some() {
            anstream::eprintln!("The log has no matching line.");
        }
        Ok(())
    }
}

async fn find_existing_run(engine: &EngineConnection, wanted: &str) -> Result<String, CliError> {
    let id = find_run(wanted, engine).await?;
    if !ids::is_full_id(&id) {
        engine.call("runs.get", json!({ "id": id })).await?;
    }
    Ok(id)
}

/// The id of an object that the engine did not find, by the lines of the log.
fn find_in_log(
    engine_error: CliError,
    kind: &str,
    wanted: &str,
    folder: &Path,
) -> Result<String, CliError> {
    if !engine_error.is_not_found() && !engine_error.is_unreachable() {
        return Err(engine_error);
    }
    match search_log(kind, wanted, folder)? {
        Some(id) => Ok(id),
        None if engine_error.is_not_found() => Err(engine_error),
        None => Err(CliError::not_found(format!(
            "The log has no {kind} {wanted}, and Rouse is not running."
        ))),
    }
}

/// The id in the log that `wanted` names: an id, start or end of an id, job name, or `last` for a run.
fn search_log(kind: &str, wanted: &str, folder: &Path) -> Result<Option<String>, CliError> {
    let key = if kind == "run" { "runId" } else { "jobId" };
    // Unique ids, the newest last.
    let mut known: Vec<String> = Vec::new();
    let mut by_name: Vec<String> = Vec::new();
    for path in log_paths(folder)? {
        let mut file = LogFile::open(&path)?;
        while let Some(line) = file.next_line()? {
            let Some(id) = line[key].as_str() else { continue };
            known.retain(|seen| seen != id);
            known.push(id.to_owned());
            if kind == "job" && line["name"] == wanted && !by_name.iter().any(|seen| seen == id) {
                by_name.push(id.to_owned());
            }
        }
    }
    if kind == "run" && wanted == "last" {
        return Ok(known.pop());
    }
    match ids::single_id(wanted, &by_name.iter().map(String::as_str).collect::<Vec<_>>())? {
        Some(id) => Ok(Some(id)),
        None => Ok(Some(ids::complete_id(wanted, &known)?).filter(|id| known.contains(id))),
    }
}
