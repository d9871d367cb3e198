//! `rouse cron add`.

use serde_json::{Map, Value, json};

use super::draft::{BehaviourArgs, PayloadArgs};
use super::trigger::{ScheduleArgs, WAYS};
use super::{list, naming, offer, tell_saved, warn_when_off, webhook};
use crate::exit::Failure;
use crate::session::Session;

/// The head of `rouse cron add --help`.
pub(super) const EXAMPLES: &str = "\
Examples:
  rouse cron add --cron \"30 7 * * 1-5\" --message \"What changed on https://example.org?\"
  rouse cron add --at 20m --system-event \"Take the bread out of the oven\"
  rouse cron add --every 1h --tool run_command --arguments '{\"command\": \"df -h /\"}'
  rouse cron add --after \"Backup\" --on failure --message \"Find out why the backup failed\"
";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What people call it; made from what it does when absent.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Make it switched off.
    #[arg(long)]
    disabled: bool,
    /// What to do with hosts and folders that the message names and no flag grants [default: ask on a terminal, else no].
    #[arg(long, value_name = "CHOICE", value_enum)]
    grants: Option<offer::NamedGrantsChoice>,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    payload: PayloadArgs,
    #[command(flatten)]
    behaviour: BehaviourArgs,
}

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let mut job = draft(&args, session).await?;
    offer::offer(&mut job, args.grants, session).await?;
    let answer = session.call("cron.add", job).await?;
    let id = answer["job"]["id"].clone();
    tell_saved(session, answer, |view| {
        anstream::println!("Added.");
        list::print_one(session, view);
        list::print_ways(view);
    })?;
    // A script gets one JSON value, and asks for the secret itself.
    if args.schedule.is_webhook() && !session.json {
        webhook::show(json!({ "id": id }), session).await?;
    }
    warn_when_off(session).await
}

async fn draft(args: &Args, session: &Session) -> Result<Value, Failure> {
    let schedule = args.schedule.to_json(session).await?;
    let schedule = schedule.ok_or_else(|| {
        Failure::input(format!(
            "say when: one of {WAYS}; for example --at 20m, or --cron \"30 7 * * 1-5\""
        ))
    })?;
    let payload = args.payload.to_json()?.filter(|payload| payload.get("kind").is_some());
    let payload = payload
        .ok_or_else(|| {
            Failure::input(
                "say what: one of --system-event, --message, --tool; for example --system-event \"Stretch your legs\"",
            )
        })?;
    args.payload.fits(&payload["kind"])?;
    let mut job = Map::new();
    let name = match &args.name {
        Some(name) => name.clone(),
        None => naming::name_for(&payload, session).await?,
    };
    job.insert("name".to_owned(), json!(name));
    job.insert("enabled".to_owned(), json!(!args.disabled));
    job.insert("schedule".to_owned(), schedule);
    job.insert("payload".to_owned(), payload);
    args.behaviour.apply(&mut job, &Value::Null)?;
    Ok(Value::Object(job))
}
