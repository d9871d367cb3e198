//! `rouse cron run`: a run outside the schedule.
//!
//! A job without slots is never due, so `--force` is implied. Refuses a job that is not due, with the next slot.
//! Pitfall: exit code 0 without a run; a script would continue.

use rouse_gateway::wire::{JobView, RunState, RunView, RunsListResult, StartedRun};
use serde_json::json;

use super::job_arg::JobArg;
use crate::commands::follow;
use crate::render::job::{has_slots, slot_time};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;
use crate::resolve::runs::calling_run_id;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    /// Run the job before the next slot
    #[arg(long)]
    force: bool,
    /// Wait for the end of the run; exit code 1 after a failure, 5 after a skip
    #[arg(long)]
    wait: bool,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let id = find_job(engine, &args.job.id).await?;
    let view: JobView = engine.fetch("cron.get", json!({ "id": id })).await?;
    let mode = if args.force || !has_slots(&view.job) { "force" } else { "due" };
    let events = if args.wait { Some(follow::subscribe(engine).await?) } else { None };
    let awaited_by = calling_run_id(engine).filter(|_| args.wait);
    let params = json!({ "id": id, "mode": mode, "awaitedBy": awaited_by });
    let answer = engine.call("cron.run", params).await?;
    let started: StartedRun = serde_json::from_value(answer.clone())?;
    if started.run_id.is_none() && !engine.json {
        return Err(CliError::Refused(not_due_text(engine, &view)));
    }
    let is_queued = match &started.run_id {
        Some(run) if args.wait || !engine.json => is_behind_running(engine, &id, run).await?,
        _ => false,
    };
    if let (Some(events), Some(run)) = (events, &started.run_id) {
        if is_queued {
            anstream::eprintln!("Queued: another run of this job is running.");
        }
        return follow::wait_for_end(events, run, engine).await;
    }
    engine.print_answer(answer, |_, started: StartedRun| {
        let run_id = started.run_id.unwrap_or_default();
        let state = if is_queued {
            format!("Queued run {run_id}: another run of this job is running.")
        } else {
            format!("Started run {run_id}.")
        };
        anstream::println!("{state} See its outcome: rouse runs show {run_id}");
    })?;
    match started.run_id {
        Some(_) => Ok(()),
        None => Err(CliError::Refused(not_due_text(engine, &view))),
    }
}

async fn is_behind_running(
    engine: &EngineConnection,
    job: &str,
    run: &str,
) -> Result<bool, CliError> {
    let params = json!({ "jobId": job, "states": ["queued", "running"] });
    let open: RunsListResult = engine.fetch("runs.list", params).await?;
    let is = |other: &RunView, state: RunState| other.state == state;
    let is_queued = open.runs.iter().any(|other| other.id == run && is(other, RunState::Queued));
    let is_running = |other: &RunView| other.id != run && is(other, RunState::Running);
    Ok(is_queued && open.runs.iter().any(is_running))
}

fn not_due_text(engine: &EngineConnection, view: &JobView) -> String {
    let job = &view.job;
    let reason = match job["state"]["nextRunAtMs"].as_i64() {
        Some(at) => format!("Not due before {}.", slot_time(engine, view, at)),
        None if job["enabled"] == false => "Not due: the job is disabled.".to_owned(),
        None => "Not due: the schedule has no further slot.".to_owned(),
    };
    format!("{reason} To run it anyway: add --force.")
}
