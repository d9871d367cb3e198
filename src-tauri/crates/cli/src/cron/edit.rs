//! `rouse cron edit`, `enable`, `disable`: patches by flags.

use rouse_gateway::wire::JobView;
use serde_json::{Map, Value, json};

use super::draft::{BehaviourArgs, PayloadArgs, ScheduleArgs};
use super::{list, resolve, warn_when_off};
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
    let mut patch = Map::new();
    if let Some(name) = &args.name {
        patch.insert("name".to_owned(), json!(name));
    }
    if let Some(schedule) = args.schedule.to_json(session)? {
        patch.insert("schedule".to_owned(), schedule);
    }
    if let Some(payload) = args.payload.to_json()? {
        patch.insert("payload".to_owned(), payload);
    }
    args.behaviour.apply(&mut patch)?;
    if patch.is_empty() {
        return Err(Failure::input("say what to change, for example --name or --cron"));
    }
    update(&args.id, Value::Object(patch), session).await?;
    warn_when_off(session).await
}

pub(crate) async fn set_enabled(id: &str, enabled: bool, session: &Session) -> Result<(), Failure> {
    update(id, json!({ "enabled": enabled }), session).await
}

async fn update(id: &str, patch: Value, session: &Session) -> Result<(), Failure> {
    let id = resolve(session, id).await?;
    session
        .show("cron.update", json!({ "id": id, "patch": patch }), |session, view: JobView| {
            list::print_one(session, &view);
            Ok(())
        })
        .await
}
