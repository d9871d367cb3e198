//! `rouse cron add`.

use rouse_gateway::wire::JobView;
use serde_json::{Map, Value, json};

use super::grant_offer::{NamedGrantsChoice, offer_named_grants};
use super::job_name::choose_job_name;
use super::payload::PayloadArgs;
use super::policies::PolicyArgs;
use super::saved_job::{print_saved_job, warn_if_job_cannot_fire};
use super::schedule::{SCHEDULE_FLAGS, ScheduleArgs};
use super::webhook;
use crate::render::job::{has_slots, print_job, short_id};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// The head of `rouse cron add --help`.
pub(super) const EXAMPLES: &str = "\
Examples:
  rouse cron add --cron \"30 7 * * 1-5\" --message \"What changed on https://example.org?\"
  rouse cron add --at 20m --system-event \"Take the bread out of the oven\"
  rouse cron add --every 1h --tool run_command --arguments '{\"command\": \"df -h /\"}'
  rouse cron add --after \"Backup\" --on failure --message \"Find out why the backup failed\"
";

/// The end of the help of `add` and `edit`.
pub(super) const ALL_FLAGS: &str = "Rarely used flags: --help-all";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name [default: the first words of the task]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Create the job disabled
    #[arg(hide = true, long)]
    disabled: bool,
    /// Grants for hosts and folders that the message names [default: ask on a terminal, else skip]
    #[arg(hide = true, long, value_name = "CHOICE", value_enum)]
    grants: Option<NamedGrantsChoice>,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    payload: PayloadArgs,
    #[command(flatten)]
    policies: PolicyArgs,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let mut job = build_job(&args, engine).await?;
    offer_named_grants(&mut job, args.grants, engine).await?;
    let answer = engine.call("cron.add", job).await?;
    let id = answer["job"]["id"].clone();
    print_saved_job(engine, answer, |view| {
        anstream::println!("Added.");
        print_job(engine, view, Vec::new());
        print_next_commands(view);
    })?;
    // With --json the answer is one value; a script requests the secret itself.
    if args.schedule.is_webhook() && !engine.json {
        webhook::show_webhook(json!({ "id": id }), engine).await?;
    }
    warn_if_job_cannot_fire(engine).await
}

async fn build_job(args: &Args, engine: &EngineConnection) -> Result<Value, CliError> {
    let schedule = args.schedule.to_json(engine).await?.ok_or_else(|| {
        CliError::input(format!(
            "a schedule is missing: add one of {SCHEDULE_FLAGS}; for example --at 20m, or --cron \"30 7 * * 1-5\""
        ))
    })?;
    let payload = args.payload.to_json()?.filter(|payload| payload.get("kind").is_some());
    let payload = payload.ok_or_else(|| {
        CliError::input(
            "a task is missing: add one of --system-event, --message, --tool; for example --system-event \"Stretch your legs\"",
        )
    })?;
    args.payload.check_kind(&payload["kind"])?;
    let mut job = Map::new();
    let name = match &args.name {
        Some(name) => name.clone(),
        None => choose_job_name(&payload, engine).await?,
    };
    job.insert("name".to_owned(), json!(name));
    job.insert("enabled".to_owned(), json!(!args.disabled));
    job.insert("schedule".to_owned(), schedule);
    job.insert("payload".to_owned(), payload);
    args.policies.apply(&mut job, &Value::Null)?;
    Ok(Value::Object(job))
}

/// Prints commands that change and run the new job.
fn print_next_commands(view: &JobView) {
    let id = short_id(&view.job);
    let change = match view.job["schedule"]["kind"].as_str() {
        Some("at") => "--at 1h",
        Some("every") => "--every 2h",
        Some("cron") => "--cron \"0 8 * * *\"",
        _ => "--name \"Another name\"",
    };
    // A disabled or past job is never due.
    let force = if has_slots(&view.job) { " --force" } else { "" };
    anstream::println!("Change it, for example: rouse cron edit {id} {change}");
    anstream::println!("Try it now: rouse cron run {id}{force}");
}
