//! `rouse cron show`: a job with grants and estimated cost.

use rouse_gateway::wire::{CronEstimateResult, GrantsListResult, JobView};
use serde_json::json;

use super::job_arg::JobArg;
use crate::render::facts::fact;
use crate::render::grants::grant_lines;
use crate::render::job::print_job;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;

pub(super) async fn run(job: JobArg, engine: &EngineConnection) -> Result<(), CliError> {
    let id = find_job(engine, &job.id).await?;
    let answer = engine.call("cron.get", json!({ "id": id })).await?;
    let mut estimate = None;
    if !engine.json && answer["job"]["payload"]["kind"] == "agentTurn" {
        let params = json!({ "id": id, "schedule": answer["job"]["schedule"] });
        estimate = Some(engine.fetch::<CronEstimateResult>("cron.estimate", params).await?);
    }
    let granted: GrantsListResult = engine.fetch("grants.list", json!({ "jobId": id })).await?;
    engine.print_answer(answer, |engine, view: JobView| {
        let mut facts = vec![fact("Grants", grant_lines(&granted.grants).join("\n"))];
        facts.extend(estimate.map(|estimate| fact("Estimate", escape(&estimate.text))));
        print_job(engine, &view, facts);
    })
}
