//! `rouse cron edit`, `enable`, `disable`.

use rouse_gateway::wire::{JobView, RunState, RunTrigger, RunView, RunsListResult};
use serde_json::{Map, Value, json};

use super::payload::PayloadArgs;
use super::policies::PolicyArgs;
use super::saved_job::{print_saved_job, warn_if_job_cannot_fire};
use super::schedule::ScheduleArgs;
use crate::render::job::print_job;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Job: id, id prefix or exact name
    id: String,
    /// Name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    payload: PayloadArgs,
    #[command(flatten)]
    policies: PolicyArgs,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let id = find_job(engine, &args.id).await?;
    let present: JobView = engine.fetch("cron.get", json!({ "id": id })).await?;
    let mut params = json!({ "id": id, "patch": build_patch(&args, &present.job, engine).await? });
    params["expectedRevision"] = present.job["state"]["revision"].clone();
    update_job(params, engine).await?;
    warn_if_job_cannot_fire(engine).await
}

async fn build_patch(
    args: &Args,
    present: &Value,
    engine: &EngineConnection,
) -> Result<Value, CliError> {
    let mut patch = Map::new();
    if let Some(name) = &args.name {
        patch.insert("name".to_owned(), json!(name));
    }
    if let Some(schedule) = args.schedule.to_patch(&present["schedule"], engine).await? {
        patch.insert("schedule".to_owned(), schedule);
    }
    if let Some(payload) = args.payload.to_patch(&present["payload"])? {
        patch.insert("payload".to_owned(), payload);
    }
    args.policies.apply(&mut patch, &present["policies"])?;
    if patch.is_empty() {
        return Err(CliError::input("nothing to change: add a flag, for example --name or --cron"));
    }
    Ok(Value::Object(patch))
}

pub(super) async fn set_enabled(
    id: &str,
    enabled: bool,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    let id = find_job(engine, id).await?;
    update_job(json!({ "id": id, "patch": { "enabled": enabled } }), engine).await?;
    if !enabled && !engine.json {
        // silent-ok: the job is disabled, also if the engine has ended since.
        print_active_runs(engine, &id).await.ok();
    }
    Ok(())
}

/// Prints the active runs of a disabled job, because disabling cancels none.
async fn print_active_runs(engine: &EngineConnection, id: &str) -> Result<(), CliError> {
    let states = [RunState::Running, RunState::AwaitingApproval, RunState::Queued];
    let params = json!({ "jobId": id, "states": states });
    let found: RunsListResult = engine.fetch("runs.list", params).await?;
    for run in &found.runs {
        if let Some(activity) = activity_text(run) {
            let id = &run.id;
            anstream::println!("Run {id} {activity}. To cancel: rouse runs cancel {id}");
        }
    }
    Ok(())
}

/// The activity of a run after its job was disabled. Disabling ends waiting runs, except manual ones and started ones;
/// the store may not show that yet.
fn activity_text(run: &RunView) -> Option<&'static str> {
    let is_manual = run.trigger == RunTrigger::Manual;
    match run.state {
        RunState::Running if run.next_attempt_at_ms.is_none() => Some("is running"),
        RunState::Running => is_manual.then_some("waits for its next attempt"),
        RunState::AwaitingApproval => Some("waits for an approval"),
        _ => (is_manual || run.started_at_ms.is_some()).then_some("is queued"),
    }
}

async fn update_job(params: Value, engine: &EngineConnection) -> Result<(), CliError> {
    let answer = engine.call("cron.update", params).await?;
    print_saved_job(engine, answer, |view| print_job(engine, view, Vec::new()))
}
