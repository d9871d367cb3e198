//! The offer of `rouse cron add` to grant what a message names.
//!
//! Owns the one confirmation. Grants nothing by itself: without a terminal the hosts and folders are only told, with the
//! flags that grant them.

use std::io::{BufRead as _, IsTerminal as _, Write as _, stdin};

use clap::ValueEnum;
use rouse_gateway::wire::{CronCheckResult, GrantOffers};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::plain;
use crate::session::Session;

/// What to do with the hosts and folders that a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NamedGrantsChoice {
    /// Grant them: hosts to reach, folders to read.
    Allow,
    /// Grant none of them.
    Skip,
}

/// Adds what the message of `job` names to its grants, if the person wants that.
pub(super) async fn offer(
    job: &mut Value,
    choice: Option<NamedGrantsChoice>,
    session: &Session,
) -> Result<(), Failure> {
    if choice == Some(NamedGrantsChoice::Skip) || job["payload"]["kind"] != "agentTurn" {
        return Ok(());
    }
    // What is wrong with the job is told when it is saved.
    let Ok(checked) = session.call("cron.check", json!({ "job": job })).await else {
        return Ok(());
    };
    let CronCheckResult { offers, .. } = serde_json::from_value(checked)?;
    let Some(offers) = offers else { return Ok(()) };
    let is_allowed = match choice {
        Some(choice) => choice == NamedGrantsChoice::Allow,
        None if session.json || !stdin().is_terminal() => {
            if !session.json {
                anstream::eprintln!(
                    "{} Not granted; to grant them: {}",
                    named(&offers),
                    flags(&offers)
                );
            }
            false
        }
        None => ask(&offers)?,
    };
    if is_allowed {
        add(job, "hosts", offers.hosts);
        add(job, "folders", offers.folders);
    }
    Ok(())
}

fn ask(offers: &GrantOffers) -> Result<bool, Failure> {
    anstream::eprint!("{} {} [y]es / [n]o: ", named(offers), meaning(offers));
    // What cannot be flushed is shown with the next line.
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer).map_err(|error| Failure::input(error.to_string()))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn named(offers: &GrantOffers) -> String {
    let all: Vec<&str> = offers.hosts.iter().chain(&offers.folders).map(String::as_str).collect();
    format!("This job names {}.", plain(&all.join(", ")))
}

fn meaning(offers: &GrantOffers) -> &'static str {
    match (offers.hosts.is_empty(), offers.folders.is_empty()) {
        (false, true) => "Let its commands and requests reach these hosts, and no others?",
        (true, _) => "Let it read these folders?",
        (false, false) => {
            "Let its commands and requests reach these hosts, and no others, and let it read these folders?"
        }
    }
}

/// The flags that grant the same.
fn flags(offers: &GrantOffers) -> String {
    let hosts = Some(offers.hosts.join(",")).filter(|hosts| !hosts.is_empty());
    let hosts = hosts.map(|hosts| format!("--hosts {hosts}"));
    let folders = offers.folders.iter().map(|folder| match folder.contains(' ') {
        true => format!("--folder '{folder}'"),
        false => format!("--folder {folder}"),
    });
    plain(&hosts.into_iter().chain(folders).collect::<Vec<_>>().join(" "))
}

fn add(job: &mut Value, key: &str, more: Vec<String>) {
    if more.is_empty() {
        return;
    }
    if !job["policies"].is_object() {
        job["policies"] = json!({});
    }
    let before = job["policies"][key].as_array().cloned().unwrap_or_default();
    job["policies"][key] = before.into_iter().chain(more.into_iter().map(Value::from)).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offer_is_told_with_its_flags() {
        let offers = GrantOffers {
            hosts: vec!["a.example".to_owned(), "b.example".to_owned()],
            folders: vec!["~/Notes".to_owned(), "~/My Notes".to_owned()],
        };
        assert_eq!(named(&offers), "This job names a.example, b.example, ~/Notes, ~/My Notes.");
        let expected = "--hosts a.example,b.example --folder ~/Notes --folder '~/My Notes'";
        assert_eq!(flags(&offers), expected);
    }

    #[test]
    fn allowed_offer_is_added_to_what_the_job_grants() {
        let mut job = json!({ "policies": { "folders": ["~/a"] } });
        add(&mut job, "folders", vec!["~/b".to_owned()]);
        add(&mut job, "hosts", Vec::new());
        assert_eq!(job, json!({ "policies": { "folders": ["~/a", "~/b"] } }));
    }
}
