//! The default name of a new job.
//!
//! Never repeats the name of another job, because names identify jobs on the command line.

use rouse_core::naming::from_payload;
use rouse_gateway::wire::CronListResult;
use serde_json::Value;

use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::list_jobs;

/// A unique name for a job with this payload.
pub(super) async fn choose_job_name(
    payload: &Value,
    engine: &EngineConnection,
) -> Result<String, CliError> {
    let name = from_payload(payload);
    let list = list_jobs(engine, true, Some(&name), usize::MAX).await?;
    let list: CronListResult = serde_json::from_value(list)?;
    let is_taken = |wanted: &str| list.jobs.iter().any(|view| view.job["name"] == wanted);
    if !is_taken(&name) {
        return Ok(name);
    }
    let numbered = (2..).map(|n| format!("{name} {n}")).find(|name| !is_taken(name));
    Ok(numbered.expect("BUG: numbers do not end"))
}
