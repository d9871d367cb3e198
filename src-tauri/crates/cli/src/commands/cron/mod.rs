//! `rouse cron …`: jobs.

mod field_values;
mod schedule;
mod event;
mod payload;
mod policies;
mod budget;
mod quiet_hours;
mod permissions;
mod job_arg;
mod job_name;
mod grant_offer;
mod saved_job;
mod list;
mod add;
mod edit;
mod run;
mod show;
mod preview;
mod webhook;
mod condition;
mod export;
mod import;

pub(super) use field_values::choice;

use clap::{Args, Subcommand};
use rouse_gateway::wire::{CronRemoveResult, CronRunsResult, CronStatus};
use serde_json::json;

use crate::render::run_table::print_run_table;
use crate::render::scheduler::print_scheduler;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;
use crate::resolve::runs::{calling_run_id, find_job_with_runs};
use job_arg::JobArg;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List jobs, soonest first
    #[command(alias = "ls")]
    List(list::Args),
    /// Create a job
    #[command(aliases = ["new", "create"], before_help = add::EXAMPLES, after_help = add::ALL_FLAGS)]
    Add(Box<add::Args>),
    /// Change the named settings of a job
    #[command(after_help = add::ALL_FLAGS)]
    Edit(Box<edit::Args>),
    /// Delete a job; its runs stay in the history
    #[command(aliases = ["delete", "remove"])]
    Rm(JobArg),
    /// Show a job
    Show(JobArg),
    /// Enable a job from its next slot on
    Enable(JobArg),
    /// Disable a job
    Disable(JobArg),
    /// Run a due job; any job with --force or without a schedule
    Run(run::Args),
    /// Runs of a job, newest first
    Runs(RunsArgs),
    /// URL of a job's webhook
    Webhook(webhook::Args),
    /// Status of the scheduler
    Status,
    /// Slots of a schedule
    Preview(preview::Args),
    /// Check a condition against the last result of a job
    TryCondition(condition::Args),
    /// Pause all jobs
    Pause(PauseArgs),
    /// End the pause
    Resume,
    /// Write jobs as JSON
    Export(export::Args),
    /// Read jobs from JSON or a crontab; imported jobs are disabled
    Import(import::Args),
}

impl Default for Command {
    fn default() -> Self {
        Self::List(list::Args::default())
    }
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct RunsArgs {
    /// Job: id, id prefix or exact name
    #[arg(group = "which", value_name = "ID")]
    job: Option<String>,
    /// Job, as a flag
    #[arg(long, group = "which")]
    id: Option<String>,
    /// Maximum number of runs
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// Duration (`2h`) or end of the pause [default: until `rouse cron resume`]
    until: Option<String>,
    /// Duration, as a flag
    #[arg(long = "for", value_name = "DURATION", conflicts_with = "until")]
    duration: Option<String>,
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(args, engine).await,
        Command::Add(args) => add::run(*args, engine).await,
        Command::Edit(args) => edit::run(*args, engine).await,
        Command::Rm(job) => remove(job, engine).await,
        Command::Show(job) => show::run(job, engine).await,
        Command::Enable(job) => edit::set_enabled(&job.id, true, engine).await,
        Command::Disable(job) => edit::set_enabled(&job.id, false, engine).await,
        Command::Run(args) => run::run(args, engine).await,
        Command::Runs(args) => list_runs(args, engine).await,
        Command::Webhook(args) => webhook::run(args, engine).await,
        Command::Status => engine.show("cron.status", json!({}), print_status).await,
        Command::Preview(args) => preview::run(args, engine).await,
        Command::TryCondition(args) => condition::run(args, engine).await,
        Command::Pause(args) => pause(args, engine).await,
        Command::Resume => engine.show("cron.resume", json!({}), print_status).await,
        Command::Export(args) => export::run(args, engine).await,
        Command::Import(args) => import::run(args, engine).await,
    }
}

async fn remove(job: JobArg, engine: &EngineConnection) -> Result<(), CliError> {
    let id = find_job(engine, &job.id).await?;
    let params = json!({ "id": id, "runId": calling_run_id(engine) });
    let answer = engine.call("cron.remove", params).await?;
    // For the gateway a missing job is a success; for a script an error.
    if answer["job"].is_null() {
        return Err(CliError::not_found(format!("There is no job {id}.")));
    }
    engine.print_answer(answer, |_, result: CronRemoveResult| {
        let name = result.job.as_ref().and_then(|job| job["name"].as_str()).unwrap_or(&id);
        anstream::println!("Deleted {}. Its runs stay in the history.", escape(name));
        match result.cancelled_runs {
            0 => {}
            1 => anstream::println!("Its active run is being cancelled."),
            runs => anstream::println!("Its {runs} active runs are being cancelled."),
        }
        match result.withdrawn_approvals {
            0 => {}
            1 => {
                anstream::println!("Its pending run is cancelled, and the approval is withdrawn.");
            }
            approvals => anstream::println!(
                "{approvals} pending approvals are withdrawn, and their runs are cancelled."
            ),
        }
        if result.caller_continues {
            anstream::println!(
                "The run that deleted the job continues, and its outcome is announced."
            );
        }
        if !result.followers.is_empty() {
            let names: Vec<&str> = result.followers.iter().map(|job| job.name.as_str()).collect();
            let names = escape(&names.join(", "));
            anstream::println!(
                "These jobs followed the deleted job and will not fire any more: {names}."
            );
        }
    })
}

async fn list_runs(args: RunsArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let id = find_job_with_runs(engine, &args.job.or(args.id).unwrap_or_default()).await?;
    let params = json!({ "id": id, "limit": args.limit });
    engine
        .show("cron.runs", params, |engine, result: CronRunsResult| {
            print_run_table(engine, &result.entries)
        })
        .await
}

async fn pause(args: PauseArgs, engine: &EngineConnection) -> Result<(), CliError> {
    let until = args.until.or(args.duration);
    let until = until.as_deref().map(|text| engine.parse_instant("UNTIL", text)).transpose()?;
    engine.show("cron.pause", json!({ "untilMs": until }), print_status).await
}

fn print_status(engine: &EngineConnection, status: CronStatus) {
    if let Some(problem) = &status.problem {
        anstream::println!("Problem: {}", escape(problem));
    }
    print_scheduler(engine, &status);
}
