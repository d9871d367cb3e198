//! `rouse runs …`: what happened.

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_core::money::MicroUsd;
use rouse_core::schedule::format_duration;
use rouse_gateway::wire::{
    ApprovalState, CauseView, Done, EventKind, EventView, RunDetail, RunState, RunTrigger, RunView,
    RunsListResult, StartedRun, StepView,
};
use serde_json::{Value, json};

use crate::approvals::question;
use crate::cron::resolve;
use crate::exit::Failure;
use crate::ids;
use crate::output::{instant, plain, print, short, table};
use crate::session::Session;

/// Rows of a list that nobody asked more of.
const USUAL: u32 = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List runs, newest first.
    List {
        /// Only this job's.
        #[arg(long, value_name = "ID")]
        job: Option<String>,
        /// At most so many.
        #[arg(long, default_value_t = USUAL, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show one run: what it did, step by step.
    Show {
        /// The run's id, its beginning or its end; `last` is the newest.
        id: String,
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

impl Default for Command {
    fn default() -> Self {
        Self::List { job: None, limit: USUAL }
    }
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::List { job, limit } => list(job, limit, session).await,
        Command::Show { id } => {
            let id = which(&id, session).await?;
            session
                .show("runs.get", json!({ "id": id }), |session, detail: RunDetail| {
                    print_detail(session, &detail);
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
async fn which(wanted: &str, session: &Session) -> Result<String, Failure> {
    if ids::is_whole(wanted) {
        return Ok(wanted.to_owned());
    }
    let found = session.call("runs.list", json!({ "limit": 500 })).await?;
    let found: RunsListResult = serde_json::from_value(found)?;
    let known: Vec<String> = found.runs.into_iter().map(|run| run.id).collect();
    match (wanted, known.first()) {
        ("last", Some(newest)) => Ok(newest.clone()),
        ("last", None) => Err(ids::not_found("No runs yet.".to_owned())),
        _ => ids::meant(wanted, &known),
    }
}

async fn list(job: Option<String>, limit: u32, session: &Session) -> Result<(), Failure> {
    let job_id = match job {
        Some(job) => Some(resolve(session, &job).await?),
        None => None,
    };
    session
        .show(
            "runs.list",
            json!({ "jobId": job_id, "limit": limit }),
            |session, result: RunsListResult| {
                print_table(session, &result.runs);
                Ok(())
            },
        )
        .await
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
        table.add_row([
            instant(
                run.started_at_ms.or(run.slot_at_ms).unwrap_or(run.created_at_ms),
                now,
                session.clock.zone(),
            ),
            short(&run.job_name, 28),
            counted(run),
            trigger(run.trigger).to_owned(),
            run.duration_ms.map(format_duration).unwrap_or_default(),
            short(outcome(run), 48),
            run.id.clone(),
        ]);
    }
    print(&table);
}

/// The state; of a row that stands for several slots with their number.
fn counted(run: &RunView) -> String {
    match run.stands_for {
        0 | 1 => state(run.state).to_owned(),
        slots => format!("{} ×{slots}", state(run.state)),
    }
}

fn print_detail(session: &Session, detail: &RunDetail) {
    let run = &detail.run;
    let now = session.clock.now().0;
    let at = |ms: i64| instant(ms, now, session.clock.zone());
    anstream::println!("{}  {}", plain(&run.job_name), state(run.state));
    let fact = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            anstream::println!("{}", fact_line(name, &value));
        }
    };
    fact("why", Some(trigger(run.trigger).to_owned()));
    fact("scheduled", run.slot_at_ms.map(at));
    fact("started", run.started_at_ms.map(at));
    fact("late by", run.late_by_ms.filter(|late| *late >= 1_000).map(format_duration));
    fact("stands for", (run.stands_for > 1).then(|| format!("{} slots", run.stands_for)));
    fact("took", run.duration_ms.map(format_duration));
    fact("model", run.model.as_deref().map(plain));
    let tokens = run.usage.input_tokens + run.usage.output_tokens;
    fact("instead of", run.fell_back.as_deref().map(plain));
    fact("tokens", (tokens > 0).then(|| tokens.to_string()));
    let cost = run.usage.cost_micro_usd.map(|cost| MicroUsd(cost).to_string());
    let unknown = || (tokens > 0).then(|| "not known".to_owned());
    fact("cost", cost.or_else(unknown));
    fact("reason", run.reason.as_deref().map(plain));
    fact("error", run.error.as_deref().map(plain));
    if let Some(cause) = &detail.cause {
        print_cause(cause);
    }
    for step in &detail.steps {
        print_step(step);
    }
    let deliveries = detail.deliveries.iter().map(|delivery| {
        let reason =
            delivery.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        plain(&format!("{} {:?}{reason}", delivery.channel, delivery.state))
    });
    for line in each_once(deliveries) {
        anstream::println!("  {line}");
    }
    if let Some(summary) = &run.summary {
        anstream::println!("\n{}", plain(summary));
    }
    for asked in detail.approvals.iter().filter(|one| one.state == ApprovalState::Pending) {
        anstream::println!("\n{}", question(asked));
    }
}

/// Every line once, with how often it came.
fn each_once(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for line in lines {
        match counted.iter_mut().find(|(seen, _)| *seen == line) {
            Some((_, count)) => *count += 1,
            None => counted.push((line, 1)),
        }
    }
    let words = |(line, count)| if count > 1 { format!("{line} (×{count})") } else { line };
    counted.into_iter().map(words).collect()
}

/// A fact and its name, the names in a column of their own. No line of a value can look like another fact.
fn fact_line(name: &str, value: &str) -> String {
    format!("  {name:<10}  {}", value.replace('\n', &format!("\n{:14}", "")))
}

/// The event that fired it: its source, its fields, the beginning of its text.
fn print_cause(cause: &CauseView) {
    let fields = cause.fields.iter().map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={}", short(key, 60), short(&value, 60))
    });
    let fields = fields.collect::<Vec<_>>().join(" ");
    let event = plain(&format!("{} {fields}", cause.source));
    anstream::println!("{}", fact_line("event", &event));
    if !cause.text.is_empty() {
        anstream::println!("{}", fact_line("said", &short(&cause.text, 200)));
    }
}

fn print_step(step: &StepView) {
    let took = step.duration_ms.map(format_duration).unwrap_or_else(|| "…".to_owned());
    let mark = if step.is_error { "error" } else { "ok" };
    let output = step
        .output
        .as_ref()
        .map(|output| short(&plain(&output.to_string()), 80))
        .unwrap_or_default();
    anstream::println!("  {:>3}. {:<14} {mark:<5} {took:<8} {output}", step.seq, plain(&step.name));
}

fn outcome(run: &RunView) -> &str {
    run.error.as_deref().or(run.reason.as_deref()).or(run.summary.as_deref()).unwrap_or_default()
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

/// Whether an event tells the end of a run.
pub(crate) fn is_over(event: &EventView) -> bool {
    let state = event.data.get("state").and_then(Value::as_str);
    let waits = ["queued", "running", "awaitingApproval"];
    event.kind == EventKind::Run && state.is_some_and(|state| !waits.contains(&state))
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
    fn what_was_said_twice_is_shown_once() {
        let lines = ["a", "b", "a"].map(str::to_owned);
        assert_eq!(each_once(lines.into_iter()), ["a (×2)", "b"]);
    }

    #[test]
    fn no_name_touches_its_fact() {
        assert_eq!(fact_line("stands for", "50000 slots"), "  stands for  50000 slots");
        assert_eq!(fact_line("why", "schedule"), "  why         schedule");
        assert_eq!(fact_line("error", "a\nb"), "  error       a\n              b");
    }
}
