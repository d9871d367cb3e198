//! `rouse cron edit`, `enable`, `disable`: patches by flags.

use rouse_gateway::wire::{JobView, RunState, RunTrigger, RunView, RunsListResult};
use serde_json::{Map, Value, json};

use super::draft::{BehaviourArgs, PayloadArgs};
use super::trigger::ScheduleArgs;
use super::{list, resolve, tell_saved, warn_when_off};
use crate::exit::Failure;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The job's id or exact name.
    id: String,
    /// What people call it.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    payload: PayloadArgs,
    #[command(flatten)]
    behaviour: BehaviourArgs,
}

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let id = resolve(session, &args.id).await?;
    let present: JobView =
        serde_json::from_value(session.call("cron.get", json!({ "id": id })).await?)?;
    let mut params = json!({ "id": id, "patch": patch(&args, &present.job, session).await? });
    // The patch was made for the job as it was read.
    params["expectedRevision"] = present.job["state"]["revision"].clone();
    update(params, session).await?;
    warn_when_off(session).await
}

async fn patch(args: &Args, present: &Value, session: &Session) -> Result<Value, Failure> {
    let mut patch = Map::new();
    if let Some(name) = &args.name {
        patch.insert("name".to_owned(), json!(name));
    }
    if let Some(schedule) = args.schedule.to_patch(&present["schedule"], session).await? {
        patch.insert("schedule".to_owned(), schedule);
    }
    if let Some(payload) = args.payload.to_patch(&present["payload"])? {
        patch.insert("payload".to_owned(), payload);
    }
    args.behaviour.apply(&mut patch, &present["policies"])?;
    if patch.is_empty() {
        return Err(Failure::input("say what to change, for example --name or --cron"));
    }
    Ok(Value::Object(patch))
}

pub(crate) async fn set_enabled(id: &str, enabled: bool, session: &Session) -> Result<(), Failure> {
    let id = resolve(session, id).await?;
    update(json!({ "id": id, "patch": { "enabled": enabled } }), session).await?;
    if !enabled && !session.json {
        // silent-ok: the job is off, whatever became of the engine since.
        tell_what_goes_on(session, &id).await.ok();
    }
    Ok(())
}

/// Whoever switches a job off may think that this ends its runs.
async fn tell_what_goes_on(session: &Session, id: &str) -> Result<(), Failure> {
    let states = [RunState::Running, RunState::AwaitingApproval, RunState::Queued];
    let found = session.call("runs.list", json!({ "jobId": id, "states": states })).await?;
    let found: RunsListResult = serde_json::from_value(found)?;
    for run in &found.runs {
        if let Some(what) = goes_on(run) {
            anstream::println!("A run of it {what}; `rouse runs cancel {}` ends it.", run.id);
        }
    }
    Ok(())
}

/// What a run of a job that was just switched off does. None where the switch ends it, which may not be written yet: it ends
/// the waits that are nobody's by hand, but for one that has begun and waits for a place to go on.
fn goes_on(run: &RunView) -> Option<&'static str> {
    let is_by_hand = run.trigger == RunTrigger::Manual;
    match run.state {
        RunState::Running if run.next_attempt_at_ms.is_none() => Some("is at work"),
        RunState::Running => is_by_hand.then_some("waits for its next attempt"),
        RunState::AwaitingApproval => Some("waits for your answer"),
        _ => (is_by_hand || run.started_at_ms.is_some()).then_some("waits for its turn"),
    }
}

async fn update(params: Value, session: &Session) -> Result<(), Failure> {
    let answer = session.call("cron.update", params).await?;
    tell_saved(session, answer, |view| list::print_one(session, view))
}
