//! `rouse runs …`: what happened.

mod decision;
mod detail;
mod following;

pub(crate) use following::{from_now_on, inside_of, look_on, wait};

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_core::schedule::{Zone, format_duration};
use rouse_gateway::wire::{
    Done, RunDetail, RunState, RunTrigger, RunView, RunsListResult, StartedRun, WaitsFor,
};
use serde_json::json;

use crate::cron::resolve;
use crate::exit::Failure;
use crate::output::{instant, print, short, table};
use crate::session::Session;
use crate::{ids, output};

/// Rows of a list that nobody asked more of.
const USUAL: u32 = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List runs, newest first.
    List(ListArgs),
    /// Show one run: what it did, step by step.
    Show {
        /// The run's id, its beginning or its end; `last` is the newest.
        id: String,
        /// With the whole of what each step was given and has answered.
        #[arg(long)]
        full: bool,
    },
    /// Stop a run.
    Cancel {
        /// The run's id, its beginning or its end; `last` is the newest.
        id: String,
    },
    /// Run the same job again.
    Retry {
        /// The run's id, its beginning or its end; `last` is the newest.
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only this job's.
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// Only runs in these states: `running`, `failed`, `timed-out`, with commas.
    #[arg(long, value_name = "STATES", value_delimiter = ',', value_parser = read_state)]
    state: Vec<RunState>,
    /// Only runs that went wrong: failed, timed out or interrupted.
    #[arg(long, conflicts_with = "state")]
    failed: bool,
    /// Only runs since then: `2h` (ago), `18:00` (the last one), `2026-12-24`, an ISO 8601 time.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only runs with this text in the job's name, the outcome, the error or the transcript.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Maximum number of runs.
    #[arg(long, default_value_t = USUAL, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

impl Default for Command {
    fn default() -> Self {
        Self::List(ListArgs {
            job: None,
            state: Vec::new(),
            failed: false,
            since: None,
            search: None,
            limit: USUAL,
        })
    }
}

/// All states, as the gateway writes them.
fn states() -> impl Iterator<Item = RunState> {
    let wire = |one: rouse_core::RunState| serde_json::from_value(json!(one.name()));
    rouse_core::RunState::all().map(move |one| wire(one).expect("BUG: a state has one name"))
}

/// A state as the table shows it or as JSON has it, with or without hyphens.
fn read_state(text: &str) -> Result<RunState, String> {
    let bare = |text: &str| text.replace(['-', ' '], "").to_lowercase();
    let wire = |one: RunState| json!(one).as_str().map(bare);
    let is_meant = |one: &RunState| {
        bare(state(*one)) == bare(text) || wire(*one).is_some_and(|name| name == bare(text))
    };
    states().find(is_meant).ok_or_else(|| {
        let names: Vec<String> = states().map(|one| state(one).replace(' ', "-")).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::List(args) => list(args, session).await,
        Command::Show { id, full } => {
            let id = which(&id, session).await?;
            session
                .show("runs.get", json!({ "id": id }), |session, detail: RunDetail| {
                    detail::print(session, &detail, full);
                    Ok(())
                })
                .await
        }
        Command::Cancel { id } => {
            let id = which(&id, session).await?;
            session
                .show("runs.cancel", json!({ "id": id }), |_, done: Done| {
                    anstream::println!(
                        "{}",
                        if done.changed { "Stopped." } else { "It was over already." }
                    );
                    Ok(())
                })
                .await
        }
        Command::Retry { id } => {
            let id = which(&id, session).await?;
            session
                .show("runs.retry", json!({ "id": id }), |_, started: StartedRun| {
                    anstream::println!("Started run {}.", started.run_id.unwrap_or_default());
                    Ok(())
                })
                .await
        }
    }
}

/// The id of the run that is meant, which is one of the newest unless the id is whole.
pub(crate) async fn which(wanted: &str, session: &Session) -> Result<String, Failure> {
    if ids::is_whole(wanted) {
        return Ok(wanted.to_owned());
    }
    let found = session.call("runs.list", json!({ "limit": 500 })).await?;
    let found: RunsListResult = serde_json::from_value(found)?;
    let known: Vec<String> = found.runs.iter().map(|run| run.id.clone()).collect();
    match (wanted, known.first()) {
        ("last", Some(newest)) => Ok(newest.clone()),
        ("last", None) => Err(ids::not_found("No runs yet.".to_owned())),
        _ => {
            let id = ids::meant(wanted, &known)?;
            if known.contains(&id) { Ok(id) } else { Err(none_called(wanted, &found.runs)) }
        }
    }
}

/// That there is no such run; whoever names a job means one of its runs.
fn none_called(wanted: &str, runs: &[RunView]) -> Failure {
    if runs.iter().any(|run| run.job_name == wanted) {
        return ids::not_found(format!(
            "There is no run {wanted}: it is a job. See its runs: rouse cron runs \"{wanted}\""
        ));
    }
    ids::unknown("run", wanted, runs.iter().map(|run| run.id.as_str()), "rouse runs list")
}

/// The id of a job, also of one that was removed and is named by what its runs are called.
pub(crate) async fn job_with_runs(session: &Session, wanted: &str) -> Result<String, Failure> {
    let none = match resolve(session, wanted).await {
        Err(failure) if failure.is_not_found() => failure,
        resolved => return resolved,
    };
    let newest = session.call("runs.list", json!({ "limit": 500 })).await?;
    let newest: RunsListResult = serde_json::from_value(newest)?;
    let of_it = newest.runs.into_iter().find(|run| run.job_name == wanted);
    of_it.and_then(|run| run.job_id).ok_or(none)
}

async fn list(args: ListArgs, session: &Session) -> Result<(), Failure> {
    let job_id = match args.job {
        Some(job) => Some(job_with_runs(session, &job).await?),
        None => None,
    };
    let states = match args.failed {
        true => vec![RunState::Failed, RunState::TimedOut, RunState::Interrupted],
        false => args.state,
    };
    let states = (!states.is_empty()).then_some(states);
    let since =
        args.since.as_deref().map(|since| session.past_instant("--since", since)).transpose()?;
    let is_all = states.is_none() && since.is_none() && args.search.is_none();
    let params = json!({
        "jobId": job_id, "states": states, "fromMs": since, "search": args.search, "limit": args.limit,
    });
    let answer = session.call("runs.list", params).await;
    let answer = answer.map_err(|failure| failure.calling(&[("search", "--search")]))?;
    session.tell(answer, |session, result: RunsListResult| {
        match result.runs.as_slice() {
            [] if !is_all => anstream::println!("No run matches."),
            runs => print_table(session, runs),
        }
        Ok(())
    })
}

/// Runs as a table.
pub(crate) fn print_table(session: &Session, runs: &[RunView]) {
    if runs.is_empty() {
        anstream::println!("No runs yet.");
        return;
    }
    let now = session.clock.now().0;
    let mut table = table(&["WHEN", "JOB", "STATE", "WHY", "TOOK", "OUTCOME", "RUN"]);
    for run in runs {
        let id = output::id(&table, &run.id);
        table.add_row([
            instant(
                run.started_at_ms.or(run.slot_at_ms).unwrap_or(run.created_at_ms),
                now,
                session.clock.zone(),
            ),
            short(&run.job_name, 28),
            counted(run, now, session.clock.zone()),
            why(run.trigger, run.late_by_ms),
            run.duration_ms.map(format_duration).unwrap_or_default(),
            short(outcome(run), 48),
            id,
        ]);
    }
    print(&table);
}

/// The state; of a row that stands for several slots with their number and the first of them.
fn counted(run: &RunView, now: i64, zone: Zone) -> String {
    let state = state_of(run);
    match (run.stands_for, run.first_slot_at_ms) {
        (0 | 1, _) => state.to_owned(),
        (slots, Some(first)) => {
            format!("{state} for {slots} slots since {}", instant(first, now, zone))
        }
        (slots, None) => format!("{state} for {slots} slots"),
    }
}

/// Why it came; of one that makes up for a slot with how late that was.
fn why(came: RunTrigger, late_by_ms: Option<i64>) -> String {
    let why = trigger(came);
    match late_by_ms.filter(|_| came == RunTrigger::CatchUp) {
        Some(late) => format!("{why}, {} late", format_duration(late)),
        None => why.to_owned(),
    }
}

fn outcome(run: &RunView) -> &str {
    run.error.as_deref().or(run.reason.as_deref()).or(run.summary.as_deref()).unwrap_or_default()
}

/// The state of a run in words. The engine calls one running that is between two attempts, and nothing is at work then.
const fn state_of(run: &RunView) -> &'static str {
    match (run.state, run.next_attempt_at_ms, run.waits_for) {
        (RunState::Running, Some(_), Some(WaitsFor::Model)) => "waiting for the model",
        (RunState::Running, Some(_), Some(WaitsFor::RateLimit)) => "waiting for a rate limit",
        (RunState::Running, Some(_), None) => "waits for its next attempt",
        (other, ..) => state(other),
    }
}

/// The state in words.
pub(crate) const fn state(state: RunState) -> &'static str {
    match state {
        RunState::Queued => "queued",
        RunState::Running => "running",
        RunState::AwaitingApproval => "needs you",
        RunState::Succeeded => "succeeded",
        RunState::NothingToReport => "nothing to report",
        RunState::Failed => "failed",
        RunState::TimedOut => "timed out",
        RunState::Cancelled => "cancelled",
        RunState::Skipped => "skipped",
        RunState::Missed => "missed",
        RunState::Interrupted => "interrupted",
    }
}

const fn trigger(trigger: RunTrigger) -> &'static str {
    match trigger {
        RunTrigger::Schedule => "schedule",
        RunTrigger::CatchUp => "catch-up",
        RunTrigger::Event => "event",
        RunTrigger::Webhook => "webhook",
        RunTrigger::Manual => "by hand",
        RunTrigger::Heartbeat => "heartbeat",
        RunTrigger::Chat => "chat",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_makes_up_for_a_slot_says_how_late_it_is() {
        assert_eq!(why(RunTrigger::CatchUp, Some(7_200_000)), "catch-up, 2 h late");
        assert_eq!(why(RunTrigger::CatchUp, None), "catch-up");
        assert_eq!(why(RunTrigger::Schedule, Some(3)), "schedule");
    }
}
