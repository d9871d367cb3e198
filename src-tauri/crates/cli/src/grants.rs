//! `rouse grants …`: the standing answers.

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_gateway::wire::{Done, GrantView, GrantsListResult};
use serde_json::json;

use crate::cron::resolve;
use crate::exit::Failure;
use crate::output::{instant, print, short, table};
use crate::session::Session;
use crate::{ids, output};

/// Letters of what a grant covers that are shown: a pattern with its folder whole, and of the arguments of one call enough
/// to know it by.
const MOST_COVERED: usize = 400;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the grants, newest first.
    List {
        /// Only this job's.
        #[arg(long, value_name = "ID")]
        job: Option<String>,
        /// Also those that count no more.
        #[arg(long)]
        all: bool,
    },
    /// Take a grant back. Runs that are at work ask again from now on.
    Revoke {
        /// The grant's id, its beginning or its end; or the name of its job, when that has one grant.
        id: String,
    },
}

impl Default for Command {
    fn default() -> Self {
        Self::List { job: None, all: false }
    }
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::List { job, all } => {
            let job_id = match job {
                Some(job) => Some(resolve(session, &job).await?),
                None => None,
            };
            let found = session.call("grants.list", json!({ "jobId": job_id })).await?;
            let GrantsListResult { mut grants } = serde_json::from_value(found)?;
            grants.retain(|grant| all || grant.is_good || is_void(grant));
            session.tell(json!(GrantsListResult { grants }), |session, found: GrantsListResult| {
                print_table(session, &found.grants);
                Ok(())
            })
        }
        Command::Revoke { id } => {
            let found = session.call("grants.list", json!({})).await?;
            let found: GrantsListResult = serde_json::from_value(found)?;
            let of_job = |grant: &&GrantView| grant.is_good && grant.job_name.as_ref() == Some(&id);
            let of_job: Vec<&str> =
                found.grants.iter().filter(of_job).map(|grant| grant.id.as_str()).collect();
            let named = ids::only(&id, &of_job)?;
            let known: Vec<String> = found.grants.iter().map(|grant| grant.id.clone()).collect();
            let id = match named {
                Some(id) => id,
                None => ids::meant(&id, &known)?,
            };
            if !known.contains(&id) {
                let names = found.grants.iter().filter_map(|grant| grant.job_name.as_deref());
                let names = names.chain(known.iter().map(String::as_str));
                return Err(ids::unknown("grant", &id, names, "rouse grants list --all"));
            }
            session
                .show("grants.revoke", json!({ "id": id }), |_, done: Done| {
                    let words =
                        if done.changed { "Taken back." } else { "It was taken back before." };
                    anstream::println!("{words}");
                    Ok(())
                })
                .await
        }
    }
}

/// Whether somebody may believe in it although it does not count: they have to learn that.
const fn is_void(grant: &GrantView) -> bool {
    grant.why_void.is_some() && grant.revoked_at_ms.is_none()
}

fn print_table(session: &Session, grants: &[GrantView]) {
    if grants.is_empty() {
        anstream::println!("No grants.");
        return;
    }
    let now = session.clock.now().0;
    let mut table = table(&["GIVEN", "JOB", "TOOL", "COVERS", "USED", "STATE", "GRANT"]);
    for grant in grants {
        let id = output::id(&table, &grant.id);
        table.add_row([
            instant(grant.created_at_ms, now, session.clock.zone()),
            short(grant.job_name.as_deref().unwrap_or(&grant.job_id), 24),
            grant.tool.clone(),
            short(&what(grant), MOST_COVERED),
            grant.used.to_string(),
            state(session, grant, now),
            id,
        ]);
    }
    print(&table);
    for grant in grants {
        if let Some(why) = grant.why_void.as_ref().filter(|_| is_void(grant)) {
            anstream::println!("{} does not count. {why}", grant.id);
        }
    }
}

/// What the job may do without asking, a line each.
pub(crate) fn lines(grants: &[GrantView]) -> Vec<String> {
    let good = grants.iter().filter(|grant| grant.is_good);
    good.map(|grant| output::plain(&format!("{}: {}", grant.tool, what(grant)))).collect()
}

/// What it covers, after the stored secrets whose values its calls write.
fn what(grant: &GrantView) -> String {
    let covers = grant.covers.in_words();
    match grant.writes_values.as_slice() {
        [] => covers,
        [one] => format!("writes the value of {one}: {covers}"),
        names => format!("writes the values of {}: {covers}", names.join(", ")),
    }
}

fn state(session: &Session, grant: &GrantView, now: i64) -> String {
    if grant.revoked_at_ms.is_some() {
        return "taken back".to_owned();
    }
    let until = |at: i64| instant(at, now, session.clock.zone());
    match (grant.expires_at_ms, grant.uses_left) {
        _ if grant.why_void.is_some() => "void".to_owned(),
        (Some(at), _) if at <= now => "over".to_owned(),
        (_, Some(0)) => "used up".to_owned(),
        (Some(at), Some(left)) => format!("{left} left, until {}", until(at)),
        (Some(at), None) => format!("until {}", until(at)),
        (None, Some(left)) => format!("{left} left"),
        (None, None) => "counts".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rouse_gateway::wire::CoverView;

    use super::*;

    #[test]
    fn a_grant_names_the_stored_values_that_it_writes_before_what_is_cut_off() {
        let grant = |names: &[&str]| GrantView {
            id: "g".to_owned(),
            job_id: "j".to_owned(),
            job_name: None,
            tool: "write_file".to_owned(),
            covers: CoverView::Exact { arguments: json!({ "content": "x".repeat(80) }) },
            writes_values: names.iter().map(ToString::to_string).collect(),
            created_at_ms: 0,
            expires_at_ms: None,
            uses_left: None,
            used: 0,
            revoked_at_ms: None,
            is_good: true,
            why_void: None,
        };
        let told = |names: &[&str]| short(&what(&grant(names)), 60);
        assert!(told(&[]).starts_with("exactly {"), "{}", told(&[]));
        assert!(told(&["mail"]).starts_with("writes the value of mail: exactly {"));
        assert!(told(&["mail", "pin"]).starts_with("writes the values of mail, pin: exactly {"));
    }
}
