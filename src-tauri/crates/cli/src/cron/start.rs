//! `rouse cron run`: a job out of turn, or at its turn.
//!
//! A job that a person, an event or a webhook fires is never due, so asking for it is enough. It refuses one that has a
//! schedule and is not due, and says when it is and how to run it all the same. One could get it wrong by calling a run
//! that was not started a success: a script would go on.

use rouse_core::Clock as _;
use rouse_gateway::wire::{JobView, RunState, RunView, RunsListResult, StartedRun};
use serde_json::{Value, json};

use super::{JobArg, resolve};
use crate::exit::Failure;
use crate::output::{instant_in, relative};
use crate::runs;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    /// Also when it is not due. A job without a schedule needs no such word.
    #[arg(long)]
    force: bool,
    /// Wait for the run's end, tell how it was, and end with 0, with 1 when it went wrong, or with 5 when it was skipped.
    #[arg(long)]
    wait: bool,
}

pub(super) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let id = resolve(session, &args.job.id).await?;
    let view = session.call("cron.get", json!({ "id": id })).await?;
    let view: JobView = serde_json::from_value(view)?;
    let mode = if args.force || !has_slots(&view.job) { "force" } else { "due" };
    let events = match args.wait {
        true => Some(runs::from_now_on(session).await?),
        false => None,
    };
    let awaited_by = runs::inside_of().filter(|_| args.wait);
    let asked = json!({ "id": id, "mode": mode, "awaitedBy": awaited_by });
    let answer = session.call("cron.run", asked).await?;
    let started: StartedRun = serde_json::from_value(answer.clone())?;
    if started.run_id.is_none() && !session.json {
        return Err(Failure::Refused(not_due(session, &view)));
    }
    let is_behind = match &started.run_id {
        Some(run) if args.wait || !session.json => waits(session, &id, run).await?,
        _ => false,
    };
    if let (Some(events), Some(run)) = (events, &started.run_id) {
        if is_behind {
            anstream::eprintln!("Another run of it is at work: this one waits for its turn.");
        }
        return runs::wait(events, run, session).await;
    }
    session.tell(answer, |_, started: StartedRun| {
        let run_id = started.run_id.unwrap_or_default();
        let what = match is_behind {
            true => format!("Another run of it is at work: run {run_id} waits for its turn."),
            false => format!("Started run {run_id}."),
        };
        anstream::println!("{what} See what came of it: rouse runs show {run_id}");
        Ok(())
    })?;
    match started.run_id {
        Some(_) => Ok(()),
        None => Err(Failure::Refused(not_due(session, &view))),
    }
}

/// Whether another run of the job comes first.
async fn waits(session: &Session, job: &str, run: &str) -> Result<bool, Failure> {
    let params = json!({ "jobId": job, "states": ["queued", "running"] });
    let open = session.call("runs.list", params).await?;
    let open: RunsListResult = serde_json::from_value(open)?;
    Ok(is_behind(run, &open.runs))
}

fn is_behind(run: &str, open: &[RunView]) -> bool {
    let is_queued = open.iter().any(|one| one.id == run && one.state == RunState::Queued);
    is_queued && open.iter().any(|one| one.id != run && one.state == RunState::Running)
}

pub(super) fn has_slots(job: &Value) -> bool {
    let kind = job["schedule"]["kind"].as_str().unwrap_or_default();
    !["manual", "event", "webhook"].contains(&kind)
}

fn not_due(session: &Session, view: &JobView) -> String {
    let job = &view.job;
    let now = session.clock.now().0;
    let when = match job["state"]["nextRunAtMs"].as_i64() {
        Some(at) => {
            let its = view.zone.as_deref().and_then(|zone| session.clock.zones().zone(zone));
            let next = instant_in(at, now, session.clock.zone(), its);
            format!("Not due before {next} ({}).", relative(at, now))
        }
        None if job["enabled"] == false => "Not due: the job is switched off.".to_owned(),
        None => "Not due: nothing of its schedule is left.".to_owned(),
    };
    format!("{when} To run it all the same: add --force.")
}
