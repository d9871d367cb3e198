//! `rouse runs …`: the run history.

use clap::Subcommand;
use rouse_gateway::wire::{ChangeResult, RunDetail, RunState, RunsListResult, StartedRun};
use serde_json::json;

use crate::render::run_detail::print_run;
use crate::render::run_state::state_name;
use crate::render::run_table::print_run_table;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::runs::{find_job_with_runs, find_run};

/// The default number of rows.
const DEFAULT_LIMIT: u32 = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List runs, newest first
    List(ListArgs),
    /// Show a run with its steps
    Show {
        /// Run: id, start or end of the id, or `last`
        id: String,
        /// Print whole results
        #[arg(long)]
        full: bool,
    },
    /// Cancel a run
    Cancel {
        /// Run: id, start or end of the id, or `last`
        id: String,
    },
    /// Run the same job again
    Retry {
        /// Run: id, start or end of the id, or `last`
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Job: id, id prefix or exact name [default: all jobs]
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// States, comma-separated: `running`, `failed`, `timed-out` [default: all]
    #[arg(long, value_name = "STATES", value_delimiter = ',', value_parser = parse_state)]
    state: Vec<RunState>,
    /// Only runs that failed, timed out or were interrupted
    #[arg(long, conflicts_with = "state")]
    failed: bool,
    /// Earliest time: `2h` (ago), `18:00` (the last one), `2026-12-24`, an ISO 8601 time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Text in job name, outcome, error or transcript
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Maximum number of runs
    #[arg(long, default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u32).range(1..=500))]
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
            limit: DEFAULT_LIMIT,
        })
    }
}

/// A state as in the table or in JSON, with or without hyphens.
fn parse_state(text: &str) -> Result<RunState, String> {
    let normalize = |text: &str| text.replace(['-', ' '], "").to_lowercase();
    let wanted = normalize(text);
    let is_match =
        |state: &RunState| normalize(state.label()) == wanted || normalize(state.name()) == wanted;
    RunState::ALL.iter().copied().find(is_match).ok_or_else(|| {
        let names = RunState::ALL.iter().map(|state| state_name(*state).replace(' ', "-"));
        format!("expected one of {}", names.collect::<Vec<_>>().join(", "))
    })
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List(args) => list(args, engine).await,
        Command::Show { id, full } => {
            let id = find_run(&id, engine).await?;
            engine
                .show("runs.get", json!({ "id": id }), |engine, detail: RunDetail| {
                    print_run(engine, &detail, full)
                })
                .await
        }
        Command::Cancel { id } => {
            let id = find_run(&id, engine).await?;
            engine
                .show("runs.cancel", json!({ "id": id }), |_, result: ChangeResult| {
                    let result = if result.changed { "Cancelled." } else { "Already finished." };
                    anstream::println!("{result}");
                })
                .await
        }
        Command::Retry { id } => {
            let id = find_run(&id, engine).await?;
            engine
                .show("runs.retry", json!({ "id": id }), |_, started: StartedRun| {
                    anstream::println!("Started run {}.", started.run_id.unwrap_or_default())
                })
                .await
        }
    }
}

async fn list(args: ListArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let job_id = match args.job {
        Some(job) => Some(find_job_with_runs(engine, &job).await?),
        None => None,
    };
    let states = if args.failed {
        vec![RunState::Failed, RunState::TimedOut, RunState::Interrupted]
    } else {
        args.state
    };
    let states = (!states.is_empty()).then_some(states);
    let since = args.since.as_deref();
    let since = since.map(|since| engine.parse_past_instant("--since", since)).transpose()?;
    let is_filtered = states.is_some() || since.is_some() || args.search.is_some();
    let params = json!({
        "jobId": job_id, "states": states, "fromMs": since, "search": args.search, "limit": args.limit,
    });
    let answer = engine.call("runs.list", params).await;
    let answer = answer.map_err(|error| error.with_field_names(&[("search", "--search")]))?;
    engine.print_answer(answer, |engine, result: RunsListResult| match result.runs.as_slice() {
        [] if is_filtered => anstream::println!("No run matches."),
        runs => print_run_table(engine, runs),
    })
}
