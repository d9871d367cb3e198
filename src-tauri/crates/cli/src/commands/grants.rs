//! `rouse grants …`.

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_gateway::wire::{ChangeResult, GrantView, GrantsListResult};
use serde_json::json;

use crate::render::table::{fit_id, new_table, print_rows};
use crate::render::text::shorten;
use crate::render::time::local_time;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::ids;
use crate::resolve::jobs::find_job;

/// Maximum characters of a grant's scope: a whole pattern with its folder, or the start of a call's arguments.
const MAX_SCOPE: usize = 400;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List grants, newest first
    List {
        /// Job: id, id prefix or exact name [default: all jobs]
        #[arg(long, value_name = "ID")]
        job: Option<String>,
        /// Include invalid grants
        #[arg(long)]
        all: bool,
    },
    /// Revoke a grant; running runs need an approval again
    Revoke {
        /// Grant: id, start or end of the id, or name of a job with a single grant
        id: String,
    },
}

impl Default for Command {
    fn default() -> Self {
        Self::List { job: None, all: false }
    }
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List { job, all } => {
            let job_id = match job {
                Some(job) => Some(find_job(engine, &job).await?),
                None => None,
            };
            let params = json!({ "jobId": job_id });
            let GrantsListResult { mut grants } = engine.fetch("grants.list", params).await?;
            grants.retain(|grant| all || grant.is_valid || is_void(grant));
            let answer = json!(GrantsListResult { grants });
            engine.print_answer(answer, |engine, found: GrantsListResult| {
                print_grants(engine, &found.grants)
            })
        }
        Command::Revoke { id } => {
            let id = find_grant(&id, engine).await?;
            engine
                .show("grants.revoke", json!({ "id": id }), |_, result: ChangeResult| {
                    let result = if result.changed { "Revoked." } else { "Already revoked." };
                    anstream::println!("{result}");
                })
                .await
        }
    }
}

/// The id of the grant that `wanted` names.
async fn find_grant(wanted: &str, engine: &EngineConnection) -> Result<String, CliError> {
    let found: GrantsListResult = engine.fetch("grants.list", json!({})).await?;
    let is_of_job =
        |grant: &&GrantView| grant.is_valid && grant.job_name.as_deref() == Some(wanted);
    let of_job: Vec<&str> =
        found.grants.iter().filter(is_of_job).map(|grant| grant.id.as_str()).collect();
    if let Some(id) = ids::single_id(wanted, &of_job)? {
        return Ok(id);
    }
    let known: Vec<String> = found.grants.iter().map(|grant| grant.id.clone()).collect();
    let id = ids::complete_id(wanted, &known)?;
    if known.contains(&id) {
        return Ok(id);
    }
    let names = found.grants.iter().filter_map(|grant| grant.job_name.as_deref());
    let names = names.chain(known.iter().map(String::as_str));
    Err(ids::unknown_name("grant", &id, names, "rouse grants list --all"))
}

/// Whether the grant became void without a revocation, so that the user may still rely on the grant.
const fn is_void(grant: &GrantView) -> bool {
    grant.void_reason.is_some() && grant.revoked_at_ms.is_none()
}

fn print_grants(engine: &EngineConnection, grants: &[GrantView]) {
    if grants.is_empty() {
        anstream::println!("No grants.");
        return;
    }
    let mut table = new_table(&["GIVEN", "JOB", "TOOL", "COVERS", "USED", "STATE", "GRANT"]);
    for grant in grants {
        let id = fit_id(&table, &grant.id);
        table.add_row([
            local_time(engine, grant.created_at_ms),
            shorten(grant.job_name.as_deref().unwrap_or(&grant.job_id), 24),
            grant.tool.clone(),
            shorten(&grant.covers.describe(), MAX_SCOPE),
            grant.used.to_string(),
            state_text(engine, grant),
            id,
        ]);
    }
    print_rows(&table);
    for grant in grants {
        if let Some(reason) = grant.void_reason.as_ref().filter(|_| is_void(grant)) {
            anstream::println!("{} is void. {reason}", grant.id);
        }
    }
}

fn state_text(engine: &EngineConnection, grant: &GrantView) -> String {
    let is_past = |at: i64| at <= engine.clock.now().0;
    match (grant.expires_at_ms, grant.uses_left) {
        _ if grant.revoked_at_ms.is_some() => "revoked".to_owned(),
        _ if grant.void_reason.is_some() => "void".to_owned(),
        (Some(at), _) if is_past(at) => "expired".to_owned(),
        (_, Some(0)) => "used up".to_owned(),
        (Some(at), Some(left)) => format!("{left} left, until {}", local_time(engine, at)),
        (Some(at), None) => format!("until {}", local_time(engine, at)),
        (None, Some(left)) => format!("{left} left"),
        (None, None) => "valid".to_owned(),
    }
}
